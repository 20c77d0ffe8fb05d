"""The contract of defenses: every defense of `DEFENSES` is tested here."""

import pickle
from contextlib import nullcontext
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leakscope as ls
from leakscope.defenses import DEFENSES, Defense, Guarantee, apply, find
from leakscope.models.target import Target
from leakscope.studies.reconstruct import RecordRelease

N = 120


def people(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, Any]:
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "income": rng.normal(size=n),
            "town": rng.choice(["north", "south", "west"], n),
            "year": rng.choice(["first", "second"], n),
        }
    )
    label = np.where((table["age"] - 40) / 10 + table["income"] + rng.normal(size=n) > 0, "yes", "no")
    return table, label


def make(name: str) -> Defense:
    """The defense with its usual settings, and what else it needs."""
    rng = np.random.default_rng(1)
    given: dict[str, dict[str, Any]] = {
        "more-data": {"records": people(rng, 40)},
        "pate": {"public": people(rng, 60)[0], "teachers": 5},
        "causal-features": {"columns": ["age", "income"]},
        "irm": {"environment": "year"},
        "dp-sgd": {"epochs": 1},
        "adversarial": {"steps": 2},
    }
    return find(name)(**given.get(name, {}))


@pytest.fixture(scope="module")
def targets() -> list[Target]:
    rng = np.random.default_rng(0)
    train, holdout = people(rng, N), people(rng, N)
    found = []
    for last in (LogisticRegression(), MLPClassifier((4,), max_iter=1, batch_size=N, random_state=0)):
        encode = make_column_transformer(
            (StandardScaler(), ["age", "income"]), (OneHotEncoder(handle_unknown="ignore"), ["town", "year"])
        )
        model = make_pipeline(encode, last)
        with pytest.warns() if isinstance(last, MLPClassifier) else nullcontext():
            model.fit(*train)
        found.append(ls.make_target(model, train, holdout))
    table, label = people(rng, N)
    four = np.array(
        [f"{town} {said}" for town, said in zip(table["town"].replace("west", "south"), label, strict=True)]
    )
    numbers = table[["age", "income"]].to_numpy() / [10, 1]
    found.append(ls.make_target(LogisticRegression().fit(numbers, four), (numbers, four), (numbers + 0.5, four)))
    return found


def suited(defense: Defense, targets: list[Target]) -> Target:
    """The first of the targets that can have the defense."""
    return next(target for target in targets if defense.refuse(target) is None)


def test_each_says_what_it_is() -> None:
    for name in DEFENSES:
        defense = make(name)
        assert isinstance(defense, Defense)
        assert defense.name == name
        assert defense.setting_name, name
        assert defense.source, name
        assert defense.what[0].islower()
        assert not defense.what.endswith(".")
        assert len(defense.settings) == len(set(defense.settings)) > 0
        assert type(defense).__doc__
        assert getattr(ls.defenses, type(defense).__name__) is type(defense)


@pytest.mark.parametrize("name", DEFENSES)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_is_a_way_from_target_to_target(name: str, targets: list[Target]) -> None:
    defense = make(name)
    target = suited(defense, targets)
    before = pickle.dumps((target.members.X, target.members.y))
    for setting in defense.settings:
        made = defense.defend(target, setting)
        assert (made.learner, made.answers, made.explanation, made.records) != (None, None, None, None)
        defended = apply(defense, target, setting, seed=1)
        answers = defended.model.predict(target.nonmembers.X)
        assert answers.shape == (N, len(target.model.classes))
        assert np.allclose(answers.sum(axis=1), 1)
        assert list(defended.model.classes) == list(target.model.classes)
        again = apply(defense, target, setting, seed=1).model.predict(target.nonmembers.X)
        assert np.array_equal(answers, again), "the same seed must give the same answers"
    assert pickle.dumps((target.members.X, target.members.y)) == before, "records of the caller were written to"


@pytest.mark.parametrize("name", DEFENSES)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_its_learner_travels_and_trains_on_any_half(name: str, targets: list[Target]) -> None:
    defense = make(name)
    target = suited(defense, targets)
    setting = defense.settings[0]
    made, again = (defense.defend(target, setting) for _ in range(2))
    if made.learner is None:
        change = made.answers or made.explanation or made.records
        given: Any = (np.array([[0.2, 0.8]]),) if made.answers else ("gradient",)
        given = (RecordRelease(), 10_000) if made.records else given
        sent, kept = pickle.loads(cloudpickle.dumps(change))(*given), change(*given)
        assert sent == kept if made.records else np.array_equal(sent, kept)
        return
    assert again.learner is not None
    assert made.learner.key == again.learner.key, "equal recipes must have equal keys"
    rows = np.arange(0, N, 2)
    half = target.members.take(rows)
    sent = pickle.loads(cloudpickle.dumps(made.learner))
    models = [learner.fit(half.X, half.y, np.random.default_rng(2)) for learner in (made.learner, sent)]
    first, second = (model.predict(target.nonmembers.X) for model in models)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", DEFENSES)
def test_a_guarantee_names_what_it_rests_on(name: str, targets: list[Target]) -> None:
    defense = make(name)
    for setting in defense.settings:
        claim = defense.defend(suited(defense, targets), setting).guarantee
        if claim is not None:
            assert isinstance(claim, Guarantee)
            assert claim.rests_on
            assert claim.source
            assert claim.epsilon > 0
            assert 0 <= claim.delta < 1


@pytest.mark.parametrize("name", DEFENSES)
def test_answers_without_a_learner_are_enough_or_refused_in_words(name: str) -> None:
    """A model that is only a function: every defense works on it or states why not."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    target = ls.make_target(_coin, (X, y), (X + 1, y), classes=[0, 1])
    reason = make(name).refuse(target)
    assert reason is None or (reason.strip() and not reason.endswith("."))


def _coin(X: Any) -> Any:
    return np.full((len(X), 2), 0.5)
