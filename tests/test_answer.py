"""The top of the report: the answer, the releases in plain words, bounds, and next steps that the record supports."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pandas as pd
import pytest
from leakscope.conditions import Condition
from samples import around, sample_audit, sample_risk, sample_studies

from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun
from leakscope.report.releases import plain_name
from leakscope.report.summary import summarize
from leakscope.results import Basis, Bound, Fit, Overlap, Performance, Risk
from leakscope.risk import most_exposed
from leakscope.study import attach, promised
from leakscope.verdict import judge, strongest_by_release


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def top(bound: float) -> Bound:
    return Bound(Estimate(bound, 0.0, bound, kind="upper bound"), "by a proof", "a paper")


# --- the answer -----------------------------------------------------------------------------------------------------


def test_the_answer_is_two_sentences_for_each_verdict() -> None:
    first = {
        kind: summarize(sample_audit(kind))["answer"]["sentences"] for kind in ("leaks", "not_detected", "inconclusive")
    }
    assert all(len(sentences) == 2 for sentences in first.values())
    assert first["leaks"][0] == "This model gives away who was in the training data."
    assert first["not_detected"][0].startswith("No attack that was run")
    assert "5,100" in first["inconclusive"][1]


LOUD = sample_risk("labels", "threshold", 0.6)
FIT = Fit(around(0.1, 0.01), around(0.0, 0.01), around(0.0, 0.1), around(0.1, 0.01))


@pytest.mark.parametrize(
    ("risk", "basis"),
    [
        (sample_risk("labels", "threshold", 0.0, half=0.07), Basis(0.05)),
        (sample_risk("labels", "threshold", 0.0), Basis(0.05, overlap=1.0)),
        (sample_risk("labels", "threshold", 0.0), Basis(0.05, obstacles=("the model gives random answers",))),
        (replace(LOUD, beyond_control=around(0.0, 0.02), tpr_beyond={}), Basis(0.05)),
        (replace(LOUD, blind=around(0.7, 0.01), beyond_blind=around(0.0, 0.02), tpr_beyond={}), Basis(0.05)),
        (replace(LOUD, blind=around(0.7, 0.01), tpr_beyond={}), Basis(0.05, random_split=True)),
        (replace(LOUD, blind=None, beyond_blind=None), Basis(0.05)),
        (LOUD, Basis(0.05, fit=FIT)),
        (LOUD, Basis(0.05, fit=replace(FIT, curve=around(0.2, 0.01), mid=around(0.1, 0.01)))),
    ],
)
def test_cannot_tell_is_said_without_figures_of_the_field(risk: Risk, basis: Basis) -> None:
    verdict = judge(risk, basis)
    assert verdict.kind == "inconclusive"
    said = summarize(replace(sample_audit("inconclusive"), strongest=risk, verdict=verdict))["answer"]["sentences"][1]
    assert not re.search(r"AUC|log-likelihood|true-positive|\[|surely", said)
    assert said.endswith(".")
    assert ".." not in said


def test_the_lay_summary_shows_the_numbers_of_the_verdict() -> None:
    weak = sample_risk("labels", "threshold", 0.0, half=0.07)
    verdict = judge(weak, Basis(0.05))
    assert verdict.not_excluded == weak.auc.high
    summary = summarize(replace(sample_audit("inconclusive"), strongest=weak, verdict=verdict))
    assert f"{round(100 * weak.auc.high)} times" in summary["answer"]["sentences"][1]
    steps = {step["title"]: step["text"] for step in summary["next_steps"]}
    assert f"{verdict.records_needed:,}" in summary["answer"]["sentences"][1]
    assert f"{verdict.records_needed:,}" in steps["Judge more people"]


def test_more_people_are_asked_for_only_where_they_would_help() -> None:
    alike = replace(LOUD, beyond_control=around(0.0, 0.02), tpr_beyond={})
    shifted = replace(alike, control=replace(alike.control, auc=around(0.6, 0.02)))
    hungry = replace(FIT, curve=around(0.2, 0.01), mid=around(0.1, 0.01))
    for risk, basis, asked in (
        (alike, Basis(0.05), True),
        (shifted, Basis(0.05), False),
        (LOUD, Basis(0.05, fit=hungry), False),
    ):
        audit = replace(sample_audit("inconclusive"), strongest=risk, verdict=judge(risk, basis), overlap=Overlap(0))
        assert ("Judge more people" in [step["title"] for step in summarize(audit)["next_steps"]]) == asked


def test_a_comparison_of_groups_is_advised_where_no_column_was_named() -> None:
    audit = sample_audit("not_detected", groups=False)
    for named in ([], ["sex"]):
        asked = replace(audit, settings=audit.settings | {"groups": named}, warnings=())
        titles = [step["title"] for step in summarize(asked)["next_steps"]]
        assert ("Compare groups of people" in titles) == (not named)


def test_how_sure_names_the_confidence_the_choice_and_the_control() -> None:
    sure = plain(summarize(sample_audit())["answer"]["sure"])
    assert "strongest of 6 attacks" in sure
    assert "4,000 people" in sure
    assert "models that never saw these people" in sure
    assert "was not retrained" in summarize(sample_audit(retrained=False))["answer"]["sure"]


def test_a_row_that_lies_above_chance_by_itself_is_explained_where_the_verdict_does_not_follow_it() -> None:
    audit = sample_audit("not_detected")
    lucky = replace(audit.risks[0], auc=Estimate(0.52, 0.505, 0.535))
    said = summarize(replace(audit, risks=(lucky, *audit.risks[1:])))["risks_note"]
    assert "by chance" in said
    calm = replace(audit.risks[0], auc=Estimate(0.5, 0.49, 0.51))
    assert "by chance" not in summarize(replace(audit, risks=(calm,) * 3))["risks_note"]


# --- the releases ---------------------------------------------------------------------------------------------------


def test_one_row_for_each_release_with_the_three_losses_as_one() -> None:
    risks = [sample_risk(name, "threshold", shift, seed) for seed, (name, shift) in enumerate(
        [("labels", 0.1), ("probabilities", 0.3), ("log_loss", 0.2), ("likelihood_loss", 0.5), ("gradient", 0.4)])]  # fmt: skip
    rows = summarize(replace(sample_audit(), by_release=strongest_by_release(risks)))["releases"]["rows"]
    assert [row["release"] for row in rows] == ["labels", "probabilities", "likelihood_loss", "gradient"]
    assert rows[2]["name"] == plain_name("log_loss")


def test_a_row_says_how_many_of_a_hundred_at_one_false_alarm_per_hundred() -> None:
    risk = replace(sample_risk("labels", "threshold", 0.5), tpr_at_fpr={
        0.1: around(0.3, 0.02), 0.01: Estimate(0.06, 0.042, 0.088), 0.001: Estimate(0.2, 0.0, 0.2, kind="upper bound")})  # fmt: skip
    row = summarize(replace(sample_audit(), by_release=strongest_by_release([risk])))["releases"]["rows"][0]
    assert row["plain"] == (
        "Of 100 people in the training data, an attacker who accepts 1 false alarm per 100 non-members would identify "
        "4 to 9; guessing identifies 1."
    )
    assert row["people"] == "4 to 9"


def test_nothing_is_left_out_in_silence() -> None:
    audit = replace(
        sample_audit(), not_run=(NotRun("predictions", "threshold", "it is a release of regression models"),)
    )
    missing = {item["name"]: item["reason"] for item in summarize(audit)["releases"]["not_measured"]}
    assert set(missing) == {"Explanations", "Record explanations", "Parameters", "The predicted value"}
    assert "leakscope leakage" in missing["Parameters"]
    attached = attach(audit, sample_studies())
    there = {item["name"] for item in summarize(attached)["releases"]["not_measured"]}
    assert there == {"Record explanations", "The predicted value"}


def test_values_of_a_regression_stand_in_the_table_too() -> None:
    missing = summarize(sample_audit(task="regression"))["releases"]["not_measured"]
    assert missing[0]["name"] == "The predicted value"
    assert "through the loss" in missing[0]["reason"]


@pytest.mark.parametrize(
    ("beyond", "shift", "outcome"),
    [(0.1, 0.5, "tells members apart"), (-0.1, 0.5, "may be the data"), (0.1, 0.0, "nothing sure")],
)
def test_the_word_beside_a_release_comes_from_the_intervals(beyond: float, shift: float, outcome: str) -> None:
    risk = replace(sample_risk("labels", "threshold", shift), beyond_control=around(beyond, 0.02))
    row = summarize(replace(sample_audit(), by_release=strongest_by_release([risk])))["releases"]["rows"][0]
    assert row["outcome"] == outcome


# --- bounds ---------------------------------------------------------------------------------------------------------


def test_a_bound_on_the_advantage_is_a_bound_on_how_many_are_found() -> None:
    audit = replace(sample_audit(), bounds=(top(0.9), top(0.213)))
    releases = summarize(audit)["releases"]
    # TPR - FPR <= 0.213 at FPR 0.01: at most 22.3 of 100, rounded up.
    assert releases["rows"][0]["bound"]["people"] == "at most 23"
    assert "0.213: by a proof (a paper)" in plain(releases["bound_note"])


def test_a_promised_bound_stands_in_every_row_and_that_of_a_study_in_its_own() -> None:
    audit = attach(replace(sample_audit(), bounds=(promised(3.0), promised(1.0))), sample_studies())
    assert audit.bound is not None
    assert audit.bound.advantage.high == pytest.approx(0.46211715726)
    releases = summarize(audit)["releases"]
    bounds = {row["release"]: row["bound"] for row in releases["rows"]}
    assert bounds["labels"]["people"] == "at most 3"  # e^1 of 1 in 100, rounded up
    assert bounds["parameters"]["estimate"]["high"] == 0.21  # a study speaks for what it measured
    assert bounds["explanations"] is None
    assert "if the audited model was trained in this way" in releases["bound_note"]


def test_a_promise_of_privacy_bounds_low_rates_by_its_ratio() -> None:
    # e^1 * 0.01 = 0.027 is less than 0.01 + tanh(1/2) = 0.472.
    assert promised(1.0).most_found(0.01) == pytest.approx(math.e * 0.01)
    assert promised(1.0, 0.001).most_found(0.01) == pytest.approx(math.e * 0.01 + 0.001)
    assert promised(1.0).most_found(0.9) == 1.0


def test_a_promise_that_an_attack_went_beyond_is_no_bound() -> None:
    shown = replace(sample_audit(), bounds=(replace(promised(0.1), contradicted=True),))
    releases = summarize(shown)["releases"]
    assert all(row["bound"] is None for row in releases["rows"])
    assert "contradicted" in releases["bound_note"]
    assert Condition.parse("bound > 0.3").judge(shown).outcome == "uncertain"


def test_without_a_bound_the_page_says_so() -> None:
    releases = summarize(sample_audit())["releases"]
    assert releases["rows"][0]["bound"] is None
    assert "No bound is known" in releases["bound_note"]


# --- next steps -----------------------------------------------------------------------------------------------------


def test_at_most_three_steps_and_measured_ones_come_first() -> None:
    audit = attach(sample_audit(), sample_studies())
    steps = summarize(audit)["next_steps"]
    assert len(steps) == 3
    assert [step["measured"] for step in steps] == sorted((step["measured"] for step in steps), reverse=True)
    assert any(
        step["text"].startswith("Train on 1,000 records instead of 300") and "measured on ridge" in step["text"]
        for step in steps
    )


def test_labels_only_is_advised_where_labels_surely_give_less_away_and_only_there() -> None:
    far = [sample_risk("labels", "threshold", 0.1), sample_risk("probabilities", "threshold", 0.6, 1)]
    near = [sample_risk("labels", "threshold", 0.59), sample_risk("probabilities", "threshold", 0.6, 1)]
    for risks, advised in ((far, True), (near, False)):
        audit = replace(sample_audit(groups=False), by_release=strongest_by_release(risks))
        titles = [step["title"] for step in summarize(audit)["next_steps"]]
        assert ("Release labels only" in titles) == advised


def test_a_model_that_learned_by_heart_is_told_so_and_another_is_not() -> None:
    audit = sample_audit(groups=False)
    for train, said in ((1.0, True), (0.86, False)):
        performance = Performance("accuracy", around(train, 0.0), around(0.85, 0.01))
        other = replace(audit, target=replace(audit.target, performance=performance), by_release=())
        assert any("by heart" in step["title"] for step in summarize(other)["next_steps"]) == said


def test_a_model_without_evidence_of_leakage_is_not_told_to_change() -> None:
    titles = [step["title"] for step in summarize(sample_audit("not_detected"))["next_steps"]]
    assert "Keep it so" in titles
    assert not any("Release labels only" in title or "by heart" in title for title in titles)


def test_the_gate_that_is_advised_passes_on_the_audit_that_advises_it() -> None:
    audit = sample_audit("not_detected")
    assert audit.largest is not None
    wide = replace(audit, largest=replace(audit.largest, auc=Estimate(0.51, 0.49, 0.5499)))
    advice = next(step["text"] for step in summarize(wide)["next_steps"] if "leakscope gate" in step["text"])
    condition = re.search(r'"(.*)"', advice)
    assert condition is not None
    assert Condition.parse(condition[1]).judge(wide).outcome == "passed"
    assert not any("leakscope gate" in step["text"] for step in summarize(sample_audit("inconclusive"))["next_steps"])


def test_the_call_that_makes_it_again_names_what_was_asked_for() -> None:
    audit = sample_audit()
    asked = replace(audit, settings=audit.settings | {"releases": ["labels", "gradient"], "references": 2})
    assert summarize(asked)["reproduce"]["text"].endswith("releases=['labels', 'gradient'], references=2)")
    assert "references" not in summarize(audit)["reproduce"]["text"]
    scores = replace(audit, target=replace(audit.target, task="scores"), settings={"seed": 3, "random split": True})
    assert summarize(scores)["reproduce"]["text"] == "ls.audit_scores(scores, member, seed=3, random_split=True)"


# --- who is named -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([1] * 30, "All 30 training records are equally exposed"),
        ([1, 2, 3, *[4] * 20, *[24] * 7], "Rank 4 is shared by 20 records, of which the first 7 are named"),
        ([*range(1, 10), *[10] * 21], "Rank 10 is shared by 21 records, of which the first 1 is named"),
    ],
)
def test_whoever_is_named_out_of_many_with_the_same_rank_is_so_by_chance(ranks: list[int], said: str) -> None:
    records = pd.DataFrame({"id": range(30), "score": 0.6, "rank": ranks})
    sample = sample_audit()
    audit = replace(sample, exposed=most_exposed(records), target=replace(sample.target, members=30))
    assert said in summarize(audit)["exposed"]["note"]


def test_ranks_that_all_are_named_of_need_no_word() -> None:
    records = pd.DataFrame({"id": range(30), "score": 0.6, "rank": [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, *[11] * 20]})
    assert "shared" not in summarize(replace(sample_audit(), exposed=most_exposed(records)))["exposed"]["note"]


def test_a_study_says_what_it_was_measured_on() -> None:
    other = attach(sample_audit(), sample_studies())
    said = [study["measured_on"] for study in summarize(other)["studies"]]
    assert "need not hold for the other" in said[0]
    assert "does not say" in said[1]
    same = replace(sample_studies()[0], settings={"model": other.target.model})
    assert "same name" in summarize(attach(other, [same]))["studies"][-1]["measured_on"]


def test_studies_of_two_models_stand_beside_each_other_and_a_newer_one_takes_the_place_of_its_like() -> None:
    sweep = sample_studies()[0]
    other = replace(sweep, settings={"learner": "logistic"})
    newer = replace(other, answer="Nothing.")
    kept = attach(attach(sample_audit(), [sweep, other]), [newer]).studies
    assert kept == (sweep, newer)


# --- scores only ----------------------------------------------------------------------------------------------------


def test_without_a_blind_baseline_only_a_random_split_allows_leaks() -> None:
    alone = replace(sample_risk("scores", "given", 0.5, retrained=False), blind=None, beyond_blind=None, tpr_beyond={})
    assert judge(alone, Basis(0.05)).kind == "inconclusive"
    assert judge(alone, Basis(0.05, random_split=True)).kind == "leaks"


def test_a_control_alone_is_not_enough_and_may_contradict_a_random_split() -> None:
    risk = replace(sample_risk("scores", "given", 0.5), blind=None, beyond_blind=None)
    assert judge(risk, Basis(0.05)).kind == "inconclusive"
    assert judge(risk, Basis(0.05, random_split=True)).kind == "leaks"
    found = replace(risk, control=replace(risk.control, auc=around(0.7, 0.02)))
    assert judge(found, Basis(0.05, random_split=True)).kind == "inconclusive"
