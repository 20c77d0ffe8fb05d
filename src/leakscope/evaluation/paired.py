"""Two models of one kind as one target, each the never-trained control of the other's training sample.

Each model is asked about members of its own sample and about half of the non-members; as control, about those of the other. What is
peculiar to one model, or to one half of the non-members, is on both sides of the difference between target and control.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from leakscope.core.arrays import Indices
from leakscope.core.errors import InputError
from leakscope.data.records import Records, join_records
from leakscope.evaluation.crossfit import Sample
from leakscope.evaluation.evaluate import ControlOutputs, EvaluationCase, KnownNonmembers, Observed, Shown
from leakscope.models.model import Model
from leakscope.releases.release import observe

#: Members of each sample, and non-members to go with it, that a pair must have at least.
FEWEST_OF_PAIR = 20


@dataclass(frozen=True, eq=False)
class Paired:
    """The judged records: members of each of two samples, and as many non-members to go with each.

    Examples
    --------
    >>> records = Records(np.zeros((100, 1)), np.zeros(100, np.int64), np.arange(100))
    >>> paired = Paired.draw([records, records], records, 60, np.random.default_rng(0))
    >>> len(paired.members[0]), len(paired.nonmembers[1]), np.bincount(paired.model)
    (30, 30, array([60, 60]))
    """

    members: tuple[Records, Records]
    nonmembers: tuple[Records, Records]

    @classmethod
    def draw(cls, samples: Sequence[Records], nonmembers: Records, most: int, rng: np.random.Generator) -> Paired:
        """Draw at most ``most`` members. Copies are kept: records of a few discrete columns are rarely unique."""
        size = min(len(sample) for sample in samples)
        judged = min(size, len(nonmembers) // 2, most // 2)
        if judged < FEWEST_OF_PAIR:
            raise InputError(
                f"there are {size} members and {len(nonmembers)} non-members; an attack needs at least {FEWEST_OF_PAIR} and "
                f"{2 * FEWEST_OF_PAIR}: give more records"
            )
        first, second = (sample.take(rng.permutation(len(sample))[:judged]) for sample in samples)
        rows = rng.permutation(len(nonmembers))
        return cls((first, second), (nonmembers.take(rows[:judged]), nonmembers.take(rows[judged : 2 * judged])))

    @property
    def sample(self) -> Sample:
        judged = len(self.members[0])
        everyone = np.arange(2 * judged)
        return Sample(everyone, everyone, 2 * judged, np.tile(np.arange(judged) % 2, 4), everyone[:0])

    @property
    def model(self) -> Indices:
        """Which model is asked about each judged record; as control it is the other one."""
        return np.tile(np.repeat([0, 1], len(self.members[0])), 2)

    def case(self, seed: int) -> EvaluationCase:
        """Return the case of an attack on both models; the blind baseline does not depend on them and is measured once (`sample`)."""
        inside, outside = (np.concatenate([part.y for part in side]) for side in (self.members, self.nonmembers))
        return EvaluationCase(self.sample, (inside, outside), None, {}, seed, fprs=(), model=self.model)

    def observe(self, models: Sequence[Model], releases: Sequence[str], known: Records | None = None) -> Observed:
        """Ask each model about its own records and, as control, about those of the other.

        ``known`` are as many non-members as go with a sample, for an attacker who learns from them in place of the judged ones.
        """
        swapped = models[::-1]
        shown = _ask([*swapped, *swapped], [*self.members, *self.nonmembers], releases)
        learned = None
        if known is not None:
            both = [_ask(asked, [known, known], releases) for asked in (models, swapped)]
            learned = KnownNonmembers(np.tile(known.y, 2), both[0], both[1])
        return Observed(
            _ask(models, self.members, releases),
            _ask(models, self.nonmembers, releases),
            ControlOutputs(shown, self.model),
            learned,
        )

    def mix(self, sets: Sequence[Records], rng: np.random.Generator) -> Records:
        """Return the as many records as go with a sample, in equal shares from each set; repeated where the sets are too small."""
        count = len(self.members[0])
        share = min(count // len(sets), *(len(records) for records in sets))
        mixed = reduce(join_records, [records.take(rng.permutation(len(records))[:share]) for records in sets])
        return mixed.take(np.resize(rng.permutation(len(mixed)), count))


def _ask(models: Sequence[Model], parts: Sequence[Records], releases: Sequence[str]) -> Shown:
    """What the releases show of some parts, each asked of its own model."""
    shown = [observe(model, part, releases) for model, part in zip(models, parts, strict=True)]
    return {name: np.concatenate([part[name] for part in shown]) for name in releases}
