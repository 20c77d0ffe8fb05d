"""A new kind of result needs forty lines for saving, loading, schema, report, Markdown, CSV, notebook, gate and diff."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import ClassVar

import jsonschema
import pandas as pd
import pytest

import leakscope as ls
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import proportion
from leakscope.core.result import Claim, Result
from leakscope.record.schema import json_schema
from leakscope.report.document import Answer, Document, KeyFigures, Value
from leakscope.report.documents import MAKERS
from leakscope.report.renderers import markdown


@dataclass(frozen=True, kw_only=True, eq=False)
class Coin(Result):
    kind: ClassVar[str] = "coin"
    codes = {"unfair": "yes"}  # noqa: RUF012
    heads: Estimate


def toss(heads: int, tosses: int) -> Coin:
    share = proportion(heads, tosses)
    outcome = "yes" if share.low > 0.5 else "inconclusive"
    claims = (Claim("unfair", {}, outcome, {"heads": share}),)
    records = pd.DataFrame({"id": ["=a", "b"], "score": [0.25, 0.1]})
    return Coin(heads=share, claims=claims, settings={"tosses": tosses}, records=records)


def describe(coin: Coin, others: object) -> Document:  # noqa: ARG001
    answer = Answer("Unfair" if coin.claims[0].outcome == "yes" else "Inconclusive", "risk", "The coin was tossed.")
    figures = KeyFigures((("heads", Value(coin.heads, "percent"), ""),), brief=True)
    return Document("coin", "A coin", "Is it fair?", answer, blocks=(figures,))


MAKERS["coin"] = describe
# --- end of the study ---


@pytest.fixture
def unfair(tmp_path):
    found = toss(90, 100)
    found.save(tmp_path)
    return found


def test_it_loads_equal(unfair, tmp_path):
    loaded = ls.load(tmp_path)
    assert loaded == unfair
    assert loaded != toss(91, 100)
    assert loaded.records.equals(unfair.records)


@pytest.mark.usefixtures("unfair")
def test_its_json_follows_its_schema(tmp_path):
    document = json.loads((tmp_path / "result.json").read_text())
    jsonschema.validate(document, json_schema(Coin))


def test_every_surface_has_the_number(unfair, tmp_path):
    shown = "90 % [82, 96]"
    page = (tmp_path / "report.html").read_text()
    assert shown in str(unfair)
    assert shown in markdown.render(unfair)
    for surface in (page, unfair._repr_html_()):
        assert "90 %" in surface
        assert "[82, 96]" in surface
    assert unfair.to_frame()["heads"].tolist() == [0.9]
    assert pd.read_csv(tmp_path / "table.csv")["heads_low"].tolist() == [unfair.heads.low]


@pytest.mark.parametrize(("condition", "outcome"), [("unfair = yes", "failed"), ("heads.high > 0.99", "passed")])
def test_the_gate_judges_it(unfair, condition, outcome):
    assert ls.gate(unfair, fail_if=condition).outcome == outcome


def test_the_diff_finds_the_change(unfair):
    assert ls.diff(toss(50, 100), unfair).worse
    assert not ls.diff(unfair, toss(50, 100)).worse
    assert not ls.diff(unfair, toss(88, 100)).worse


def test_a_claim_about_no_risk_is_compared_and_never_worse(unfair, monkeypatch):
    monkeypatch.setattr(Coin, "codes", {"unfair": None})
    found = ls.diff(toss(50, 100), unfair)
    assert (found.outcome, found.claims, found.claim_changes[0].change.outcome) == ("not_significant", (), "increased")


def test_bounds_are_not_compared(unfair):
    bounded = dataclasses.replace(
        unfair, claims=(Claim("unfair", {}, "no", {"heads": Estimate(0.1, 0.0, 0.1, kind="upper bound")}),)
    )
    assert ls.diff(bounded, unfair).claim_changes[0].change is None
