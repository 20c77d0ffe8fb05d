r"""Releases of record explanations compared: every attack on every release, with the same seeds.

With :math:`p_{v,a}` the expected share of the training records that attack a recovers through release v, the change of the
largest share between two releases is

.. math:: D_{vw} = \max_a p_{v,a} - \max_b p_{w,b} = \max_a\min_b\,(p_{v,a} - p_{w,b}).

Intervals of all :math:`p_{v,a}` and, run by run, of all :math:`p_{v,a} - p_{w,a}` are simultaneous (Student's over runs, Bonferroni),
and bound every term of it. They cover the attacks' own randomness on this training set, not of other records; an
attack whose runs all agree has an interval of length zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import numpy as np

from leakscope.attacks import RECONSTRUCTIONS
from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import difference
from leakscope.core.result import NotRun
from leakscope.evaluation.dominance import exact, find_dominating, negated
from leakscope.releases.record_explanations.release import RecordRelease, Usefulness
from leakscope.studies.compare.plan import Limits
from leakscope.studies.reconstruct.run import ReconstructionCase, over_runs, run_attack, usefulness_of
from leakscope.worlds.training import Progress

NO_LOSS = Estimate(0.0, 0.0, 0.0, kind="exact", method="the same by construction")


class RivalReleases:
    """Releases of record explanations, each with the queries that one user may make; comparable pair by pair."""

    def __init__(self, case: ReconstructionCase, releases: Sequence[tuple[RecordRelease, int]], limits: Limits) -> None:
        self.case, self.releases, self.limits = case, releases, limits
        self.runs: list[dict[str, Floats]] = []  # for each release, by attack: share recovered in each run

    def attack(self, progress: Progress | None) -> list[NotRun]:
        """Run every attack that can run against every release, with the same seeds; those that can't are given back."""
        refused, total = {}, len(self.releases) * len(RECONSTRUCTIONS)
        for release, budget in self.releases:
            case, shares = replace(self.case, budget=budget), {}
            for done, (name, attack) in enumerate(RECONSTRUCTIONS.items(), start=1):
                if reason := attack.refuse(release.values, case.prior):
                    refused[attack.name] = NotRun(release.words, attack.name, reason)
                else:
                    found = run_attack(case, release, name)
                    shares[attack.name] = np.array([len(run) for run in found]) / len(case.y)
                if progress is not None:
                    progress("attacking record explanations", len(self.runs) * len(RECONSTRUCTIONS) + done, total)
            self.runs.append(shares)
        return list(refused.values())

    # --- risk ---------------------------------------------------------------------------------------------------------

    @cached_property
    def each(self) -> float:
        """Confidence of each interval, so that those of all shares and all differences of one attack are simultaneous."""
        pairs = combinations(self.runs, 2)
        count = sum(map(len, self.runs)) + sum(len(ours.keys() & theirs.keys()) for ours, theirs in pairs)
        return 1 - (1 - self.case.confidence) / count

    @cached_property
    def shares(self) -> list[dict[str, Estimate]]:
        """For each release, by attack: the share that it recovers."""
        return [
            {name: over_runs(runs, self.each, high=self.ceiling(at)) for name, runs in by_attack.items()}
            for at, by_attack in enumerate(self.runs)
        ]

    def ceiling(self, at: int) -> float:
        """What the attacks of one user can't exceed: queries times records shown, as a share of the training records."""
        release, budget = self.releases[at]
        return min(1.0, budget * release.k / len(self.case.y))

    def risk_change(self, ours: int, theirs: int) -> Estimate:
        """Largest share of ours minus largest share of theirs."""
        ends = [[self._apart(ours, a, theirs, b) for b in self.runs[theirs]] for a in self.runs[ours]]
        low, high = (max(min(pair[side] for pair in row) for row in ends) for side in (0, 1))
        tops = (max(share.value for share in self.shares[at].values()) for at in (ours, theirs))
        value = next(tops) - next(tops)
        # The ends are those of other pairs than the point and can cross it by the last digit of a float.
        method = "paired over runs of the attacks, all pairs together"
        return Estimate(
            value, min(low, value), max(high, value), self.case.confidence, n=self.case.repeats, method=method
        )

    def _apart(self, ours: int, attack: str, theirs: int, other: str) -> tuple[float, float]:
        """Ends for the share of an attack on ours minus that of another on theirs: paired where it is the same attack."""
        first, second = self.shares[ours][attack], self.shares[theirs][other]
        low, high = first.low - second.high, first.high - second.low
        if attack == other:
            paired = over_runs(self.runs[ours][attack] - self.runs[theirs][attack], self.each, low=-1.0, high=1.0)
            low, high = max(low, paired.low), min(high, paired.high)
        return low, high

    # --- utility for ordinary users, and dominance ----------------------------------------------------------------------

    @cached_property
    def useful(self) -> list[Usefulness]:
        """Utility of each release for ordinary users; the intervals of all differences are simultaneous."""
        count = 3 * max(1, len(self.releases) * (len(self.releases) - 1) // 2)
        confidence = 1 - (1 - self.case.confidence) / count
        known: dict[RecordRelease, Usefulness] = {}
        for release, _ in self.releases:
            if release not in known:
                known[release] = usefulness_of(self.case, release, confidence)
        return [known[release] for release, _ in self.releases]

    def gains(self, ours: int, theirs: int) -> list[Estimate]:
        """Answered, records found, and error of influences: of ours minus of theirs, so that more is better."""
        first, second = self.useful[ours], self.useful[theirs]
        (release, _), (other, _) = self.releases[ours], self.releases[theirs]
        same_points, same_records = (
            release.near == other.near,
            replace(release, digits=None) == replace(other, digits=None),
        )
        found = [
            NO_LOSS if same_points else difference(first.answered, second.answered),
            NO_LOSS if same_records else difference(first.found, second.found),
        ]
        if release == other:
            found.append(NO_LOSS)
        elif first.error is not None and second.error is not None:
            found.append(difference(second.error, first.error))
        return found

    def within(self, gains: Sequence[Estimate]) -> bool:
        """Whether the loss of utility is significantly within the limit."""
        return all(gain.low >= -self.limits.utility_loss for gain in gains)

    def dominating(self, *, significantly: bool) -> list[int | None]:
        """For each release the one that dominates it, or None; the number of queries counts too, and may not be smaller."""
        tolerances = (self.limits.tolerance, 0.0, *[self.limits.utility_loss] * 3) if significantly else None
        return find_dominating(len(self.releases), self._all_gains, tolerances)

    def _all_gains(self, ours: int, theirs: int) -> list[Estimate]:
        """Less risk, more queries, and usefulness; influences that one of the two hides are not compared."""
        less = negated(self.risk_change(ours, theirs))
        useful = self.gains(ours, theirs)
        queries = exact(float(self.releases[ours][1] - self.releases[theirs][1]))
        return [less, queries, *useful, *[NO_LOSS] * (3 - len(useful))]
