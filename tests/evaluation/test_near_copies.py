"""Near copies of training records in the holdout: found however they were rounded, and never among fair draws."""

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


def literal_search(records, searched, members, distance):
    """Ratio and nearest record of each asked record, by all distances."""
    found = []
    for own in [*range(members), *range(searched, len(records))]:
        near = {at: distance(records[own], records[at]) for at in range(searched) if at != own}
        first = min(near, key=near.get)
        apart = min(distance(records[first], records[at]) for at in near if at != first)
        found.append((near[first] / apart if apart else np.inf if near[first] else 1.0, first))
    return found


def same_where_small(found, literal, largest):
    """Compare the ratios that count; the nearest record of a larger ratio may be another one at the same distance."""
    for ratio, nearest, (exact, first) in zip(*found, literal, strict=True):
        assert (ratio, nearest) == (pytest.approx(exact), first) if exact <= largest else ratio > largest
    return sum(exact <= largest for exact, _ in literal)


POINTS = {
    "numbers": lambda rng: rng.normal(size=(80, 3)),
    "whole numbers": lambda rng: np.unique(rng.integers(0, 5, (400, 4)), axis=0)[:80].astype(float),
    "wide": lambda rng: rng.normal(size=(80, 120)),
    "missing": lambda rng: np.where(rng.random((80, 6)) < 0.2, np.nan, rng.normal(size=(80, 6))),
    "small spread": lambda rng: 1e3 + 1e-5 * rng.normal(size=(80, 4)),
    "extreme": lambda rng: np.column_stack([rng.normal(size=(80, 3)), rng.choice([-1e308, 1e200], 80)]),
}


@pytest.mark.parametrize("kind", POINTS)
def test_euclidean_ratios_are_those_of_a_literal_search(kind):
    rng = np.random.default_rng(0)
    table = POINTS[kind](rng)
    table[60:65] = table[20:25] + 1e-3 * np.nanstd(table[:60, 0])
    table[65], table[30] = table[31], table[31]  # distances of zero
    width = table.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        points = module._points(table, 60, rng.normal(size=(width, 32)) if width > 32 else np.eye(width))
    largest = max(module.RATIOS[0])
    literal = literal_search(points, 60, 10, lambda one, other: np.linalg.norm(one - other))
    assert 5 <= same_where_small(module._euclidean(points, 60, 10), literal, largest) < 25


def test_points_are_in_standard_deviations_of_the_known_training_values():
    table = np.random.default_rng(0).normal(5.0, 3.0, size=(50, 2))
    table[3, 0] = np.nan
    known = np.delete(table[:40, 0], 3)
    expected = (table[:, 0] - known.mean()) / np.sqrt(((known - known.mean()) ** 2).sum() / 40)
    expected[3] = 0.0
    assert module._points(table.copy(), 40, np.eye(2))[:, 0] == pytest.approx(expected)


def test_hamming_ratios_are_those_of_a_literal_search():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (80, 5), np.uint16)
    codes[:20, :4] += np.arange(80, dtype=np.uint16).reshape(20, 4)  # codes that stand there once
    codes[60:65, 1:] = codes[3:8, 1:]
    literal = literal_search(codes, 60, 10, lambda one, other: (one != other).sum())
    assert 5 <= same_where_small(module._hamming(codes, 60, 10), literal, max(module.RATIOS[1])) < 25


def test_codes_are_equal_where_all_values_of_a_block_are():
    rng = np.random.default_rng(0)
    table = rng.integers(-1, 2, (200, 5)) * 0.5
    table[rng.random(table.shape) < 0.1] = np.nan
    table *= rng.choice([-1, 1], table.shape)  # zeros of both signs
    block = np.array([0, 1, 0, 2, 0])
    codes = module._codes(table.copy(), block)
    for number in range(3):
        rows = [tuple(map(str, row + 0.0)) for row in table[:, block == number]]
        equal = [[one == other for other in rows] for one in rows]
        assert ((codes[:, number, None] == codes[:, number]) == equal).all()


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
