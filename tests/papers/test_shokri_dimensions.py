"""Figures 5, 14, 4 and 12 of shokri2019: the data against scikit-learn, gradients by hand, and the rules that decide statements."""

from types import SimpleNamespace

import numpy as np
import pytest
from deciding import around, decisions, holds

from leakscope.attacks.protocol import Scores
from leakscope.core.ranking import Scale
from leakscope.evaluation.risk import Judged
from leakscope.learners import MLP
from leakscope.papers import shokri_dimensions, shokri_fig4, shokri_fig5, shokri_fig12, shokri_fig14
from leakscope.papers.reproduction import Work
from leakscope.papers.shokri_dimensions import COLUMNS, SizeEffort, SizeRow, correlation, draw_points, measure, study
from leakscope.papers.shokri_fig4 import Norms, SmoothGradSetting

# --- the data -------------------------------------------------------------------------------------------------------


def test_points_are_corners_plus_mixed_normals_as_written():
    """The literal loop over classes, with each matrix drawn whole: the same numbers from the same generator."""
    ours, labels = draw_points(6, 3, 30, np.random.default_rng(7))
    rng = np.random.default_rng(7)
    codes = rng.choice(2**6, 3, replace=False)
    rng.integers(2, size=(3, 0))
    for code in range(3):
        corner = np.array([2.0 * (codes[code] >> bit & 1) - 1 for bit in range(6)])
        z = rng.standard_normal((10, 6), np.float32)
        A = 2 * rng.random((6, 6), np.float32) - 1
        for row in range(10):
            expected = corner + A.T.astype(np.float64) @ z[row]
            np.testing.assert_allclose(ours[10 * code + row], expected, atol=1e-5)
    redrawn = rng.random(30) < 0.01
    np.testing.assert_array_equal(labels[~redrawn], np.repeat(np.arange(3), 10)[~redrawn])


@pytest.mark.parametrize("numbers", [1 << 22, 8 * 3])
def test_the_law_is_that_of_the_formulas(monkeypatch, numbers):
    """Variance n/3 around corners at ±1, whether matrices are drawn whole or three columns at a time."""
    monkeypatch.setattr(shokri_dimensions, "NUMBERS", numbers)
    n, k, points = 8, 4, 2000
    within, corners = [], []
    for seed in range(60):
        X, y = draw_points(n, k, points, np.random.default_rng(seed))
        parts = [X[y == code] for code in range(k)]
        within.append(np.mean([part.var(axis=0, ddof=1) for part in parts], axis=0))  # of each feature
        corners.append(np.mean([part.mean(axis=0) ** 2 - part.var(axis=0, ddof=1) / len(part) for part in parts]))
    errors = np.std(within, axis=0, ddof=1) / np.sqrt(60)
    assert (np.abs(np.mean(within, axis=0) - n / 3) < 4.5 * errors + 0.01 * n / 3).all()
    # one label in a hundred is random, which draws the mean of a class to that of the others: (1 - 0.01)² and a little
    kept = 1 - 0.01
    error = np.std(corners, ddof=1) / np.sqrt(60)
    assert kept**2 - 4.5 * error < np.mean(corners) < 1 + 4.5 * error


def test_corners_are_different_and_one_label_in_a_hundred_is_random():
    X, y = draw_points(7, 100, 20_000, np.random.default_rng(0))
    codes = np.repeat(np.arange(100), 200)
    moved = float(np.mean(y != codes))
    share = 0.01 * 99 / 100
    assert abs(moved - share) < 4 * np.sqrt(share / 20_000)
    corners = shokri_dimensions._corners(7, 100, np.random.default_rng(0))
    assert len(np.unique(corners, axis=0)) == 100
    assert set(np.unique(shokri_dimensions._corners(40, 5, np.random.default_rng(0)))) == {-1.0, 1.0}
    assert X.dtype == np.float32


# --- what is measured -----------------------------------------------------------------------------------------------


def test_the_correlation_is_pearsons():
    rng = np.random.default_rng(0)
    member = rng.random(500) < 0.3
    values = rng.exponential(1 + member)
    assert correlation(values, member) == pytest.approx(np.corrcoef(values, member)[0, 1], abs=1e-12)
    assert correlation(np.full(500, 3.0), member) == 0.0


