"""Errors, discrepancies and advantages against closed forms; the theorems where they hold, and where they don't."""

import math
from itertools import product

import numpy as np
import pytest

from leakscope.bounds.sensitivity import sensitivity
from leakscope.causal.advantages import advantage_by_size, all_configurations, worst_case_advantage
from leakscope.causal.generalisation import discrepancy, generalisation_errors, linear_discrepancy, transfer_bound
from leakscope.learners import Logistic, Ridge


def absolute(a, b):
    return np.abs(np.asarray(a) - np.asarray(b))


def squared(a, b):
    return (np.asarray(a) - np.asarray(b)) ** 2


def covered(hits, repeats, confidence=0.95):
    """Whether so many hits are no fewer than the confidence allows, at four standard errors."""
    return hits >= repeats * confidence - 4 * math.sqrt(repeats * confidence * (1 - confidence))


# --- in- and out-of-distribution error [tople2020, Defs. 1 and 2] ---


def test_the_training_set_has_no_error_and_the_intervals_cover():
    rng, repeats = np.random.default_rng(0), 600
    hits = np.zeros(3)
    for _ in range(repeats):
        own = rng.random(5)
        found = generalisation_errors(own, rng.exponential(0.3, 60), rng.normal(0.9, 0.2, 40))
        truths = (0.3 - own.mean(), 0.9 - own.mean(), 0.6)
        parts = (found.in_distribution, found.out_of_distribution, found.shift)
        hits += [part.low <= truth <= part.high for part, truth in zip(parts, truths, strict=True)]
    # the exponential law is skewed, and Student's interval of 60 of its values falls short of 95 % by up to 2 points
    assert covered(hits[0] + 0.02 * repeats, repeats)
    assert covered(hits[1], repeats)
    assert covered(hits[2] + 0.01 * repeats, repeats)


def test_losses_that_never_vary_do_not_make_a_point_of_the_interval():
    point, wide = (generalisation_errors([0.0], np.zeros(50), np.ones(50), bound=bound) for bound in (None, 1.0))
    assert point.in_distribution.low == point.in_distribution.high == 0
    # a share s of losses 1 stays unseen in 50 records with probability (1 − s)^50
    share = wide.in_distribution.high
    assert (1 - share) ** 50 == pytest.approx(0.025, rel=0.2)
    assert wide.out_of_distribution.low == pytest.approx(1 - share)


# --- discrepancy [tople2020, Def. 3] ---


def test_the_discrepancy_is_the_largest_over_pairs_by_a_literal_loop():
    rng = np.random.default_rng(1)
    P, Pstar = rng.normal(size=(300, 3)), rng.normal(size=(200, 3)) * [1.0, 2.0, 0.5]
    thetas = rng.normal(size=(6, 3))
    models = [lambda X, theta=theta: X @ theta for theta in thetas]
    gaps = [
        abs(np.mean((P @ (one - other)) ** 2) - np.mean((Pstar @ (one - other)) ** 2))
        for one, other in product(thetas, thetas)
    ]
    found = discrepancy(models, P, Pstar, squared)
    assert found.value == pytest.approx(max(gaps), rel=1e-12)
    assert found.low <= found.value <= found.high


def test_bounded_linear_models_reach_the_eigenvalue_and_never_pass_it():
    rng = np.random.default_rng(2)
    P, Pstar = rng.normal(size=(500, 4)), rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4))
    whole = linear_discrepancy(P, Pstar, radius=1.5).value
    values, vectors = np.linalg.eigh(P.T @ P / len(P) - Pstar.T @ Pstar / len(Pstar))
    extreme = 1.5 * vectors[:, np.abs(values).argmax()]
    thetas = rng.normal(size=(60, 4))
    thetas *= 1.5 * (rng.random((60, 1)) ** 0.25) / np.linalg.norm(thetas, axis=1, keepdims=True)
    models = [lambda X, theta=theta: X @ theta for theta in thetas]
    assert 0.3 * whole < discrepancy(models, P, Pstar, squared).value <= whole
    ends = [lambda X, theta=theta: X @ theta for theta in (extreme, -extreme)]
    assert discrepancy(ends, P, Pstar, squared).value == pytest.approx(whole, rel=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1.6])
def test_the_intervals_of_both_discrepancies_cover_with_and_without_a_shift(scale):
    rng, repeats, hits = np.random.default_rng(3), 150, np.zeros(2)
    thetas = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    models = [lambda X, theta=theta: X @ theta for theta in thetas]
    truth = 4 * (scale**2 - 1)  # θ − θ' = (2, 0, 0), and only the first column is stretched
    for repeat in range(repeats):
        P, Pstar = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) * [scale, 1.0, 1.0]
        found = (discrepancy(models, P, Pstar, squared), linear_discrepancy(P, Pstar, 1.0, resamples=60, seed=repeat))
        hits += [part.low - 1e-12 <= truth <= part.high for part in found]
    # normal intervals of 200 squares of Gaussians (skewness 2.8) fall short by some 2 points
    assert covered(hits[0] + 0.02 * repeats, repeats)
    assert covered(hits[1] + 0.02 * repeats, repeats)


