"""Synthetic data: schema, learnable labels, the mark "synthetic", and identical data in every run."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid

from leakscope.core.errors import MissingDataError
from leakscope.data import datasets
from leakscope.data.datasets import synthetic
from leakscope.data.datasets.synthetic.tables import Column, draw_table, level_counts

NAMES = ["adult", "diabetes130", "location30", "purchase100", "texas100", "mnist", "cifar100", "cifar100_20k",
         "dogfish"]  # fmt: skip
REDUCED = {"purchase100": 40_000, "texas100": 20_000, "cifar100": 24_000}


def test_every_set_that_needs_files_has_a_stand_in():
    assert list(synthetic.STAND_INS) == NAMES
    assert [name for name in datasets.names() if datasets.describe(name).files] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_shape_classes_and_label(name, no_data):
    real = datasets.describe(name)
    data = datasets.load(name, synthetic=True)
    assert data.X.shape == (REDUCED.get(name, real.rows), *real.record)
    assert len(np.unique(data.y)) == real.classes
    assert len(data.groups) == len(data.y) == len(data)
    assert data.train is None or (len(data.train) == len(data) and 0 < data.train.mean() < 1)
    assert data.synthetic
    assert "synthetic" in data.name
    assert "synthetic" in repr(data)
    assert data.description.rows == len(data)
    rows = f"{real.rows:,}"
    assert data.description.title.count(rows) == real.title.count(rows) + (name in REDUCED)
    assert data.description.files == ()
    assert not datasets.load("digits").synthetic
    assert not no_data.exists()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_data_in_every_run_and_fewer_rows(name):
    one, same = (datasets.load(name, synthetic=True, rows=2_000) for _ in range(2))
    assert len(one) == one.description.rows == 2_000
    assert np.array_equal(np.asarray(one.X, object), np.asarray(same.X, object)) or one.X.equals(same.X)
    assert np.array_equal(one.y, same.y)


@pytest.mark.parametrize("name", NAMES)
def test_labels_can_be_learned_and_memorised(name):
    """A model is more accurate than the majority class on new records, and a forest is more accurate on its training records."""
    preparation = "one-hot" if name in ("adult", "diabetes130") else None
    data = datasets.load(name, preparation=preparation, synthetic=True)
    rows = np.random.default_rng(0).permutation(len(data))[:6_000]
    X, y = np.asarray(data.X)[rows].reshape(len(rows), -1).astype(np.float32), data.y[rows]
    X = X[:, :: max(1, X.shape[1] // 500)]
    half = len(rows) // 2
    X = X[:, X[:half].std(axis=0) > 0]
    model = LogisticRegression(max_iter=1_000) if len(np.unique(y)) == 2 else NearestCentroid()
    score = model.fit(X[:half], y[:half]).score(X[half:], y[half:])
    majority = np.unique(y, return_counts=True)[1].max() / len(y)
    assert score > majority + 3 * np.sqrt(majority * (1 - majority) / half)
    forest = RandomForestClassifier(20, random_state=0).fit(X[:800], y[:800])
    assert forest.score(X[:800], y[:800]) > forest.score(X[half:], y[half:]) + 0.02


def test_persons_have_several_encounters():
    data = datasets.load("diabetes130", synthetic=True)
    persons, encounters = np.unique(data.person, return_counts=True)
    assert (len(persons), encounters.max()) == (71_518, 40)
    first = datasets.load("diabetes130", synthetic=True, one_per_person=True)
    assert len(first) == len(np.unique(first.person)) == 71_518


def test_texts_are_valid_and_education_is_coded_twice():
    data = datasets.load("adult", synthetic=True)
    assert set(data.y) == {"<=50K", ">50K"}
    assert len(data.X[["education", "education-num"]].drop_duplicates()) == 16
    assert (data.X["occupation"].isna() >= data.X["workclass"].isna()).all()
    assert not data.groups.isna().any().any()


@pytest.mark.parametrize("name", ["adult", "diabetes130", "location30", "mnist", "cifar100_20k"])
def test_files_in_the_publishers_format_give_the_same_data(published, name):
    """The reader of the files and the generator agree in every column, type, missing value and label."""
    assert datasets.where(name, folder=published) == "mirror"
    read = datasets.load(name, folder=published)
    made = datasets.load(name, synthetic=True, rows=None if name == "location30" else 1_000)
    check_equal(read, made)


def check_equal(one, other):
    if isinstance(one.X, pd.DataFrame):
        pd.testing.assert_frame_equal(one.X, other.X)
    else:
        assert one.X.dtype == other.X.dtype
        np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.y.dtype.kind == other.y.dtype.kind
    pd.testing.assert_frame_equal(one.groups, other.groups)
    assert one.sensitive == other.sensitive
    for name in ("train", "person"):
        found, expected = getattr(one, name), getattr(other, name)
        assert (found is None) == (expected is None)
        assert found is None or np.array_equal(found, expected)


def test_every_level_occurs_and_missing_values_are_counted():
    column = Column(["a", "b", "c"], [98, 1, 1e-6], 0.5, 0.25)
    table = draw_table({"x": column}, np.random.default_rng(0).normal(size=1_000), np.random.default_rng(1))
    assert table["x"].value_counts().sort_index().tolist() == level_counts(column.weights, 750).tolist()
    assert table["x"].isna().sum() == 250
    assert level_counts([1, 1, 1], 3).tolist() == [1, 1, 1]


# --- without downloads ----------------------------------------------------------------------------------------------


def test_inside_local_only_a_missing_set_is_named_with_its_page_and_command(no_data):
    with datasets.local_only() as usage, pytest.raises(MissingDataError) as caught:
        datasets.load("adult")
    message = str(caught.value)
    for words in ("'adult'", datasets.describe("adult").page, "leakscope data fetch adult", "--synthetic"):
        assert words in message
    assert "\n" not in message
    assert usage.asked == {"adult"}
    assert not no_data.exists()


@pytest.mark.usefixtures("no_data")
def test_a_missing_set_without_a_public_address_is_not_fetched():
    with datasets.local_only(), pytest.raises(MissingDataError) as caught:
        datasets.load("cifar100_20k")
    for words in ("LEAKSCOPE_DATA", "cifar100/cifar100_20k.npz", "--synthetic"):
        assert words in str(caught.value)
    assert "data fetch" not in str(caught.value)


def test_usage_is_recorded_and_ends_with_the_block(no_data):
    with datasets.local_only(synthetic=True) as usage:
        assert datasets.available("texas100")
        data = datasets.load("location30")
        assert not datasets.load("digits").synthetic
        with pytest.raises(MissingDataError):
            datasets.load("adult", synthetic=False)
    assert data.synthetic
    assert usage.asked == {"texas100", "location30", "digits", "adult"}
    assert usage.generated == {"location30"}
    assert not datasets.available("texas100")
    assert not no_data.exists()


def test_fingerprint_tells_copies_apart(published, no_data, monkeypatch):
    assert datasets.fingerprint("location30") == "absent"
    assert datasets.fingerprint("digits") == "scikit-learn"
    monkeypatch.setenv("LEAKSCOPE_DATA", str(published))
    assert datasets.fingerprint("location30") == datasets.describe("location30").files[0].digest
    folder = no_data / "dogfish"
    folder.mkdir(parents=True)
    for content in (b"one", b"two"):
        for file in datasets.describe("dogfish").files:
            (folder / file.name).write_bytes(content)
        assert datasets.fingerprint("dogfish").startswith("sha256:")
    first = datasets.fingerprint("dogfish")
    (folder / datasets.describe("dogfish").files[0].name).write_bytes(b"three")
    assert datasets.fingerprint("dogfish") != first


# --- against the real data ------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adult", {}),
        ("adult", {"preparation": "one-hot"}),
        ("adult", {"preparation": "codes"}),
        ("diabetes130", {}),
        ("diabetes130", {"preparation": "one-hot"}),
        ("location30", {}),
    ],
)
def test_tables_have_the_schema_of_the_real_data(name, options, mirror):
    real = datasets.load(name, folder=mirror, **options)
    made = datasets.load(name, synthetic=True, **options)
    assert made.X.shape == real.X.shape
    assert made.X.dtypes.equals(real.X.dtypes)
    assert made.groups.dtypes.equals(real.groups.dtypes)
    assert made.sensitive == real.sensitive
    shares = [pd.Series(data.y).value_counts(normalize=True).sort_values() for data in (real, made)]
    np.testing.assert_allclose(*shares, atol=0.01)
    if "preparation" not in options:
        free = {"fnlwgt"}  # a number without levels
        levels = [data.X.drop(columns=free & set(data.X)).nunique() for data in (real, made)]
        assert levels[0].equals(levels[1])
        missing = [data.X.isna().mean() for data in (real, made)]
        np.testing.assert_allclose(*missing, atol=0.002)
    if name == "adult":
        for column in made.groups:
            assert set(made.groups[column]) == set(real.groups[column])


@pytest.mark.data
@pytest.mark.parametrize("name", ["mnist", "cifar100_20k"])
def test_images_have_the_schema_of_the_real_data(name, mirror):
    real, made = datasets.load(name, folder=mirror), datasets.load(name, synthetic=True)
    assert made.X.shape == real.X.shape
    assert made.X.dtype == real.X.dtype
    assert made.train.sum() == real.train.sum()
    np.testing.assert_allclose(np.bincount(made.y), np.bincount(real.y), atol=2)
    assert made.X.mean() == pytest.approx(real.X.mean(), rel=0.05)
    pairs = [
        set(zip(data.y.tolist(), data.groups.get("superclass", pd.Series(data.y)), strict=True))
        for data in (real, made)
    ]
    assert pairs[0] == pairs[1]
