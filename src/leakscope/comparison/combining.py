"""All versions together: risk and utility with their changes, dominance, and the status of guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from leakscope.comparison.attacking import KNOWS, Case, Outcome
from leakscope.comparison.choosing import Rivals
from leakscope.comparison.claims import hold_claim
from leakscope.comparison.measuring import Seen
from leakscope.comparison.paired import pair_aucs
from leakscope.comparison.result import Attacked, Version
from leakscope.comparison.utility import price as price_of
from leakscope.comparison.utility import price_by_group, price_of_explanations
from leakscope.core.estimate import Estimate
from leakscope.results import Risk
from leakscope.risk import assess_groups, pool_levels
from leakscope.verdict import largest_figures


def combine(
    case: Case, seen: Sequence[Seen], alone: Any, price: float, margin: float
) -> tuple[list[Version], tuple[float, float]]:
    """The versions, and what may be lost of the main metric and of the faithfulness of explanations."""
    first = seen[0].quality
    allowed = price if first.task == "classification" else price * float(-first.compared[0].mean())
    rivals = _rivals(case, seen, (allowed, price), margin)
    dominating, significantly = rivals.dominating(), rivals.significantly_dominating()
    in_the_chart = rivals.dominating(axes=2)
    levels = {column: pool_levels(values) for column, values in case.target.nonmembers.groups.items()}
    shared = _Shared(case, seen, levels)
    found = [
        _version(case, one, seen[0], shared, alone, None if at == 0 else rivals.risk_change(at, 0))
        for at, one in enumerate(seen)
    ]
    marked = [
        replace(
            version,
            dominated_by=_name(seen, dominating[at]),
            significantly_dominated_by=_name(seen, significantly[at]),
            pareto_optimal=in_the_chart[at] is None,
        )
        for at, version in enumerate(found)
    ]
    return marked, (allowed, price)


def _name(seen: Sequence[Seen], place: int | None) -> str | None:
    return None if place is None else seen[place].version.name


def _rivals(case: Case, seen: Sequence[Seen], limits: tuple[float, float], margin: float) -> Rivals:
    ends = np.cumsum([0, *(len(one.outcome.scores) for one in seen)])
    places = [range(start, stop) for start, stop in pairwise(ends)]
    paired = pair_aucs([parts for one in seen for parts in one.outcome.scores], case.confidence, case.seed)
    qualities = [(*one.quality.compared, *one.faithful.values()) for one in seen]
    of_each = (limits[0], *[limits[1]] * (len(qualities[0]) - 1))
    alike = [0 if one.version.labels_stay else at for at, one in enumerate(seen)]
    return Rivals(paired, places, qualities, margin, of_each, alike)


class _Shared:
    """Levels of the groups, and the confidences that make the intervals of all changes, all groups and all bounds on ε simultaneous."""

    def __init__(self, case: Case, seen: Sequence[Seen], levels: dict[str, Any]) -> None:
        others = max(1, len(seen) - 1)
        metrics = len(seen[0].quality.measure(case.confidence)) + len(seen[0].faithful)
        groups = sum(len(set(values.tolist())) for values in levels.values())
        spare = 1 - case.confidence
        self.levels = levels
        self.by_metric = 1 - spare / (others * metrics)
        self.by_group = 1 - spare / (others * max(1, groups))
        self.by_claim = 1 - spare / len(seen)


def _version(case: Case, one: Seen, first: Seen, shared: _Shared, alone: Any, change: Estimate | None) -> Version:
    version, outcome, quality = one.version, one.outcome, one.quality
    epsilon, status = hold_claim(case, outcome, alone, version.made.guarantee, shared.by_claim)
    best = outcome.careful[outcome.strongest]
    same = version.labels_stay if quality.task == "classification" else version.answers_stay
    return Version(
        name=version.name,
        defense=version.defense,
        knob=version.knob,
        setting=version.setting,
        what=version.what,
        source=version.source,
        changes=version.changes,
        risk=largest_figures(outcome.careful),
        strongest=f"{best.attack} on {best.release}",
        control=best.control.auc,
        control_kind=best.control.kind,
        attacks=tuple(_attacked(risk) for risk in outcome.careful),
        risk_change=change,
        utility=price_of(
            quality, first.quality, case.confidence, shared.by_metric, same=version.answers_stay, same_labels=same
        ),
        groups=price_by_group(
            quality,
            first.quality,
            shared.levels,
            case.confidence,
            shared.by_group,
            _exposed_groups(case, outcome),
            same=same,
        ),
        faithfulness=price_of_explanations(one.faithful, first.faithful, case.confidence, shared.by_metric),
        retrained=one.retrained,
        guarantee=version.made.guarantee,
        epsilon=epsilon,
        guarantee_status=status,
        notes=version.made.notes,
    )


def _attacked(risk: Risk) -> Attacked:
    return Attacked(risk.attack, risk.release, risk.auc, risk.tpr_at_fpr, risk.control.auc, KNOWS.get(risk.attack, ""))


def _exposed_groups(case: Case, outcome: Outcome) -> dict[tuple[str, str], Estimate]:
    """AUC of the strongest attack in each group that is large enough on both sides."""
    (found,) = assess_groups(outcome.trials[outcome.strongest].target, case.groups, [case.together])
    return {(group.column, group.level): group.auc for group in found}
