"""What a data set is here: its records with labels and groups, and the description that needs no data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class File:
    """One file of a data set, at the same ``path`` under a mirror folder and under the cache.

    Parameters
    ----------
    path
        Where the file lies under the mirror folder, with forward slashes.
    urls
        Public addresses, tried in turn; none for a file that only a mirror holds.
    zip_member
        The name of the file inside the zip archive at ``urls``.
    members
        The parts that are read, when the file is a tar archive.
    digest
        ``sha256:…`` or ``md5:…``; empty when no digest is published.
    digest_of
        ``payload``: the decompressed bytes, or the one member of a tar archive (compression differs between copies).
        ``file``: the file as it stands.
    """

    path: str
    urls: tuple[str, ...] = ()
    zip_member: str = ""
    members: tuple[str, ...] = ()
    digest: str = ""
    digest_of: Literal["payload", "file"] = "payload"

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class Description:
    """What there is to say about a data set before it is loaded.

    Parameters
    ----------
    rows, record, classes
        Number of records, shape of one raw record (label and identifiers not counted) and number of classes.
    check
        How a copy of the data is told to be the published one.
    preparations
        What ``load(name, preparation=…)`` accepts beside None, the raw data.
    """

    name: str
    title: str
    rows: int
    record: tuple[int, ...]
    classes: int
    task: str
    licence: str
    source: str
    page: str
    check: str
    preparations: tuple[str, ...] = ()
    files: tuple[File, ...] = ()

    @property
    def shape(self) -> str:
        """Records x columns, or records x height x width, in words for a table."""
        return " x ".join(f"{size:,}" for size in (self.rows, *self.record))


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set. Nothing else holds its arrays, so they are the caller's own.

    Parameters
    ----------
    description
        Title, source, licence and files of the data set; it states if the records are generated.
    X
        One row per record: a DataFrame for a table, an array of bytes (record, height, width[, colour]) for images.
        The index of a DataFrame is the record's place in the publisher's files, counted from 0.
    y
        Labels: the publisher's text for raw ``adult`` and ``diabetes130``, integers from 0 elsewhere.
    groups
        Natural groups, one column each, never missing (``unknown`` is a level); no columns when there are none.
    sensitive
        The columns of ``X`` that a person may want to keep secret.
    train
        True for the publisher's training records, False for test records; None when the publisher made no split.
    person
        Whose record it is, when a person has several; None when no two records are known to be of one person.
    synthetic
        Whether the records are generated, not real.
    """

    description: Description
    X: pd.DataFrame | NDArray[Any]
    y: NDArray[Any]
    groups: pd.DataFrame
    sensitive: tuple[str, ...] = ()
    train: NDArray[np.bool_] | None = None
    person: NDArray[Any] | None = None
    synthetic: bool = False

    @property
    def name(self) -> str:
        """The name of the data set; generated data say so."""
        return f"{self.description.name} (synthetic)" if self.synthetic else self.description.name

    @property
    def stands_in(self) -> str:
        """What generated records stand in for, in words; empty for real records."""
        return f"synthetic data in the place of {self.description.name}" if self.synthetic else ""

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        shape = " x ".join(f"{size:,}" for size in self.X.shape)
        return f"<Dataset {self.name}: {shape}, {len(np.unique(self.y))} classes>"


def no_groups(index: pd.Index) -> pd.DataFrame:
    """Groups of a data set that has none."""
    return pd.DataFrame(index=index)
