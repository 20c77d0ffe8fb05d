"""CSV files as people write them: separators, decimal commas, compression, and names that are misspelt."""

import csv
import random
import sys

import numpy as np
import pandas as pd
import pytest

from leakscope.core.errors import InputError
from leakscope.data import table_files
from leakscope.data.table_files import SAMPLE, SEPARATORS, open_table
from leakscope.data.tables import open_tables, read_sets
from leakscope.data.text_format import TextFormat

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "id": [f"{row:03}" for row in range(40)],
        "pay": RNG.normal(size=40),
        "age": RNG.integers(18, 80, 40),
        "job": RNG.choice(["clerk", "baker, retired", "NA", 'a "free" one; new', "tab\there|bar", "two\nlines"], 40),
        "day": pd.date_range("2020-01-01", periods=40).astype(str),
        "member": RNG.random(40) < 0.5,
        "gap": np.where(RNG.random(40) < 0.3, np.nan, 1.5),
    }
)


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read_text(folder, text, **form):
    return open_table(written(folder / "table.csv", text), TextFormat(**form))


# --- separators and decimal marks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["", ".gz", ".bz2", ".xz", ".zst", ".zip"])
@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", "."), ("|", ",")]
)
def test_any_separator_decimal_mark_and_compression_is_read_as_pandas_reads_it(
    separator, decimal, compression, tmp_path
):
    if compression == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"table.csv{compression}"
    TABLE.to_csv(path, index=False, sep=separator, decimal=decimal)
    file = open_table(path)
    expected = pd.read_csv(path, sep=separator, decimal=decimal)
    assert (file.columns, file.decimal) == (list(TABLE), decimal)
    pd.testing.assert_frame_equal(file.read(), expected, check_exact=True)
    pd.testing.assert_frame_equal(file.read(["age", "pay"]), expected[["age", "pay"]], check_exact=True)
    texts = file.texts(["job", "id", "gap"])
    assert list(texts) == ["job", "id", "gap"]
    assert texts["id"].tolist() == TABLE["id"].tolist()  # 007 stays 007
    assert texts["job"].tolist() == TABLE["job"].tolist()  # NA is a text
    assert set(texts["gap"]) == {"", f"1{decimal}5"}


def test_the_separator_is_found_among_random_fields(tmp_path):
    """Fields contain all separators, quotes and line breaks; the writer quotes what must be quoted."""
    draw = random.Random(1)
    for number in range(200):
        separator, width = draw.choice(SEPARATORS), draw.randint(2, 6)
        path = tmp_path / "random.csv"
        rows = [["".join(draw.choices('ab1 ,;\t|"\n', k=draw.randint(1, 6))) for _ in range(width)] for _ in range(30)]
        rows[0] = [f"c{place}{draw.choice(['', ' (a, b)', ' [a; b]', ' a|b'])}" for place in range(width)]
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)
        lines = path.read_text().splitlines(keepends=True)
        assert table_files.detect_separator(lines, path) == separator, number


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("score\n1.5\n2.5\n", ["score"]),
        ('"a;b"\n1\n2\n', ["a;b"]),
        ('"name, first";note\nAnn;"x,y"\n', ["name, first", "note"]),
        ("note,label\nyes; no; maybe,1\nno,0\n", ["note", "label"]),
        ("pay (EUR; net),age\n1,2\n3,4\n", ["pay (EUR; net)", "age"]),
        ("a b\tc,d\n1\t2\n3\t4\n", ["a b", "c,d"]),
        ("\ufeffa;b\r\n1;2\r\n", ["a", "b"]),
        ("\n\na;b\n\n1;2\n", ["a", "b"]),
        ("a,b\n", ["a", "b"]),
        ('a;b\n"1\n2\n3";4\n', ["a", "b"]),
        (";a\n0;1\n", ["Unnamed: 0", "a"]),
    ],
)
def test_the_header_and_the_first_rows_decide(text, columns, tmp_path):
    assert read_text(tmp_path, text).columns == columns


def test_a_quoted_record_that_the_sample_cuts_does_not_mislead(tmp_path):
    lines = "x, y\n" * (SAMPLE + 5)
    file = read_text(tmp_path, f'note;n\na;1\n"{lines}";2\n')
    assert file.columns == ["note", "n"]
    assert len(file.read()) == 2


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("a;b\n1,5;x\n2;y\n", ","),
        ("a;b\n1.5;x\n2;y\n", "."),
        ("a;b\n1;x\n2;y\n", "."),
        ("a\tb\n-1,5e-3\t\nNA\tx\n", ","),
        ("a;b\n1,234,567;x\n", "."),
        ("a;b\n1,5;x\n3,1 and more;y\n", "."),
        ("a;b\nAnn, 5;x\n1,5;y\n", "."),
    ],
)
def test_decimal_commas_are_found_where_a_whole_column_has_them(text, decimal, tmp_path):
    file = read_text(tmp_path, text)
    assert file.decimal == decimal
    assert (file.read()["a"].dtype.kind == "f") == (decimal == "," or "1.5" in text)


@pytest.mark.parametrize(
    ("text", "form", "values"),
    [
        ("a;b\n1,5;x\n", {"decimal": "."}, ["1,5", "x"]),
        ("a b\n1.5 x\n", {"separator": " "}, [1.5, "x"]),
        ("a\tb|c\n1|2\t3\n", {"separator": "tab"}, ["1|2", 3]),
        ("a\tb|c\n1|2\t3\n", {"separator": "|"}, [1, "2\t3"]),
        ("a\tb\n1,5\t3\n", {"separator": "\\t", "decimal": ","}, [1.5, 3]),
        ("a\n1,5\n", {"decimal": ","}, [1.5]),
    ],
)
def test_options_go_before_detection(text, form, values, tmp_path):
    assert read_text(tmp_path, text, **form).read().iloc[0].tolist() == values