@pytest.mark.parametrize("classes", [2, 3])
def test_norms_and_accuracies_are_those_of_the_formulas(monkeypatch, classes):
    """One hidden layer by hand: ∂c_k/∂x = c_k (∂f_k − Σ c_j ∂f_j), ∂f_j/∂x = W₁ diag(1 − h²) w_j; blocks of four records."""
    monkeypatch.setattr(shokri_dimensions, "NUMBERS", 4 * 6)
    X, y = draw_points(6, classes, 60, np.random.default_rng(0))
    shape = {"widths": (5,), "task": "classification", "inputs": 6, "classes": classes}
    learner = MLP(**shape, steps=200, batch=10, rate=0.05, optimizer="adagrad")
    order = np.random.default_rng(1).permutation(60)
    (model,) = learner.fit_many(X, y, [order[:30]], [np.random.default_rng(2)])
    member = np.arange(60) < 30
    found = shokri_dimensions._look(learner, model, X, y, order, member)

    theta = model.astype(np.float64)
    W1, b1 = theta[:30].reshape(6, 5), theta[30:35]
    W2, b2 = theta[35 : 35 + 5 * (classes - 1)].reshape(5, classes - 1), theta[35 + 5 * (classes - 1) :]
    W2, b2 = np.column_stack([np.zeros(5), W2]), np.append(0.0, b2)
    norms, right = [], []
    for row in order:
        h = np.tanh(X[row] @ W1 + b1)
        f = h @ W2 + b2
        c = np.exp(f - f.max()) / np.exp(f - f.max()).sum()
        slopes = W1 @ ((1 - h**2)[:, None] * W2)
        k = c.argmax()
        norms.append(np.abs(c[k] * (slopes[:, k] - slopes @ c)).sum())
        right.append(k == y[row])
    norms, right = np.array(norms), np.array(right)
    assert found.correlation == pytest.approx(np.corrcoef(norms, member)[0, 1], abs=1e-4)  # gradients are float32
    pairs = norms[:30, None] < norms[None, 30:]
    assert found.auc == pytest.approx(pairs.mean(), abs=2e-3)  # a pair or two may change places by rounding
    assert (found.train_accuracy, found.test_accuracy) == (right[:30].mean(), right[30:].mean())


def test_the_same_seed_gives_the_same_bits_and_sizes_do_not_disturb_each_other():
    effort = SizeEffort(points=200, epochs=2, networks=2)
    both = measure(4, 3, ("small", "base"), effort, seed=3)
    assert measure(4, 3, ("base",), effort, seed=3)["base"] == both["base"]
    assert measure(4, 3, ("base",), effort, seed=4)["base"] != both["base"]


def test_networks_have_their_own_draws_only_up_to_some_features(monkeypatch):
    drawn = []

    def counted(*words):
        drawn.append(words[0])
        return draw_points(*words)

    monkeypatch.setattr(shokri_dimensions, "draw_points", counted)
    monkeypatch.setattr(shokri_dimensions, "FEATURES_OF_OWN_DRAW", 5)
    for features in (5, 6):
        found = measure(features, 2, ("small",), SizeEffort(100, 1, 3), seed=0)["small"]
        assert len(set(found)) == 3
    assert drawn == [5, 5, 5, 6]


def test_nothing_is_found_before_training_and_much_after_overfitting():
    """One step on a hundred of 10,000 records tells nothing: correlations within 4/√N; 200 features and 100 records, much."""
    untrained = measure(20, 2, ("base",), SizeEffort(20_000, epochs=0, networks=2), seed=0)["base"]
    assert all(abs(one.correlation) < 4 / np.sqrt(20_000) for one in untrained)
    assert all(abs(one.auc - 0.5) < 4 * np.sqrt(1 / (12 * 5000)) for one in untrained)
    trained = measure(200, 2, ("base",), SizeEffort(200, epochs=100, networks=2), seed=0)["base"]
    assert all(one.auc > 0.8 and one.correlation < -0.2 and one.train_accuracy > one.test_accuracy for one in trained)


# --- rows, statements and figures -----------------------------------------------------------------------------------


def test_data_that_can_not_be_stand_in_the_table_with_the_reason():
    heard = []
    work = Work(SimpleNamespace(ID="x"), {}, 0, lambda *step: heard.append(step), 1)
    rows = study(work, (8, 2), (5,), ("small",), SizeEffort(60, 1, 2))
    assert [(row.features, row.classes, row.networks) for row in rows] == [(8, 5, 2)]
    assert heard == [("x", 1, 1)]
    cells = shokri_dimensions.table(rows, (8, 2), (5,))
    assert [len(row) for row in cells] == [len(COLUMNS)] * 2
    *numbers, note = cells[1]
    assert numbers == [2, 5, *[None] * (len(COLUMNS) - 4), 0]
    assert all(number in note for number in ("5", "2", "4"))  # classes, features and corners
    assert 0 <= rows[0].train_accuracy.low < rows[0].train_accuracy.high <= 1


def test_accuracies_that_agree_still_have_an_interval():
    from leakscope.core.intervals import mean, proportion

    found = shokri_dimensions._inside(mean(np.ones(3)), np.ones(3), 50)
    assert (found.low, found.high) == (proportion(150, 150).low, 1.0)


