"""The attack network: it is the one of appendix A, finds known signals, and does not exceed chance without one."""

import sys

import numpy as np
import pytest
from samples import cross_judge, scaled_explanations
from scipy.special import betainc

from leakscope.attacks import explanation_network
from leakscope.attacks.membership_explanation_network import attack_network
from leakscope.attacks.protocol import Evidence, Known
from leakscope.core.errors import InputError, MissingExtraError
from leakscope.core.intervals import auc as auc_interval

N = 1000  # members, and as many non-members
MEMBER = np.repeat([True, False], N)
ERROR = np.sqrt(1 / (6 * N))  # of an AUC, at most


def ranking_of(attack, observed, member=MEMBER):
    return cross_judge(attack, observed, member, second=np.zeros((2 * N, 1))).ranking


def made_up(attack, n=100, classes=3, features=4):
    """Evidence of the attack's shape with nothing in it; member and not in turn."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(classes), 2 * n)
    observed = p if attack.release == "probabilities" else rng.normal(size=(2 * n, features)).astype(np.float32)
    second = {None: None, "probabilities": p, "labels": p.argmax(axis=1)[:, None].astype(float)}[attack.second]
    labels = rng.integers(0, classes, 2 * n) if attack.uses_labels else None

    def part(values, rows):
        return None if values is None else values[rows]

    known, asked = slice(0, n), slice(n, 2 * n)
    return Evidence(
        observed[asked],
        part(labels, asked),
        Known(observed[known], part(labels, known), np.arange(n) % 2 == 0, part(second, known)),
        part(second, asked),
    )


SCENARIOS = {
    "∇c": explanation_network("gradient", epochs=2),
    "∇c; l": explanation_network("gradient", true_label=True, epochs=2),
    "c": explanation_network("probabilities", epochs=2),
    "∇c; c": explanation_network("gradient", prediction=True, epochs=2),
    "all": explanation_network("gradient", prediction=True, true_label=True, epochs=2),
}
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS)


def test_its_layers_are_those_of_appendix_a():
    """With k = 100 and d = 600, all inputs: [k, 512, 64] twice, [k, 1024, 512, 64], [d, 1024, 512, 64], [256, 64, 1]."""
    network = attack_network(100, 600, ["explanation", "prediction", "true label"])
    sizes = {
        name: [tuple(layer.weight.shape[::-1]) for layer in part if hasattr(layer, "weight")]
        for name, part in network.items()
    }
    assert sizes == {
        "predicted label": [(100, 512), (512, 64)],
        "true label": [(100, 512), (512, 64)],
        "prediction": [(100, 1024), (1024, 512), (512, 64)],
        "explanation": [(600, 1024), (1024, 512), (512, 64)],
        "joint": [(256, 64), (64, 1)],
    }
    weights = 2 * (100 * 512 + 512 * 64) + (100 + 600) * 1024 + 2 * (1024 * 512 + 512 * 64) + 256 * 64 + 64
    biases = 2 * (512 + 64) + 2 * (1024 + 512 + 64) + 64 + 1
    assert sum(parameter.numel() for parameter in network.parameters()) == weights + biases
    kinds = [type(layer).__name__ for part in network.values() for layer in part]
    assert kinds == ["Linear", "ReLU"] * 11 + ["Linear"]


def test_with_fewer_inputs_the_joint_network_is_as_wide_as_what_joins():
    for sees, width in ((["explanation"], 128), (["prediction"], 128), (["explanation", "true label"], 192)):
        network = attack_network(10, 20, sees)
        assert set(network) == {"predicted label", "joint", *sees}
        assert network["joint"][0].in_features == width


def test_scenarios_read_what_the_paper_says():
    reads = {name: (attack.releases, attack.uses_labels) for name, attack in SCENARIOS.items()}
    assert reads == {
        "∇c": (("gradient", "labels"), False),
        "∇c; l": (("gradient", "labels"), True),
        "c": (("probabilities",), False),
        "∇c; c": (("gradient", "probabilities"), False),
        "all": (("gradient", "probabilities"), True),
    }
    assert len({attack.name + attack.release for attack in SCENARIOS.values()}) == len(SCENARIOS)


def test_it_comes_close_to_the_best_attack_on_scaled_gaussians_and_not_above():
    """No attack passes the AUC of the 2-norm, an F distribution with (d, d) degrees at r²."""
    rng = np.random.default_rng(0)
    d, ratio = 10, 1.6
    best = betainc(d / 2, d / 2, ratio**2 / (1 + ratio**2))
    found = ranking_of(explanation_network("gradient"), scaled_explanations(MEMBER, d, ratio, rng)).auc
    assert best - 0.05 - 3 * ERROR < found < best + 3 * ERROR


def test_shuffled_memberships_are_chance():
    rng = np.random.default_rng(2)
    ranking = ranking_of(
        explanation_network("gradient", epochs=10), scaled_explanations(MEMBER, 10, 1.6, rng), rng.permutation(MEMBER)
    )
    found = auc_interval(ranking, 0.999)
    assert found.low <= 0.5 <= found.high


def test_the_predicted_and_the_true_label_are_seen():
    """Every explanation is alike; members are those of class 1, or those whose label is predicted."""
    rng = np.random.default_rng(3)
    n = 400
    labels, predicted = rng.integers(0, 3, n), rng.integers(0, 3, n)
    for member, true_label in ((predicted == 1, False), (labels == predicted, True)):
        attack, second = explanation_network("gradient", true_label=true_label), predicted[:, None].astype(float)
        found = cross_judge(attack, np.ones((n, 2)), member, labels=labels, second=second)
        np.testing.assert_array_equal(found.attack_scores.says_member > 0, member)


@every_scenario
def test_the_same_seed_gives_the_same_guesses_whatever_the_state_of_torch(scenario):
    import torch

    attack = SCENARIOS[scenario]
    evidence = made_up(attack)
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    first = attack.guess(evidence, np.random.default_rng(5)).score
    torch.manual_seed(99)
    second, other = (attack.guess(evidence, np.random.default_rng(seed)).score for seed in (5, 6))
    torch.random.set_rng_state(state)
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert torch.get_num_threads() == threads


def test_units_do_not_matter():
    """The scale is a power of two here, so that dividing by it rounds nothing."""
    attack = SCENARIOS["∇c"]
    evidence = made_up(attack)
    known = evidence.known
    unit = np.float32(2.0**-30)
    smaller = Evidence(
        unit * evidence.observed, None, Known(unit * known.observed, None, known.member, known.second), evidence.second
    )
    one, other = (attack.guess(e, np.random.default_rng(8)).score for e in (evidence, smaller))
    np.testing.assert_array_equal(one, other)


def test_a_class_that_no_known_record_has_and_explanations_of_zero_are_no_trouble():
    attack = SCENARIOS["∇c"]
    evidence = made_up(attack)
    known = evidence.known
    unseen = Evidence(evidence.observed, None, known, np.full((100, 1), 9.0))
    blank = Evidence(
        0 * evidence.observed, None, Known(0 * known.observed, None, known.member, known.second), known.second
    )
    for odd in (unseen, blank):
        assert np.isfinite(attack.guess(odd, np.random.default_rng(9)).score).all()


def test_what_it_can_not_do_is_refused(monkeypatch):
    with pytest.raises(InputError, match="epochs"):
        explanation_network("gradient", epochs=0)
    with pytest.raises(InputError, match="'labels'"):
        explanation_network("labels")
    evidence = made_up(SCENARIOS["c"])
    with pytest.raises(InputError, match="second"):
        SCENARIOS["∇c"].guess(evidence, np.random.default_rng(0))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"leakscope\[torch\]"):
        SCENARIOS["c"].guess(evidence, np.random.default_rng(0))
