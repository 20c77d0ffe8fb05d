"""What a measurement of leakage claims, decided from its intervals and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim, Outcome, Scalar, plain_settings
from leakscope.core.versions import stamp
from leakscope.studies.leakage.draws import BLOCKS
from leakscope.studies.leakage.figures import student
from leakscope.studies.leakage.result import NATS_PER_BIT, SETTINGS, Goal, Leakage, LeakagePoint

#: Warnings that do not affect the bound, which is also a mean over records of numbers from 0 to 1. Every other warning withdraws it.
HARMLESS = frozenset({"fixed_parameters", "few_records_dominate", "no_threshold_attack"})
#: Warnings that do not affect the divergence of the median record.
HARMLESS_TO_MEDIAN = HARMLESS | {"ill_conditioned", "gaussian_unchecked_noise"}
#: Warnings after which the laws are not Gaussian.
REFUTING = frozenset({"no_density", "neighbours_disagree", "attack_exceeds_bound"})


def conclude(
    points: Sequence[LeakagePoint], records: Any, settings: dict[str, Any], goal: float | None = None, **fields: Any
) -> Leakage:
    """Give the result of points, with its claims; leakage should stay below ``goal`` bits as the size or l2 grows."""
    found = Leakage(points=tuple(points), records=records, settings=plain_settings(settings), **fields, **stamp())
    along = [name for name in ("size", "l2") if name == "size" or len({point.l2 for point in points}) > 1]
    goals = () if goal is None else tuple(one for name in along for one in found.below(goal, along=name))  # type: ignore[arg-type]
    return replace(found, goals=goals, claims=tuple(_claims(found, goals)), warnings=found.point.warnings)


def doubts(point: LeakagePoint) -> list[str]:
    """Give the codes of the warnings of a point that withdraw its bound."""
    return [caveat.code for caveat in point.warnings if caveat.code not in HARMLESS]


def _claims(found: Leakage, goals: Sequence[Goal]) -> Iterator[Claim]:
    main = found.point
    yield Claim("leak", {}, _positive(main.attack), _figures(main, main.attack))
    if len(found.points) > 1:
        for point in found.points:
            attack = _simultaneous(point.attack, len(found.points), found.settings["draws"])
            yield Claim("leak", _place(point), _positive(attack), _figures(point, attack))
    for point in found.points:
        against = doubts(point)
        refuted = any(code in REFUTING for code in against)
        holds: Outcome = "no" if refuted else "inconclusive" if against else "yes"
        yield Claim("bounded", _place(point), holds, {} if against else {"advantage_bound": point.advantage_bound})
    for point in found.points:
        differs = [name for name in SETTINGS if getattr(point, name) != getattr(main, name)]
        if len(differs) == 1:
            subject = {"setting": differs[0], "value": getattr(point, differs[0]), "than": getattr(main, differs[0])}
            medians = {"rho_kl_median": point.rho_kl_median, "rho_kl_median_before": main.rho_kl_median}
            yield Claim("leaks_less", subject, _leaks_less(point, main), medians)
    for goal in goals:
        above: Outcome = "no" if goal.last.low >= goal.bits * NATS_PER_BIT else "inconclusive"
        outcome = above if goal.value is None else "yes"
        yield Claim("below_goal", {"along": goal.along, **goal.fixed}, outcome, {"rho_kl": goal.last})


def _place(point: LeakagePoint) -> dict[str, Scalar]:
    return {name: getattr(point, name) for name in SETTINGS}


def _positive(attack: Estimate) -> Outcome:
    return "yes" if attack.low > 0 else "inconclusive"


def _figures(point: LeakagePoint, attack: Estimate) -> dict[str, Estimate]:
    threshold = {} if point.threshold_attack is None else {"threshold_attack": point.threshold_attack}
    return {"rho_kl": point.rho_kl, "rho_mi": point.rho_mi, "attack": attack, **threshold}


def _simultaneous(attack: Estimate, points: int, draws: int) -> Estimate:
    """Widen the interval of an attack, which is Student's over blocks of draws, so that those of all points are simultaneous."""
    freedom, together = min(BLOCKS, draws) - 1, 1 - (1 - attack.confidence) / points
    ratio = student(freedom, together) / student(freedom, attack.confidence)
    low, high = (attack.value + ratio * (end - attack.value) for end in (attack.low, attack.high))
    return replace(attack, low=max(-1.0, low), high=min(1.0, high), confidence=together)


def _leaks_less(one: LeakagePoint, other: LeakagePoint) -> Outcome:
    """Compare median records. Two 95 % intervals that exclude each other err in one of 300 pairs or fewer: a sweep may search them."""
    if any(caveat.code not in HARMLESS_TO_MEDIAN for point in (one, other) for caveat in point.warnings):
        return "inconclusive"
    if one.rho_kl_median.high < other.rho_kl_median.low:
        return "yes"
    return "no" if other.rho_kl_median.high < one.rho_kl_median.low else "inconclusive"
