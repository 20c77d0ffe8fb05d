"""Defenses that change answers: what they keep, what they hide, and from whom."""

import itertools
import math
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from leakscope.core.errors import InputError
from leakscope.defenses import apply
from leakscope.defenses.label_only import LabelOnly
from leakscope.defenses.memguard import MemGuard
from leakscope.defenses.rounding import Rounding, keep_prediction
from leakscope.defenses.temperature import UNDONE, Temperature
from leakscope.defenses.top_classes import ALL_SHOWN, TopClasses
from leakscope.models.target import make_target

EVERY = [
    Rounding((0, 1, 3)), TopClasses((1, 2, 3)), Temperature((1, 2.0, 50.0)), LabelOnly(), MemGuard((0.1, 0.5, 2.0)),
]  # fmt: skip
SETTINGS = [(defense, setting) for defense in EVERY for setting in defense.settings]
MASKING = [Rounding(), TopClasses(), Temperature(), LabelOnly(), MemGuard()]


def named(value):
    return value.name if hasattr(value, "name") else str(value)


@cache
def target_of(classes=4):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % classes
    return make_target(LogisticRegression().fit(X, y), (X, y), (X + 0.01, y))


def changed(defense, setting, answers):
    return defense.defend(target_of(answers.shape[1]), setting).answers(answers)


def made_up(n=400, classes=4, seed=0):
    """Probabilities of all kinds: flat, sure, exactly 0 and 1, equal, and equal up to the last bit."""
    rng = np.random.default_rng(seed)
    rows = [rng.dirichlet(np.full(classes, a), n // 4) for a in (0.01, 0.3, 1.0, 50.0)]
    level = np.full(classes, 1 / classes)
    bit = np.nextafter(level[0], 1)
    ties = [level, np.eye(classes)[2]]
    ties += [np.where(np.arange(classes) == place, bit, level[0]) for place in range(classes)]
    ties += [np.array(row) for row in itertools.permutations([0.5, 0.5, *np.zeros(classes - 2)])]
    ties += [np.array(row) for row in itertools.permutations([0.24, 0.26, *np.full(classes - 2, 0.5 / (classes - 2))])]
    return np.concatenate([*rows, ties])


@pytest.mark.parametrize(("defense", "setting"), SETTINGS, ids=named)
def test_answers_stay_probabilities_and_the_predicted_class_stays(defense, setting):
    answers = made_up()
    before, made = answers.copy(), defense.defend(target_of(), setting)
    assert made.learner is made.guarantee is None
    after = changed(defense, setting, answers)
    np.testing.assert_array_equal(answers, before)
    assert after.shape == answers.shape
    assert after.dtype == np.float64
    assert (after >= 0).all()
    np.testing.assert_allclose(after.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(after.argmax(axis=1), answers.argmax(axis=1))


@pytest.mark.parametrize(("defense", "setting"), SETTINGS, ids=named)
def test_an_answer_depends_on_nothing_else_and_comes_again(defense, setting):
    answers = made_up()
    after = changed(defense, setting, answers)
    order = np.random.default_rng(1).permutation(len(answers))
    np.testing.assert_array_equal(changed(defense, setting, answers[order]), after[order])
    for row in (0, 7, -1):
        np.testing.assert_array_equal(changed(defense, setting, answers[row][None]), after[row][None])
    assert changed(defense, setting, answers[:0]).shape == (0, 4)
    again = pickle.loads(pickle.dumps(defense.defend(target_of(), setting).answers))
    np.testing.assert_array_equal(again(answers), after)


@pytest.mark.parametrize("defense", MASKING, ids=named)
def test_models_without_probabilities_are_refused(defense):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    labels = make_target(LinearSVC().fit(X, y), (X, y), (X, y))
    assert defense.refuse(labels) is not None
    values = make_target(LinearRegression().fit(X, X[:, 0]), (X, X[:, 0] + 0.5), (X, X[:, 0] + 0.5))
    if defense.name == "round":
        assert defense.refuse(values) is None
        rounded = apply(defense, values, 1).model.predict(X)
        np.testing.assert_array_equal(rounded, np.round(values.model.predict(X), 1))
    else:
        with pytest.raises(InputError, match=defense.name):
            apply(defense, values, defense.settings[0])


def test_a_data_frame_pipeline_is_defended_and_its_learner_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=60), "pay": rng.normal(size=60)})
    y = rng.choice(["a", "b", "c", "d"], 60)
    target = make_target(RandomForestClassifier(5, random_state=0).fit(X, y), (X, y), (X + 0.1, y))
    for defense in MASKING:
        defended = apply(defense, target, defense.settings[0])
        expected = changed(defense, defense.settings[0], target.model.predict(X))
        np.testing.assert_array_equal(defended.model.predict(X), expected)
        half = defended.learner.fit(X.iloc[:30], target.members.y[:30], np.random.default_rng(0))
        raw = target.learner.fit(X.iloc[:30], target.members.y[:30], np.random.default_rng(0))
        np.testing.assert_array_equal(half.predict(X), changed(defense, defense.settings[0], raw.predict(X)))


