"""What all defenses that change training share: repeatable, free of traces, and refused where nothing can be trained."""

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leakscope import defenses
from leakscope.core.errors import InputError
from leakscope.defenses import (
    DPSGD,
    IRM,
    L2,
    PATE,
    AdversarialRegularisation,
    CausalFeatures,
    Components,
    Distillation,
    Dropout,
    EarlyStopping,
    FewerFeatures,
    LeakagePenalty,
    MoreData,
    ObjectivePerturbation,
    ParameterNoise,
)
from leakscope.defenses.retraining import NO_LEARNER
from leakscope.models.target import make_target

N = 160


def table(n, seed):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"age": rng.normal(40, 10, n), "pay": rng.normal(size=n), "job": rng.choice(["a", "b"], n)})
    return made.assign(year=rng.choice(["first", "second"], n))


def people(seed):
    X = table(N, seed)
    odds = (X["age"] - 40) / 10 + X["pay"] + np.random.default_rng(seed).normal(size=N)
    return X, np.where(odds > 0, "yes", "no")


def pipeline(last):
    encode = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["job", "year"]))
    return make_pipeline(encode, last)


AGAIN = [  # these train the audited model again
    L2(), EarlyStopping(), FewerFeatures(), Components(), MoreData(people(2)), Distillation(),
    PATE(teachers=5, public=people(3)[0]), CausalFeatures(["age", "pay"]), CausalFeatures("age"),
]  # fmt: skip
OWN = [  # and these a model of their own
    Dropout(), ParameterNoise(), ParameterNoise(l2=0.02), ParameterNoise(noise="laplace"), ObjectivePerturbation(),
    ObjectivePerturbation(noise="laplace"), DPSGD((1.0, 8.0), epochs=1), DPSGD((1.0, 8.0), epochs=1, hidden=6),
    IRM(environment="year"), AdversarialRegularisation(steps=6), LeakagePenalty(),
]  # fmt: skip


def named(defense):
    return defense.name


@pytest.fixture(scope="module")
def targets():
    found = {}
    for last in (SGDClassifier(loss="log_loss"), MLPClassifier((4,), max_iter=3)):
        found[type(last)] = make_target(pipeline(last).fit(*people(0)), people(0), people(1))
    return found


def traces():
    """What training must leave as it was."""
    handlers, generator = logging.root.handlers[:], torch.random.get_rng_state().numpy().tobytes()
    return handlers, generator, torch.get_num_threads(), torch.get_default_dtype()


@pytest.mark.parametrize("defense", AGAIN + OWN, ids=named)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_training_depends_on_records_and_generator_alone(defense, targets):
    target = targets[MLPClassifier if isinstance(defense, Dropout) else SGDClassifier]
    before = traces()
    learner = defense.defend(target, defense.settings[0]).learner
    sent = pickle.loads(pickle.dumps(learner))
    half = target.members.take(np.arange(0, N, 2))
    records, labels = half.X.copy(), half.y.copy()
    one, again, other = (
        fit(half.X, half.y, np.random.default_rng(seed))
        for fit, seed in ((learner.fit, 1), (sent.fit, 1), (learner.fit, 2))
    )
    np.testing.assert_array_equal(one.predict(records), again.predict(records))
    assert (one.predict(records) != other.predict(records)).any() == (not isinstance(defense, LeakagePenalty))
    assert one.classes.tolist() == ["no", "yes"]
    assert traces() == before
    pd.testing.assert_frame_equal(half.X, records)
    np.testing.assert_array_equal(half.y, labels)


@pytest.mark.parametrize(
    ("defense", "least"),
    [
        (DPSGD(8.0), 0.9),
        (AdversarialRegularisation(0.5, steps=80, rate=0.02), 0.85),
        (ObjectivePerturbation(4.0), 0.9),
        (ObjectivePerturbation(4.0, noise="laplace"), 0.9),
        (LeakagePenalty(0.3), 0.9),
        (PATE(20.0, teachers=10, public=(table(400, 2).assign(extra=0).iloc[:, ::-1], None)), 0.75),
    ],
)
def test_a_pipeline_on_a_table_is_replaced_by_a_model_of_use(defense, least):
    tables = table(400, 0), table(400, 1)
    train, holdout = ((X, np.where(X["pay"] + (X["job"] == "a") > 0.5, "yes", "no")) for X in tables)
    target = make_target(pipeline(LogisticRegression()).fit(*train), train, holdout)
    assert defense.refuse(target) is None
    model = defenses.apply(defense, target, defense.settings[0]).model
    assert model.classes.tolist() == ["no", "yes"]
    assert (model.predict(holdout[0]).argmax(axis=1) == target.nonmembers.y).mean() > least


def test_equal_recipes_have_equal_keys_and_others_do_not(targets):
    keys = []
    for defense in AGAIN + OWN:
        target = targets[MLPClassifier if isinstance(defense, Dropout) else SGDClassifier]
        found = [defense.defend(target, setting).learner.key for setting in defense.settings]
        assert found == [defense.defend(target, setting).learner.key for setting in defense.settings]
        keys += found
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("defense", AGAIN, ids=named)
def test_a_model_that_cannot_be_trained_is_refused(defense):
    target = make_target(lambda X: np.full((len(X), 2), 0.5), people(0), people(1), classes=["no", "yes"])
    assert defense.refuse(target) == NO_LEARNER
    for use in (defense.defend, lambda *given: defenses.apply(defense, *given)):
        with pytest.raises(InputError, match=defense.name):
            use(target, defense.settings[0])
