"""The command ``leakscope leakage``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from leakscope.cli import options as shared
from leakscope.cli.options import ATTACKS, INPUT, RETRAINING, option


@shared.grouped
def leakage(
    context: typer.Context,
    table: Annotated[
        Path, typer.Argument(help="Table (CSV, Parquet, Feather) of all records that a training set may be drawn from.")
    ],
    label: Annotated[str, option(INPUT, "The column that the learner predicts.")],
    learner: Annotated[
        str, option(RETRAINING, "ridge, logistic, mlp, or a .skops file with a scikit-learn estimator.")
    ] = "ridge",
    sizes: Annotated[str, option(RETRAINING, "Numbers of training records, separated by commas.")] = "30,100,300,1000",
    l2: Annotated[str | None, option(RETRAINING, "Regularisation weights, separated by commas.")] = None,
    noise: Annotated[
        str, option(ATTACKS, "Standard deviations of Gaussian noise on the release, separated by commas.")
    ] = "0",
    records: Annotated[int, option(ATTACKS, "Number of records to measure.")] = 200,
    draws: Annotated[int, option(ATTACKS, "Training sets per record and side.")] = 2000,
    space: Annotated[
        str, option(ATTACKS, "parameters (white box) or function (outputs at the record).")
    ] = "parameters",
    encode: Annotated[str, option(INPUT, "How texts are encoded: codes, one-hot, or raw (unchanged).")] = "codes",
    components: Annotated[int | None, option(INPUT, "Number of principal components to keep.")] = None,
    intercept: Annotated[bool, option(RETRAINING, "Whether ridge and logistic have an intercept.")] = True,
    widths: Annotated[str | None, option(RETRAINING, "Hidden layers of mlp, such as 50,50.")] = None,
    task: Annotated[str | None, option(RETRAINING, "classification or regression, for mlp.")] = None,
    models: Annotated[int, option(ATTACKS, "Models of the membership experiment; 0 to leave it out.", min=0)] = 100,
    independent: Annotated[
        bool, option(ATTACKS, "Draw all training sets independently, as in the paper.", "--independent")
    ] = False,
    below: Annotated[
        float | None, option(ATTACKS, "State how many records keep leakage below this number of bits.")
    ] = None,
    out: shared.Out = None,
    id: shared.IdColumn = None,  # noqa: A002
    drop: shared.NoFeatures = None,
    *,
    form: shared.Format,
    confidence: shared.Confidence = 0.95,
    seed: shared.Seed = 0,
    workers: shared.Workers = None,
    cluster: shared.Cluster = None,
    cache: shared.Cache = None,
    trust: shared.Trust = None,
    as_json: shared.Json = False,
) -> None:
    """Measure how much trained models reveal about one record, for several sizes, regularisations and noise levels."""
    from leakscope.learners.encoded_table import learner_and_labels, read_encoded
    from leakscope.studies import leakage as measures
    from leakscope.studies.leakage.result import check_goal

    if below is not None:
        check_goal(below)
    shared.check_out(out)
    universe = read_encoded(
        table, label, drop=drop, id_column=id, encode=cast("Any", encode), components=components, form=form
    )
    weights = None if l2 is None else shared.numbers(l2, "--l2", float)
    made, y = learner_and_labels(
        learner, universe.y, label, l2=weights, intercept=intercept, task=task,
        widths=None if widths is None else shared.numbers(widths, "--widths", int), trust=tuple(trust or ()),
    )  # fmt: skip
    with shared.progress_bars() as progress:
        found = measures.sweep(
            made, universe.X, y, shared.numbers(sizes, "--sizes", int), l2=weights,
            noise=shared.numbers(noise, "--noise", float), records=records, draws=draws, space=cast("Any", space), seed=seed, models=models, below=below, shared=not independent, confidence=confidence,
            workers=workers, cluster=cluster, cache=cache, progress=progress,
        )  # fmt: skip
    shared.finish(replace(found, warnings=(*universe.notes, *found.warnings)), out, as_json, context=context)
