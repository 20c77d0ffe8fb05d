"""The command ``leakscope demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli.options import Seed, progress_bars, show


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model, its data and the audit.", file_okay=False)] = Path(
        "demo"
    ),
    seed: Seed = 0,
) -> None:
    """Train a model on data of scikit-learn, audit it, and write the report."""
    from leakscope.demo import run

    with progress_bars() as progress:
        result, command = run(out, seed, progress)
    show(result)
    print(f"\nreport: {out / 'audit' / 'report.html'}\nthe same from the command line:\n  {command}")
