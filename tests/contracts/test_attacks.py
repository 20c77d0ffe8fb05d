"""What every attack keeps to, whoever wrote it."""

import copy

import numpy as np
import pytest
from samples import draw

from leakscope import toys
from leakscope.attacks import ATTACKS, explanation_attacks, explanation_network, label_only, learned, learned_prediction
from leakscope.crossfit import cross_guess, scale_of
from leakscope.evidence import Evidence, Known
from leakscope.releases import RELEASES, find_release
from leakscope.risk import score
from leakscope.target import make_target

EVERY = [attack for attacks in ATTACKS.values() for attack in attacks] + [
    learned("probabilities", "confidences", "network"),
    learned("likelihood_loss", "loss", "logistic regression"),
    learned_prediction("probabilities"),
    learned_prediction("predictions"),
    label_only(),
]
#: Toy models have no explanations: that these attacks find members is for the theory tests to show.
ON_EXPLANATIONS = [
    *explanation_attacks("gradient", prediction="probabilities"),
    explanation_network("gradient", prediction=True, true_label=True, epochs=2),
]
ALL = EVERY + ON_EXPLANATIONS


def named(attack):
    return f"{attack.name} on {attack.release}"


def of_values(attack):
    return attack.release in ("squared_error", "predictions")


def toy_for(attack, n=600):
    """A world in which members are sure to be told from others through the attack's release."""
    return toys.gaussian_mean(n, size=2) if of_values(attack) else toys.lookup(n)


def guesses_on(attack, toy, seed=0):
    target = make_target(toy.model, toy.train, toy.holdout)
    sample = draw(len(target.members), len(target.nonmembers), np.random.default_rng(seed))
    release = RELEASES[attack.release]
    inside, outside = (release(target.model, side.X, side.y) for side in (target.members, target.nonmembers))
    observed, labels = sample.judge(inside, outside), sample.judge(target.members.y, target.nonmembers.y)
    rng = np.random.default_rng(seed)
    return cross_guess(attack, observed, labels, sample.member, sample.half, rng)[0], sample


@pytest.mark.parametrize("attack", EVERY, ids=named)
def test_a_higher_score_means_more_surely_a_member(attack):
    guesses, sample = guesses_on(attack, toy_for(attack))
    figures = score(guesses.score, sample.member, scale=scale_of(attack, sample.half), says_member=guesses.says_member)
    assert figures.auc.low > 0.55
    assert figures.advantage.low > 0


@pytest.mark.parametrize("attack", EVERY, ids=named)
def test_nothing_is_found_about_people_the_model_never_saw(attack):
    if of_values(attack):
        toy = toys.gaussian_mean(600, size=2)
        toy = copy.copy(toy)
        object.__setattr__(toy, "train", (toy.train[0], np.random.default_rng(9).normal(size=600)))
    else:
        toy = toys.never_trained(600)
    guesses, sample = guesses_on(attack, toy)
    figures = score(
        guesses.score,
        sample.member,
        scale=scale_of(attack, sample.half),
        says_member=guesses.says_member,
        confidence=0.9999,
    )
    assert figures.auc.low <= 0.5 <= figures.auc.high
    assert figures.advantage.low <= 0 <= figures.advantage.high


def made_up_release(name, n, rng):
    if name not in RELEASES:
        return rng.normal(size=(n, 6)).astype(np.float32)
    observed = rng.random((n, 3 if name == "probabilities" else 1))
    if name == "labels":
        observed = np.round(2 * observed)
    return observed / observed.sum(axis=1, keepdims=True) if name == "probabilities" else observed


def made_up_observations(attack, n, rng):
    """What the release shows of records that are all drawn alike, their labels, and the second release if any."""
    observed, labels = made_up_release(attack.release, n, rng), rng.integers(0, 3, n)
    return observed, labels, None if attack.beside is None else made_up_release(attack.beside, n, rng)


def rows_of(values, rows):
    return None if values is None else values[rows]


