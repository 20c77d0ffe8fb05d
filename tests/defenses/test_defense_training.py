"""What all defenses that change training share: repeatable, free of traces, and refused where nothing can be trained."""

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leakscope import defenses
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
from leakscope.errors import InputError
from leakscope.target import make_target

N = 160


def people(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.normal(40, 10, N), "pay": rng.normal(size=N), "job": rng.choice(["a", "b"], N)})
    table["year"] = rng.choice(["first", "second"], N)
    odds = (table["age"] - 40) / 10 + table["pay"] + rng.normal(size=N)
    return table, np.where(odds > 0, "yes", "no")


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
        encode = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["job", "year"]))
        model = make_pipeline(encode, last).fit(*people(0))
        found[type(last)] = make_target(model, people(0), people(1))
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
