"""Exact leave-one-out logistic regression: against its definition, against refits, and what must not change it."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from leakscope import InputError
from leakscope.releases.record_explanations import first_order, leave_one_out, leave_one_out_ridge, one_step


def world(seed, n, d, *, rare=0, scale=1.0):
    """Records of random normal and rare binary columns, with labels of a random plane."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * scale
    X[:, :rare] = rng.random((n, rare)) < 2 / n
    y = (expit(X @ rng.normal(size=d) / np.sqrt(d)) > rng.random(n)).astype(int)
    return X, y


def gradients(loo, X, y, penalty):
    """Length of the gradient of each model, by the definition, one by one."""
    norms = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        residual = expit(X[rest] @ loo.coef[i] + loo.intercept[i]) - y[rest]
        norms.append(np.hypot(np.linalg.norm(X[rest].T @ residual + penalty * loo.coef[i]), residual.sum()))
    return np.array(norms)


WORLDS = [
    (0, 60, 5, 0),
    (1, 60, 5, 3),
    (2, 40, 100, 0),
    (3, 40, 40, 10),
    (4, 300, 20, 15),
    (5, 12, 1, 0),
    (6, 10, 200, 50),
]


@pytest.mark.parametrize("penalty", [100.0, 1.0, 0.01, 1e-4])
@pytest.mark.parametrize(("seed", "n", "d", "rare"), WORLDS)
def test_every_gradient_is_below_the_tolerance(seed, n, d, rare, penalty):
    X, y = world(seed, n, d, rare=rare)
    loo = leave_one_out(X, y, penalty)
    norms = gradients(loo, X, y, penalty)
    assert norms.max() <= 1e-8
    # What is reported is the largest of these and of the full model's, up to rounding of sums of n terms.
    assert loo.gradient_norm <= 1e-8
    assert norms.max() <= loo.gradient_norm + 1e-12 * n * np.abs(X).max()


@pytest.mark.parametrize("penalty", [1.0, 0.01])
@pytest.mark.parametrize(("seed", "n", "d", "rare"), [(0, 60, 5, 0), (1, 60, 5, 3), (2, 40, 100, 0)])
def test_refits_give_the_same_models(seed, n, d, rare, penalty):
    X, y = world(seed, n, d, rare=rare)
    loo = leave_one_out(X, y, penalty)
    for i in range(n):
        rest = np.arange(n) != i
        refit = LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(
            X[rest], y[rest]
        )
        # Two points with gradients below g are at most 2g / (smallest curvature) apart. The penalty gives the weights
        # curvature penalty; the constant has that of the records, above 0.01 in these worlds.
        assert np.abs(refit.coef_[0] - loo.coef[i]).max() <= 1e-6
        assert abs(refit.intercept_[0] - loo.intercept[i]) <= 1e-6
    full = LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(loo.coef_full, full.coef_[0], atol=1e-6)
    np.testing.assert_allclose(loo.intercept_full, full.intercept_[0], atol=1e-6)


def test_blocks_and_threads_do_not_change_the_models(monkeypatch):
    X, y = world(7, 90, 6)
    whole = leave_one_out(X, y)
    monkeypatch.setattr("leakscope.releases.record_explanations.logistic.BLOCK", 7)
    parts = leave_one_out(X, y)
    np.testing.assert_allclose(parts.coef, whole.coef, atol=1e-8)  # gradient 1e-10 over curvature 1, and margin


def test_slow_models_are_finished_by_newton(monkeypatch):
    X, y = world(8, 80, 10, rare=5)
    expected = leave_one_out(X, y, 0.01)
    monkeypatch.setattr("leakscope.releases.record_explanations.logistic.PASSES", 1)
    found = leave_one_out(X, y, 0.01)
    assert gradients(found, X, y, 0.01).max() <= 1e-8
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-6)


