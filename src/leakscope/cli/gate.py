"""The command ``leakscope gate``, and the options that it shares with the commands that audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli.options import GATE, GATE_FAILED, INPUT, Json, Trust, TrustPickle, option
from leakscope.core.errors import InputError

if TYPE_CHECKING:
    from leakscope.core.result import Result
    from leakscope.record.conditions import Scope
    from leakscope.record.gate import GateResult
    from leakscope.record.policy import Policy

FailIf = Annotated[
    list[str] | None,
    option(GATE, "Exit 1 if this holds, such as 'auc.high > 0.6' or 'verdict = leaks'; may be repeated."),
]
PolicyFile = Annotated[Path | None, option(GATE, "TOML file of such conditions (see docs/pipeline.md).", "--policy")]
OnUncertain = Annotated[
    str | None, option(GATE, "fail or pass: what an undecided condition counts as; fail by default.")
]
Junit = Annotated[Path | None, option(GATE, "File for the gate as JUnit XML.")]


def gate(
    folder: Annotated[Path, typer.Argument(help="Folder of a saved result.")],
    fail_if: FailIf = None,
    policy: PolicyFile = None,
    on_uncertain: OnUncertain = None,
    junit: Junit = None,
    model: Annotated[
        str | None, option(INPUT, "Model file to release: exit 2 unless it is the one that was audited.")
    ] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Judge a saved result by conditions: exit 0 if it passes, 1 if it fails."""
    from leakscope.core.result import plain
    from leakscope.models.provenance import check_model
    from leakscope.record.conditions import Scope
    from leakscope.record.gate import check_gated
    from leakscope.record.policy import make_policy
    from leakscope.record.storage import load

    rules = make_policy(fail_if or (), policy, on_uncertain)
    prepare(rules, None, junit)
    if model is None and (trust or trust_pickle):
        raise InputError("--trust and --trust-pickle go with --model: name the model file")
    studied = load(folder)
    if model is not None:
        check_model(studied, model, trust_pickle=trust_pickle, trust=tuple(trust or ()))
    check_gated(studied)
    rules.check(Scope.of(studied))
    result = decide(rules, studied, junit)
    if as_json:
        document = {"claims": plain(studied.claims), "gate": result.as_dict()}
        print(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print(result)
    stop_if_failed(result)


def read_gate(
    fail_if: list[str] | None, policy: Path | None, on_uncertain: str | None, junit: Path | None
) -> Policy | None:
    """The policy that the options of a command set, or None where they set none."""
    from leakscope.record.policy import make_policy

    if fail_if or policy is not None:
        return make_policy(fail_if or (), policy, on_uncertain)
    if on_uncertain is not None or junit is not None:
        option = "--junit" if on_uncertain is None else "--on-uncertain"
        raise InputError(f"{option} goes with a gate: add a condition with --fail-if, or a file of them with --policy")
    return None


def prepare(policy: Policy | None, scope: Scope | None, junit: Path | None) -> None:
    """Refuse before any work what can't be judged or can't be written."""
    if policy is not None and scope is not None:
        policy.check(scope)
    if junit is not None:
        from leakscope.record.junit import check_junit

        check_junit(junit)


def decide(policy: Policy, studied: Result, junit: Path | None) -> GateResult:
    """Judge a result, and write the outcome as JUnit XML too where that is asked for."""
    from leakscope.record.gate import judge_policy

    result = judge_policy(policy, studied)
    if junit is not None:
        from leakscope.record.junit import write_junit

        write_junit(junit, result, studied)
    return result


def stop_if_failed(result: GateResult | None) -> None:
    """Exit with 1 where the gate failed."""
    if result is not None and result.outcome == "failed":
        raise typer.Exit(GATE_FAILED)
