"""The document of a reproduction: which statements of the paper hold by the intervals?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim, Outcome, Result
from leakscope.core.wording import SENTENCE_LENGTH, Style, count, listing, name, number, sentence
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.document import Answer, Block, Cell, Details, Document, Item, Items, Row, Table, Tag, Text, Value
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.cells import outcome, values
from leakscope.report.documents.common import filled, provenance

if TYPE_CHECKING:
    from leakscope.papers.panels import Curve, Panel
    from leakscope.papers.reproduction import Reproduction

#: Columns of the measured table that a terminal has room for.
NARROW = 7
_TAGS: dict[Outcome, Tag] = {
    "yes": ("reproduced", "safe"),
    "no": ("not reproduced", "risk"),
    "inconclusive": ("inconclusive", "unknown"),
}
_SHOWN: dict[bool, Tag] = {True: ("significant", "risk"), False: ("not significant", "unknown")}


def make(found: Reproduction, others: Sequence[Result]) -> Document:  # noqa: ARG001
    """Make the document of a reproduction."""
    return Document(
        kind="reproduction",
        title=f"{name(found.title, 200)} ({name(found.id)})",
        question="Are the statements of the paper reproduced?",
        answer=_answer(found),
        facts=(("Paper", name(found.paper["source"], 200)),),
        blocks=_blocks(found),
    )


def _answer(found: Reproduction) -> Answer:
    outcomes = [claim.outcome for claim in found.claims if claim.subject and claim.code == "reproduced"]
    counts = {outcome: outcomes.count(outcome) for outcome in _TAGS}
    said = ", ".join(f"{counts[outcome]} {tag}" for outcome, (tag, _) in _TAGS.items() if counts[outcome])
    stated = (f"The paper states: {sentence(found.paper['statement'])}",)
    if found.synthetic:
        names = listing(found.synthetic)
        headline = f"The numbers were measured on synthetic data ({names}) and decide no statement of the paper."
        return Answer("Not comparable", "unknown", headline, stated)
    headline = f"Of {count(len(outcomes), 'statement')} of the paper: {said or 'none decided'}."
    whole = found.claim("reproduced").outcome
    if whole == "no" and counts["yes"]:
        return Answer("Reproduced in part", "unknown", headline, stated)
    label, tone = _TAGS[whole]
    return Answer(label.capitalize(), tone, headline, stated)


def _blocks(found: Reproduction) -> tuple[Block, ...]:
    compared = {pair.name for pair in found.compared}
    claims = [claim for claim in found.claims if claim.subject and claim.subject.get("statement") not in compared]
    about = [found.paper[key] for key in ("numbers", "columns") if found.paper.get(key)]
    return filled(
        warnings(found),
        _claims(claims),
        _compared(found),
        Items(tuple(Item(sentence(note)) for note in found.notes), "Notes", brief=True, most=6),
        Details("Figures", tuple(_chart(panel) for panel in found.panels), open=True),
        _measured(found),
        Text(tuple(name(text, SENTENCE_LENGTH) for text in about), "Numbers of the paper"),
        provenance(found),
    )


def _claims(claims: Sequence[Claim]) -> Table:
    """One row for each number behind a statement; the first one has the outcome."""
    rows = []
    for claim in claims:
        said, (tag, tone) = name(claim.subject.get("statement", ""), 120), _TAGS[claim.outcome]
        if claim.code == "shows_membership":
            said = f"{name(claim.subject['model'])}: the attack shows membership"
            tag, tone = _SHOWN[claim.outcome == "yes"]
        figures: list[tuple[str, Cell]] = [(name(place), Value(one)) for place, one in claim.estimates.items()]
        for at, (place, value) in enumerate(figures or [("", None)]):
            rows.append(Row((said if at == 0 else "", place, value), tag if at == 0 else "", tone))
    return Table(("Statement", "Figure", "Value"), tuple(rows), "Statements", brief=True, most=40)


def _compared(found: Reproduction) -> Table:
    rows = []
    for pair in found.compared:
        tag = _TAGS[outcome(found, "reproduced", statement=pair.name)]
        style: Style = "count" if pair.ours.kind == "exact" else "number"
        paper = Estimate(pair.paper, pair.paper, pair.paper, kind="exact")
        rows.append(Row((name(pair.name, 120), *values(paper, pair.ours, style=style)), *tag))
    note = "A number is reproduced if it lies in our interval or within the tolerance that the reproduction states."
    return Table(("Number", "Paper", "Ours"), tuple(rows), "Numbers of the paper and ours", note, brief=True, most=40)


def _measured(found: Reproduction) -> Table:
    columns = [column for column in next(iter(found.rows), ()) if any(row[column] is not None for row in found.rows)]
    rows = tuple(Row(tuple(_cell(row[column]) for column in columns)) for row in found.rows)
    return Table(tuple(map(name, columns)), rows, "Measurements", brief=len(columns) <= NARROW, most=20)


def _cell(cell: Estimate | str | int | float | None) -> Cell:
    if isinstance(cell, Estimate):
        return Value(cell)
    if isinstance(cell, float):
        return number(cell)
    return name(cell, SENTENCE_LENGTH) if isinstance(cell, str) else cell


def _chart(panel: Panel) -> Chart:
    x_label, y_label = name(panel.x_label), name(panel.y_label)
    x = Axis(x_label, "log" if panel.log_x else "linear")
    if panel.places:
        x = Axis(x_label, "category", categories=tuple(name(place, 40) for place in panel.places))
    rules = () if panel.goal is None else (Rule(panel.goal, label=name(panel.goal_label)),)
    shown = listing([curve.name for curve in panel.curves], 8)
    return Chart(
        name(panel.title, 200),
        f"{y_label} by {x_label}: {shown}.",
        x,
        Axis(y_label, "log" if panel.log_y else "linear"),
        tuple(_series(curve) for curve in panel.curves),
        rules,
    )


def _series(curve: Curve) -> Series:
    places = curve.x or tuple(range(max(len(curve.y), len(curve.boxes))))
    boxes = curve.boxes or ((),) * len(places)
    marks = []
    for x, y, box in zip(places, curve.y, boxes, strict=True):
        if curve.form == "boxes":
            marks.append(Mark(x, box[len(box) // 2] if box else None, box=box or ()))
        else:
            marks.append(Mark(x, y))
    return Series(name(curve.name), tuple(marks), curve.form, end=curve.end)
