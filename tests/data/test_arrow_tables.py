"""Parquet and Feather files, and folders of Parquet parts: types, columns, texts and errors."""

import datetime as dt
import decimal
import sys

import numpy as np
import pandas as pd
import pytest

from leakscope.core.errors import InputError
from leakscope.data.table_files import open_table
from leakscope.data.tables import open_tables, read_sets

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

#: Types that are read as pandas reads them.
PLAIN = pd.DataFrame(
    {
        "integer": np.array([1, -2, 2**60], dtype=np.int64),
        "small": np.array([1, 2, 3], dtype=np.uint8),
        "float": [0.1, np.nan, -np.inf],
        "single": np.array([0.1, 2, 3], dtype=np.float32),
        "bool": [True, False, True],
        "text": ["007", None, "NA"],
        "category": pd.Categorical(["b", None, "a"], categories=["c", "b", "a"]),
        "ordered": pd.Categorical(["low", "high", "low"], categories=["low", "high"], ordered=True),
        "time": pd.to_datetime(["2020-01-01 00:00", None, "2021-06-01 12:30"]),
        "zone": pd.to_datetime(["2020-01-01", None, "2021-06-01"]).tz_localize("Europe/Berlin"),
        "span": pd.to_timedelta(["1h", None, "2D"]),
        "date": [dt.date(2020, 1, 1), None, dt.date(2021, 6, 1)],
        "decimal": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")],
    }
)
#: Nullable types, and what they become.
NULLABLE = {
    "Int64": ([1, None, 3], np.array([1, np.nan, 3])),
    "Int8": ([1, 2, 3], np.array([1, 2, 3], dtype=np.int8)),
    "Float64": ([0.5, None, 2], np.array([0.5, np.nan, 2])),
    "boolean": ([True, False, True], np.array([True, False, True])),
    "string": (["a", None, "b"], pd.Series(["a", None, "b"], dtype="str").array),
}


def write(table, path):
    if path.suffix == ".feather":
        table.to_feather(path)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        path.mkdir()
        (path / "_SUCCESS").touch()
        for number, start in enumerate(range(0, len(table), 2)):
            table.iloc[start : start + 2].reset_index(drop=True).to_parquet(path / f"part-{number}.parquet")
    return path


def pandas_reads(path):
    return pd.read_feather(path) if path.suffix == ".feather" else pd.read_parquet(path)


@pytest.fixture(params=["table.parquet", "table.feather", "parts"])
def place(request, tmp_path):
    return tmp_path / request.param


def test_types_are_those_of_pandas(place):
    write(PLAIN, place)
    file = open_table(place)
    assert file.columns == list(PLAIN)
    pd.testing.assert_frame_equal(file.read(), pandas_reads(place), check_exact=True)
    pd.testing.assert_frame_equal(file.read(["time", "small"]), pandas_reads(place)[["time", "small"]])


def test_nullable_types_become_those_that_estimators_accept(place):
    write(pd.DataFrame({name: pd.array(values, dtype=name) for name, (values, _) in NULLABLE.items()}), place)
    read = open_table(place).read()
    for name, (_, expected) in NULLABLE.items():
        assert read[name].dtype == expected.dtype
        np.testing.assert_array_equal(read[name].isna(), pd.isna(expected))
        assert read[name].dropna().tolist() == [value for value in expected if not pd.isna(value)]


def test_texts_are_the_values_of_the_columns(place):
    write(PLAIN.assign(whole=pd.array([7, None, 2**60 + 1], dtype="Int64"), truth=[True, None, False]), place)
    texts = open_table(place).texts(["whole", "text", "float", "category", "date", "bool", "truth", "integer"])
    assert texts.T.to_numpy().tolist() == [
        ["7", "", str(2**60 + 1)],
        ["007", "", "NA"],
        ["0.1", "", "-inf"],
        ["b", "", "a"],
        ["2020-01-01", "", "2021-06-01"],
        ["True", "False", "True"],
        ["True", "", "False"],
        ["1", "-2", str(2**60)],
    ]


def test_numbers_as_texts_keep_every_bit(place):
    numbers = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(-500, 500).clip(-300, 300)
    write(pd.DataFrame({"score": numbers}), place)
    read = open_table(place).texts(["score"])["score"].astype(float)
    np.testing.assert_array_equal(np.sort(read), np.sort(numbers))


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", None])
def test_compressed_parquet_is_read_by_content_and_not_by_name(codec, tmp_path):
    PLAIN.to_parquet(tmp_path / "table.csv", compression=codec)
    pd.testing.assert_frame_equal(open_table(tmp_path / "table.csv").read(), pd.read_parquet(tmp_path / "table.csv"))


def test_parts_keep_the_order_of_their_names(tmp_path):
    table = pd.DataFrame({"row": np.arange(100), "kind": pd.Categorical([f"k{row % 7}" for row in range(100)])})
    read = open_table(write(table, tmp_path / "parts")).read()
    order = [int(name.split("-")[1]) for name in sorted(f"part-{part}" for part in range(50))]
    assert read["row"].tolist() == [row for part in order for row in (2 * part, 2 * part + 1)]
    assert read["kind"].tolist() == [f"k{row % 7}" for row in read["row"]]


def test_folders_by_value_give_a_column_as_in_pandas(tmp_path):
    table = pd.DataFrame({"age": [30, 40, 50], "town": ["Ulm", "Bonn", "Ulm"]})
    table.to_parquet(tmp_path / "people", partition_cols=["town"])
    read = open_table(tmp_path / "people").read()
    pd.testing.assert_frame_equal(read, pd.read_parquet(tmp_path / "people"))
    assert open_table(tmp_path / "people").texts(["town"])["town"].tolist() == ["Bonn", "Ulm", "Ulm"]


