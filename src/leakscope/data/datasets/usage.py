"""Context manager `local_only`: loads without downloads, optionally of synthetic data, and records the data sets used.

The reproductions of papers run inside it. A context variable stores the state. Data are loaded in the main process,
never in worker processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class Usage:
    """Whether loads return synthetic data, the data sets that were requested, and those that were synthetic."""

    synthetic: bool = False
    asked: set[str] = field(default_factory=set)
    generated: set[str] = field(default_factory=set)


_CURRENT: ContextVar[Usage | None] = ContextVar("leakscope_data_usage", default=None)


def current() -> Usage | None:
    """Return the `Usage` of the surrounding `local_only`, or None."""
    return _CURRENT.get()


@contextmanager
def local_only(synthetic: bool = False) -> Iterator[Usage]:
    """Load without downloads inside the block, and record the requested data sets.

    Parameters
    ----------
    synthetic
        Return synthetic data for every data set that needs files.

    Examples
    --------
    >>> from leakscope.data import datasets
    >>> with local_only(synthetic=True) as usage:
    ...     data = datasets.load("location30")
    >>> data, usage.generated
    (<Dataset location30 (synthetic): 5,010 x 446, 30 classes>, {'location30'})
    """
    usage = Usage(synthetic)
    token = _CURRENT.set(usage)
    try:
        yield usage
    finally:
        _CURRENT.reset(token)
