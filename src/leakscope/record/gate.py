"""The gate: evaluate conditions on a result, to pass or stop a release in a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from leakscope.core.errors import InputError
from leakscope.core.result import Result, plain
from leakscope.models.provenance import check_model
from leakscope.record.conditions import Judgement, OutcomeCondition, Scope
from leakscope.record.policy import Choice, Policy, make_policy


@dataclass(frozen=True)
class GateResult:
    """Result of every condition, and of the gate.

    Parameters
    ----------
    outcome
        ``failed`` or ``passed``.
    on_uncertain
        What an uncertain condition counts as: ``fail`` or ``pass``.
    conditions
        One `Judgement` per condition. If the first claim is inconclusive and no condition is about it, one more states that.
    """

    outcome: Literal["failed", "passed"]
    on_uncertain: Choice
    conditions: tuple[Judgement, ...]

    def __str__(self) -> str:
        """Return one line per condition that failed or is uncertain, and a last one if the gate passed."""
        lines = [self.line(judgement) for judgement in self.conditions if judgement.outcome != "passed"]
        if self.outcome == "passed":
            total, uncertain = len(self.conditions), len(lines)
            count = "1 condition" if total == 1 else f"{total} conditions"
            lines.append(f"gate passed: {count}" + (f", {uncertain} uncertain" if uncertain else ""))
        return "\n".join(lines)

    def line(self, judgement: Judgement) -> str:
        """Return one condition in one line."""
        notes = {
            "fail": "counts as failed: use --on-uncertain pass to accept it",
            "pass": "accepted: --on-uncertain is pass",
        }
        note = notes[self.on_uncertain] if judgement.outcome == "uncertain" else ""
        return f"gate {judgement.outcome}: {judgement.line(note)}"

    def fails(self, judgement: Judgement) -> bool:
        """Whether this condition stops the release."""
        return judgement.outcome == "failed" or (judgement.outcome == "uncertain" and self.on_uncertain == "fail")

    def as_dict(self) -> dict[str, Any]:
        """Return texts, numbers, lists and dicts."""
        return dict(plain(self))


def gate(
    result: Result,
    fail_if: str | Sequence[str] = (),
    policy: str | Path | None = None,
    on_uncertain: str | None = None,
    *,
    model: str | Path | None = None,
    trust_pickle: bool = False,
    trust: Sequence[str] = (),
) -> GateResult:
    """Evaluate conditions on a result to decide whether a model may be released.

    Parameters
    ----------
    result
        Result of a study or of `load`.
    fail_if
        Conditions that stop a release, such as ``"auc.high > 0.6"``; see `leakscope.record.conditions`.
    policy
        A TOML file of conditions; see `leakscope.record.policy`.
    on_uncertain
        ``"fail"`` or ``"pass"``: what an uncertain condition counts as. By default the value of the policy, otherwise
        ``"fail"``.
    model
        The model file to release; it must be the file that was audited (see `provenance.check_model`).
    trust_pickle, trust
        As in `load_model`, if the audit was run in Python and the file must be loaded for comparison.

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
    gate failed: auc > 0.6 (it is 1.000 [0.991, 1.000])
    """
    rules = make_policy(fail_if, policy, on_uncertain)
    if model is not None:
        check_model(result, model, trust_pickle=trust_pickle, trust=trust)
    check_gated(result)
    rules.check(Scope.of(result))
    return judge_policy(rules, result)


def judge_policy(policy: Policy, result: Result) -> GateResult:
    """Evaluate every rule of a policy on a result.

    If the first claim is about the whole model and inconclusive, and no condition is about it, the gate is uncertain: under distribution shift, the
    numbers may not describe the model.
    """
    check_gated(result)
    judged = [replace(rule.condition.judge(result), because=rule.because) for rule in policy.rules]
    asked = {rule.condition.code for rule in policy.rules if isinstance(rule.condition, OutcomeCondition)}
    main = result.claims[0]
    if not main.subject and main.outcome == "inconclusive" and result.codes[main.code] and main.code not in asked:
        judged.append(Judgement(f"{main.code} is decided", "uncertain", None, f"{main.code} is inconclusive"))
    found = GateResult("passed", policy.on_uncertain, tuple(judged))
    return replace(found, outcome="failed") if any(map(found.fails, judged)) else found


def check_gated(result: Result) -> None:
    """Raise an error for a result without claims."""
    if not result.claims:
        why = "it was written by an older version: run the study again" if result.codes else "its kind makes none"
        raise InputError(f"the {result.kind} has no claims to evaluate: {why}")