@pytest.mark.parametrize("name", [None, "person"])
def test_the_index_that_pandas_stored_is_no_feature_but_can_be_the_id(name, tmp_path):
    table = pd.DataFrame({"age": [30, 40]}, index=pd.Index(["007", "008"], name=name))
    table.to_parquet(tmp_path / "table.parquet")
    file = open_table(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(file.read(), table.reset_index(drop=True))
    if name is not None:
        (file,), _ = open_tables([file.path], {"id": name}, {})
        assert file.texts([name])[name].tolist() == ["007", "008"]


class Model:
    feature_names_in_ = np.array(["pay", "age"])
    classes_ = np.array(["0", "1"])


def test_only_the_columns_that_are_used_are_read(tmp_path, monkeypatch):
    table = pd.DataFrame({"age": [1, 2], "pay": [3.0, 4.0], "id": [7, 8], "label": [0, 1], "sex": ["f", "m"]})
    paths = tuple(
        write(table.assign(**dict.fromkeys(map(str, range(9)), 0)), tmp_path / name) for name in ("a.parquet", "b")
    )
    asked = []
    read = ds.Dataset.to_table

    class Seen:
        def __init__(self, data):
            self.data = data

        def to_table(self, columns):
            asked.append(columns)
            return read(self.data, columns=columns)

        def __getattr__(self, name):
            return getattr(self.data, name)

    make = ds.dataset
    monkeypatch.setattr(ds, "dataset", lambda *given, **options: Seen(make(*given, **options)))
    sets = read_sets(paths, Model(), label="label", groups="sex", id_column="id", drop=None)
    assert {name for columns in asked for name in columns} == {"age", "pay", "label", "sex", "id"}
    for (X, y), groups, ids in zip((sets.train, sets.holdout), sets.groups, sets.ids, strict=True):
        assert list(X) == ["age", "pay"]
        assert (y.tolist(), groups["sex"].tolist(), ids.tolist()) == (["0", "1"], ["f", "m"], ["7", "8"])


def test_categories_of_both_sets_are_joined_those_of_the_training_set_first(tmp_path):
    order = pd.CategoricalDtype(["low", "high"], ordered=True)
    kinds = (["b", "a"], ["low", "low"]), (["c", "a"], ["high", "low"])
    tables = [
        pd.DataFrame(
            {
                "kind": pd.Categorical(kind, categories=kind),
                "level": pd.Series(level, dtype=order).cat.remove_unused_categories(),
                "label": [0, 1],
            }
        )
        for kind, level in kinds
    ]
    paths = tuple(write(table, tmp_path / f"{place}.parquet") for place, table in enumerate(tables))
    sets = read_sets(paths, None, label="label", groups=None, id_column=None, drop=None)
    for (X, _), (kind, level) in zip((sets.train, sets.holdout), kinds, strict=True):
        assert X["kind"].cat.categories.tolist() == ["b", "a", "c"]
        assert (X["kind"].tolist(), X["level"].tolist()) == (kind, level)
    assert sets.train[0]["level"].cat.categories.tolist() == ["low"]


# --- errors -------------------------------------------------------------------------------------------------------------


def parts(folder, *tables):
    folder.mkdir()
    for number, table in enumerate(tables):
        table.to_parquet(folder / f"{number}.parquet")
    return folder


@pytest.mark.parametrize(
    "other",
    [PLAIN.drop(columns="bool"), PLAIN.assign(more=1), PLAIN.rename(columns={"bool": "boole"})],
    ids=["fewer", "more", "other"],
)
def test_parts_with_different_columns_are_refused(other, tmp_path):
    with pytest.raises(InputError, match=r"2\.parquet"):
        open_table(parts(tmp_path / "parts", PLAIN, PLAIN, other))


def test_parts_with_different_types_are_refused_without_values(tmp_path):
    place = parts(tmp_path / "parts", pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": ["Jane Doe", "John Doe"]}))
    with pytest.raises(InputError, match="parts") as found:
        open_table(place).read()
    assert "Doe" not in str(found.value)


def test_files_that_were_cut_end_in_one_sentence(place):
    write(PLAIN, place)
    file = place if place.is_file() else place / "part-0.parquet"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(InputError, match=place.name):
        open_table(place).read()


def test_damaged_pages_end_in_one_sentence(tmp_path):
    place = write(PLAIN, tmp_path / "table.parquet")
    content = place.read_bytes()
    place.write_bytes(content[:6] + b"\0" * 200 + content[206:])
    with pytest.raises(InputError, match=place.name):
        open_table(place).read()


def test_no_records_and_repeated_names_are_refused(place, tmp_path):
    empty = PLAIN.iloc[:0]
    if place.suffix:
        write(empty, place)
    else:
        parts(place, empty)
    with pytest.raises(InputError, match="records"):
        open_table(place)
    twice = pa.table([[1], [2], [3]], names=["a", "b", "a"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(InputError, match="duplicate"):
        open_table(tmp_path / "twice.parquet")


def test_a_column_that_is_not_there_gets_the_nearest_names(place):
    write(PLAIN, place)
    with pytest.raises(InputError, match=r"category$"):
        open_table(place).check(["Categorie"], "group")


def test_without_pyarrow_the_command_that_installs_it_is_named(place, monkeypatch):
    write(PLAIN, place)
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    with pytest.raises(InputError, match=r"leakscope\[arrow\]") as found:
        open_table(place)
    assert str(place) in str(found.value)
