"""The report: first the dict, then the charts, the page and the terminal text that are made from it."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import Page
from samples import ATTACKS, JUDGED, around, sample_audit, with_names

from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun
from leakscope.report import audit_charts as charts
from leakscope.report import html, text
from leakscope.report.summary import CHARTED_GROUPS, summarize
from leakscope.report.words import describe, false_alarms, out_of, safe_text
from leakscope.results import Audit, Overlap, Roc
from leakscope.risk import most_exposed

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert('x')</script>",
    "\"><img src=x onerror=alert(1)> ' onload='x",
    "</title></style></svg><svg onload=alert(1)>",
    "{{ 7*7 }}{% raw %}&lt;b&gt;",
    "]]><!-- --> javascript:alert(1)",
    "\u202e\u2066evil\u2069 \u200fשלום\u0000\u0007\u2028\ud800",
    '=HYPERLINK("http://example.com","x")',
    "x<b>" * 2500,
)
Kind = Literal["leaks", "not_detected", "inconclusive"]


@pytest.fixture(scope="module")
def audit() -> Audit:
    return sample_audit()


@pytest.fixture(scope="module")
def summary(audit: Audit) -> dict[str, Any]:
    return summarize(audit)


def plain(words: str) -> str:
    return words.replace("\u00a0", " ")


# --- words ----------------------------------------------------------------------------------------------------------


@given(st.text(), st.integers(2, 50))
def test_safe_text_is_short_and_has_no_controls(name: str, limit: int) -> None:
    shown = safe_text(name, limit)
    assert len(shown) <= limit
    assert all(unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp") for letter in shown)
    assert all(unicodedata.bidirectional(letter) not in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI"} for letter in shown)
    shown.encode()


def test_safe_text_keeps_ordinary_words() -> None:
    for word in ("Zürich", "非公開", "می\u200cخواهم", "a & b <c>", "👩\u200d🔬"):
        assert safe_text(word) == word


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted), st.sampled_from([100, 1000, 10_000]))
def test_out_of_rounds_outwards(ends: list[float], people: int) -> None:
    low, value, high = ends
    said = [int(number.replace(",", "")) for number in out_of(people, Estimate(value, low, high)).split(" to ")]
    assert said[0] - 1e-6 <= low * people
    assert high * people <= said[-1] + 1e-6
    assert said[-1] - said[0] < (high - low) * people + 2


@pytest.mark.parametrize(
    ("estimate", "style", "expected"),
    [
        (Estimate(0.61, 0.58, 0.64), "ratio", "0.61 [0.58, 0.64]"),
        (Estimate(0.0, -0.001, 0.04), "ratio", "0.00 [-0.001, 0.04]"),
        (Estimate(0.039, 0.032, 0.046), "percent", "3.9 % [3.2, 4.6]"),
        (Estimate(0.0501, 0, 0.0501, kind="upper bound"), "percent", "at most 5.1 %"),
        (Estimate(0.0599, 0.0599, 1, kind="lower bound"), "percent", "at least 5.9 %"),
        (Estimate(1.0, 1.0, 1.0, kind="exact"), "percent", "100.0 %"),
        (Estimate(2871.0, 2711.0, 3031.0), "significant", "2,871 [2,711, 3,031]"),
        (Estimate(1.2, 0.9, 1.5, unit="bits"), "ratio", "1.20 bits [0.90, 1.50]"),
        (Estimate(1.2, 0.9, float("inf")), "ratio", "1.20 [0.90, ∞]"),
    ],
)
def test_estimates_in_words(
    estimate: Estimate, style: Literal["ratio", "percent", "significant"], expected: str
) -> None:
    assert plain(describe(estimate, style)["text"]) == expected


def test_ratios_read_as_they_print() -> None:
    for value, half in ((0.61, 0.03), (0.61, 0.0004), (0.6, 0.2), (0.123456, 0.0000003)):
        assert plain(describe(around(value, half))["text"]) == repr(around(value, half))


def test_false_alarms_in_words() -> None:
    assert false_alarms(0.1) == "1 false alarm per 10 non-members"
    assert false_alarms(0.001) == "1 false alarm per 1,000 non-members"
    assert plain(false_alarms(0.03)) == "false alarms for 3 % of the non-members"


# --- the dict -------------------------------------------------------------------------------------------------------


def test_the_summary_is_plain_and_the_same_after_json(summary: dict[str, Any]) -> None:
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_the_summary_reads_findings_alone(audit: Audit, summary: dict[str, Any]) -> None:
    assert summarize(audit.findings) == summary


def test_lay_sentences(audit: Audit) -> None:
    risk = replace(
        audit.strongest,
        auc=Estimate(0.66, 0.642, 0.671),
        tpr_at_fpr={0.1: around(0.2, 0.02), 0.01: Estimate(0.06, 0.042, 0.088)},
    )
    reading = summarize(replace(audit, strongest=risk))["reading"]
    assert "picks the right one 64 to 68 times out of 100; a coin gets 50." in reading[0]
    assert reading[1] == (
        "Of 100 people in the training data, an attacker who accepts 1 false alarm per 100 non-members would identify "
        "4 to 9; guessing identifies 1."
    )


def test_lay_sentence_with_bounds_only_says_at_most(audit: Audit) -> None:
    bound = Estimate(0.004, 0.0, 0.004, kind="upper bound")
    risk = replace(audit.strongest, tpr_at_fpr={0.001: bound})
    reading = summarize(replace(audit, strongest=risk))["reading"]
    assert "Of 1,000 people" in reading[1]
    assert "identify at most 4; guessing identifies 1." in reading[1]


def test_every_attack_has_a_row_and_the_strongest_one_set_of_numbers(audit: Audit, summary: dict[str, Any]) -> None:
    assert [(row["release"], row["attack"]) for row in summary["risks"]] == [attack[:2] for attack in ATTACKS]
    marked = [row for row in summary["risks"] if row["strongest"]]
    assert marked == [summary["strongest"]]
    assert marked[0]["auc"]["high"] == audit.strongest.auc.high
    assert marked[0]["auc"]["high"] > max(risk.auc.high for risk in audit.risks)
    note = plain(summary["risks_note"])
    assert "95 % intervals" in note
    assert "picked from 6: its intervals are wider, at 99.79 % each" in note


def test_groups_that_stand_out_are_named_and_others_are_not(audit: Audit, summary: dict[str, Any]) -> None:
    assert plain(summary["groups"]["finding"]) == "More exposed than the rest: race = Black, 0.07 [0.02, 0.13] in AUC."
    assert [row["level"] for row in summary["groups"]["rows"] if row["stands_out"]] == ["Black"]
    unsure = tuple(replace(group, gap=around(group.gap.value, 0.2)) for group in audit.strongest.by_group)
    calm = summarize(replace(audit, strongest=replace(audit.strongest, by_group=unsure)))
    assert calm["groups"]["finding"].startswith("No group stands out: the largest gap, race = Black")


def test_many_groups_are_all_in_the_table_and_the_most_exposed_in_the_chart(audit: Audit) -> None:
    first = audit.strongest.by_group[0]
    many = tuple(replace(first, level=f"level {at}", gap=around(at / 1000, 0.2)) for at in range(75))
    wide = summarize(replace(audit, strongest=replace(audit.strongest, by_group=many)))
    charted = {row["level"] for row in wide["groups"]["rows"] if row["charted"]}
    assert len(wide["groups"]["rows"]) == 75
    assert charted == {f"level {at}" for at in range(75 - CHARTED_GROUPS, 75)}
    assert "leave out the 45 least exposed" in wide["groups"]["note"]
    page = html.render(replace(audit, strongest=replace(audit.strongest, by_group=many)))
    assert page.count("<bdi>level ") == 75
    assert "The other 45 groups" in page


def test_caveats_say_what_to_doubt(audit: Audit, summary: dict[str, Any]) -> None:
    caveats = summary["caveats"]
    assert caveats["not_run"][0]["attack"] == "learned: MLP"
    assert caveats["overlap"].startswith(
        "52 training records stand in the holdout too (ids 100, 101, 102, 103, 104, …)"
    )
    assert "its range holds 0.5, which is chance" in caveats["control"]
    assert plain(caveats["bounds"][0]).startswith("At 0.1 % false alarms the sample gives a bound only: false-positive")
    strongest = replace(
        audit.strongest,
        control=replace(audit.strongest.control, auc=around(0.58, 0.02)),
        beyond_blind=around(0.01, 0.02),
    )
    doubtful = summarize(replace(audit, strongest=strongest, overlap=Overlap(1, removed=True)))["caveats"]
    assert "finds something where there is nothing to find" in doubtful["control"]
    assert "a difference in the data, not in the model" in doubtful["blind"]
    assert doubtful["overlap"] == "1 training record stands in the holdout too: it was removed before the attacks."


def test_without_retraining_the_permutation_control_is_said_to_stand_in() -> None:
    summary = summarize(sample_audit(retrained=False))
    assert summary["caveats"]["control"].startswith("The model was not retrained, so the control shuffles")
    assert summary["control_kind"] == "permuted"


def test_the_order_of_records_is_doubted_where_there_is_no_leak() -> None:
    assert "no more than chance" in summarize(sample_audit("not_detected"))["exposed"]["note"]
    assert "false alarm" in summarize(sample_audit("leaks"))["exposed"]["note"]


# --- the charts -----------------------------------------------------------------------------------------------------


def curve_of(svg: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    path = next(node for node in ElementTree.fromstring(svg).iter(f"{SVG}path") if "strongest" in node.attrib["class"])
    return np.array([[float(place) for place in pair.split()] for pair in path.attrib["d"][1:].split("L")])


@pytest.mark.parametrize(
    ("roc", "height"),
    [
        (Roc((0.0, 1.0), (0.0, 1.0)), lambda fpr: fpr),
        (Roc((0.0, 0.0, 1.0), (0.0, 1.0, 1.0)), lambda fpr: np.ones_like(fpr)),
        (Roc((0.0, 0.2, 1.0), (0.0, 0.6, 1.0)), lambda fpr: np.where(fpr < 0.2, 3 * fpr, 0.5 + fpr / 2)),
    ],
    ids=["guessing", "lookup table", "labels only"],
)
def test_roc_is_straight_on_linear_axes(roc: Roc, height: Any) -> None:
    points = curve_of(charts.roc_chart([charts.Curve("x", roc.fpr, roc.tpr)], [], 1e-3, "t", "d"))
    (left, bottom), (right, top) = (54, 346), (charts.RIGHT, charts.TOP)
    fpr = 10 ** (-3 + 3 * (points[:, 0] - left) / (right - left))
    tpr = 10 ** (-3 + 3 * (points[:, 1] - bottom) / (top - bottom))
    np.testing.assert_allclose(tpr, np.maximum(1e-3, height(fpr)), rtol=0.02)


def test_bars_are_as_high_as_their_shares(summary: dict[str, Any]) -> None:
    root = ElementTree.fromstring(html.draw(summary)["histogram"])
    bars = [float(node.attrib["height"]) for node in root.iter(f"{SVG}rect") if node.attrib["class"] == "bar"][:-1]
    members = [item["members"] for item in summary["histogram"]["bins"]]
    assert sum(members) == JUDGED
    np.testing.assert_allclose(np.array(bars) / max(bars), np.array(members) / max(members), atol=0.001)


def test_every_chart_has_words_and_every_point_its_value(summary: dict[str, Any]) -> None:
    drawn = html.draw(summary)
    assert set(drawn) == {"roc", "histogram", "groups"}
    for svg in drawn.values():
        root = ElementTree.fromstring(svg)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"]
        assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    titles = {node.text for svg in drawn.values() for node in ElementTree.fromstring(svg).iter(f"{SVG}title")}
    labels = {item["label"] for item in summary["histogram"]["bins"] + summary["groups"]["rows"]}
    labels |= {item["label"] for item in summary["roc"]["curves"] + summary["roc"]["marks"]}
    assert labels <= titles


@pytest.mark.parametrize("judged", [1, 3, 50, 10**6])
def test_roc_for_few_and_many_records(summary: dict[str, Any], judged: int) -> None:
    curves = [charts.Curve(**curve) for curve in summary["roc"]["curves"]]
    svg = charts.roc_chart(curves, [charts.Mark(**mark) for mark in summary["roc"]["marks"]], 1 / judged, "t", "d")
    ticks = [node.text for node in ElementTree.fromstring(svg).iter(f"{SVG}text") if "tick" in node.attrib["class"]]
    assert {"10 %", "100 %"} <= set(ticks)
    assert ("0.0001 %" in ticks) == (judged == 10**6)
    assert np.isfinite(curve_of(svg)).all()


def test_charts_of_nothing_but_one_value() -> None:
    bins = [charts.Bin("all", 0.0, 1.0, 0, 0)]
    rows = [charts.Row("all", "c", "all", 0.5, 0.5, 0.5, False)]
    for svg in (charts.histogram_chart(bins, "t", "d"), charts.group_chart(rows, 0.5, "t", "d")):
        assert "nan" not in svg
        ElementTree.fromstring(svg)


@settings(max_examples=50)
@given(st.text())
def test_charts_are_well_formed_whatever_the_names(name: str) -> None:
    label = safe_text(name)
    rows = [charts.Row(label, label, label, 0.6, 0.5, 0.7, True)]
    root = ElementTree.fromstring(charts.group_chart(rows, 0.55, label, label))
    assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {
        "svg", "title", "desc", "g", "line", "rect", "circle", "path", "text",
    }  # fmt: skip


# --- the page -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["leaks", "not_detected", "inconclusive"])
def test_every_verdict_has_a_page_with_its_word(kind: Kind) -> None:
    audit = sample_audit(kind)
    page = Page(html.render(audit))
    header = next(attributes for tag, attributes in page.elements if tag == "header")
    assert header["class"] == f"verdict {kind.replace(' ', '-')}"
    assert {"leaks": "Leaks", "not_detected": "No evidence of leakage", "inconclusive": "Cannot tell"}[kind] in page.text
    assert page.inside("h1").strip() == summarize(audit)["answer"]["sentences"][0]


def test_the_page_shows_what_the_record_holds(audit: Audit, summary: dict[str, Any]) -> None:
    shown = Page(html.render(audit)).text
    for row in summary["risks"]:
        for name in ("auc", "advantage", "accuracy", "blind", "beyond_blind", "beyond_control"):
            assert row[name]["interval"] in shown
    for expected in (*audit.warnings, audit.not_run[0].reason, audit.fingerprints["train"], audit.versions["numpy"]):
        assert expected in shown
    for row in summary["exposed"]["rows"]:
        assert row["id"] in shown
    assert "at most" in shown


def test_no_groups_no_section() -> None:
    page = Page(html.render(sample_audit(groups=False)))
    assert not any(attributes.get("id") == "groups" for _, attributes in page.elements)


def test_regression_shows_its_own_metric() -> None:
    shown = plain(Page(html.render(sample_audit(task="regression"))).text)
    assert "Mean squared error on held-out records" in shown
    assert "2,871 [2,711, 3,031]" in shown
    assert "Accuracy on" not in shown


def test_only_ids_scores_and_ranks_of_records_reach_the_page(audit: Audit) -> None:
    records = audit.records.assign(income="secret-income")
    rare = replace(audit, records=records.sample(frac=1, random_state=0))
    assert "secret-income" not in html.render(rare)
    assert "secret-income" not in text.render(rare)


def test_few_records_and_nothing_left_out(audit: Audit) -> None:
    records = pd.DataFrame({"id": [7, 8], "score": [0.25, 0.75], "rank": [2, 1]})
    bare = replace(
        audit,
        records=records,
        exposed=most_exposed(records),
        not_run=(),
        warnings=(),
        overlap=Overlap(0),
        risks=(audit.strongest,),
    )
    rows = summarize(bare)["exposed"]["rows"]
    assert [(row["id"], row["rank"]) for row in rows] == [("8", 1), ("7", 2)]
    assert "nothing was left out" in Page(html.render(bare)).text


# --- the terminal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["leaks", "not_detected", "inconclusive"])
def test_text_fits_a_terminal_and_starts_with_the_verdict(kind: Kind) -> None:
    audit = sample_audit(kind)
    shown = str(audit)
    lines = shown.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    assert lines[0].lower().startswith(audit.verdict.sentence[:60].lower())
    assert all(line.isprintable() for line in lines)


def test_text_has_the_intervals_and_the_doubts(audit: Audit) -> None:
    shown = " ".join(str(audit).split())
    assert "Strongest: loss threshold on log_loss: AUC 0.66 [0.64, 0.68]" in shown
    assert "at most 0.98 % of members at 0.1 % false alarms" in shown
    assert "Groups: More exposed than the rest: race = Black" in shown
    assert "Warning: 52 of 30,162" in shown
    assert "Not run: learned: MLP on probabilities" in shown
    for release, attack, _ in ATTACKS:
        assert f"{release} {attack} 0." in shown


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_fit_a_terminal(audit: Audit, name: str) -> None:
    many = replace(with_names(audit, name), warnings=(name,) * 9, not_run=(NotRun(name, name, name),) * 9)
    lines = str(many).splitlines()
    assert len(lines) <= 39
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in str(many)
    assert sum("and 7 more: see the report" in line for line in lines) == 2
