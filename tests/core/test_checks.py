"""Wrong settings are refused at public functions, by the same checks everywhere."""

import numpy as np
import pytest

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.evaluation.membership_experiment import membership_experiment
from leakscope.releases.feature_explanations.faithfulness import measure_faithfulness

X, Y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
MEMBER = Y == 1
CALLS = {
    "score": lambda confidence: ls.score(X[:, 0], MEMBER, confidence=confidence),
    "experiment": lambda confidence: membership_experiment(
        ls.learners.Ridge(), X, X[:, 0], 30, models=4, confidence=confidence
    ),
    "invariance": lambda confidence: ls.causal.invariant_features(X, Y, MEMBER, confidence=confidence),
    "faithfulness": lambda confidence: measure_faithfulness(None, X, [], confidence=confidence),
    "attributes": lambda confidence: ls.attributes(lambda X: X[:, 0], None, (X, Y), sensitive=0, confidence=confidence),
    "frontier": lambda confidence: ls.frontier(None, (X, Y), (X, Y), confidence=confidence),
}


@pytest.mark.parametrize("confidence", [2, 0.3, 95, "0.95", True, float("nan")])
@pytest.mark.parametrize("call", CALLS)
def test_a_confidence_that_no_study_accepts_is_refused_everywhere(call, confidence):
    with pytest.raises(InputError, match="confidence"):
        CALLS[call](confidence)


@pytest.mark.parametrize("seed", [-1, 0.5, True, "1", None])
def test_a_seed_is_a_whole_number_everywhere(seed):
    for call in (
        lambda: ls.split(X, Y, seed=seed),
        lambda: ls.worlds.random_sets(10, 5, 4, seed),
        lambda: ls.frontier(None, (X, Y), (X, Y), seed=seed),
        lambda: ls.attributes(lambda X: X[:, 0], None, (X, Y), sensitive=0, seed=seed),
    ):
        with pytest.raises(InputError, match="seed"):
            call()
