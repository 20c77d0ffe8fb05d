"""Training of all learners in common rounds: after each round every version has the same references.

The first round trains, for each learner, the whole model, folds, halves and the first pair of references; every further round one pair
for each. What is kept of each model stays in memory until all rounds are over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from leakscope.core.arrays import Indices
from leakscope.evaluation.rounds import Rounds, Stop
from leakscope.worlds.training import TrainingSets


@dataclass
class Resumed:
    """Trains the models of a learner that earlier calls have not trained, in place of `worlds.retrain`."""

    again: Any
    kept: list[Any]

    def __call__(
        self, learner: Any, X: Any, y: Any, sets: TrainingSets, observe: Any, *, seed: int, keep: Rounds, **options: Any
    ) -> None:
        keep.found.extend(self.kept[: len(sets)])
        start = len(keep.found)
        if start < len(sets):
            stream = None if sets.stream is None else partial(_later, sets.stream, start)
            rest = TrainingSets(sets.records, len(sets) - start, partial(_later, sets.draw, start), stream)
            later = _Later(observe, start, observe.key)
            self.again(learner, X, y, rest, later, seed=seed, keep=partial(_later, keep, start), **options)
            self.kept.extend(keep.found[start:])


@dataclass(frozen=True)
class _Later:
    """Observes models whose numbers start at a later one."""

    observe: Any
    start: int
    key: str

    def __call__(self, model: Any, number: int, indices: Indices) -> Any:
        return self.observe(model, self.start + number, indices)


def _later(function: Callable[..., Any], start: int, number: int, *more: Any) -> Any:
    return function(start + number, *more)


def train_in_rounds(
    trainings: Sequence[Callable[[int], bool]],
    base: int,
    pairs: int,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[int, Stop | None]:
    """Train round by round until the time is over or the user interrupts; give the pairs that all have, and what stopped it.

    Parameters
    ----------
    trainings
        For each learner a function that trains it up to a number of pairs, and says whether that was possible.
    base, pairs
        Models of a learner before the references, and planned pairs of references.
    seconds
        Budget of the training. The first round is always trained.

    Examples
    --------
    >>> times = iter([0, 4, 6, 8])
    >>> train_in_rounds([lambda pairs: True], base=2, pairs=3, seconds=7, clock=lambda: next(times))
    (2, 'budget')
    """
    start, able = clock(), list(trainings)
    for done in range(pairs):
        try:
            able = [train for train in able if train(done + 1)]
        except KeyboardInterrupt:
            if not done:
                raise
            return done, "interrupt"
        spent = clock() - start
        if done + 1 < pairs and spent * (1 + 2 / (base + 2 * (done + 1))) > seconds:
            return done + 1, "budget"
    return pairs, None
