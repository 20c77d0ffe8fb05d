"""Training records and holdout from CSV files, and checks of what an audit of record explanations is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.attacks import RECONSTRUCTIONS
from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_confidence, check_count, check_number, check_seed
from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.core.result import Caveat
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import row_name
from leakscope.data.tables import read_labelled
from leakscope.data.text_format import TextFormat
from leakscope.learners.encoded_table import prepare_columns
from leakscope.learners.linear import read_records
from leakscope.releases.oracle import check_rounding
from leakscope.releases.record_explanations.release import RecordRelease, refuse_far_points

Outside = tuple[Floats, NDArray[Any]] | None
TRAINED = 2000  # records to train on by default [shokri2019, 5.1.1]
SHARE = 0.8  # of a table that is not much larger
LARGEST = 30_000  # records: leave-one-out takes their square


def check_effort(attacks: Any, queries: Any, runs: Any, penalty: Any, seed: Any, confidence: Any) -> list[str]:
    """Check how much is to be run, and give the names of the attacks."""
    check_count("queries", queries)
    check_count("runs", runs)
    check_number("penalty", penalty, least=0, open_ends=True)
    check_seed(seed)
    check_confidence(confidence)
    if attacks is not None and not isinstance(attacks, str | list | tuple):
        raise InputError(f"attacks must be a list of names out of {', '.join(RECONSTRUCTIONS)}, not {attacks!r}")
    asked = ["all"] if attacks is None else [attacks] if isinstance(attacks, str) else [str(name) for name in attacks]
    names = list(RECONSTRUCTIONS) if "all" in asked else list(dict.fromkeys(asked))
    if unknown := [name for name in names if name not in RECONSTRUCTIONS]:
        raise InputError(f"there is no attack {unknown[0]!r}: choose from {', '.join(RECONSTRUCTIONS)}, or all")
    if not names:
        raise InputError(f"no attack is named: choose from {', '.join(RECONSTRUCTIONS)}, or all")
    return names


def check_releases(release: Any, defended: Any, precision: Any, features: Floats) -> None:
    """Check that releases fit the training records, and that digits are of influences that are shown."""
    others = [] if defended == "usual" else defended
    if not isinstance(others, list | tuple) or not all(isinstance(one, RecordRelease) for one in (release, *others)):
        raise InputError("release must be a RecordRelease, and defended a list of these or 'usual'")
    for one in (release, *others):
        if one.k > len(features):
            raise InputError(f"k must be at most the {len(features)} training records, not {one.k}")
        if one.near is not None:
            refuse_far_points(features, one.near)
    if not isinstance(precision, list | tuple):
        raise InputError(f"precision must be a list of numbers of digits, not {precision!r}")
    for digits in precision:
        check_rounding(digits, None, 0.0)
    if precision and not release.values:
        raise InputError("precision is for influences that are shown, and these are hidden: leave precision out")


def read_holdout(holdout: Any, features: Floats, labels: NDArray[Any]) -> tuple[Outside, int]:
    """Give the holdout without copies of training records, and the number of these copies."""
    if holdout is None:
        return None, 0
    try:
        X, y = holdout
    except (TypeError, ValueError) as error:
        raise InputError("the holdout must be a pair of records and labels") from cause(error)
    outside, classes, _ = read_records(X, y, "the holdout")
    if outside.shape[1] != features.shape[1]:
        raise InputError(
            f"the holdout has {outside.shape[1]} columns and the training records {features.shape[1]}: prepare both in the same way"
        )
    if (new := ~np.isin(classes, np.unique(labels))).any():
        raise InputError(
            f"the holdout has labels that no training record has, in {int(new.sum())} of {len(new)} records, the first in "
            f"{row_name(int(new.argmax()))}: remove these records"
        )
    kept = ~np.isin(row_hashes(outside), row_hashes(features))
    return (outside[kept], classes[kept]) if kept.any() else None, int((~kept).sum())


def read_groups(groups: pd.DataFrame | None, count: int) -> Mapping[str, NDArray[Any]]:
    """Levels as text, by column."""
    if groups is None:
        return {}
    if not isinstance(groups, pd.DataFrame) or len(groups) != count:
        raise InputError(f"groups must be a table with one row for each of the {count} training records")
    if not groups.columns.is_unique:
        raise InputError("groups has two columns of one name: rename one")
    return {str(name): groups[name].astype(str).to_numpy(object) for name in groups.columns}


# --- table files ------------------------------------------------------------------------------------------------------


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
    size: int | None = None,
    groups: str | None = None,
    id_column: str | None = None,
    drop: str | None = None,
    seed: int = 0,
    form: TextFormat | None = None,
) -> People:
    """Read a table: texts become a column for each level, and numbers are scaled to [0, 1].

    Parameters
    ----------
    holdout
        A file of records that are not trained on; without it, these are drawn from ``path``.
    size
        Number of records to train on: by default all of them if there is a holdout, and otherwise 2,000, or four fifths of a smaller table.
    form
        How CSV files are written; detected by default.
    """
    paths = [path] if holdout is None else [path, holdout]
    read = read_labelled(paths, label, drop=drop, id_column=id_column, groups=groups, form=form)
    file, tables, grouped, ids = read.files[0], read.tables, read.names["group"], read.names["id"]
    count, together = len(tables[0]), pd.concat([table[read.columns] for table in tables], ignore_index=True)
    X, notes = prepare_columns(together, "one-hot")
    values, labels = X.to_numpy(np.float64), pd.concat([table[label] for table in tables]).to_numpy()
    inside, outside, more = _split(count, len(labels), size, seed)
    return People(
        X=values[inside],
        y=labels[inside],
        holdout=(values[outside], labels[outside]) if len(outside) else None,
        groups=file.texts(grouped).iloc[inside].reset_index(drop=True) if grouped else None,
        ids=file.texts(ids)[ids[0]].to_numpy()[inside] if ids else inside,
        notes=(*notes, *more),
    )


def _split(count: int, total: int, size: int | None, seed: int) -> tuple[Indices, Indices, list[Caveat]]:
    """Give the positions of the training records and of the holdout, and what was changed."""
    has_holdout = total > count
    if size is None:
        size = count if has_holdout else min(TRAINED, int(SHARE * count))
    size = check_count("size", size, 2, min(count, LARGEST))
    order = np.random.default_rng(seed).permutation(count).astype(np.intp)
    rest = np.arange(count, total, dtype=np.intp) if has_holdout else np.sort(order[size:])
    notes = [] if size == count else [Caveat("sampled_records", {"records": size, "of": count})]
    if not len(rest):
        notes.append(Caveat("no_holdout"))
    return np.sort(order[:size]), rest, notes
