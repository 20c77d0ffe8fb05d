"""The command ``leakscope reconstruct``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from leakscope.cli import options as shared


def reconstruct(
    context: typer.Context,
    table: Annotated[
        Path, typer.Argument(help="CSV of records: some are trained on, the others are known to the attacker.")
    ],
    label: Annotated[str, typer.Option(help="The column to predict, of two classes.")],
    k: Annotated[int, typer.Option(help="Number of training records that an explanation shows.")] = 5,
    attack: Annotated[
        str,
        typer.Option(
            help="all, or names separated by commas: uniform, marginal, records, graph, subspace, combined, zeroing."
        ),
    ] = "all",
    budget: Annotated[int, typer.Option(help="Number of queries that an attacker may make.")] = 5000,
    out: shared.Out = None,
    holdout: Annotated[
        Path | None,
        typer.Option(help="CSV of held-out records, known to the attacker; by default drawn from the first file."),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(help="Number of training records; by default 2,000 or four fifths, and all with --holdout."),
    ] = None,
    groups: shared.Groups = None,
    id: shared.IdColumn = None,  # noqa: A002
    drop: shared.NoFeatures = None,
    l2: Annotated[float, typer.Option(help="Weight of the penalty that is added to the sum of log-losses.")] = 1.0,
    loss: Annotated[str, typer.Option(help="Loss whose change is the influence: likelihood or log.")] = "likelihood",
    hide_influences: Annotated[
        bool, typer.Option("--hide-influences", help="Show records without their influences.")
    ] = False,
    digits: Annotated[int | None, typer.Option(help="Significant digits of the influences shown.")] = None,
    decimals: Annotated[int | None, typer.Option(help="Decimals of the prediction shown.")] = None,
    noise: Annotated[float, typer.Option(help="Standard deviation of Gaussian noise on every influence.")] = 0.0,
    near: Annotated[
        float | None,
        typer.Option(
            help="Refuse queries farther from all training records than this share of them is from the nearest, such as 0.99."
        ),
    ] = None,
    defenses: Annotated[
        bool,
        typer.Option(
            "--defenses",
            help="Compare with stricter releases: fewer records, rounding, noise, hidden influences, refused queries.",
        ),
    ] = False,
    precision: Annotated[
        str | None,
        typer.Option(
            help="Measure what subspace reduction recovers from influences with these digits, such as 1,2,4,8."
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Number of runs of each attack.")] = 3,
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
        table, label, holdout=holdout, records=records, groups=groups, id_column=id, drop=drop, seed=seed
    )
    with shared.progress_bars() as progress:
        found = run(
            people.X, people.y, holdout=people.holdout, release=release, l2=l2, attacks=names, budget=budget,
            groups=people.groups, ids=people.ids, defended="usual" if defenses else (),
            precision=() if precision is None else shared.numbers(precision, "--precision", int), repeats=repeats,
            seed=seed, confidence=confidence, progress=progress,
        )  # fmt: skip
    shared.finish(replace(found, warnings=(*people.notes, *found.warnings)), out, as_json, context=context)
