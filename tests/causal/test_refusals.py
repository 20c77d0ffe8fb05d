"""Wrong input to `leakscope.causal` ends in one sentence that names what is wrong."""

import numpy as np
import pandas as pd
import pytest
from refusals import check_refused

from leakscope.causal.advantages import advantage_by_size, all_configurations, worst_case_advantage
from leakscope.causal.climbing import bic, climb, learned_parents, parent_confidence
from leakscope.causal.counting import fit_table, fit_tables
from leakscope.causal.generalisation import discrepancy, generalisation_errors, linear_discrepancy
from leakscope.causal.invariance import invariant_features
from leakscope.causal.irm import IRMLearner, dummy_gradient
from leakscope.causal.named import load_network
from leakscope.causal.network import Network, topological_order
from leakscope.causal.sampling import draw, to_codes, to_frame
from leakscope.causal.shifts import intervene, perturb, redraw
from leakscope.causal.table_model import CausalTable
from leakscope.learners import Logistic, Ridge
from leakscope.papers.colored_mnist import environments


def squared(a, b):
    return (np.asarray(a) - np.asarray(b)) ** 2


def coins(n, seed):
    rng = np.random.default_rng(seed)
    return rng.random((n, 1)), rng.integers(2, size=n)


CODES, ONE, FAIR = np.array([[0, 1], [1, 0], [1, 1]]), np.ones((3, 1)), [[0.5, 0.5]]
CALLS = {
    "score": (lambda: climb(CODES, "ab", [2, 2], score="k2"), "'k2'"),
    "one row": (lambda: climb(CODES[:1], "ab", [2, 2]), "codes"),
    "one dimension": (lambda: climb(CODES[0], "ab", [2, 2]), "codes"),
    "fractions": (lambda: climb(CODES / 2, "ab", [2, 2]), "codes"),
    "three names": (lambda: climb(CODES, "abc", [2, 2]), "names"),
    "equal names": (lambda: climb(CODES, "aa", [2, 2]), "names"),
    "levels of one": (lambda: climb(CODES, "ab", [2]), "levels"),
    "code too large": (lambda: climb(CODES + 1, "ab", [2, 2]), "'a'"),
    "code below 0": (lambda: climb(-CODES, "ab", [2, 2]), "'a'"),
    "most_parents": (lambda: climb(CODES, "ab", [2, 2], most_parents=0), "most_parents"),
    "patience": (lambda: climb(CODES, "ab", [2, 2], patience=1.5), "patience"),
    "orders": (lambda: climb(CODES, "ab", [2, 2], orders=0), "orders"),
    "arc of no column": (lambda: climb(CODES, "ab", [2, 2], forbidden=[("a", "z")]), "'z'"),
    "arc in both": (lambda: climb(CODES, "ab", [2, 2], required=[("a", "b")], forbidden=[("a", "b")]), "'a'"),
    "arc to itself": (lambda: climb(CODES, "ab", [2, 2], required=[("a", "a")]), "'a'"),
    "cycle by start": (lambda: climb(CODES, "ab", [2, 2], required=[("a", "b")], start={"a": ("b",)}), "'b'"),
    "cycle": (lambda: bic(CODES, {"a": ("b",), "b": ("a",)}, [2, 2]), "'b'"),
    "parent of no column": (lambda: bic(CODES, {"a": ("z",), "b": ()}, [2, 2]), "'z'"),
    "table too large": (lambda: bic(CODES, {"a": ("b",), "b": ()}, [10_000, 10_000]), "100,000,000"),
    "label": (lambda: learned_parents(CODES, "ab", [2, 2], "y"), "'y'"),
    "label of resamples": (lambda: parent_confidence(CODES, "ab", [2, 2], "y"), "'y'"),
    "resamples": (lambda: parent_confidence(CODES, "ab", [2, 2], "a", resamples=0), "resamples"),
    "code beyond levels": (lambda: fit_table(np.array([[0, 1], [1, 3]]), 0, [1], [2, 3]), r"2.*\b0\b.*\b2\b"),
    "negative code": (lambda: fit_table(np.array([[0, 1], [1, -1]]), 0, [1], [2, 3]), r"2.*\b0\b.*\b2\b"),
    "parent of no variable": (lambda: topological_order({"a": ("z",)}), "'z'"),
    "unknown network": (lambda: load_network("asia"), "'asia'.*child"),
    "keep": (lambda: redraw(load_network("sachs"), ["Nobody"]), "'Nobody'"),
    "negative noise": (lambda: perturb(load_network("sachs"), ["Akt"], -0.1), "noise"),
    "missing noise": (lambda: perturb(load_network("sachs"), ["Akt"], np.nan), "noise"),
    "infinite noise": (lambda: perturb(load_network("sachs"), ["Akt"], np.inf), "noise"),
    "noise that is true": (lambda: perturb(load_network("sachs"), ["Akt"], True), "noise"),
    "intervention": (lambda: intervene(load_network("sachs"), "siblings", "Akt"), "'siblings'"),
    "intervention on the label": (lambda: intervene(load_network("sachs"), ["Akt", "Erk"], "Akt"), "'Akt'"),
    "intervention on none": (lambda: intervene(load_network("sachs"), ["Nobody"], "Akt"), "'Nobody'"),
    "label of interventions": (lambda: intervene(load_network("sachs"), "all", "Nobody"), "'Nobody'"),
    "no losses": (lambda: generalisation_errors([], [1.0], [1.0]), "losses"),
    "missing loss": (lambda: generalisation_errors([1.0], [np.nan], [1.0]), "losses"),
    "one model": (lambda: discrepancy([np.ravel], ONE, ONE, squared), "models"),
    "too few predictions": (lambda: discrepancy([np.ravel, lambda X: [0.0]], ONE, ONE, squared), r"\b1\b.*\b3\b"),
    "other columns": (lambda: linear_discrepancy(ONE, np.ones((3, 2)), 1.0), r"\b1\b.*\b2\b"),
    "radius": (lambda: linear_discrepancy(ONE, ONE, 0.0), "radius"),
    "no table": (lambda: linear_discrepancy(np.ones(3), ONE, 1.0), r"\bP\b"),
    "resamples of moments": (lambda: linear_discrepancy(ONE, ONE, 1.0, resamples=1), "resamples"),
    "loss above the bound": (lambda: worst_case_advantage([0.0], [[0.0, 2.0]], FAIR), "bound"),
    "loss that is missing": (lambda: worst_case_advantage([0.0], [[0.0, np.nan]], FAIR), "bound"),
    "probabilities above 1": (lambda: worst_case_advantage([0.0], [[0.0, 1.0]], [[0.5, 0.6]]), "probabilities"),
    "other shape": (lambda: worst_case_advantage([0.0], [[0.0, 1.0]], [[1.0]]), "probabilities"),
    "causes": (lambda: worst_case_advantage([0.0], [[0.0, 1.0]], FAIR, causes=[0, 1]), "causes"),
    "equal causes": (lambda: worst_case_advantage([0.0], [[0.0, 1.0]] * 2, [[0.5, 0.5], [1, 0]], causes=[0, 0]), "causes"),
    "bound": (lambda: worst_case_advantage([0.0], [[0.0, 1.0]], FAIR, bound=0.0), "bound"),
    "configurations": (lambda: all_configurations([10] * 7), "4,194,304"),
    "regression": (lambda: advantage_by_size(Ridge(), coins, coins, [10]), "regression"),
    "repeats": (lambda: advantage_by_size(Logistic(), coins, coins, [10], repeats=1), "repeats"),
    "no sizes": (lambda: advantage_by_size(Logistic(), coins, coins, []), "sizes"),
    "labels of a derivative": (lambda: dummy_gradient([1.0, 2.0], [0, 2]), r"\by\b"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_wrong_arguments(case):
    check_refused(*CALLS[case])


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "many", None])
def test_number_of_rows(n):
    check_refused(lambda: draw(load_network("sachs"), n), r"^n\b")


