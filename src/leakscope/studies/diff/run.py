"""Two results compared: what changed, and whether the change is significant.

`changes` has the statistics and why they hold, `beyond` distinguishes a change of the model from one of the records, `facts` states what else differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, Claim, Outcome, Result
from leakscope.core.versions import stamp
from leakscope.evaluation.results import Audit, GroupRisk, Risk
from leakscope.studies.diff.beyond import (
    ADVANTAGE,
    AUC,
    ComparedRecords,
    Pair,
    compare_release,
    groups_in_doubt,
    rate_figure,
)
from leakscope.studies.diff.changes import SHARE, SIGNED, Change, Ends, GroupChange, ReleaseChange, change_of_one
from leakscope.studies.diff.facts import changed, changed_sides, compare_records, listed, same_data, settings_of
from leakscope.studies.diff.result import ClaimChange, Diff, DiffOutcome


def diff(old: Result, new: Result) -> Diff:
    """Compare two results of one kind: what changed, and whether the change is significant.

    Of audits, the attacks that both ran are compared; see `leakscope.studies.diff.changes` for the intervals, and `leakscope.studies.diff.beyond` for how a
    change of the model is distinguished from one of the records. Of other results, the measures of claims about the same subject are compared. Two results from
    the same records are treated as independent, which makes intervals wider than necessary.

    Parameters
    ----------
    old, new
        Two results of the same kind, such as `leakscope.load` gives.

    Examples
    --------
    >>> from leakscope.studies.audit import audit
    >>> from leakscope.toys import constant, lookup
    >>> steady, leaky = constant(n=200), lookup(n=200)
    >>> old, new = (audit(toy.model, toy.train, toy.holdout, fit=toy.fit) for toy in (steady, leaky))
    >>> found = diff(old, new)
    >>> found.outcome, found.worse
    ('increased', True)
    """
    if old.kind != new.kind:
        raise InputError(f"a {old.kind} and a {new.kind} can't be compared: name two results of one kind")
    for side, which in ((old, "old"), (new, "new")):
        if not side.claims and not (isinstance(side, Audit) and side.risks):
            what = f"the {which} {side.kind} has no claims, so that there is nothing to compare"
            raise InputError(f"{what}: run the study again")
    found = _diff_audits(old, new) if isinstance(old, Audit) and isinstance(new, Audit) else _diff_claims(old, new)
    return Diff(
        of=new.kind,
        studied_models=(old.studied, new.studied),
        old_outcomes={claim.code: claim.outcome for claim in old.claims if not claim.subject},
        new_outcomes={claim.code: claim.outcome for claim in new.claims if not claim.subject},
        caveats=listed(*([caveat.code for caveat in side.warnings] for side in (old, new))),
        changed_settings=changed(settings_of(old), settings_of(new)),
        changed_versions=changed(old.versions, new.versions),
        **found,
        **stamp(),
    )


def _diff_claims(old: Result, new: Result) -> dict[str, Any]:
    """Compare the measure of each claim that both results make, with simultaneous intervals."""
    before = {claim.key: claim for claim in old.claims}
    pairs = [(before[claim.key], claim) for claim in new.claims if claim.key in before]
    figures = [_measure(*pair) for pair in pairs]
    measured = [other.estimates[name] for (_, other), name in zip(pairs, figures, strict=True) if name is not None]
    level = measured[0].confidence if measured else 0.95
    together = 1 - (1 - level) / max(1, len(measured))
    changes = []
    for (one, other), name in zip(pairs, figures, strict=True):
        change = None
        if name is not None:
            change = change_of_one(name, one.estimates[name], other.estimates[name], together, None)
        risky = new.codes[other.code] is not None
        changes.append(ClaimChange(other.code, dict(other.subject), one.outcome, other.outcome, change, risky))
    names = [[" ".join(map(str, (one.code, *one.subject.values()))) for one in side.claims] for side in (old, new)]
    risks = [one for one in changes if one.risk is not None]
    return {
        "outcome": _outcome([str(one.risk) for one in risks]),
        "claim_changes": tuple(changes),
        "claims": tuple(map(_claim_of, risks)),
        "claim_names": listed(*names),
        "confidence": level,
        "comparisons": len(measured),
    }


def _measure(old: Claim, new: Claim) -> str | None:
    """The first number that both claims have with an interval; bounds can't be compared."""
    for name, estimate in new.estimates.items():
        if name in old.estimates and {estimate.kind, old.estimates[name].kind} <= {"estimate", "exact"}:
            return name
    return None


