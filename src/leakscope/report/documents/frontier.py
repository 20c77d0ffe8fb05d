"""The document of a frontier: what do feature explanations add to the membership risk, and how faithful are they?"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Result
from leakscope.core.wording import count, listing, name, number, percent, quoted, write
from leakscope.frontier_study.result import ExplanationRisk, Frontier
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.document import Answer, Block, Details, Document, Item, Items, Row, Table, Tone, Value
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.common import glossary, not_run, provenance, sources

_TAGS: dict[str, tuple[str, Tone]] = {
    "yes": ("adds risk", "risk"),
    "no": ("not detected", "safe"),
    "inconclusive": ("not significant", "plain"),
}
HOW_TO_READ = (
    "Faithfulness states how much better the order of features in an explanation is than a random order: features are removed and added in this order, and the "
    "output of the model is compared. 0 is a random order.",
    "The extra advantage is the membership advantage of an attacker who has the prediction and the explanation, minus that of an attacker who has the "
    "prediction alone. 0 is no gain, 1 is the largest.",
    "The control is the same gain in AUC on models that never saw the members. It should be 0 up to chance.",
    "An explanation is dominated if another one is significantly better on one axis and worse by at most the margin on the other.",
)


def make(result: Frontier, others: Sequence[Result]) -> Document:  # noqa: ARG001
    """Make the document of a frontier."""
    return Document(
        kind="frontier",
        title=f"Explanations of {name(result.studied)}",
        question="How much do feature explanations add to the membership risk of the predictions, and how faithful are they?",
        answer=_answer(result),
        facts=(
            ("Model", name(result.studied)),
            ("Explanations", len(result.explanations)),
            ("Released in any case", name(result.beside)),
            ("Features", result.features),
            ("Records for faithfulness", result.scored),
            ("Members and non-members judged, each", result.judged),
            ("Confidence", percent(result.settings["confidence"])),
        ),
        blocks=tuple(_blocks(result)),
    )


def _outcomes(result: Frontier) -> dict[object, str]:
    return {one.subject["explanation"]: one.outcome for one in result.claims if one.code == "explanation_adds"}


def _answer(result: Frontier) -> Answer:
    outcomes = _outcomes(result)
    adding = sorted(
        (one for one in result.explanations if outcomes[one.name] == "yes"), key=lambda one: -one.advantage.value
    )
    top = max(result.explanations, key=lambda one: one.faithfulness.order.value)
    most = max(adding or result.explanations, key=lambda one: one.advantage.value)
    described = (
        {"with the largest gain": most, "that is most faithful": top}
        if most is not top
        else {"that is most faithful": top}
    )
    said = tuple(_described(which, one, outcomes) for which, one in described.items())
    technical = tuple(_dominance(result))
    if adding:
        verb = "helps" if len(adding) == 1 else "help"
        headline = f"{listing([one.name for one in adding])} {verb} an attacker who has the {name(result.beside)} to recognise people in the training data."
        return Answer("Adds risk", "risk", headline, said, technical)
    tried = count(len(result.explanations), "explanation")
    headline = f"No significant risk was found in {tried} beyond that of the {name(result.beside)}."
    excluded = set(outcomes.values()) == {"no"}
    return Answer(
        "Not detected" if excluded else "Not significant", "safe" if excluded else "unknown", headline, said, technical
    )


def _described(which: str, one: ExplanationRisk, outcomes: dict[object, str]) -> str:
    note = "" if outcomes[one.name] == "yes" else " (not significant)"
    return (
        f"The explanation {which}, {quoted(one.name)}, changes the advantage of the attacker by {write(one.advantage, 'signed')}{note} and has a "
        f"faithfulness of {write(one.faithfulness.order)}."
    )


def _dominance(result: Frontier) -> list[str]:
    dominated = [one for one in result.explanations if one.dominated_by is not None]
    said = f"{count(len(dominated))} of {count(len(result.explanations), 'explanation')} "
    said += "is" if len(dominated) == 1 else "are"
    return [
        f"{said} significantly dominated by another one.",
        f"Pareto-optimal by value, without regard to the intervals: {listing([one.name for one in result.best], 5)}.",
    ]


def _blocks(result: Frontier) -> list[Block]:
    blocks: list[Block] = [_table(result), *_advice(result), Details("Frontier", (_chart(result),), open=True)]
    if result.warnings:
        blocks.append(warnings(result))
    return [
        *blocks,
        *not_run(result.not_run, "Explanations that the model does not support"),
        _measures(result),
        Details(
            "How to read this report",
            (
                Items(tuple(map(Item, HOW_TO_READ))),
                glossary(
                    "Advantage", "AUC", "Never-trained control", "Confidence interval", "Significant", "Pareto-optimal"
                ),
            ),
            open=True,
        ),
        sources(
            {
                "Petsiuk et al. 2018; Yeh et al. 2019, Definition 2.1": ["faithfulness"],
                "shokri2019": ["membership inference from explanations"],
            }
        ),
        provenance(result),
    ]


def _table(result: Frontier) -> Table:
    outcomes = _outcomes(result)
    rows = []
    for one in sorted(result.explanations, key=lambda one: -one.faithfulness.order.value):
        by = None if one.dominated_by is None else name(one.dominated_by)
        cells = (name(one.name), Value(one.faithfulness.order), Value(one.advantage, "signed"), by)
        rows.append(Row(cells, *_TAGS[outcomes[one.name]]))
    note = (
        f"Gain in membership advantage over the {name(result.beside)} alone, with simultaneous intervals. A random order has a faithfulness of "
        f"{write(result.random_order)}. “Not detected” means that an extra advantage above {number(result.settings['margin'])} is excluded."
    )
    heads = ("Explanation", "Faithfulness", "Extra advantage", "Dominated by")
    return Table(heads, tuple(rows), "Faithfulness and extra risk", note, brief=True, most=20)


def _advice(result: Frontier) -> list[Items]:
    by_name = {one.name: one for one in result.explanations}
    found = [claim for claim in result.claims if claim.code == "recommended"]
    items = []
    for claim in found:
        best, worse = by_name[str(claim.subject["explanation"])], by_name[str(claim.subject["instead_of"])]
        text = (
            f"Its extra advantage is {write(best.advantage, 'signed')}, with a faithfulness of {write(best.faithfulness.order)}. "
            f"{quoted(worse.name)} has {write(worse.advantage, 'signed')}, with a faithfulness of {write(worse.faithfulness.order)}."
        )
        items.append(Item(text, f"If features must be explained, release {quoted(best.name)}", "measured"))
    return [Items(tuple(items), "What to do next", "steps", brief=True)] if items else []


def _chart(result: Frontier) -> Chart:
    methods = dict.fromkeys(one.method for one in result.explanations)
    series = tuple(
        Series(
            name(method),
            tuple(
                Mark(one.faithfulness.order, one.advantage, name(one.name))
                for one in result.explanations
                if one.method == method
            ),
            "points",
        )
        for method in methods
    )
    margin = result.settings["margin"]
    return Chart(
        "Faithfulness and extra risk of explanations",
        f"Lower right is best. Pareto-optimal by value: {listing([one.name for one in result.best], 5)}.",
        Axis("Faithfulness (0 is a random order)"),
        Axis("Extra membership advantage"),
        series,
        rules=(Rule(0.0, "y", "no gain"), Rule(margin, "y", "margin")),
        highlighted=tuple(name(one.name) for one in result.best),
        highlight="Pareto-optimal by value",
    )


def _measures(result: Frontier) -> Details:
    """The other measures of both axes."""
    gains, faithfulness = [], []
    for one in result.explanations:
        extra = (one.auc, one.control, one.beyond_control)
        gains.append(Row((name(one.name), *(None if gain is None else Value(gain, "signed") for gain in extra))))
        measured = one.faithfulness
        figures = (measured.deletion, measured.insertion, measured.infidelity, measured.unexplained)
        faithfulness.append(Row((name(one.name), *map(Value, figures))))
    note = (
        "Area under the output while the most important features are removed (deletion, low is good) and added (insertion, high is good); squared error of the "
        "predicted changes (infidelity), and its share that no scaling of the explanation removes (unexplained, 0 is best, 1 is no better than none)."
    )
    return Details(
        "All measures",
        (
            Table(
                ("Explanation", "Extra AUC", "On never-trained control", "Beyond control"),
                tuple(gains),
                "Gain in AUC",
                f"Over the {name(result.beside)} alone, with simultaneous intervals.",
            ),
            Table(
                ("Explanation", "Deletion", "Insertion", "Infidelity", "Unexplained"),
                tuple(faithfulness),
                "Faithfulness",
                note,
            ),
        ),
    )
