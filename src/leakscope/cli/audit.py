"""The command ``leakscope audit``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli import options as shared
from leakscope.cli.gate import FailIf, Junit, OnUncertain, PolicyFile, decide, prepare, read_gate, stop_if_failed
from leakscope.cli.options import ATTACKS, option
from leakscope.core.errors import InputError

if TYPE_CHECKING:
    from leakscope.record.conditions import Scope

TASKS = ("classification", "regression")
OUTPUTS = ("probabilities", "logits", "log-probabilities")
RANDOM_SPLIT_HINT = (
    "If training and held-out records come from one random split, add --random-split: fewer models are trained, and weaker leaks are "
    "found."
)


def audit(
    context: typer.Context,
    model: shared.AnyModel,
    train: shared.Train,
    holdout: shared.Holdout,
    label: shared.Label,
    out: shared.Out = None,
    groups: shared.Groups = None,
    id: shared.Id = None,  # noqa: A002
    drop: shared.Drop = None,
    task: shared.Task = None,
    outputs: shared.Outputs = None,
    fail_if: FailIf = None,
    policy: PolicyFile = None,
    on_uncertain: OnUncertain = None,
    junit: Junit = None,
    releases: Annotated[
        str | None,
        option(
            ATTACKS,
            "Releases to audit, separated by commas: labels, probabilities, predictions, gradient, integrated_gradients, "
            "smoothgrad:sigma=0.1, … (see docs/feature-explanations.md).",
        ),
    ] = None,
    attacks: Annotated[
        str | None,
        option(
            ATTACKS,
            "Attacks in the place of the default ones, separated by commas; “default” adds these: default,boundary,quantile "
            "(see docs/matrix.md).",
        ),
    ] = None,
    references: shared.References = None,
    budget: shared.Budget = None,
    random_split: shared.RandomSplit = False,
    include: shared.With = None,
    epsilon: Annotated[
        float | None,
        option(ATTACKS, "Claimed ε of differential privacy for the swap of one record; the audit tests the claim."),
    ] = None,
    delta: Annotated[float, option(ATTACKS, "Claimed δ, with --epsilon.")] = 0.0,
    retrain: shared.Retrain = True,
    drop_overlap: shared.DropOverlap = False,
    repeats: shared.Repeats = None,
    confidence: shared.Confidence = 0.95,
    margin: shared.Margin = 0.05,
    seed: shared.Seed = 0,
    workers: shared.Workers = None,
    cluster: shared.Cluster = None,
    cache: shared.Cache = None,
    trust_pickle: shared.TrustPickle = False,
    trust: shared.Trust = None,
    as_json: shared.Json = False,
) -> None:
    """Audit a trained model: do its outputs reveal who was in the training data?"""
    from leakscope.record.storage import load
    from leakscope.studies.audit import audit as run

    rules = read_gate(fail_if, policy, on_uncertain, junit)
    prepare(rules, _scope(releases), junit)
    check_options(task, outputs)
    if delta and epsilon is None:
        raise InputError("--delta goes with --epsilon: name both")
    shared.check_out(out)
    others = [load(folder) for folder in include or ()]
    loaded, digest, sets = shared.read_given(
        model, (train, holdout), label, groups=groups, id_column=id, drop=drop, trust_pickle=trust_pickle, trust=trust
    )
    if retrain and not random_split and sys.stderr.isatty():
        print(RANDOM_SPLIT_HINT, file=sys.stderr)
    with shared.progress_bars() as progress:
        result = run(
            loaded, sets.train, sets.holdout, groups=sets.groups, ids=sets.ids, task=task, outputs=outputs,
            releases=None if releases is None else releases.split(","),
            attacks=None if attacks is None else attacks.split(","), references=references,
            budget=shared.seconds(budget, "--budget"), random_split=random_split,
            retrain=retrain, drop_overlap=drop_overlap, repeats=repeats, confidence=confidence, margin=margin, seed=seed,
            workers=workers, cluster=cluster, cache=cache, epsilon=epsilon, delta=delta,
            command=shared.command_line(context), model_digest=digest, progress=progress,
        )  # fmt: skip
    gate = None if rules is None else decide(rules, result, junit)
    shared.finish(result, out, as_json, include=others, gate=gate)
    stop_if_failed(gate)
    if result.verdict.kind == "claim_refuted":
        raise typer.Exit(shared.GATE_FAILED)


def check_options(task: str | None, outputs: str | None) -> None:
    """Refuse a task or a kind of outputs that is not known."""
    for value, name, known in ((task, "--task", TASKS), (outputs, "--outputs", OUTPUTS)):
        if value not in (None, *known):
            raise InputError(f"{name} must be {' or '.join(known)}, not {value}")


def _scope(releases: str | None) -> Scope:
    """What an audit with these options will have numbers for, as far as that is known before the model is read."""
    from leakscope.attacks.selection import FOLLOWS, PREDICTIONS, read_releases
    from leakscope.record.conditions import audit_scope
    from leakscope.releases.release import RELEASES

    named = list(RELEASES) if releases is None else [release.name for release in read_releases(releases.split(","))]
    readable = dict.fromkeys(name for release in named for name in FOLLOWS.get(release, (release,)))
    explains = bool(set(named) & set(PREDICTIONS)) and not set(named) <= set(RELEASES)
    return audit_scope(tuple(readable), groups=True, explanations=explains)
