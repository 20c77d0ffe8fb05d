"""Contents and peculiarities of the published files."""

import numpy as np
import pandas as pd
import pytest

from leakscope.data import datasets

MIRRORED = ("adult", "diabetes130", "location30", "mnist", "cifar100_20k")


def counts(values):
    return pd.Series(values).value_counts().to_dict()


def missing(table):
    return table.isna().sum().loc[lambda n: n > 0].to_dict()


@pytest.mark.data
def test_adult(mirror):
    adult = datasets.load("adult", folder=mirror)
    # The labels of the test file end with a dot.
    assert counts(adult.y[adult.train]) == {"<=50K": 24_720, ">50K": 7_841}
    assert counts(adult.y[~adult.train]) == {"<=50K": 12_435, ">50K": 3_846}
    # The comment line and empty last lines are no records; missing values are NaN; duplicates stay.
    assert adult.train.sum() == 32_561
    assert adult.X.loc[32_561, "age"] == 25  # the record after the comment line
    assert adult.X.dtypes.map(pd.api.types.is_integer_dtype).sum() == 6
    train, test = adult.X[adult.train], adult.X[~adult.train]
    assert missing(train) == {"workclass": 1_836, "occupation": 1_843, "native-country": 583}
    assert missing(test) == {"workclass": 963, "occupation": 966, "native-country": 274}
    assert (len(train.dropna()), len(test.dropna())) == (30_162, 15_060)
    table = adult.X.assign(income=adult.y)
    assert [part.duplicated().sum() for part in (table[adult.train], table[~adult.train], table)] == [24, 5, 52]
    # Levels are trimmed, and education is coded twice.
    assert adult.X.nunique().drop("fnlwgt").tolist() == [74, 8, 16, 16, 7, 14, 6, 5, 2, 123, 99, 96, 41]
    text = adult.X.select_dtypes(exclude="number")
    assert all((column.dropna() == column.dropna().str.strip()).all() for _, column in text.items())
    assert len(adult.X[["education", "education-num"]].drop_duplicates()) == 16
    assert list(adult.groups) == ["race", "sex", "age"]
    assert adult.groups["race"].value_counts(normalize=True)["White"] == pytest.approx(0.86, abs=0.01)
    # [shokri2019, 5.1.2] speaks of 2,510 entries younger than 20.
    assert (adult.groups["age"] == "[10-20)").sum() == 2_510
    assert set(adult.sensitive) <= set(adult.X)


@pytest.mark.data
def test_diabetes(mirror):
    diabetes = datasets.load("diabetes130", folder=mirror)
    assert counts(diabetes.y) == {"NO": 54_864, ">30": 35_545, "<30": 11_357}
    assert diabetes.X.dtypes.map(pd.api.types.is_integer_dtype).sum() == 13 - 2  # two of the 13 are identifiers
    assert not {"encounter_id", "patient_nbr", "readmitted"} & set(diabetes.X)
    # Several rows belong to one person.
    persons, encounters = np.unique(diabetes.person, return_counts=True)
    assert (len(persons), encounters.max()) == (71_518, 40)
    # "None" is a level, and a question mark is missing.
    assert (diabetes.X["max_glu_serum"] == "None").sum() == 96_420
    assert (diabetes.X["A1Cresult"] == "None").sum() == 84_748
    assert missing(diabetes.X) == {
        "race": 2_273, "weight": 98_569, "payer_code": 40_256, "medical_specialty": 49_949, "diag_1": 21, "diag_2": 358,
        "diag_3": 1_423,
    }  # fmt: skip
    assert diabetes.X[["examide", "citoglipton"]].nunique().tolist() == [1, 1]
    assert (diabetes.groups["gender"] == "Unknown/Invalid").sum() == 3
    assert (diabetes.groups["race"] == "unknown").sum() == 2_273
    assert not diabetes.groups.isna().any().any()


@pytest.mark.data
def test_location30(mirror):
    data = datasets.load("location30", folder=mirror)
    sizes = np.bincount(data.y)
    assert (len(sizes), sizes.min(), sizes.max()) == (30, 97, 308)
    assert not data.X.duplicated().any()
    assert data.X.to_numpy().mean() == pytest.approx(0.120, abs=5e-4)
    assert set(np.unique(data.X)) == {0, 1}


@pytest.mark.data
def test_mnist(mirror):
    data = datasets.load("mnist", folder=mirror)
    train = data.X[data.train]
    assert train.shape == (60_000, 28, 28)
    assert train.dtype == np.uint8
    assert np.bincount(data.y[data.train]).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(data.y[~data.train]).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    pixels = np.bincount(train.ravel(), minlength=256) / train.size
    scale = np.arange(256) / 255
    mean = pixels @ scale
    assert mean == pytest.approx(0.1307, abs=5e-5)
    assert np.sqrt(pixels @ scale**2 - mean**2) == pytest.approx(0.3081, abs=5e-5)


@pytest.mark.data
def test_cifar100_subset(mirror):
    data = datasets.load("cifar100_20k", folder=mirror)
    assert (np.bincount(data.y[data.train]) == 160).all()
    assert (np.bincount(data.y[~data.train]) == 40).all()
    assert data.X[data.train].mean(axis=(0, 1, 2)) / 255 == pytest.approx([0.5074, 0.4867, 0.4407], abs=5e-5)
    assert len({image.tobytes() for image in data.X}) == 20_000
    table = pd.DataFrame({"fine": data.y, "superclass": data.groups["superclass"]}).drop_duplicates()
    assert len(table) == 100
    assert (table["superclass"].value_counts() == 5).all()


@pytest.mark.parametrize(
    "name",
    [
        *("breast_cancer", "digits", "make_classification"),
        *(pytest.param(name, marks=pytest.mark.data) for name in MIRRORED),
    ],
)
def test_descriptions_are_right(name, tmp_path, monkeypatch):
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    data, description = datasets.load(name), datasets.describe(name)
    assert datasets.where(name) == ("mirror" if name in MIRRORED else "scikit-learn")
    assert data.X.shape == (description.rows, *description.record)
    assert len(np.unique(data.y)) == description.classes
    assert len(data.groups) == len(data.y)
    assert data.train is None or len(data.train) == len(data)
    assert name != "breast_cancer" or np.bincount(data.y).tolist() == [212, 357]
    assert not (tmp_path / "cache").exists()
