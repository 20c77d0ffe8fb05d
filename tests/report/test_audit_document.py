"""What the document of an audit decides: which rows, which tags, which next steps, and what is said of shared ranks and limits."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any, Literal

import pandas as pd
import pytest
from samples import ATTACKS, around, sample_audit, sample_risk, with_claims

from leakscope.core.estimate import Estimate
from leakscope.core.intervals import FALSE_ALARMS_NEEDED
from leakscope.core.result import Result
from leakscope.core.wording import write
from leakscope.evaluation.exposed_records import most_exposed
from leakscope.evaluation.results import Audit, Basis, Bound, Fit, Overlap, Performance, Roc
from leakscope.evaluation.verdict import judge, strongest_by_release
from leakscope.record.conditions import Condition
from leakscope.report.document import Row, Table, Value, walk
from leakscope.report.documents import document
from leakscope.report.documents.audit import CHARTED_GROUPS
from leakscope.report.documents.audit_charts import READINGS_APART, people, roc
from leakscope.report.documents.audit_limits import more_seconds, stronger
from leakscope.report.documents.audit_steps import MEASURED, next_steps
from leakscope.report.documents.caveats import SENTENCES
from leakscope.report.documents.releases import release_name
from leakscope.studies.one_run_bound import promised

Kind = Literal["leaks", "not_detected", "inconclusive"]
LOUD = sample_risk("labels", "threshold", 0.6)
FIT = Fit(around(0.1, 0.01), around(0.0, 0.01), around(0.0, 0.1), around(0.1, 0.01))
HUNGRY = replace(FIT, curve=around(0.2, 0.01), mid=around(0.1, 0.01))


def block(shown: Audit, title: str) -> Any:
    """The block of the audit's document with this title."""
    return next(one for one in walk(document(shown).blocks) if one.title == title)


def titles(audit: Audit, others: tuple[Result, ...] = ()) -> list[str]:
    return [step.title for step in next_steps(audit, others)]


def rows(audit: Audit) -> tuple[Row, ...]:
    found: tuple[Row, ...] = block(audit, "Risk by release").rows
    return found


# --- the answer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "tone"), [("leaks", "risk"), ("not_detected", "safe"), ("inconclusive", "unknown")])
def test_the_verdict_decides_the_tone_and_every_answer_has_a_sentence_and_reasons(kind: Kind, tone: str) -> None:
    answer = document(sample_audit(kind)).answer
    assert answer.tone == tone
    assert answer.headline
    assert answer.sentences
    assert answer.technical


@pytest.mark.parametrize(("kind", "found"), [("leaks", 1.0), ("not_detected", 50.0), ("inconclusive", None)])
def test_the_dots_compare_with_guessing_and_are_not_drawn_without_an_answer(kind: Kind, found: float | None) -> None:
    chart = people(sample_audit(kind))
    assert (None if chart is None else chart.rules[0].at) == found


# --- releases ---------------------------------------------------------------------------------------------------------


def test_each_release_has_a_row_and_the_losses_have_one() -> None:
    risks = [sample_risk(name, "threshold", shift, seed) for seed, (name, shift) in enumerate(
        [("labels", 0.1), ("probabilities", 0.3), ("log_loss", 0.2), ("likelihood_loss", 0.5), ("gradient", 0.4)])]  # fmt: skip
    entries = strongest_by_release(risks)
    found = rows(replace(sample_audit(), by_release=entries))
    names = ("labels", "probabilities", "likelihood_loss", "gradient")
    assert [row.cells[0] for row in found] == [release_name(name) for name in names]
    assert found[2].cells[2] == Value(entries[3].auc)


@pytest.mark.parametrize(("beyond", "shift", "tone"), [(0.1, 0.5, "risk"), (-0.1, 0.5, "unknown"), (0.1, 0.0, "plain")])
def test_the_tag_of_a_release_is_its_claim(beyond: float, shift: float, tone: str) -> None:
    risk = replace(sample_risk("labels", "threshold", shift), beyond_control=around(beyond, 0.02))
    (row,) = rows(with_claims(sample_audit(), by_release=strongest_by_release([risk])))
    assert row.tone == tone


