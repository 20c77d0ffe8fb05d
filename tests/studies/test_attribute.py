"""Attribute inference: its measures, what it takes, and what it refuses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from refusals import check_refused
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from leakscope.attacks import ATTRIBUTE_ATTACKS, inversion, learned_attribute
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import auc as auc_interval
from leakscope.core.intervals import mean_difference, paired_auc_difference
from leakscope.core.ranking import Ranking, Scale, split
from leakscope.studies.attributes import attribute_inference, attributes, measures
from leakscope.studies.attributes.columns import as_numbers, replaced
from leakscope.studies.attributes.measures import InferredLevels, decide
from leakscope.studies.attributes.reading import deal
from leakscope.studies.attributes.result import AttributeRisk, SensitiveColumn, column_claims

# --- measures -------------------------------------------------------------------------------------------------------


def judgement(levels, n, rng, skill=0.5):
    """Guesses that are right a little more often than a coin, in two halves."""
    share = rng.dirichlet(np.full(levels, 5.0))
    level = rng.choice(levels, n, p=share)
    probability = rng.dirichlet(np.ones(levels), n) + skill * np.eye(levels)[level] * rng.random((n, 1))
    probability /= probability.sum(axis=1, keepdims=True)
    return InferredLevels(probability, decide(probability, share), level, np.arange(n) % 2)


def over_halves(found, figure):
    """The mean over levels of a figure, in each half, weighted as harmonic sums of the counts."""
    parts, weights = [], []
    for half in (0, 1):
        part = found.take(np.flatnonzero(found.half == half))
        parts.append(np.mean([figure(part, part.level == v, v) for v in range(found.levels)]))
        weights.append(1 / sum(1 / np.sum(part.level == v) for v in range(found.levels)))
    return np.average(parts, weights=weights)


def literal_advantage(found):
    """True minus false positives."""
    return over_halves(found, lambda part, own, v: np.mean(part.said[own] == v) - np.mean(part.said[~own] == v))


def literal_auc(found):
    def area(part, own, v):
        s, t = part.probability[own, v], part.probability[~own, v]
        return np.mean((s[:, None] > t) + 0.5 * (s[:, None] == t))

    return over_halves(found, area)


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_values_are_those_of_loops(levels):
    rng = np.random.default_rng(levels)
    found, other = judgement(levels, 400, rng), judgement(levels, 400, rng)
    other = other._replace(level=found.level)
    assert measures.advantage(found, 0.95).value == pytest.approx(literal_advantage(found), abs=1e-12)
    assert measures.auc(found, 0.95).value == pytest.approx(literal_auc(found), abs=1e-12)
    for gain, literal in ((measures.gain, literal_advantage), (measures.auc_gain, literal_auc)):
        assert gain(found, other, 0.95).value == pytest.approx(literal(found) - literal(other), abs=1e-12)


def test_for_two_levels_they_are_the_measures_of_membership():
    # [tople2020, Def. 8]
    rng = np.random.default_rng(0)
    found, other = judgement(2, 500, rng), judgement(2, 500, rng)
    other = other._replace(level=found.level)
    member, scale = found.level == 1, Scale(found.half, np.zeros_like(found.half))
    parts, others = (split(one.probability[:, 1], member, scale) for one in (found, other))
    for ours, theirs, error in (
        (measures.advantage(found, 0.95), mean_difference(split(found.said.astype(float), member, scale)), 1e-12),
        (measures.auc(found, 0.95), auc_interval(Ranking.of(parts)), 1e-9),
        (measures.auc_gain(found, other, 0.95), paired_auc_difference(parts, others)(0.95), 1e-9),
    ):
        assert [ours.value, ours.low, ours.high] == pytest.approx([theirs.value, theirs.low, theirs.high], abs=error)


@pytest.mark.parametrize("levels", [2, 4])
def test_intervals_cover(levels):
    """Of 400 samples 95 % hold the truth of 200,000 records, or more since the errors of halves are added up.

    Two halves that share nothing have errors that are added in squares: the interval is √2 too wide, and holds the truth
    with 2Φ(1.96·√2) - 1 = 99.4 %. What must not be is fewer than 95 % less 2.5 standard errors, which are 0.027.
    """
    rng = np.random.default_rng(levels)
    whole, base = judgement(levels, 200_000, rng), judgement(levels, 200_000, rng, skill=0.2)
    base = base._replace(level=whole.level, probability=(base.probability + whole.probability) / 2)
    figures = {
        "advantage": lambda one, two: measures.advantage(one, 0.95),
        "gain": lambda one, two: measures.gain(one, two, 0.95),
        "auc": lambda one, two: measures.auc(one, 0.95),
        "auc_gain": lambda one, two: measures.auc_gain(one, two, 0.95),
    }
    truth = {name: figure(whole, base).value for name, figure in figures.items()}
    hits = dict.fromkeys(figures, 0)
    for _ in range(400):
        rows = rng.choice(200_000, 160, replace=False)
        sample = [one.take(rows)._replace(half=np.arange(160) % 2) for one in (whole, base)]
        for name, figure in figures.items():
            estimate = figure(*sample)
            hits[name] += estimate.low <= truth[name] <= estimate.high
    assert all(count >= 400 * (0.95 - 0.027) for count in hits.values()), hits


def test_the_decision_has_the_largest_advantage():
    """Of all 3⁴ rules over four things that can be seen, by enumeration."""
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(12)).reshape(4, 3)  # seen, level
    share = joint.sum(axis=0)

    def advantage(rule):
        rates = [(joint[rule == v, v].sum() / share[v], joint[rule == v].sum() - joint[rule == v, v].sum()) for v in range(3)]  # fmt: skip
        return np.mean([right - wrong / (1 - share[v]) for v, (right, wrong) in enumerate(rates)])

    best = max(advantage(np.array(rule)) for rule in np.ndindex(3, 3, 3, 3))
    ours = decide(joint / joint.sum(axis=1, keepdims=True), share)
    assert advantage(ours) == pytest.approx(best, abs=1e-12)


def test_halves_have_as_many_of_each_level_and_side():
    rng = np.random.default_rng(0)
    level, member = rng.integers(0, 3, 301), rng.random(301) < 0.3
    half = deal(level, member, rng)
    for v in range(3):
        for side in (False, True):
            assert abs(np.sum(half[(level == v) & (member == side)] * 2 - 1)) <= 1


# --- any model and any records --------------------------------------------------------------------------------------


def people(n=300, seed=0):
    """Sex goes with the height, and income with both."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    height = rng.normal(165 + 10 * (sex == "m"), 7)
    town = pd.Categorical(rng.choice(["a", "b", "c"], n))
    income = np.where(rng.random(n) < np.where(sex == "m", 0.8, 0.3), "high", "low")
    return pd.DataFrame({"sex": sex, "height": height, "town": town}), pd.Series(income, name="income")


