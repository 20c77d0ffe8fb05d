"""The contract of membership inference attacks: every attack of `REGISTRY` is tested here."""

import copy
import re
from functools import partial

import numpy as np
import pytest
from samples import draw
from sklearn.neighbors import KNeighborsClassifier

from leakscope import toys
from leakscope.attacks import ATTACKS, REGISTRY, confidence_network, explanation_network
from leakscope.attacks.membership_explanation_references import explanation_statistics, explanation_table
from leakscope.attacks.membership_record_explanation import RELEASE as RECORD_EXPLANATION
from leakscope.attacks.protocol import Evidence, Known
from leakscope.attacks.references import (
    FROM_REFERENCES,
    MEAN_OUT,
    OF_EXPLANATION,
    from_references,
    reference_statistics,
)
from leakscope.core.errors import InputError
from leakscope.evaluation.crossfit import cross_guess, scale_of
from leakscope.evaluation.risk import score
from leakscope.models.target import Model, make_target
from leakscope.releases.feature_explanations import METHODS
from leakscope.releases.release import LOSSES, RELEASES, find_release

#: The same attacks with less training: what they keep to does not depend on it.
CHEAP = {
    "confidence network": partial(confidence_network, steps=150, starts=2),
    "explanation network": partial(explanation_network, "gradient", prediction=True, true_label=True, epochs=2),
}
NAMED = {name: CHEAP.get(name, factory)() for name, factory in REGISTRY.items()}
ALL = list(NAMED.values())
#: Toy models have no feature explanations: the theory tests show that these attacks find members.
EVERY = [attack for attack in ALL if attack.release not in METHODS]
WITH_REFERENCES = [attack for attack in ALL if attack.uses_references]
MODELS = 4


def named(attack):
    return f"{attack.name} on {attack.release}"


def of_values(attack):
    return attack.release in ("squared_error", "predictions")


def of_answers(attack):
    """Whether the release is computed from a model's answers, and not made by an oracle or given as it is."""
    return attack.release in RELEASES


# --- models on which all members are distinguishable, and models on which none is ---


def nearest_neighbour(n):
    """Random labels are memorised around each member, so that every member has a distance to the boundary."""
    toy = copy.copy(toys.lookup(n))
    neighbour = KNeighborsClassifier(1).fit(*toy.train)
    object.__setattr__(toy, "model", Model("1-NN", "classification", np.arange(2), True, neighbour.predict_proba))
    return toy


def toy_for(attack, n=600):
    if attack.release == "boundary_distance":
        return nearest_neighbour(n)
    return toys.gaussian_mean(n, size=2) if of_values(attack) else toys.lookup(n)


def untold_toy(attack, n=600):
    if not of_values(attack):
        return toys.never_trained(n)
    toy = copy.copy(toys.gaussian_mean(n, size=2))
    object.__setattr__(toy, "train", (toy.train[0], np.random.default_rng(9).normal(size=n)))
    return toy


