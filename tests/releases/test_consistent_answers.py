"""Answers asked for again, singly and in other batches: random models are averaged, and nothing hides in a batch."""

import numpy as np
import pytest
from evasive import constant_in_batches, memorise, noisy
from sklearn.ensemble import RandomForestRegressor

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.models.target import Model
from leakscope.releases.consistency import REPEATS, Averaged, average_random_answers
from leakscope.toys import lookup_model

FOREST, TRAIN, HOLDOUT = memorise(3000)
X, Y = (np.concatenate(both) for both in zip(TRAIN, HOLDOUT, strict=True))


@pytest.mark.parametrize("most", [1, 200])
def test_a_model_that_hides_in_batches_gets_no_all_clear(most):
    result = ls.audit(constant_in_batches(FOREST, most), TRAIN, HOLDOUT)
    assert result.strongest.auc.low <= 0.5
    assert (result.verdict.kind, len(result.basis.obstacles)) == ("inconclusive", 1)


def test_noise_is_averaged_and_no_all_clear():
    hidden = ls.audit(noisy(FOREST, 20.0), TRAIN, HOLDOUT, repeats=1)
    assert (hidden.verdict.kind, hidden.settings["repeats"], len(hidden.basis.obstacles)) == ("inconclusive", 1, 1)
    found = ls.audit(noisy(FOREST, 1.0), TRAIN, HOLDOUT)
    assert (found.verdict.kind, found.settings["repeats"]) == ("leaks", REPEATS)
    assert ls.audit(noisy(FOREST, 1.0), TRAIN, HOLDOUT, repeats=60).strongest.auc.value > found.strongest.auc.value


def test_negligible_noise_allows_no_evidence():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12_000, 4)), rng.integers(0, 2, 12_000)

    def predict(X):  # trained on neither side
        second = 1 / (1 + np.exp(-X[:, 0])) + rng.uniform(-0.01, 0.01, len(X))
        return np.clip(np.column_stack([1 - second, second]), 0, 1)

    result = ls.audit(predict, (X[:6000], y[:6000]), (X[6000:], y[6000:]))
    assert (result.verdict.kind, result.settings["repeats"], result.basis.obstacles) == ("not_detected", REPEATS, ())


def test_noise_that_is_small_against_the_classes_but_not_within_them_gets_no_all_clear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 4))
    y = (X[:, 0] > 0).astype(int)
    inside = lookup_model(X[:6000], y[:6000], sure=0.9)  # 0.9 for members, 0.5 for others

    def predict(X, spread):
        second = np.where(X[:, 0] > 0, 0.9, 0.1) + 0.01 * (inside.predict(X)[:, 1] - 0.5)
        second = np.clip(second + rng.normal(0, spread, len(X)), 0, 1)
        return np.column_stack([1 - second, second])

    sides = (X[:6000], y[:6000]), (X[6000:], y[6000:])
    assert ls.audit(lambda X: predict(X, 0.0), *sides).verdict.kind == "leaks"
    found = ls.audit(lambda X: predict(X, 0.15), *sides)
    assert len(found.basis.obstacles) == 1
    assert found.verdict.kind != "not_detected"


def test_a_batch_of_middle_size_is_compared_too():
    def predict(X):
        answers = FOREST.predict_proba(X)
        return answers if 20 <= len(X) <= 100 else np.full_like(answers, 0.5)

    assert len(ls.audit(predict, TRAIN, HOLDOUT).basis.obstacles) == 1


def test_outliers_do_not_hide_that_predicted_values_depend_on_the_batch():
    labels = X[:, 0] + np.random.default_rng(1).normal(size=3000)
    forest = RandomForestRegressor(20, random_state=0).fit(X[:1500], labels[:1500])

    def predict(X):
        answers = forest.predict(X)
        return answers if len(X) < 100 else np.where(np.arange(len(X)) == 5, 1e9, 0.0)

    result = ls.audit(predict, (X[:1500], labels[:1500]), (X[1500:], labels[1500:]), task="regression")
    assert len(result.basis.obstacles) == 1
    assert result.verdict.kind != "not_detected"


def test_rounding_of_large_predicted_values_is_no_noise():
    rng = np.random.default_rng(0)

    def predict(X):  # single precision, with the last bit at random
        return np.nextafter((X[:, 0] + 1e6).astype(np.float32), np.float32(rng.choice([0, 1e9])))

    labels = X[:, 0] + 1e6
    result = ls.audit(predict, (X[:1500], labels[:1500]), (X[1500:], labels[1500:]), task="regression")
    assert (result.settings["repeats"], result.basis.obstacles) == (1, ())