def test_every_attack_has_a_row_and_the_strongest_one_has_simultaneous_intervals() -> None:
    audit = sample_audit()
    table = block(audit, "All attacks")
    assert len(table.rows) == len(ATTACKS)
    first = table.rows[0]
    assert (first.tag, first.cells[2]) == ("strongest", Value(audit.strongest.auc))
    assert [row.cells[2].estimate.value for row in table.rows] == sorted(
        (risk.auc.value for risk in audit.risks), reverse=True
    )


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_a_bound_on_the_advantage_bounds_the_share_that_is_found() -> None:
    bounds = tuple(Bound(Estimate(most, 0.0, most, kind="upper bound"), "a paper") for most in (0.9, 0.213))
    found = rows(with_claims(sample_audit(), bounds=bounds))
    assert [row.cells[-1].estimate.high for row in found] == pytest.approx(
        [0.223] * 3
    )  # TPR − FPR <= 0.213 at FPR 0.01


def test_differential_privacy_bounds_low_rates_by_its_ratio() -> None:
    # e^1 · 0.01 = 0.027 is less than 0.01 + tanh(1/2) = 0.472.
    assert promised(1.0).most_found(0.01) == pytest.approx(math.e * 0.01)
    assert promised(1.0, 0.001).most_found(0.01) == pytest.approx(math.e * 0.01 + 0.001)
    assert promised(1.0).most_found(0.9) == 1.0
    audit = with_claims(sample_audit(), bounds=(promised(3.0), promised(1.0)))
    assert audit.bound is not None
    assert audit.bound.advantage.high == pytest.approx(0.46211715726)
    assert rows(audit)[0].cells[-1].estimate.high == pytest.approx(math.e * 0.01)


def test_a_refuted_claim_is_no_bound() -> None:
    refuted = with_claims(sample_audit(), bounds=(replace(promised(0.1), contradicted=True),))
    assert len(rows(refuted)[0].cells) == len(rows(sample_audit())[0].cells)
    assert Condition.parse("bound > 0.3").judge(refuted).outcome == "uncertain"


# --- next steps -------------------------------------------------------------------------------------------------------


def test_at_most_three_steps_and_measured_ones_first() -> None:
    steps = next_steps(sample_audit())
    assert len(steps) == 3
    assert [step.tag == MEASURED for step in steps] == [True, True, False]


def test_more_records_are_asked_for_only_where_they_would_help() -> None:
    alike = replace(LOUD, beyond_control=around(0.0, 0.02), tpr_beyond={})
    shifted = replace(alike, control=replace(alike.control, auc=around(0.6, 0.02)))
    cases = ((alike, Basis(0.05), True), (shifted, Basis(0.05), False), (LOUD, Basis(0.05, fit=HUNGRY), False))
    for risk, basis, asked in cases:
        audit = replace(sample_audit("inconclusive"), strongest=risk, verdict=judge(risk, basis), overlap=Overlap(0))
        assert ("Use a larger sample" in titles(audit)) == asked


def test_a_comparison_of_groups_is_advised_where_no_column_was_named() -> None:
    audit = sample_audit("not_detected", groups=False)
    for named in ([], ["sex"]):
        asked = replace(audit, settings=audit.settings | {"groups": named})
        assert ("Compare groups of people" in titles(asked)) == (not named)


def test_labels_only_is_advised_where_labels_reveal_significantly_less() -> None:
    far = [sample_risk("labels", "threshold", 0.1), sample_risk("probabilities", "threshold", 0.6, 1)]
    near = [sample_risk("labels", "threshold", 0.59), sample_risk("probabilities", "threshold", 0.6, 1)]
    for risks, advised in ((far, True), (near, False)):
        audit = with_claims(sample_audit(groups=False), by_release=strongest_by_release(risks))
        assert ("Release labels only" in titles(audit)) == advised