def test_order_of_records_rotation_and_labels_change_nothing_else():
    X, y = world(9, 50, 4)
    loo = leave_one_out(X, y)
    order = np.random.default_rng(0).permutation(50)
    np.testing.assert_allclose(leave_one_out(X[order], y[order]).coef, loo.coef[order], atol=1e-9)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    turned = leave_one_out(X @ rotation, y)
    np.testing.assert_allclose(turned.coef @ rotation.T, loo.coef, atol=1e-9)
    swapped = leave_one_out(X, 1 - y)
    np.testing.assert_allclose(swapped.coef, -loo.coef, atol=1e-9)
    np.testing.assert_allclose(swapped.intercept, -loo.intercept, atol=1e-9)
    moved = leave_one_out(X + 3.0, y)  # the constant is not penalised
    np.testing.assert_allclose(moved.coef, loo.coef, atol=1e-8)


def test_equal_records_have_equal_models_to_the_last_bit():
    X, y = world(11, 40, 3)
    X, y = np.vstack([X, X[:7]]), np.concatenate([y, y[:7]])
    loo = leave_one_out(X, y)
    np.testing.assert_array_equal(loo.coef[40:], loo.coef[:7])
    without = loo.probabilities_without(np.random.default_rng(0).normal(size=(33, 3)))
    np.testing.assert_array_equal(without[:, 40:], without[:, :7])
    assert gradients(loo, X, y, 1.0).max() <= 1e-8


def test_labels_may_be_words_and_probabilities_are_those_of_the_second():
    X, y = world(13, 40, 2)
    words = np.where(y == 1, "yes", "no")
    loo = leave_one_out(X, words)
    assert loo.classes == ("no", "yes")
    np.testing.assert_allclose(loo.probabilities(X), expit(X @ loo.coef_full + loo.intercept_full))
    np.testing.assert_allclose(loo.probabilities_without(X)[:, 5], expit(X @ loo.coef[5] + loo.intercept[5]))


def test_progress_ends_with_all_records():
    X, y = world(14, 30, 2)
    seen = []
    leave_one_out(X, y, progress=lambda *call: seen.append(call))
    assert seen[-1] == ("training without each record", 30, 30)


@pytest.mark.parametrize(
    ("X", "y", "penalty", "named"),
    [
        ([[1.0], [2.0]], [0, 1], 1.0, r"\b0\b"),  # the only record of its class
        ([[1.0], [2.0], [3.0]], [0, 0, 0], 1.0, "labels"),
        ([[1.0], [2.0], [3.0]], [0, 1, 2], 1.0, "labels.*3"),
        *(
            ([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], penalty, "penalty")
            for penalty in (0.0, -1.0, float("nan"), "strong", True)
        ),
        ([[1.0], [np.nan], [3.0], [4.0]], [0, 1, 0, 1], 1.0, r"\b0\b"),  # the column
        ([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1], 1.0, r"\(4,\)"),
        ([["a"], ["b"], ["c"], ["d"]], [0, 1, 0, 1], 1.0, "<U1"),
        ([[1.0], [2.0], [3.0]], [0, 1], 1.0, r"\b3\b.*\b2\b"),
    ],
)
def test_wrong_input_is_told_in_one_sentence(X, y, penalty, named):
    with pytest.raises(InputError, match=named):
        leave_one_out(X, y, penalty)


def test_columns_of_very_different_size_are_solved_or_refused_with_advice():
    X, y = world(15, 60, 3)
    X[:, 0] *= 1e9
    with pytest.raises(InputError, match="penalty"):
        leave_one_out(X, y)


@pytest.mark.parametrize("train", [leave_one_out, leave_one_out_ridge, first_order, one_step])
def test_the_former_name_of_the_penalty_warns(train):
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    with pytest.warns(FutureWarning, match="penalty"):
        former = train(X, y, l2=0.5)
    assert np.array_equal(former.coef, train(X, y, penalty=0.5).coef)
