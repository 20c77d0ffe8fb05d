"""farokhi2020, section 6.2, and Yeom et al. 2018: attacks on models whose errors have a known law."""

import math

import numpy as np
import pytest
from mean_learner import Mean
from retraining import matrix

from leakscope.bounds.any_attack import advantage_from_kl
from leakscope.core.errors import InputError
from leakscope.evaluation.membership_experiment import membership_experiment
from leakscope.learners import Logistic, Ridge
from leakscope.worlds.training import random_sets

RECORDS = 40_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X @ np.arange(3) + RNG.normal(size=80)
ATTACKS = ["mean loss", "fixed threshold", "likelihood ratio"]


class WithoutParameters(Mean):
    """The same, but as a model that can't be given parameters."""

    name = "forest"
    task = "classification"
    from_parameters = property()  # raises AttributeError, so that hasattr says no


def gaussian_values(records=RECORDS, seed=0):
    return np.zeros((records, 1)), np.random.default_rng(seed).normal(size=records)


def run(size, records=RECORDS, seed=0, **settings):
    """The experiment on means of Gaussian values, in this process."""
    return membership_experiment(Mean(), *gaussian_values(records, seed), size, nonmembers=200, workers=1, **settings)


def tolerance(experiment, records=RECORDS):
    """Four standard errors: of the models, and of the universe (what a record gives away lies in [0, 1])."""
    models = np.std(experiment.advantages) / math.sqrt(len(experiment.advantages))
    return 4 * math.hypot(models, 0.5 / math.sqrt(records))


def theorem_3(ratio):
    u = math.sqrt(math.log(ratio) / (ratio**2 - 1))
    return math.erf(ratio * u) - math.erf(u)


# --- closed forms: the mean of n Gaussian values ---


@pytest.mark.parametrize(("size", "noise"), [(2, 0.0), (3, 0.7), (10, 0.0)])
def test_the_likelihood_ratio_finds_what_theorem_3_says(size, noise):
    # errors have variance 1 − 1/n + σ² inside and 1 + 1/n + σ² outside
    ratio = math.sqrt((1 + 1 / size + noise**2) / (1 - 1 / size + noise**2))
    found = run(size, models=2000, noise=noise, attack="likelihood ratio")
    assert found.advantage.value == pytest.approx(theorem_3(ratio), abs=tolerance(found))


def divergence_of_means(values, size):
    """Mean over records of J between N(v/n, (n − 1)/n²), with the record, and N(0, 1/n), without it."""
    s1, s0 = (size - 1) / size**2, 1 / size
    shift = (values / size) ** 2
    return float(np.mean((s1 / s0 + s0 / s1 - 2 + shift * (1 / s0 + 1 / s1)) / 2))


@pytest.mark.parametrize("size", [2, 10])
@pytest.mark.parametrize("attack", ["fixed threshold", "likelihood ratio"])
def test_theorem_1_holds_for_who_knows_only_the_parameters(size, attack):
    bound = advantage_from_kl(divergence_of_means(gaussian_values()[1], size))
    assert run(size, models=500, attack=attack).advantage.high < bound


def test_theorem_1_does_not_hold_for_who_knows_the_mean_training_loss():
    bound = advantage_from_kl(divergence_of_means(gaussian_values()[1], 2))
    assert bound == pytest.approx(0.5, abs=4 * math.sqrt(2 / RECORDS))
    assert run(2, models=500).advantage.low > bound


def test_absolute_values_lift_the_box_where_there_is_nothing_to_find():
    found = membership_experiment(Ridge(l2=1e9), X, Y, 10, models=500, attack="fixed threshold")
    first, median, third = found.quartiles()
    assert 0 <= first < median < third <= 1
    # the mean stays within four of its standard errors of 0; the median does not know of the number of models
    assert abs(found.advantage.value) < tolerance(found, records=math.inf) < median


def test_the_interval_covers_the_mean_over_training_sets():
    X, y = gaussian_values(60, seed=1)
    runs = [
        membership_experiment(Mean(), X, y, 5, models=20, attack="fixed threshold", seed=seed, workers=1).advantage
        for seed in range(150)
    ]
    truth = np.mean([run.value for run in runs])
    covered = np.mean([run.low <= truth <= run.high for run in runs])
    assert covered >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 150)


# --- the experiment itself ---