def pipeline(X, y, estimator=None):
    encode = make_column_transformer((OneHotEncoder(), ["sex", "town"]), remainder="passthrough")
    return make_pipeline(encode, estimator or LogisticRegression(max_iter=2000)).fit(X, y)


def of_sex(n=200, **options):
    """Attribute inference of sex from a pipeline that was trained on it."""
    X, y = people(n)
    return attribute_inference(pipeline(X, y), X, y, "sex", **options)


def test_a_pipeline_on_a_table_of_texts():
    X, y = people()
    before = X.copy()
    found = attribute_inference(pipeline(X, y), X, y, "sex")
    assert X.equals(before)
    assert found.column == SensitiveColumn("sex", 2, ("height", "town"))
    assert found.records.attack("inversion of the output").advantage.value == 1.0
    assert found.records.attacks[0].gain.low > 0
    assert found.members is None


def test_a_model_that_was_fitted_without_the_feature_and_known_columns_in_any_order():
    X, y = people()
    model = LogisticRegression().fit(X[["height"]], y)
    found = attribute_inference(model, X, y, "sex", known=["town", "height"], knows_label=False).records
    assert found.attack("output").gain.value == 0.0
    assert found.attack("learned").beyond_control.value == 0.0
    assert found.baseline_advantage.low > 0.1  # height tells of sex
    assert len(found.attacks) == 2


