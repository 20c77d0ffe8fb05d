import numpy as np
import pytest
from samples import draw

from leakscope.attacks.protocol import Attack, Scores
from leakscope.evaluation.crossfit import Sample, cross_guess


@pytest.mark.parametrize(("members", "nonmembers"), [(50, 20), (20, 50), (33, 33)])
def test_judged_members_and_nonmembers_are_equally_many_and_distinct(members, nonmembers):
    sample = draw(members, nonmembers, np.random.default_rng(0))
    assert sample.judged == min(members, nonmembers) == len(sample.nonmembers)
    assert sorted(sample.members) == list(range(members))
    assert len(set(sample.nonmembers.tolist())) == sample.judged
    for half in (0, 1):
        here = sample.half == half
        assert (sample.member & here).sum() == (~sample.member & here).sum()


def test_permuted_memberships_keep_each_half_balanced_and_are_independent_of_the_truth():
    sample = draw(500, 500, np.random.default_rng(0))
    shuffled = sample.permuted(np.random.default_rng(1))
    for half in (0, 1):
        here = sample.half == half
        assert shuffled[here].sum() == sample.member[here].sum()
    agree = np.mean(shuffled == sample.member)
    assert abs(agree - 0.5) < 4 * 0.5 / np.sqrt(1000)


def spy_on(seen):
    """An attack that notes its evidence and scores each record by its number."""

    def guess(evidence, rng):
        del rng
        seen.append(evidence)
        return Scores(evidence.observed[:, 0], np.zeros(len(evidence)))

    return guess


@pytest.mark.parametrize("uses_labels", [True, False])
def test_evidence_never_holds_the_truth_about_the_records_asked_about(uses_labels):
    n = 40
    sample = draw(n + 15, n, np.random.default_rng(0))
    numbers, others = np.arange(2.0 * n)[:, None], np.arange(1000.0, 1015.0)[:, None]
    seen = []
    attack = Attack("spy", "log_loss", "test", spy_on(seen), uses_labels)
    labels, other_labels = numbers[:, 0] * 10, others[:, 0] * 10
    known, outside = (numbers, labels, sample.member, sample.half), (others, other_labels, sample.other_half)
    guesses, other_scores = cross_guess(attack, *known, np.random.default_rng(0), others=outside)
    asked = np.concatenate([evidence.observed[:, 0] for evidence in seen])
    assert sorted(asked) == sorted([*numbers[:, 0], *others[:, 0]])  # everyone once
    np.testing.assert_array_equal(guesses.score, numbers[:, 0])  # answers come back to their records
    np.testing.assert_array_equal(other_scores, others[:, 0])
    for evidence in seen:
        known = evidence.known
        assert not set(evidence.observed[:, 0]) & set(known.observed[:, 0])
        np.testing.assert_array_equal(known.member, sample.member[known.observed[:, 0].astype(int)])
        assert known.member.sum() * 2 == len(known.member)
        for part in (evidence, known):
            assert (part.labels is None) == (not uses_labels)
            if uses_labels:
                np.testing.assert_array_equal(part.labels, part.observed[:, 0] * 10)
        assert not {name for name in vars(evidence) if "member" in name}


def test_of_equal_records_one_is_judged_and_twins_share_a_half():
    rng = np.random.default_rng(0)
    members = rng.integers(0, 60, 150).astype(np.uint64)  # many copies
    nonmembers = rng.integers(40, 140, 150).astype(np.uint64)  # and many that stand on both sides
    sample = Sample.draw(members, nonmembers, rng)
    inside, outside = members[sample.members[: sample.judged]], nonmembers[sample.nonmembers]
    assert len(set(inside)) == len(set(outside)) == sample.judged
    assert sorted(sample.members) == list(range(150))
    half = dict(zip(inside, sample.half[: sample.judged], strict=True))
    shared = [
        (half[name], number) for name, number in zip(outside, sample.half[sample.judged :], strict=True) if name in half
    ]
    assert shared
    assert all(one == other for one, other in shared)
    copies = members[sample.members[sample.judged :]]
    known = [(half[name], number) for name, number in zip(copies, sample.other_half, strict=True) if name in half]
    assert known
    assert all(one == other for one, other in known)
    assert abs(int(sample.half.sum()) - sample.judged) <= 1
