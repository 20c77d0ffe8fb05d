"""Encoding of tables of texts and numbers for a learner, and refusals that name the column."""

import numpy as np
import pandas as pd
import pytest

from leakscope.core.errors import InputError
from leakscope.learners.encoded_table import learner_and_labels, numbers_of, read_encoded

ROWS = 60


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"{row:03}" for row in range(ROWS)],
            "age": rng.integers(20, 60, ROWS) + 0.5,
            "job": rng.choice(["clerk", "baker", None], ROWS),
            "town": "Ulm",
            "pay": np.where(rng.random(ROWS) < 0.5, "high", "low"),
        }
    )


@pytest.fixture
def path(table, tmp_path):
    table.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_codes_are_ranks_of_levels_standardised(path, table):
    encoded = read_encoded(path, "pay", id_column="name")
    assert list(encoded.X.columns) == ["age", "job"]
    np.testing.assert_allclose(encoded.X.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(encoded.X.std(ddof=0), 1)
    order = encoded.X["job"].groupby(table["job"].fillna("?").to_numpy()).first().sort_values()
    assert order.index.tolist() == ["?", "baker", "clerk"]
    assert encoded.X.index.tolist()[:2] == ["000", "001"]
    assert any("town" in note.values.get("columns", []) for note in encoded.notes)
    assert encoded.y.tolist() == table["pay"].tolist()


def test_one_hot_raw_and_components(path):
    assert list(read_encoded(path, "pay", drop="name,town", encode="one-hot").X.columns) == ["age", "job=clerk"]
    assert list(read_encoded(path, "pay", drop="name", encode="raw").X.columns) == ["age", "job", "town"]
    assert read_encoded(path, "pay", drop="name", components=1).X.shape == (ROWS, 1)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"label": "wage"}, "'wage'"),
        ({"drop": "shoe"}, "'shoe'"),
        ({"id_column": "code"}, "'code'"),
        ({"encode": "hash"}, "'hash'"),
        ({"components": 9}, "components"),
        ({"components": 1, "encode": "raw"}, "components"),
        ({"drop": "name,age,job,town"}, "'pay'"),
        ({"drop": "name,age,job"}, "'town'"),
    ],
)
def test_wrong_wishes_are_refused(path, settings, named):
    with pytest.raises(InputError, match=named):
        read_encoded(path, **({"label": "pay"} | settings))


def test_missing_numbers_and_labels_are_refused(table, tmp_path):
    table.loc[3, "age"] = np.nan
    table.to_csv(tmp_path / "gap.csv", index=False)
    with pytest.raises(InputError, match="'age'"):
        read_encoded(tmp_path / "gap.csv", "pay")
    table.loc[3, "pay"] = None
    table.to_csv(tmp_path / "gap.csv", index=False)
    with pytest.raises(InputError, match="'pay'"):
        read_encoded(tmp_path / "gap.csv", "pay")


def test_labels_of_a_regression():
    assert numbers_of(np.array(["no", "yes"]), "pays").tolist() == [0, 1]
    assert numbers_of(np.array([2, 3]), "rooms").tolist() == [2, 3]
    with pytest.raises(InputError, match="'class'"):
        numbers_of(np.array(["a", "b", "c"]), "class")


def test_learners_by_name():
    y = np.array(["no", "yes"])
    assert learner_and_labels("ridge", y, "pays", intercept=False)[0].intercept is False
    assert learner_and_labels("logistic", y, "pays", l2=[0.1])[1] is y
    for name, settings, named in (
        ("forest", {}, "'forest'"),
        ("ridge", {"widths": [5]}, "--widths"),
        ("ridge", {"task": "regression"}, "--task"),
        ("mlp", {"task": "clustering"}, "'clustering'"),
        ("gone.skops", {}, "gone.skops"),
    ):
        with pytest.raises(InputError, match=named):
            learner_and_labels(name, y, "pays", **settings)
