"""Paired evaluation: two models of one kind as one target, each the never-trained control of the other.

Each model is queried about members of its own sample and half of the non-members; as control, about those of the other. Effects of
one model, or of one half of the non-members, are on both sides of the difference between target and control and cancel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from leakscope.core.arrays import Floats, Indices
from leakscope.core.errors import InputError
from leakscope.data.records import Records, join_records
from leakscope.evaluation.crossfit import Sample
from leakscope.evaluation.evaluate import Cohort, ControlOutputs, KnownNonmembers, Observed, Shown
from leakscope.models.model import Model
from leakscope.releases.release import observe

#: Smallest number of members of each sample, and of its non-members.
FEWEST_OF_PAIR = 20
#: The judged records of each model: members of its sample, and the non-members that go with them.
MEMBERS, NONMEMBERS = ("members 0", "members 1"), ("nonmembers 0", "nonmembers 1")


@dataclass(frozen=True, eq=False)
class Paired:
    """The judged records: members of each of two samples, and equally many non-members for each.

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
                f"there are {size} members and {len(nonmembers)} non-members, and an attack needs at least {FEWEST_OF_PAIR} and "
                f"{2 * FEWEST_OF_PAIR}: add records"
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
        """The model that is queried about each judged record; the other model is the control."""
        return np.tile(np.repeat([0, 1], len(self.members[0])), 2)

    def case(self, seed: int) -> Cohort:
        """Return the evaluation case of both models. The blind baseline does not depend on them and is measured once."""
        inside, outside = (np.concatenate([part.y for part in side]) for side in (self.members, self.nonmembers))
        return Cohort(self.sample, (inside, outside), None, {}, seed, fprs=(), model=self.model)

    def observe(self, models: Sequence[Model], releases: Sequence[str], known: Records | None = None) -> Observed:
        """Query both models; see `ask` and `observed`."""
        return self.observed([self.ask(model, releases, known) for model in models], releases, known)

    def ask(self, model: Model, releases: Sequence[str], known: Records | None = None) -> dict[str, Floats]:
        """Query one model about all judged records: the released values by ``"<part> <release>"``.

        ``known`` are equally many non-members as a sample has, for an attack that is fitted to them instead of the judged ones.
        """
        parts = dict(zip((*MEMBERS, *NONMEMBERS), (*self.members, *self.nonmembers), strict=True))
        asked = parts if known is None else parts | {"known": known}
        return {
            f"{part} {name}": values
            for part, records in asked.items()
            for name, values in observe(model, records, releases).items()
        }

    def observed(
        self, answers: Sequence[Mapping[str, Floats]], releases: Sequence[str], known: Records | None = None
    ) -> Observed:
        """Combine what `ask` returned: each model on its own records and, as control, on those of the other."""

        def shown(parts: Sequence[str], models: Sequence[int]) -> Shown:
            of_parts = list(zip(parts, models, strict=True))
            return {
                name: np.concatenate([answers[model][f"{part} {name}"] for part, model in of_parts])
                for name in releases
            }

        control = ControlOutputs(shown((*MEMBERS, *NONMEMBERS), (1, 0, 1, 0)), self.model)
        learned = None
        if known is not None:
            both = (shown(("known", "known"), models) for models in ((0, 1), (1, 0)))
            learned = KnownNonmembers(np.tile(known.y, 2), *both)
        return Observed(shown(MEMBERS, (0, 1)), shown(NONMEMBERS, (0, 1)), control, learned)

    def mix(self, sets: Sequence[Records], rng: np.random.Generator) -> Records:
        """Draw as many records as a sample has, in equal shares from each set; repeated if the sets are too small."""
        count = len(self.members[0])
        share = min(count // len(sets), *(len(records) for records in sets))
        mixed = reduce(join_records, [records.take(rng.permutation(len(records))[:share]) for records in sets])
        return mixed.take(np.resize(rng.permutation(len(mixed)), count))
