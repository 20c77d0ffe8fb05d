"""The commands ``leakscope data list`` and ``leakscope data fetch``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from leakscope.cli.options import Json, progress_bars

data = typer.Typer(help="Named real data sets: list them, fetch them.", no_args_is_help=True)


@data.command("list")
def list_data(as_json: Json = False) -> None:
    """The data sets, what they are, and where this machine has them."""
    from leakscope.data import datasets

    rows = [(datasets.describe(name), datasets.where(name)) for name in datasets.names()]
    if as_json:
        fields = ("name", "title", "shape", "task", "licence", "source")
        shown = [
            {key: getattr(row, key) for key in fields} | {"where": where, "synthetic": bool(row.files)}
            for row, where in rows
        ]
        print(json.dumps(shown, indent=1))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    for heading in ("name", "rows x columns", "task", "where"):
        table.add_column(heading, no_wrap=heading != "task")
    for row, where in rows:
        table.add_row(row.name, row.shape, row.task, where)
    Console().print(table)
    print(
        "download: `leakscope data fetch NAME`; every set that needs files has generated data: load(NAME, synthetic=True)"
    )


@data.command()
def fetch(name: Annotated[str, typer.Argument(help="A name from `leakscope data list`.")]) -> None:
    """Download a data set once, check it, and say where it is."""
    from leakscope.data import datasets

    with progress_bars() as progress:
        place = datasets.fetch(name, progress=lambda done, total: progress(f"fetching {name}", done, total))
    print(place)