def test_less_overfitting_is_advised_where_there_is_some() -> None:
    audit = sample_audit(groups=False)
    for train, advised in ((1.0, True), (0.86, False)):
        performance = Performance("accuracy", around(train, 0.0), around(0.85, 0.01))
        other = with_claims(audit, target=replace(audit.target, performance=performance), by_release=())
        assert ("Reduce overfitting" in titles(other)) == advised


def test_a_model_without_a_leak_is_not_asked_to_change() -> None:
    assert not {"Release labels only", "Reduce overfitting", "Protect the most exposed group"} & set(
        titles(sample_audit("not_detected"))
    )


def test_the_gate_that_is_advised_passes_on_the_audit_that_advises_it() -> None:
    audit = sample_audit("not_detected")
    assert audit.largest is not None
    wide = with_claims(audit, largest=replace(audit.largest, auc=Estimate(0.51, 0.49, 0.5499)))
    (advice,) = [step.text for step in next_steps(wide) if step.title == "Add a gate"]
    assert Condition.parse(advice.split('"')[1]).judge(wide).outcome == "passed"
    assert "Add a gate" not in titles(sample_audit("inconclusive"))


# --- stronger options -------------------------------------------------------------------------------------------------


def with_settings(retrained: bool = True, spent: float | None = None, **settings: Any) -> Audit:
    found = sample_audit("leaks", retrained=retrained)
    named = {name.replace("_", " "): value for name, value in settings.items()}
    return replace(found, settings=found.settings | named, seconds={} if spent is None else {"retrain": spent})


@pytest.mark.parametrize(
    ("references", "spent", "offered", "seconds"),
    [(4, 8.0, 16, 12.0), (2, 6.0, 4, 2.0), (16, 20.0, 64, 48.0), (0, 1.0, 4, 7.0)],
)
def test_the_time_of_more_references_is_that_of_as_many_trainings(
    references: int, spent: float, offered: int, seconds: float
) -> None:
    """With controls, K references are K + 4 trainings of the target's size; without references the controls are one."""
    audit = with_settings(references=references, spent=spent)
    assert f"--references {offered}," in stronger(audit)[0].text
    assert more_seconds(audit, references, offered) == pytest.approx(seconds)


def test_without_controls_the_references_are_all_trainings() -> None:
    audit = with_settings(retrained=False, references=4, spent=8.0)
    assert len(stronger(audit)) == 1
    assert more_seconds(audit, 4, 16) == 24.0


def test_a_random_split_is_offered_until_it_is_stated_and_nothing_without_training() -> None:
    (option,) = stronger(with_settings(references=64))
    assert "--random-split" in option.text
    assert stronger(with_settings(references=64, random_split=True)) == []
    assert stronger(with_settings(references=0, retrain=False)) == []


# --- exposure ---------------------------------------------------------------------------------------------------------


def test_groups_that_are_significantly_more_exposed_are_named_and_others_are_not() -> None:
    audit = sample_audit()
    gap = next(group.gap for group in audit.strongest.by_group if group.level == "Black")
    assert write(gap, "signed") in block(audit, "Groups").paragraphs[0]
    assert "race = Black" in block(audit, "Groups").paragraphs[0]
    unsure = tuple(replace(group, gap=around(group.gap.value, 0.2)) for group in audit.strongest.by_group)
    calm = with_claims(audit, strongest=replace(audit.strongest, by_group=unsure))
    tables = [one for one in walk(document(calm).blocks) if isinstance(one, Table) and one.columns[0] == "Group"]
    assert not any(row.tag for row in tables[0].rows)


def test_many_groups_are_all_in_tables_and_the_most_exposed_in_the_chart() -> None:
    audit = sample_audit()
    first = audit.strongest.by_group[0]
    many = tuple(replace(first, level=f"level {at}", gap=around(at / 1000, 0.2)) for at in range(75))
    shown = document(with_claims(audit, strongest=replace(audit.strongest, by_group=many)))
    tables = [one for one in walk(shown.blocks) if isinstance(one, Table) and one.columns[0] == "Group"]
    assert [len(table.rows) for table in tables] == [CHARTED_GROUPS, 75 - CHARTED_GROUPS]
    chart = next(one for one in shown.charts() if one.title == "AUC within each group")
    assert set(chart.y.categories) == {f"level {at}" for at in range(75 - CHARTED_GROUPS, 75)}


