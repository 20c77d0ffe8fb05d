"""Tables as CSV files, escaped so that a spreadsheet does not interpret texts as formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

#: First characters of spreadsheet formulas; the apostrophe is escaped too, so that reading can reverse it.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
#: Types of columns besides whole numbers.
TEXT, FLOAT = "text", "float64"


def frame_to_csv(frame: pd.DataFrame) -> str:
    """Write a table as CSV; a text that a spreadsheet could interpret as a formula gets a leading apostrophe."""
    texts = [name for name in frame.columns if frame[name].dtype.kind not in "iufb"]
    shown = frame.assign(**{name: frame[name].map(_inert) for name in texts})
    return str(shown.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def column_types(frame: pd.DataFrame) -> dict[str, str]:
    """Return the type of each column for `frame_from_csv`: an integer type, ``float64`` or ``text``."""
    return {
        str(name): str(kind) if (kind := frame[name].dtype).kind in "iu" else FLOAT if kind.kind == "f" else TEXT
        for name in frame.columns
    }


@dataclass(frozen=True)
class SavedTable:
    r"""A table as `frame_to_csv` wrote it, with the types of its columns.

    Examples
    --------
    >>> SavedTable(b'"id","score"\n"b",0.5\n"\'=1",\n', {"id": "text", "score": "float64"}).columns("id", "score")
    [['b', '=1'], [0.5, nan]]
    """

    table: bytes
    types: dict[str, str]

    def __post_init__(self) -> None:
        unknown = [
            kind for kind in self.types.values() if kind not in (TEXT, FLOAT) and not kind.lstrip("u").startswith("int")
        ]
        if unknown or next(self._rows(), []) != list(self.types):
            raise ValueError("it has other columns")

    def frame(self) -> pd.DataFrame:
        """Return the whole table."""
        return frame_from_csv(self.table, self.types)

    def columns(self, *names: str) -> list[list[Any]]:
        """Return some columns, with every bit of each number."""
        for name in names:
            if name not in self._known:
                at = list(self.types).index(name)
                self._known[name] = _read(self._cells[at :: len(self.types)], self.types[name])
        return [self._known[name] for name in names]

    @cached_property
    def _known(self) -> dict[str, list[Any]]:
        return {}

    @cached_property
    def _cells(self) -> list[str]:
        """Return all cells, row by row; a list per row would be slow, because the garbage collector visits each."""
        cells = list(chain.from_iterable(self._rows()))[len(self.types) :]
        if len(cells) % len(self.types):
            raise ValueError("its rows have unequal lengths")
        return cells

    def _rows(self) -> Iterator[list[str]]:
        return csv.reader(io.StringIO(self.table.decode(), newline=""))


def _read(cells: Sequence[str], kind: str) -> list[Any]:
    if kind == FLOAT:
        return [float(text or "nan") for text in cells]
    return list(map(_as_written if kind == TEXT else int, cells))


def _as_written(text: str) -> str:
    return text.removeprefix("'")


def frame_from_csv(table: bytes, types: dict[str, str]) -> pd.DataFrame:
    r"""Read the table that `frame_to_csv` wrote.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": ["=1+1", "ann"], "score": [0.1, float("nan")], "rank": [1, 2]})
    >>> frame_to_csv(frame).splitlines()[1]
    '"\'=1+1",0.1,1'
    >>> frame_from_csv(frame_to_csv(frame).encode(), column_types(frame)).equals(frame.astype({"id": "str"}))
    True
    """
    import pandas as pd

    read = pd.read_csv(io.BytesIO(table), dtype="str", keep_default_na=False, na_filter=False)
    if list(read.columns) != list(types):
        raise ValueError("it has other columns")
    for name, kind in types.items():
        if kind == FLOAT:  # every bit, which pandas does not guarantee
            read[name] = np.array([text or "nan" for text in read[name]], dtype=np.float64)
        elif kind != TEXT:
            read[name] = read[name].astype(np.dtype(kind))
        else:
            read[name] = read[name].map(_as_written).astype("str")
    return read