def test_arrays_torch_modules_labels_alone_and_regression():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
    network = torch.nn.Linear(3, 2)
    found = attribute_inference(network, X, y, 1, outputs="logits")
    assert found.records.attack("inversion of the output").advantage.value == 1.0
    labels = attribute_inference(LinearSVC().fit(X, y), X, y, 1, knows_label=False, confidence=0.999).records
    gain = labels.attack("output").gain  # the label is 1 unless both are 0: it tells all where the first is 0
    assert gain.low <= 0.5 <= gain.high
    values = attribute_inference(LinearRegression().fit(X, X @ [1.0, 2.0, 0.5]), X, X @ [1.0, 2.0, 0.5], 1).records
    assert values.attack("inversion of the output").advantage.value == 1.0


def test_twenty_five_classes_and_five_levels():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (400, 2))
    table = rng.dirichlet(np.ones(25), (5, 5))
    y = rng.integers(0, 25, 400)
    found = attribute_inference(lambda X: table[X[:, 0], X[:, 1]], X, y, 1, classes=np.arange(25)).records
    assert found.attack("learned").gain.low > 0.3
    assert found.attack("output").advantage.value == 1.0


def test_training_records_are_compared_with_the_others():
    X, y = people(200)
    other, other_y = people(200, seed=1)
    found = attribute_inference(pipeline(X, y), other[["town", "sex", "height"]], other_y, "sex", train=(X, y))
    assert found.members is not None
    assert [one.attack for one in found.members.attacks] == [attack.name for attack in ATTRIBUTE_ATTACKS.values()]
    beyond = [one.beyond_holdout for one in found.members.attacks]
    assert all(gain.low <= 0 <= gain.high for gain in beyond)  # a linear model remembers nobody
    assert all(one.beyond_holdout is None for one in found.records.attacks)


def test_the_seed_decides_the_numbers():
    one, same, other = (of_sex(120, known=["town"], seed=seed) for seed in (0, 0, 1))
    assert one == same
    assert one.records != other.records


def test_some_of_the_records_are_judged():
    found = of_sex(most=60, attacks=[inversion("output")])
    assert found.records.records == 60
    assert found.records.strongest.attack == "inversion of the output"


def test_coarser_answers_give_less_away():
    X, y = np.random.default_rng(0).integers(0, 2, (300, 2)), np.arange(300) % 2
    found = {
        digits: attribute_inference(lambda X: 0.3 + 0.1 * X[:, 1], X, y, 1, digits=digits, attacks=learned_attribute())
        for digits in (None, 1, 0)
    }
    assert [found[digits].records.strongest.advantage.value for digits in (None, 1)] == [1.0, 1.0]
    assert found[0].records.strongest.gain.value == 0.0  # 0.3 and 0.4 are both 0


def test_an_attacker_who_knows_nothing_has_no_advantage_without_the_model():
    found = of_sex(known=[], knows_label=False).records
    assert found.baseline_advantage.value == 0.0
    assert found.baseline_auc.value == 0.5


# --- the study and its claims ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (600, 3)), columns=["used", "unused", "other"])

    def model(X):
        return 0.2 + 0.3 * X["used"].to_numpy() + 0.1 * X["other"].to_numpy()

    sets = [(X[part], rng.integers(0, 2, 300)) for part in (slice(300), slice(300, None))]
    return attributes(model, *sets, sensitive=["used", "unused"], known=["used", "other"])


def test_claims_of_each_column_are_decided_from_its_intervals(two_columns):
    used, unused = (
        {claim.code: claim for claim in two_columns.claims if claim.subject == {"column": name}}
        for name in ("used", "unused")
    )
    decided = {"attribute_leak": "yes", "uses_column": "yes", "members_leak_more": "inconclusive"}
    assert {code: claim.outcome for code, claim in used.items()} == decided
    assert unused["uses_column"].outcome == "inconclusive"
    assert used["attribute_leak"].estimates["gain"].value == max(found.gain.value for found in two_columns.of("used"))
    assert [column.known for column in two_columns.columns] == [("other",), ("used", "other")]
    assert [caveat.code for caveat in two_columns.warnings] == ["columns_not_simultaneous"]