def made_up_evidence(attack, n=120):
    observed, labels, beside = made_up_observations(attack, n, np.random.default_rng(1))
    labels = labels if attack.uses_labels else None
    member = np.arange(n) % 2 == 0
    first, second = slice(0, n // 2), slice(n // 2, n)
    known = Known(observed[first], rows_of(labels, first), member[first], rows_of(beside, first))
    return Evidence(observed[second], rows_of(labels, second), known, rows_of(beside, second))


@pytest.mark.parametrize("attack", ALL, ids=named)
def test_guesses_are_finite_one_per_record_and_decisions_are_probabilities(attack):
    evidence = made_up_evidence(attack)
    guesses = attack.guess(evidence, np.random.default_rng(2))
    assert guesses.score.shape == guesses.says_member.shape == (len(evidence),)
    assert np.isfinite(guesses.score).all()
    assert ((guesses.says_member >= 0) & (guesses.says_member <= 1)).all()


@pytest.mark.parametrize("attack", ALL, ids=named)
def test_attacks_leave_the_evidence_alone_and_repeat_themselves(attack):
    evidence = made_up_evidence(attack)
    before = copy.deepcopy(evidence)
    first, second = (attack.guess(evidence, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.score, second.score)
    np.testing.assert_array_equal(evidence.known.member, before.known.member)
    for after, was in ((evidence, before), (evidence.known, before.known)):
        for name in ("observed", "labels", "beside"):
            np.testing.assert_array_equal(getattr(after, name), getattr(was, name))


@pytest.mark.parametrize("attack", ALL, ids=named)
def test_the_answer_about_a_record_does_not_depend_on_who_else_is_asked_about(attack):
    evidence = made_up_evidence(attack)
    order = np.random.default_rng(4).permutation(len(evidence))[:30]
    labels, beside = rows_of(evidence.labels, order), rows_of(evidence.beside, order)
    some = Evidence(evidence.observed[order], labels, evidence.known, beside)
    everyone, few = (attack.guess(e, np.random.default_rng(5)) for e in (evidence, some))
    np.testing.assert_allclose(few.score, everyone.score[order], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(few.says_member, everyone.says_member[order])


@pytest.mark.parametrize("attack", ALL, ids=named)
def test_attacks_say_where_they_come_from(attack):
    assert attack.source
    assert [find_release(name).name for name in attack.releases] == list(attack.releases)


def test_names_tell_attacks_apart():
    for attacks in ATTACKS.values():
        assert len({named(attack) for attack in attacks}) == len(attacks)


QUICK = [attack for attack in EVERY if "network" not in attack.name and "boosted" not in attack.name]
QUICK += [ON_EXPLANATIONS[0], ON_EXPLANATIONS[2]]  # the tree, and boosted trees on all there is
REPEATS, FEW_REPEATS = 250, 40


@pytest.mark.parametrize("attack", QUICK, ids=named)
def test_intervals_hold_where_there_is_nothing_to_find(attack):
    """Fitting included: members and others drawn alike, many times; every figure's interval holds the truth."""
    rng = np.random.default_rng(6)
    held = {"auc": 0, "advantage": 0, "accuracy": 0, "tpr": 0}
    n, repeats = 150, FEW_REPEATS if "boosted" in attack.name else REPEATS
    for _ in range(repeats):
        observed, labels, beside = made_up_observations(attack, 2 * n, rng)
        sample = draw(n, n, rng)
        guesses, _ = cross_guess(attack, observed, labels, sample.member, sample.half, rng, beside=beside)
        scale = scale_of(attack, sample.half)
        figures = score(guesses.score, sample.member, scale=scale, says_member=guesses.says_member, fprs=(0.2,))
        held["auc"] += figures.auc.low <= 0.5 <= figures.auc.high
        held["advantage"] += figures.advantage.low <= 0 <= figures.advantage.high
        held["accuracy"] += figures.accuracy.low <= 0.5 <= figures.accuracy.high
        held["tpr"] += figures.tpr_at_fpr[0.2].low <= 0.2 <= figures.tpr_at_fpr[0.2].high
    assert min(held.values()) / repeats >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / repeats), held


@pytest.mark.parametrize("attack", [attack for attack in EVERY if attack.fixed_scale], ids=named)
def test_on_a_fixed_scale_the_known_records_do_not_move_a_score(attack):
    evidence = made_up_evidence(attack)
    known = evidence.known
    other = Evidence(evidence.observed, evidence.labels, Known(known.observed, known.labels, ~known.member))
    one, two = (attack.guess(e, np.random.default_rng(0)).score for e in (evidence, other))
    np.testing.assert_array_equal(one, two)
