"""The utility of a defended model: every metric by hand, and intervals that cover."""

import numpy as np
import pytest
from scipy import stats

from leakscope.data.small_groups import pool_levels
from leakscope.studies.compare.utility import (
    Quality,
    calibration_error,
    change_of_shares,
    utility_by_group,
    utility_changes,
)

ANSWERS = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.5, 0.5]])
LABELS = np.array([0, 0, 1, 1])


def test_metrics_by_hand() -> None:
    found = Quality(ANSWERS, LABELS, "classification").measure(0.95)
    assert found["accuracy"].value == 2 / 4  # the tie goes to the first class, which is wrong
    assert found["log-loss"].value == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.5]).mean())
    regression = Quality(np.array([1.0, 3.0]), np.array([2.0, 0.0]), "regression").measure(0.95)
    assert regression["mean squared error"].value == pytest.approx((1 + 9) / 2)
    zero = Quality(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1, 0]), "classification").measure(0.95)
    assert zero["log-loss"].value == pytest.approx(-np.log(np.finfo(float).eps) / 2)  # finite for a probability of zero


def test_changes_are_paired() -> None:
    """The same answers change nothing; one more right answer changes the accuracy by 1/n, however uncertain that is."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 1000)
    first = np.column_stack([1 - labels, labels]) * 0.4 + 0.3
    first[:300] = first[:300, ::-1]
    second = first.copy()
    second[0] = second[0, ::-1]
    one, other = (Quality(answers, labels, "classification") for answers in (first, second))
    accuracy = utility_changes(other, one, 0.95, 0.95)["accuracy"]
    assert accuracy.metric == "accuracy"
    assert accuracy.change.value == pytest.approx(1 / 1000)
    unpaired = accuracy.value.high - accuracy.value.low
    assert accuracy.change.high - accuracy.change.low < unpaired / 5
    same = utility_changes(Quality(first.copy(), labels, "classification"), one, 0.95, 0.95)["accuracy"].change
    assert same.value == 0
    assert 0 < same.high < 0.01  # as good on these records, not on all


def test_gain_turns_losses_round() -> None:
    labels = np.array([0, 1, 0, 1])
    one = Quality(np.full((4, 2), 0.5), labels, "classification")
    sure = Quality(np.column_stack([1 - labels, labels]) * 0.8 + 0.1, labels, "classification")
    loss = utility_changes(sure, one, 0.95, 0.95)["log-loss"]
    assert loss.metric == "log-loss"
    assert loss.change.value < 0 < loss.gain.value
    assert loss.gain.low == -loss.change.high


def test_calibration_error_by_a_literal_loop() -> None:
    rng = np.random.default_rng(1)
    said = rng.uniform(0.5, 1, 503)
    right = (rng.random(503) < said**2).astype(float)
    order = np.argsort(said, kind="stable")
    total = 0.0
    for rows in np.array_split(order, 10):
        residual = said[rows] - right[rows]
        total += len(rows) / 503 * (residual.mean() ** 2 - residual.var(ddof=1) / len(rows))
    assert calibration_error(said, right).value == pytest.approx(np.sqrt(max(0.0, total)))


@pytest.mark.parametrize("gap", [0.0, 0.05, 0.15])
def test_calibration_error_covers_the_truth(gap: float) -> None:
    runs, missed = 300, 0
    for run in range(runs):
        rng = np.random.default_rng([2, run])
        said = rng.uniform(0.6, 0.95, 1500)
        found = calibration_error(said, (rng.random(1500) < said - gap).astype(float))
        missed += not found.low <= gap <= found.high
    assert missed <= stats.binom.ppf(0.999, runs, 0.05)


def test_groups_by_hand_and_small_ones_together() -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 100)
    right = np.column_stack([1 - labels, labels]).astype(float)
    worse = right.copy()
    worse[60:100] = worse[60:100, ::-1]  # the second group is got wrong
    level = np.array(["big"] * 60 + ["small"] * 40, dtype=object)
    found = utility_by_group(
        Quality(worse, labels, "classification"), Quality(right, labels, "classification"),
        {"town": pool_levels(level)}, 0.95, 0.95, {},
    )  # fmt: skip
    assert [(one.level, one.records, one.value.value, one.change.value) for one in found] == [
        ("big", 60, 1.0, 0.0),
        ("small", 40, 0.0, -1.0),
    ]
    assert set(pool_levels(np.array(["a"] * 30 + ["b"] * 3, dtype=object)).tolist()) == {"a", "\0not shown"}


@pytest.mark.parametrize(("gain", "loss"), [(0.0, 0.012), (0.002, 0.004), (0.1, 0.05), (0.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("confidence", [0.95, 1 - 0.05 / 9])
def test_changes_of_accuracy_cover_the_truth_also_where_few_records_change(
    gain: float, loss: float, confidence: float
) -> None:
    runs, missed = 2000, 0
    rng = np.random.default_rng(5)
    for _ in range(runs):
        change = rng.choice([1.0, -1.0, 0.0], 400, p=[gain, loss, 1 - gain - loss])
        found = change_of_shares(change, confidence)
        missed += not found.low <= gain - loss <= found.high
    assert missed <= stats.binom.ppf(0.999, runs, 1 - confidence)
