"""Shadow models: an attacker who knows no member trains models of the same kind on records of his own [Shokri et al. 2017].

Half of the held-out records, drawn at random, are the attacker's. Each shadow model trains on a random half of these
(in complementary pairs, so that every record is as often in as out), and is asked about all of them. There the attacker
knows who was a member; what he fits is then used on the audited model. Half of the holdout is left to be judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.crossfit import Hashes, Indices
from leakscope.errors import InputError, TrainingError
from leakscope.evidence import Attack, Evidence, Floats, Guesses, Known, Labels
from leakscope.failures import cause
from leakscope.releases import observe
from leakscope.target import Records, Target
from leakscope.worlds import random_halves

#: Fewer records than this can't be halved for shadow models.
FEWEST_RECORDS = 40
OTHER_COLUMNS = (
    "pipelines that are trained on other records encode them in other columns, so that an attack can't go from one model to "
    "the other: encode the records before, and audit the last step alone"
)


@dataclass(frozen=True)
class Shadows:
    """What the releases show of the attacker's records in every shadow model, one model after the other."""

    observed: dict[str, Floats]
    labels: Labels
    member: NDArray[np.bool_]
    models: int
    trained_on: int

    def known(self, attack: Attack) -> Known:
        """What an attack may know."""
        labels = self.labels if attack.uses_labels else None
        beside = None if attack.beside is None else self.observed[attack.beside]
        return Known(self.observed[attack.release], labels, self.member, beside)

    def guess(
        self, attack: Attack, observed: Floats, labels: Labels, beside: Floats | None, rng: np.random.Generator
    ) -> Guesses:
        """Fit the attack on the shadow models and ask it about records of another model."""
        use, known = labels if attack.uses_labels else None, self.known(attack)
        if known.observed.shape[1] != observed.shape[1]:
            raise InputError(OTHER_COLUMNS)
        return attack.guess(Evidence(observed, use, known, beside), rng)


@dataclass(frozen=True)
class _Observation:
    asked: Records
    releases: tuple[str, ...]

    def __call__(self, model: Any, world: int, trained_on: Indices) -> dict[str, Floats]:  # noqa: ARG002
        return observe(model, self.asked, self.releases)


def split_holdout(hashes: Hashes, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Positions of the attacker's records and of those that are left to be judged; copies go together."""
    different, copy = np.unique(hashes, return_inverse=True)
    attackers = (rng.permutation(len(different)) % 2 == 0)[copy]
    return np.flatnonzero(attackers), np.flatnonzero(~attackers)


def _same_columns(parts: list[Floats]) -> Floats:
    if len({part.shape[1] for part in parts}) > 1:
        raise InputError(OTHER_COLUMNS)
    return np.concatenate(parts)


def train_shadows(
    target: Target,
    rows: Indices,
    releases: tuple[str, ...],
    count: int,
    seed: int,
    retrain: Callable[..., list[dict[str, NDArray[Any]]]],
) -> Shadows:
    """Train ``count`` models on halves of the held-out records at ``rows``, and observe all of these in each."""
    if min(len(rows), len(target.nonmembers) - len(rows)) < FEWEST_RECORDS:
        raise InputError(
            f"shadow models need at least {2 * FEWEST_RECORDS} held-out records, half of them for the attacker, and there "
            f"are {len(target.nonmembers)}"
        )
    asked = target.nonmembers.take(rows)
    worlds = random_halves(len(rows), count, seed)
    try:
        found = retrain(target.learner, asked.X, asked.y, worlds, _Observation(asked, releases), seed=seed)
    except TrainingError as error:
        raise InputError(f"the shadow models could not be trained ({str(error).rstrip('.')})") from cause(error)
    member = worlds.matrix()
    return Shadows(
        {name: _same_columns([part[name] for part in found]) for name in releases},
        np.tile(asked.y, count),
        member.ravel(),
        count,
        int(member.sum(axis=1).min()),
    )