# --- [tople2020, Thm 1] ---


def worlds(seed, n, shift):
    """X_C is the first column; the second is a child of Y, which P* cuts loose."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(shift, 1 + shift, n)
    y = np.tanh(cause) + rng.choice([-0.3, 0.3], n)
    child = y + 0.1 * rng.normal(size=n) if shift == 0 else rng.normal(size=n)
    return np.column_stack([cause, child]), y


@pytest.mark.parametrize("model", ["causal", "associational", "constant"])
def test_the_error_under_shift_stays_below_its_bound_for_causal_and_other_models(model):
    h = {
        "causal": lambda X: np.tanh(1.2 * X[:, 0]),
        "associational": lambda X: X[:, 1],
        "constant": lambda X: np.zeros(len(X)),
    }[model]
    others = [lambda X: np.tanh(-X[:, 0]), lambda X: 0.5 * X[:, 1]]
    given = (h, lambda X: np.tanh(X[:, 0]), worlds(0, 40, 0), worlds(1, 4000, 0), worlds(2, 4000, 1), absolute)
    found, larger = transfer_bound(*given), transfer_bound(*given, others=others)
    # for a loss with the triangle inequality it holds record by record, and so on every sample
    assert found.measured.value <= found.bound.value <= larger.bound.value
    assert found.reference_p.value == pytest.approx(0.3) == found.reference_pstar.value
    parts = (found.discrepancy, found.in_distribution, found.reference_p, found.reference_pstar)
    assert found.bound.value == pytest.approx(sum(part.value for part in parts))


def test_where_y_is_a_function_of_its_causes_the_bound_is_eq_4_and_is_met():
    P, Pstar = np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])
    found = transfer_bound(
        lambda X: 2 * X[:, 0], lambda X: X[:, 0], (P, P[:, 0]), (P, P[:, 0]), (Pstar, Pstar[:, 0]), squared
    )
    assert found.reference_p.value == found.reference_pstar.value == 0
    assert found.measured.value == found.bound.value == pytest.approx(6.5 - 0.5)


def test_squared_error_breaks_the_bound_where_the_conditional_law_of_y_moves():
    X = np.zeros((4, 1))
    h, f = (lambda X: np.zeros(len(X))), (lambda X: np.ones(len(X)))
    sets = (X, np.zeros(4)), (X, np.zeros(4)), (X, np.full(4, 2.0))
    broken, kept = (transfer_bound(h, f, *sets, loss) for loss in (squared, absolute))
    assert (broken.measured.value, broken.bound.value) == (4, 2)
    assert (kept.measured.value, kept.bound.value) == (2, 2)


def test_squared_error_keeps_the_bound_for_a_causal_model_by_pythagoras():
    # exact, with labels x ± 1: every configuration of the causes holds both
    def world(points):
        X = np.repeat(np.asarray(points, float), 2)[:, None]
        return X, X[:, 0] + np.tile([-1.0, 1.0], len(points))

    sets = world([0, 1]), world([0, 1, 2]), world([5, 9])
    for slope in (-1.0, 0.0, 0.5, 3.0):
        found = transfer_bound(lambda X, slope=slope: slope * X[:, 0], lambda X: X[:, 0], *sets, squared)
        assert found.measured.value <= found.bound.value


# --- [tople2020, Lemma 1] ---


def copied_child(records, seed):
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=records)
    y = cause + rng.normal(size=records)
    return np.column_stack([cause, y]), y


@pytest.mark.parametrize("size", [3, 5, 8])
def test_lemma_1_fails_at_every_size_on_records_of_p(size):
    X, y = copied_child(10, seed=0)
    causal, associational = (
        sensitivity(Ridge(intercept=False), table, y, size, norm=1).value for table in (X[:, :1], X)
    )
    assert associational < 1e-12  # y = copy, whatever the training set
    assert causal > 0.5 / size


def test_lemma_1_fails_with_a_penalty_too():
    X, y = copied_child(200, seed=1)
    causal, associational = (
        sensitivity(Ridge(l2=1e-3), table, y, 150, method="sampled", norm=1, swaps=2000).value
        for table in (X[:, :1], X)
    )
    assert associational < 0.1 * causal


@pytest.mark.parametrize("learner", [Ridge(l2=0.1), Logistic(l2=0.1)])
@pytest.mark.parametrize("kept", [0, 1])  # the cause, and the child: the argument is the same for both
def test_over_all_data_sets_any_subset_of_the_features_is_at_most_as_sensitive(learner, kept):
    X, y = copied_child(8, seed=2)
    y = y if isinstance(learner, Ridge) else (y > 0).astype(int)
    blank = np.where(np.arange(2) == kept, X, 0.0)  # the same people with the other feature at 0
    everyone, labels = np.vstack([X, blank]), np.tile(y, 2)
    few, whole = (sensitivity(learner, table, labels, 3, norm=1).value for table in (everyone[:, [kept]], everyone))
    assert few <= whole * (1 + 1e-9)


# --- [tople2020, Thm 5] ---


def test_the_worst_law_is_found_by_trying_all_of_them():
    rng = np.random.default_rng(4)
    losses, given = rng.random((6, 2)), rng.dirichlet([1, 1], size=3)
    causes = np.array([0, 0, 1, 1, 2, 2])
    expected = max(
        sum(given[cause, label] * losses[2 * cause + choice[label], label] for label in range(2))
        for cause in range(3)
        for choice in product(range(2), repeat=2)
    )
    found = worst_case_advantage([0.1, 0.3], losses, given[causes], causes=causes)
    assert found.value == pytest.approx(expected - 0.2, rel=1e-12)
    assert found.kind == "exact"
    doubled = worst_case_advantage([0.2, 0.6], 2 * losses, given[causes], causes=causes, bound=2.0)
    assert doubled.value == pytest.approx(found.value, rel=1e-12)


def test_theorem_5_fails_where_a_small_sample_misleads_the_causal_model():
    # the example of the module: candidates are (x_C, x_A), labels 0 and 1
    candidates = all_configurations([2, 2])
    cause, feature = candidates.T
    given = np.array([[0.5, 0.5], [0.1, 0.9]])[cause]
    S = np.array([(1, 0, 0)] + [(0, 0, 0)] * 5 + [(0, 1, 1)] * 4)  # x_C, x_A, y
    models = {"f": lambda c, a: 1.0 + 0 * c, "g": lambda c, a: 1.0 - c, "mild": lambda c, a: 0.4 + 0.2 * a}
    trained = {name: absolute(model(S[:, 0], S[:, 1]), S[:, 2]) for name, model in models.items()}
    means = {name: losses.mean() for name, losses in trained.items()}
    assert means["mild"] < means["g"] < means["f"]  # g is the best causal model on S, the mild one the best of all
    advantage = {
        name: worst_case_advantage(
            trained[name], absolute(model(cause, feature)[:, None], [[0.0, 1.0]]), given, causes=cause
        ).value
        for name, model in models.items()
    }
    assert advantage["mild"] == pytest.approx(0.2)
    assert advantage["g"] == pytest.approx(0.4)


def test_theorem_5_holds_for_full_tables_and_the_brier_loss():
    candidates = all_configurations([3, 2])
    cause = candidates[:, 0]
    for seed in range(200):
        rng = np.random.default_rng(seed)
        chance = rng.random(3)
        c = rng.integers(3, size=12)
        y = (rng.random(12) < chance[c]).astype(int)
        a = np.where(rng.random(12) < 0.8, y, 1 - y)  # a child of y
        causal, whole = np.full(3, 0.5), np.full((3, 2), 0.5)
        for value in range(3):
            causal[value] = y[c == value].mean() if (c == value).any() else 0.5
            for other in range(2):
                rows = (c == value) & (a == other)
                whole[value, other] = y[rows].mean() if rows.any() else causal[value]
        given = np.column_stack([1 - chance, chance])[cause]
        found = [
            worst_case_advantage(squared(own, y), squared(said[:, None], [[0.0, 1.0]]), given, causes=cause).value
            for own, said in ((causal[c], causal[cause]), (whole[c, a], whole[tuple(candidates.T)]))
        ]
        assert found[0] <= found[1] + 1e-12


# --- [tople2020, Cor. 2] ---


def coins(weights):
    """Cause 0 is a fair coin, cause 1 is nearly sure; the weights of the two are what shifts."""

    def world(n, seed):
        rng = np.random.default_rng(seed)
        cause = rng.choice(2, n, p=weights)
        return cause[:, None].astype(float), (rng.random(n) < np.array([0.5, 0.95])[cause]).astype(int)

    return world


def test_the_advantage_against_p_goes_to_zero_and_that_against_p_star_to_the_shift():
    given = (Logistic(l2=1e-6), coins([0.5, 0.5]), coins([0.9, 0.1]))
    few, many = advantage_by_size(*given, [20, 5000], repeats=30, test=4000)
    # 1 − p(y) of the true law: 1/2 for the fair coin, 2·0.95·0.05 for the other
    fair, sure = 0.5, 2 * 0.95 * 0.05
    shift = (0.9 * fair + 0.1 * sure) - (0.5 * fair + 0.5 * sure)
    assert few.against_p.low > many.against_p.high
    assert abs(many.against_p.value) < 0.005
    assert many.against_pstar.value == pytest.approx(shift, abs=0.01)
    assert many.shift.low > 0.1
    assert advantage_by_size(*given, [20], repeats=30, test=4000) == [few]
