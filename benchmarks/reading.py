"""Reading Parquet: a table of 20 columns against pyarrow alone, and a quarter of its columns for a model that uses only these.

The table has 2·10⁶ rows, a fifth of the 10⁷ that the goal names, to keep this short; `ROWS` can be set to 10⁷.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks.measure import Line, ratio
from leakscope.data.table_files import open_table
from leakscope.data.tables import read_sets

ROWS, COLUMNS, USED = 2_000_000, 20, 5


def write(path: Path, rows: int) -> None:
    """Write a table of numbers, whole numbers and categories, column 0 the label."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    columns: dict[str, object] = {"c0": rng.integers(0, 2, rows)}
    for place in range(1, COLUMNS):
        if place % 4 == 3:
            columns[f"c{place}"] = pa.array(rng.choice(["a", "b", "c"], rows)).dictionary_encode()
        else:
            columns[f"c{place}"] = rng.normal(size=rows) if place % 4 else rng.integers(0, 100, rows)
    pq.write_table(pa.table(columns), path)


def run() -> Iterator[Line]:
    import pyarrow.parquet as pq

    def alone() -> None:
        pq.read_table(path).to_pandas()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write(path, ROWS)
        measured, detail = ratio(lambda: open_table(path).read(), alone)
        yield Line(f"reading Parquet, {ROWS:,} × {COLUMNS}, against pyarrow alone", measured, 1.3, "x", detail)

        model = SimpleNamespace(feature_names_in_=np.array([f"c{place}" for place in range(1, USED + 1)]))
        options = {"label": "c0", "groups": None, "id_column": None, "drop": None}
        measured, detail = ratio(lambda: read_sets((path, path), model, **options), lambda: (alone(), alone()))
        what = f"two sets for a model of {USED} of the columns, against all of them by pyarrow"
        yield Line(what, measured, 0.5, "x", detail)