# --- each against its definition, answer by answer ---


@pytest.mark.parametrize("digits", [0, 1, 3])
def test_rounding_against_its_definition(digits):
    for row, found in zip(made_up(), changed(Rounding(digits), digits, made_up()), strict=True):
        rounded = [round(float(p), digits) for p in row]
        expected = [p / sum(rounded) if sum(rounded) else 1 / len(row) for p in rounded]
        np.testing.assert_allclose(found, expected, atol=2e-9)  # the predicted class is put ahead by 1e-9


@pytest.mark.parametrize("shown", [1, 2, 3, 4, 9])
def test_top_classes_against_their_definition(shown):
    for row, found in zip(made_up(), changed(TopClasses(shown), shown, made_up()), strict=True):
        order = sorted(range(4), key=lambda c: (-row[c], c))
        hidden = order[shown:]
        expected = [sum(row[h] for h in hidden) / len(hidden) if c in hidden else row[c] for c in range(4)]
        np.testing.assert_allclose(found, expected, atol=2e-9)


@pytest.mark.parametrize("temperature", [1, 2.0, 5.0])
def test_temperature_is_the_softmax_of_scores_divided_by_it(temperature):
    scores = np.random.default_rng(0).normal(0, 3, size=(200, 4))

    def softmax(row):
        return [math.exp(value) / sum(math.exp(other) for other in row) for value in row]

    answers = np.array([softmax(row) for row in scores])
    expected = [softmax(row / temperature) for row in scores]
    np.testing.assert_allclose(changed(Temperature(temperature), temperature, answers), expected, rtol=1e-12)


def test_labels_are_ones_at_the_first_largest():
    answers = made_up()
    np.testing.assert_array_equal(changed(LabelOnly(), "labels", answers).argmax(axis=1), answers.argmax(axis=1))
    assert set(np.unique(changed(LabelOnly(), "labels", answers))) == {0.0, 1.0}


def test_where_the_prediction_holds_nothing_is_moved():
    before, after = np.array([[0.2, 0.8], [0.4, 0.6]]), np.array([[0.3, 0.7], [0.5, 0.5]])
    kept = keep_prediction(before, after)
    np.testing.assert_array_equal(kept[0], after[0])
    np.testing.assert_allclose(kept[1], after[1], atol=1e-9)
    assert kept[1].argmax() == 1


# --- MemGuard-style noise ---


def under_secrets(answer, distortion, secrets):
    rows = [
        changed(MemGuard(distortion, secret=secret), distortion, np.array([answer]))[0] for secret in range(secrets)
    ]
    return np.array(rows)


@pytest.mark.parametrize("answer", [[0.97, 0.02, 0.005, 0.005], [0.3, 0.3, 0.2, 0.2], [0.0, 1.0, 0.0, 0.0]])
@pytest.mark.parametrize("distortion", [0.2, 0.8])
def test_the_expected_distortion_keeps_to_its_bound(answer, distortion):
    given = under_secrets(answer, distortion, 1500)
    moved = np.abs(given - answer).sum(axis=1)
    assert moved.mean() <= distortion + 4 * moved.std() / math.sqrt(len(moved))


def test_the_bound_is_reached_where_the_noise_is_always_larger():
    """An answer of 1 is more than 0.2 away from 99.6 % of all others: min{1, ε/d} d is ε there [Jia et al. 2019, Phase II]."""
    given = under_secrets([1.0, 0.0, 0.0, 0.0], 0.2, 1500)
    moved = np.abs(given[:, :1] - 1).ravel() * 2
    top = -np.sort(-np.random.default_rng(0).dirichlet(np.ones(4), 100_000), axis=1)[:, 0]
    expected = np.minimum(2 * (1 - top), 0.2).mean()
    assert moved.mean() == pytest.approx(expected, abs=4 * moved.std() / math.sqrt(len(moved)))


