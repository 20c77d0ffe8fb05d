"""Training records and holdout from CSV files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_count
from leakscope.core.result import Caveat
from leakscope.errors import InputError
from leakscope.tables import check_columns, read_table, read_texts, split_names
from leakscope.universe import prepare_columns

TRAINED = 2000  # records to train on by default [shokri2019, 5.1.1]
SHARE = 0.8  # of a table that is not much larger
LARGEST = 30_000  # records: leave-one-out takes their square


@dataclass(frozen=True, eq=False)
class People:
    """Training records and holdout as `reconstruct` takes them; ``notes`` state what was changed."""

    X: Floats
    y: NDArray[Any]
    holdout: tuple[Floats, NDArray[Any]] | None
    groups: pd.DataFrame | None
    ids: NDArray[Any]
    notes: tuple[Caveat, ...]


def read_people(
    path: Path,
    label: str,
    *,
    holdout: Path | None = None,
    records: int | None = None,
    groups: str | None = None,
    id_column: str | None = None,
    drop: str | None = None,
    seed: int = 0,
) -> People:
    """Read a CSV file: texts become a column for each level, and numbers are scaled to [0, 1].

    Parameters
    ----------
    holdout
        A file of records that are not trained on; without it, these are drawn from ``path``.
    records
        Number of records to train on: by default all of them if there is a holdout, and otherwise 2,000, or four fifths of a smaller table.
    """
    paths = [path] if holdout is None else [path, holdout]
    tables = [read_table(place) for place in paths]
    grouped, dropped = split_names(groups, tables[0].columns), split_names(drop, tables[0].columns)
    ids = [] if id_column is None else [id_column]
    for place, table in zip(paths, tables, strict=True):
        for names, what in (([label], "label"), (dropped, "dropped"), (ids, "id"), (grouped, "group")):
            check_columns(table, names, place, what)
        if missing := int(table[label].isna().sum()):
            raise InputError(f"{place} has no {label} in {missing} records: remove these records")
    for names, option in ((dropped, "dropped"), (ids, "the id")):
        if label in names:
            raise InputError(f"{label} is the label and can't be {option}")
    count = len(tables[0])
    columns = [name for name in tables[0].columns if name not in {label, *dropped, *ids}]
    for place, table in zip(paths[1:], tables[1:], strict=True):
        check_columns(table, columns, place, "data")
    together = pd.concat([table[columns] for table in tables], ignore_index=True)
    if not columns:
        raise InputError(f"{path} has no columns but {label}: there is nothing to learn from")
    X, notes = prepare_columns(together, "one-hot")
    values, labels = X.to_numpy(np.float64), pd.concat([table[label] for table in tables]).to_numpy()
    inside, outside, more = _split(count, len(labels), records, seed)
    return People(
        X=values[inside],
        y=labels[inside],
        holdout=(values[outside], labels[outside]) if len(outside) else None,
        groups=read_texts(path, grouped).iloc[inside].reset_index(drop=True) if grouped else None,
        ids=read_texts(path, ids)[ids[0]].to_numpy()[inside] if ids else inside,
        notes=(*notes, *more),
    )


def _split(count: int, total: int, records: int | None, seed: int) -> tuple[Indices, Indices, list[Caveat]]:
    """Give the positions of the training records and of the holdout, and what was changed."""
    has_holdout = total > count
    if records is None:
        records = count if has_holdout else min(TRAINED, int(SHARE * count))
    records = check_count("records", records, 2, min(count, LARGEST))
    order = np.random.default_rng(seed).permutation(count).astype(np.intp)
    rest = np.arange(count, total, dtype=np.intp) if has_holdout else np.sort(order[records:])
    notes = [] if records == count else [Caveat("sampled_records", {"records": records, "of": count})]
    if not len(rest):
        notes.append(Caveat("no_holdout"))
    return np.sort(order[:records]), rest, notes
