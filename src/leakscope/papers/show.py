"""Reproductions in a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from leakscope.papers import reproductions
from leakscope.papers.reproduction import ORIGIN, Cell, Reproduction
from leakscope.report.axes import short_number

#: Columns that are shown of a measurement of leakage: a value with its ends where there are three names.
SHOWN = {
    "part": ("part",),
    "n": ("n",),
    "λ": ("λ",),
    "p": ("p",),
    "σ": ("σ",),
    "ε": ("ε",),
    "fall": ("fall",),
    "leakage": ("leakage", "leakage_low", "leakage_high"),
    "median": ("leakage_median",),
    "rounded": ("rounded",),
    "bound": ("bound",),
    "ceiling": ("ceiling",),
    "likelihood ratio": ("attack", "attack_low", "attack_high"),
    "threshold": ("advantage_mean", "advantage_mean_low", "advantage_mean_high"),
}
CROWDED = ("leakage_median", "bound")  # not shown where more columns come before them
NOTES = 3
MANY = 7  # columns with intervals that a terminal of 80 letters can show
WIDE = 120  # letters, where nobody is looking or there is room
LEGEND = (
    "leakage: ρ_KL in nats; bound: what the leakage allows any mean advantage; likelihood ratio, threshold: advantage that "
    "these adversaries achieve"
)
MORE = {
    "fall": "; fall: leakage without noise minus that with it",
    "ceiling": "; ceiling: the advantage that (ε, δ) allows",
}


def list_all(as_json: bool = False) -> str:
    """Which reproductions there are and what the paper says there, as text or as JSON."""
    known = reproductions()
    if as_json:
        rows = [{"id": name, "title": module.TITLE, "paper": module.PAPER} for name, module in known.items()]
        return json.dumps(rows, indent=1, ensure_ascii=False)
    return "\n".join(f"{name:14} {module.TITLE}\n{'':14} {module.PAPER['source']}" for name, module in known.items())


def show(result: Reproduction, files: Sequence[Path]) -> None:
    """Print the table, what the paper says, the verdict, and where the files are."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, WIDE))
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), title=Text(result.title), title_justify="left")
    kept = _columns(result)
    if len(kept) > MANY and console.width < WIDE:
        kept = {heading: names[:1] for heading, names in kept.items()}  # intervals stand in the files
    for heading in kept:
        table.add_column(Text(heading), justify="right", no_wrap=len(kept[heading]) == 1)
    for row in result.rows:
        cells = dict(zip(result.columns, row, strict=True))
        table.add_row(*(Text(_cell([cells[name] for name in names])) for names in kept.values()))
    console.print(table)
    for heading, words in (("table", _legend(result)), ("paper", result.paper["statement"]), ("ours", result.verdict)):
        if words:
            console.print(Text(f"{heading:7}{words}"))
    if result.synthetic:
        names = ", ".join(result.synthetic)
        console.print(Text(f"{'data':7}synthetic ({names}): the comparison with the paper's values is not meaningful"))
    if result.settings.get("quick"):
        console.print(
            Text(f"{'quick':7}a small run to see that it works: its numbers and verdict are not those of the figure")
        )
    if notes := _notes(result):
        console.print(Text(f"{'note':7}{notes}"))
    console.print(Text(f"files  {', '.join(map(str, files))} ({result.seconds:.0f} s)"))


def _columns(result: Reproduction) -> dict[str, tuple[str, ...]]:
    """Headings, with the column that each shows or the three of a value and its ends; notes stand below the table."""
    there = set(result.columns)
    if "leakage" in there:
        there -= set(CROWDED if "part" in there else ())
        return {heading: names for heading, names in SHOWN.items() if {*names} <= there}
    triples = {name: (name, f"{name}_low", f"{name}_high") for name in result.columns if f"{name}_low" in there}
    ends = {end for names in triples.values() for end in names[1:]} | {"note", ORIGIN}
    return {name: triples.get(name, (name,)) for name in result.columns if name not in ends}


def _legend(result: Reproduction) -> str:
    if "leakage" not in result.columns:
        return str(result.paper.get("columns", ""))
    return LEGEND + "".join(words for name, words in MORE.items() if name in result.columns)


def _cell(values: Sequence[Cell]) -> str:
    first, *ends = (value if isinstance(value, str) else "" if value is None else _number(value) for value in values)
    return f"{first} [{', '.join(ends)}]" if ends and first else first


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 100 else short_number(float(f"{value:.2g}"))


def _notes(result: Reproduction) -> str:
    """The remarks that are about most rows, each once with these rows."""
    where: dict[str, list[str]] = {}
    if "note" not in result.columns:
        return ""
    for row, note in zip(result.rows, result.column("note"), strict=True):
        for remark in str(note or "").split("; "):
            if (place := _cell([row[0]])) not in where.setdefault(remark, []):
                where[remark].append(place)
    where.pop("", None)
    order = sorted(where, key=lambda remark: -len(where[remark]))
    shown = [f"{result.columns[0]} = {', '.join(where[remark])}: {remark}" for remark in order[:NOTES]]
    more = [f"{len(order) - NOTES} more in the column note"] if len(order) > NOTES else []
    return "; ".join(shown + more)
