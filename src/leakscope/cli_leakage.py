"""The command ``leakscope leakage``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from leakscope.cli_shared import Cluster, Confidence, Json, Seed, Trust, numbers, progress_bars


def leakage(
    table: Annotated[Path, typer.Argument(help="CSV of all records that a training set may be drawn from.")],
    label: Annotated[str, typer.Option(help="The column that the learner predicts.")],
    learner: Annotated[
        str, typer.Option(help="ridge, logistic, mlp, or a .skops file with a scikit-learn estimator.")
    ] = "ridge",
    sizes: Annotated[str, typer.Option(help="Numbers of training records, separated by commas.")] = "30,100,300,1000",
    l2: Annotated[str | None, typer.Option(help="Regularisation weights, separated by commas.")] = None,
    noise: Annotated[
        str, typer.Option(help="Deviations of Gaussian noise on what is released, separated by commas.")
    ] = "0",
    records: Annotated[int, typer.Option(help="How many records to measure.")] = 200,
    draws: Annotated[int, typer.Option(help="Training sets per record and side.")] = 2000,
    space: Annotated[
        str, typer.Option(help="parameters (white box) or function (outputs at the record).")
    ] = "parameters",
    encode: Annotated[
        str, typer.Option(help="How texts become numbers: codes, one-hot, or raw to leave them.")
    ] = "codes",
    components: Annotated[int | None, typer.Option(help="Keep this many principal components.")] = None,
    intercept: Annotated[bool, typer.Option(help="Whether ridge and logistic have one.")] = True,
    widths: Annotated[str | None, typer.Option(help="Hidden layers of mlp, such as 50,50.")] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression, for mlp.")] = None,
    models: Annotated[int, typer.Option(help="Models of the membership experiment; 0 leaves it out.", min=0)] = 100,
    independent: Annotated[
        bool, typer.Option("--independent", help="Draw all training sets independently, as the paper does.")
    ] = False,
    below: Annotated[float | None, typer.Option(help="Say how many records it takes to stay below these bits.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for leakage.json, .csv, .svg, records.csv and study.json.", file_okay=False),
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column that names the records; not learned from.")] = None,  # noqa: A002
    drop: Annotated[str | None, typer.Option(help="Columns not learned from, separated by commas.")] = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; by default as many as pay off.")] = None,
    cluster: Cluster = None,
    cache: Annotated[Path | None, typer.Option(help="Folder that keeps finished trainings.", file_okay=False)] = None,
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Measure how much a learner's models carry about any one record, for several sizes, regularisations and noises."""
    from leakscope import leakage as measures
    from leakscope.leakage.sweeping import check_goal
    from leakscope.storage import check_writable
    from leakscope.universe import learner_and_labels, read_universe

    if below is not None:
        check_goal(below)
    if out is not None:
        check_writable(out)
    universe = read_universe(
        table, label, drop=drop, id_column=id, encode=cast("Any", encode), components=components
    )  # fmt: skip
    weights = None if l2 is None else numbers(l2, "--l2", float)
    made, y = learner_and_labels(
        learner, universe.y, label, l2=weights, intercept=intercept, task=task,
        widths=None if widths is None else numbers(widths, "--widths", int), trust=tuple(trust or ()),
    )  # fmt: skip
    with progress_bars() as progress:
        found = measures.sweep(
            made, universe.X, y, numbers(sizes, "--sizes", int), weights, numbers(noise, "--noise", float), records,
            draws, cast("Any", space), seed, models=models, shared=not independent, confidence=confidence, workers=workers,
            cluster=cluster, cache=cache, progress=progress,
        )  # fmt: skip
    varied = ["size", *(["l2"] if len(weights or ()) > 1 else [])]
    goals = [] if below is None else [goal for along in varied for goal in found.below(below, along=along)]
    if out is not None:
        found.save(out)
    if as_json:
        print(json.dumps(found.as_dict() | {"below": [vars(goal) for goal in goals]}, indent=1, allow_nan=False))
        return
    for note in universe.notes:
        print(note)
    print(found)
    for goal in goals:
        print(goal.sentence())
    if out is not None:
        print(f"\nfiles: {out / 'leakage.json'}, leakage.csv, records.csv, leakage.svg, study.json")
