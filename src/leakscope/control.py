"""The never-trained control: the judged records as seen by models of the same kind that trained on none of them.

Half of the members train one model and the other half another; each model is asked about the half it did not see and about
half of the non-members. Whatever an attack finds there is a difference between the two sets of records, not membership.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.crossfit import Hashes, Indices, Sample, fill, half_of_twin
from leakscope.errors import InputError, TrainingError
from leakscope.evidence import Floats
from leakscope.failures import cause
from leakscope.records import join_records
from leakscope.releases import observe, stack
from leakscope.target import Records, Target
from leakscope.worlds import Worlds

#: Draws of the control before it is given up.
MOST_DRAWS = 1000


@dataclass(frozen=True)
class ControlWorld:
    """What the releases show of the judged records, asked of models that trained on ``trained_on`` other records each.

    ``world`` says for each judged record which of the two models was asked about it.
    """

    observed: dict[str, Floats]
    world: Indices
    trained_on: int


@dataclass(frozen=True)
class _Observation:
    """Ask the model of each world about its records."""

    asked: tuple[Records, ...]
    releases: tuple[str, ...]

    def __call__(self, model: Any, world: int, trained_on: Indices) -> dict[str, Floats]:  # noqa: ARG002
        return observe(model, self.asked[world], self.releases)


def control_world(
    target: Target,
    sample: Sample,
    hashes: tuple[Hashes, Hashes],
    releases: tuple[str, ...],
    seed: int,
    retrain: Callable[..., list[dict[str, NDArray[Any]]]],
) -> ControlWorld:
    """Train on one half of the members and ask about the other, and the other way round.

    ``hashes`` tell equal records of the two sides: copies of a record train the same model, and no model is asked about a
    record that it trained on, whichever side that stands on.
    """
    rng = np.random.default_rng(seed)
    trains, world = deal(target, sample, hashes, rng)
    worlds = Worlds(len(target.members), 2, partial(_trained_in, trains))
    rows = [np.flatnonzero(world == number) for number in (0, 1)]
    # Features and labels only: nothing else of the records leaves for the place where models are trained.
    judged = join_records(
        target.members.take(sample.members[: sample.judged]), target.nonmembers.take(sample.nonmembers)
    )
    observation = _Observation(tuple(judged.take(part) for part in rows), releases)
    try:
        found = retrain(target.learner, target.members.X, target.members.y, worlds, observation, seed=seed)
    except TrainingError as error:
        raise InputError(
            f"the model could not be trained again for the control ({str(error).rstrip('.')}): mend that, or leave it out "
            "with retrain=False (--no-retrain)"
        ) from cause(error)
    order = np.argsort(np.concatenate(rows))
    observed = {release: stack([part[release] for part in found])[order] for release in releases}
    return ControlWorld(observed, world, int(np.bincount(trains, minlength=2).min()))


def deal(
    target: Target, sample: Sample, hashes: tuple[Hashes, Hashes], rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Which of the two models each member trains, and which one is asked about each judged record.

    An attack on the control is fitted on one half of the records of one model. With a dozen records a draw can leave such a
    cell without members or without non-members; it is then drawn again.
    """
    for _ in range(MOST_DRAWS):
        trains = _trained_by(hashes[0], target, rng)
        asked = _asked_of(sample, hashes, trains, rng)
        cells = np.bincount(4 * asked + 2 * sample.half + sample.member, minlength=8)
        if cells.all():
            return trains, asked
    raise InputError(
        f"there are only {sample.judged} different records on each side, too few for the never-trained control: add records, "
        "or leave it out with retrain=False (--no-retrain)"
    )


def _trained_by(hashes: Hashes, target: Target, rng: np.random.Generator) -> Indices:
    """Which of the two models each member trains: copies the same one, and both about equally many of each class."""
    _, first, copy = np.unique(hashes, return_index=True, return_inverse=True)
    order = rng.permutation(len(first))
    if target.model.task == "classification":
        order = order[np.argsort(target.members.y[first][order], kind="stable")]
    world = np.empty(len(first), np.intp)
    world[order] = np.arange(len(first)) % 2
    return world[copy]


def _trained_in(trains: Indices, world: int) -> Indices:
    return np.flatnonzero(trains == world)


def _asked_of(sample: Sample, hashes: tuple[Hashes, Hashes], trains: Indices, rng: np.random.Generator) -> Indices:
    """Members, and copies of members, are asked about in the world that did not train on them; others fill up."""
    inside = 1 - trains[sample.members[: sample.judged]]
    outside = half_of_twin(hashes[1][sample.nonmembers], hashes[0], 1 - trains)
    return np.concatenate([inside, fill(outside, inside, rng)])
