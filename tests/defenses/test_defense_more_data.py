"""More data: training on the training set and the further records, none that is judged among them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from leakscope.defenses import MoreData, apply
from leakscope.errors import InputError
from leakscope.target import make_target

rng = np.random.default_rng(8)
X = rng.normal(size=(100, 3))
y = X @ [1.0, 2.0, 0.0] + rng.normal(size=100)
LABELS = np.where(y > 0, "yes", "no")
TRAIN, HOLDOUT, MORE = slice(0, 30), slice(30, 60), slice(60, 100)


def target_of(estimator, y=y):
    return make_target(estimator.fit(X[TRAIN], y[TRAIN]), (X[TRAIN], y[TRAIN]), (X[HOLDOUT], y[HOLDOUT]))


def test_the_model_is_that_of_both_sets_together():
    rows = np.r_[TRAIN, MORE]
    more = MoreData((X[MORE], y[MORE]))
    expected = LinearRegression().fit(X[rows], y[rows]).predict(X)
    assert np.allclose(apply(more, target_of(LinearRegression()), 1.0).model.predict(X), expected)
    more = MoreData((X[MORE], LABELS[MORE]))
    expected = LogisticRegression().fit(X[rows], LABELS[rows]).predict_proba(X)
    assert np.allclose(apply(more, target_of(LogisticRegression(), LABELS), 1.0).model.predict(X), expected)


def test_the_mean_of_a_share_has_its_closed_form_and_larger_shares_hold_smaller_ones():
    """The model is the mean of all training values; each further record has value 2^place, so that the mean tells which."""
    powers = 2.0 ** np.arange(10)
    target = target_of(DummyRegressor(), np.zeros(100))
    held = []
    for share in (0.2, 0.5, 1.0):
        more = MoreData((X[60:70], powers), shares=share)
        total = round(float(apply(more, target, share).model.predict(X[:1])[0]) * (30 + 10 * share))
        held.append({place for place in range(10) if total >> place & 1})
        assert len(held[-1]) == 10 * share
    assert held[0] < held[1] < held[2]


def test_halves_repeat_to_the_last_bit_after_pickling():
    target = target_of(LogisticRegression(), LABELS)
    learner = pickle.loads(pickle.dumps(MoreData((X[MORE], LABELS[MORE])).defend(target, 0.5).learner))
    models = [learner.fit(X[:30:2], target.members.y[::2], np.random.default_rng(0)) for _ in range(2)]
    assert np.array_equal(models[0].predict(X), models[1].predict(X))
    again, other = (MoreData((X[MORE], LABELS[MORE])).defend(target, share).learner for share in (0.5, 1.0))
    assert again.key == learner.key != other.key


def test_tables_keep_their_categories_and_lose_columns_that_the_model_does_not_know():
    table = pd.DataFrame({"age": X[:, 0], "job": np.where(X[:, 1] > 0, "cook", "judge")})
    train, holdout = table[TRAIN].astype({"job": "category"}), table[HOLDOUT].astype({"job": "category"})
    trees = LGBMClassifier(n_estimators=3, min_child_samples=2, verbose=-1, n_jobs=1).fit(train, LABELS[TRAIN])
    target = make_target(trees, (train, LABELS[TRAIN]), (holdout, LABELS[HOLDOUT]))
    further = table[MORE].assign(street="somewhere")[["street", "job", "age"]]
    before = further.copy()
    more = MoreData((further, pd.Series(LABELS[MORE], index=further.index)))
    assert apply(more, target, 1.0).model.predict(holdout).shape == (30, 2)
    assert more.defend(target, 1.0).notes[0] == "40 further records are in every training set"
    pd.testing.assert_frame_equal(further, before)


def test_records_that_are_judged_are_left_out():
    target = target_of(LinearRegression())
    clean, mixed = (MoreData((X[first:], y[first:])).defend(target, 1.0) for first in (60, 20))
    assert np.array_equal(*(made.learner.fit(X[:9], y[:9], rng).predict(X) for made in (clean, mixed)))
    assert mixed.notes[1] == "40 further records equal a training record or a held-out one and are left out"
    assert len(clean.notes) == 2


def test_judged_records_alone_and_wrong_input_end_in_a_sentence():
    target = target_of(LinearRegression())
    assert "--more more.csv" in MoreData().refuse(target)
    assert MoreData((X[MORE], y[MORE])).refuse(target) is None
    assert "all further records are training records or held-out ones" in MoreData((X[:60], y[:60])).refuse(target)
    assert "shape (2,)" in MoreData((X[MORE, :2], y[MORE])).refuse(target)
    assert "both be DataFrames" in MoreData((pd.DataFrame(X[MORE]), y[MORE])).refuse(target)
    assert "labels that are not numbers" in MoreData((X[MORE], LABELS[MORE])).refuse(target)
    classifier = target_of(LogisticRegression(), LABELS)
    assert "labels that the model never saw, in 1 of 2 records, the first in row 1" in MoreData(
        (X[60:62], ["yes", "perhaps"])
    ).refuse(classifier)
    alone = make_target(lambda X: X[:, 0], (X, y), (X, y), task="regression")
    assert "can't be trained again" in MoreData((X[MORE], y[MORE])).refuse(alone)
    with pytest.raises(InputError, match="the further data has 40 records but 3 labels"):
        MoreData((X[MORE], y[:3]))
    with pytest.raises(InputError, match="the further data must be a pair"):
        MoreData(X[MORE])
    with pytest.raises(InputError, match="the share of further records must be above 0, up to 1, not 2"):
        MoreData((X[MORE], y[MORE]), shares=2)
