"""What a piece of work may load, and what it asked for: a reproduction runs inside `local_only`.

A context variable holds it, so that the modules of the papers need not hand it on. Data are loaded in the process that
starts the work, never in its worker processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class Usage:
    """Whether loads give generated data, the data sets that were asked for, and those that were generated."""

    synthetic: bool = False
    asked: set[str] = field(default_factory=set)
    generated: set[str] = field(default_factory=set)


_CURRENT: ContextVar[Usage | None] = ContextVar("leakscope_data_usage", default=None)


def current() -> Usage | None:
    """The usage of the work that this code is part of, or None."""
    return _CURRENT.get()


@contextmanager
def local_only(synthetic: bool = False) -> Iterator[Usage]:
    """Load without downloads inside the block, and record what is asked for.

    Parameters
    ----------
    synthetic
        Give generated data for every data set that needs files.

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
