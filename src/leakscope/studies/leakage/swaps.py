"""Models with and without each of many records: what the leakage of the parameters is measured from.

A *swap* design draws D uniform training sets of size n, each with one record outside of it to spare. For any record i and
any set S there is a partner that differs in one record: where S lacks i, the set in which i takes the place of another; where
S holds i, the set in which the spare record takes its place. Given that S lacks i it is uniform on the sets without i, and
its partner on those with i; given that it holds i, the other way round. So each set and its partner are a draw of both laws,
for every record at once: D models serve as one side for all records, and only the partners are trained per record.
The two models of a pair also share whatever else is random in the training.

With ``shared=False`` all training sets are drawn independently, as farokhi2020 does: twice the models and an order of
magnitude more noise in the difference of the two laws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Indices
from leakscope.core.errors import InputError
from leakscope.data.records import take_rows
from leakscope.studies.leakage.draws import BLOCKS
from leakscope.worlds.cache import Observations
from leakscope.worlds.training import Progress, TrainingSets, design_generator, random_sets, retrain, with_and_without

Space = Literal["parameters", "function"]
#: The records whose outputs are computed by the model of a training set, by its number; None for all.
Asked = Callable[[int], slice] | None
#: Models with and without each of some records.
TrainedPairs = Callable[[Indices], tuple[Floats, Floats]]
#: Numbers that the draws of one stack of records may take, on each side.
STACK = 8_000_000


@dataclass(frozen=True)
class DrawnSwaps:
    """Training sets (draws, size), each in random order, and one record outside of each, (draws,).

    Examples
    --------
    >>> swaps = draw_swaps(records=5, size=3, draws=2, seed=0)
    >>> swaps.sets.shape, [int(spare) in row for spare, row in zip(swaps.spare, swaps.sets)]
    ((2, 3), [False, False])
    """

    sets: Indices
    spare: Indices

    def partner(self, draw: int, record: int) -> Indices:
        """The training set that differs from that of ``draw`` in having the record if it lacks it, or in lacking it."""
        members = self.sets[draw].copy()
        place = np.flatnonzero(members == record)
        if len(place):
            members[place[0]] = self.spare[draw]
        else:
            members[-1] = record
        return np.sort(members)

    def holds(self, records: Indices) -> NDArray[np.bool_]:
        """Whether the set of each draw holds each record, (records, draws)."""
        found = np.zeros((len(records), len(self.sets)), bool)
        position = {int(record): row for row, record in enumerate(records)}
        draws, places = np.nonzero(np.isin(self.sets, records))
        rows = [position[int(record)] for record in self.sets[draws, places]]
        found[rows, draws] = True
        return found


def draw_swaps(records: int, size: int, draws: int, seed: int) -> DrawnSwaps:
    """Draw the training sets of a swap design out of ``records`` records."""
    drawn = np.empty((draws, size + 1), np.intp)
    for draw in range(draws):
        drawn[draw] = design_generator(seed, draw).choice(records, size + 1, replace=False)
    return DrawnSwaps(drawn[:, :-1], drawn[:, -1])


@dataclass(frozen=True)
class SwapTraining:
    """How models with and without records are trained: the learner, its records, and where the work is done."""

    learner: Any
    X: Any
    y: NDArray[Any]
    size: int
    draws: int
    shared: bool
    space: Space
    seed: int
    workers: int | None = None
    cluster: str | None = None
    cache: str | Path | None = None
    progress: Progress | None = None

    def parameters(self) -> int:
        """How many parameters a model has: one is trained to see, before thousands are."""
        if hasattr(self.learner, "fit_swaps"):
            return int(self.X.shape[1])
        alone = replace(self, space="parameters", workers=1, cluster=None, cache=None, progress=None)
        return alone._retrain(random_sets(len(self.X), self.size, 1, self.seed), np.arange(0))[0].size

    def pairs(self, records: Indices) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield stacks of records as slices, with their draws with and without them, (records, draws, dimensions)."""
        if not hasattr(self.learner, "fit_swaps"):
            with_record, without = self._swapped(records) if self.shared else self._independent(records)
            for rows in _stacks(*with_record.shape):
                yield rows, with_record[rows], without[rows]
            return
        trained = self._linear_swaps() if self.shared else self._linear_independent
        for rows in _stacks(len(records), self.draws, self.X.shape[1]):
            with_record, without = trained(records[rows])
            yield rows, self._seen(with_record, records[rows]), self._seen(without, records[rows])
            if self.progress is not None:
                self.progress("measuring", rows.stop, len(records))

    def control(self, records: Indices) -> tuple[Floats, Floats]:
        """Draws of two laws that are the same, made as those of the pairs are, (1 or records, draws, dimensions).

        Each training set against itself with its last record replaced by the spare one: both are uniform on all sets, and
        no record is in one side more often than in the other. Without sharing, two independent sets.
        """
        swaps = draw_swaps(len(self.X), self.size, self.draws, self.seed)
        others = np.column_stack([swaps.sets[:, :-1], swaps.spare])
        if not self.shared:
            others = draw_swaps(len(self.X), self.size, self.draws, self.seed + 1).sets
        draw, stream = partial(_one_of, swaps.sets, others), partial(_draw_of, self.draws)
        design = TrainingSets(len(self.X), 2 * self.draws, draw, stream)
        if hasattr(self.learner, "fit_swaps"):
            indices = [design.indices(number) for number in range(len(design))]
            values = np.array(self.learner.fit_many(self.X, self.y, indices, ()))
            if self.space == "function":
                values = (values @ self.X[records].T)[:, :, None]
        else:
            values = np.array(replace(self, progress=None)._retrain(design, records))
        sides = values.reshape(2, self.draws, -1, values.shape[-1])
        return np.swapaxes(sides[0], 0, 1), np.swapaxes(sides[1], 0, 1)

    # A learner with `fit_swaps` is linear: its models are parameter vectors, its outputs their products with a record.

    def _linear_swaps(self) -> TrainedPairs:
        swaps = draw_swaps(len(self.X), self.size, self.draws, self.seed)
        return cast("TrainedPairs", self.learner.fit_swaps(self.X, self.y, swaps.sets, swaps.spare))

    def _linear_independent(self, records: Indices) -> tuple[Floats, Floats]:
        sides: tuple[list[Floats], list[Floats]] = ([], [])
        for record in records:
            design = self._one_record(int(record))
            sets = [design.indices(number) for number in range(len(design))]
            for side, first in zip(sides, (0, 1), strict=True):
                side.append(np.array(self.learner.fit_many(self.X, self.y, sets[first::2], ())))
        return np.array(sides[0]), np.array(sides[1])

    def _seen(self, parameters: Floats, records: Indices) -> Floats:
        if self.space == "parameters":
            return parameters
        return np.asarray(parameters @ self.X[records][:, :, None])

    def _one_record(self, record: int) -> TrainingSets:
        seed = int(np.random.SeedSequence((self.seed, record)).generate_state(1)[0])
        return with_and_without(len(self.X), record, self.size, self.draws, seed, shared=False)

    # Any other learner goes through `retrain`.

    def _swapped(self, records: Indices) -> tuple[Floats, Floats]:
        swaps = draw_swaps(len(self.X), self.size, self.draws, self.seed)
        count = self.draws * (1 + len(records))
        draw, stream = partial(_set_or_partner, swaps, records), partial(_draw_of, self.draws)
        design = TrainingSets(len(self.X), count, draw, stream)
        observed = self._retrain(design, records, partial(_asked_of_swap, self.draws))
        base, partners = observed[: self.draws], np.array(observed[self.draws :])
        sets = np.array(base)
        if self.space == "parameters":
            sets = np.broadcast_to(sets, (len(records), *sets.shape))
        else:
            sets = np.swapaxes(sets, 0, 1)  # each base model was asked about every record
            partners = partners[:, 0]
        partners = partners.reshape(len(records), self.draws, -1)
        held = swaps.holds(records)[:, :, None]
        return np.where(held, sets, partners), np.where(held, partners, sets)

    def _independent(self, records: Indices) -> tuple[Floats, Floats]:
        designs = [self._one_record(int(record)) for record in records]
        design = TrainingSets(len(self.X), 2 * self.draws * len(records), partial(_of_designs, designs, 2 * self.draws))
        observed = self._retrain(design, records, partial(_asked_of_design, 2 * self.draws))
        values = np.array(observed).reshape(len(records), self.draws, 2, -1)
        return values[:, :, 0], values[:, :, 1]

    def _retrain(self, design: TrainingSets, records: Indices, asked: Asked = None) -> list[Floats]:
        """Parameters of the models of all training sets, or their outputs at the records of `asked`."""
        questions = take_rows(self.X, records) if self.space == "function" else None
        observe = partial(_observe, self.learner, questions, asked)
        observed: list[Observations] = retrain(
            self.learner, self.X, self.y, design, observe, seed=self.seed, workers=self.workers, cluster=self.cluster,
            cache=self.cache, progress=self.progress,
        )  # fmt: skip
        values = [found["value"] for found in observed]
        if len({value.shape[-1] for value in values}) > 1:
            raise InputError("the models have different numbers of parameters: measure in function space")
        return values