# --- networks -----------------------------------------------------------------------------------------

LEVELS = ("a", "b")


@pytest.mark.parametrize(
    ("levels", "parents", "tables", "name"),
    [
        ({}, {}, {}, "'bad'"),
        ({"x": LEVELS}, {"x": ("x",)}, {"x": np.full((2, 2), 0.5)}, "'x'"),
        ({"x": ("a",), "y": ("a",)}, {"x": ("y",), "y": ("x",)}, {}, "'y'"),
        ({"x": LEVELS}, {"x": ("z",)}, {}, "'z'"),
        ({"x": LEVELS}, {"z": ()}, {}, "'z'"),
        ({"x": LEVELS}, {}, {"z": [[1.0]]}, "'z'"),
        ({"x": LEVELS, "y": ("a",)}, {"x": ("y", "y")}, {}, "'y'"),
        ({"x": ("a", "a")}, {}, {}, "'x'"),
        ({"x": ()}, {}, {}, "256"),
        ({"x": tuple(map(str, range(257)))}, {}, {}, "257"),
        ({"x": LEVELS}, {}, {}, "'x'"),
        ({"x": LEVELS}, {}, {"x": np.array([0.5, 0.5])}, r"\(2,\)"),
        ({"x": LEVELS}, {}, {"x": np.array([[0.5, 0.6]])}, r"1\.1"),
        ({"x": LEVELS}, {}, {"x": np.array([[1.5, -0.5]])}, "'x'"),
        ({"x": LEVELS}, {}, {"x": np.array([[np.nan, 1.0]])}, "'x'"),
        ({name: tuple(map(str, range(256))) for name in "abcde"}, {"a": tuple("bcde")}, {"a": [[1]]}, "'a'"),
    ],
)
def test_networks(levels, parents, tables, name):
    others = {other: [[1.0]] for other in levels if other == "y"}
    check_refused(lambda: Network("bad", levels, parents, others | tables), name)


