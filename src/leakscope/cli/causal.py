"""The command ``leakscope causal``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from leakscope.cli import options as shared
from leakscope.cli.options import ATTACKS, INPUT, RETRAINING, option
from leakscope.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from leakscope.data.text_format import TextFormat


@shared.grouped
def causal(
    context: typer.Context,
    table: Annotated[
        Path | None,
        typer.Argument(help="Table (CSV, Parquet, Feather) of records; without it, samples are drawn from the graph."),
    ] = None,
    label: Annotated[str, option(INPUT, "The column to predict.")] = "",
    graph: Annotated[str | None, option(INPUT, "Causal graph: a BIF file, or child, alarm, sachs or water.")] = None,
    causes: Annotated[
        str | None, option(INPUT, "Causes of the label, separated by commas, if there is no graph.")
    ] = None,
    environments: Annotated[
        str | None, option(INPUT, "Column with the environment of each record; the causes are learned from it.")
    ] = None,
    shift: Annotated[
        str,
        option(
            INPUT,
            "What differs in the shifted distributions: random, parents, children, all, or a number: noise on all tables.",
        ),
    ] = "random",
    draws: Annotated[
        int | None, option(INPUT, "Number of shifted distributions, 5 by default; not with --environments.")
    ] = None,
    rows: Annotated[
        int | None, option(INPUT, "Records in each of the three samples that are drawn from the graph.")
    ] = None,
    model: Annotated[
        str, option(RETRAINING, "Model on all columns: network (needs torch), logistic, trees or ridge.")
    ] = "network",
    wrong: Annotated[
        int, option(RETRAINING, "Also train a causal model with this number of columns added that are no causes.")
    ] = 0,
    sensitive: Annotated[
        str | None, option(ATTACKS, "Sensitive columns that an attacker may infer, separated by commas.")
    ] = None,
    paper_attack: Annotated[
        bool, option(ATTACKS, "Also run the attack network of the paper (takes minutes).", "--paper-attack")
    ] = False,
    noise: Annotated[bool, option(ATTACKS, "Measure the noise that differential privacy needs.")] = True,
    workers: shared.Workers = None,
    cluster: shared.Cluster = None,
    cache: shared.Cache = None,
    out: shared.Out = None,
    drop: Annotated[
        str | None, option(INPUT, "Columns or variables of the graph that the models do not see, separated by commas.")
    ] = None,
    *,
    form: shared.Format,
    task: Annotated[
        str | None, option(INPUT, "classification or regression; decided from the label by default.")
    ] = None,
    confidence: shared.Confidence = 0.95,
    seed: shared.Seed = 0,
    as_json: shared.Json = False,
) -> None:
    """Compare a model on the causes of the label with one on all columns: utility and leakage."""
    import pandas as pd

    from leakscope.data.tables import split_names
    from leakscope.studies.causal import study

    if not label:
        raise InputError("--label must name the column to predict")
    shared.check_out(out)
    data = None if table is None else read_people(table, label, drop, form, as_text=graph is not None)
    columns = pd.Index([]) if data is None else data.columns
    with shared.progress_bars() as progress:
        found = study(
            data, label, graph=graph, causes=None if causes is None else split_names(causes, columns), environments=environments,
            drop=split_names(drop, columns), shift=_shift(shift), draws=draws, rows=rows, model=model, wrong=wrong,
            paper_attack=paper_attack, sensitive=split_names(sensitive, columns), task=cast("Any", task), noise=noise, confidence=confidence,
            seed=seed, workers=workers, cluster=cluster, cache=cache, progress=progress,
        )  # fmt: skip
    shared.finish(found, out, as_json, context=context)


def read_people(path: Path, label: str, drop: str | None, form: TextFormat, *, as_text: bool) -> pd.DataFrame:
    """Read a table; texts are kept as they are, so that None and NA are levels, and only empty cells are missing."""
    from leakscope.data.tables import open_tables

    (file,), _ = open_tables([path], {"label": label}, {"dropped": drop}, form)
    table = file.read().copy()
    texts = [name for name in table.columns if as_text or table[name].dtype.kind not in "biuf"]
    shown = file.texts(texts) if texts else table[[]]
    for name in texts:
        table[name] = shown[name] if as_text else shown[name].mask(shown[name] == "")
    return table


def _shift(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
