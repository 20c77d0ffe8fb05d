"""Record explanations: the definition, ties, the two losses, blocks."""

import numpy as np
import pytest
from scipy.special import expit

from leakscope import InputError
from leakscope.releases.record_explanations import RecordExplanation, influences, leave_one_out, most_influential


def world(seed=0, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (expit(X @ rng.normal(size=d)) > rng.random(n)).astype(int)
    return X, y, leave_one_out(X, y), rng.normal(size=(25, d))


@pytest.mark.parametrize("loss", ["likelihood", "log"])
def test_influence_is_the_change_of_the_loss(loss):
    _, _, loo, points = world()
    labels = np.arange(25) % 2
    found = influences(loo, points, labels, loss)
    for row, (point, label) in enumerate(zip(points, labels, strict=True)):

        def value(weights, constant, point=point, label=label):
            p = expit(point @ weights + constant)
            likelihood = p if label else 1 - p
            return 1 - likelihood if loss == "likelihood" else -np.log(likelihood)

        expected = [
            value(weights, constant) - value(loo.coef_full, loo.intercept_full)
            for weights, constant in zip(loo.coef, loo.intercept, strict=True)
        ]
        np.testing.assert_allclose(found[row], expected, atol=1e-14)


def test_without_labels_the_predicted_class_is_explained():
    _, _, loo, points = world()
    predicted = (loo.probabilities(points) >= 0.5).astype(int)
    for loss in ("likelihood", "log"):
        np.testing.assert_array_equal(influences(loo, points, None, loss), influences(loo, points, predicted, loss))


def test_the_label_changes_only_the_sign_of_the_likelihood_loss():
    _, _, loo, points = world()
    ones = np.ones(25, int)
    np.testing.assert_array_equal(influences(loo, points, ones), -influences(loo, points, 0 * ones))
    logs = np.abs(influences(loo, points, ones, "log")), np.abs(influences(loo, points, 0 * ones, "log"))
    assert not np.allclose(*logs)


def literal(row, k):
    return sorted(range(len(row)), key=lambda record: (-abs(row[record]), record))[:k]


@pytest.mark.parametrize("k", [1, 2, 5, 29, 30])
def test_ties_are_broken_in_the_order_of_records(k):
    rng = np.random.default_rng(1)
    found = rng.integers(-3, 4, (60, 30)).astype(float)  # many ties
    expected = [literal(row, k) for row in found]
    np.testing.assert_array_equal(most_influential(found, k), expected)


def test_equal_records_tie():
    X, y, _, points = world()
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    records = RecordExplanation(k=6).explain(leave_one_out(X, y), points).records
    np.testing.assert_array_equal(records[:, 1::2], records[:, ::2] + 40)


def test_blocks_change_nothing(monkeypatch):
    _, _, loo, points = world()
    whole = RecordExplanation(k=4).explain(loo, points)
    monkeypatch.setattr("leakscope.releases.record_explanations.explanation.BLOCK", 80)
    parts = RecordExplanation(k=4).explain(loo, points)
    np.testing.assert_array_equal(parts.records, whole.records)
    np.testing.assert_allclose(parts.influences, whole.influences, atol=1e-15)


def test_noise_is_added_before_the_ranking():
    _, _, loo, points = world()
    clean = RecordExplanation(k=5).explain(loo, points)
    loud = RecordExplanation(k=5).explain(loo, points, noise=100.0, rng=np.random.default_rng(0))
    # Under overwhelming noise the five records are drawn at random: 5/40 of the true ones are among them.
    shared = np.mean([np.isin(a, b).mean() for a, b in zip(loud.records, clean.records, strict=True)])
    assert abs(shared - 5 / 40) < 4 * np.sqrt(5 / 40 * 35 / 40 / 125)
    assert (np.diff(np.abs(loud.influences), axis=1) <= 0).all()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda loo: RecordExplanation(k=0), "^k"),
        (lambda loo: RecordExplanation(k=True), "^k"),
        (lambda loo: RecordExplanation(loss="squared"), "loss"),
        (lambda loo: RecordExplanation(k=41).explain(loo, np.zeros((1, 3))), "^k.*41"),
        (lambda loo: influences(loo, np.zeros(3)), "points"),
        (lambda loo: influences(loo, np.zeros((1, 3)), [2]), "labels"),
        (lambda loo: influences(loo, np.zeros((2, 3)), [1]), "labels"),
        (lambda loo: influences(loo, np.zeros((1, 4))), "points"),
        (lambda loo: influences(loo, np.full((1, 3), np.nan)), "points"),
    ],
)
def test_wrong_input_is_told_in_one_sentence(make, named):
    with pytest.raises(InputError, match=named):
        make(world()[2])
