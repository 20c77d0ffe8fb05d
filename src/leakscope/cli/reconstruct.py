"""The command ``leakscope reconstruct``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from leakscope.cli import options as shared
from leakscope.cli.options import ATTACKS, INPUT, RETRAINING, option


@shared.grouped
def reconstruct(
    context: typer.Context,
    table: Annotated[
        Path,
        typer.Argument(
            help="Table (CSV, Parquet, Feather) of records: some are trained on, the others are known to the attacker."
        ),
    ],
    label: Annotated[str, option(INPUT, "The column to predict, of two classes.")],
    k: Annotated[int, option(ATTACKS, "Number of training records that an explanation shows.")] = 5,
    attack: Annotated[
        str,
        option(
            ATTACKS,
            "all, or names separated by commas: uniform, marginal, records, graph, subspace, combined, zeroing.",
        ),
    ] = "all",
    queries: Annotated[int, option(ATTACKS, "Number of queries that an attacker may make.")] = 5000,
    out: shared.Out = None,
    holdout: Annotated[
        Path | None,
        option(INPUT, "Table of held-out records, known to the attacker; by default drawn from the first file."),
    ] = None,
    size: Annotated[
        int | None,
        option(INPUT, "Number of training records; by default 2,000 or four fifths, and all with --holdout."),
    ] = None,
    groups: shared.Groups = None,
    id: shared.IdColumn = None,  # noqa: A002
    drop: shared.NoFeatures = None,
    *,
    form: shared.Format,
    penalty: Annotated[
        float, option(RETRAINING, "Weight of the penalty that is added to the sum of log-losses.")
    ] = 1.0,
    loss: Annotated[str, option(ATTACKS, "Loss whose change is the influence: likelihood or log.")] = "likelihood",
    hide_influences: Annotated[
        bool, option(ATTACKS, "Show records without their influences.", "--hide-influences")
    ] = False,
    digits: Annotated[int | None, option(ATTACKS, "Significant digits of the influences shown.")] = None,
    decimals: Annotated[int | None, option(ATTACKS, "Decimals of the prediction shown.")] = None,
    noise: Annotated[float, option(ATTACKS, "Standard deviation of Gaussian noise on every influence.")] = 0.0,
    near: Annotated[
        float | None,
        option(
            ATTACKS,
            "Refuse queries farther from all training records than this share of them is from the nearest, such as 0.99.",
        ),
    ] = None,
    defenses: Annotated[
        bool,
        option(
            ATTACKS,
            "Compare with stricter releases: fewer records, rounding, noise, hidden influences, refused queries.",
            "--defenses",
        ),
    ] = False,
    precision: Annotated[
        str | None,
        option(ATTACKS, "Measure what subspace reduction recovers from influences with these digits, such as 1,2,4,8."),
    ] = None,
    runs: Annotated[int, option(ATTACKS, "Number of runs of each attack.")] = 3,
    confidence: shared.Confidence = 0.95,
    seed: shared.Seed = 0,
    as_json: shared.Json = False,
) -> None:
    """Measure what record explanations reveal: which training records, and how many an attacker reconstructs."""
    from leakscope.studies.reconstruct import RecordRelease, read_people
    from leakscope.studies.reconstruct import reconstruct as run

    release = RecordRelease(
        k=k,
        loss=cast("Any", loss),
        values=not hide_influences,
        digits=digits,
        decimals=decimals,
        noise=noise,
        near=near,
    )
    names = None if attack.strip() == "all" else [name.strip() for name in attack.split(",") if name.strip()]
    shared.check_out(out)
    people = read_people(
        table, label, holdout=holdout, size=size, groups=groups, id_column=id, drop=drop, seed=seed, form=form
    )
    with shared.progress_bars() as progress:
        found = run(
            people.X, people.y, holdout=people.holdout, release=release, penalty=penalty, attacks=names, queries=queries,
            groups=people.groups, ids=people.ids, defended="usual" if defenses else (),
            precision=() if precision is None else shared.numbers(precision, "--precision", int), runs=runs,
            seed=seed, confidence=confidence, progress=progress,
        )  # fmt: skip
    shared.finish(replace(found, warnings=(*people.notes, *found.warnings)), out, as_json, context=context)
