"""Claims of differential privacy: refuted where the lower bound on ε from one model is above them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from samples import sample_audit

import leakscope as ls
from leakscope import toys
from leakscope.core.estimate import Estimate
from leakscope.evaluation.audit_claims import audit_claims
from leakscope.evaluation.results import Basis, EpsilonClaim
from leakscope.evaluation.verdict import judge
from leakscope.studies.one_run_bound import stand_alone


def audit_toy(toy, **options):
    return ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit, workers=1, **options)


def test_a_model_that_knows_every_member_refutes_a_small_epsilon_and_not_a_large_one():
    """All of n pairs are told right: ε is at least logit(0.05^(1/n)) at 95 % (Clopper and Pearson), before the choice of r."""
    toy = toys.lookup(n=300)
    refuted = audit_toy(toy, epsilon=1.0)
    assert refuted.verdict.kind == "claim_refuted"
    assert refuted.verdict.leaks
    assert refuted.bounds[0].contradicted
    largest = 0.05 ** (1 / 300)
    assert 3 < refuted.basis.claim.bound.value <= math.log(largest / (1 - largest))
    kept = audit_toy(toy, epsilon=9.0)
    assert (kept.verdict.kind, kept.bounds[0].contradicted) == ("leaks", False)


def test_a_random_split_shows_a_lower_bound_on_epsilon_without_a_claim():
    with_split, without = (audit_toy(toys.lookup(n=100), random_split=split) for split in (True, False))
    assert with_split.basis.claim.epsilon is None
    assert with_split.basis.claim.bound.value > 1
    assert without.basis.claim is None


def test_audit_and_comparison_give_the_same_bound():
    """Both are for the swap of one record and by the same attack; they differ only in the confidence, which versions share."""
    toy = toys.lookup(n=100)
    target = ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    compared = ls.compare(target, defenses="round", random_split=True, workers=1).as_it_is.epsilon
    audited = audit_toy(toy, random_split=True, confidence=compared.confidence).basis.claim.bound
    assert compared.value > 1
    assert (compared.value, compared.kind) == (audited.value, audited.kind)


@pytest.mark.parametrize("split", [True, False])
def test_scores_of_a_random_split_bound_epsilon(split):
    """All of 200 pairs are told right, by each of two attacks: ε is at least logit(0.025^(1/200)), before the choice of r."""
    member = np.repeat([True, False], 200)
    scores = np.random.default_rng(0).normal(size=400) + 20 * member
    claim = ls.audit_scores(scores, member, random_split=split).basis.claim
    if not split:
        assert claim is None
        return
    largest = 0.025 ** (1 / 200)
    assert 3 < claim.bound.value <= math.log(largest / (1 - largest))


@pytest.mark.parametrize("seed", range(5))
def test_a_model_that_never_saw_the_members_refutes_nothing(seed):
    assert audit_toy(toys.never_trained(n=200, seed=seed), epsilon=0.1).verdict.kind != "claim_refuted"


def test_a_difference_between_the_sets_is_no_refutation():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    X[:200, 0] += 2 * y[:200]  # a threshold of the first column finds the labels of the members alone

    def predict(rows):
        second = 1 / (1 + np.exp(2 - 2 * rows[:, 0]))
        return np.column_stack([1 - second, second])

    found = ls.audit(
        predict, (X[:200], y[:200]), (X[200:], y[200:]), classes=[0, 1], epsilon=0.01, references=0, workers=1
    )
    assert found.basis.claim.refuted
    assert found.verdict.kind != "claim_refuted"


def test_the_verdict_follows_from_the_claim():
    risk = audit_toy(toys.lookup(n=100)).strongest
    claim = EpsilonClaim(1.0, 0.0, Estimate(2.0, 2.0, 2.0, kind="lower bound"), "an attack")
    assert judge(risk, Basis(0.05, claim=claim)).kind == "claim_refuted"
    assert judge(risk, Basis(0.05, claim=EpsilonClaim(2.0, 0.0, claim.bound, "an attack"))).kind == "leaks"


def test_copies_are_left_out_of_pairs():
    from leakscope.evaluation.crossfit import Sample

    members, nonmembers = np.array([1, 1, 2, 3], np.uint64), np.array([3, 4, 5], np.uint64)
    sample = Sample.draw(members, nonmembers, np.random.default_rng(0))
    alone = sample.judge(members, nonmembers)[stand_alone((members, nonmembers), sample)]
    assert set(alone) <= {2, 4, 5}


def test_a_gate_against_leaks_stops_a_refuted_claim():
    refuted = audit_toy(toys.lookup(n=100), epsilon=0.1)
    assert refuted.verdict.kind == "claim_refuted"
    assert ls.gate(refuted, ["verdict = leaks"]).outcome == "failed"
    assert ls.gate(refuted, ['verdict = "claim_refuted"']).outcome == "failed"
    assert ls.gate(refuted, ['verdict = "not_detected"']).outcome == "passed"


@pytest.mark.parametrize(("split", "outcome"), [(True, "yes"), (False, "inconclusive")])
def test_a_release_above_chance_needs_no_rival_under_a_random_split(split, outcome):
    """The verdict asks for none either: otherwise the page would call a release of a model that leaks a possible shift."""
    audit = sample_audit()
    beyond = Estimate(0.02, -0.01, 0.05)
    own = replace(audit.by_release[0], control_kind="permuted", beyond_blind=beyond, auc=Estimate(0.6, 0.55, 0.65))
    control = replace(audit.strongest.control, kind="permuted")
    strongest = replace(audit.strongest, control=control, blind=Estimate(0.5, 0.45, 0.55))
    basis = replace(audit.basis, random_split=split)
    leaks = replace(audit.verdict, kind="leaks")
    found = replace(audit, by_release=(own,), strongest=strongest, basis=basis, verdict=leaks, claims=())
    assert next(one.outcome for one in audit_claims(found) if one.subject.get("release")) == outcome
