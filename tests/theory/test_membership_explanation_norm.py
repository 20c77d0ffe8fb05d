"""The tree on the 1-norm: explanations of known size give the AUC that their sizes have, and normalised ones nothing."""

import numpy as np
import pytest
from samples import draw

from leakscope.attacks import explanation_attacks, explanation_norm
from leakscope.crossfit import cross_guess, scale_of
from leakscope.errors import InputError
from leakscope.evidence import Evidence, Known
from leakscope.intervals import auc as auc_interval
from leakscope.ranking import Ranking, split

N = 2000  # members, and as many non-members; half of them are known when the others are asked about
ERROR = np.sqrt(1 / (6 * N))  # of an AUC, at most: both halves together


def scaled(features, ratio, rng):
    """Explanations φ = s·g with g standard normal, s = 1 for members, who come first, and s = ratio for others."""
    return rng.normal(size=(2 * N, features)) * np.repeat([1.0, ratio], N)[:, None]


def ranking_of(attack, observed, rng, member=None):
    sample = draw(N, N, rng)
    member = sample.member if member is None else member
    guesses, _ = cross_guess(attack, observed, np.zeros(2 * N), member, sample.half, rng)
    return Ranking.of(split(guesses.score, member, scale_of(attack, sample.half)))


@pytest.mark.parametrize("ratio", [1.5, 3.0])
def test_for_one_feature_the_auc_is_that_of_two_half_normals(ratio):
    """P(|g| < ratio·|g'|) = 2/π · arctan(ratio)."""
    rng = np.random.default_rng(0)
    found = ranking_of(explanation_norm("gradient"), scaled(1, ratio, rng), rng).auc
    best = 2 / np.pi * np.arctan(ratio)
    assert best - 0.03 - 3 * ERROR < found < best + 3 * ERROR


def test_for_many_features_the_auc_is_that_of_two_sums_of_half_normals():
    rng = np.random.default_rng(1)
    sums = np.abs(rng.normal(size=(2, 200_000, 20))).sum(axis=2)
    best = np.mean(sums[0] < 1.2 * sums[1])  # itself to 0.001
    found = ranking_of(explanation_norm("gradient"), scaled(20, 1.2, rng), rng).auc
    assert best - 0.03 - 3 * ERROR < found < best + 3 * ERROR


def test_larger_explanations_of_members_are_found_as_well():
    rng = np.random.default_rng(2)
    best = 2 / np.pi * np.arctan(3)
    assert ranking_of(explanation_norm("gradient"), scaled(1, 1 / 3, rng), rng).auc > best - 0.03 - 3 * ERROR


def test_nothing_is_left_of_normalised_explanations_not_even_what_rounding_leaves():
    rng = np.random.default_rng(3)
    observed = scaled(300, 2.0, rng).astype(np.float32)
    observed /= np.abs(observed).sum(axis=1, keepdims=True)
    assert len(np.unique(np.abs(observed).sum(axis=1))) > 1
    assert ranking_of(explanation_norm("gradient:normalised"), observed, rng).auc == 0.5


def test_shuffled_memberships_are_chance():
    rng = np.random.default_rng(4)
    member = rng.permutation(np.repeat([True, False], N))
    found = auc_interval(ranking_of(explanation_norm("gradient"), scaled(20, 1.5, rng), rng, member), 0.999)
    assert found.low <= 0.5 <= found.high


def test_units_do_not_matter_and_explanations_of_zero_are_records_like_others():
    rng = np.random.default_rng(5)
    observed = np.float32(scaled(5, 2.0, rng))
    observed[:100] = 0
    asked, known = np.arange(0, 2 * N, 2), np.arange(1, 2 * N, 2)
    member = np.arange(2 * N) < N
    attack = explanation_norm("gradient")
    one, other = (
        attack.guess(Evidence(unit * observed[asked], None, Known(unit * observed[known], None, member[known])), rng)
        for unit in (np.float32(1), np.float32(2.0**-20))
    )
    np.testing.assert_array_equal(one.says_member, other.says_member)
    assert one.says_member[:50].all()  # only members have an explanation of zero here


def test_it_reads_explanations_only_and_sees_neither_labels_nor_predictions():
    attack = explanation_norm("smoothgrad:samples=50:sigma=0.5")
    assert (attack.release, attack.uses_labels, attack.beside) == ("smoothgrad:sigma=0.5", False, None)
    with pytest.raises(InputError, match="no explanation 'log_loss': choose one of gradient"):
        explanation_norm("log_loss")


def test_the_usual_attacks_on_an_explanation_have_names_of_their_own():
    attacks = explanation_attacks("gradient", prediction="probabilities")
    assert len({attack.name for attack in attacks}) == 3
    assert {attack.release for attack in attacks} == {"gradient"}
    assert [attack.beside for attack in attacks] == [None, None, "probabilities"]
    assert explanation_attacks("gradient")[0].name == attacks[0].name
    assert len(explanation_attacks("gradient")) == 2
