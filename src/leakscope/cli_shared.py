"""What the commands share: options that mean the same everywhere, and bars that show how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines and nothing else.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.", min=0)]
Confidence = Annotated[float, typer.Option(help="Confidence of the intervals.")]


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Bars with the time left, on standard error, and only where someone is looking."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report
