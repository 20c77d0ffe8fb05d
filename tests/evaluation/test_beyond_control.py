"""The AUC on the target minus that on the never-trained control: its definition, the jackknife, and coverage."""

import numpy as np
import pytest
from scipy.special import ndtr

import leakscope as ls
from leakscope.core import intervals
from leakscope.core.ranking import Ranking, Scale, order_scores, split

REPEATS = 600
#: Failures at 95 % that a valid interval exceeds once in 30,000 tests.
MOST_FAILURES = 0.05 + 4 * np.sqrt(0.05 * 0.95 / REPEATS)


def folds(n, count=4):
    fold = np.arange(n) % count
    return Scale(fold, fold)


def auc(scores, member, scale):
    return Ranking.of(split(scores, member, scale)).auc


def literal_placements(scores, member, stratum):
    """For each record the share of the other side of its stratum on its right side, pair by pair."""
    found = np.empty(len(scores))
    for at, (score, inside, where) in enumerate(zip(scores, member, stratum, strict=True)):
        rivals = [scores[j] for j in range(len(scores)) if stratum[j] == where and member[j] != inside]
        wins = [float(score > other) if inside else float(other > score) for other in rivals]
        found[at] = np.mean([win + 0.5 * (score == other) for win, other in zip(wins, rivals, strict=True)])
    return found


def literal_deviation(member, target, control, *, doubled):
    """The formula of the docstring, with strata of equal size."""
    squares = 0.0
    both = [(literal_placements(s, member, scale.stratum), scale.stratum) for s, scale in (target, control)]
    for at, inside in enumerate(member):
        parts = []
        for placed, stratum in both:
            alike = placed[(stratum == stratum[at]) & (member == inside)]
            weight = 1 / len(np.unique(stratum))
            parts.append(weight * (placed[at] - alike.mean()) / np.sqrt(len(alike) * (len(alike) - 1)))
        squares += (parts[0] - parts[1]) ** 2 + (parts[1] ** 2 if inside and doubled else 0.0)
    return np.sqrt(squares)


def beyond_control(member, target, control):
    """The interval from scores with their scales."""
    ordered = [order_scores(scores, member, scale) for scores, scale in (target, control)]
    rankings = [Ranking.in_order(scores, one) for (scores, _), one in zip((target, control), ordered, strict=True)]
    return intervals.auc_beyond_control(*zip(rankings, ordered, strict=True))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("count", [1, 4])
def test_the_interval_is_that_of_the_definition(ties, count):
    rng = np.random.default_rng(1)
    member = np.repeat([True, False], 40)
    common = rng.normal(size=80)
    ours, theirs = common + member + rng.normal(size=80), common + 0.2 * rng.normal(size=80)
    if ties:
        ours, theirs = np.round(ours), np.round(theirs)
    target, control = (ours, Scale.of_one(80)), (theirs, folds(80, count))
    found = beyond_control(member, target, control)(0.95)
    half = 1.959964 * literal_deviation(member, target, control, doubled=count > 1)
    assert found.value == pytest.approx(auc(ours, member, target[1]) - auc(theirs, member, control[1]), abs=1e-14)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=1e-6)


def test_equal_strata_give_the_paired_difference_of_two_attacks():
    rng = np.random.default_rng(3)
    member, half = np.repeat([True, False], 100), np.arange(200) % 2
    scale = Scale(half, np.zeros(200, int))
    ours, theirs = rng.normal(member, 1.0), rng.normal(size=200)
    expected = intervals.paired_auc_difference(split(ours, member, scale), split(theirs, member, scale))(0.9)
    found = beyond_control(member, (ours, scale), (theirs, scale))(0.9)
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))


def failures(draw, seed, truth):
    rng, failed = np.random.default_rng(seed), 0
    for _ in range(REPEATS):
        found = beyond_control(*draw(rng))(0.95)
        failed += not found.low <= truth <= found.high
    return failed / REPEATS


