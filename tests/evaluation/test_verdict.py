"""The verdict follows from the intervals, which are corrected for selection among attacks."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from samples import around, sample_audit, sample_risk

from leakscope.attacks.protocol import Attack, Scores
from leakscope.core.estimate import Estimate
from leakscope.core.ranking import Scale
from leakscope.core.result import Caveat
from leakscope.core.wording import write
from leakscope.evaluation import results, verdict
from leakscope.evaluation.results import Basis, EpsilonClaim, Fit, NamedMembers, Statement
from leakscope.evaluation.risk import FALSE_POSITIVE_RATES, Judged, JudgedAttack, assess
from leakscope.report.documents import verdict as words


def assess_all(score_sets, member, blind, control=None):
    """Verdict on several attacks, each given by its scores; ``control`` are the scores on the never-trained model."""

    def judged(scores, truth=member):
        return Judged(Scores(scores, (scores > 0).astype(float)), truth, Scale.of_one(len(member)))

    unseen, shuffled = None if control is None else judged(control), np.roll(member, len(member) // 2)
    trials = [
        JudgedAttack(Attack(f"attack {n}", "log_loss", "test", None), judged(scores), judged(scores, shuffled), unseen)
        for n, scores in enumerate(score_sets)
    ]
    chance = verdict.confidence_for_choice(0.95, len(trials), 1 + len(FALSE_POSITIVE_RATES))
    both = [assess(trial, judged(blind), {}, confidences=(0.95, chance)) for trial in trials]
    plain, careful = ([risks[at] for risks in both] for at in (0, 1))
    best = verdict.choose_strongest(careful)
    return verdict.judge(careful[best], Basis(0.05)), careful[best], plain


def test_twenty_useless_attacks_do_not_make_one_look_good():
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], 500)
    repeats = 60
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
    # Without the correction for selection, false positives would be frequent: 1 - 0.975^20 is 40 %.
    assert careless / repeats > 0.2


def test_one_good_attack_among_useless_ones_is_found():
    rng = np.random.default_rng(1)
    member = np.repeat([True, False], 500)
    scores = rng.normal(size=(20, 1000))
    scores[7] += 1.0 * member
    said, strongest, _ = assess_all(scores, member, rng.normal(size=1000))
    assert said.kind == "leaks"
    assert strongest.attack == "attack 7"
    assert (said.finding.code, said.finding.attack, said.finding.release) == ("auc", "attack 7", "log_loss")
    assert said.finding.estimates == {"auc": strongest.auc}


def test_a_leak_about_few_members_is_found_though_the_auc_is_chance():
    rng = np.random.default_rng(2)
    n = 4000
    member = np.repeat([True, False], n)
    scores = rng.normal(size=2 * n)
    scores[:200] = 10 + rng.random(200)  # one member in twenty is certainly found
    scores[200:n] -= 0.065  # and the other members compensate
    said, strongest, _ = assess_all([scores, rng.normal(size=2 * n)], member, rng.normal(size=2 * n))
    assert strongest.auc.low <= 0.5
    assert said.kind == "leaks"
    assert (said.finding.code, said.finding.fpr) == ("tpr_at_fpr", 0.01)
    assert said.finding.estimates == {"tpr": strongest.tpr_at_fpr[0.01]}


@pytest.mark.parametrize("rival", ["blind", "control"])
def test_an_attack_that_does_not_beat_the_blind_baseline_or_the_never_trained_control_is_not_called_a_leak(rival):
    rng, member = np.random.default_rng(3), np.repeat([True, False], 1000)
    shift, noise = rng.normal(1.0 * member, 1.0), rng.normal(size=2000)
    blind, control = (shift, None) if rival == "blind" else (noise, shift)
    said, strongest, _ = assess_all([shift + 0.3 * rng.normal(size=2000)], member, blind, control=control)
    auc = strongest.blind if rival == "blind" else strongest.control.auc
    assert said.kind == "inconclusive"
    assert said.doubts == (Statement(f"not_above_{rival}", {rival: auc}, remedy="matched_holdout"),)


@pytest.mark.parametrize(("n", "kind"), [(4000, "not_detected"), (60, "inconclusive")])
def test_without_a_leak_the_number_of_records_decides_what_can_be_said(n, kind):
    rng = np.random.default_rng(5)
    member = np.repeat([True, False], n)
    said, strongest, _ = assess_all(rng.normal(size=(3, 2 * n)), member, rng.normal(size=2 * n))
    assert said.kind == kind
    assert (said.finding.code, said.not_excluded) == ("not_detected", strongest.auc.high)
    if kind == "inconclusive":
        assert [doubt.code for doubt in said.doubts] == ["sample_size"]
        assert said.records_needed == verdict.records_needed(0.05, strongest.auc.confidence)


def test_the_records_said_to_be_needed_do_suffice():
    """With as many records as asked for, chance is distinguished from a leak of the margin in nearly every draw."""
    rng = np.random.default_rng(6)
    chance = verdict.confidence_for_choice(0.95, 1, 1 + len(FALSE_POSITIVE_RATES))
    n = verdict.records_needed(0.05, chance)
    member = np.repeat([True, False], n)
    kinds = [assess_all([rng.normal(size=2 * n)], member, rng.normal(size=2 * n))[0].kind for _ in range(40)]
    assert kinds.count("not_detected") >= 36


def test_a_leak_about_few_members_stands_although_its_auc_is_not_surely_beyond_the_control():
    """The AUC is just above chance and not significantly above the control's; the TPR is."""
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
    assert said.kind == "inconclusive"
    assert strongest.auc.low <= 0.5
    shared = {"control": strongest.control.tpr_at_fpr[0.01]}
    assert said.doubts == (Statement("not_above_control", shared, fpr=0.01),)  # a rate is doubted by a rate
    without, _, _ = assess_all([few(rng)], member, few(rng))
    assert without.kind == "inconclusive"
    assert without.doubts == (Statement("not_above_blind", fpr=0.01),)


