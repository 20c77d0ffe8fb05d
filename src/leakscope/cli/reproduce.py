"""The command ``leakscope reproduce``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli.options import Json, Seed, finish, progress_bars
from leakscope.core.errors import InputError


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Name of the reproduction, such as farokhi-fig1.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all reproductions.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the reproductions and stop.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small settings, for a test run; do not quote the numbers.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for result.json, report.html and table.csv; with --all it has one folder for each.",
            file_okay=False,
        ),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; by default as many as pay off.", min=1)] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Use generated data; the numbers can't be compared with the paper's.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps finished work; a stopped run resumes from it.", file_okay=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Reproduce a figure, table or theorem of a paper: our numbers, and which statements of the paper hold."""
    from leakscope import papers
    from leakscope.record.files import check_writable
    from leakscope.worlds.workers import check_work

    if listing:
        _list_reproductions(as_json)
        return
    if (name is None) != every:
        raise InputError("name one reproduction or pass --all: leakscope reproduce --list shows the names")
    folder = out or Path("papers-out")
    check_writable(folder)
    check_work(workers, None, cache)
    results = []
    for wanted in papers.reproductions() if name is None else [name]:
        with progress_bars() as progress:
            result = papers.reproduce(wanted, quick, seed, progress, workers, synthetic=synthetic, cache=cache)
        place = folder if out is not None and name is not None else folder / wanted
        if as_json:
            result.save(place)
            results.append(result.as_dict())
        else:
            finish(result, place, as_json)
    if as_json:
        print(json.dumps(results if every else results[0], indent=1, ensure_ascii=False, allow_nan=False))


def _list_reproductions(as_json: bool) -> None:
    from leakscope import papers

    rows = [
        {"id": name, "title": module.TITLE, "paper": module.PAPER} for name, module in papers.reproductions().items()
    ]
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        print("\n".join(f"{row['id']:14} {row['title']}\n{'':14} {row['paper']['source']}" for row in rows))
