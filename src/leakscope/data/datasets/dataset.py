"""Classes for data sets: `Dataset` (records, labels, groups), `Description` and `File`."""

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
        Path below the mirror folder, with forward slashes.
    urls
        Public URLs, tried in order; empty for a file that only a mirror has.
    zip_member
        Name of the file in the zip archive at ``urls``.
    members
        Members to read, if the file is a tar archive.
    digest
        ``sha256:…`` or ``md5:…``; empty if no digest is published.
    digest_of
        ``payload``: the decompressed bytes, or the one member of a tar archive (compression differs between copies).
        ``file``: the file itself.
    """

    path: str
    urls: tuple[str, ...] = ()
    zip_member: str = ""
    members: tuple[str, ...] = ()
    digest: str = ""
    digest_of: Literal["payload", "file"] = "payload"

    @property
    def name(self) -> str:
        """File name without the folder."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class Description:
    """Description of a data set, available without loading it.

    Parameters
    ----------
    rows, record, classes
        Number of records, shape of one raw record (label and identifiers not counted) and number of classes.
    check
        How a copy of the data is verified.
    preparations
        Values of ``load(name, preparation=…)``, in addition to None for the raw data.
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
        """Records x columns, or records x height x width, as text."""
        return " x ".join(f"{size:,}" for size in (self.rows, *self.record))


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set. The arrays are not shared, so the caller may change them.

    Parameters
    ----------
    description
        Title, source, licence and files of the data set; it states whether the records are synthetic.
    X
        One row per record: a DataFrame for a table, an array of bytes (record, height, width[, colour]) for images.
        The index of a DataFrame is the position of the record in the published files, counted from 0.
    y
        Labels: the published text for raw ``adult`` and ``diabetes130``, otherwise integers from 0.
    groups
        Natural groups, one column each, never missing (``unknown`` is a level); no columns if there are none.
    sensitive
        Sensitive columns of ``X``.
    train
        True for published training records, False for test records; None without a published split.
    person
        Person of each record, if persons have several records; otherwise None.
    synthetic
        Whether the records are synthetic.
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
        """Name of the data set, marked if the data are synthetic."""
        return f"{self.description.name} (synthetic)" if self.synthetic else self.description.name

    @property
    def stands_in(self) -> str:
        """Sentence part that names the data set that synthetic records replace; empty for real records."""
        return f"synthetic data in the place of {self.description.name}" if self.synthetic else ""

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        shape = " x ".join(f"{size:,}" for size in self.X.shape)
        return f"<Dataset {self.name}: {shape}, {len(np.unique(self.y))} classes>"


def no_groups(index: pd.Index) -> pd.DataFrame:
    """Return an empty table of groups."""
    return pd.DataFrame(index=index)