def references_on(attack, labels, rng, leaks=True):
    """Four models in complementary pairs, on the toy models: they memorise a record, or read a mean of two values."""
    n = len(labels)
    first = np.array([rng.permutation(n) < n // 2 for _ in range(MODELS // 2)])
    inside = np.concatenate([first, ~first])
    had = inside & leaks
    if of_values(attack):
        drawn = rng.normal(size=(2, MODELS, n))
        answers = np.where(had, (labels + drawn[0]) / 2, drawn.mean(axis=0))
        return reference_statistics(answers, labels, inside, "regression")
    right = np.where(had, 1.0, 0.5) if leaks else rng.random((MODELS, n))
    answers = np.where(np.arange(2) == labels[:, None], right[:, :, None], 1 - right[:, :, None])
    return reference_statistics(answers, labels, inside, "classification")


def made_up_scores(attack, n, rng, leaks):
    """What an oracle that gives record explanations, or a user's score, shows of n members and n non-members."""
    member = np.repeat([leaks, False], n)
    if attack.release != RECORD_EXPLANATION:
        return rng.normal(size=(2 * n, 1)) + 2 * member[:, None]
    revealed = rng.random(2 * n) < np.where(member, 0.5, 0.0)
    return np.column_stack([revealed, rng.random((2 * n, 2)) + (member & ~revealed)[:, None]])


def guesses_on(attack, leaks, seed=0, n=600):
    rng = np.random.default_rng(seed)
    if of_answers(attack):
        toy = toy_for(attack, n) if leaks else untold_toy(attack, n)
        target = make_target(toy.model, toy.train, toy.holdout)
        sides, release = (target.members, target.nonmembers), RELEASES[attack.release]
        seen, y = [release(target.model, side.X, side.y) for side in sides], [side.y for side in sides]
    else:
        seen, y = np.split(made_up_scores(attack, n, rng, leaks), 2), [np.zeros(n, int)] * 2
    sample = draw(n, n, rng)
    observed, labels = sample.judge(*seen), sample.judge(*y)
    second = references_on(attack, labels, rng, leaks) if attack.uses_references else None
    return cross_guess(attack, observed, labels, sample.member, sample.half, rng, second=second)[0], sample


def figures_on(attack, leaks, **options):
    guesses, sample = guesses_on(attack, leaks)
    scale = scale_of(attack, sample.half)
    return score(guesses.score, sample.member, scale=scale, says_member=guesses.says_member, **options)


@pytest.mark.parametrize("attack", EVERY, ids=named)
def test_a_higher_score_means_more_surely_a_member(attack):
    figures = figures_on(attack, leaks=True)
    assert figures.auc.low > 0.55
    assert figures.advantage.low > 0


@pytest.mark.parametrize("attack", EVERY, ids=named)
def test_nothing_is_found_about_people_the_model_never_saw(attack):
    figures = figures_on(attack, leaks=False, confidence=0.9999)
    assert figures.auc.low <= 0.5 <= figures.auc.high
    assert figures.advantage.low <= 0 <= figures.advantage.high


def made_up_release(name, n, rng):
    if name == RECORD_EXPLANATION:
        return np.column_stack([rng.integers(0, 3, n), rng.random((n, 2))])
    if name == "score":
        return rng.normal(size=(n, 1))
    if name not in RELEASES:
        return rng.normal(size=(n, 6)).astype(np.float32)
    observed = rng.random((n, 3 if name == "probabilities" else 1))
    if name == "labels":
        observed = np.round(2 * observed)
    return observed / observed.sum(axis=1, keepdims=True) if name == "probabilities" else observed


def made_up_references(attack, labels, rng):
    """References without information on the target: their answers have one distribution for all records."""
    n = len(labels)
    inside = np.arange(MODELS)[:, None] % 2 == rng.integers(0, 2, n)
    if of_values(attack):
        return reference_statistics(labels + rng.normal(size=(MODELS, n)), labels, inside, "regression")
    return reference_statistics(rng.dirichlet(np.ones(3), (MODELS, n)), labels, inside, "classification")


def made_up_table(n, rng):
    """The same about explanations."""
    statistics = [explanation_statistics(rng.normal(size=(n, 6))) for _ in range(MODELS)]
    return explanation_table(np.array(statistics), np.arange(MODELS)[:, None] % 2 == rng.integers(0, 2, n))


def made_up_observations(attack, n, rng):
    """What the release shows of records of one distribution, their labels, and the second release if any."""
    observed, labels = made_up_release(attack.release, n, rng), rng.integers(0, 3, n)
    shown = {
        name: made_up_references(attack, labels, rng)
        if name in FROM_REFERENCES
        else made_up_table(n, rng)
        if name.startswith(OF_EXPLANATION)
        else made_up_release(name, n, rng)
        for name in attack.releases[1:]
    }
    return observed, labels, attack.second_in(shown)


def rows_of(values, rows):
    return None if values is None else values[rows]


def made_up_evidence(attack, n=120):
    observed, labels, second = made_up_observations(attack, n, np.random.default_rng(1))
    labels = labels if attack.uses_labels else None
    member = np.arange(n) % 2 == 0
    first, last = slice(0, n // 2), slice(n // 2, n)
    known = Known(observed[first], rows_of(labels, first), member[first], rows_of(second, first))
    return Evidence(observed[last], rows_of(labels, last), known, rows_of(second, last))


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
        for name in ("observed", "labels", "second"):
            np.testing.assert_array_equal(getattr(after, name), getattr(was, name))


@pytest.mark.parametrize("attack", ALL, ids=named)
def test_the_answer_about_a_record_does_not_depend_on_who_else_is_asked_about(attack):
    evidence = made_up_evidence(attack)
    order = np.random.default_rng(4).permutation(len(evidence))[:30]
    labels, second = rows_of(evidence.labels, order), rows_of(evidence.second, order)
    some = Evidence(evidence.observed[order], labels, evidence.known, second)
    everyone, few = (attack.guess(e, np.random.default_rng(5)) for e in (evidence, some))
    np.testing.assert_allclose(few.score, everyone.score[order], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(few.says_member, everyone.says_member[order])


def test_attacks_say_where_they_come_from_and_read_known_releases():
    for attack in ALL:
        assert attack.source, attack
        given = [
            name for name in attack.releases if not from_references(name) and name not in (RECORD_EXPLANATION, "score")
        ]
        assert [find_release(name).name for name in given] == given


def test_names_tell_attacks_apart():
    for attacks in (*ATTACKS.values(), ALL):
        assert len({named(attack) for attack in attacks}) == len(attacks)


def test_an_audit_runs_attacks_of_the_registry():
    known = {named(attack) for attack in ALL}
    assert {named(attack) for attacks in ATTACKS.values() for attack in attacks} <= known


#: Left out: networks, and the second of two attacks that fit the same classifier to the same features.
SLOW = {
    "prediction",
    "value",
    "explanation",
    "explanation learned references",
    "learned references regression",
    "learned references labels",
    "learned references trees",
    "learned references trees regression",
    "quantile regression",
}
QUICK = [attack for name, attack in NAMED.items() if name not in SLOW and "network" not in attack.name]
REPEATS, FEW_REPEATS, FEWEST_REPEATS = 250, 40, 20


def repeats_of(attack):
    if "reference models (" in attack.name or attack.name.startswith(("learned on prediction and truth", "quantile")):
        return FEWEST_REPEATS
    return FEW_REPEATS if "boosted" in attack.name or attack.name.startswith("residual") else REPEATS


@pytest.mark.parametrize("attack", QUICK, ids=named)
def test_intervals_hold_where_there_is_nothing_to_find(attack):
    """Fitting included: members and non-members of one distribution, many times; every interval contains the truth."""
    rng = np.random.default_rng(6)
    held = {"auc": 0, "advantage": 0, "accuracy": 0, "tpr": 0}
    n, repeats = 150, repeats_of(attack)
    for _ in range(repeats):
        observed, labels, second = made_up_observations(attack, 2 * n, rng)
        sample = draw(n, n, rng)
        guesses, _ = cross_guess(attack, observed, labels, sample.member, sample.half, rng, second=second)
        scale = scale_of(attack, sample.half)
        figures = score(guesses.score, sample.member, scale=scale, says_member=guesses.says_member, fprs=(0.2,))
        held["auc"] += figures.auc.low <= 0.5 <= figures.auc.high
        held["advantage"] += figures.advantage.low <= 0 <= figures.advantage.high
        held["accuracy"] += figures.accuracy.low <= 0.5 <= figures.accuracy.high
        held["tpr"] += figures.tpr_at_fpr[0.2].low <= 0.2 <= figures.tpr_at_fpr[0.2].high
    assert min(held.values()) / repeats >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / repeats), held


@pytest.mark.parametrize("attack", [attack for attack in ALL if attack.fixed_scale], ids=named)
def test_on_a_fixed_scale_the_known_records_do_not_move_a_score(attack):
    evidence = made_up_evidence(attack)
    known = evidence.known
    changed = Known(known.observed, known.labels, ~known.member, known.second)
    other = Evidence(evidence.observed, evidence.labels, changed, evidence.second)
    one, two = (attack.guess(e, np.random.default_rng(0)).score for e in (evidence, other))
    np.testing.assert_array_equal(one, two)


# --- attacks with reference models ---


@pytest.mark.parametrize("attack", WITH_REFERENCES, ids=named)
def test_without_references_the_error_names_what_is_missing(attack):
    evidence = made_up_evidence(attack)
    known = Known(evidence.known.observed, evidence.known.labels, evidence.known.member)
    with pytest.raises(InputError, match=re.escape(attack.name)):
        attack.guess(Evidence(evidence.observed, evidence.labels, known), np.random.default_rng(0))


FIXED = [attack for attack in WITH_REFERENCES if attack.fixed_scale and attack.release in LOSSES]


@pytest.mark.parametrize("attack", FIXED, ids=named)
def test_where_the_references_agree_a_smaller_loss_means_more_surely_a_member(attack):
    """Records that look alike to the references rank by the loss under the target, except beyond the limits of φ.

    The density ratio of LiRA falls again where φ exceeds both means by much, if members deviate less: it is asked between them.
    """
    table = made_up_evidence(attack).second
    # Means of φ that stand in the usual order, and equal deviations.
    row = np.tile(np.median(table, axis=0), (30, 1))
    row[:, :4] = [row[0, MEAN_OUT] + 1, row[0, MEAN_OUT], 1.0, 1.0]
    loss = np.linspace(0.02, 4.0, 30)[:, None]
    known = Known(loss, None, np.arange(30) % 2 == 0, row)
    scores = attack.guess(Evidence(loss, None, known, row), np.random.default_rng(0)).score
    assert (np.diff(scores) < 0).all()


@pytest.mark.parametrize("attack", [attack for attack in WITH_REFERENCES if of_values(attack)], ids=named)
def test_the_unit_of_the_labels_of_a_regression_changes_no_order(attack):
    rng = np.random.default_rng(8)
    labels, target = rng.normal(size=(2, 200))
    inside = np.arange(MODELS)[:, None] % 2 == rng.integers(0, 2, 200)
    answers, orders = rng.normal(size=(MODELS, 200)), []
    for unit in (1.0, 1024.0):
        second = reference_statistics(unit * answers, unit * labels, inside, "regression")
        observed = (unit * (target - labels))[:, None] ** 2
        known = Known(observed[:100], None, np.arange(100) % 2 == 0, second[:100])
        guesses = attack.guess(Evidence(observed[100:], None, known, second[100:]), np.random.default_rng(0))
        orders.append(np.argsort(guesses.score, kind="stable"))
    np.testing.assert_array_equal(*orders)