def paper_rows(classes, size="base", change=None):
    """Rows as the paper describes them."""
    change = change or {}
    plan = {
        10: (0.0, 0.99, 0.98), 100: (-0.02, 1.0, 0.97), 1000: (-0.3, 0.99, 0.8), 3072: (-0.4, 0.9, 0.6),
        10_000: (-0.1, 0.6, 0.5),
    }  # fmt: skip
    if classes > 2:
        plan = {10: (0.0, 0.3, 0.2), 100: (-0.02, 0.3, 0.1), 1000: (-0.5, 0.7, 0.02), 10_000: (-0.1, 0.6, 0.01)}
    return [
        SizeRow(n, classes, size, 3, around(change.get(n, r)), around(0.6), around(train), around(test))
        for n, (r, train, test) in plan.items()
    ]


def test_the_statements_of_figure_5_follow_the_rows():
    assert holds([part for k in (2, 100) for part in shokri_fig5._statements(k, paper_rows(k))]) == [True] * 11
    few = shokri_fig5._statements(2, paper_rows(2, change={100: 0.2}))
    assert holds(few) == [False, True, True, True, True, True]
    assert few[0].estimates["n = 100"] == around(0.2)
    none = shokri_fig5._statements(100, paper_rows(100, change={1000: 0.0, 10_000: 0.0}))
    assert holds(none) == [True, False, None, True, True]
    still = shokri_fig5._statements(2, paper_rows(2, change={10_000: -0.6}))
    assert holds(still)[:3] == [True, True, None]


def test_the_statements_of_figure_14_follow_the_rows():
    rows = [*paper_rows(2, "small", {1000: -0.1, 3072: -0.2}), *paper_rows(2), *paper_rows(2, "big", {100: -0.2})]
    assert holds(shokri_fig14._statements(2, rows)) == [True] * 5
    alike = [row for size in shokri_fig14.SIZES for row in paper_rows(2, size)]
    assert holds(shokri_fig14._statements(2, alike)) == [True, True, True, None, False]


def norms(rng, shift, count=800):
    """Norms of members around one, those of non-members around 1 + shift, with a tree that cuts in the middle."""
    member = np.repeat([True, False], count)
    values = rng.normal(1 + shift * ~member, 0.3).clip(0.01)
    decision = ((values < 1 + shift / 2) if shift >= 0 else (values > 1 + shift / 2)).astype(float)
    one = np.zeros(2 * count, np.intp)
    return Norms(values, member, Judged(Scores(decision, decision), member, Scale(one, one)))


def test_figure_4_tells_failure_from_a_sign_that_turns_and_from_an_attack_that_comes_back():
    rng = np.random.default_rng(0)
    settings = [
        SmoothGradSetting(0.0, 0),
        *(SmoothGradSetting(sigma, count) for sigma in (0.1, 0.2, 1.0) for count in (1, 9)),
    ]
    looks = [norms(rng, shift) for shift in (1.0, 0.2, 0.6, 0.0, 0.0, -0.3, -0.6)]
    rows = shokri_fig4._rows("end", [("end", 0.3, looks), ("end", 0.4, looks)], settings)
    assert rows[0].gap == pytest.approx(0.35)
    assert rows[0].auc.low > 0.95
    assert len(rows[0].members) == 2 * 800
    said = shokri_fig4._statements(rows)
    assert holds(said) == [True, False, True, False, False]  # norms rise for σ = 0.1
    assert said[3].estimates["AUC of −‖φ‖₁"].high < 0.5
    # it comes back for two σ, and members have the larger norms for one
    assert len(shokri_fig4._findings(rows)) == 2 + 1
    assert not shokri_fig4._findings([rows[0], *rows[3:5]])
    assert all(len(row.cells()) == len(shokri_fig4.COLUMNS) for row in rows)


def test_the_statements_of_figure_12_follow_the_accuracies():
    rng = np.random.default_rng(0)
    rates = {"gradient": 0.7, "integrated_gradients": 0.7, "lrp": 0.55, "deeplift": 0.75, "smoothgrad": 0.5}
    found = {
        (method, name): decisions(rng, rate, 2000) for method, rate in rates.items() for name in ("network", "tree")
    }
    said = shokri_fig12._statements(0.25, found)
    assert holds(said) == [True, None, True, False, True]
    found["smoothgrad", "tree"] = decisions(
        rng, 0.65, 2000
    )  # another attack does what the network can't: not the paper's
    assert holds(shokri_fig12._statements(0.25, found))[-1] is True
    found["gradient", "network"] = decisions(rng, 0.5, 2000)
    assert holds(shokri_fig12._statements(0.25, found)) == [None]


def test_the_interval_of_the_best_attack_allows_for_the_choice():
    """Three coins: the interval of the luckiest holds one half at least 95 times in 100; 300 trials, 3.2 standard errors."""
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(300):
        _, best = shokri_fig12._strongest(
            {("smoothgrad", name): decisions(rng, 0.5, 200) for name in "abc"}, "smoothgrad"
        )
        missed += best.low > 0.5
    assert missed / 300 < 0.05 + 3.2 * np.sqrt(0.05 * 0.95 / 300)
