"""The command ``leakscope gate``, and the options that it shares with the commands that audit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli.options import (
    GATE,
    GATE_FAILED,
    INPUT,
    Json,
    PythonPath,
    Trust,
    TrustPickle,
    announce_code,
    grouped,
    option,
)
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


@dataclass(frozen=True)
class Conditions:
    """Options of a gate."""

    fail_if: FailIf = None
    policy: PolicyFile = None
    on_uncertain: OnUncertain = None
    junit: Junit = None

    def make(self) -> Policy:
        """The policy that these options set; the file of its outcome must be writable."""
        from leakscope.record.policy import make_policy

        policy = make_policy(self.fail_if or (), self.policy, self.on_uncertain)
        if self.junit is not None:
            from leakscope.record.junit import check_junit

            check_junit(self.junit)
        return policy

    def read(self, scope: Scope) -> Policy | None:
        """The policy for what a command will have numbers for, or None where no condition is set."""
        if self.fail_if or self.policy is not None:
            policy = self.make()
            policy.check(scope)
            return policy
        if self.on_uncertain is not None or self.junit is not None:
            option = "--junit" if self.on_uncertain is None else "--on-uncertain"
            raise InputError(
                f"{option} goes with a gate: add a condition with --fail-if, or a file of them with --policy"
            )
        return None

    def judge(self, policy: Policy, studied: Result) -> GateResult:
        """Judge a result, and write the outcome as JUnit XML too where that is asked for."""
        from leakscope.record.gate import judge_policy

        result = judge_policy(policy, studied)
        if self.junit is not None:
            from leakscope.record.junit import write_junit

            write_junit(self.junit, result, studied)
        return result


@grouped
def gate(
    folder: Annotated[Path, typer.Argument(help="Folder of a saved result.")],
    conditions: Conditions,
    model: Annotated[
        str | None, option(INPUT, "Model to release, as in audit: exit 2 unless it is the one that was audited.")
    ] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    path: PythonPath = None,
    as_json: Json = False,
) -> None:
    """Judge a saved result by conditions: exit 0 if it passes, 1 if it fails."""
    from leakscope.core.result import plain
    from leakscope.models.entry import entry_point, search_folders
    from leakscope.models.provenance import check_model
    from leakscope.record.conditions import Scope
    from leakscope.record.gate import check_gated
    from leakscope.record.storage import load

    rules = conditions.make()
    if model is None and (trust or trust_pickle or path):
        raise InputError("--trust, --trust-pickle and --path go with --model: name the model file")
    studied = load(folder)
    search_folders(path or ())
    if model is not None:
        if (entry := entry_point(model)) is not None:
            announce_code(entry.module)
        check_model(studied, model, trust_pickle=trust_pickle, trust=tuple(trust or ()))
    check_gated(studied)
    rules.check(Scope.of(studied))
    result = conditions.judge(rules, studied)
    if as_json:
        document = {"claims": plain(studied.claims), "gate": result.as_dict()}
        print(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print(result)
    stop_if_failed(result)


def stop_if_failed(result: GateResult | None) -> None:
    """Exit with 1 where the gate failed."""
    if result is not None and result.outcome == "failed":
        raise typer.Exit(GATE_FAILED)