def test_overlap_stretches_what_is_not_excluded():
    rng = np.random.default_rng(9)
    member = np.repeat([True, False], 4000)
    _, strongest, _ = assess_all([rng.normal(size=8000)], member, rng.normal(size=8000))
    found = {overlap: verdict.judge(strongest, Basis(0.05, overlap)) for overlap in (0.0, 0.9, 1.0)}
    kinds = {overlap: one.kind for overlap, one in found.items()}
    assert kinds == {0.0: "not_detected", 0.9: "inconclusive", 1.0: "inconclusive"}
    assert found[0.9].not_excluded == pytest.approx(0.5 + 10 * (strongest.auc.high - 0.5))
    assert found[1.0].not_excluded == 1.0
    assert [(doubt.code, doubt.estimates["share"].value) for doubt in found[0.9].doubts] == [("copies_in_holdout", 0.9)]


def test_an_obstacle_rules_out_not_detected_and_nothing_else():
    rng = np.random.default_rng(0)
    for shift, kinds in ((0.0, ("not_detected", "inconclusive")), (1.0, ("leaks", "leaks"))):
        member = np.repeat([True, False], 4000)
        found, strongest, _ = assess_all([rng.normal(shift * member)], member, rng.normal(size=8000))
        blocked = verdict.judge(strongest, Basis(0.05, obstacles=(Caveat("answers_depend_on_batch"),)))
        assert (found.kind, blocked.kind) == kinds


