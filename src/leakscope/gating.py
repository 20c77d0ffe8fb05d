"""The gate: an audit judged by conditions, for pipelines that must let a release through or stop it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from leakscope.conditions import Judgement, Scope, VerdictCondition
from leakscope.integrity import check_gated
from leakscope.policy import Choice, Policy, make_policy
from leakscope.provenance import check_model
from leakscope.results import Estimate, Findings
from leakscope.verdict_text import headline

CANNOT_TELL = "the audit cannot tell"


@dataclass(frozen=True)
class GateResult:
    """What became of every condition, and of the release.

    Parameters
    ----------
    outcome
        ``failed`` or ``passed``.
    on_uncertain
        What an uncertain condition counts as: ``fail`` or ``pass``.
    conditions
        One `Judgement` each. Where the verdict is "cannot tell" and no condition is about it, one more says so.
    """

    outcome: Literal["failed", "passed"]
    on_uncertain: Choice
    conditions: tuple[Judgement, ...]

    def __str__(self) -> str:
        """One line for each condition that failed or is uncertain; if the release may pass, one that says so."""
        lines = [self.line(judgement) for judgement in self.conditions if judgement.outcome != "passed"]
        if self.outcome == "passed":
            total, uncertain = len(self.conditions), len(lines)
            count = "1 condition" if total == 1 else f"{total} conditions"
            lines.append(f"gate passed: {count}" + (f", {uncertain} uncertain" if uncertain else ""))
        return "\n".join(lines)

    def line(self, judgement: Judgement) -> str:
        """One condition in one line."""
        notes = {
            "fail": "counts as failed: --on-uncertain pass lets it through",
            "pass": "let through: --on-uncertain is pass",
        }
        note = notes[self.on_uncertain] if judgement.outcome == "uncertain" else ""
        return f"gate {judgement.outcome}: {judgement.line(note)}"

    def fails(self, judgement: Judgement) -> bool:
        """Whether this one alone stops the release."""
        return judgement.outcome == "failed" or (judgement.outcome == "uncertain" and self.on_uncertain == "fail")

    def as_dict(self) -> dict[str, Any]:
        """Plain texts, numbers, lists and dicts; an end of an interval that is not finite is None."""
        return {
            "outcome": self.outcome,
            "on_uncertain": self.on_uncertain,
            "conditions": [vars(one) | {"estimate": _plain(one.estimate)} for one in self.conditions],
        }


def gate(
    audit: Findings,
    fail_if: str | Sequence[str] = (),
    policy: str | Path | None = None,
    on_uncertain: str | None = None,
    *,
    model: str | Path | None = None,
    trust_pickle: bool = False,
    trust: Sequence[str] = (),
) -> GateResult:
    """Judge an audit by conditions: may this model be released?

    Parameters
    ----------
    audit
        What `audit` or `load` returned.
    fail_if
        Conditions that stop a release, such as ``"auc.high > 0.6"``; `conditions` has all of them.
    policy
        A TOML file of conditions; see `policy`.
    on_uncertain
        ``"fail"`` or ``"pass"``: what a condition counts as that can't be decided. By default what the policy says, and
        otherwise ``"fail"``.
    model
        The model file that is to be released; another file than the one that was audited is refused (see
        `provenance.check_model`).
    trust_pickle, trust
        As in `load_model`, where the audit was made in Python and the file must be loaded to be compared.

    Returns
    -------
    GateResult
        ``outcome`` is ``"passed"`` if no condition failed, and none is uncertain unless that counts as passed.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> result = ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> print(gate(result, fail_if=["auc > 0.6", "tpr_at_fpr[0.1].low < 0.5"]))
    gate failed: auc > 0.6 (it is 1.000 [0.992, 1.000])
    """
    rules = make_policy(fail_if, policy, on_uncertain)
    if model is not None:
        check_model(audit, model, trust_pickle=trust_pickle, trust=trust)
    rules.check(Scope.of(audit))
    return judge_policy(rules, audit)


def judge_policy(policy: Policy, audit: Findings) -> GateResult:
    """Every rule of a policy, judged on the record of an audit that says what its verdict depends on."""
    check_gated(audit)
    judged = [replace(rule.condition.judge(audit), because=rule.because) for rule in policy.rules]
    asked = any(isinstance(rule.condition, VerdictCondition) for rule in policy.rules)
    if audit.verdict.kind == "cannot tell" and not asked:
        # Where a distribution shift is not ruled out, no number need be about the model.
        judged.append(Judgement(CANNOT_TELL, "uncertain", None, headline(audit.verdict)))
    stops = {"failed", "uncertain"} if policy.on_uncertain == "fail" else {"failed"}
    outcome: Literal["failed", "passed"] = "failed" if any(one.outcome in stops for one in judged) else "passed"
    return GateResult(outcome, policy.on_uncertain, tuple(judged))


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    infinite = {"low", "high"} - {name for name in ("low", "high") if math.isfinite(getattr(estimate, name))}
    return asdict(estimate) | dict.fromkeys(infinite)
