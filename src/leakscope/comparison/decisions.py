"""The claims of a comparison, each decided once from simultaneous intervals."""

from __future__ import annotations

from collections.abc import Iterator

from leakscope.comparison.choosing import keeps_utility, lowers_risk
from leakscope.comparison.result import Comparison, RecordComparison, Version
from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim, Outcome, Scalar
from leakscope.evaluation.dominance import exact
from leakscope.results import VerdictKind

_LEAK: dict[VerdictKind, Outcome] = {
    "leaks": "yes",
    "claim_refuted": "yes",
    "not_detected": "no",
    "inconclusive": "inconclusive",
}


def comparison_claims(found: Comparison) -> tuple[Claim, ...]:
    """Decide the claims of a comparison; the first is about the model as it is."""
    return tuple(_claims(found))


def _claims(found: Comparison) -> Iterator[Claim]:
    yield Claim("leak", {}, _LEAK[found.verdict.kind], _risk(found.as_it_is))
    chosen = found.recommendation.version
    yield Claim("recommended", {}, "inconclusive" if chosen is None else "yes")
    for version in found.compared:
        if version.risk_change is not None:
            yield from _defended(version, found, doubted=found.recommendation.doubt is not None)
        yield from _guaranteed(version)
        yield _dominated({"version": version.name}, version.significantly_dominated_by)
    if found.record_explanations is not None:
        yield from _record_claims(found.record_explanations)


def _risk(version: Version) -> dict[str, Estimate]:
    rates = {f"tpr_at_fpr[{rate:g}]": estimate for rate, estimate in version.risk.tpr_at_fpr.items()}
    return {"auc": version.risk.auc, "advantage": version.risk.advantage, **rates}


def _defended(version: Version, found: Comparison, *, doubted: bool) -> Iterator[Claim]:
    """What a defense does to risk and utility; where something else than the model may explain the risk, a change of it decides nothing."""
    assert version.risk_change is not None
    about: dict[str, Scalar] = {"version": version.name}
    lowered: Outcome = "yes" if lowers_risk(version) else _not_below(version.risk_change)
    yield Claim(
        "risk_lowered",
        dict(about),
        "inconclusive" if doubted else lowered,
        {"auc_change": version.risk_change, **_risk(version)},
    )
    for one in (*version.utility.values(), *version.faithfulness):
        estimates = {"utility_change": one.change, "utility": one.value}
        yield Claim("utility_lost", about | {"metric": one.metric}, _lost(one.gain), estimates)
    kept: Outcome = "yes" if keeps_utility(version, (found.utility_limit, found.faithfulness_limit)) else "inconclusive"
    if version.main.gain.high < -found.utility_limit:
        kept = "no"
    yield Claim("utility_kept", dict(about), kept, {"utility_change": version.main.change})
    for group in version.groups:
        if _lost(group.gain) == "yes":
            where = about | {"column": group.column, "level": group.level}
            yield Claim("group_utility_lost", where, "yes", {"group_utility_change": group.change})
    if version.name == found.recommendation.version:
        yield Claim("recommended", dict(about), "yes", {"auc_change": version.risk_change})


def _not_below(change: Estimate) -> Outcome:
    return "no" if change.low >= 0 else "inconclusive"


def _lost(gain: Estimate) -> Outcome:
    return "yes" if gain.high < 0 else "no" if gain.low >= 0 else "inconclusive"


def _guaranteed(version: Version) -> Iterator[Claim]:
    if version.guarantee is not None:
        outcome: Outcome = "yes" if version.guarantee_status == "refuted" else "inconclusive"
        shown = {"epsilon": version.epsilon, "guaranteed_epsilon": exact(version.guarantee.for_swaps()[0])}
        yield Claim("guarantee_refuted", {"version": version.name}, outcome, shown)


def _dominated(about: dict[str, Scalar], by: str | None) -> Claim:
    return Claim("dominated", about, "inconclusive" if by is None else "yes")


def _record_claims(found: RecordComparison) -> Iterator[Claim]:
    for version in found.versions:
        about: dict[str, Scalar] = {"record explanation": version.name}
        if version.change is not None:
            lowered: Outcome = "yes" if version.change.high < 0 else _not_below(version.change)
            yield Claim("risk_lowered", dict(about), lowered, {"share_change": version.change, "share": version.share})
            if version.name == found.recommendation.version:
                yield Claim("recommended", dict(about), "yes", {"share_change": version.change})
        yield _dominated(about, version.significantly_dominated_by)