def literal_experiment(X, y, size, models, l2, attack, seed):
    """The definition with loops: normal equations, every member and every non-member asked about."""
    columns = np.column_stack([X, np.ones(len(X))])
    inside, outside = [], []
    for drawn in matrix(random_sets(len(X), size, models, seed)):
        A, b = columns[drawn], y[drawn]
        theta = np.linalg.solve(A.T @ A + size * l2 * np.eye(A.shape[1]), A.T @ b)
        squared = (y - columns @ theta) ** 2
        inside.append(squared[drawn])
        outside.append(squared[~drawn])
    advantages = []
    for k in range(models):
        others = [j for j in range(models) if j != k]
        mean_in = np.mean([inside[j].mean() for j in others])
        mean_out = np.mean([outside[j].mean() for j in others])

        def says_member(loss, k=k, mean_in=mean_in, mean_out=mean_out):
            if attack == "mean loss":
                return loss <= inside[k].mean()
            if attack == "fixed threshold":
                return loss <= mean_in
            likelihoods = [math.exp(-loss / (2 * v)) / math.sqrt(v) for v in (mean_in, mean_out)]
            return likelihoods[0] > likelihoods[1]

        hits = np.mean([says_member(loss) for loss in inside[k]])
        advantages.append(hits - np.mean([says_member(loss) for loss in outside[k]]))
    return advantages


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_does_what_the_definition_says(attack):
    found = membership_experiment(Ridge(l2=0.1), X, Y, 8, models=6, attack=attack, seed=3)
    expected = literal_experiment(X, Y, 8, 6, 0.1, attack, seed=3)
    np.testing.assert_allclose(found.advantages, expected, atol=1e-12)
    assert found.advantage.value == pytest.approx(np.mean(expected), abs=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        found.advantages[0] = 2.0


def test_classification_goes_by_the_log_loss():
    labels = np.where(Y > 0, "yes", "no")
    found = membership_experiment(Logistic(l2=1e-4), X, labels, 8, models=100, attack="fixed threshold")
    assert found.advantage.low > 0
    # with the penalty alone every record has loss ln 2: all are called members, and nothing is gained
    alike = membership_experiment(Logistic(l2=1e12), X, labels, 8, models=20)
    assert (alike.advantages == 0.0).all()
    noisy = membership_experiment(Logistic(l2=1e-4), X, labels, 8, models=100, noise=1e3, attack="fixed threshold")
    assert abs(noisy.advantage.value) < 4 * np.std(noisy.advantages) / 10


def test_the_cache_serves_all_attacks(tmp_path):
    fresh = membership_experiment(Ridge(l2=0.1), X, Y, 10, models=40, attack="likelihood ratio")
    membership_experiment(Ridge(l2=0.1), X, Y, 10, models=40, cache=tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = membership_experiment(Ridge(l2=0.1), X, Y, 10, models=40, attack="likelihood ratio", cache=tmp_path)
    assert before == {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert again.advantages.tobytes() == fresh.advantages.tobytes()


def test_one_nonmember_is_enough_and_none_is_refused():
    found = membership_experiment(Ridge(l2=0.1), X, Y, 79, models=30)
    assert len(found.advantages) == 30
    with pytest.raises(InputError, match="size"):
        membership_experiment(Ridge(l2=0.1), X, Y, 80)


def test_nonmembers_are_a_uniform_sample_of_those_outside():
    # FPR over 20 of 70 non-members is unbiased for the FPR over all of them
    some, everyone = (
        membership_experiment(Ridge(l2=0.1), X, Y, 10, models=400, nonmembers=count).advantages for count in (20, 1000)
    )
    difference = some - everyone
    assert abs(difference.mean()) < 4 * difference.std() / math.sqrt(400)
    assert 0 < difference.std() < 0.15


WRONG = {"size": [0, 2.5, 500], "models": [1], "nonmembers": [0], "noise": [-0.1, math.nan, "loud"], "seed": [-1]}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        *(({name: value}, name) for name, values in WRONG.items() for value in values),
        ({"attack": "oracle"}, "'oracle'"),
        ({"learner": WithoutParameters(), "noise": 1.0}, "forest.*noise"),
        ({"learner": WithoutParameters(), "attack": "likelihood ratio"}, "threshold'"),  # which it may use instead
        ({"learner": "oracle"}, "'oracle'"),
        ({"X": np.full((80, 3), np.nan)}, r"\b2\b"),  # a column
    ],
)
def test_wrong_settings_are_refused_in_words(settings, named):
    with pytest.raises(InputError, match=named) as refusal:
        membership_experiment(**({"learner": Ridge(l2=0.1), "X": X, "y": Y, "size": 10} | settings))
    assert "\n" not in str(refusal.value)
