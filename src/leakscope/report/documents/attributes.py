"""The document of attribute inference: do the model's outputs reveal sensitive columns?"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.attribute.result import AttributeFinding, Attributes, SensitiveColumn, Side, strongest
from leakscope.core.result import Result
from leakscope.core.wording import count, listing, name, number, percent, quoted, write
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.document import Answer, Block, Cell, Details, Document, Item, Items, Row, Table, Tone, Value
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.common import glossary, provenance, sources

DESCRIBED = 3
SIDES: dict[Side, str] = {"holdout": "held-out records", "training": "training records"}
_TAGS: dict[str, tuple[str, Tone]] = {
    "yes": ("revealed", "risk"),
    "no": ("not detected", "safe"),
    "inconclusive": ("not significant", "plain"),
}
HOW_TO_READ = (
    "The attacker knows other columns of a person, sees the model's output for that person, and infers the sensitive column.",
    "The baseline is the same attacker without the model. The gain is the advantage with the model minus that of the baseline. It is what the model reveals.",
    "The control queries the model with a random value of the sensitive column. A gain beyond the control comes from the model's own use of the column.",
    "Every number has a confidence interval in brackets. A gain is significant if its interval, corrected for the number of attacks, excludes 0.",
)


def make(result: Attributes, others: Sequence[Result]) -> Document:  # noqa: ARG001
    """Make the document of attribute inference."""
    ordered = sorted(result.columns, key=lambda column: -strongest(result.of(column.name)).gain.value)
    return Document(
        kind="attributes",
        title=f"Attribute inference on {name(result.studied)}",
        question=f"Do the model's outputs reveal {listing([column.name for column in result.columns])} of a person?",
        answer=_answer(result, ordered),
        facts=tuple(_facts(result)),
        blocks=tuple(_blocks(result, ordered)),
    )


def _outcome(result: Attributes, column: SensitiveColumn, code: str = "attribute_leak") -> str:
    return next(
        (one.outcome for one in result.claims if one.code == code and one.subject["column"] == column.name),
        "inconclusive",
    )


def _answer(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Answer:
    by_outcome = {outcome: [column for column in ordered if _outcome(result, column) == outcome] for outcome in _TAGS}
    revealed = by_outcome["yes"]
    sentences = [_sentence(result, column) for column in ordered[:DESCRIBED]]
    if revealed:
        headline = f"The model's outputs help an attacker to infer {_names(revealed)}."
        return Answer("Reveals", "risk", headline, tuple(sentences))
    headline = f"No attack that was run infers {_names(ordered)} significantly better with the model than without it."
    if by_outcome["inconclusive"]:
        return Answer("Not significant", "unknown", headline, tuple(sentences))
    return Answer("Not detected", "safe", headline, tuple(sentences))


def _names(columns: Sequence[SensitiveColumn]) -> str:
    return listing([column.name for column in columns])


def _sentence(result: Attributes, column: SensitiveColumn) -> str:
    found = strongest(result.of(column.name))
    which = quoted(column.name)
    if _outcome(result, column) != "yes":
        return f"For {which} the largest gain of an attack is {write(found.gain)} (0 is no gain)."
    if not found.gain.low > 0:
        return f"For {which} the model adds {write(found.gain_auc)} to the AUC of an attacker (0 is no gain)."
    knows = count(len(column.known), "other column") + (" and the true label" if result.settings["knows_label"] else "")
    more = (
        " Training records are revealed significantly more."
        if _outcome(result, column, "members_leak_more") == "yes"
        else ""
    )
    return (
        f"For {which} the advantage of an attacker who knows {knows} rises from {write(found.baseline_advantage)} without the model to "
        f"{write(found.advantage)} with it (0 is guessing, 1 is perfect).{more}"
    )


def _facts(result: Attributes) -> list[tuple[str, Cell]]:
    judged = {found.side: found.records for found in result.findings}
    facts: list[tuple[str, Cell]] = [("Model", name(result.studied)), ("Sensitive columns", len(result.columns))]
    facts += [(f"Judged {SIDES[side]}", records) for side, records in judged.items()]
    facts.append(("True label", "known to the attacker" if result.settings["knows_label"] else "not known"))
    if (digits := result.settings["digits"]) is not None:
        facts.append(("Decimals of outputs", int(digits)))
    return [*facts, ("Confidence", percent(result.settings["confidence"]))]


def _blocks(result: Attributes, ordered: Sequence[SensitiveColumn]) -> list[Block]:
    cited: dict[str, list[str]] = {}
    for found in result.findings:
        if found.attack not in cited.setdefault(found.source, []):
            cited[found.source].append(found.attack)
    blocks: list[Block] = [
        _columns(result, ordered),
        Details("Charts", (_gains(result, ordered), _with_and_without(result, ordered)), open=True),
    ]
    if result.warnings:
        blocks.append(warnings(result))
    return [
        *blocks,
        _attacks(result, ordered),
        Details("How to read this report", (Items(tuple(map(Item, HOW_TO_READ))), glossary("Confidence interval", "Significant")), open=True),
        sources(cited, ["tople2020"]),
        provenance(result),
    ]  # fmt: skip


def _columns(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Table:
    rows = []
    for column in ordered:
        found = strongest(result.of(column.name))
        cells = (
            name(column.name),
            Value(found.baseline_advantage),
            Value(found.advantage),
            Value(found.gain, "signed"),
        )
        note = (
            f"{count(column.levels, 'level')}. Strongest attack: {name(found.attack)}, on {SIDES[found.side]}, with a gain in AUC of "
            f"{write(found.gain_auc, 'signed')}."
        )
        rows.append(Row(cells, *_TAGS[_outcome(result, column)], note))
    note = (
        "Advantage of the strongest attack on each column and of the baseline, which does not have the model. The intervals of the gains are simultaneous for "
        f"all attacks on one column. “Not detected” means that gains above {number(result.settings['margin'])} are excluded."
    )
    heads = ("Column", "Advantage without model", "With model", "Gain")
    return Table(heads, tuple(rows), "Gain by sensitive column", note, brief=True)


def _gains(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Chart:
    series = []
    for side, words in SIDES.items():
        marks = []
        for at, column in enumerate(ordered):
            if some := tuple(found for found in result.of(column.name) if found.side == side):
                found = strongest(some)
                said = f"{name(column.name)}, {words}: gain {write(found.gain, 'signed')}, {name(found.attack)}"
                marks.append(Mark(found.gain, at, said=said))
        if marks:
            series.append(Series(words, tuple(marks), "points", "strong" if side == "training" else "plain"))
    return Chart(
        "Gain of the strongest attack by column",
        "Advantage with the model minus advantage without it. At 0 the model reveals nothing about the column.",
        Axis("Gain in advantage"),
        Axis("", "category", categories=tuple(name(column.name) for column in ordered)),
        tuple(series),
        rules=(Rule(0.0, "x", "no gain"),),
    )


def _with_and_without(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Chart:
    found = [strongest(result.of(column.name)) for column in ordered]

    def marks(figure: str) -> tuple[Mark, ...]:
        return tuple(
            Mark(value := getattr(one, figure), at, said=f"{name(one.column)}: {write(value)}")
            for at, one in enumerate(found)
        )

    return Chart(
        "Advantage with and without the model",
        "Of the strongest attack on each column, and of the baseline on the same records.",
        Axis("Advantage"),
        Axis("", "category", categories=tuple(name(column.name) for column in ordered)),
        (
            Series("without the model", marks("baseline_advantage"), "points", "muted"),
            Series("with the model", marks("advantage"), "points", "strong"),
        ),
    )


def _attacks(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Details:
    columns = (
        "Column", "Records", "Attack", "Advantage", "AUC", "Gain", "Gain in AUC", "Control", "Beyond control", "Beyond holdout"
    )  # fmt: skip
    rows = [Row(tuple(_cells(found))) for column in ordered for found in result.of(column.name)]
    note = (
        f"Advantage, AUC and control have intervals of {percent(result.settings['confidence'])} confidence. Those of the gains are simultaneous for all "
        "attacks on a column. Beyond holdout: gain on training records minus gain on held-out ones."
    )
    return Details("All attacks", (Table(columns, tuple(rows), note=note),))


def _cells(found: AttributeFinding) -> list[Cell]:
    cells: list[Cell] = [
        name(found.column),
        SIDES[found.side],
        name(found.attack),
        Value(found.advantage),
        Value(found.auc),
    ]
    signed = (found.gain, found.gain_auc, found.control, found.beyond_control, found.beyond_holdout)
    return [*cells, *(None if one is None else Value(one, "signed") for one in signed)]
