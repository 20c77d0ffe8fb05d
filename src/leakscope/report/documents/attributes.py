"""The document of attribute inference: do the model's outputs reveal sensitive columns?"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.result import Result
from leakscope.core.wording import count, listing, name, number, percent, quoted, write
from leakscope.report.charts.forest import by_category, rows_of
from leakscope.report.charts.model import Axis, Chart, Rule
from leakscope.report.document import Answer, Block, Cell, Details, Document, Row, Table, Tag, Value
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.cells import outcome, values
from leakscope.report.documents.common import cite, filled, provenance, reading, sources
from leakscope.studies.attributes.result import AttributeFinding, Attributes, SensitiveColumn, Side, strongest

DESCRIBED = 3
SIDES: dict[Side, str] = {"holdout": "held-out records", "training": "training records"}
_TAGS: dict[str, Tag] = {
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
        blocks=_blocks(result, ordered),
    )


def _answer(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Answer:
    outcomes = {column.name: outcome(result, "attribute_leak", column=column.name) for column in ordered}
    said = tuple(_sentence(result, column) for column in ordered[:DESCRIBED])
    if revealed := [column for column, found in outcomes.items() if found == "yes"]:
        return Answer("Reveals", "risk", f"The model's outputs help an attacker to infer {listing(revealed)}.", said)
    columns = listing(list(outcomes))
    headline = f"No attack that was run infers {columns} significantly better with the model than without it."
    if "inconclusive" in outcomes.values():
        return Answer("Not significant", "unknown", headline, said)
    return Answer("Not detected", "safe", headline, said)


def _sentence(result: Attributes, column: SensitiveColumn) -> str:
    found, which = strongest(result.of(column.name)), quoted(column.name)
    if outcome(result, "attribute_leak", column=column.name) != "yes":
        return f"For {which} the largest gain of an attack is {write(found.gain)} (0 is no gain)."
    knows = count(len(column.known), "other column") + (" and the true label" if result.settings["knows_label"] else "")
    more = outcome(result, "members_leak_more", column=column.name) == "yes"
    return (
        f"For {which} the advantage of an attacker who knows {knows} changes from {write(found.baseline_advantage)} without the model to "
        f"{write(found.advantage)} with it (0 is guessing, 1 is perfect), and the AUC by {write(found.gain_auc, 'signed')}."
        + (" Training records are revealed significantly more." if more else "")
    )


def _facts(result: Attributes) -> list[tuple[str, Cell]]:
    judged = {found.side: found.records for found in result.findings}
    facts: list[tuple[str, Cell]] = [("Model", name(result.studied)), ("Sensitive columns", len(result.columns))]
    facts += [(f"Judged {SIDES[side]}", records) for side, records in judged.items()]
    facts.append(("True label", "known to the attacker" if result.settings["knows_label"] else "not known"))
    if (digits := result.settings["digits"]) is not None:
        facts.append(("Decimals of outputs", int(digits)))
    return [*facts, ("Confidence", percent(result.settings["confidence"]))]


def _blocks(result: Attributes, ordered: Sequence[SensitiveColumn]) -> tuple[Block, ...]:
    return filled(
        _columns(result, ordered),
        Details("Charts", (_gains(result, ordered), _with_and_without(result, ordered)), open=True),
        warnings(result),
        _attacks(result, ordered),
        reading(HOW_TO_READ, "Confidence interval", "Significant"),
        sources(cite((found.source, found.attack) for found in result.findings), ["tople2020"]),
        provenance(result),
    )


def _columns(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Table:
    rows = []
    for column in ordered:
        found = strongest(result.of(column.name))
        figures = (Value(found.baseline_advantage), *values(found.gain, found.gain_auc, style="signed"))
        note = f"{count(column.levels, 'level')}. Strongest attack: {name(found.attack)}, on {SIDES[found.side]}."
        tag = _TAGS[outcome(result, "attribute_leak", column=column.name)]
        rows.append(Row((name(column.name), *figures), *tag, note))
    note = (
        "Baseline: advantage of the same attacker without the model. Gains: advantage and AUC of the strongest attack minus those of the baseline. The "
        f"intervals of the gains are simultaneous for all attacks on one column. “Not detected” means that gains above {number(result.settings['margin'])} are "
        "excluded."
    )
    heads = ("Column", "Baseline", "Gain", "Gain in AUC")
    return Table(heads, tuple(rows), "Gain by sensitive column", note, brief=True)


def _gains(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Chart:
    series: dict[str, list[Estimate | None]] = {}
    for side, words in SIDES.items():
        found = [tuple(one for one in result.of(column.name) if one.side == side) for column in ordered]
        series[words] = [strongest(some).gain if some else None for some in found]
    return by_category(
        "Gain of the strongest attack by column",
        "Advantage with the model minus advantage without it. At 0 the model reveals nothing about the column.",
        Axis("Gain in advantage"),
        rows_of(name(column.name) for column in ordered),
        series,
        Rule(0.0, "x", "no gain"),
    )


def _with_and_without(result: Attributes, ordered: Sequence[SensitiveColumn]) -> Chart:
    found = [strongest(result.of(column.name)) for column in ordered]
    baselines, advantages = [one.baseline_advantage for one in found], [one.advantage for one in found]
    return by_category(
        "Advantage with and without the model",
        "Of the strongest attack on each column, and of the baseline on the same records.",
        Axis("Advantage"),
        rows_of(name(column.name) for column in ordered),
        {"without the model": baselines, "with the model": advantages},
        Rule(0.0, "x", "chance"),
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
    names = (name(found.column), SIDES[found.side], name(found.attack))
    signed = (found.gain, found.gain_auc, found.control, found.beyond_control, found.beyond_holdout)
    return [*names, *values(found.advantage, found.auc), *values(*signed, style="signed")]
