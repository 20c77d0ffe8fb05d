"""A table of people, from a CSV file, as training records and records that an outsider knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.errors import InputError
from leakscope.tables import check_columns, read_table, read_texts, split_names
from leakscope.universe import prepare_columns

TRAINED = 2000  # records to train on unless told otherwise [shokri2019, 5.1.1]
SHARE = 0.8  # of a table that is not much larger
LARGEST = 30_000  # records: leave-one-out takes their square


@dataclass(frozen=True, eq=False)
class People:
    """Training records and holdout as `reconstruct` takes them; ``notes`` say what was done to them."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    holdout: tuple[NDArray[np.float64], NDArray[Any]] | None
    groups: pd.DataFrame | None
    ids: NDArray[Any]
    notes: tuple[str, ...]


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
        How many records to train on: by default all of them if there is a holdout, and otherwise 2,000, or four fifths
        of a smaller table.
    """
    paths = [path] if holdout is None else [path, holdout]
    tables = [read_table(place) for place in paths]
    grouped, dropped = split_names(groups, tables[0].columns), split_names(drop, tables[0].columns)
    ids = [] if id_column is None else [id_column]
    for place, table in zip(paths, tables, strict=True):
        for names, what in (([label], "label"), (dropped, "dropped"), (ids, "id"), (grouped, "group")):
            check_columns(table, names, place, what)
        if missing := int(table[label].isna().sum()):
            raise InputError(f"{place} has no {label} in {missing} records: leave these out")
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
    inside, outside, said = _split(count, len(labels), records, seed)
    notes = [*notes, *said]
    return People(
        X=values[inside],
        y=labels[inside],
        holdout=(values[outside], labels[outside]) if len(outside) else None,
        groups=read_texts(path, grouped).iloc[inside].reset_index(drop=True) if grouped else None,
        ids=read_texts(path, ids)[ids[0]].to_numpy()[inside] if ids else inside,
        notes=tuple(notes),
    )


def _split(
    count: int, total: int, records: int | None, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], list[str]]:
    """Positions of the training records, of the holdout, and what to say."""
    has_holdout = total > count
    if records is None:
        records = count if has_holdout else min(TRAINED, int(SHARE * count))
    if not 2 <= records <= count:
        raise InputError(f"records must be from 2 to the {count} of the table, not {records}")
    if records > LARGEST:
        raise InputError(
            f"training without each of {records} records takes too long: set records to {LARGEST} or fewer"
        )
    order = np.random.default_rng(seed).permutation(count).astype(np.intp)
    rest = np.arange(count, total, dtype=np.intp) if has_holdout else np.sort(order[records:])
    said = [] if records == count else [f"trained on {records:,} records drawn out of {count:,}"]
    if not len(rest):
        said.append("no records are left for the holdout: attacks that need some are not run")
    return np.sort(order[:records]), rest, said
