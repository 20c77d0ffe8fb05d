"""Which versions dominate others, and which one is recommended: decided from intervals.

A version has a risk, the largest AUC of any attack, and qualities: its accuracy and log-loss (or its mean squared error), and
how faithful each released explanation is. Risks and qualities are compared on the same records, and the intervals of all pairs are simultaneous.
`evaluation.dominance` has the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leakscope import intervals
from leakscope.comparison.paired import PairedAucs
from leakscope.comparison.result import Recommendation, Version
from leakscope.comparison.utility import change_of_shares
from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat
from leakscope.evaluation.dominance import find_dominating


@dataclass(frozen=True, eq=False)
class Rivals:
    """Risk and utility of all versions, comparable pair by pair.

    ``places`` says which of the paired AUCs belong to which version; ``qualities`` are for each version what must not get
    worse, each at the same held-out records for all, so that more is better. A version may be worse than one that it dominates by ``margin`` in the AUC
    and by ``limits`` in the qualities. ``alike`` numbers the versions: those of one number predict the same classes by construction.
    """

    paired: PairedAucs
    places: Sequence[Sequence[int]]
    qualities: Sequence[Sequence[Floats]]
    margin: float
    limits: Sequence[float]
    alike: Sequence[int]

    def risk_change(self, ours: int, theirs: int) -> Estimate:
        """Risk of ours minus risk of theirs."""
        return self.paired.difference(self.places[ours], self.places[theirs])

    def quality_gains(self, ours: int, theirs: int) -> list[Estimate]:
        """Qualities of ours minus those of theirs."""
        count = len(self.places)
        pairs = max(1, count * (count - 1) // 2) * len(self.qualities[0])
        confidence = 1 - (1 - self.paired.confidence) / pairs
        both = zip(self.qualities[ours], self.qualities[theirs], strict=True)
        gains = [intervals.mean(own - other, confidence) for own, other in both]
        first = self.qualities[ours][0] - self.qualities[theirs][0]
        if self.alike[ours] != self.alike[theirs] and np.isin(first, (-1.0, 0.0, 1.0)).all():
            gains[0] = change_of_shares(first, confidence)  # of right answers, of which few may change
        return gains

    @cached_property
    def gains(self) -> dict[tuple[int, int], list[Estimate]]:
        """For each pair the gain of the first over the second: less risk, and each quality."""
        found = {}
        for ours in range(len(self.places)):
            for theirs in range(len(self.places)):
                risk = self.risk_change(ours, theirs)
                less = replace(risk, value=-risk.value, low=-risk.high, high=-risk.low)
                found[ours, theirs] = [less, *self.quality_gains(ours, theirs)]
        return found

    def dominating(self, *, axes: int | None = None) -> list[int | None]:
        """For each version the one that dominates it by values, on the first ``axes`` or all of them."""
        return find_dominating(len(self.places), lambda ours, theirs: self.gains[ours, theirs][:axes])

    def significantly_dominating(self) -> list[int | None]:
        """For each version the one that significantly dominates it."""
        tolerances = (self.margin, *self.limits)
        return find_dominating(len(self.places), lambda ours, theirs: self.gains[ours, theirs], tolerances)


def recommend(
    versions: Sequence[Version], limits: tuple[float, float], *, leaks: bool = True, doubt: Caveat | None = None
) -> Recommendation:
    """Decide what to do, the model as it is first.

    A version whose guarantee is refuted is never recommended, nor one that the attacks with reference models were not run on.

    Parameters
    ----------
    limits
        What may be lost of the main metric, and of the faithfulness of explanations.
    leaks, doubt
        Whether an attack is significantly above chance on the model as it is, and what else than the model may explain it.
    """
    first, *others = versions
    if doubt is not None:
        return Recommendation("inconclusive", doubt=doubt)
    if not leaks:
        return Recommendation("nothing_to_lower")
    lower = [version for version in others if lowers_risk(version) and version.guarantee_status != "refuted"]
    if not lower:
        return Recommendation("not_lowered")
    tested = [version for version in lower if version.attacked_by_references and first.attacked_by_references]
    if not tested:
        return Recommendation("untested", candidate=min(lower, key=lambda version: version.risk.auc.high).name)
    within = [version for version in tested if keeps_utility(version, limits)]
    if not within:
        return Recommendation("utility_limit", candidate=max(tested, key=lambda version: version.main.gain.value).name)
    best = min(within, key=lambda version: version.risk.auc.high).name
    return Recommendation("use", best, best)


def lowers_risk(version: Version) -> bool:
    """Whether the risk of a version is significantly below that of the model as it is."""
    return version.risk_change is not None and version.risk_change.high < 0


def keeps_utility(version: Version, limits: tuple[float, float]) -> bool:
    """Whether what a version loses is significantly within the limits."""
    return version.main.gain.low >= -limits[0] and all(one.gain.low >= -limits[1] for one in version.faithfulness)
