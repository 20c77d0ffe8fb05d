"""What a comparison says in the terminal and beside an audit: in its own numbers, sure of what it advises, safe and short."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from comparisons import sample_comparison
from hypothesis import given
from hypothesis import strategies as st
from leakscope.report.summary import summarize
from leakscope.study import load_study, study_to_json
from samples import around, sample_audit

from leakscope.comparison import words
from leakscope.comparison.result import Comparison, Measured, Version
from leakscope.comparison.show import describe
from leakscope.comparison.telling import tell
from leakscope.core.estimate import Estimate
from leakscope.report import html, markdown
from leakscope.report.axes import linear_axis
from leakscope.results import Study
from leakscope.telling import LONGEST, finite

HOSTILE = "<script>\u202egnp.exe\u2028" + "x" * 10_000
KINDS = ("use", "at a price", "no sure gain", "nothing to lower")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return sample_comparison()


def texts(study: Study) -> list[str]:
    notes = [one for number in study.numbers for one in (number.name, number.note)]
    labels = [point.label for figure in study.figures for series in figure.series for point in series.points]
    return [study.question, study.answer, *notes, *study.advice, *study.warnings, *labels]


def regression(comparison: Comparison) -> Comparison:
    """The same comparison with an error in the place of the accuracy: what was lost is now gained in error."""

    def turn(version: Version) -> Version:
        main = version.main
        change = Estimate(-main.change.value, -main.change.high, -main.change.low, kind=main.change.kind)
        error = Measured("mean squared error", "less", around(1 - main.value.value, 0.009), change)
        groups = tuple(
            replace(group, change=Estimate(-group.change.value, -group.change.high, -group.change.low))
            for group in version.groups
        )
        return replace(version, utility=(error,), groups=groups)

    run = comparison.run | {"task": "regression", "metric": "mean squared error"}
    return replace(comparison, versions=tuple(map(turn, comparison.versions)), run=run)


# --- words ------------------------------------------------------------------------------------------------------------


@given(st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 0.5))
def test_signs_are_those_of_the_numbers(value: float, below: float, above: float) -> None:
    change = Estimate(value, value - below, value + above)
    shown = words.signed(change)
    read = [float(text.replace("−", "-")) for text in shown["text"].replace("[", "").replace("]", "").replace(",", "").split("\u00a0")]  # fmt: skip
    assert "-" not in shown["text"]
    for number, end in zip(read, (change.value, change.low, change.high), strict=True):
        assert number == 0 or (number > 0) == (end > 0)
        assert abs(number - end) <= max(0.005, 0.051 * (change.high - change.low)) + 1e-9
    for text in shown["text"].replace("[", "").replace("]", "").replace(",", "").split("\u00a0"):
        assert text[0] in ("+−" if float(text.replace("−", "-")) else "0")
    # What holds zero is seen to.
    assert (change.low < 0) <= (read[1] < 0 or read[0] == 0)


def test_an_interval_that_reaches_over_zero_shows_both_signs() -> None:
    assert words.said_change(Estimate(0.0, -0.004, 0.004)) == "0.000 [−0.004, +0.004]"
    assert words.said_change(Estimate(-1e-5, -0.3, 1e-9)).endswith("+0.001]")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_spoken_of_surely_lowers_the_risk_and_broke_no_promise(kind: Any) -> None:
    comparison = sample_comparison(kind)
    version = words.proposed(comparison)
    if kind == "use":
        assert version is comparison[comparison.recommendation.version or ""]
    elif kind == "at a price":
        sure = [one for one in comparison.versions if one.lowered and one.lowered.high < 0 and one.promise != "broken"]
        assert version is not None
        assert version.main.gain.value == max(one.main.gain.value for one in sure)
    else:
        assert version is None


def test_a_broken_promise_is_never_spoken_of_as_a_defense(comparison: Comparison) -> None:
    dear = replace(comparison["dp-sgd 1"], utility=comparison["l2 0.1"].utility)
    only = replace(sample_comparison("at a price"), versions=(comparison.as_it_is, dear))
    assert dear.lowered is not None
    assert dear.lowered.high < 0
    assert words.proposed(only) is None


def test_who_pays_is_told_with_the_largest_loss_first(comparison: Comparison) -> None:
    costs = words.group_costs(comparison["l2 10"])
    assert [group for group, _ in costs] == ["race = small one", "sex = Female", "sex = Male"]
    assert all(change.high < 0 for _, change in costs)
    assert words.group_costs(comparison["l2 1"]) == []  # every interval reaches 0
    turned = words.group_costs(regression(comparison)["l2 10"])
    assert [group for group, _ in turned] == [group for group, _ in costs]
    assert [change.value for _, change in turned] == [-change.value for _, change in costs]


# --- in the terminal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", HOSTILE], ids=["tame", "hostile"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_line_is_longer_than_a_terminal(kind: Any, name: str) -> None:
    text = describe(sample_comparison(kind, name=name))
    assert max(map(len, text.splitlines())) <= 120
    assert all(letter.isprintable() for letter in set(text) - {"\n"})


def test_the_recommendation_is_the_first_line(comparison: Comparison) -> None:
    text = describe(comparison)
    first = text.split("\n\n")[0].replace("\n", " ")
    assert first == comparison.recommendation.sentence
    assert str(comparison) == text


def test_a_broken_promise_is_said_above_the_table_and_in_it(comparison: Comparison) -> None:
    text = describe(comparison)
    above, _, table = text.partition("  version")
    said = " ".join(above.split())
    assert "the guarantee is broken: “dp-sgd 1” claims ε = 0.25, δ = 1e-05 for one record added or removed" in said
    assert "that is ε = 0.5 for the swap of one, and the attacks show that ε is at least 0.800" in said
    assert table.count("the guarantee is broken") == 1
    kept = tuple(version for version in comparison.versions if version.promise != "broken")
    assert "broken" not in describe(replace(comparison, versions=kept))


def test_in_doubt_is_explained_where_it_stands(comparison: Comparison) -> None:
    text = " ".join(describe(comparison).split())
    assert "the guarantee is in doubt" in text
    assert "members and outsiders differ by themselves" in text
    kept = tuple(version for version in comparison.versions if version.promise != "in doubt")
    assert "in doubt" not in describe(replace(comparison, versions=kept))


def test_the_table_has_every_version_with_its_mark_and_numbers(comparison: Comparison) -> None:
    lines = describe(comparison).splitlines()
    for version in comparison.versions:
        (at,) = (place for place, line in enumerate(lines) if line[2:].startswith(f"{version.name} ") and " / " in line)
        assert lines[at].startswith("* ") == (version in comparison.best)
        assert words.said(version.risk.auc) in lines[at]
        if version.lowered is not None:
            assert words.said_change(version.lowered) in lines[at]
            assert words.said_change(version.main.change) in lines[at]
        claimed = "–" if version.guarantee is None else f"{version.guarantee.for_swaps()[0]:g}"
        assert f"{claimed} / {version.epsilon.value:.3f}" in lines[at]
        beaten = version.surely_beaten_by or version.beaten_by
        if beaten is not None:
            sure = "surely " if version.surely_beaten_by else ""
            assert lines[at + 1].strip() == f"{sure}beaten by “{beaten}”"


def test_notes_are_said_once_and_nothing_is_left_out_in_silence(comparison: Comparison) -> None:
    text = describe(comparison)
    assert text.count("sensitivity is proven") == 1
    assert "not run: dropout, since it has no layers" in text
    assert "warning: some records look alike" in text
    assert "faithfulness of gradient" in text
    assert "faithfulness" not in describe(sample_comparison(explained=False))


# --- beside an audit --------------------------------------------------------------------------------------------------


def test_a_study_has_the_numbers_of_the_comparison(comparison: Comparison, tmp_path: Path) -> None:
    study = tell(comparison)
    assert (study.kind, study.release, study.measured) == ("comparison", "defenses", "LogisticRegression")
    before, after = comparison.as_it_is, comparison["l2 1"]
    found = [number.estimate for number in study.numbers]
    expected = [before.risk.auc, after.risk.auc, after.lowered, before.main.value, after.main.change]
    assert found == [finite(one) for one in expected if one is not None]
    (figure,) = study.figures
    points = {point.label: point for series in figure.series for point in series.points}
    assert list(points) == [version.name for version in comparison.versions]
    for version in comparison.versions:
        assert points[version.name].y == version.risk.auc
        assert points[version.name].across == version.main.value
    assert set(figure.marked) == {version.name for version in comparison.best}
    assert [series.name for series in figure.series] == [
        "as it is", "l2", "round", "temperature", "parameter-noise", "dp-sgd", "pate"
    ]  # fmt: skip
    (tmp_path / "study.json").write_bytes(study_to_json(study))
    assert load_study(tmp_path) == study


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_follows_the_recommendation(kind: Any) -> None:
    study = tell(sample_comparison(kind))
    expected = {
        "use": "Use “l2 1”: it surely lowers the risk, and costs at most 0.01 of accuracy.",
        "at a price": "The risk can be lowered, but not surely at a price of at most 0.01 of accuracy.",
        "no sure gain": "None of the versions that were tried surely lowers the risk.",
        "nothing to lower": "There is no sure risk here that a defense could be seen to lower.",
    }[kind]
    assert study.answer.startswith(expected)
    assert ("58 to 62 times out of 100, instead of 69 to 73" in study.answer) == (kind == "use")
    assert any(advice.startswith("Use") for advice in study.advice) == (kind == "use")
    # Beside the model as it is stands the version that is spoken of, or the least risky one that broke no promise.
    name = {"use": "l2 1", "at a price": "l2 0.1"}.get(kind, "parameter-noise 0.5")
    assert study.numbers[1].name == f"largest AUC of “{name}”"


def test_warnings_begin_with_what_is_broken(comparison: Comparison) -> None:
    warnings = tell(comparison).warnings
    assert warnings[0].startswith("the guarantee is broken: “dp-sgd 1”")
    assert "in doubt" in warnings[1]
    assert warnings[-1].startswith("not run: dropout")
    untrained = tell(replace(comparison, run=comparison.run | {"retrain": False}))
    assert any("never saw the members" in warning for warning in untrained.warnings)
    dear = tell(replace(comparison, recommendation=replace(comparison.recommendation, version="l2 10")))
    assert any(warning.startswith("with “l2 10” the group race = small one surely loses") for warning in dear.warnings)


def test_an_error_is_better_to_the_left(comparison: Comparison) -> None:
    study = tell(regression(comparison))
    assert study.figures[0].x_label == "Mean squared error on held-out records (left is better)"
    assert "costs at most 1 % more mean squared error" in study.answer
    assert "further left does its job better" in study.figures[0].description
    text = describe(regression(comparison))
    assert "mean squared error" in text
    assert max(map(len, text.splitlines())) <= 120


def test_large_errors_leave_room_for_names(comparison: Comparison) -> None:
    def enlarge(version: Version) -> Version:
        change = around(-1234.567, 2345.678) if version.lowered else version.main.change
        return replace(version, utility=(replace(version.main, value=around(2859.7, 349.6), change=change),))

    turned = regression(comparison)
    text = describe(replace(turned, versions=tuple(map(enlarge, turned.versions))))
    assert max(map(len, text.splitlines())) <= 120
    assert "−1234.57 [−3580.24, +1111.11]" in text
    assert "* parameter-noise 0.5" in text


def test_hostile_names_are_safe_and_sentences_short() -> None:
    study = tell(sample_comparison(name=HOSTILE))
    for text in texts(study):
        assert len(text) <= LONGEST
        assert "\u202e" not in text
        assert "\u2028" not in text


def test_beside_an_audit_it_shows_its_frontier_and_its_advice_comes_first(comparison: Comparison) -> None:
    audit = sample_audit().with_studies(comparison)
    assert audit.with_studies(comparison) == audit
    summary = summarize(audit)
    first = summary["next_steps"][0]
    assert (first["title"], first["measured"]) == ("Put a defense in place", True)
    assert first["text"].startswith("Use “l2 1”")
    assert "measured on LogisticRegression" in first["text"]
    page = html.render(audit)
    assert "What each version buys, and what it costs" in page
    assert page.count('class="chance"') == 2 + html.render(sample_audit()).count('class="chance"')  # and its legend
    assert "Use “l2 1”" in markdown.render(audit)
    quiet = sample_audit().with_studies(sample_comparison("at a price", versions=8))
    assert all(step["title"] != "Put a defense in place" for step in summarize(quiet)["next_steps"])


def test_axes_hold_what_is_there_and_not_zero() -> None:
    close = linear_axis([(0.85, 0.84, 0.86), (0.7, 0.69, math.inf)], 0, 100, from_zero=False)
    assert (close.low, close.high) == pytest.approx((0.69 - 0.04 * 0.17, 0.86 + 0.04 * 0.17))
    assert close.place(close.low) == 0
    assert close.place(close.high) == pytest.approx(100)
    assert linear_axis([(0.85, 0.84, 0.86)], 0, 100).low == 0
    alone = linear_axis([(3000.0, 3000.0, 3000.0)], 0, 100, from_zero=False)
    assert alone.low < 3000 < alone.high


def test_the_terminal_says_the_controls_and_how_sure_the_metric_is() -> None:
    comparison = sample_comparison("use")
    text = " ".join(str(comparison).split())
    values = [version.control for version in comparison.versions]
    assert f"with intervals from {min(one.low for one in values):.2f} to {max(one.high for one in values):.2f}" in text
    assert "on models that never saw the members the same attacks have AUCs of 0.50 to 0.50" in text
    assert (
        "Intervals of the accuracy itself reach at most 0.009 to either side" in text
    )  # 0.009 is that of every version
    shuffled = tuple(replace(version, control_kind="permuted") for version in comparison.versions)
    assert "on shuffled memberships" in " ".join(str(replace(comparison, versions=shuffled)).split())
