"""The verdict follows from the intervals, and choosing the strongest of many attacks is paid for."""

import numpy as np
import pytest

from leakscope import verdict
from leakscope.evidence import Attack, Guesses
from leakscope.ranking import Scale
from leakscope.results import Basis
from leakscope.risk import FALSE_POSITIVE_RATES, Judged, Trial, assess


def assess_all(score_sets, member, blind, control=None):
    """Verdict on several attacks, each given by its scores; ``control`` are the scores on the never-trained model."""

    def judged(scores, truth=member):
        return Judged(
            Guesses(scores, (scores > 0).astype(float)),
            truth,
            Scale(np.zeros(len(member), int), np.zeros(len(member), int)),
        )

    trials = [
        Trial(
            Attack(f"attack {number}", "log_loss", "test", lambda evidence, rng: None),
            judged(scores),
            judged(scores, np.roll(member, len(member) // 2)),
            None if control is None else judged(control),
        )
        for number, scores in enumerate(score_sets)
    ]
    chance = verdict.confidence_for_choice(0.95, len(trials), 1 + len(FALSE_POSITIVE_RATES))
    both = [assess(trial, judged(blind), {}, confidences=(0.95, chance)) for trial in trials]
    plain, careful = ([risks[at] for risks in both] for at in (0, 1))
    best = verdict.choose_strongest(careful)
    return verdict.judge(careful[best], Basis(0.05)), careful[best], plain


def test_twenty_useless_attacks_do_not_make_one_look_good():
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], 500)
    repeats = 150
    leaks, careless, held = 0, 0, 0
    for _ in range(repeats):
        scores = rng.normal(size=(20, 1000))
        said, strongest, plain = assess_all(scores, member, rng.normal(size=1000))
        leaks += said.kind == "leaks"
        held += strongest.auc.low <= 0.5
        careless += max(risk.auc.low for risk in plain) > 0.5
    allowed = 0.05 + 4 * np.sqrt(0.05 * 0.95 / repeats)
    assert leaks / repeats <= allowed
    assert 1 - held / repeats <= allowed
    # Without paying for the choice a false alarm would be the rule: 1 - 0.975^20 is 40 %.
    assert careless / repeats > 0.2


def test_one_good_attack_among_useless_ones_is_found():
    rng = np.random.default_rng(1)
    member = np.repeat([True, False], 500)
    scores = rng.normal(size=(20, 1000))
    scores[7] += 1.0 * member
    said, strongest, _ = assess_all(scores, member, rng.normal(size=1000))
    assert said.kind == "leaks"
    assert strongest.attack == "attack 7"
    assert str(strongest.auc) in said.sentence


def test_a_leak_about_few_members_is_found_though_the_auc_is_chance():
    rng = np.random.default_rng(2)
    n = 4000
    member = np.repeat([True, False], n)
    scores = rng.normal(size=2 * n)
    scores[:200] = 10 + rng.random(200)  # one member in twenty is certain
    scores[200:n] -= 0.065  # and the others make up for it
    said, strongest, _ = assess_all([scores, rng.normal(size=2 * n)], member, rng.normal(size=2 * n))
    assert strongest.auc.low <= 0.5
    assert said.kind == "leaks"
    assert "false-positive rate" in said.sentence


def test_an_attack_that_does_not_beat_the_blind_baseline_is_not_called_a_leak():
    rng = np.random.default_rng(3)
    member = np.repeat([True, False], 1000)
    shift = rng.normal(1.0 * member, 1.0)
    said, _, _ = assess_all([shift + 0.3 * rng.normal(size=2000)], member, shift)
    assert said.kind == "cannot tell"
    assert "without the model" in said.sentence


def test_an_attack_that_does_as_well_on_a_model_that_never_saw_the_members_is_not_called_a_leak():
    rng = np.random.default_rng(4)
    member = np.repeat([True, False], 1000)
    said, _, _ = assess_all(
        [rng.normal(0.5 * member, 1.0)], member, rng.normal(size=2000), control=rng.normal(0.5 * member, 1.0)
    )
    assert said.kind == "cannot tell"
    assert "never saw the members" in said.sentence


@pytest.mark.parametrize(("n", "kind"), [(4000, "no evidence"), (60, "cannot tell")])
def test_without_a_leak_the_number_of_records_decides_what_can_be_said(n, kind):
    rng = np.random.default_rng(5)
    member = np.repeat([True, False], n)
    said, _, _ = assess_all(rng.normal(size=(3, 2 * n)), member, rng.normal(size=2 * n))
    assert said.kind == kind
    if kind == "cannot tell":
        assert "records" in said.sentence
        assert "needed" in said.sentence


def test_the_records_said_to_be_needed_do_suffice():
    """With as many records as asked for, chance is told from a leak of the margin in nearly every draw."""
    rng = np.random.default_rng(6)
    chance = verdict.confidence_for_choice(0.95, 1, 1 + len(FALSE_POSITIVE_RATES))
    n = verdict.records_needed(0.05, chance)
    member = np.repeat([True, False], n)
    kinds = [assess_all([rng.normal(size=2 * n)], member, rng.normal(size=2 * n))[0].kind for _ in range(40)]
    assert kinds.count("no evidence") >= 36


def test_a_leak_about_few_members_stands_although_its_auc_is_not_surely_beyond_the_control():
    """The AUC is just above chance and not surely above the control's; the share of members found is."""
    rng = np.random.default_rng(7)
    n = 4000
    member = np.repeat([True, False], n)
    scores = rng.normal(size=2 * n)
    scores[:240] = 10 + rng.random(240)
    said, strongest, _ = assess_all(
        [scores], member, rng.normal(size=2 * n), control=rng.normal(size=2 * n) + 0.04 * member
    )
    assert strongest.tpr_beyond[0.01].low > 0
    assert said.kind == "leaks"


def test_a_leak_about_few_members_is_doubted_where_the_control_finds_as_many():
    rng = np.random.default_rng(8)
    n = 4000
    member = np.repeat([True, False], n)

    def few(rng):
        scores = rng.normal(size=2 * n)
        scores[:200], scores[200:n] = 10 + rng.random(200), scores[200:n] - 0.065
        return scores

    said, strongest, _ = assess_all([few(rng)], member, rng.normal(size=2 * n), control=few(rng))
    assert said.kind == "cannot tell"
    assert strongest.auc.low <= 0.5
    assert f"the share {strongest.control.tpr_at_fpr[0.01]}" in said.sentence  # a rate is doubted by a rate
    without, _, _ = assess_all([few(rng)], member, few(rng))
    assert without.kind == "cannot tell"
    assert "the records alone" in without.sentence


def test_overlap_stretches_what_is_not_excluded():
    rng = np.random.default_rng(9)
    member = np.repeat([True, False], 4000)
    _, strongest, _ = assess_all([rng.normal(size=8000)], member, rng.normal(size=8000))
    kinds = {overlap: verdict.judge(strongest, Basis(0.05, overlap)).kind for overlap in (0.0, 0.9, 1.0)}
    assert kinds == {0.0: "no evidence", 0.9: "cannot tell", 1.0: "cannot tell"}


def test_an_obstacle_rules_out_no_evidence_and_nothing_else():
    rng = np.random.default_rng(0)
    for shift, kinds in ((0.0, ("no evidence", "cannot tell")), (1.0, ("leaks", "leaks"))):
        member = np.repeat([True, False], 4000)
        found, strongest, _ = assess_all([rng.normal(shift * member)], member, rng.normal(size=8000))
        blocked = verdict.judge(strongest, Basis(0.05, obstacles=("the model gives random answers",)))
        assert (found.kind, blocked.kind) == kinds
