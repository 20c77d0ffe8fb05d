"""The claims of an audit, from its verdict and its simultaneous intervals."""

from __future__ import annotations

from collections.abc import Iterator

from leakscope.core.estimate import Estimate
from leakscope.core.intervals import difference
from leakscope.core.result import Claim, Outcome
from leakscope.evaluation.results import Audit, Largest, ReleaseRisk, VerdictKind
from leakscope.evaluation.verdict import randomised

#: A model is overfitted if its accuracy is significantly more than this higher on training records than on held-out ones.
OVERFIT = 0.05
#: Whether a model leaks, by the verdict.
OUTCOMES: dict[VerdictKind, Outcome] = {
    "leaks": "yes",
    "claim_refuted": "yes",
    "not_detected": "no",
    "inconclusive": "inconclusive",
}


def audit_claims(audit: Audit) -> tuple[Claim, ...]:
    """Decide the claims of an audit; one without ``basis``, which an older version wrote, has none."""
    return () if audit.basis is None else tuple(_claims(audit))


def _claims(audit: Audit) -> Iterator[Claim]:
    verdict = audit.verdict
    assert audit.basis is not None
    assert audit.largest is not None
    yield Claim("leak", {}, OUTCOMES[verdict.kind], _figures(audit.largest))
    for risk in audit.by_release:
        yield Claim("leak", {"release": risk.release}, _outcome(risk, audit), _figures(risk.largest))
    yield from _group_claims(audit)
    for extra in audit.extras:
        subject = {"explanation": extra.release, "prediction": extra.prediction}
        yield Claim("explanation_adds", dict(subject), "yes" if extra.adds else "inconclusive", {"extra": extra.auc})
    claim = audit.basis.claim
    shown = {} if claim is None or claim.epsilon is None else {"epsilon": claim.bound}
    # A bound above the claim refutes it, unless a distribution shift may explain the bound.
    doubted: Outcome = "inconclusive" if claim is not None and claim.refuted else "no"
    yield Claim("claim_refuted", {}, "yes" if verdict.kind == "claim_refuted" else doubted, shown)
    if (bound := audit.bound) is not None:
        advantage = bound.advantage.high
        known = {} if bound.contradicted else {"bound": Estimate(advantage, advantage, advantage, kind="exact")}
        yield Claim("bounded", {}, "inconclusive" if bound.contradicted else "yes", known)
    yield from _context_claims(audit)


def _context_claims(audit: Audit) -> Iterator[Claim]:
    """Decide what helps to read the verdict: a distribution shift, overfitting, and whether labels alone reveal less."""
    risk, performance = audit.strongest, audit.target.performance
    if risk.blind is not None and risk.beyond_blind is not None:
        yield Claim("shift", {}, "yes" if risk.blind.low > 0.5 else "inconclusive", {"blind": risk.blind})
        beyond: Outcome = "yes" if risk.beyond_blind.low > 0 else "inconclusive"
        yield Claim("beyond_blind", {}, beyond, {"beyond_blind": risk.beyond_blind})
    if performance is not None and performance.metric == "accuracy":
        gap = difference(performance.train, performance.holdout)
        overfitted: Outcome = "yes" if gap.low > OVERFIT else "no" if gap.high < OVERFIT else "inconclusive"
        yield Claim("overfitted", {}, overfitted, {"overfitting": gap})
    strongest = max(audit.by_release, key=lambda one: one.auc.low, default=None)
    labels = next((one for one in audit.by_release if one.release == "labels"), None)
    if strongest is not None and labels is not None and strongest is not labels:
        less = strongest.auc.low > labels.auc.high  # both intervals are simultaneous
        yield Claim("labels_reveal_less", {"release": strongest.release}, "yes" if less else "inconclusive")


def _figures(found: Largest) -> dict[str, Estimate]:
    rates = {f"tpr_at_fpr[{rate:g}]": estimate for rate, estimate in found.tpr_at_fpr.items()}
    return {"auc": found.auc, "advantage": found.advantage, "accuracy": found.accuracy, **rates}


def _outcome(risk: ReleaseRisk, audit: Audit) -> Outcome:
    """Decide whether one release leaks; where the verdict over all of them is inconclusive, so is each that is above chance."""
    if not risk.beats_chance:
        return "no" if audit.verdict.kind == "not_detected" else "inconclusive"
    assert audit.basis is not None
    beyond = risk.beyond_control if risk.control_kind == "never trained" else risk.beyond_blind
    # Under a random split that nothing contradicts, an attack above chance needs no rival: as in the verdict.
    doubted = not randomised(audit.strongest, audit.basis) and beyond is not None and beyond.low <= 0
    return "yes" if audit.verdict.leaks and not doubted else "inconclusive"


def _group_claims(audit: Audit) -> Iterator[Claim]:
    """One claim about the most exposed group, one about the gap of each, and one for each column without a group that is shown."""
    assert audit.largest is not None
    if (auc := audit.largest.group_auc) is not None:
        leaks = audit.verdict.leaks and auc.low > 0.5
        yield Claim("group_leak", {}, "yes" if leaks else "inconclusive", {"largest_group.auc": auc})
    for group in audit.strongest.by_group:
        outcome: Outcome = "yes" if group.gap.low > 0 else "no" if group.gap.high < 0 else "inconclusive"
        subject = {"column": group.column, "level": group.level}
        yield Claim("group_gap", dict(subject), outcome, {"group_gap": group.gap, "group_auc": group.auc})
    shown = {group.column for group in audit.strongest.by_group}
    for column in audit.settings.get("groups") or []:
        if column not in shown:
            yield Claim("group_gap", {"column": column})
            yield Claim("group_leak", {"column": column})
