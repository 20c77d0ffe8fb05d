"""All versions together: risk and utility with their changes, dominance, and the status of guarantees.

A version has a risk, the largest AUC of any attack, and qualities: its accuracy and log-loss (or its mean squared error), and
how faithful each released explanation is. Risks and qualities are compared on the same records, and the intervals of all pairs are simultaneous.
`evaluation.dominance` has the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.data.small_groups import pool_levels
from leakscope.evaluation.dominance import find_dominating, negated
from leakscope.evaluation.risk import assess_groups
from leakscope.evaluation.verdict import largest_figures
from leakscope.studies.compare.attacking import KNOWS, ComparisonCase, VersionOutcome
from leakscope.studies.compare.guarantees import hold_claim
from leakscope.studies.compare.measuring import Seen
from leakscope.studies.compare.paired import PairedAucs, pair_aucs
from leakscope.studies.compare.plan import Limits
from leakscope.studies.compare.result import AttackOnVersion, Version
from leakscope.studies.compare.utility import change_of_shares, faithfulness_changes, utility_by_group, utility_changes


@dataclass(frozen=True, eq=False)
class RivalVersions:
    """Risk and utility of all versions, comparable pair by pair.

    ``places`` says which of the paired AUCs belong to which version; ``qualities`` are for each version what must not get
    worse, each at the same held-out records for all, so that more is better. A version may be worse than one that it dominates by ``tolerance`` in the AUC
    and by ``limits`` in the qualities. ``alike`` numbers the versions: those of one number predict the same classes by construction.
    """

    paired: PairedAucs
    places: Sequence[Sequence[int]]
    qualities: Sequence[Sequence[Floats]]
    tolerance: float
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
                less = negated(self.risk_change(ours, theirs))
                found[ours, theirs] = [less, *self.quality_gains(ours, theirs)]
        return found

    def dominating(self, *, axes: int | None = None) -> list[int | None]:
        """For each version the one that dominates it by values, on the first ``axes`` or all of them."""
        return find_dominating(len(self.places), lambda ours, theirs: self.gains[ours, theirs][:axes])

    def significantly_dominating(self) -> list[int | None]:
        """For each version the one that significantly dominates it."""
        tolerances = (self.tolerance, *self.limits)
        return find_dominating(len(self.places), lambda ours, theirs: self.gains[ours, theirs], tolerances)


def combine(
    case: ComparisonCase, seen: Sequence[Seen], alone: Any, limits: Limits
) -> tuple[list[Version], tuple[float, float]]:
    """The versions, and what may be lost of the main metric and of the faithfulness of explanations."""
    first, utility_loss = seen[0].quality, limits.utility_loss
    allowed = utility_loss if first.task == "classification" else utility_loss * float(-first.compared[0].mean())
    rivals = _rivals(case, seen, (allowed, utility_loss), limits.tolerance)
    dominating, significantly = rivals.dominating(), rivals.significantly_dominating()
    in_the_chart = rivals.dominating(axes=2)
    levels = {column: pool_levels(values) for column, values in case.target.nonmembers.groups.items()}
    shared = _Shared(case, seen, levels)
    names, found = [one.version.name for one in seen], []
    for at, one in enumerate(seen):
        by, significantly_by = (
            None if place is None else names[place] for place in (dominating[at], significantly[at])
        )
        version = _version(case, one, seen[0], shared, alone, None if at == 0 else rivals.risk_change(at, 0))
        version = replace(version, dominated_by=by, significantly_dominated_by=significantly_by)
        found.append(replace(version, pareto_optimal=in_the_chart[at] is None))
    return found, (allowed, utility_loss)


def _rivals(case: ComparisonCase, seen: Sequence[Seen], limits: tuple[float, float], tolerance: float) -> RivalVersions:
    ends = np.cumsum([0, *(len(one.outcome.scores) for one in seen)])
    places = [range(start, stop) for start, stop in pairwise(ends)]
    paired = pair_aucs([parts for one in seen for parts in one.outcome.scores], case.confidence, case.seed)
    qualities = [(*one.quality.compared, *one.faithful.values()) for one in seen]
    of_each = (limits[0], *[limits[1]] * (len(qualities[0]) - 1))
    alike = [0 if one.version.labels_stay else at for at, one in enumerate(seen)]
    return RivalVersions(paired, places, qualities, tolerance, of_each, alike)


class _Shared:
    """Levels of the groups, and the confidences that make the intervals of all changes, all groups and all bounds on ε simultaneous."""

    def __init__(self, case: ComparisonCase, seen: Sequence[Seen], levels: dict[str, Any]) -> None:
        others = max(1, len(seen) - 1)
        metrics = len(seen[0].quality.measure(case.confidence)) + len(seen[0].faithful)
        groups = sum(len(set(values.tolist())) for values in levels.values())
        spare = 1 - case.confidence
        self.levels = levels
        self.by_metric = 1 - spare / (others * metrics)
        self.by_group = 1 - spare / (others * max(1, groups))
        self.by_claim = 1 - spare / len(seen)


def _version(
    case: ComparisonCase, one: Seen, first: Seen, shared: _Shared, alone: Any, change: Estimate | None
) -> Version:
    version, outcome, quality = one.version, one.outcome, one.quality
    epsilon, status = hold_claim(case, outcome, alone, version.made.guarantee, shared.by_claim)
    best = outcome.careful[outcome.strongest]
    same = version.labels_stay if quality.task == "classification" else version.answers_stay
    return Version(
        **version.about,
        changes=version.changes,
        risk=largest_figures(outcome.careful),
        strongest=f"{best.attack} on {best.release}",
        control=best.control.auc,
        control_kind=best.control.kind,
        attacks=tuple(
            AttackOnVersion(
                one.attack, one.release, one.auc, one.tpr_at_fpr, one.control.auc, KNOWS.get(one.attack, "")
            )
            for one in outcome.careful
        ),
        risk_change=change,
        utility=utility_changes(
            quality, first.quality, case.confidence, shared.by_metric, same=version.answers_stay, same_labels=same
        ),
        groups=utility_by_group(
            quality,
            first.quality,
            shared.levels,
            case.confidence,
            shared.by_group,
            _exposed_groups(case, outcome),
            same=same,
        ),
        faithfulness=faithfulness_changes(one.faithful, first.faithful, case.confidence, shared.by_metric),
        retrained=one.retrained,
        guarantee=version.made.guarantee,
        epsilon=epsilon,
        guarantee_status=status,
        notes=version.made.notes,
    )


def _exposed_groups(case: ComparisonCase, outcome: VersionOutcome) -> dict[tuple[str, str], Estimate]:
    """AUC of the strongest attack in each group that is large enough on both sides."""
    (found,) = assess_groups(outcome.trials[outcome.strongest].target, case.groups, [case.together])
    return {(group.column, group.level): group.auc for group in found}
