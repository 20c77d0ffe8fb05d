"""Invariant features: fast paths against literal ones, levels and coverage by simulation, worlds whose causes are known."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from leakscope.causal import conditional_tests
from leakscope.causal.conditional_regressions import LinearTest, LogisticTest
from leakscope.causal.conditional_tests import CountTest, Tables, chi_squared_moments, draw_tables, sequential_p_value
from leakscope.causal.invariance import alternatives, invariant_features
from leakscope.core.errors import InputError


def at_most(level, runs):
    """The largest share of rejections in ``runs`` that a test of this level gives, but for one time in a thousand."""
    return stats.binom.ppf(0.999, runs, level) / runs


def table_of(environment, label, shape):
    counts = np.zeros((1, *shape))
    np.add.at(counts[0], (environment, label), 1)
    return Tables.of(counts)


def pearson_of(environment, label, shape):
    tables = table_of(environment, label, shape)
    expected = tables.expected
    there = expected > 0
    return float(((tables.counts - expected)[there] ** 2 / expected[there]).sum())


# --- counts


@pytest.mark.parametrize(
    ("environment", "label"),
    [
        ([0, 1], [0, 1]),
        ([0, 0, 1], [0, 1, 1]),
        ([0, 1, 2], [0, 1, 1]),
        ([0, 0, 1, 1], [0, 1, 1, 2]),
        ([0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 1, 1, 0, 0]),
        ([0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]),
    ],
)
def test_moments_of_the_statistic_are_those_over_all_permutations(environment, label):
    shape = (3, 3)
    mean, variance = chi_squared_moments(table_of(environment, label, shape))
    values = [pearson_of(environment, list(order), shape) for order in itertools.permutations(label)]
    assert mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-12)
    assert variance == pytest.approx(np.var(values), rel=1e-9, abs=1e-12)


def test_drawn_tables_have_the_law_of_permuted_records():
    environment, label = [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 2]
    tables = table_of(environment, label, (3, 3))
    exact: dict[bytes, float] = {}
    for order in itertools.permutations(label):
        key = table_of(environment, list(order), (3, 3)).counts[0].tobytes()
        exact[key] = exact.get(key, 0) + 1 / math.factorial(6)
    draws = 20_000
    drawn = draw_tables(tables, draws, np.random.default_rng(0))
    counted = dict.fromkeys(exact, 0)
    for table in drawn[:, 0]:
        counted[table.tobytes()] += 1  # a table that no permutation gives is a KeyError
    chi = sum((counted[key] - draws * share) ** 2 / (draws * share) for key, share in exact.items())
    assert stats.chi2.sf(chi, len(exact) - 1) > 1e-3


def literal_statistics(frame, columns):
    """Pearson's statistic and its degrees of freedom, and Mantel and Haenszel's for two classes and environments."""
    pearson, freedom, difference, variance = 0.0, 0, 0.0, 0.0
    groups = [part for _, part in frame.groupby(columns)] if columns else [frame]
    for part in groups:
        table = pd.crosstab(part["E"], part["Y"])
        if min(table.shape) < 2:
            continue
        result = stats.chi2_contingency(table, correction=False)
        pearson, freedom = pearson + result.statistic, freedom + result.dof
        if table.shape == (2, 2):
            n, (a, b) = table.to_numpy().sum(), (table.iloc[0].sum(), table.iloc[:, 0].sum())
            difference += table.iloc[0, 0] - a * b / n
            variance += a * (n - a) * b * (n - b) / (n**2 * (n - 1))
    return pearson, freedom, difference**2 / variance


def discrete_world(n, seed, classes=2):
    rng = np.random.default_rng(seed)
    environment = rng.integers(2, size=n)
    cause = (rng.random(n) < np.where(environment == 1, 0.7, 0.3)).astype(int)
    other = rng.integers(3, size=n)
    label = (rng.random(n) < 0.2 + 0.5 * cause).astype(int)
    label[rng.random(n) < 0.1] = classes - 1
    effect = np.where(rng.random(n) < np.where(environment == 1, 0.1, 0.4), 1 - np.minimum(label, 1), label)
    return pd.DataFrame({"cause": cause, "other": other, "effect": effect, "Y": label, "E": environment})


@pytest.mark.parametrize("columns", [[], ["cause"], ["other"], ["cause", "other"], ["cause", "other", "effect"]])
def test_dense_counts_are_the_literal_tests(columns):
    frame = discrete_world(4000, 3)
    names = ["cause", "other", "effect"]
    test = CountTest.of(frame[names].to_numpy(), frame["Y"].to_numpy(), frame["E"].to_numpy(), level=0.05)
    outcome = test([names.index(column) for column in columns])
    pearson, freedom, common = literal_statistics(frame, columns)
    expected = min(1.0, 2 * min(stats.chi2.sf(pearson, freedom), stats.chi2.sf(common, 1)))
    assert outcome.p_value == pytest.approx(expected, rel=1e-8)
    groups = [part["Y"] for _, part in frame.groupby(columns)] if columns else [frame["Y"]]
    fit = sum(np.log(part.map(part.value_counts()) / len(part)).sum() for part in groups)
    assert outcome.bic == pytest.approx(-2 * fit + len(groups) * np.log(len(frame)), rel=1e-10)


def literal_sums(strata, environment, label):
    """Pearson's statistic and the squared sum of the differences of the first cell, stratum after stratum."""
    pearson, difference = 0.0, 0.0
    for rows in strata:
        tables = table_of(environment[rows], label[rows], (2, 2))
        pearson += pearson_of(environment[rows], label[rows], (2, 2))
        difference += tables.counts[0, 0, 0] - tables.expected[0, 0, 0]
    return np.array([pearson, difference**2])


