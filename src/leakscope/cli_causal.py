"""The command ``leakscope causal``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from leakscope.cli_shared import Confidence, Json, Seed, progress_bars
from leakscope.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def causal(
    table: Annotated[
        Path | None, typer.Argument(help="CSV of people; without one, samples are drawn from the graph.")
    ] = None,
    label: Annotated[str, typer.Option(help="The column to predict.")] = "",
    graph: Annotated[
        str | None, typer.Option(help="Causal graph: a BIF file, or child, alarm, sachs or water.")
    ] = None,
    parents: Annotated[
        str | None, typer.Option(help="The causes of the label, separated by commas, where no graph is known.")
    ] = None,
    environments: Annotated[
        str | None, typer.Option(help="Column that tells environments apart, to learn the causes from.")
    ] = None,
    shift: Annotated[
        str,
        typer.Option(
            help="What differs in the shifted worlds: random, parents, children, all, or a number, noise on all tables."
        ),
    ] = "random",
    draws: Annotated[
        int | None, typer.Option(help="How many shifted worlds, by default 5; not with --environments.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Records of each part that is drawn from the graph.")] = None,
    model: Annotated[
        str, typer.Option(help="What uses all columns: network (needs torch), logistic, trees or ridge.")
    ] = "network",
    wrong: Annotated[int, typer.Option(help="Also try so many columns that are no causes among the causes.")] = 0,
    sensitive: Annotated[
        str | None, typer.Option(help="Columns that an attacker wants to infer, separated by commas.")
    ] = None,
    paper_attack: Annotated[
        bool, typer.Option("--paper-attack", help="Also the attack network of the paper, which takes minutes.")
    ] = False,
    noise: Annotated[bool, typer.Option(help="Measure what noise differential privacy would need.")] = True,
    out: Annotated[
        Path | None, typer.Option(help="Folder for causal.json, .csv, .svg and study.json.", file_okay=False)
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Columns or variables of the graph not shown to the models, separated by commas.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="classification or regression; by default told by the label.")
    ] = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare a model on the causes of a label with one on all columns: what they give away, and what they are good for."""
    from leakscope.causal_study import study
    from leakscope.storage import check_writable

    if not label:
        raise InputError("--label names the column to predict: say which")
    if out is not None:
        check_writable(out)
    data = None if table is None else read_people(table, label, drop, as_text=graph is not None)
    names = None if data is None else list(data.columns)
    with progress_bars() as progress:
        found = study(
            data, label, graph=graph, parents=_names(parents, names), environments=environments,
            drop=_names(drop, names) or (), shift=_shift(shift), draws=draws, rows=rows, model=model, wrong=wrong,
            paper_attack=paper_attack, sensitive=_names(sensitive, names) or (), task=cast("Any", task), noise=noise, confidence=confidence,
            seed=seed, progress=progress,
        )  # fmt: skip
    if out is not None:
        found.save(out)
    if as_json:
        print(json.dumps(found.as_dict(), indent=1, ensure_ascii=False, allow_nan=False))
        return
    print(found)
    if out is not None:
        print(f"\nfiles: {out / 'causal.json'}, causal.csv, causal.svg, study.json")


def read_people(path: Path, label: str, drop: str | None, *, as_text: bool) -> pd.DataFrame:
    """A CSV file; texts stay as they stand in it, so that None and NA are levels, and only what is empty is missing."""
    from leakscope.tables import check_columns, read_table, read_texts, split_names

    table = read_table(path).copy()
    check_columns(table, [label], path, "label")
    check_columns(table, split_names(drop, table.columns), path, "dropped")
    texts = [name for name in table.columns if as_text or table[name].dtype.kind not in "biuf"]
    shown = read_texts(path, texts) if texts else table[[]]
    for name in texts:
        table[name] = shown[name] if as_text else shown[name].mask(shown[name] == "")
    return table


def _names(text: str | None, columns: list[str] | None) -> list[str] | None:
    import pandas as pd

    from leakscope.tables import split_names

    return None if text is None else split_names(text, pd.Index(columns or []))


def _shift(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