@pytest.mark.parametrize(
    ("form", "named"),
    [
        ({"separator": ""}, "--separator"),
        ({"separator": "ab"}, "--separator"),
        ({"separator": "x"}, "--separator"),
        ({"separator": '"'}, "--separator"),
        ({"separator": "\n"}, "--separator"),
        ({"decimal": "'"}, "--decimal"),
        ({"separator": ",", "decimal": ","}, "both"),
    ],
)
def test_marks_that_cannot_be_are_refused(form, named):
    with pytest.raises(InputError, match=named):
        TextFormat(**form)


# --- files that cannot be read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", "", "header"),
        ("blank.csv", "\n \n\n", "blank.csv"),
        ("header.csv", "a;b\n", "records"),
        ("binary.csv", bytes(range(256)) * 10, "binary.csv"),
        ("latin.csv", "name,town\nAnn,Köln\n".encode("latin-1"), "UTF-8"),
        ("late.csv", ("name,town\n" + "Ann,Ulm\n" * SAMPLE).encode() + "Ann,Köln\n".encode("latin-1"), "UTF-8"),
        ("cut.csv.gz", b"\x1f\x8b\x08\x00", "cut.csv.gz"),
        ("cut.csv.xz", b"\xfd7zXZ\x00", "cut.csv.xz"),
        ("plain.csv.gz", "a,b\n1,2\n", "plain.csv.gz"),
        ("long.csv", "a;b\n1;2;3\n", "--separator"),
        ("later.csv", "a;b\n" + "1;2\n" * SAMPLE + "1;2;3\n", "--separator"),
        ("decimals.csv", "score\n1,5\n", "--decimal"),
        ("both.csv", "a,b;c\n1,2;3\n", "--separator"),
        ("marks.csv", "a;b\n1,5;2.5\n", "--decimal"),
    ],
)
def test_files_that_cannot_be_read_end_in_one_sentence_without_values(name, content, said, tmp_path):
    path = written(tmp_path / name, content)
    with pytest.raises(InputError) as found:
        open_table(path).read()
    assert said in str(found.value)
    assert str(path) in str(found.value)
    assert "Ann" not in str(found.value)


def test_a_package_that_pandas_lacks_is_named_with_its_command(tmp_path, monkeypatch):
    path = written(tmp_path / "table.csv.zst", b"\x28\xb5\x2f\xfd")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(InputError, match=r"leakscope\[arrow\]"):
        open_table(path)


def test_levels_of_groups_have_decimal_points_and_ids_do_not(tmp_path):
    file = open_table(written(tmp_path / "t.csv", "size;code\n1,50;1,5\n-0,5;a,5\n007;1,2,3\n"))
    assert file.levels(["size", "code"]).to_numpy().tolist() == [["1.50", "1.5"], ["-0.5", "a,5"], ["007", "1,2,3"]]
    assert file.texts(["size"])["size"].tolist() == ["1,50", "-0,5", "007"]


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv"):
        open_table(tmp_path / "none.csv")
    for _ in range(2):
        with pytest.raises(InputError, match="folder"):
            open_table(tmp_path)
        (tmp_path / "part.csv").write_text("a,b\n1,2\n")


# --- columns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("incme", "income"),
        ("Income", "income"),
        ("INCOME ", "income"),
        ("hours_week", "hours_per_week"),
        ("age_3", "age_2 or age_1"),
        ("zzz", "sex, age_1, age_2"),
    ],
)
def test_a_column_that_is_not_there_gets_the_nearest_names(name, said, tmp_path):
    path = written(tmp_path / "people.csv", "income,hours_per_week,week_hours,sex,age_1,age_2\n1,2,3,f,4,5\n")
    for one, several in (({"label": name}, {}), ({}, {"group": f"sex,{name}"})):
        with pytest.raises(InputError) as found:
            open_tables([path], one, several)
        assert str(found.value).endswith(said)


def test_names_of_a_file_without_a_header_are_not_shown(tmp_path):
    path = written(tmp_path / "bare.csv", "Jane Doe;jane@doe.org;f\nJohn Doe;john@doe.org;m\n")
    with pytest.raises(InputError, match="header") as found:
        open_table(path).check(["Jane Do"], "label")
    assert "Jane Doe" not in str(found.value)


class Named:
    feature_names_in_ = np.array(["pay", "two_words"], dtype=object)


class Numbered:
    n_features_in_ = 3


class Unknown:
    pass


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (Named(), ["pay", "two words"]),
        (Numbered(), ["pay", "two words", "other"]),
        (Unknown(), ["pay", "two words", "other", "sex"]),
        (type("Other", (), {"feature_names_in_": np.array(["gone"])})(), ["pay", "two words", "other", "sex"]),
    ],
)
def test_the_columns_that_the_model_and_the_options_use_are_read(model, columns, tmp_path):
    header = "pay;two words;other;sex;id;label;dropped\n"
    paths = tuple(written(tmp_path / f"{name}.csv", header + "1,5;2;3;f;007;1;4\n" * 3) for name in ("one", "two"))
    sets = read_sets(paths, model, label="label", groups="sex", id_column="id", drop="dropped")
    for (X, y), groups, ids in zip((sets.train, sets.holdout), sets.groups, sets.ids, strict=True):
        assert list(X) == columns
        assert (y.tolist(), groups["sex"].tolist(), ids.tolist()) == ([1] * 3, ["f"] * 3, ["007"] * 3)
