"""How a study is run: settings that audits and comparisons share, and the time spent in each step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakscope.core.checks import check_confidence, check_count, check_number, check_seed, check_share
from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.evaluation.risk import FALSE_POSITIVE_RATES

#: An AUC this far above chance is the smallest leak that a verdict of "not_detected" excludes.
MARGIN = 0.05
#: Reference models unless told otherwise.
REFERENCE_MODELS = 4
#: The most reference models within a budget, unless told otherwise.
MOST_REFERENCES = 64
#: More reference models are refused: an attack gains nothing from them.
LARGEST_REFERENCES = 1024


@dataclass(frozen=True)
class Settings:
    """How a study is run; every default is recorded with the result.

    ``references`` is None for the usual number wherever reference models can be trained, or for as many as the ``budget`` in seconds
    allows.
    """

    seed: int = 0
    confidence: float = 0.95
    margin: float = MARGIN
    fprs: tuple[float, ...] = FALSE_POSITIVE_RATES
    retrain: bool = True
    drop_overlap: bool = False
    references: int | None = None
    random_split: bool = False
    budget: float | None = None

    def checked(self) -> Settings:
        """Return the settings with the seed as Python's own whole number, or an error."""
        check_confidence(self.confidence)
        check_number("margin", self.margin, 0, 0.5, open_ends=True)
        if not self.fprs:
            raise InputError("fprs is empty: name at least one false-positive rate")
        for fpr in self.fprs:
            check_share("each of fprs", fpr)
        return replace(
            self,
            seed=check_seed(self.seed),
            references=_read_references(self.references),
            budget=None if self.budget is None else check_number("budget", self.budget, least=0, open_ends=True),
        )

    @property
    def planned_references(self) -> int:
        """References to train: those asked for, the usual number, or with a budget the most."""
        usual = REFERENCE_MODELS if self.budget is None else MOST_REFERENCES
        return usual if self.references is None else self.references


def _read_references(references: Any) -> int | None:
    if references is None:
        return None
    if (count := check_count("references", references, 0, LARGEST_REFERENCES)) % 2:
        raise InputError(f"references must be an even number of models, or 0 for none, not {count}")
    return count


def read_rates(fprs: Any) -> tuple[float, ...]:
    """Return False-positive rates as numbers."""
    try:
        return tuple(float(fpr) for fpr in np.atleast_1d(np.asarray(fprs, dtype=np.float64)))
    except (TypeError, ValueError) as error:
        raise InputError(f"fprs must be numbers, not {fprs!r}") from cause(error)


class Clock:
    """Seconds spent in each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[step] = round(self.seconds.get(step, 0.0) + time.perf_counter() - start, 3)