# --- every branch, by codes and numbers -------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
LOUD = replace(
    sample_risk("log_loss", "loss threshold", 0.5, groups=False),
    auc=around(0.7, 0.02), tpr_at_fpr={0.1: around(0.1, 0.02)}, tpr_beyond={}, blind=around(0.5, 0.02),
    beyond_control=around(0.2, 0.02), beyond_blind=around(0.2, 0.02),
)  # fmt: skip
QUIET = replace(LOUD, auc=around(0.5, 0.02))
RARE = replace(QUIET, tpr_at_fpr={0.1: around(0.3, 0.02)}, tpr_beyond={0.1: around(0.2, 0.02)})
UNLIKE = around(0.6, 0.02)
FIT = Fit(gap=around(0.2, 0.01), curve=around(0.1, 0.01), mid=around(0.1, 0.01), size=around(0.1, 0.01))
NEVER, SHUFFLED = LOUD.control, LOUD.permuted
OBSTACLES = (Caveat("answers_depend_on_batch"), Caveat("noisy_answers", {"repeats": 16, "rank_correlation": 0.9}))
FINDINGS = {
    "leaks by AUC": (LOUD, Basis(0.05), "leaks", Statement("auc", {"auc": LOUD.auc})),
    "leaks by rate": (RARE, Basis(0.05), "leaks", Statement("tpr_at_fpr", {"tpr": RARE.tpr_at_fpr[0.1]}, fpr=0.1)),
    "not_detected": (QUIET, Basis(0.05), "not_detected", Statement("not_detected", {"auc": QUIET.auc})),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_a_finding_names_the_attack_the_release_and_the_figure(case):
    risk, basis, kind, finding = FINDINGS[case]
    found = verdict.judge(risk, basis)
    assert found.kind == kind
    assert found.finding == replace(finding, attack="loss threshold", release="log_loss")
    assert found.doubts == ()
    assert found.support == (Statement("control", {"control": NEVER.auc}), Statement("blind", {"blind": risk.blind}))


def test_without_a_sign_of_shift_a_fit_better_than_training_explains_is_no_doubt():
    assert verdict.judge(LOUD, Basis(0.05, fit=replace(FIT, mid=around(0.21, 0.01)))).kind == "leaks"
    assert verdict.judge(replace(LOUD, blind=UNLIKE), Basis(0.05, fit=FIT)).kind == "leaks"


def doubt(code, remedy=None, fpr=None, **estimates):
    return Statement(code, estimates, remedy=remedy, fpr=fpr)


ALIKE = around(0.0, 0.02)
SCORES = replace(LOUD, blind=None, beyond_blind=None, control=SHUFFLED)
DOUBTS = {
    "control": (
        replace(LOUD, beyond_control=ALIKE), Basis(0.05),
        [doubt("not_above_control", "more_records", control=NEVER.auc)],
    ),
    "shifted control": (
        replace(LOUD, beyond_control=ALIKE, control=replace(NEVER, auc=UNLIKE)), Basis(0.05),
        [doubt("not_above_control", "matched_holdout", control=UNLIKE)],
    ),
    "blind baseline": (
        replace(LOUD, beyond_blind=ALIKE, blind=UNLIKE), Basis(0.05),
        [doubt("not_above_blind", "matched_holdout", blind=UNLIKE)],
    ),
    "blind baseline without a control": (
        replace(LOUD, beyond_blind=ALIKE, control=SHUFFLED), Basis(0.05),
        [doubt("not_above_blind", "more_records", blind=LOUD.blind)],
    ),
    "both": (
        replace(LOUD, beyond_control=ALIKE, beyond_blind=ALIKE, blind=UNLIKE), Basis(0.05),
        [doubt("not_above_control", "more_records", control=NEVER.auc),
         doubt("not_above_blind", "matched_holdout", blind=UNLIKE)],
    ),
    "scores": (SCORES, Basis(0.05), [doubt("scores_only")]),
    "scores by a rate": (replace(RARE, blind=None, beyond_blind=None, control=SHUFFLED), Basis(0.05), [doubt("scores_only")]),
    "split contradicted by the records": (
        replace(LOUD, blind=UNLIKE), Basis(0.05, random_split=True), [doubt("contradicted_split", blind=UNLIKE)],
    ),
    "split contradicted by the control": (
        replace(LOUD, control=replace(NEVER, auc=UNLIKE)), Basis(0.05, random_split=True),
        [doubt("contradicted_split", control=UNLIKE)],
    ),
    "fit": (
        replace(LOUD, blind=UNLIKE), Basis(0.05, fit=Fit(around(0.2, 0.01), around(0.3, 0.01), ALIKE, ALIKE)),
        [doubt("data_hungry", curve=around(0.3, 0.01), gap=FIT.gap),
         doubt("not_fitted_as_member", mid=ALIKE, gap=FIT.gap),
         doubt("shift_explains_fit", "matched_holdout", blind=UNLIKE, size=ALIKE)],
    ),
    "fit better than training explains": (
        replace(LOUD, blind=UNLIKE), Basis(0.05, fit=replace(FIT, mid=around(0.21, 0.01))),
        [doubt("shift_explains_fit", "matched_holdout", blind=UNLIKE, size=FIT.size)],
    ),
    "rate on the control": (
        replace(RARE, tpr_beyond={0.1: ALIKE}, control=replace(NEVER, tpr_at_fpr=RARE.tpr_at_fpr)), Basis(0.05),
        [doubt("not_above_control", fpr=0.1, control=RARE.tpr_at_fpr[0.1])],
    ),
    "rate of the blind baseline": (
        replace(RARE, tpr_beyond={0.1: ALIKE}), Basis(0.05), [doubt("not_above_blind", fpr=0.1)],
    ),
    "rate and fit": (
        RARE, Basis(0.05, fit=replace(FIT, mid=ALIKE)), [doubt("not_fitted_as_member", mid=ALIKE, gap=FIT.gap)],
    ),
    "obstacles": (
        QUIET, Basis(0.05, obstacles=OBSTACLES), [Statement("obstacle", obstacle=one) for one in OBSTACLES],
    ),
    "copies": (
        QUIET, Basis(0.05, overlap=0.8), [doubt("copies_in_holdout", share=Estimate(0.8, 0.8, 0.8, kind="exact"))],
    ),
    "sample": (replace(QUIET, auc=around(0.5, 0.09)), Basis(0.05), [doubt("sample_size", "more_records")]),
}  # fmt: skip


@pytest.mark.parametrize("case", DOUBTS)
def test_an_inconclusive_verdict_has_its_doubts(case):
    risk, basis, doubts = DOUBTS[case]
    found = verdict.judge(risk, basis)
    assert found.kind == "inconclusive"
    assert list(found.doubts) == doubts
    assert (found.records_needed is not None) == (case == "sample")
    assert (found.not_excluded is not None) == (case in ("sample", "copies"))


def test_a_random_split_needs_no_control_and_is_stated():
    found = verdict.judge(SCORES, Basis(0.05, random_split=True))
    assert found.kind == "leaks"
    assert [one.code for one in found.support] == ["permuted", "random_split"]


def test_a_control_of_scores_is_not_enough_and_may_contradict_a_random_split():
    risk = replace(LOUD, blind=None, beyond_blind=None)
    shifted = replace(risk, control=replace(NEVER, auc=around(0.7, 0.02)))
    cases = ((risk, False), (risk, True), (shifted, True))
    kinds = [verdict.judge(one, Basis(0.05, random_split=split)).kind for one, split in cases]
    assert kinds == ["inconclusive", "leaks", "inconclusive"]


def test_a_refuted_claim_states_the_bound_the_claim_and_delta():
    claim = EpsilonClaim(1.0, 1e-5, Estimate(3.2, 3.2, 3.2, kind="lower bound"), "RMIA")
    found = verdict.judge(QUIET, Basis(0.05, claim=claim))
    assert (found.kind, found.finding.code, found.finding.attack) == ("claim_refuted", "epsilon", "RMIA")
    stated = {name: one.value for name, one in found.finding.estimates.items()}
    assert stated == {"bound": 3.2, "claimed": 1.0, "delta": 1e-5}
    assert [one.code for one in found.support] == ["control", "blind", "epsilon_bound"]
    for shifted in (replace(QUIET, blind=UNLIKE), replace(QUIET, control=replace(NEVER, auc=UNLIKE))):
        assert verdict.judge(shifted, Basis(0.05, claim=claim)).kind != "claim_refuted"
    unclaimed = verdict.judge(QUIET, Basis(0.05, claim=replace(claim, epsilon=None)))
    assert (unclaimed.kind, unclaimed.support[-1].code) == ("not_detected", "epsilon_bound")


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_leak_states_how_many_members_could_be_named_and_no_other_verdict_does():
    risk, named = sample_audit("leaks").strongest, NamedMembers(12, 1, Estimate(0.06, 0.04, 0.09), 0.1)
    found = verdict.judge(risk, Basis(0.05), named)
    assert found.support[-1].code == "named"
    stated = {name: one.value for name, one in found.support[-1].estimates.items()}
    assert stated == {"count": 12, "share": 0.06, "rate": 0.1}
    nobody = verdict.judge(risk, Basis(0.05), replace(named, count=0))
    other = verdict.judge(sample_audit("not_detected").strongest, Basis(0.05), named)
    assert "named" not in {one.code for one in (*nobody.support, *other.support)}


def test_every_code_has_words():
    codes = {code for kind in (results.FindingCode, results.DoubtCode, results.SupportCode) for code in get_args(kind)}
    assert set(words._WORDS) == codes


@pytest.mark.parametrize("case", [*FINDINGS, *DOUBTS])
def test_the_sentences_show_the_numbers_that_the_verdict_rests_on(case):
    risk, basis = (FINDINGS | DOUBTS)[case][:2]
    found = verdict.judge(risk, basis)
    said = words.technical(found)
    stated = [one for one in (found.finding, *found.doubts, *found.support) if one.code != "not_detected"]
    for name, estimate in (pair for one in stated for pair in one.estimates.items()):
        styles = ("number", "signed", "percent")
        assert name == "share" or any(write(estimate, style) in " ".join(said) for style in styles)
    assert len(said) == 1 + max(0, len(found.doubts) - 1) + len(found.support)


def test_leaks_has_one_definition():
    """The page that defines it, those that quote it, and the docstring of the rule have the same words."""
    for place in ("docs/methods.md", "docs/index.md", "README.md"):
        assert words.LEAKS in " ".join((ROOT / place).read_text().split()), place
    assert words.LEAKS in " ".join(verdict.judge.__doc__.split())