def test_answers_relative_to_the_batch_are_no_leak():
    def predict(X):  # as batch normalisation in training mode does, in a model trained on neither side
        second = np.full(len(X), 1 / (1 + np.exp(-X[:, 0].mean())))
        return np.column_stack([1 - second, second])

    result = ls.audit(predict, TRAIN, HOLDOUT)
    assert (result.verdict.kind, len(result.basis.obstacles)) == ("inconclusive", 1)


def test_a_steady_model_is_asked_once_more_and_keeps_its_numbers():
    asked = []

    def predict(X):
        asked.append(len(X))
        return FOREST.predict_proba(X)

    first, second = (
        ls.audit(model, TRAIN, HOLDOUT, retrain=False, repeats=repeats)
        for model, repeats in ((predict, None), (FOREST, 50))
    )
    assert first.settings["repeats"] == second.settings["repeats"] == 1
    assert first.strongest.auc == second.strongest.auc
    assert sum(asked) < 1.6 * 3000  # a probe of each set, two small batches, and some single records


def test_the_noise_of_the_mean_falls_with_the_root_of_the_repeats():
    target = ls.make_target(noisy(FOREST, 0.05), TRAIN, HOLDOUT)
    noise = {repeats: average_random_answers(target, repeats, seed=0)[1].noise for repeats in (4, 100)}
    # From 128 records with two columns that mirror each other: a relative error of 1/sqrt(256) each.
    assert noise[4] / noise[100] == pytest.approx(5.0, rel=3 * np.sqrt(2 / 256))


def test_the_mean_is_that_of_a_literal_loop():
    averaged, literal = Averaged(noisy(FOREST, 1.0, seed=3), 5), noisy(FOREST, 1.0, seed=3)
    assert averaged(X[:7]) == pytest.approx(np.mean([literal(X[:7]) for _ in range(5)], axis=0))


def test_random_labels_are_seen_as_shares():
    rng = np.random.default_rng(0)

    def predict(X):
        return np.eye(2)[(rng.random(len(X)) < FOREST.predict_proba(X)[:, 1]).astype(int)]

    model = Model("coin", "classification", np.arange(2), False, predict)
    target, found = average_random_answers(ls.make_target(model, TRAIN, HOLDOUT), None, seed=0)
    assert (found.repeats, target.model.gives_probabilities) == (REPEATS, True)
    assert ls.audit(model, TRAIN, HOLDOUT, repeats=40).verdict.kind == "leaks"


def test_models_trained_again_are_averaged_too():
    def fit(X, y, rng):
        trained = lookup_model(X, y, sure=0.7)
        return lambda X: np.clip(trained.predict(X) + rng.uniform(-0.1, 0.1, (len(X), 1)) * [-1, 1], 0, 1)

    target = ls.make_target(fit(*TRAIN, np.random.default_rng(0)), TRAIN, HOLDOUT, fit=fit)
    averaged, _ = average_random_answers(target, 3, seed=0)
    model = averaged.learner.fit(X[:50], Y[:50], np.random.default_rng(0))
    assert (model.predict.repeats, averaged.learner.key != target.learner.key) == (3, True)


@pytest.mark.parametrize("repeats", [0, -1, 1.5, True])
def test_repeats_that_are_no_number_of_queries_are_refused(repeats):
    with pytest.raises(InputError, match="repeats"):
        ls.audit(FOREST, TRAIN, HOLDOUT, repeats=repeats)


def test_a_comparison_averages_and_recommends_nothing_while_noise_hides_the_model():
    found = ls.compare(
        ls.make_target(noisy(FOREST, 20.0), TRAIN, HOLDOUT), defenses=ls.defenses.LabelOnly(), retrain=False, repeats=1
    )
    assert found.recommendation.kind == "inconclusive"
    batches = ls.make_target(constant_in_batches(FOREST, 5), TRAIN, HOLDOUT)
    assert ls.compare(batches, defenses=ls.defenses.LabelOnly(), retrain=False).recommendation.kind == "inconclusive"


def test_a_model_that_refuses_single_records_is_still_found_to_depend_on_the_batch():
    def predict(X):  # batch normalisation in training mode needs two records
        if len(X) == 1:
            raise ValueError
        second = 1 / (1 + np.exp(-(X[:, 0] - X[:, 0].mean()) / X[:, 0].std()))
        return np.column_stack([1 - second, second])

    assert len(ls.audit(predict, TRAIN, HOLDOUT).basis.obstacles) == 1