def _stacks(records: int, draws: int, width: int) -> Iterator[slice]:
    """Records to be measured at a time: their draws, and the covariances of all blocks of draws, bound the memory."""
    step = max(1, STACK // max(draws * width, BLOCKS * width * width))
    for start in range(0, records, step):
        yield slice(start, min(start + step, records))


def _observe(learner: Any, questions: Any, asked: Asked, model: Any, number: int, _: Indices) -> Any:
    if questions is None:
        return {"value": learner.parameters(model)}
    return {"value": learner.outputs(model, take_rows(questions, slice(None) if asked is None else asked(number)))}


def _set_or_partner(swaps: DrawnSwaps, records: Indices, number: int) -> Indices:
    row, draw = divmod(number, len(swaps.sets))
    return np.sort(swaps.sets[draw]) if row == 0 else swaps.partner(draw, int(records[row - 1]))


def _one_of(first: Indices, second: Indices, number: int) -> Indices:
    side, draw = divmod(number, len(first))
    return np.sort((first, second)[side][draw])


def _draw_of(draws: int, number: int) -> int:
    return number % draws


def _asked_of_swap(draws: int, number: int) -> slice:
    row = number // draws
    return slice(None) if row == 0 else slice(row - 1, row)


def _of_designs(designs: list[TrainingSets], each: int, number: int) -> Indices:
    return designs[number // each].indices(number % each)


def _asked_of_design(each: int, number: int) -> slice:
    return slice(number // each, number // each + 1)