def test_sparse_counts_are_the_literal_permutation_test(monkeypatch):
    monkeypatch.setattr(conditional_tests, "EXCEEDANCES", 400)
    rng = np.random.default_rng(5)
    frame = discrete_world(60, 8)
    environment, label = frame["E"].to_numpy(), frame["Y"].to_numpy()
    test = CountTest.of(frame[["effect", "other"]].to_numpy(), label, environment, level=0.05)
    found = test((0, 1)).p_value
    strata = list(frame.groupby(["effect", "other"]).indices.values())
    observed = literal_sums(strata, environment, label)
    reached, draws = np.zeros(2), 1000
    for _ in range(draws):
        shuffled = environment.copy()
        for rows in strata:
            shuffled[rows] = rng.permutation(environment[rows])
        reached += literal_sums(strata, shuffled, label) >= observed - 1e-9
    share = min(reached) / draws
    assert 0.02 < share < 0.4  # neither sure nor capped at 1, so that the comparison can fail
    error = np.hypot(np.sqrt(share * (1 - share) / draws), share / np.sqrt(400))
    assert abs(found / 2 - share) < 4 * error


def test_level_of_sparse_counts_is_kept():
    runs, rejected = 300, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        environment = rng.integers(3, size=120)
        X = rng.integers(3, size=(120, 2)) + (environment[:, None] > 0)
        label = (rng.random(120) < 0.1 + 0.2 * X[:, 0]).astype(int) + (rng.random(120) < 0.3)
        rejected += CountTest.of(X, label, environment, level=0.1, seed=seed)((0, 1)).p_value <= 0.1
    assert 0.03 < rejected / runs <= at_most(0.1, runs)


def test_overwhelming_sparse_counts_are_rejected_without_a_draw(monkeypatch):
    def refuse(*_):
        raise AssertionError("a table was drawn")

    monkeypatch.setattr(conditional_tests, "draw_tables", refuse)
    rng = np.random.default_rng(0)
    environment, stratum = rng.integers(2, size=4000), rng.integers(800, size=4000)
    label = (rng.random(4000) < 0.1 + 0.8 * environment).astype(int)
    assert CountTest.of(stratum[:, None], label, environment, level=0.05)((0,)).p_value <= 0.0025


def test_sequential_p_values_keep_every_level():
    rng = np.random.default_rng(0)
    most, runs = 399, 4000
    p_values = np.array([sequential_p_value(rng.random(most) < chance, most) for chance in rng.random(runs)])
    for level in (0.01, 0.025, 0.05, 0.2, 0.5):
        assert np.mean(p_values <= level) <= at_most(level, runs)


def test_codes_of_many_columns_do_not_overflow():
    rng = np.random.default_rng(0)
    rows = rng.integers(1000, size=(50, 30))[rng.integers(50, size=400)]
    environment, label = rng.integers(2, size=400), rng.integers(2, size=400)
    wide = CountTest.of(rows, label, environment, level=0.05)(range(30))
    one = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1, 1)
    narrow = CountTest.of(one, label, environment, level=0.05)((0,))
    assert wide.bic == pytest.approx(narrow.bic, rel=1e-12)