def test_a_rank_that_more_records_share_than_are_listed_is_stated() -> None:
    def note(ranks: list[int]) -> str:
        exposed = most_exposed(pd.DataFrame({"id": range(30), "score": 0.6, "rank": ranks}))
        audit = sample_audit()
        shown = replace(audit, exposed=exposed, target=replace(audit.target, members=30))
        return str(block(shown, "Most exposed records (by id only)").note)

    all_listed = note([*range(1, 9), 9, 9, *[11] * 20])
    assert re.findall(r"\d+", all_listed) == []
    assert re.findall(r"\d+", note([1, 2, 3, *[4] * 20, *[24] * 7])) == ["20", "4", "7"]
    assert re.findall(r"\d+", note([1] * 30)) == []
    assert note([1] * 30) != all_listed


def test_a_row_above_chance_is_explained_where_no_leak_is_detected() -> None:
    audit = sample_audit("not_detected")
    lucky, calm = (replace(audit.risks[0], auc=Estimate(0.52, low, 0.535)) for low in (0.505, 0.49))
    notes = {block(replace(audit, risks=(risk,) * 3), "All attacks").note for risk in (lucky, calm)}
    assert len(notes) == 2


def test_without_groups_nothing_is_said_of_them() -> None:
    shown = document(sample_audit(groups=False))
    assert not any(one.title in ("Groups", "AUC within each group") for one in walk(shown.blocks))


# --- charts as data ---------------------------------------------------------------------------------------------------


def test_the_roc_is_read_at_the_usual_rates_and_others_that_are_far_from_them() -> None:
    audit = sample_audit()
    readings = roc(audit).series[-1].marks
    places = [float(mark.x) for mark in readings]  # type: ignore[arg-type]
    assert set(audit.strongest.tpr_at_fpr) <= set(places)
    apart = [abs(math.log10(one / other)) for one in places for other in places if one != other]
    assert min(apart) >= READINGS_APART - 1e-9
    kinds = {mark.y.kind for mark in readings if mark.x * audit.target.judged < FALSE_ALARMS_NEEDED}  # type: ignore[union-attr,operator]
    assert kinds == {"upper bound"}


def test_a_curve_without_a_band_is_drawn_without_intervals() -> None:
    audit = sample_audit()
    bare = replace(audit, strongest=replace(audit.strongest, roc=Roc((0.0, 1.0), (0.0, 1.0))))
    assert [mark.y for mark in roc(bare).series[-2].marks] == [0.0, 1.0]


# --- provenance and other results -------------------------------------------------------------------------------------


def test_the_call_names_what_was_asked_for() -> None:
    audit = sample_audit()
    asked = replace(audit, settings=audit.settings | {"releases": ["labels", "gradient"], "references": 2})
    (call,) = block(asked, "Reproduce").paragraphs
    assert call.endswith("releases=['labels', 'gradient'], references=2)")
    assert "references" not in block(audit, "Reproduce").paragraphs[0]
    scores = replace(audit, target=replace(audit.target, task="scores"), settings={"seed": 3, "random split": True})
    assert block(scores, "Reproduce").paragraphs == ("ls.audit_scores(scores, member, seed=3, random_split=True)",)
    assert block(replace(audit, command="leakscope audit m"), "Reproduce").paragraphs == ("leakscope audit m",)


def test_every_caveat_that_a_study_gives_has_a_sentence() -> None:
    """Codes are found in the source, since no study gives all of them."""
    import ast
    from pathlib import Path

    import leakscope

    root = Path(leakscope.__file__).parent
    calls = [
        node
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Caveat" and node.args
    ]
    codes = {node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant)}
    assert len(codes) > 20
    assert codes <= set(SENTENCES)
