"""Numeric group columns: bins by quantiles or by named ends, and names that are near."""

import numpy as np
import pandas as pd
import pytest

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.data.bins import BINS, MOST_LEVELS, bin_columns, quantile_ends
from leakscope.data.records import MISSING, read_groups


def slow_level(value, ends):
    """The level of one number, from the definition."""
    if value is None:
        return MISSING
    below = [end for end in ends if end <= value]
    above = [end for end in ends if end > value]
    if not below:
        return f"below {above[0]}"
    return f"{below[-1]} to {above[0]}" if above else f"{below[-1]} and above"


@pytest.mark.parametrize("as_text", [False, True])
def test_named_ends_give_half_open_bins(as_text):
    ages = [17, 18, 29, 30, 49, 50, 90, None]
    column = pd.Series([None if age is None else str(age) for age in ages] if as_text else ages, name="age")
    train, holdout = read_groups((column, column[:4]), np.zeros((8, 1)), np.zeros((4, 1)), {"age": [18, 30, 50]})
    assert train["age"].tolist() == [slow_level(age, [18, 30, 50]) for age in ages]
    assert holdout["age"].tolist() == train["age"].tolist()[:4]


def test_quantile_bins_hold_about_equal_numbers_and_have_short_ends():
    rng = np.random.default_rng(0)
    for values in (rng.normal(40, 12, 5000), rng.exponential(1e5, 5000), rng.normal(0, 1e-4, 5000)):
        table = pd.DataFrame({"x": values})
        train, holdout = bin_columns(table[:2500], table[2500:], None)
        shares = pd.concat([train, holdout])["x"].value_counts(normalize=True)
        assert len(shares) == BINS
        assert shares.min() > 0.1
        assert not np.isin(quantile_ends(values), values).any()


def test_columns_with_few_values_text_and_dates_keep_their_levels():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "few": np.arange(200) % MOST_LEVELS,
        "code": [f"0{value}" for value in range(200)],
        "name": [f"n{value}" for value in range(200)],
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(200), unit="D"),
        "yes": rng.random(200) < 0.5,
    })  # fmt: skip
    pd.testing.assert_frame_equal(bin_columns(table, table, None)[0], table)


def test_both_sets_have_the_same_bins_and_a_column_can_keep_its_values():
    table = pd.DataFrame({"age": np.arange(100)})
    young, old = table[:60].reset_index(drop=True), table[60:].reset_index(drop=True)
    train, holdout = read_groups(["age"], young, old)
    assert set(train["age"]) == {"below 20", "20 to 40", "40 to 60"}
    assert set(holdout["age"]) == {"60 to 80", "80 and above"}
    assert read_groups(["age"], young, old, {"age": None})[0]["age"].tolist() == [str(age) for age in range(60)]


def test_half_of_the_values_may_be_equal():
    values = np.concatenate([np.zeros(500), np.arange(1.0, 501.0)])
    train, _ = bin_columns(pd.DataFrame({"x": values}), pd.DataFrame({"x": values}), None)
    assert 2 <= train["x"].nunique() <= BINS


@pytest.mark.parametrize(
    ("groups", "bins", "named"),
    [
        ("aeg", None, "'aeg'.*did you mean 'age'"),
        ("age", {"agee": [1, 2]}, "'agee'.*did you mean 'age'"),
        ("age", {"age": [30, 18]}, "'age' are not ascending"),
        ("age", {"age": []}, "'age' are not ascending"),
        ("age", {"age": ["old"]}, "'age' are not ascending"),
        ("age", {"age": [np.nan]}, "'age' are not ascending"),
        ("job", {"job": [1]}, "'job' has no numbers"),
    ],
)
def test_refusals_name_the_column(groups, bins, named):
    table = pd.DataFrame({"age": np.arange(40), "job": ["cook", "judge"] * 20})
    with pytest.raises(InputError, match=named) as caught:
        read_groups(groups, table, table, bins)
    assert "\n" not in str(caught.value)


def test_an_audit_compares_the_bins():
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"age": rng.integers(18, 90, 600), "pay": rng.normal(size=600)}), rng.integers(0, 2, 600)
    model = DecisionTreeClassifier(random_state=0).fit(X[:300], y[:300])
    sets = (X[:300], y[:300]), (X[300:], y[300:])
    result = ls.audit(model, *sets, groups="age", bins={"age": [40, 60]}, references=0)
    assert {group.level for group in result.strongest.by_group if group.column == "age"} == {
        "below 40", "40 to 60", "60 and above",
    }  # fmt: skip
