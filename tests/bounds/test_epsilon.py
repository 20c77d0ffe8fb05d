"""Lower bounds on ε as a tool: what they depend on, what they say, and how bad input ends."""

import numpy as np
import pytest

from leakscope.bounds.epsilon import TOLERANCE, audit_mechanism, epsilon_from_pairs, epsilon_lower_bound
from leakscope.core.errors import InputError


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    return rng.normal(1, 1, 600), rng.normal(0, 1, 600)


def test_many_runs_use_the_order_of_the_scores_only(scores):
    inside, outside = scores
    bound = epsilon_lower_bound(inside, outside)
    assert epsilon_lower_bound(np.exp(inside), np.exp(outside)) == bound
    assert epsilon_lower_bound(outside, inside).value == pytest.approx(bound.value, abs=1e-12)
    assert epsilon_lower_bound(-inside, -outside).value > 0.5


def test_the_order_of_the_runs_does_not_matter(scores):
    inside, outside = scores
    assert epsilon_lower_bound(np.sort(inside), np.sort(outside)[::-1]) == epsilon_lower_bound(inside, outside)


def test_unequal_numbers_of_runs():
    rng = np.random.default_rng(1)
    few, many = rng.normal(2, 1, 30), rng.normal(0, 1, 30_000)
    assert epsilon_lower_bound(few, many).value > 1
    assert epsilon_lower_bound(few, many).value > epsilon_lower_bound(few, many[:30]).value


def test_pairs_depend_on_differences_only(scores):
    inside, outside = scores
    bound = epsilon_from_pairs(inside, outside)
    moved = np.random.default_rng(2).integers(-5, 5, 600)
    assert epsilon_from_pairs(4 * (inside + moved), 4 * (outside + moved)).value == pytest.approx(
        bound.value, abs=1e-12
    )
    # Another scale makes other pairs differ most.
    assert epsilon_from_pairs(np.exp(3 * inside), np.exp(3 * outside)).value != pytest.approx(bound.value, abs=1e-3)
    assert epsilon_from_pairs(outside, inside).value == 0


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_members_with_higher_scores_never_lower_the_bound(scores, delta):
    inside, outside = scores
    bounds = [epsilon_from_pairs(inside + shift, outside, delta).value for shift in np.linspace(-1, 4, 26)]
    assert np.all(np.diff(bounds) >= -2 * TOLERANCE)
    assert bounds[0] == 0 < bounds[-1]


@pytest.mark.parametrize("bound", [epsilon_lower_bound, epsilon_from_pairs])
def test_more_confidence_means_a_lower_bound(scores, bound):
    values = [bound(*scores, confidence=level).value for level in (0.8, 0.95, 0.999)]
    assert values[0] > values[1] > values[2] > 0


def test_equal_scores_are_no_guess():
    some = np.r_[np.ones(40), np.zeros(960)]
    alone = epsilon_from_pairs(np.ones(40), np.zeros(40)).value
    assert epsilon_from_pairs(some, np.zeros(1000)).value == alone > 0
    assert epsilon_from_pairs(np.zeros(1000), np.zeros(1000)).value == 0
    # At δ > 0 the number of guesses is fixed, 31 of 1000 among them.
    assert 0 < epsilon_from_pairs(some, np.zeros(1000), delta=1e-9).value < alone


def test_infinite_scores_count_as_the_highest():
    inside, outside = np.full(100, np.inf), np.r_[np.zeros(99), np.inf]
    assert epsilon_from_pairs(inside, outside).value == epsilon_from_pairs(np.ones(99), np.zeros(99)).value
    assert epsilon_lower_bound(inside, np.zeros(100)).value == epsilon_lower_bound(np.ones(100), np.zeros(100)).value


def test_an_estimate_that_says_at_least(scores):
    for bound, n in ((epsilon_lower_bound(*scores), 1200), (epsilon_from_pairs(*scores), 1200)):
        assert (bound.kind, bound.low, bound.high, bound.n) == ("lower bound", bound.value, np.inf, n)
    assert repr(epsilon_lower_bound([0, 1], [0, 1])) == "at least 0"
    assert repr(epsilon_from_pairs([1], [0])) == "at least 0"


def test_scores_stay_as_they_are(scores):
    before = [side.copy() for side in scores]
    for side in scores:
        side.flags.writeable = False
    epsilon_lower_bound(*scores)
    epsilon_from_pairs(*scores, half=np.arange(600) % 2)
    assert all(np.array_equal(one, other) for one, other in zip(scores, before, strict=True))


def count(data, rng, scale=1.0):
    return sum(data) + rng.laplace(0, scale)


def test_a_mechanism_is_run_on_both_data_sets():
    full, less = [1] * 5, [1] * 4 + [0]
    right = audit_mechanism(count, full, less, runs=2000)
    assert 0.5 < right.value <= 1.0
    assert audit_mechanism(count, full, less, runs=2000) == right
    assert audit_mechanism(count, full, less, runs=2000, seed=1) != right
    halved = audit_mechanism(lambda data, rng: count(data, rng, 0.5), full, less, runs=800)
    assert 1.0 < halved.value <= 2.0
    assert audit_mechanism(lambda data, _: sum(data), full, less, runs=2000).value > 5


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: epsilon_lower_bound([1.0], [1.0, 2.0]), "inside"),
        (lambda: epsilon_lower_bound(["a"], [1.0]), "inside"),
        (lambda: epsilon_lower_bound([1.0, 2.0], [1.0, np.nan]), "outside"),
        (lambda: epsilon_lower_bound([[1.0], [2.0]], [1.0, 2.0]), "inside"),
        (lambda: epsilon_lower_bound([1, 2], [1, 2], delta=1.0), "delta"),
        (lambda: epsilon_lower_bound([1, 2], [1, 2], confidence=95), "confidence"),
        (lambda: epsilon_from_pairs([1, 2], [1, 2, 3]), "outside"),
        (lambda: epsilon_from_pairs([], []), "outside"),
        (lambda: epsilon_from_pairs([1, 2], [1, 2], half=[0]), "half"),
        (lambda: epsilon_from_pairs([1, 2], [1, 2], delta=-0.1), "delta"),
        (lambda: epsilon_from_pairs([1, 2], [1, 2], curve="normal"), "'normal'"),
        (lambda: epsilon_from_pairs([1, 2], [1, 2], curve="gaussian"), "delta"),
        (lambda: audit_mechanism(count, [1], [0], runs=1), r"\b1\b"),
        (lambda: audit_mechanism(lambda data, _: data, [1, 2], [0, 1], runs=5), "inside"),
    ],
)
def test_wrong_input_is_refused(call, names):
    with pytest.raises(InputError, match=names):
        call()