def test_blocks_of_strata_do_not_change_the_observed_statistics(monkeypatch):
    frame = discrete_world(4000, 3, classes=3)
    names = ["cause", "other", "effect"]

    def found():
        return CountTest.of(frame[names].to_numpy(), frame["Y"].to_numpy(), frame["E"].to_numpy(), level=0.05)((0, 1))

    whole = found()
    monkeypatch.setattr(conditional_tests, "CELLS", 6)
    assert found().p_value == pytest.approx(whole.p_value, rel=1e-10)


# --- regressions


def continuous_world(n, seed, features=3, environments=3):
    rng = np.random.default_rng(seed)
    environment = rng.integers(environments, size=n)
    X = rng.normal(size=(n, features)) * (1 + environment[:, None]) + environment[:, None]
    return X, environment, rng


@pytest.mark.parametrize("columns", [(), (1,), (0, 1, 2)])
def test_linear_test_is_the_literal_one(columns):
    X, environment, rng = continuous_world(300, 1)
    label = 2 * X[:, 0] + X[:, 1] + rng.exponential(size=300)
    outcome = LinearTest.of([X[:, [j]] for j in range(3)], label, environment)(columns)
    design = np.column_stack([np.ones(300), X[:, list(columns)]])

    def residuals(rows):
        return label[rows] - design[rows] @ np.linalg.lstsq(design[rows], label[rows], rcond=None)[0]

    pooled = residuals(np.arange(300))
    apart = sum((residuals(np.flatnonzero(environment == e)) ** 2).sum() for e in range(3))
    p = design.shape[1]
    ratio = ((pooled**2).sum() - apart) / apart * (300 - 3 * p) / (2 * p)
    leverage = np.diag(design @ np.linalg.solve(design.T @ design, design.T))
    even = pooled / np.sqrt(1 - leverage)
    levene = stats.levene(*(even[environment == e] for e in range(3)), center="median").pvalue
    assert outcome.p_value == pytest.approx(min(1, 2 * min(stats.f.sf(ratio, 2 * p, 300 - 3 * p), levene)), rel=1e-6)
    scale = 300 * np.log(label.var())
    assert outcome.bic + scale == pytest.approx(300 * np.log((pooled**2).mean()) + p * np.log(300), rel=1e-8)


@pytest.mark.parametrize("noise", ["exponential", "t"])
def test_level_of_the_linear_test_holds_without_normal_noise(noise):
    runs, rejected = 300, 0
    for seed in range(runs):
        X, environment, rng = continuous_world(120, seed)
        label = X.sum(axis=1) + (rng.exponential(size=120) if noise == "exponential" else rng.standard_t(3, size=120))
        rejected += LinearTest.of([X[:, [j]] for j in range(3)], label, environment)((0, 1, 2)).p_value <= 0.1
    assert rejected / runs <= at_most(0.1, runs)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_test_is_the_literal_score_test(classes):
    X, environment, rng = continuous_world(400, 2, features=2)
    odds = np.outer(X[:, 0] - 0.5, np.arange(classes) - 0.5)
    label = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    outcome = LogisticTest.of([X[:, [0]], X[:, [1]]], label, environment)((0, 1))
    design = np.column_stack([np.ones(400), (X - X.mean(axis=0)) / X.std(axis=0)])
    indicator = (label[:, None] == np.arange(classes)).astype(float)

    def chances(theta):
        values = np.column_stack([np.zeros(400), design @ theta.reshape(3, classes - 1)])
        values = np.exp(values - values.max(axis=1, keepdims=True))
        return values / values.sum(axis=1, keepdims=True)

    def loss(theta):
        return -np.log(chances(theta)[np.arange(400), label]).sum() + 0.005 * theta @ theta

    def slope(theta):
        return (design.T @ (chances(theta) - indicator)[:, 1:]).ravel() + 0.01 * theta

    fitted = optimize.minimize(loss, np.zeros(3 * (classes - 1)), jac=slope, method="BFGS", options={"gtol": 1e-7}).x
    chance = chances(fitted)[:, 1:]
    full = np.column_stack([design, *(design * (environment == e)[:, None] for e in (1, 2))])
    score = (full.T @ (indicator[:, 1:] - chance)).ravel(order="F")
    weights = np.einsum("ij,jk->ijk", chance, np.eye(classes - 1)) - chance[:, :, None] * chance[:, None, :]
    information = np.einsum("ia,ijk,ib->jakb", full, weights, full).reshape(len(score), -1)
    whole = score @ np.linalg.solve(information, score)
    free = (design.T @ (indicator[:, 1:] - chance)).ravel(order="F")  # what the prior leaves of the pooled score
    part = np.einsum("ia,ijk,ib->jakb", design, weights, design).reshape(len(free), -1)
    statistic = whole - free @ np.linalg.solve(part, free)
    # The fit stops where a step would change the likelihood by 1e-5, coefficients by some sqrt(1e-5 / 400).
    assert outcome.p_value == pytest.approx(stats.chi2.sf(statistic, 6 * (classes - 1)), rel=1e-3)


