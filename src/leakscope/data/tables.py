"""Tables for the command line: the columns that options choose, and training set and holdout of an audit."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.data.table_files import TableFile, open_table
from leakscope.data.text_format import TextFormat


def split_names(text: str | None, columns: Container[Any]) -> list[str]:
    """Split names at commas, unless the whole text is the name of a column.

    Examples
    --------
    >>> split_names("race, sex", ["race", "sex"]), split_names("a,b", ["a,b"])
    (['race', 'sex'], ['a,b'])
    """
    if text is None or text in columns:
        return [] if text is None else [text]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{text!r} contains no column name: pass names separated by commas")
    return list(dict.fromkeys(names))


def open_tables(
    paths: Sequence[Path],
    one: Mapping[str, str | None],
    several: Mapping[str, str | None],
    form: TextFormat | None = None,
) -> tuple[list[TableFile], dict[str, list[str]]]:
    """Open files, and check that each has the columns chosen in an option; return the files and the names by option.

    ``one`` holds options that name a column, by what the column is (``"label"``), and ``several`` those that name several,
    separated by commas.
    """
    files = [open_table(path, form) for path in paths]
    names = {what: [] if name is None else [name] for what, name in one.items()}
    names |= {what: split_names(text, files[0].columns) for what, text in several.items()}
    for file in files:
        for what, some in names.items():
            file.check(some, what)
    return files, names


@dataclass(frozen=True)
class Labelled:
    """Files to learn from: labels and features of each, and the names of the columns by option."""

    files: list[TableFile]
    tables: list[pd.DataFrame]
    columns: list[str]
    names: dict[str, list[str]]


def read_labelled(
    paths: Sequence[Path],
    label: str,
    *,
    drop: str | None,
    id_column: str | None,
    groups: str | None = None,
    form: TextFormat | None = None,
) -> Labelled:
    """Read files to learn from; ``columns`` are those that features may come from. Missing labels are refused."""
    files, names = open_tables(paths, {"label": label, "id": id_column}, {"dropped": drop, "group": groups}, form)
    for what, option in (("dropped", "dropped"), ("id", "the id")):
        if label in names[what]:
            raise InputError(f"{label!r} is the label and can't be {option}")
    columns = [name for name in files[0].columns if name not in {label, *names["dropped"], *names["id"]}]
    if not columns:
        raise InputError(f"{paths[0]} has no columns but {label!r}: there is nothing to learn from")
    for file in files[1:]:
        file.check(columns, "data")
    tables = [file.read([label, *columns]) for file in files]
    for path, table in zip(paths, tables, strict=True):
        if missing := int(table[label].isna().sum()):
            raise InputError(f"{path} has no {label!r} in {missing} records: remove these records")
    return Labelled(files, tables, columns, names)


def _labels(file: TableFile, y: pd.Series[Any], model: Any) -> pd.Series[Any]:
    """Return the labels, as text if the classes of the model are text: class "1" is not the number 1."""
    classes = getattr(model, "classes_", None)
    if classes is not None and getattr(classes, "dtype", None) is not None and classes.dtype.kind in "OU":
        texts = file.texts([str(y.name)])[str(y.name)]
        return texts if "" in classes else texts.mask(texts == "")
    return y


def _feature_names(columns: list[str], hidden: list[str], model: Any, groups: list[str]) -> list[str]:
    """Return the features: the columns that the model names, or else all except the hidden ones.

    Group columns are included, unless the model has a number but no names of features, and matches only without them.
    """
    rest = [name for name in columns if name not in hidden]
    if (named := getattr(model, "feature_names_in_", None)) is not None:
        used = set(map(str, named))
        # LightGBM writes an underscore for a space. Without any of its columns, the model says what it lacks.
        return [name for name in rest if used & {name, name.replace(" ", "_")}] or rest
    without = [name for name in rest if name not in groups]
    wanted = getattr(model, "n_features_in_", None)
    return without if wanted != len(rest) and wanted == len(without) else rest


def _share_categories(train: pd.DataFrame, holdout: pd.DataFrame) -> None:
    """Give categorical columns the categories of both sets, those of the training set first; ordered ones are unchanged.

    Columns with different categories become texts where records of both sets are put together.
    """
    for name in [name for name in train.columns if name in holdout.columns]:
        types = train[name].dtype, holdout[name].dtype
        if all(isinstance(kind, pd.CategoricalDtype) and not kind.ordered for kind in types) and types[0] != types[1]:
            categories = train[name].cat.categories.union(holdout[name].cat.categories, sort=False)
            for table in (train, holdout):
                table[name] = table[name].cat.set_categories(categories)


@dataclass(frozen=True)
class Sets:
    """Training set and holdout in the form that `leakscope.audit` takes."""

    train: tuple[pd.DataFrame, pd.Series[Any]]
    holdout: tuple[pd.DataFrame, pd.Series[Any]]
    groups: tuple[pd.DataFrame, ...] | None
    ids: tuple[NDArray[Any], ...] | None


def read_sets(
    paths: tuple[Path, Path],
    model: Any,
    *,
    label: str,
    groups: str | None,
    id_column: str | None,
    drop: str | None,
    form: TextFormat | None = None,
) -> Sets:
    """Read the columns that the model and the options use; ids are the literal text of the files, groups too but for decimal commas."""
    files, names = open_tables(paths, {"label": label, "id": id_column}, {"group": groups, "dropped": drop}, form)
    group_columns, id_columns = names["group"], names["id"]
    hidden = [label, *names["dropped"], *id_columns]

    def read(file: TableFile) -> tuple[pd.DataFrame, pd.Series[Any]]:
        features = _feature_names(file.columns, hidden, model, group_columns)
        table = file.read([*features, label])
        y = table.pop(label)
        return table, _labels(file, y, model)

    train, holdout = map(read, files)
    _share_categories(train[0], holdout[0])
    return Sets(
        train,
        holdout,
        tuple(file.levels(group_columns) for file in files) if group_columns else None,
        tuple(file.texts(id_columns)[id_column].to_numpy() for file in files) if id_columns else None,
    )