def test_noise_is_even_on_the_vectors_of_one_order_whatever_the_answer():
    """With two classes the larger is even on [1/2, 1]: mean 3/4, variance 1/48; and sure or unsure makes no difference."""
    n = 2000
    for answer in ([0.999, 0.001], [0.51, 0.49]):
        top = under_secrets(answer, 2.0, n)[:, 0]
        assert top.mean() == pytest.approx(0.75, abs=4 * math.sqrt(1 / 48 / n))
        assert np.abs(np.sort(top) - np.linspace(0.5, 1, n)).max() < 0.5 * 2.2 / math.sqrt(n)  # Kolmogorov, p < 0.0002


def test_the_whole_order_of_the_classes_stays():
    answers = made_up()[:400]
    distinct = np.array([len(set(row)) == 4 for row in answers])
    after = changed(MemGuard(2.0), 2.0, answers)
    np.testing.assert_array_equal(np.argsort(after, axis=1)[distinct], np.argsort(answers, axis=1)[distinct])


def test_asking_again_gives_the_same_noise_even_where_the_batch_moves_the_last_bits():
    answers = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    moved = answers * (1 + 1e-15)
    one, two = (changed(MemGuard(1.0), 1.0, part) for part in (answers, moved))
    # A few rounded numbers may lie on the edge between two: at 1e-16 / 1e-9 of all, none of these 1500.
    np.testing.assert_allclose(one, two, atol=1e-12)
    assert not np.allclose(one, changed(MemGuard(1.0, secret=1), 1.0, answers))


def test_more_distortion_replaces_more_answers():
    answers = np.random.default_rng(0).dirichlet(np.full(4, 0.2), 1000)
    shares = [(changed(MemGuard(d), d, answers) != answers).any(axis=1) for d in (0.1, 0.5, 1.0, 2.0)]
    for less, more in itertools.pairwise(shares):
        assert (more | ~less).all()  # the same coin is thrown: whoever is replaced stays so
        assert more.sum() > less.sum()
    assert shares[-1].all()


# --- what is hidden, in a world that is known ---


def known_world():
    """Answers that a model gives, and how probable each is for a member and for a non-member."""
    grid = [(a, b, c, 20 - a - b - c) for a in range(1, 18) for b in range(1, 18 - a) for c in range(1, 19 - a - b)]
    answers = np.array([row for row in grid if row[3] > 0]) / 20
    sure = answers.max(axis=1)
    inside, outside = np.exp(6 * sure), np.exp(2 * sure + answers[:, 1])
    return answers, inside / inside.sum(), outside / outside.sum()


def best_advantage(shown, inside, outside):
    """Total variation: the largest advantage that any attack has who sees what is shown (Neyman and Pearson)."""
    _, place = np.unique(shown.round(12), axis=0, return_inverse=True)
    place = place.ravel()
    return 0.5 * np.abs(np.bincount(place, inside) - np.bincount(place, outside)).sum()


def test_rounding_and_hidden_classes_lose_information_and_a_temperature_does_not():
    answers, inside, outside = known_world()
    raw = best_advantage(answers, inside, outside)

    def left(defense, setting):
        return best_advantage(changed(defense, setting, answers), inside, outside)

    assert left(Temperature(7.0), 7.0) == pytest.approx(raw, abs=1e-12)
    assert left(Rounding(0), 0) < left(Rounding(1), 1) < raw - 1e-3
    assert left(Rounding(2), 2) == pytest.approx(raw, abs=1e-12)  # the answers have two digits
    one, two, three = (left(TopClasses(k), k) for k in (1, 2, 3))
    assert one < two < three
    assert three == pytest.approx(raw, abs=1e-12)  # all but one class tell the last


def test_whoever_knows_the_temperature_has_the_answers_back():
    answers = np.random.default_rng(0).dirichlet(np.ones(5), 300)
    tempered = changed(Temperature(4.0), 4.0, answers) ** 4.0
    np.testing.assert_allclose(tempered / tempered.sum(axis=1, keepdims=True), answers, rtol=1e-10)
    assert Temperature().defend(target_of(), 2.0).notes == (UNDONE,)


# --- classes that can't be hidden ---


def test_two_classes_have_nothing_to_hide_and_three_have_only_one_way():
    assert TopClasses().refuse(target_of(2)) is not None
    three = target_of(3)
    assert TopClasses().refuse(three) is None
    assert TopClasses(2).refuse(three) is not None
    assert TopClasses().defend(three, 1).notes == ()
    assert TopClasses().defend(three, 3).notes == (ALL_SHOWN,)
