"""The command ``leakscope reconstruct``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from leakscope.cli_shared import Confidence, Json, Seed, numbers, progress_bars


def reconstruct(
    table: Annotated[Path, typer.Argument(help="CSV of people: records to train on, and others for the outsider.")],
    label: Annotated[str, typer.Option(help="The column to predict, of two classes.")],
    k: Annotated[int, typer.Option(help="How many training records an explanation shows.")] = 5,
    attack: Annotated[
        str,
        typer.Option(
            help="all, or names separated by commas: uniform, marginal, records, graph, subspace, combined, zeroing."
        ),
    ] = "all",
    budget: Annotated[int, typer.Option(help="How many points an outsider may ask about.")] = 5000,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for reconstruction.json, .csv, .svg, records.csv and study.json.", file_okay=False),
    ] = None,
    holdout: Annotated[
        Path | None, typer.Option(help="CSV of records that the outsider knows; by default drawn out of the first.")
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(help="How many records to train on; by default 2,000 or four fifths, and all with --holdout."),
    ] = None,
    groups: Annotated[str | None, typer.Option(help="Columns to compare people by, separated by commas.")] = None,
    id: Annotated[str | None, typer.Option(help="Column that names the records; not learned from.")] = None,  # noqa: A002
    drop: Annotated[str | None, typer.Option(help="Columns not learned from, separated by commas.")] = None,
    l2: Annotated[float, typer.Option(help="Weight of the penalty beside the sum of log-losses.")] = 1.0,
    loss: Annotated[str, typer.Option(help="What influence changes: likelihood or log.")] = "likelihood",
    hide_influences: Annotated[
        bool, typer.Option("--hide-influences", help="Show records without their influence.")
    ] = False,
    digits: Annotated[int | None, typer.Option(help="Significant digits of the influences shown.")] = None,
    decimals: Annotated[int | None, typer.Option(help="Decimals of the prediction shown.")] = None,
    noise: Annotated[float, typer.Option(help="Deviation of Gaussian noise on every influence.")] = 0.0,
    near: Annotated[
        float | None, typer.Option(help="Refuse points further off than this share of the records, such as 0.99.")
    ] = None,
    defenses: Annotated[
        bool, typer.Option("--defenses", help="Compare with fewer records, rounding, noise, hiding and refusing.")
    ] = False,
    precision: Annotated[
        str | None, typer.Option(help="Digits of the influences, such as 1,2,4,8: what subspace reduction recovers.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each attack.")] = 3,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Find what explanations by training records give away: who is revealed, and how much an outsider reconstructs."""
    from leakscope.reconstruction import RecordRelease, read_people
    from leakscope.reconstruction import reconstruct as run
    from leakscope.storage import check_writable

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
    if out is not None:
        check_writable(out)
    people = read_people(
        table, label, holdout=holdout, records=records, groups=groups, id_column=id, drop=drop, seed=seed
    )
    with progress_bars() as progress:
        found = run(
            people.X, people.y, holdout=people.holdout, release=release, l2=l2, attacks=names, budget=budget,
            groups=people.groups, ids=people.ids, defended="usual" if defenses else (),
            precision=() if precision is None else numbers(precision, "--precision", int), repeats=repeats, seed=seed,
            confidence=confidence, progress=progress,
        )  # fmt: skip
    if out is not None:
        found.save(out)
    if as_json:
        print(
            json.dumps(found.as_dict() | {"notes": list(people.notes)}, indent=1, ensure_ascii=False, allow_nan=False)
        )
        return
    for note in people.notes:
        print(note)
    print(found)
    if out is not None:
        print(
            f"\nfiles: {out / 'reconstruction.json'}, reconstruction.csv, reconstruction.svg, records.csv, study.json"
        )