def test_level_of_the_logistic_test_is_kept():
    runs, rejected = 200, 0
    for seed in range(runs):
        X, environment, rng = continuous_world(300, seed, features=2)
        label = (X[:, 0] / 2 + rng.logistic(size=300) > 0.5).astype(int)
        rejected += LogisticTest.of([X[:, [0]], X[:, [1]]], label, environment)((0, 1)).p_value <= 0.1
    assert rejected / runs <= at_most(0.1, runs)


def test_separable_classes_end():
    x = np.linspace(-1, 1, 200)
    outcome = LogisticTest.of([x[:, None]], (x > 0).astype(int), np.tile([0, 1], 100))((0,))
    assert np.isfinite(outcome.bic)
    assert 0.05 < outcome.p_value <= 1


# --- worlds with known causes


def linear_world(n, seed, noise="normal"):
    """X0 → Y → X1, and X2 beside; the environments move X0 and X2 and the noise of X1."""
    rng = np.random.default_rng(seed)
    environment = np.repeat([0, 1], n // 2)
    cause = rng.normal(environment, 1.0, size=n)
    label = cause + (rng.normal(size=n) if noise == "normal" else rng.exponential(size=n))
    effect = label + rng.normal(size=n) * (1 + 1.5 * environment)
    return np.column_stack([cause, effect, rng.normal(environment, 1.0, size=n)]), label, environment


def test_coverage_of_the_linear_answer():
    runs, noises = 200, ("normal", "exponential")
    answers = [invariant_features(*linear_world(240, seed, noises[seed % 2])).features for seed in range(runs)]
    assert np.mean([not set(answer) <= {0} for answer in answers]) <= at_most(0.05, runs)
    assert np.mean([answer == (0,) for answer in answers]) > 0.8  # and it has power


def test_coverage_of_the_discrete_answer():
    runs = 100
    frames = [discrete_world(600, seed) for seed in range(runs)]
    answers = [invariant_features(f[["cause", "other", "effect"]], f["Y"], f["E"]).features for f in frames]
    assert np.mean([not set(answer) <= {"cause"} for answer in answers]) <= at_most(0.05, runs)
    assert np.mean([answer == ("cause",) for answer in answers]) > 0.8


def test_named_network_gives_the_parents():
    from leakscope.causal import draw, load_network, redraw, to_frame

    sachs = load_network("sachs")
    worlds = [sachs, redraw(sachs, ["Akt"], seed=3)]
    table = pd.concat([to_frame(world, draw(world, 20_000, seed=s)).astype(str) for s, world in enumerate(worlds)])
    found = invariant_features(
        table[["Erk", "PKA", "Mek", "P38", "Raf"]], table["Akt"], np.repeat(["P", "P*"], 20_000), seed=1
    )
    assert found.test == "counts"
    assert found.features == sachs.parents["Akt"] == found.plausible


def test_classes_and_numbers_take_the_logistic_test():
    rng = np.random.default_rng(0)
    site = np.repeat(["a", "b", "c"], 1000)
    move = np.repeat([0.0, 1.0, 2.0], 1000)
    cause = rng.normal(move, 1.0)
    label = np.where(cause + rng.logistic(size=3000) > 1, "yes", "no")
    effect = np.where(rng.random(3000) < 0.1 + 0.2 * move, "x", label)
    found = invariant_features(pd.DataFrame({"cause": cause, "effect": effect}), label, site)
    assert found.test == "logistic"
    assert found.features == ("cause",)
    assert "cause" in str(found)


def test_environments_that_are_alike_name_no_cause():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 2))
    found = invariant_features(X, X[:, 0] + rng.normal(size=500), rng.integers(2, size=500))
    assert found.features == ()
    assert found.alike
    assert not found.rejected_all
    assert found.plausible == (0,)
    assert "column 0" in str(found)


