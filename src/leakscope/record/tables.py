"""Tables as CSV files in which no text can act as a formula of a spreadsheet."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

#: What a spreadsheet takes for the start of a formula; the apostrophe is escaped too, so that reading can undo it.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def frame_to_csv(frame: pd.DataFrame) -> str:
    """Write a table as CSV; a text that a spreadsheet could take for a formula gets an apostrophe before it."""
    texts = [name for name in frame.columns if frame[name].dtype.kind not in "iufb"]
    shown = frame.assign(**{name: frame[name].map(_inert) for name in texts})
    return str(shown.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def column_types(frame: pd.DataFrame) -> dict[str, str]:
    """Give the type of each column, by which `frame_from_csv` reads it back: an integer type, ``float64`` or ``text``."""
    return {
        str(name): str(kind) if (kind := frame[name].dtype).kind in "iu" else "float64" if kind.kind == "f" else "text"
        for name in frame.columns
    }


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
        if kind == "float64":  # every bit, as pandas does not promise
            read[name] = np.array([text or "nan" for text in read[name]], dtype=np.float64)
        elif kind != "text":
            read[name] = read[name].astype(np.dtype(kind))
        else:
            read[name] = read[name].map(lambda text: text[1:] if text.startswith("'") else text).astype("str")
    return read
