"""Fewer features: what a column tells of the label, which are kept, and that the model is blind to all others."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from leakscope.defenses import FewerFeatures, apply
from leakscope.defenses.fewer_features import blank_columns, information, mutual_information
from leakscope.models.target import make_target

rng = np.random.default_rng(8)
N = 4000
y = rng.integers(0, 2, N)
FLIPS = (0.3, 0.05, 0.5, 0.15)
X = np.column_stack([np.where(rng.random(N) < flip, 1 - y, y) for flip in FLIPS]) + 0.0


def literal_information(first, second):
    total = 0.0
    for a, b in itertools.product(set(first), set(second)):
        joint = np.mean((first == a) & (second == b))
        if joint > 0:
            total += joint * np.log(joint / (np.mean(first == a) * np.mean(second == b)))
    return total


def test_information_is_that_of_the_literal_sum():
    first, second = rng.integers(0, 5, 200), rng.integers(0, 3, 200)
    assert mutual_information(first, second) == pytest.approx(literal_information(first, second), abs=1e-12)
    assert mutual_information(first, first) == pytest.approx(literal_information(first, first), abs=1e-12)


def test_information_of_a_noisy_copy_has_its_closed_form():
    """A fair bit seen through a channel that flips it with probability f tells log 2 - h(f) nats."""
    entropy = np.array([-f * np.log(f) - (1 - f) * np.log(1 - f) for f in FLIPS])
    told = information(X, y, True, np.random.default_rng(0))
    # The estimate of the channel's entropy has standard deviation √(f(1-f)/N) |log((1-f)/f)| to first order.
    spread = np.array([np.sqrt(f * (1 - f) / N) * abs(np.log((1 - f) / f)) for f in FLIPS])
    assert (np.abs(told - (np.log(2) - entropy)) < 4 * spread + 10 / N).all()


def test_information_does_not_depend_on_units_or_names():
    numbers = rng.normal(size=(500, 2)) + y[:500, None]
    told = [information(table, y[:500], True, np.random.default_rng(1)) for table in (numbers, np.exp(numbers) * 7)]
    assert np.allclose(told[0], told[1])
    texts = pd.DataFrame(np.where(X[:500] == 1, "yes", "no"))
    assert np.allclose(*(information(t, y[:500], True, np.random.default_rng(1)) for t in (texts, X[:500])))


def test_a_name_tells_nothing_and_a_missing_value_may_tell_all():
    table = pd.DataFrame({"name": [f"n{i}" for i in range(N)], "asked": np.where(y == 1, np.nan, 1.0), "weak": X[:, 0]})
    told = information(table, y, True, np.random.default_rng(0))
    assert told[0] == 0  # as much of shuffled labels as of the true ones
    assert told[1] == pytest.approx(np.log(2), abs=0.01)


def test_the_columns_that_tell_most_are_kept_also_of_values():
    values = X @ [1.0, 5.0, 0.0, 3.0] + rng.normal(size=N)
    target = make_target(LinearRegression().fit(X, values), (X, values), (X[:9], values[:9]))
    assert apply(FewerFeatures(), target, 2).model.predict.blanking.columns == (0, 2)
    assert apply(FewerFeatures(), target, 0.25).model.predict.blanking.columns == (0, 2, 3)
    told = apply(FewerFeatures(), target, 4).model.predict(X)
    assert np.array_equal(told, target.model.predict(X))  # all columns: nothing is changed


def test_the_model_is_blind_to_blanked_columns():
    target = make_target(LogisticRegression().fit(X, y), (X, y), (X[:9], y[:9]))
    model = apply(FewerFeatures(), target, 0.5).model
    other = X.copy()
    other[:, [0, 2]] = rng.normal(size=(N, 2))
    assert np.array_equal(model.predict(X), model.predict(other))
    other[:, 1] = 1 - other[:, 1]
    assert not np.array_equal(model.predict(X), model.predict(other))


def test_blanked_columns_are_as_good_as_left_out():
    """For least squares exactly: a constant column is one with the intercept, whose penalty is zero."""
    target = make_target(LinearRegression().fit(X, y + 0.5), (X, y + 0.5), (X[:9], y[:9] + 0.5))
    alone = LinearRegression().fit(X[:, [1, 3]], y + 0.5)
    assert np.allclose(apply(FewerFeatures(), target, 0.5).model.predict(X), alone.predict(X[:, [1, 3]]))


def test_blanking_keeps_types_and_leaves_the_original_alone():
    table = pd.DataFrame(
        {
            "count": [1, 2, 3, 9],
            "share": [0.5, np.nan, 0.25, 0.75],
            "text": ["a", "b", "b", None],
            "kind": pd.Categorical(["x", "y", "y", "x"], categories=["z", "y", "x"]),
            "whole": pd.array([1, None, 5, 7], dtype="Int64"),
            "flag": [True, False, True, True],
            "empty": [np.nan] * 4,
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-02", "2020-01-03"]),
        },
        index=[5, 6, 7, 8],
    )
    before = table.copy()
    blanked = blank_columns(table, keep=[])(table)
    pd.testing.assert_frame_equal(table, before)
    assert (blanked.dtypes == table.dtypes).all()
    assert blanked.index.equals(table.index)
    row = blanked.iloc[0]
    found = [row[name] for name in ("count", "share", "text", "kind", "whole", "flag")]
    assert found == [2, 0.5, "b", "x", 5, True]
    assert blanked["empty"].isna().all()
    assert row["day"] == pd.Timestamp("2020-01-02")
    assert (blanked.nunique() <= 1).all()
    kept = blank_columns(table, keep=[2, 3])(table)
    pd.testing.assert_frame_equal(kept[["text", "kind"]], table[["text", "kind"]])


@pytest.mark.parametrize(
    "table", [np.arange(12).reshape(4, 3), np.arange(12.0).reshape(4, 3), np.array([["a", "b"]] * 4)]
)
def test_blanking_arrays(table):
    before = table.copy()
    blanked = blank_columns(table, keep=[0])(table)
    assert np.array_equal(table, before)
    assert blanked.dtype == table.dtype
    assert np.array_equal(blanked[:, 0], table[:, 0])
    assert (blanked[:, 1:] == blanked[0, 1:]).all()
    images = np.arange(16).reshape(2, 2, 2, 2)
    assert np.array_equal(blank_columns(images, keep=[7])(images)[1].ravel(), [0, 1, 2, 3, 4, 5, 6, 15])


def test_too_few_columns_are_refused():
    target = make_target(LogisticRegression().fit(X, y), (X, y), (X[:9], y[:9]))
    assert "5" in FewerFeatures([2, 5]).refuse(target)  # of 4 columns
    narrow = make_target(LogisticRegression().fit(X[:, :1], y), (X[:, :1], y), (X[:9, :1], y[:9]))
    assert FewerFeatures().refuse(narrow) is not None