def test_two_stand_ins_name_no_cause_and_say_which_sets():
    rng = np.random.default_rng(1)
    environment = np.repeat([0, 1], 300)
    cause = rng.normal(3.0 * environment, 1.0)
    X = np.column_stack([cause, cause + 1e-3 * rng.normal(size=600)])
    found = invariant_features(X, cause + rng.normal(size=600), environment)
    assert found.features == ()
    assert "{column 0}, {column 1}" in str(found)


def test_intervention_on_the_label_refutes_all_sets():
    X, label, environment = linear_world(600, 0)
    found = invariant_features(X, label + 2 * environment, environment, test="linear")
    assert found.rejected_all
    assert found.features == ()
    assert found.plausible is None
    assert "600" in str(found)
    with pytest.raises(InputError):
        alternatives(found)


def test_p_values_are_the_largest_of_the_sets_without_the_feature():
    X, label, environment = linear_world(400, 4)
    found = invariant_features(X, label, environment)
    test = LinearTest.of([X[:, [j]] for j in range(3)], label, environment)
    sets = [s for size in range(4) for s in itertools.combinations(range(3), size)]
    for column, value in found.p_values.items():
        assert value == max(test(s).p_value for s in sets if column not in s)
        assert (column in found.features) == (value <= 1 - found.confidence)
    assert found.tested == 8
    assert [kept.features for kept in found.accepted] == [s for s in sets if test(s).p_value > 1 - found.confidence]


def test_alternatives_of_an_answer():
    X, label, environment = linear_world(600, 0)
    frame = pd.DataFrame(X, columns=["cause", "effect", "beside"])
    ways = alternatives(invariant_features(frame, label, environment))
    assert ways["chosen"] == ("cause",)
    assert ways["without cause"] == ()
    assert ways["all features"] == ("cause", "effect", "beside")
    (added,) = [columns for name, columns in ways.items() if name.startswith("with ")]
    assert added in (("cause", "effect"), ("cause", "beside"))


def test_screening_keeps_what_matters_and_says_what_may_be_missed():
    X, label, environment = linear_world(2000, 0)
    rng = np.random.default_rng(9)
    wide = np.column_stack([rng.normal(size=(2000, 4)), X])
    found = invariant_features(wide, label, environment, most_candidates=4)
    assert {4, 5} <= set(found.candidates)
    assert len(found.candidates) == 4
    assert found.features == (4,)
    assert all(str(column) in found.screening for column in set(range(7)) - set(found.candidates))
    assert found.screening in str(found)
    assert alternatives(found)["all features"] == tuple(range(7))


def test_same_seed_same_answer_and_untouched_data():
    frame = discrete_world(300, 2, classes=3)
    X, before = frame[["cause", "other", "effect"]], frame.copy()
    first, second = (invariant_features(X, frame["Y"], frame["E"], seed=4) for _ in range(2))
    assert first == second
    shuffled = frame.sample(frac=1, random_state=0)
    assert invariant_features(shuffled[X.columns], shuffled["Y"], shuffled["E"], seed=4) == first
    pd.testing.assert_frame_equal(frame, before)


def test_texts_are_levels_of_a_regression_and_numbers_keep_their_distances():
    rng = np.random.default_rng(1)
    environment = np.repeat([0, 1], 400)
    grade = rng.choice([1, 2, 10], p=[0.4, 0.4, 0.2], size=800)
    grade[environment == 1] = rng.choice([1, 2, 10], p=[0.1, 0.4, 0.5], size=400)
    label = 1.0 * grade + rng.normal(size=800)
    assert invariant_features(pd.DataFrame({"grade": grade}), label, environment).features == ("grade",)
    curved = np.select([grade == 1, grade == 2], [0.0, 5.0], 1.0) + rng.normal(size=800)
    assert invariant_features(pd.DataFrame({"grade": grade}), curved, environment).rejected_all
    texts = pd.DataFrame({"grade": grade.astype(str)})
    assert invariant_features(texts, curved, environment).features == ("grade",)


def test_many_candidates_are_fine_where_their_sets_are_few():
    rng = np.random.default_rng(2)
    X, label, environment = rng.normal(size=(200, 60)), rng.normal(size=200), np.repeat([0, 1], 100)
    assert invariant_features(X, label, environment, candidates=range(60), largest_set=1).tested == 61
