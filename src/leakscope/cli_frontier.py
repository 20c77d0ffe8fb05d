"""The command ``leakscope frontier``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli_shared import (
    Cluster,
    Confidence,
    Drop,
    DropOverlap,
    Holdout,
    Id,
    Json,
    Label,
    Out,
    References,
    Retrain,
    Seed,
    Train,
    Trust,
    TrustPickle,
    Workers,
    finish,
    progress_bars,
)
from leakscope.errors import InputError


def frontier(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The model: .skops, or a pickle with --trust-pickle.")],
    train: Train,
    holdout: Holdout,
    label: Label,
    explanations: Annotated[
        str | None,
        typer.Option(
            help="Explanations, separated by commas, such as gradient,gradient:top=5,smoothgrad:sigma=0.5; by default many."
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            help="What is released in any case: probabilities or labels; by default the most that the model gives."
        ),
    ] = None,
    out: Out = None,
    baseline: Annotated[float, typer.Option(help="Value of a feature that is removed.")] = 0.0,
    records: Annotated[int, typer.Option(help="Held-out records to measure faithfulness on.")] = 300,
    id: Id = None,  # noqa: A002
    drop: Drop = None,
    references: References = None,
    retrain: Retrain = True,
    drop_overlap: DropOverlap = False,
    confidence: Confidence = 0.95,
    margin: Annotated[
        float,
        typer.Option(
            help="Tolerance: how much worse an explanation may be on one axis and still dominate another, and the largest extra "
            "advantage of a recommended one."
        ),
    ] = 0.05,
    seed: Seed = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps finished retrainings; it holds outputs for your records, so keep it private.",
            file_okay=False,
        ),
    ] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Compare explanations: how faithful they are to the model, and what they add to its membership risk."""
    from leakscope.cli_audit import command_line
    from leakscope.frontier_study import frontier as run
    from leakscope.provenance import load_with_digest, model_fingerprint
    from leakscope.record.files import check_writable
    from leakscope.record.storage import FILES
    from leakscope.tables import read_sets

    names = None if explanations is None else [name.strip() for name in explanations.split(",") if name.strip()]
    if names == []:
        raise InputError("--explanations names none: leave it out, or pass names such as gradient,gradient:top=5")
    if out is not None:
        check_writable(out, FILES)
    loaded, digest = load_with_digest(model, trust_pickle=trust_pickle, trust=tuple(trust or ()))
    sets = read_sets((train, holdout), loaded, label=label, groups=None, id_column=id, drop=drop)
    with progress_bars() as progress:
        result = run(
            loaded, sets.train, sets.holdout, names, beside=beside, baseline=baseline, records=records, references=references, retrain=retrain,
            drop_overlap=drop_overlap, confidence=confidence, margin=margin, seed=seed, workers=workers,
            cluster=cluster, cache=cache, progress=progress,
        )  # fmt: skip
    known = result.fingerprints | model_fingerprint(loaded, digest)
    result = replace(result, command=command_line(context), fingerprints=known)
    finish(result, out, as_json)
