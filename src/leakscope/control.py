"""The never-trained control: the judged records as seen by models of the same kind that trained on none of them.

Half of the members train one model and the other half another; each model is asked about the half it did not see and about
half of the non-members. Whatever an attack finds there is a difference between the two sets of records, not membership.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.crossfit import Indices, Sample, halves
from leakscope.errors import InputError
from leakscope.evidence import Floats
from leakscope.releases import observe
from leakscope.target import Records, Target
from leakscope.worlds import Worlds, random_halves


@dataclass(frozen=True)
class ControlWorld:
    """What the releases show of the judged records, asked of models that trained on ``trained_on`` other records each.

    ``world`` says for each judged record which of the two models was asked about it; ``half`` deals each world's members,
    and its non-members, to halves in turn.
    """

    observed: dict[str, Floats]
    world: Indices
    half: Indices
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
    releases: tuple[str, ...],
    seed: int,
    retrain: Callable[..., list[dict[str, NDArray[Any]]]],
) -> ControlWorld:
    """Train on one half of the members and ask about the other, and the other way round."""
    worlds = random_halves(len(target.members), 2, seed)
    world, half = _deal(sample, worlds)
    rows = [np.flatnonzero(world == number) for number in range(len(worlds))]
    judged = _judged(target, sample)
    observation = _Observation(tuple(judged.take(part) for part in rows), releases)
    try:
        found = retrain(target.learner, target.members.X, target.members.y, worlds, observation, seed=seed)
    except (RuntimeError, InputError) as error:
        raise InputError(
            f"the model could not be trained again for the control ({str(error).rstrip('.')}): mend that, or leave it out "
            "with retrain=False (--no-retrain)"
        ) from error
    order = np.argsort(np.concatenate(rows))
    observed = {release: np.concatenate([part[release] for part in found])[order] for release in releases}
    return ControlWorld(observed, world, half, len(worlds.indices(0)))


def _judged(target: Target, sample: Sample) -> Records:
    """Features and labels of the judged records: nothing else of them leaves for the place where models are trained."""
    inside, outside = target.members.take(sample.members[: sample.judged]), target.nonmembers.take(sample.nonmembers)
    both = [inside.X, outside.X]
    X = pd.concat(both, ignore_index=True) if isinstance(inside.X, pd.DataFrame) else np.concatenate(both)
    return Records(X, np.concatenate([inside.y, outside.y]), np.arange(2 * sample.judged))


def _deal(sample: Sample, worlds: Worlds) -> tuple[Indices, Indices]:
    """Which world each judged record is asked in, and in which half it is judged.

    Members go to the world that did not train on them. Each world gets as many non-members as members, and so does each
    of its halves: a half with more of one kind would leave fewer of it to learn from, and bias the control downwards.
    """
    seen_first = np.isin(sample.members[: sample.judged], worlds.indices(0))
    of_members = seen_first.astype(np.intp)
    world = np.concatenate([of_members, np.sort(of_members)])
    half = np.empty_like(world)
    for number in range(len(worlds)):
        for side in (sample.member, ~sample.member):
            rows = np.flatnonzero((world == number) & side)
            half[rows] = halves(len(rows))
    return world, half
