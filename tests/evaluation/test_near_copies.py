"""Near copies of training records in the holdout: found after any rounding, and never among records of one population."""

import numpy as np
import pandas as pd
import pytest
from evasive import memorise
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier

import leakscope as ls
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import Records
from leakscope.evaluation import near_copies as module
from leakscope.evaluation.near_copies import FALSE_ALARM, near_copies
from leakscope.toys import lookup

SIZE = 400


def search(inside, outside, seed=0, labels=None):
    labels = labels or [np.zeros(len(X)) for X in (inside, outside)]
    sides = [Records(X, y, np.arange(len(X))) for X, y in zip((inside, outside), labels, strict=True)]
    hashes = tuple(row_hashes(side.X, side.y) for side in sides)
    return near_copies(*sides, hashes, np.random.default_rng(seed))


def mixed(n, seed):
    """A table with text, whole numbers, many zeros, missing values and numbers with digits."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["nurse", "smith", "clerk"], n),
            "gain": np.where(rng.random(n) < 0.9, 0.0, rng.lognormal(5, 1, n)),
            "income": rng.lognormal(3, 1, n),
            "weight": np.where(rng.random(n) < 0.2, np.nan, rng.normal(70, 10, n)),
        }
    )


def few_levels(rng):
    """Few texts, of which some differ in case and white space only, and a rare label in the last column."""
    texts = rng.choice(["foo", "bar ", "Bar", "baz", "qux"], (2 * SIZE, 3))
    return np.column_stack([texts, rng.choice(["0", "1"], 2 * SIZE, p=[0.9, 0.1])])


def panel(rng):
    """Four records of each person, of which some columns stay the same."""
    person = np.repeat(rng.normal(size=(SIZE // 4, 6)), 4, axis=0)
    return np.column_stack([person, rng.normal(size=(SIZE, 2))])


WORLDS = {
    "one number": lambda rng: rng.normal(size=(SIZE, 1)),
    "eight numbers": lambda rng: rng.normal(size=(SIZE, 8)),
    "bits": lambda rng: rng.integers(0, 2, (SIZE, 12)),
    "wide": lambda rng: rng.normal(size=(SIZE, 90)),
    "mixed": lambda rng: mixed(SIZE, rng.integers(2**31)),
    "extreme": lambda rng: np.column_stack([rng.normal(size=(SIZE, 3)), rng.choice([-1e308, 1e200], SIZE)]),
}


@pytest.mark.parametrize("world", WORLDS)
def test_fair_draws_raise_no_alarm(world):
    rng = np.random.default_rng(0)
    runs = 20
    alarms = sum(search(WORLDS[world](rng), WORLDS[world](rng), seed) is not None for seed in range(runs))
    assert alarms <= binom.ppf(0.9999, runs, FALSE_ALARM)


@pytest.mark.parametrize("world", [few_levels, panel])
def test_fair_splits_of_records_that_resemble_each_other_raise_no_alarm(world):
    alarms, runs = 0, 20
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        everyone = rng.permutation(world(rng))
        labels = (rng.random(len(everyone)) < 0.1).astype(int)
        alarms += search(*np.split(everyone, 2), seed, labels=np.split(labels, 2)) is not None
    assert alarms <= binom.ppf(0.9999, runs, FALSE_ALARM)


@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_a_shifted_holdout_is_no_near_copy(scale):
    rng = np.random.default_rng(0)
    found = [search(rng.normal(size=(SIZE, 6)), rng.normal(0.5, scale, (SIZE, 6)), seed) for seed in range(20)]
    assert found == [None] * 20


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda X: X.round(3), id="three digits"),
        pytest.param(lambda X: X.round(1), id="one digit"),
        pytest.param(lambda X: X.astype(np.float32).astype(np.float64), id="single precision"),
        pytest.param(lambda X: X + 1e-3, id="shifted"),
    ],
)
def test_the_share_of_near_copies_is_in_its_interval(change):
    rng = np.random.default_rng(0)
    everyone = rng.normal(size=(2 * SIZE, 6))
    outside = everyone[SIZE:].copy()
    outside[: SIZE // 4] = change(everyone[: SIZE // 4])
    found = search(everyone[:SIZE], outside)
    assert found.low <= 0.25 <= found.high
    assert found.high - found.low < 0.12


def test_rounded_tables_are_found_with_text_and_missing_values():
    table = mixed(SIZE, 0)
    rounded = table.assign(age=table["age"].round(-1), income=table["income"].round(1), weight=table["weight"].round())
    assert search(table, rounded).low > 0.9
    assert search(table, table.assign(income=table["income"].astype(np.float32))).low > 0.9


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, {"job": lambda table: table["job"].str.upper() + " "}, id="spelling"),
        pytest.param({"row": range(SIZE)}, {"row": range(SIZE, 2 * SIZE)}, id="row number"),
        pytest.param({"year": 20230101}, {"year": 20240101}, id="constant column"),
        pytest.param(
            {"born": pd.date_range("2000", periods=SIZE, freq="7h")},
            {"born": lambda table: table["born"] + pd.Timedelta("1h")},
            id="time zone",
        ),
        pytest.param({}, {"income": lambda table: table["income"].map("{:.2f}".format)}, id="number as text"),
    ],
)
def test_copies_with_one_column_changed_entirely_are_found(before, after):
    table = mixed(SIZE, 0).assign(**before)
    assert search(table, table.assign(**after)).low > 0.8
    assert search(table, mixed(SIZE, 1).assign(**before).assign(**after)) is None


def test_rounded_labels_of_a_regression_are_found():
    X, y = np.random.default_rng(0).integers(0, 9, (SIZE, 5)), np.random.default_rng(1).normal(size=SIZE)
    assert search(X, X, labels=[y, y.round(2)]).low > 0.9


def test_exact_copies_do_not_count():
    X = np.random.default_rng(0).normal(size=(SIZE, 3))
    assert search(X, X) is None
    assert search(np.repeat(X[:50], 8, axis=0), np.repeat(X[50:100], 8, axis=0)) is None


def test_the_share_is_scaled_up_where_not_all_training_records_are_searched(monkeypatch):
    monkeypatch.setattr(module, "MOST_SEARCHED", 200)
    X = np.random.default_rng(0).normal(size=(2000, 4))
    found = search(X, X[:500].round(4))
    assert found.low <= 1.0 == found.high
    assert found.value > 0.6


@pytest.mark.parametrize("size", [0, 1, 3, 12])
def test_few_or_equal_records_are_no_evidence(size):
    assert search(np.ones((12, 2)), np.full((size, 2), 2.0)) is None


@pytest.mark.parametrize("decimals", [1, 3, 4])
def test_the_record_of_an_audit_says_the_share_of_near_copies(decimals):
    forest, train, holdout = memorise(3000)
    result = ls.audit(forest, train, (train[0].round(decimals), train[1]), retrain=False)
    assert result.overlap.near.low > 0.9
    assert result.verdict.kind != "not_detected"
    assert ls.audit(forest, train, holdout, retrain=False).overlap.near is None


def test_a_harmless_model_keeps_no_evidence_with_few_near_copies():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12_000, 3)), rng.integers(0, 2, 12_000)
    outside = X[6000:].copy()
    outside[:300], y[6000:6300] = X[:300].round(4), y[:300]
    result = ls.audit(lambda X: np.full((len(X), 2), 0.5), (X[:6000], y[:6000]), (outside, y[6000:]), retrain=False)
    assert result.overlap.near.low > 0
    assert result.basis.overlap == result.overlap.near.high
    assert result.verdict.kind == "not_detected"


def test_a_comparison_warns_too():
    toy = lookup(n=200)
    holdout = (toy.train[0].round(6), toy.train[1])
    target = ls.make_target(lambda X: np.full((len(X), 2), 0.5), toy.train, holdout)
    found = ls.compare(target, defenses=ls.defenses.LabelOnly(), retrain=False)
    assert found.recommendation.kind == "inconclusive"


def test_a_comparison_with_members_as_holdout_recommends_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 5)), rng.integers(0, 2, 600)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    target = ls.make_target(forest, (X, y), (X, y))
    found = ls.compare(target, defenses=ls.defenses.LabelOnly(), retrain=False)
    assert found.recommendation.kind == "inconclusive"


def test_an_understated_share_of_near_copies_rules_out_not_detected():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 8)), rng.integers(0, 2, 6000)
    outside = X + 0.2 * rng.normal(size=X.shape)
    result = ls.audit(lambda X: np.full((len(X), 2), 0.5), (X, y), (outside, y), retrain=False)
    assert 0.1 < result.overlap.near.high < 0.9
    assert (result.verdict.kind, len(result.basis.obstacles)) == ("inconclusive", 1)
    codes = [caveat.code for caveat in result.warnings]
    assert len(set(codes)) == len(codes)