@pytest.mark.parametrize("count", [2, 4])
def test_it_covers_for_models_that_were_never_trained_on_the_members(count):
    """The score of x under a model is its product with the mean of the training records: two parts of the members whose means agree
    by chance raise the AUC of each other's control. Treated as independent, the folds fail in about one of ten trainings.
    """
    m, features = 100, 20
    member = np.repeat([True, False], m)
    fold = np.arange(2 * m) % count

    def draw(rng):
        records = rng.normal(size=(2 * m, features))
        elsewhere = rng.normal(size=(m, features)).mean(axis=0)
        means = np.array([records[member & (fold != number)].mean(axis=0) for number in range(count)])
        control = np.einsum("ij,ij->i", records, means[fold])
        return member, (records @ elsewhere, Scale.of_one(2 * m)), (control, Scale(fold, fold))

    assert failures(draw, 4, 0.0) <= MOST_FAILURES
    independent = failures(lambda rng: (*(one := draw(rng))[:2], (one[2][0], Scale(fold, np.zeros_like(fold)))), 4, 0.0)
    assert independent > MOST_FAILURES


@pytest.mark.parametrize("decimals", [None, 1, 0])
@pytest.mark.parametrize("leak", [0.5, 2.0])
def test_it_covers_for_a_trained_model(leak, decimals):
    """Records have a hardness that target and control share; only the target adds to the score of members."""
    m = 150
    member = np.repeat([True, False], m)

    def scores(rng, m, member):
        hardness = rng.normal(size=2 * m)
        found = hardness + leak * member + 0.5 * rng.normal(size=2 * m), hardness + 0.5 * rng.normal(size=2 * m)
        return found if decimals is None else tuple(np.round(one, decimals) for one in found)

    def draw(rng):
        ours, theirs = scores(rng, m, member)
        return member, (ours, Scale.of_one(2 * m)), (theirs, folds(2 * m))

    truth = ndtr(leak / np.sqrt(2 * 1.25)) - 0.5
    if decimals == 0:  # ties shrink the AUC: the truth from many records
        many = np.repeat([True, False], 10**6)
        truth = auc(scores(np.random.default_rng(0), 10**6, many)[0], many, Scale.of_one(2 * 10**6)) - 0.5
    assert failures(draw, 5, truth) <= MOST_FAILURES


def test_a_control_of_too_few_records_says_nothing():
    member = np.array([True, False] * 3)
    each = Scale(np.repeat(np.arange(3), 2), np.repeat(np.arange(3), 2))
    found = beyond_control(member, (np.arange(6.0), Scale.of_one(6)), (np.arange(6.0), each))(0.95)
    assert (found.low, found.high, found.method) == (-1.0, 1.0, intervals.TOO_FEW)


@pytest.mark.parametrize("references", [0, 2])
def test_an_audit_pairs_all_records_and_the_most_exposed_group(references):
    toy = ls.toys.lookup(n=100)
    found = ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit, references=references, workers=1)
    for risk in found.risks:
        assert risk.beyond_control.method == "DeLong, paired"
        assert risk.beyond_control.value == pytest.approx(risk.auc.value - risk.control.auc.value)
    assert found.basis.exposed.beyond_control.method == "DeLong, paired"
    permuted = ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit, retrain=False)
    assert {risk.beyond_control.method for risk in permuted.risks} == {"MOVER"}


def test_scores_and_control_scores_of_the_same_records_are_paired():
    """One control model: without the added variance, the difference has the deviation of the jackknife."""
    rng = np.random.default_rng(8)
    member = np.repeat([True, False], 200)
    hardness = rng.normal(size=400)
    scores, control = hardness + 0.5 * member, hardness + 0.1 * rng.normal(size=400)
    found = ls.audit_scores(scores, member, control=control).risks[0].beyond_control
    expected = beyond_control(member, (scores, Scale.of_one(400)), (control, Scale.of_one(400)))(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
