"""The document of a frontier: what do feature explanations add to the membership risk, and how faithful are they?"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Outcome, Result
from leakscope.core.wording import count, listing, name, number, percent, quoted, write
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.document import Answer, Block, Details, Document, Item, Row, Table, Tag, Value
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.cells import outcome, values
from leakscope.report.documents.common import filled, not_run, provenance, reading, sources, steps
from leakscope.studies.frontier.result import ExplanationRisk, Frontier

_TAGS: dict[str, Tag] = {
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
    "An explanation is dominated if another one is significantly better on one axis and worse by at most the tolerance on the other.",
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
            ("Released in any case", name(result.prediction)),
            ("Features", result.features),
            ("Records for faithfulness", result.scored),
            ("Members and non-members judged, each", result.judged),
            ("Confidence", percent(result.settings["confidence"])),
        ),
        blocks=_blocks(result),
    )


def _adds(result: Frontier, one: ExplanationRisk) -> Outcome:
    return outcome(result, "explanation_adds", explanation=one.name, prediction=result.prediction)


def _answer(result: Frontier) -> Answer:
    outcomes = {one.name: _adds(result, one) for one in result.explanations}
    adding = [one for one in result.explanations if outcomes[one.name] == "yes"]
    adding.sort(key=lambda one: -one.advantage.value)
    top = max(result.explanations, key=lambda one: one.faithfulness.order.value)
    most = max(adding or result.explanations, key=lambda one: one.advantage.value)
    described = {} if most is top else {"with the largest gain": most}
    described["that is most faithful"] = top
    said = []
    for which, one in described.items():
        note = "" if outcomes[one.name] == "yes" else " (not significant)"
        said.append(
            f"The explanation {which}, {quoted(one.name)}, changes the advantage of the attacker by {write(one.advantage, 'signed')}{note} and has a "
            f"faithfulness of {write(one.faithfulness.order)}."
        )
    if adding:
        verb = "helps" if len(adding) == 1 else "help"
        headline = f"{listing([one.name for one in adding])} {verb} an attacker who has the {name(result.prediction)} to recognise people in the training data."
        return Answer("Adds risk", "risk", headline, tuple(said), _dominance(result))
    tried = count(len(result.explanations), "explanation")
    headline = f"No significant risk was found in {tried} beyond that of the {name(result.prediction)}."
    if set(outcomes.values()) == {"no"}:
        return Answer("Not detected", "safe", headline, tuple(said), _dominance(result))
    return Answer("Not significant", "unknown", headline, tuple(said), _dominance(result))


def _dominance(result: Frontier) -> tuple[str, str]:
    dominated = sum(one.dominated_by is not None for one in result.explanations)
    said = f"{count(dominated)} of {count(len(result.explanations), 'explanation')} {'is' if dominated == 1 else 'are'}"
    return (
        f"{said} significantly dominated by another one.",
        f"Pareto-optimal by value, without regard to the intervals: {listing([one.name for one in result.best], 5)}.",
    )


def _blocks(result: Frontier) -> tuple[Block, ...]:
    terms = ("Advantage", "AUC", "Never-trained control", "Confidence interval", "Significant", "Pareto-optimal")
    cited = {
        "Petsiuk et al. 2018; Yeh et al. 2019, Definition 2.1": ["faithfulness"],
        "shokri2019": ["membership inference from explanations"],
    }
    return filled(
        _table(result),
        steps(_advice(result)),
        Details("Frontier", (_chart(result),), open=True),
        warnings(result),
        not_run(result.not_run, "Explanations that the model does not support"),
        _measures(result),
        reading(HOW_TO_READ, *terms),
        sources(cited),
        provenance(result),
    )


def _table(result: Frontier) -> Table:
    rows = []
    for one in sorted(result.explanations, key=lambda one: -one.faithfulness.order.value):
        by = None if one.dominated_by is None else name(one.dominated_by)
        cells = (name(one.name), Value(one.faithfulness.order), Value(one.advantage, "signed"), by)
        rows.append(Row(cells, *_TAGS[_adds(result, one)]))
    note = (
        f"Gain in membership advantage over the {name(result.prediction)} alone, with simultaneous intervals. A random order has a faithfulness of "
        f"{write(result.random_order)}. “Not detected” means that an extra advantage above {number(result.settings['tolerance'])} is excluded."
    )
    heads = ("Explanation", "Faithfulness", "Extra advantage", "Dominated by")
    return Table(heads, tuple(rows), "Faithfulness and extra risk", note, brief=True, most=20)


def _advice(result: Frontier) -> list[Item]:
    by_name = {one.name: one for one in result.explanations}
    items = []
    for claim in result.claims:
        if claim.code == "recommended":
            best, worse = by_name[str(claim.subject["explanation"])], by_name[str(claim.subject["instead_of"])]
            text = (
                f"Its extra advantage is {write(best.advantage, 'signed')}, with a faithfulness of {write(best.faithfulness.order)}. "
                f"{quoted(worse.name)} has {write(worse.advantage, 'signed')}, with a faithfulness of {write(worse.faithfulness.order)}."
            )
            items.append(Item(text, f"If features must be explained, release {quoted(best.name)}", "measured"))
    return items


def _chart(result: Frontier) -> Chart:
    methods: dict[str, list[Mark]] = {}
    for one in result.explanations:
        methods.setdefault(one.method, []).append(Mark(one.faithfulness.order, one.advantage, name(one.name)))
    series = tuple(Series(name(method), tuple(marks), "points") for method, marks in methods.items())
    tolerance = result.settings["tolerance"]
    return Chart(
        "Faithfulness and extra risk of explanations",
        f"Lower right is best. Pareto-optimal by value: {listing([one.name for one in result.best], 5)}.",
        Axis("Faithfulness (0 is a random order)"),
        Axis("Extra membership advantage"),
        series,
        rules=(Rule(0.0, "y", "no gain"), Rule(tolerance, "y", "tolerance")),
        highlighted=tuple(name(one.name) for one in result.best),
        highlight="Pareto-optimal by value",
    )


def _measures(result: Frontier) -> Details:
    """The other measures of both axes."""
    gains, faithfulness = [], []
    for one in result.explanations:
        extra = values(one.auc, one.control, one.beyond_control, style="signed")
        gains.append(Row((name(one.name), *extra)))
        measured = one.faithfulness
        figures = values(measured.deletion, measured.insertion, measured.infidelity, measured.unexplained)
        faithfulness.append(Row((name(one.name), *figures)))
    note = (
        "Area under the output while the most important features are removed (deletion, low is good) and added (insertion, high is good); squared error of the "
        "predicted changes (infidelity), and its share that no scaling of the explanation removes (unexplained, 0 is best, 1 is no better than none)."
    )
    over = f"Over the {name(result.prediction)} alone, with simultaneous intervals."
    columns = ("Explanation", "Extra AUC", "On never-trained control", "Beyond control")
    measures = ("Explanation", "Deletion", "Insertion", "Infidelity", "Unexplained")
    first = Table(columns, tuple(gains), "Gain in AUC", over)
    return Details("All measures", (first, Table(measures, tuple(faithfulness), "Faithfulness", note)))
