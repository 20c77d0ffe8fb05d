"""Training in rounds, which can stop after any whole round with fewer reference models.

The first round trains all folds and halves and the first pair of references, every further round one pair. After any
round each judged record is in half of the references, so that the result is that of an audit with fewer references.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Stop = Literal["budget", "interrupt"]


class TimeOverError(Exception):
    """The next round would not end within the budget."""


@dataclass
class Rounds:
    """Keeps the observations of each model, in the order of the models, and counts the whole rounds.

    Parameters
    ----------
    keep
        Function from a model's position and observations to what is kept.
    base, references
        Number of models before the references, and of references, which come last.
    seconds
        Budget of the training; None without one.
    clock
        Function that returns the time in seconds.

    Examples
    --------
    >>> times = iter([0, 4, 6, 8])
    >>> rounds = Rounds(lambda place, shown: shown, base=1, references=6, seconds=7, clock=lambda: next(times))
    >>> for place in range(5):
    ...     try:
    ...         kept = rounds(place, {})
    ...     except TimeOverError:
    ...         print(rounds.pairs, "of 3 pairs")
    2 of 3 pairs
    """

    keep: Callable[[int, Any], Any]
    base: int
    references: int
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    found: list[Any] = field(default_factory=list)
    stopped: Stop | None = None

    def __post_init__(self) -> None:
        self._start = self.clock()

    @property
    def pairs(self) -> int:
        """Number of trained pairs of references."""
        return max(0, len(self.found) - self.base) // 2

    @property
    def kept(self) -> list[Any]:
        """Kept observations of the models of whole rounds."""
        return self.found[: self.base + 2 * self.pairs]

    def __call__(self, place: int, shown: Any) -> None:
        self.found.append(self.keep(place, shown))
        left = self.base + self.references - len(self.found)
        whole = len(self.found) > self.base and (len(self.found) - self.base) % 2 == 0
        if self.seconds is not None and whole and left:
            spent = self.clock() - self._start
            if spent * (1 + 2 / len(self.found)) > self.seconds:
                raise TimeOverError

    def end(self, error: BaseException) -> None:
        """Record why training ended, or raise the error again if no round is whole."""
        if not self.pairs:
            raise error
        self.stopped = "budget" if isinstance(error, TimeOverError) else "interrupt"
