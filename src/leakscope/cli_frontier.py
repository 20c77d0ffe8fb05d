"""The command ``leakscope frontier``."""

from __future__ import annotations

import json
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
    References,
    Retrain,
    Seed,
    Train,
    Trust,
    TrustPickle,
    Workers,
    progress_bars,
)
from leakscope.errors import InputError


def frontier(
    model: Annotated[Path, typer.Argument(help="The model: .skops, or a pickle with --trust-pickle.")],
    train: Train,
    holdout: Holdout,
    label: Label,
    explanations: Annotated[
        str | None,
        typer.Option(
            help="Which, separated by commas, such as gradient,gradient:top=5,smoothgrad:sigma=0.5; by default many."
        ),
    ] = None,
    beside: Annotated[
        str | None, typer.Option(help="What is released anyway: probabilities or labels; by default all that it gives.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for frontier.json, .csv, .svg and study.json.", file_okay=False)
    ] = None,
    baseline: Annotated[float, typer.Option(help="What a feature is set to when it is removed.")] = 0.0,
    records: Annotated[int, typer.Option(help="Held-out records to measure faithfulness on.")] = 300,
    id: Id = None,  # noqa: A002
    drop: Drop = None,
    references: References = None,
    retrain: Retrain = True,
    drop_overlap: DropOverlap = False,
    confidence: Confidence = 0.95,
    margin: Annotated[
        float, typer.Option(help="What beats another surely may be worse by this in one respect.")
    ] = 0.05,
    seed: Seed = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps finished retrainings; it holds what is released of your records, so keep it private.",
            file_okay=False,
        ),
    ] = None,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Weigh how much explanations say about a model against what they give away of its training set."""
    from leakscope.frontier_study import frontier as run
    from leakscope.model_files import load_model
    from leakscope.storage import check_writable
    from leakscope.tables import read_sets

    names = None if explanations is None else [name.strip() for name in explanations.split(",") if name.strip()]
    if names == []:
        raise InputError("--explanations names none: leave it out, or say which, such as gradient,gradient:top=5")
    if out is not None:
        check_writable(out)
    loaded = load_model(model, trust_pickle=trust_pickle, trust=tuple(trust or ()))
    sets = read_sets((train, holdout), loaded, label=label, groups=None, id_column=id, drop=drop)
    with progress_bars() as progress:
        found = run(
            loaded, sets.train, sets.holdout, names, beside=beside, baseline=baseline, records=records, references=references, retrain=retrain,
            drop_overlap=drop_overlap, confidence=confidence, margin=margin, seed=seed, workers=workers,
            cluster=cluster, cache=cache, progress=progress,
        )  # fmt: skip
    if out is not None:
        found.save(out)
    if as_json:
        print(json.dumps(found.as_dict(), indent=1, ensure_ascii=False, allow_nan=False))
        return
    print(found)
    if out is not None:
        print(f"\nfiles: {out / 'frontier.json'}, frontier.csv, frontier.svg, study.json")