def _claim_of(found: ClaimChange) -> Claim:
    assert found.change is not None
    decided: dict[str | None, Outcome] = {"increased": "yes", "decreased": "no"}
    subject = {"claim": found.code, **found.subject}
    outcome = decided.get(found.risk, "inconclusive")
    return Claim("risk_increased", subject, outcome, {"difference": found.change.difference})


def _diff_audits(old: Audit, new: Audit) -> dict[str, Any]:
    reasons = _why_not_comparable(old, new)
    pairs = [] if reasons else _pairs(old, new)
    level = new.risks[0].auc.confidence
    measured = _performance_pairs(old, new)
    comparisons = _count(pairs) + len(measured)
    together = 1 - (1 - level) / max(1, comparisons)
    records = ComparedRecords.of(old, new)
    by_release = {new.release: [pair for pair in pairs if pair[1].release == new.release] for _, new in pairs}
    releases = tuple(_release(release, some, together, records) for release, some in by_release.items())
    outcome = "not_comparable" if reasons else _outcome([one.outcome for some in releases for one in some.changes])
    groups = _group_changes(old, new, together, records) if pairs else ()
    names = [[f"{one.column} = {one.level}" for one in side.strongest.by_group] for side in (old, new)]
    return {
        "outcome": outcome,
        "claims": _claims(releases, groups),
        "warnings": tuple(_warnings(old, new)),
        "not_comparable": tuple(reasons),
        "releases": releases,
        "groups": groups,
        "performance": tuple(change_of_one(name, one, other, together, ends) for name, one, other, ends in measured),
        "exposure": compare_records(old, new, level),
        "data": same_data(old, new),
        "attacks": listed(*([f"{risk.attack} on {risk.release}" for risk in side.risks] for side in (old, new))),
        "release_names": listed(*([risk.release for risk in side.risks] for side in (old, new))),
        "group_names": listed(*names),
        "confidence": level,
        "comparisons": comparisons,
    }


def _claims(releases: Sequence[ReleaseChange], groups: Sequence[GroupChange]) -> tuple[Claim, ...]:
    """Decide for each release and each group whether its risk increased, and whether that can be attributed to the model."""
    claims = []
    for release in releases:
        changes = [(change, {"release": release.release, "figure": change.figure}) for change in release.changes]
        claims += _claims_about(changes)
    for group in groups:
        # A smaller gap of a group that is less exposed than the rest is no smaller risk.
        if group.gap.new.value > 0:
            claims += _claims_about([(group.gap, {"column": group.column, "level": group.level, "figure": "gap"})])
    return tuple(claims)


def _claims_about(changes: Sequence[tuple[Change, dict[str, Any]]]) -> list[Claim]:
    """Claims about a release or group: on its first figure that changed significantly, otherwise on its first figure."""
    claims = []
    decided: tuple[tuple[str, Outcome], ...] = (("increased", "yes"), ("decreased", "no"))
    for outcome, claimed in decided:
        found = next((pair for pair in changes if pair[0].outcome == outcome), None)
        if found is not None:
            claims.append(Claim("risk_increased", found[1], claimed, {"difference": found[0].difference}))
    doubtful = next((pair for pair in changes if pair[0].outcome == "shift_possible" and pair[0].direction > 0), None)
    if doubtful is not None:
        claims.append(Claim("increase_not_attributable", doubtful[1], "yes", {"difference": doubtful[0].difference}))
    if not claims:
        change, subject = changes[0]
        claims.append(Claim("risk_increased", subject, "inconclusive", {"difference": change.difference}))
    return claims


def _outcome(outcomes: Sequence[str]) -> DiffOutcome:
    if {"increased", "decreased"} <= set(outcomes):
        return "increased_and_decreased"
    order: tuple[DiffOutcome, ...] = ("increased", "decreased", "shift_possible")
    return next((one for one in order if one in outcomes), "not_significant")


