"""Boosters, text models and models with categories are audited, or refused with a remedy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from leakscope.core.errors import InputError
from leakscope.models.files import load_model
from leakscope.models.target import make_target

rng = np.random.default_rng(5)
HALF = 100
NUMBERS = rng.normal(size=(2 * HALF, 3))
y = (NUMBERS[:, 0] + rng.normal(size=2 * HALF) > 0).astype(int)
THREE = np.digitize(NUMBERS[:, 0], [-0.5, 0.5])
CITY = np.where(NUMBERS[:, 1] > 0, "here", "there")
TABLE = pd.DataFrame({"the age": NUMBERS[:, 0], "hours": NUMBERS[:, 2], "the city": pd.Categorical(CITY)})
TEXTS = [f"{'good' if label else 'bad'} word{number % 17}" for number, label in enumerate(y)]


def halves(X, labels=y):
    return (X[:HALF], labels[:HALF]), (X[HALF:], labels[HALF:])


def seeds():
    return np.random.default_rng(0)


# --- LightGBM ---------------------------------------------------------------------------------------------------------


def fitted_lightgbm(X):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(X[:HALF], y[:HALF])


def test_lightgbm_finds_the_columns_that_it_renamed():
    model = fitted_lightgbm(TABLE)
    assert list(model.feature_names_in_) == ["the_age", "hours", "the_city"]
    shuffled = TABLE[["hours", "the city", "the age"]].assign(extra=1)
    target = make_target(model, *halves(shuffled))
    assert list(target.members.X.columns) == ["the_age", "hours", "the_city"]
    assert np.array_equal(target.model.predict(target.nonmembers.X), model.predict_proba(TABLE[HALF:]))
    again = target.learner.fit(target.members.X, target.members.y, seeds())
    assert np.array_equal(again.predict(target.nonmembers.X), model.predict_proba(TABLE[HALF:]))


def test_an_exact_name_goes_before_a_renamed_one_and_a_lacking_column_is_named():
    both = pd.DataFrame({"a b": NUMBERS[:, 1], "a_b": NUMBERS[:, 0]})
    model = fitted_lightgbm(both[["a_b"]])
    assert np.array_equal(make_target(model, *halves(both)).members.X["a_b"], NUMBERS[:HALF, 0])
    with pytest.raises(InputError, match="'a_b'"):
        make_target(model, *halves(both[["a b"]].rename(columns={"a b": "c"})))


def test_lightgbm_fitted_on_an_array_takes_a_table():
    model = fitted_lightgbm(NUMBERS)
    target = make_target(model, *halves(pd.DataFrame(NUMBERS, columns=["age", "sex", "hours"])))
    assert np.array_equal(target.model.predict(target.nonmembers.X), model.predict_proba(NUMBERS[HALF:]))
    with pytest.raises(InputError, match=r"\b3\b.*\b2\b"):
        make_target(model, *halves(pd.DataFrame(NUMBERS[:, :2], columns=["age", "sex"])))


# --- native boosters --------------------------------------------------------------------------------------------------


def xgboost_booster(X, labels, **settings):
    xgboost = pytest.importorskip("xgboost")
    settings = {"objective": "binary:logistic", "nthread": 1} | settings
    return xgboost.train(settings, xgboost.DMatrix(X, labels, enable_categorical=True), 5)


def lightgbm_booster(X, labels, **settings):
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"objective": "binary", "num_threads": 1, "verbose": -1} | settings
    return lightgbm.train(settings, lightgbm.Dataset(X, labels), 5)


def fitted_xgboost(X):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=5, n_jobs=1, enable_categorical=True).fit(X[:HALF], y[:HALF])


@pytest.mark.parametrize(
    ("library", "train", "estimator", "tolerance"),
    [("xgboost", xgboost_booster, fitted_xgboost, 1e-6), ("lightgbm", lightgbm_booster, fitted_lightgbm, 1e-12)],
)
def test_a_booster_gives_what_the_estimator_gives(library, train, estimator, tolerance):
    target = make_target(train(TABLE[:HALF], y[:HALF]), *halves(TABLE))
    assert (target.model.name, target.learner) == (f"{library} Booster", None)
    np.testing.assert_allclose(target.model.predict(TABLE), estimator(TABLE).predict_proba(TABLE), atol=tolerance)


@pytest.mark.parametrize("train", [xgboost_booster, lightgbm_booster])
def test_a_booster_is_trained_again_by_fit_and_its_classes_may_be_words(train):
    def fit(X, labels, rng=None):  # noqa: ARG001
        return train(X, (labels == "yes").astype(int))

    words = np.where(y == 1, "yes", "no")
    target = make_target(fit(NUMBERS[:HALF], words[:HALF]), *halves(NUMBERS, words), fit=fit)
    assert target.model.classes.tolist() == ["no", "yes"]
    again = target.learner.fit(target.members.X, target.members.y, seeds())
    assert np.array_equal(again.predict(NUMBERS), target.model.predict(NUMBERS))
    assert target.model.predict(NUMBERS)[y == 1, 1].mean() > 0.5


def test_boosters_of_several_classes_need_probabilities():
    probable = xgboost_booster(NUMBERS[:HALF], THREE[:HALF], objective="multi:softprob", num_class=3)
    assert make_target(probable, *halves(NUMBERS, THREE)).model.predict(NUMBERS).shape == (2 * HALF, 3)
    labels = xgboost_booster(NUMBERS[:HALF], THREE[:HALF], objective="multi:softmax", num_class=3)
    with pytest.raises(InputError, match=r"\b3\b.*--task"):
        make_target(labels, *halves(NUMBERS, THREE))
    raw = xgboost_booster(NUMBERS[:HALF], y[:HALF], objective="binary:logitraw")
    with pytest.raises(InputError, match='outputs="logits"'):
        make_target(raw, *halves(NUMBERS))
    assert make_target(raw, *halves(NUMBERS), outputs="logits").model.predict(NUMBERS).shape == (2 * HALF, 2)


def test_training_that_needs_more_than_records_and_labels_points_to_fit():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=5, n_jobs=1, early_stopping_rounds=2)
    model.fit(NUMBERS[:HALF], y[:HALF], eval_set=[(NUMBERS[:HALF], y[:HALF])], verbose=False)
    target = make_target(model, *halves(NUMBERS))
    with pytest.raises(InputError, match=r"XGBClassifier.*fit="):
        target.learner.fit(target.members.X, target.members.y, seeds())


# --- texts and categories ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vectorizer", [CountVectorizer(), TfidfVectorizer(), HashingVectorizer(n_features=64)])
def test_a_pipeline_of_texts_takes_a_table_with_that_one_column(vectorizer):
    model = make_pipeline(vectorizer, LogisticRegression()).fit(TEXTS[:HALF], y[:HALF])
    expected = model.predict_proba(TEXTS[HALF:])
    for records in (TEXTS, pd.Series(TEXTS), pd.DataFrame({"note": TEXTS}), np.array(TEXTS, dtype=object)[:, None]):
        target = make_target(model, *halves(records))
        assert np.array_equal(target.model.predict(target.nonmembers.X), expected)
        again = target.learner.fit(target.members.X, target.members.y, seeds())
        np.testing.assert_allclose(again.predict(target.nonmembers.X), expected)


def test_a_search_over_a_pipeline_of_texts_takes_a_table_too_and_two_columns_are_refused():
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    model = GridSearchCV(pipeline, {"logisticregression__C": [1.0]}, cv=2).fit(TEXTS[:HALF], y[:HALF])
    table = pd.DataFrame({"note": TEXTS})
    target = make_target(model, *halves(table))
    assert np.array_equal(target.model.predict(table), model.predict_proba(TEXTS))
    with pytest.raises(InputError, match=r"\b2\b.*--drop"):
        make_target(model, *halves(table.assign(age=1)))


def test_categories_that_became_text_are_named():
    model = HistGradientBoostingClassifier(max_iter=5).fit(TABLE[:HALF], y[:HALF])
    target = make_target(model, *halves(TABLE))
    texts = TABLE.astype({"the city": str})
    with pytest.raises(InputError, match=r"'the.city'"):
        target.learner.fit(texts[:HALF], target.members.y, seeds())


def test_a_model_that_needs_categories_to_predict_names_the_text():
    with pytest.raises(InputError, match=r"LGBMClassifier.*'the_city'"):
        make_target(fitted_lightgbm(TABLE), *halves(TABLE.astype({"the city": str})))


def test_a_model_file_in_another_format_is_sent_to_python(tmp_path):
    path = tmp_path / "model.json"
    xgboost_booster(NUMBERS, y).save_model(path)
    with pytest.raises(InputError, match=r"model\.json'.*leakscope\.audit"):
        load_model(path)