def test_variables_that_a_network_lacks():
    sachs = load_network("sachs")
    for ask in (sachs.children, sachs.markov_blanket, lambda name: sachs.replace_tables({name: np.ones((1, 1))})):
        check_refused(lambda ask=ask: ask("z"), "'z'")
    for graph, name in (({"Akt": ("snow",)}, "'snow'"), ({"Akt": ("Erk",), "Erk": ("Akt",)}, "'Erk'")):
        check_refused(lambda graph=graph: fit_tables(sachs, draw(sachs, 10), graph), name)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda frame: frame.drop(columns="Raf"), "'Raf'"),
        (lambda frame: frame.assign(snow="no"), "'snow'"),
        (lambda frame: frame.assign(Raf="hail"), "'Raf'"),
        (lambda frame: frame.assign(Raf=None), "'Raf'"),
    ],
)
def test_columns_and_levels_of_other_tables(change, name):
    sachs = load_network("sachs")
    frame = to_frame(sachs, draw(sachs, 20)).astype("str")
    check_refused(lambda: to_codes(sachs, change(frame), "people.csv"), rf"^people\.csv.*{name}")


# --- models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "levels", "X", "y", "name"),
    [
        ((0, 0), None, [[0]], [0], "columns"),
        ((-1,), None, [[0]], [0], "columns"),
        ((0,), None, [[0.5], [1.0]], [0, 1], "X"),
        ((0,), None, [[-1], [1]], [0, 1], "X"),
        ((0,), None, [[0], [1]], [0], r"\b2\b.*\b1\b"),
        ((3,), None, [[0], [1]], [0, 1], r"\b1\b.*\b3\b"),
        ((0,), (2,), [[0], [2]], [0, 1], "levels"),
        ((0,), (2, 2), [[0], [1]], [0, 1], "levels"),
        ((0,), None, [[0], [1]], [1, 1], r"\by\b"),
        ((0, 1), (10_000, 10_000), [[0, 0], [1, 1]], [0, 1], r"\(0,\s1\)"),
    ],
)
def test_causal_tables(columns, levels, X, y, name):
    check_refused(lambda: CausalTable(columns, levels).prepare(np.array(X), np.array(y)), name)


