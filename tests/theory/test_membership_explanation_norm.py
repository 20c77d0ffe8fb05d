"""The tree on the 1-norm: explanations of known size give the AUC that their sizes have, and normalised ones nothing."""

import numpy as np
import pytest
from samples import cross_judge, scaled_explanations

from leakscope.attacks import explanation_attacks, explanation_norm
from leakscope.attacks.protocol import Evidence, Known
from leakscope.core.errors import InputError

N = 2000  # members, and as many non-members; half of them are known when the others are asked about
MEMBER = np.repeat([True, False], N)
ERROR = np.sqrt(1 / (6 * N))  # of an AUC, at most: both halves together


def auc_of(observed, release="gradient"):
    return cross_judge(explanation_norm(release), observed, MEMBER).ranking.auc


@pytest.mark.parametrize("ratio", [1.5, 3.0])
def test_for_one_feature_the_auc_is_that_of_two_half_normals(ratio):
    """P(|g| < ratio·|g'|) = 2/π · arctan(ratio)."""
    rng = np.random.default_rng(0)
    found = auc_of(scaled_explanations(MEMBER, 1, ratio, rng))
    best = 2 / np.pi * np.arctan(ratio)
    assert best - 0.03 - 3 * ERROR < found < best + 3 * ERROR


def test_for_many_features_the_auc_is_that_of_two_sums_of_half_normals():
    rng = np.random.default_rng(1)
    sums = np.abs(rng.normal(size=(2, 200_000, 20))).sum(axis=2)
    best = np.mean(sums[0] < 1.2 * sums[1])  # itself to 0.001
    found = auc_of(scaled_explanations(MEMBER, 20, 1.2, rng))
    assert best - 0.03 - 3 * ERROR < found < best + 3 * ERROR


def test_larger_explanations_of_members_are_found_as_well():
    rng = np.random.default_rng(2)
    best = 2 / np.pi * np.arctan(3)
    assert auc_of(scaled_explanations(MEMBER, 1, 1 / 3, rng)) > best - 0.03 - 3 * ERROR


def test_nothing_is_left_of_normalised_explanations_not_even_what_rounding_leaves():
    rng = np.random.default_rng(3)
    observed = scaled_explanations(MEMBER, 300, 2.0, rng).astype(np.float32)
    observed /= np.abs(observed).sum(axis=1, keepdims=True)
    assert len(np.unique(np.abs(observed).sum(axis=1))) > 1
    assert auc_of(observed, "gradient:normalised") == 0.5


def test_units_do_not_matter_and_explanations_of_zero_are_records_like_others():
    rng = np.random.default_rng(5)
    observed = np.float32(scaled_explanations(MEMBER, 5, 2.0, rng))
    observed[:100] = 0
    asked, known = np.arange(0, 2 * N, 2), np.arange(1, 2 * N, 2)
    attack = explanation_norm("gradient")
    one, other = (
        attack.guess(Evidence(unit * observed[asked], None, Known(unit * observed[known], None, MEMBER[known])), rng)
        for unit in (np.float32(1), np.float32(2.0**-20))
    )
    np.testing.assert_array_equal(one.says_member, other.says_member)
    assert one.says_member[:50].all()  # only members have an explanation of zero here


def test_it_reads_explanations_only_and_sees_neither_labels_nor_predictions():
    attack = explanation_norm("smoothgrad:samples=50:sigma=0.5")
    assert (attack.release, attack.uses_labels, attack.second) == ("smoothgrad:sigma=0.5", False, None)
    with pytest.raises(InputError, match="'log_loss'"):
        explanation_norm("log_loss")


def test_the_usual_attacks_on_an_explanation_have_names_of_their_own():
    attacks = explanation_attacks("gradient", prediction="probabilities")
    assert len({attack.name for attack in attacks}) == 3
    assert {attack.release for attack in attacks} == {"gradient"}
    assert [attack.second for attack in attacks] == [None, None, "probabilities"]
    assert explanation_attacks("gradient")[0].name == attacks[0].name
    assert len(explanation_attacks("gradient")) == 2
