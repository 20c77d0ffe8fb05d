"""Preparations of the papers, and options of ``load``."""

import numpy as np
import pandas as pd
import pytest

from leakscope.core.errors import InputError
from leakscope.data import datasets
from leakscope.data.encoding import one_hot, principal_components


def test_adult_one_hot_has_104_columns(source):
    """[shokri2019, B.4]: 48,842 records, 14 columns, 104 after the categories are made binary."""
    data = datasets.load("adult", preparation="one-hot", **source)
    assert data.X.shape == (48_842, 104)
    assert (data.X.min().min(), data.X.max().max()) == (0.0, 1.0)
    indicators = data.X.loc[:, data.X.columns.str.contains("=")]
    assert indicators.shape[1] == 98
    assert set(np.unique(indicators)) == {0.0, 1.0}
    assert np.bincount(data.y).tolist() == [37_155, 11_687]
    assert data.X.loc[:, ~data.X.columns.str.contains("=")].max().tolist() == [1.0] * 6


def test_adult_one_hot_says_what_the_raw_data_says(source):
    raw = datasets.load("adult", **source)
    data = datasets.load("adult", preparation="one-hot", **source)
    for column in ("workclass", "education", "marital-status", "occupation", "relationship", "race", "native-country"):
        block = data.X.loc[:, data.X.columns.str.startswith(f"{column}=")]
        present = block.sum(axis=1) == 1
        assert (present == raw.X[column].notna()).all()
        assert (block.sum(axis=1)[~present] == 0).all()
        named = block[present].idxmax(axis=1).str.removeprefix(f"{column}=")
        assert (named == raw.X[column][present]).all()
    assert ((data.X["sex=Male"] == 1) == (raw.X["sex"] == "Male")).all()
    assert data.X["age"].iloc[0] == pytest.approx((raw.X["age"].iloc[0] - 17) / (90 - 17))
    assert {name.split("=")[0] for name in data.sensitive} == set(raw.sensitive)
    assert data.groups.equals(raw.groups)


def test_adult_codes_keep_all_that_the_raw_data_says(source):
    raw = datasets.load("adult", **source)
    data = datasets.load("adult", preparation="codes", **source)
    assert data.X.shape == (48_842, 14)
    assert (data.X.dtypes == np.int64).all()
    assert data.X["sex"].tolist() == (raw.X["sex"] == "Male").astype(int).tolist()
    assert ((data.X["workclass"] == 0) == raw.X["workclass"].isna()).all()
    assert data.X["workclass"].nunique() == 9
    assert data.X["capital-gain"].equals(raw.X["capital-gain"])


def test_adult_components_are_that_many_columns_without_a_sensitive_one(source):
    data = datasets.load("adult", preparation="codes", components=5, **source)
    assert data.X.shape == (48_842, 5)
    assert data.sensitive == ()


def test_components_agree_with_scikit_learn():
    from sklearn.decomposition import PCA

    generator = np.random.default_rng(0)
    table = pd.DataFrame(generator.normal(size=(200, 6)) @ generator.normal(size=(6, 6)))
    standard = (table - table.mean()) / table.std(ddof=0)
    theirs = PCA(3, svd_solver="full").fit_transform(standard.to_numpy())
    ours = principal_components(table, 3).to_numpy()
    assert np.allclose(np.abs(ours), np.abs(theirs))


def test_diabetes_one_hot_has_127_columns_and_balanced_classes(source):
    """[shokri2019, B.5]: 127 columns, readmission within 30 days, equal numbers of both classes."""
    data = datasets.load("diabetes130", preparation="one-hot", **source)
    assert data.X.shape == (2 * 11_357, 127)
    assert np.bincount(data.y).tolist() == [11_357, 11_357]
    assert (data.X.min().min(), data.X.max().max()) == (0.0, 1.0)
    blocks = data.X.columns[data.X.columns.str.contains("=")].str.split("=").str[0].value_counts()
    assert blocks[["gender", "race", "age", "discharge_disposition_id", "max_glu_serum", "A1Cresult"]].tolist() == [
        3, 6, 10, 26, 4, 4,
    ]  # fmt: skip
    assert blocks.sum() == 119
    assert len(data.person) == len(data.groups) == len(data.X)