def test_one_column_gives_the_numbers_of_the_function_for_one():
    X, y = people(200)
    study = attributes(pipeline(X, y), None, (X, y), sensitive="sex", seed=3)
    assert study.findings == of_sex(seed=3).findings
    assert study.warnings == ()


def test_a_leak_by_auc_alone_counts_and_small_gains_are_excluded(two_columns):
    (found, *_) = two_columns.of("unused")
    none = Estimate(0.0, -0.02, 0.02)
    quiet = replace(found, gain=none, gain_auc=none, beyond_control=None)

    def outcome(**change):
        risk = AttributeRisk("model", two_columns.columns[1], (quiet, replace(quiet, **change)))
        return next(column_claims(risk, 0.05)).outcome

    assert outcome() == "no"
    assert outcome(gain=Estimate(0.0, -0.06, 0.06)) == "inconclusive"
    assert outcome(gain_auc=Estimate(0.03, 0.01, 0.05)) == "yes"


# --- columns --------------------------------------------------------------------------------------------------------


def test_replaced_columns_keep_their_type():
    X, _ = people(5)
    rows, donors = np.array([0, 0, 1]), np.array([4, 3, 2])
    made = replaced(X, rows, ["town", "sex"], donors)
    assert made.dtypes.equals(X.dtypes)
    assert made["town"].tolist() == X["town"].iloc[donors].tolist()
    assert made["height"].tolist() == X["height"].iloc[rows].tolist()


def test_texts_become_codes_without_an_order_and_gaps_stay_gaps():
    X = pd.DataFrame({"a": ["x", None, "y"], "b": [1.0, np.nan, np.inf], "c": [True, False, True]})
    table, unordered = as_numbers(X, ["a", "b", "c"])
    assert unordered.tolist() == [True, False, False]
    assert table[:, 0].tolist() == [1, 0, 2]
    assert table[:, 2].tolist() == [1, 0, 1]
    assert np.isnan(table[:, 1]).tolist() == [False, True, True]


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"sensitive": "age"}, "'age'"),
        ({"sensitive": ["sex"]}, "'sex'"),
        ({"sensitive": "income"}, "'income'"),
        ({"sensitive": "label"}, "'label'"),
        ({"sensitive": "height"}, "'height'.*100"),
        ({"sensitive": "constant"}, "'constant'"),
        ({"sensitive": "gap"}, "'gap'.*3"),
        ({"sensitive": "rare"}, "'rare'"),
        ({"known": ["age", "town"]}, "'age'"),
        ({"known": "town"}, "known"),
        ({"known": ["sex"]}, "'sex'"),
        ({"rows": 39}, "39.*40"),
        ({"confidence": 2}, "confidence"),
        ({"seed": -1}, "seed"),
        ({"most": 3}, "most"),
        ({"digits": 1.5}, "digits"),
        ({"attacks": ["inversion"]}, "attacks"),
        ({"attacks": []}, "attacks"),
        ({"attacks": [inversion("label")], "knows_label": False}, "knows_label"),
        ({"model": "a name"}, "str"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, name):
    X, y = people(100)
    model = LogisticRegression().fit(X[["height"]], y)
    X = X.assign(label=y, constant=1, gap=["a", "b"] * 50, rare=["z"] + ["x", "y", "x"] * 33)
    X.loc[:2, "gap"] = None
    settings = {"sensitive": "sex", "model": model} | change
    rows = settings.pop("rows", 100)
    check_refused(lambda: attribute_inference(X=X[:rows], y=y[:rows], **settings), name)


def test_pictures_and_other_sees_are_refused():
    X, y = np.zeros((50, 3, 3)), np.arange(50) % 2
    check_refused(lambda: attribute_inference(lambda X: X[:, 0, 0], X, y, 0), r"\(3,\s3\)")
    check_refused(lambda: inversion("loss"), "'loss'")
