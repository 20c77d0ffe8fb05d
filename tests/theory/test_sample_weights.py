"""Sample weights: a whole number of them is that many copies of the record, in every retrained model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.data.records import join_records
from leakscope.defenses import EarlyStopping, apply
from leakscope.models.target import make_target
from leakscope.worlds.training import random_sets, retrain

N = 160


def weighted_target(estimator, fit=None, weights=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 3))
    y = (X[:, 0] + rng.normal(size=2 * N) > 0).astype(int)
    weights = rng.integers(1, 5, 2 * N) if weights is None else weights
    model = estimator.fit(X[:N], y[:N])
    sets = (X[:N], y[:N]), (X[N:], y[N:])
    return make_target(model, *sets, fit=fit, sample_weight=(weights[:N], weights[N:]))


def own_fit(X, y, rng, sample_weight=None):  # noqa: ARG001
    return GaussianNB().fit(X, y, sample_weight)


def asked(points, model, number, indices):  # noqa: ARG001
    return {"answers": model.predict(points)}


class ByCopies:
    """Train without weights on each record as often as its weight says."""

    def __init__(self, learner, weights):
        self.learner, self.weights = learner, weights

    def fit(self, X, y, rng):
        times = self.weights[(X[:, None] == self.everyone[None]).all(axis=2).argmax(axis=1)].astype(int)
        return self.learner.fit(np.repeat(X, times, axis=0), np.repeat(y, times), rng)


@pytest.mark.parametrize(
    ("estimator", "fit"),
    [
        (Ridge(alpha=2.0), None),
        (GaussianNB(), None),
        (make_pipeline(FunctionTransformer(), make_pipeline(GaussianNB())), None),
        (GaussianNB(), own_fit),
    ],
    ids=["ridge", "naive Bayes", "nested pipeline", "own function"],
)
def test_whole_weights_are_copies_of_records_in_every_retrained_model(estimator, fit):
    target = weighted_target(estimator, fit)
    everyone, design = join_records(target.members, target.nonmembers), random_sets(2 * N, N, 6, seed=1)
    copies = ByCopies(target.learner, everyone.weights)
    copies.everyone = everyone.X

    def observe(model, number, indices):
        return asked(everyone.X, model, number, indices)

    assert target.learner.takes_weights
    by_weight = retrain(target.learner, everyone.X, everyone.y, design, observe, seed=0, weights=everyone.weights)
    by_copies = retrain(copies, everyone.X, everyone.y, design, observe, seed=0)
    plain = retrain(target.learner, everyone.X, everyone.y, design, observe, seed=0)
    for one, other, without in zip(by_weight, by_copies, plain, strict=True):
        np.testing.assert_allclose(one["answers"], other["answers"], rtol=1e-6, atol=1e-9)
        assert np.abs(one["answers"] - without["answers"]).max() > 1e-3


class Recorded(GaussianNB):
    """Remember what every training got."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Recorded.seen.append((np.array(X), sample_weight))
        return super().fit(X, y, sample_weight)


def test_every_training_of_an_audit_gets_the_weights_of_its_rows():
    rng = np.random.default_rng(0)
    weights = rng.random(2 * N)
    target = weighted_target(Recorded(), weights=weights)
    everyone = join_records(target.members, target.nonmembers)
    Recorded.seen.clear()
    result = ls.audit(target, references=2, workers=1)
    assert len(Recorded.seen) >= 8
    for X, given in Recorded.seen:
        rows = (X[:, None] == everyone.X[None]).all(axis=2).argmax(axis=1)
        np.testing.assert_array_equal(given, weights[rows])
    assert result.settings["sample weights"] is True
    assert "weights_not_used" not in {warning.code for warning in result.warnings}
    assert "sample weights" not in ls.audit(weighted_target(GaussianNB()).model, *_sets(), references=0).settings


def _sets():
    target = weighted_target(GaussianNB())
    return tuple((side.X, side.y) for side in (target.members, target.nonmembers))


@pytest.mark.parametrize(
    "fit", [None, lambda X, y, rng: KNeighborsClassifier().fit(X, y)], ids=["estimator", "function"]
)
def test_a_learner_without_weights_is_noticed(fit):
    result = ls.audit(weighted_target(KNeighborsClassifier(), fit), references=2)
    assert result.settings["sample weights"] is False
    assert [warning.code for warning in result.warnings].count("weights_not_used") == 1


def test_a_comparison_states_which_versions_are_trained_without_weights():
    target = weighted_target(LogisticRegression())
    found = ls.compare(target, defenses=["l2", "distillation"], references=2)
    (said,) = [warning for warning in found.warnings if warning.code == "weights_not_used"]
    assert said.values["models"]
    assert all(name.startswith("distillation") for name in said.values["models"])
    assert found.settings["sample weights"] is True


def test_defended_models_get_the_weights():
    from sklearn.ensemble import GradientBoostingClassifier

    target = weighted_target(GradientBoostingClassifier(n_estimators=4, random_state=0))
    defended = apply(EarlyStopping([2]), target, 2)
    direct = GradientBoostingClassifier(n_estimators=2, random_state=0)
    direct.fit(target.members.X, target.members.y, sample_weight=target.members.weights)
    np.testing.assert_allclose(defended.model.predict(target.members.X), direct.predict_proba(target.members.X))


def test_the_cache_tells_weights_apart(tmp_path):
    first, second = (weighted_target(GaussianNB(), weights=np.random.default_rng(k).random(2 * N)) for k in (0, 1))
    cached = [ls.audit(target, references=2, cache=tmp_path).strongest for target in (first, second)]
    assert cached == [ls.audit(target, references=2).strongest for target in (first, second)]


def test_a_column_of_weights_is_not_a_feature():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=80), "weight": rng.random(80)})
    y = np.arange(80) % 2
    model = GaussianNB().fit(table[["age"]].to_numpy(), y, table["weight"])
    target = make_target(model, (table, y), (table + 1, y), sample_weight="weight")
    assert list(target.members.X) == ["age"]
    np.testing.assert_array_equal(target.nonmembers.weights, table["weight"] + 1)
    np.testing.assert_array_equal(target.members.take([3, 1]).weights, table["weight"][[3, 1]])


GOOD = np.ones(4)


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        ("wieght", "did you mean 'weight'"),
        (GOOD, "lacks the weights of the holdout"),
        ((GOOD, GOOD[:3]), "the holdout has 4 records but 3 weights"),
        ((GOOD - 2, GOOD), "the training set are negative in 4 of 4 records"),
        ((GOOD, np.array([1.0, np.nan, 1.0, 1.0])), "missing or infinite in 1 of 4 records.*row 1"),
        ((GOOD, GOOD * np.inf), "missing or infinite"),
        ((GOOD, 0 * GOOD), "all zero"),
        ((GOOD, np.array(list("abcd"))), "not numbers"),
    ],
)
def test_wrong_weights_are_refused_in_one_sentence(weights, named):
    table, y = pd.DataFrame({"age": np.arange(4.0), "weight": GOOD}), [0, 1, 0, 1]
    with pytest.raises(InputError, match=named) as caught:
        make_target(lambda X: np.full((len(X), 2), 0.5), (table, y), (table, y), sample_weight=weights)
    assert "\n" not in str(caught.value)
