"""Consistency checks of a saved audit: its parts agree, and its verdict follows from its numbers.

The digest of a result detects damage and accidental edits. It is not a signature: anyone who can write the file can recompute it. These checks then
still detect an edit of one part only, such as another verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from leakscope.core.estimate import Estimate, largest
from leakscope.evaluation.audit_claims import audit_claims
from leakscope.evaluation.exposed_records import first_ranks
from leakscope.evaluation.results import Audit, Basis, Largest, ReleaseRisk, Risk
from leakscope.evaluation.verdict import choose_strongest, judge, strongest_by_release
from leakscope.models.provenance import CODE, code_digest

#: Tolerance, because ends of intervals are computed numerically.
TOLERANCE = 1e-6


def contradictions(audit: Audit) -> Iterator[str]:
    """Yield contradictions in an audit; results of older versions are not checked."""
    basis = audit.basis
    if basis is None:
        if audit.claims:
            yield "it has claims without “basis”"
        return
    own = next((entry for entry in audit.by_release if entry.release == audit.strongest.release), None)
    if own is None or audit.largest is None or not audit.risks:
        yield "the figures of its releases are missing"
        return
    (shown,) = strongest_by_release([audit.strongest])
    others = [entry for entry in audit.by_release if entry is not own]
    if replace(shown, largest=own.largest) != own or choose_strongest([own, *others]) != 0:
        yield "“strongest” is not the strongest attack of “by_release”"
    if not _same_range(audit.largest, [entry.largest for entry in audit.by_release]):
        yield "“largest” is not the largest of “by_release”"
    if list(dict.fromkeys(risk.release for risk in audit.risks)) != [entry.release for entry in audit.by_release]:
        yield "“by_release” has other releases than “risks”"
    yield from _unlike_risks(audit)
    yield from _unlike_groups(audit.largest, basis)
    yield from _unlike_settings(audit, basis)
    yield from _unlike_records(audit)
    yield from _other_verdict(audit, basis)


def _unlike_risks(audit: Audit) -> Iterator[str]:
    """Yield strongest attacks whose values differ from ``risks``, where only the intervals may differ."""
    entries: list[Risk | ReleaseRisk] = [audit.strongest, *audit.by_release]
    for entry in entries:
        same = [risk for risk in audit.risks if (risk.release, risk.attack) == (entry.release, entry.attack)]
        if not any(_same_points(entry, risk) for risk in same):
            yield f"the figures of {entry.attack!r} on {entry.release!r} differ between its parts"
    for part in audit.by_release:
        points = [risk.auc.value for risk in audit.risks if risk.release == part.release]
        if part.largest.auc.value != max(points):
            yield f"the largest AUC of {part.release!r} is not the largest of “risks”"
        if not all(_reaches(part.largest, risk) for risk in audit.risks if risk.release == part.release):
            yield f"“largest” of {part.release!r} is below an interval of “risks”"


def _reaches(found: Largest, risk: Risk) -> bool:
    """Whether no interval of an attack exceeds the wider intervals of the largest figures."""
    pairs = [(getattr(found, name), getattr(risk, name)) for name in ("auc", "advantage", "accuracy")]
    pairs += [(found.tpr_at_fpr[rate], estimate) for rate, estimate in risk.tpr_at_fpr.items()]
    if risk.by_group:
        if found.group_auc is None:
            return False
        pairs += [(found.group_auc, group.auc) for group in risk.by_group]
    return all(one.high >= other.high - TOLERANCE for one, other in pairs)


def _same_points(entry: Risk | ReleaseRisk, risk: Risk) -> bool:
    """Whether two entries for one attack agree up to the confidence of their intervals."""
    rates = entry.tpr_at_fpr.keys() | risk.tpr_at_fpr.keys()
    pairs = [(getattr(entry, name), getattr(risk, name)) for name in
             ("auc", "advantage", "accuracy", "blind", "beyond_blind", "beyond_control")]  # fmt: skip
    pairs += [(entry.tpr_at_fpr.get(rate), risk.tpr_at_fpr.get(rate)) for rate in rates]
    if isinstance(entry, Risk):
        if len(entry.by_group) != len(risk.by_group):
            return False
        both = zip(entry.by_group, risk.by_group, strict=True)
        pairs += [pair for ours, theirs in both for pair in ((ours.gap, theirs.gap), (ours.auc, theirs.auc))]
    wider = entry.auc.low <= risk.auc.low + TOLERANCE and risk.auc.high <= entry.auc.high + TOLERANCE
    return wider and all(_same_point(*pair) for pair in pairs)


def _same_point(ours: Estimate | None, theirs: Estimate | None) -> bool:
    """Whether two estimates have one value; a bound changes with the confidence, and may have another."""
    if ours is None or theirs is None:
        return ours is theirs
    return ours.kind == theirs.kind and (ours.value == theirs.value or ours.kind in ("lower bound", "upper bound"))


def _same_range(found: Largest, parts: Sequence[Largest]) -> bool:
    """Whether each figure is the largest of the parts."""
    names, tprs = ("auc", "advantage", "accuracy"), found.tpr_at_fpr
    pairs = [(getattr(found, name), largest([getattr(part, name) for part in parts])) for name in names]
    pairs += [(tpr, largest([part.tpr_at_fpr[rate] for part in parts])) for rate, tpr in tprs.items()]
    groups = [part.group_auc for part in parts if part.group_auc is not None]
    if (found.group_auc is None) == bool(groups):
        return False
    pairs += [] if found.group_auc is None else [(found.group_auc, largest(groups))]
    return all((one.value, one.low, one.high) == (other.value, other.low, other.high) for one, other in pairs)


def _unlike_groups(found: Largest, basis: Basis) -> Iterator[str]:
    """Yield a problem if the most exposed group of the basis is not that of the largest figures, or is missing."""
    low = 0.0 if found.group_auc is None else found.group_auc.low
    if (low if low > 0.5 else None) != (None if basis.exposed is None else basis.exposed.auc.low):
        yield "the most exposed group of “basis” is not that of “largest”"


def _unlike_settings(audit: Audit, basis: Basis) -> Iterator[str]:
    settings = audit.settings
    if settings.get("margin") != basis.margin or settings.get("random split", False) != basis.random_split:
        yield "“settings” and “basis” differ"
    if settings.get("confidence after the choice") != audit.strongest.auc.confidence:
        yield "“settings” and the interval of “strongest” have different confidences"
    if any(settings.get("confidence") != risk.auc.confidence for risk in audit.risks):
        yield "“settings” and the intervals of “risks” have different confidences"


def _unlike_records(audit: Audit) -> Iterator[str]:
    columns = audit.record_columns("id", "score", "rank")
    if columns is None:
        yield "records.csv is missing"
        return
    _, scores, ranks = columns
    ordered = np.array(scores)[np.argsort(ranks, kind="stable")]
    if not ((ordered >= 0) & (ordered <= 1)).all() or (np.diff(ordered) > 0).any():
        yield "the ranks of records.csv do not follow from its scores"
    if first_ranks(*columns) != audit.exposed:
        yield "“exposed” differs from records.csv"
    refuted = audit.verdict.kind == "claim_refuted"
    if any(bound.contradicted != refuted for bound in audit.bounds):
        yield "“bounds” contradict the verdict"


def _other_verdict(audit: Audit, basis: Basis) -> Iterator[str]:
    """Yield a problem if the kind of verdict, or with the same code a claim, does not follow from the numbers."""
    derived = judge(audit.strongest, basis, audit.named)
    if derived.kind != audit.verdict.kind:
        yield "its verdict does not follow from its numbers"
    elif (derived != audit.verdict or audit_claims(audit) != audit.claims) and (
        audit.fingerprints.get(CODE) == code_digest()  # another version may use another rule for claims
    ):
        yield "its claims do not follow from its numbers"