def test_diabetes_one_hot_of_all_records(source):
    raw = datasets.load("diabetes130", **source)
    data = datasets.load("diabetes130", preparation="one-hot", balanced=False, **source)
    assert data.X.shape == (101_766, 127)
    assert data.y.sum() == 11_357
    assert ((data.X["race=?"] == 1) == raw.X["race"].isna()).all()
    assert ((data.X["A1Cresult=None"] == 1) == (raw.X["A1Cresult"] == "None")).all()
    assert (data.X[["examide=No", "citoglipton=No"]] == 1).all().all()
    part = datasets.load("diabetes130", preparation="one-hot", **source)
    assert part.X.equals(data.X.loc[part.X.index])
    assert (part.person == data.person[part.X.index]).all()


@pytest.mark.data
def test_diabetes_one_per_person_keeps_the_first_encounter(mirror):
    source = pd.read_csv(mirror / "diabetes130" / "diabetic_data.csv.gz", usecols=["encounter_id", "patient_nbr"])
    data = datasets.load("diabetes130", one_per_person=True, folder=mirror)
    assert len(np.unique(data.person)) == len(data) == 71_518
    kept = source.loc[data.X.index]
    assert (kept["patient_nbr"].to_numpy() == data.person).all()
    first = source.groupby("patient_nbr")["encounter_id"].min()
    assert (first.loc[kept["patient_nbr"]].to_numpy() == kept["encounter_id"].to_numpy()).all()


def test_diabetes_options_go_together_and_the_seed_decides(source):
    def load(seed):
        return datasets.load("diabetes130", one_per_person=True, balanced=True, seed=seed, **source)

    first, again, other = load(0), load(0), load(1)
    sizes = pd.Series(first.y).value_counts()
    assert sizes.nunique() == 1
    assert len(np.unique(first.person)) == len(first)
    assert first.X.equals(again.X)
    assert not first.X.index.equals(other.X.index)


def test_one_hot_scales_by_the_whole_table():
    table = pd.DataFrame({"n": [0, 5, 10], "c": ["x", "y", "z"]})
    part = one_hot(table, {"c"}, np.array([1]))
    assert part.to_numpy().tolist() == [[0.5, 0.0, 1.0, 0.0]]
    assert part.index.tolist() == [1]


@pytest.mark.parametrize(("features", "classes"), [(1, 2), (7, 100), (127, 2)])
def test_make_classification(features, classes):
    def load(seed):
        return datasets.load("make_classification", samples=500, features=features, classes=classes, seed=seed)

    data = load(3)
    assert data.X.shape == (500, features)
    assert len(np.unique(data.y)) == classes
    assert data.X.equals(load(3).X)
    assert not data.X.equals(load(4).X)


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("../../etc/passwd", {}, "'../../etc/passwd'"),
        ("adult", {"preparation": "binary"}, "'binary'"),
        ("digits", {"preparation": "one-hot"}, "'one-hot'"),
        ("digits", {"seed": 1}, "'seed'"),
        ("adult", {"balanced": True}, "'balanced'"),
        ("adult", {"components": 5, "synthetic": True}, "preparation"),
        ("adult", {"preparation": "codes", "components": 0, "synthetic": True}, "components"),
        ("adult", {"preparation": "codes", "components": 15, "synthetic": True}, "14"),
        ("adult", {"rows": 5_000}, "synthetic=True"),
        ("adult", {"rows": 999, "synthetic": True}, "1000"),
        ("adult", {"rows": 48_843, "synthetic": True}, "48842"),
        ("adult", {"rows": "many", "synthetic": True}, "'many'"),
        ("digits", {"synthetic": True}, "'digits'"),
        ("make_classification", {"features": 3, "classes": 9}, "features"),
        ("make_classification", {"samples": 1}, "samples"),
        ("adult", {"folder": "/no/such/folder"}, "'/no/such/folder'"),
    ],
)
def test_mistakes_get_one_sentence(name, options, named, no_data):
    with pytest.raises(InputError) as caught:
        datasets.load(name, **options)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not no_data.exists()
