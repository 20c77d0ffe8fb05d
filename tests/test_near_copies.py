"""Near copies of training records in the holdout: found however they were rounded, and never among fair draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier

import leakscope as ls
from leakscope import near_copies as module
from leakscope.fingerprints import row_hashes
from leakscope.near_copies import FALSE_ALARM, near_copies
from leakscope.records import Records
from leakscope.toys import lookup

SIZE = 400


def search(inside, outside, seed=0):
    sides = [Records(X, np.zeros(len(X)), np.arange(len(X))) for X in (inside, outside)]
    return near_copies(*sides, tuple(row_hashes(side.X) for side in sides), np.random.default_rng(seed))


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


WORLDS = {
    "one number": lambda rng: rng.normal(size=(SIZE, 1)),
    "eight numbers": lambda rng: rng.normal(size=(SIZE, 8)),
    "bits": lambda rng: rng.integers(0, 2, (SIZE, 12)),
    "wide": lambda rng: rng.normal(size=(SIZE, 90)),
    "mixed": lambda rng: mixed(SIZE, rng.integers(2**31)),
}


@pytest.mark.parametrize("world", WORLDS)
def test_fair_draws_raise_no_alarm(world):
    rng = np.random.default_rng(0)
    runs = 20
    alarms = sum(search(WORLDS[world](rng), WORLDS[world](rng), seed) is not None for seed in range(runs))
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


def test_ratios_are_those_of_a_literal_search():
    rng = np.random.default_rng(0)
    searched, others = rng.normal(size=(60, 3)), rng.normal(size=(20, 3))
    searched[3] = searched[4]  # a distance of zero
    asked = np.concatenate([searched[:10], others])
    literal = []
    for row, point in enumerate(asked):
        own = row if row < 10 else None
        near = {at: np.linalg.norm(point - other) for at, other in enumerate(searched) if at != own}
        first = min(near, key=near.get)
        apart = min(
            np.linalg.norm(searched[first] - other) for at, other in enumerate(searched) if at not in (first, own)
        )
        literal.append(near[first] / apart if apart else np.inf if near[first] else 1.0)
    assert module._euclidean(searched, others, 10) == pytest.approx(np.array(literal))


@pytest.mark.parametrize("size", [0, 1, 3, 12])
def test_few_or_equal_records_are_no_evidence(size):
    assert search(np.ones((12, 2)), np.full((size, 2), 2.0)) is None


@pytest.mark.parametrize("decimals", [1, 4])
def test_a_memorising_forest_gets_no_all_clear_on_its_own_rounded_members(decimals):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 5)), rng.integers(0, 2, 4000)
    forest = RandomForestClassifier(20, random_state=0).fit(X[:2000], y[:2000])
    train, holdout = (X[:2000], y[:2000]), (X[:2000].round(decimals), y[:2000])
    result = ls.audit(forest, train, holdout, retrain=False)
    assert result.overlap.near.low > 0.9
    assert result.verdict.kind != "no evidence"
    assert ls.audit(forest, train, (X[2000:], y[2000:]), retrain=False).overlap.near is None


def test_a_harmless_model_keeps_no_evidence_with_few_near_copies():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12_000, 3)), rng.integers(0, 2, 12_000)
    outside = X[6000:].copy()
    outside[:300], y[6000:6300] = X[:300].round(4), y[:300]
    result = ls.audit(lambda X: np.full((len(X), 2), 0.5), (X[:6000], y[:6000]), (outside, y[6000:]), retrain=False)
    assert result.overlap.near.low > 0
    assert result.basis.overlap == result.overlap.near.high
    assert result.verdict.kind == "no evidence"


def test_a_comparison_warns_too():
    toy = lookup(n=200)
    holdout = (toy.train[0].round(6), toy.train[1])
    target = ls.make_target(lambda X: np.full((len(X), 2), 0.5), toy.train, holdout)
    found = ls.compare(target, ls.defenses.LabelOnly(), retrain=False)
    assert found.recommendation.kind == "cannot tell"
