"""The command ``leakscope audit``."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli_gate import (
    GATE_FAILED,
    FailIf,
    Junit,
    OnUncertain,
    PolicyFile,
    decide,
    prepare,
    read_gate,
    stop_if_failed,
)
from leakscope.cli_shared import (
    Budget,
    Cluster,
    Confidence,
    Drop,
    DropOverlap,
    Holdout,
    Id,
    Json,
    Label,
    Out,
    RandomSplit,
    References,
    Repeats,
    Retrain,
    Seed,
    Shadows,
    Train,
    Trust,
    TrustPickle,
    With,
    Workers,
    finish,
    progress_bars,
    seconds,
)
from leakscope.errors import InputError

if TYPE_CHECKING:
    from leakscope.record.conditions import Scope

TASKS = ("classification", "regression")
OUTPUTS = ("probabilities", "logits", "log-probabilities")
RANDOM_SPLIT_HINT = (
    "If training and held-out records come from one random split, add --random-split: fewer models are trained, and weaker leaks are "
    "found."
)
#: Whatever stands before the host or after the path of an address can be a password or a key.
_ADDRESS = re.compile(
    r"(?P<start>(?:--[\w-]+=)?[a-z][a-z0-9+.-]*:/+)(?:[^/@]*@)?(?P<place>[^?#]*)(?P<rest>.*)", re.I | re.S
)


def audit(
    context: typer.Context,
    model: Annotated[
        str, typer.Argument(help="The model: .skops, .onnx, a pickle with --trust-pickle, or http(s)://….")
    ],
    train: Train,
    holdout: Holdout,
    label: Label,
    out: Out = None,
    groups: Annotated[str | None, typer.Option(help="Columns of groups to compare, separated by commas.")] = None,
    id: Id = None,  # noqa: A002
    drop: Drop = None,
    task: Annotated[
        str | None, typer.Option(help="classification or regression, if the file does not state it.")
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(help="Output of an ONNX or remote model: probabilities, logits or log-probabilities."),
    ] = None,
    fail_if: FailIf = None,
    policy: PolicyFile = None,
    on_uncertain: OnUncertain = None,
    junit: Junit = None,
    releases: Annotated[
        str | None,
        typer.Option(
            help="Releases to audit, separated by commas: labels, probabilities, predictions, gradient, integrated_gradients, "
            "smoothgrad:sigma=0.1, … (see docs/feature-explanations.md)."
        ),
    ] = None,
    references: References = None,
    budget: Budget = None,
    random_split: RandomSplit = False,
    shadows: Shadows = None,
    include: With = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Claimed ε of differential privacy for the swap of one record; the audit tests the claim."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Claimed δ, with --epsilon.")] = 0.0,
    retrain: Retrain = True,
    drop_overlap: DropOverlap = False,
    repeats: Repeats = None,
    confidence: Confidence = 0.95,
    margin: Annotated[float, typer.Option(help="“Not detected” excludes an AUC above 0.5 plus this.")] = 0.05,
    seed: Seed = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps finished trainings; it holds outputs for your records, so keep it private.",
            file_okay=False,
        ),
    ] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Audit a trained model: do its outputs reveal who was in the training data?"""
    from leakscope.auditing import audit as run
    from leakscope.provenance import load_with_digest
    from leakscope.record.files import check_writable
    from leakscope.record.storage import FILES, load
    from leakscope.tables import read_sets

    rules = read_gate(fail_if, policy, on_uncertain, junit)
    prepare(rules, _scope(releases), junit)
    check_options(task, outputs)
    if delta and epsilon is None:
        raise InputError("--delta goes with --epsilon: name both")
    if out is not None:
        check_writable(out, FILES)
    others = [load(folder) for folder in include or ()]
    loaded, digest = load_with_digest(model, trust_pickle=trust_pickle, trust=tuple(trust or ()))
    sets = read_sets((train, holdout), loaded, label=label, groups=groups, id_column=id, drop=drop)
    if retrain and not random_split and sys.stderr.isatty():
        print(RANDOM_SPLIT_HINT, file=sys.stderr)
    with progress_bars() as progress:
        result = run(
            loaded, sets.train, sets.holdout, groups=sets.groups, ids=sets.ids, task=task, outputs=outputs,
            releases=None if releases is None else releases.split(","), references=references,
            budget=seconds(budget, "--budget"), random_split=random_split, shadows=shadows,
            retrain=retrain, drop_overlap=drop_overlap, repeats=repeats, confidence=confidence, margin=margin, seed=seed,
            workers=workers, cluster=cluster, cache=cache, epsilon=epsilon, delta=delta,
            command=command_line(context), model_digest=digest, progress=progress,
        )  # fmt: skip
    gate = None if rules is None else decide(rules, result, junit)
    finish(result, out, as_json, include=others, gate=gate)
    stop_if_failed(gate)
    if result.verdict.kind == "claim_refuted":
        raise typer.Exit(GATE_FAILED)


def command_line(context: typer.Context) -> str:
    """The command as it was typed, without what may be secret in an address.

    Examples
    --------
    >>> class Context:
    ...     obj = ["audit", "https://ann:secret@host/predict?key=secret", "--label", "a b"]
    >>> command_line(Context())
    "leakscope audit 'https://host/predict?…' --label 'a b'"
    """
    arguments = sys.argv[1:] if context.obj is None else context.obj
    line = shlex.join(["leakscope", *map(_without_secrets, arguments)])
    return line.encode(errors="replace").decode()  # a path that is no text could not be saved


def _without_secrets(argument: str) -> str:
    found = _ADDRESS.fullmatch(argument)
    return argument if found is None else found["start"] + found["place"] + ("?…" if found["rest"] else "")


def check_options(task: str | None, outputs: str | None) -> None:
    """Refuse a task or a kind of outputs that is not known."""
    for value, name, known in ((task, "--task", TASKS), (outputs, "--outputs", OUTPUTS)):
        if value not in (None, *known):
            raise InputError(f"{name} must be {' or '.join(known)}, not {value}")


def _scope(releases: str | None) -> Scope:
    """What an audit with these options will have numbers for, as far as that is known before the model is read."""
    from leakscope.record.conditions import audit_scope
    from leakscope.releases import RELEASES
    from leakscope.selection import FOLLOWS, PREDICTIONS, read_releases

    named = list(RELEASES) if releases is None else [release.name for release in read_releases(releases.split(","))]
    readable = dict.fromkeys(name for release in named for name in FOLLOWS.get(release, (release,)))
    explains = bool(set(named) & set(PREDICTIONS)) and not set(named) <= set(RELEASES)
    return audit_scope(tuple(readable), groups=True, explanations=explains)
