"""The recommendation and the claims of a comparison, each decided once from simultaneous intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, Claim, Outcome, Scalar
from leakscope.evaluation.audit_claims import OUTCOMES
from leakscope.evaluation.dominance import exact
from leakscope.studies.compare.result import Comparison, Recommendation, RecordComparison, Version

_REFUTED: dict[str, Outcome] = {"refuted": "yes", "in doubt": "inconclusive"}


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
    unrefuted = [version for version in others if version.guarantee_status != "refuted"]
    lower = [version for version in unrefuted if version.risk_change is not None and version.risk_change.high < 0]
    if not lower:
        return Recommendation("not_lowered")
    tested = [version for version in lower if version.attacked_by_references and first.attacked_by_references]
    if not tested:
        return Recommendation("untested", candidate=min(lower, key=lambda version: version.risk.auc.high).name)
    within = [version for version in tested if _keeps_utility(version, limits) == "yes"]
    if not within:
        return Recommendation("utility_limit", candidate=max(tested, key=lambda version: version.main.gain.value).name)
    best = min(within, key=lambda version: version.risk.auc.high).name
    return Recommendation("use", best, best)


def _keeps_utility(version: Version, limits: tuple[float, float]) -> Outcome:
    """Decide whether what a version loses is significantly within the limits, or significantly beyond one of them."""
    kept = [(version.main.gain, limits[0]), *((one.gain, limits[1]) for one in version.faithfulness)]
    if any(gain.high < -limit for gain, limit in kept):
        return "no"
    return "yes" if all(gain.low >= -limit for gain, limit in kept) else "inconclusive"


def comparison_claims(found: Comparison) -> Iterator[Claim]:
    """Decide the claims of a comparison; the first is about the model as it is."""
    yield Claim("leak", {}, OUTCOMES[found.verdict.kind], _risk(found.as_it_is))
    chosen = found.recommendation.version
    yield Claim("recommended", {}, "inconclusive" if chosen is None else "yes")
    statuses = {version.guarantee_status for version in found.compared}
    yield Claim("guarantee_refuted", {}, next((one for status, one in _REFUTED.items() if status in statuses), "no"))
    for version in found.compared:
        if version.risk_change is not None:
            yield from _defended(version, found, doubted=found.recommendation.doubt is not None)
        if version.guarantee is not None:
            refuted = _REFUTED.get(version.guarantee_status, "no")
            shown = {"epsilon": version.epsilon, "guaranteed_epsilon": exact(version.guarantee.for_swaps()[0])}
            yield Claim("guarantee_refuted", {"version": version.name}, refuted, shown)
        yield Claim(
            "dominated", {"version": version.name}, "yes" if version.significantly_dominated_by else "inconclusive"
        )
    if found.record_explanations is not None:
        yield from _record_claims(found.record_explanations)


def _risk(version: Version) -> dict[str, Estimate]:
    rates = {f"tpr_at_fpr[{rate:g}]": estimate for rate, estimate in version.risk.tpr_at_fpr.items()}
    return {"auc": version.risk.auc, "advantage": version.risk.advantage, **rates}


def _defended(version: Version, found: Comparison, *, doubted: bool) -> Iterator[Claim]:
    """What a defense does to risk and utility; where something else than the model may explain the risk, a change of it decides nothing."""
    assert version.risk_change is not None
    about: dict[str, Scalar] = {"version": version.name}
    lowered = "inconclusive" if doubted else _decreases(version.risk_change)
    yield Claim("risk_lowered", dict(about), lowered, {"auc_change": version.risk_change, **_risk(version)})
    for one in (*version.utility.values(), *version.faithfulness):
        estimates = {"utility_change": one.change, "utility": one.value}
        yield Claim("utility_lost", about | {"metric": one.metric}, _decreases(one.gain), estimates)
    kept = _keeps_utility(version, (found.utility_limit, found.faithfulness_limit))
    yield Claim("utility_kept", dict(about), kept, {"utility_change": version.main.change})
    for group in version.groups:
        if _decreases(group.gain) == "yes":
            where = about | {"column": group.column, "level": group.level}
            yield Claim("group_utility_lost", where, "yes", {"group_utility_change": group.change})
    if version.name == found.recommendation.version:
        yield Claim("recommended", dict(about), "yes", {"auc_change": version.risk_change})


def _decreases(change: Estimate) -> Outcome:
    """Whether something decreases significantly."""
    return "yes" if change.high < 0 else "no" if change.low >= 0 else "inconclusive"


def _record_claims(found: RecordComparison) -> Iterator[Claim]:
    for version in found.versions:
        about: dict[str, Scalar] = {"record explanation": version.name}
        if version.change is not None:
            shares = {"share_change": version.change, "share": version.share}
            yield Claim("risk_lowered", dict(about), _decreases(version.change), shares)
            if version.name == found.recommendation.version:
                yield Claim("recommended", dict(about), "yes", {"share_change": version.change})
        yield Claim("dominated", about, "yes" if version.significantly_dominated_by else "inconclusive")