def test_causal_tables_that_are_not_prepared_and_sizes():
    X, y = np.tile([[0], [1]], (30, 1)), np.tile([0, 1], 30)
    check_refused(lambda: CausalTable((0,)).fit(X, y, np.random.default_rng(0)), "prepare")
    learner, codes, labels = CausalTable((0,)).prepare(X, y)
    for size in (0, 61):
        check_refused(lambda size=size: learner.check(codes, labels, size), "size")
    learner.check(codes, labels, 60)


X0, Y0 = np.random.default_rng(0).normal(size=(40, 2)), np.tile([0, 1], 20)
FRAME, TURNED = pd.DataFrame(X0, columns=["a", "b"]), pd.DataFrame(X0, columns=["b", "a"])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ([(X0, Y0)], "environments"),
        ([], "environments"),
        ((X0, Y0), "environments"),
        ([(X0, Y0), (X0, np.ones(40, int))], r"\b1\b"),
        ([(X0, Y0), (X0, np.arange(40) % 3)], r"\b3\b"),
        ([(X0, Y0), (X0[:, :1], Y0)], r"\b1\b.*\b0\b.*\b1\b.*\b2\b"),
        ([(FRAME, Y0), (TURNED, Y0)], r"\b1\b.*\b0\b.*\b2\b.*\b2\b"),
        ([(X0, Y0), (X0, Y0[:-1])], "40.*39"),
        ([(X0, Y0), (X0 * np.nan, Y0)], r"0,\s1"),
        ([(X0, Y0), (X0 * 1e30, Y0)], r"e\+30"),
    ],
)
def test_environments_of_invariant_training(given, name):
    check_refused(lambda: IRMLearner(steps=2).fit(given, np.random.default_rng(0)), name)


@pytest.mark.parametrize(
    "setting",
    [{"penalty": -1}, {"penalty": np.nan}, {"steps": 0}, {"batch": 1}, {"anneal": -1}, {"rate": 0}, {"widths": (0,)},
     {"widths": 5}, {"l2": "a"}],
)  # fmt: skip
def test_settings_of_invariant_training(setting):
    check_refused(lambda: IRMLearner(**setting), next(iter(setting)))


def test_records_of_an_invariant_model_and_training_that_diverges():
    learner = IRMLearner(penalty=0.0, steps=2)
    plain, named_columns = (learner.fit([(X, Y0)], np.random.default_rng(0)) for X in (X0, FRAME))
    for model, X, name in (
        (plain, np.ones((4, 3)), r"\b2\b.*\b3\b"),
        (plain, [["a", "b"]], "X"),
        (named_columns, TURNED, "'a'"),
    ):
        check_refused(lambda model=model, X=X: learner.outputs(model, X), name)
    check_refused(
        lambda: IRMLearner(penalty=0.0, steps=50, rate=1e30).fit([(X0, Y0)], np.random.default_rng(0)), "rate"
    )


IMAGES = np.ones((4, 2, 2))


@pytest.mark.parametrize(
    ("images", "digits", "flips", "sizes", "name"),
    [
        (IMAGES, np.arange(3), (0.1,), (2,), r"\(3,\)"),
        (np.ones((4, 2)), np.arange(4), (0.1,), (2,), r"\(4,\s2\)"),
        (7 * IMAGES, np.arange(4), (0.1,), (2,), "uint8"),
        (np.nan * IMAGES, np.arange(4), (0.1,), (2,), "uint8"),
        (IMAGES, np.arange(4), (1.5,), (2,), "flip"),
        (IMAGES, np.arange(4), (0.1, 0.2), (2,), "flips"),
        (IMAGES, np.arange(4), (0.1, 0.2), (2, 3), "5.*4"),
    ],
)
def test_images_that_can_not_be_coloured(images, digits, flips, sizes, name):
    check_refused(lambda: environments(images, digits, flips, sizes, np.random.default_rng(0)), name)


