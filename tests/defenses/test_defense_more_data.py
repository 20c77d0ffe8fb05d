"""More data: training on the training set and the further records, none that is judged among them."""

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from leakscope.defenses import MoreData, apply
from leakscope.models.target import make_target

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


def test_tables_keep_their_categories_and_lose_columns_that_the_model_does_not_know():
    table = pd.DataFrame({"age": X[:, 0], "job": np.where(X[:, 1] > 0, "cook", "judge")})
    train, holdout = table[TRAIN].astype({"job": "category"}), table[HOLDOUT].astype({"job": "category"})
    trees = LGBMClassifier(n_estimators=3, min_child_samples=2, verbose=-1, n_jobs=1).fit(train, LABELS[TRAIN])
    target = make_target(trees, (train, LABELS[TRAIN]), (holdout, LABELS[HOLDOUT]))
    further = table[MORE].assign(street="somewhere")[["street", "job", "age"]]
    before = further.copy()
    more = MoreData((further, pd.Series(LABELS[MORE], index=further.index)))
    assert apply(more, target, 1.0).model.predict(holdout).shape == (30, 2)
    assert "40" in more.defend(target, 1.0).notes[0]
    pd.testing.assert_frame_equal(further, before)


def test_records_that_are_judged_are_left_out():
    target = target_of(LinearRegression())
    clean, mixed = (MoreData((X[first:], y[first:])).defend(target, 1.0) for first in (60, 20))
    assert np.array_equal(*(made.learner.fit(X[:9], y[:9], rng).predict(X) for made in (clean, mixed)))
    assert "40" in mixed.notes[1]
    assert len(clean.notes) == 2


def test_judged_records_alone_and_wrong_input_are_refused():
    values, classes = target_of(LinearRegression()), target_of(LogisticRegression(), LABELS)
    assert MoreData((X[MORE], y[MORE])).refuse(values) is None
    for records, target, named in [
        (None, values, "--more"),
        ((X[:60], y[:60]), values, ""),  # all of them are judged
        ((X[MORE, :2], y[MORE]), values, "(2,)"),
        ((pd.DataFrame(X[MORE]), y[MORE]), values, "DataFrames"),
        ((X[MORE], LABELS[MORE]), values, "labels"),
        ((X[60:62], ["yes", "perhaps"]), classes, "1"),  # the row
    ]:
        assert named in MoreData(records).refuse(target)