def _why_not_comparable(old: Audit, new: Audit) -> list[Caveat]:
    """Differences after which a change of a figure would say nothing of the model."""
    found = []
    if old.target.task != new.target.task:
        found.append(Caveat("other_task", {"old": old.target.task, "new": new.target.task}))
    elif not _pairs(old, new):
        found.append(Caveat("no_common_attack"))
    before, after = (side.risks[0].auc.confidence for side in (old, new))
    if before != after:
        found.append(Caveat("other_confidence", {"old": before, "new": after}))
    margins = [side.settings.get("margin") for side in (old, new)]
    if margins[0] != margins[1]:
        found.append(Caveat("other_margin", {"old": margins[0], "new": margins[1]}))
    return found


def _pairs(old: Audit, new: Audit) -> list[Pair]:
    """The same attack on the same release in both audits, at the confidence of one attack."""
    before = {(risk.release, risk.attack): risk for risk in old.risks}
    return [(before[risk.release, risk.attack], risk) for risk in new.risks if (risk.release, risk.attack) in before]


def _count(pairs: Sequence[Pair]) -> int:
    """All that may be compared: any attack may turn out to be the one that is shown, with all figures and all groups."""
    return sum(2 + len(_rates([pair])) + len(_groups_in_both(*pair)) for pair in pairs)


def _rates(pairs: Sequence[Pair]) -> list[float]:
    """False-positive rates that both samples carry."""
    measured = [
        {rate for rate, tpr in risk.tpr_at_fpr.items() if tpr.kind == "estimate"} for pair in pairs for risk in pair
    ]
    rates = dict.fromkeys(rate for _, risk in pairs for rate in risk.tpr_at_fpr)
    return [rate for rate in rates if all(rate in known for known in measured)]


def _release(release: str, pairs: Sequence[Pair], confidence: float, records: ComparedRecords) -> ReleaseChange:
    rates = _rates(pairs)
    figures = [AUC, ADVANTAGE, *map(rate_figure, rates)]
    changes, beyond, doubt = compare_release(pairs, figures, confidence, records)
    before, after = (max((pair[side] for pair in pairs), key=lambda risk: risk.auc.low).attack for side in (0, 1))
    left_out = tuple(rate for rate in pairs[0][1].tpr_at_fpr if rate not in rates)
    return ReleaseChange(release, before, after, changes, left_out, beyond, doubt)


def _groups_in_both(old: Risk, new: Risk) -> list[tuple[GroupRisk, GroupRisk]]:
    before, after = ({(one.column, one.level): one for one in risk.by_group} for risk in (old, new))
    return [(before[key], group) for key, group in after.items() if key in before]


def _group_changes(old: Audit, new: Audit, confidence: float, records: ComparedRecords) -> tuple[GroupChange, ...]:
    """Groups of both audits under the strongest attack of the new one; none where the old audit did not run it."""
    strongest = (new.strongest.release, new.strongest.attack)
    found = [pair for pair in _pairs(old, new) if (pair[1].release, pair[1].attack) == strongest]
    changes = []
    for one, other in (both for pair in found for both in _groups_in_both(*pair)):
        gap = change_of_one("gap", one.gap, other.gap, confidence, SIGNED)
        doubt = gap.direction != 0 and groups_in_doubt(found, confidence, records)
        changes.append(GroupChange(one.column, one.level, replace(gap, in_doubt=doubt)))
    return tuple(changes)


def _performance_pairs(old: Audit, new: Audit) -> list[tuple[str, Estimate, Estimate, Ends | None]]:
    """Name, old, new and ends of the scale."""
    before, after = old.target.performance, new.target.performance
    if before is None or after is None or before.metric != after.metric:
        return []
    ends = SHARE if after.metric == "accuracy" else None
    return [
        (f"{after.metric} on training records", before.train, after.train, ends),
        (f"{after.metric} on held-out records", before.holdout, after.holdout, ends),
    ]


def _warnings(old: Audit, new: Audit) -> list[Caveat]:
    same = same_data(old, new)
    noted = {"same_records": bool(same) and all(same.values()), "changed_sides": changed_sides(old, new)}
    return [Caveat(code) for code, applies in noted.items() if applies]