# --- invariant features -----------------------------------------------------------------------------------------------

NORMAL = np.random.default_rng(1).normal(size=200)
WIDE = np.random.default_rng(2).normal(size=(200, 30))
CHANGES = {
    "one environment": ({"environment": np.repeat("p", 200)}, "environment"),
    "missing environment": ({"environment": np.array(["p", None] * 100, dtype=object)}, "100"),
    "one class": ({"y": np.tile([0, 1], 100) | (np.arange(200) >= 100)}, "100"),
    "small environment": ({"environment": np.repeat(["p", "q"], [190, 10])}, "10.*20"),
    "one label": ({"y": np.zeros(200, int)}, r"\by\b"),
    "constant column": ({"X": pd.DataFrame({"a": NORMAL, "b": np.ones(200)})}, "'b'"),
    "environments by classes": ({"y": np.tile([0, 1, 2, 3], 50), "environment": np.tile([0, 0, 1, 1], 50)}, "environment"),
    "environments by values": ({"y": np.linspace(0, 1, 200), "environment": np.arange(200) > 99}, "environment"),
    "environment as column": ({"X": pd.DataFrame({"a": np.repeat(["x", "y"], 100)})}, "'a'"),
    "label as column": ({"X": pd.DataFrame({"a": NORMAL}), "y": 3 * NORMAL + 1}, "'a'"),
    "missing values": ({"X": pd.DataFrame({"a": np.where(NORMAL > 9, NORMAL, np.nan), "b": NORMAL})}, "'a'"),
    "few labels": ({"y": np.zeros(10)}, "200.*10"),
    "no records": ({"X": np.zeros((0, 2)), "y": np.zeros(0)}, "X"),
    "one number": ({"environment": 3}, "environment"),
    "seed": ({"seed": -1}, "seed"),
    "candidates as a number": ({"candidates": 3}, "candidates"),
    "dates": ({"X": pd.DataFrame({"a": pd.date_range("2020", periods=200)})}, "'a'"),
    "images": ({"X": np.zeros((200, 2, 2))}, "X"),
    "confidence": ({"confidence": 95}, "confidence"),
    "unknown test": ({"test": "chow"}, "'chow'"),
    "counts of numbers": ({"test": "counts"}, "'b'"),
    "numbers of texts": ({"test": "linear", "y": np.tile(["u", "v"], 100)}, "'linear'"),
    "classes of numbers": ({"test": "logistic", "y": WIDE[:, 1]}, "'logistic'"),
    "unknown candidate": ({"candidates": ["c"]}, "'c'"),
    "candidates as a text": ({"candidates": "a"}, "candidates"),
    "no candidates": ({"candidates": []}, "candidates"),
    "largest_set": ({"largest_set": -1}, "largest_set"),
    "most_candidates": ({"most_candidates": 0}, "most_candidates"),
    "too many sets": ({"X": WIDE, "candidates": range(30)}, "1,073,741,824"),
    "too many levels": ({"X": pd.DataFrame({"a": NORMAL, "b": np.arange(200).astype(str)})}, "'b'"),
    "too many coefficients": ({"X": pd.DataFrame({"a": NORMAL, "b": (np.arange(200) % 40).astype(str)}),
                               "environment": np.repeat([0, 1], [160, 40])}, "40.*41"),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_environments_of_invariant_features(case):
    change, name = CHANGES[case]
    X, y = pd.DataFrame({"a": NORMAL, "b": WIDE[:, 0]}), np.random.default_rng(0).integers(2, size=200)
    check_refused(
        lambda: invariant_features(**{"X": X, "y": y, "environment": np.repeat(["p", "q"], 100)} | change), name
    )
