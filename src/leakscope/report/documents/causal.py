"""The document of a comparison of causal and associational models: does a model on the causes of the label leak less?"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim, Outcome, Result
from leakscope.core.wording import count, listing, name, number, write
from leakscope.report.charts.forest import by_category, rows_of
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.document import Answer, Block, Cell, Details, Document, Item, Row, Table, Tag, Value
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.cells import outcome, tag_if, values
from leakscope.report.documents.common import filled, not_run, provenance, reading, sources, steps
from leakscope.studies.causal.result import SAME, SHIFTED, CausalStudy

_LABELS: dict[Outcome, Tag] = {
    "yes": ("Leaks less", "safe"),
    "no": ("Leaks more", "risk"),
    "inconclusive": ("No consistent difference", "unknown"),
}
_LAWS = {SAME: "non-members from the same distribution (P)", SHIFTED: "non-members from shifted distributions (P*)"}
_SOURCES = {
    "graph": "parents of the label in the graph",
    "named": "named by the caller",
    "invariant": "invariant across environments",
    "suggested": "suggested by environments, not significant",
}
_SHIFTS = {
    "random": "every distribution but that of the label given its causes is redrawn",
    "parents": "the distributions of the causes differ",
    "children": "the distributions of the effects of the label differ",
    "all": "the distributions of all columns but the label differ",
    "environments": "environments that were left out of training",
}
HOW_TO_READ = (
    "P is the distribution of the training data. P* is a distribution in which the label depends on its causes as in P and other "
    "columns differ.",
    "Every kind of model is trained on two disjoint samples of P. Each model is the never-trained control of the other.",
    "Excess is the figure of the attack minus that of its control: the part due to membership. Against P*, the rest of the "
    "attack's accuracy reflects the shift rather than membership.",
)


def make(found: CausalStudy, others: Sequence[Result]) -> Document:  # noqa: ARG001
    """Make the document of a comparison of causal and associational models."""
    return Document(
        kind="causal",
        title=f"Causal models of {name(found.label, 40)}",
        question=f"Does a model on the causes of {name(found.label, 40)} leak less than one on all columns?",
        answer=_answer(found),
        facts=_facts(found),
        blocks=_blocks(found),
    )


def _answer(found: CausalStudy) -> Answer:
    decided, other = outcome(found, "causal_leaks_less"), name(found.models[1].name, 40)
    headline = f"No consistent significant difference in leakage was found between the model on the causes and {other}."
    if decided != "inconclusive":
        way = "less" if decided == "yes" else "more"
        headline = f"The model on the causes reveals {way} about who was in the training data than {other}."
    claims = [claim for claim in found.claims if claim.estimates]
    said = [_sentence(claim) for claim in claims if claim.code == "causal_predicts_better"]
    technical = [_sentence(claim) for claim in claims if claim.code != "causal_predicts_better"]
    return Answer(*_LABELS[decided], headline, tuple(said), tuple(filter(None, technical)))


def _sentence(claim: Claim) -> str:
    subject, figures = claim.subject, claim.estimates
    other, law = name(subject.get("than", ""), 40), str(subject.get("law", ""))
    match claim.code:
        case "causal_leaks_less":
            way = {"yes": "more than", "no": "less than", "inconclusive": "not significantly more or less than"}
            return (
                f"Against {_LAWS[law]}, {other} leaks {way[claim.outcome]} the causal model (excess AUC "
                f"{write(figures['other'], 'signed')} and {write(figures['causal'], 'signed')})."
            )
        case "shift_increases_leak" if claim.outcome != "inconclusive":
            way = {"yes": "larger", "no": "smaller"}
            return (
                f"The excess AUC of {name(subject['model'], 40)} is significantly {way[claim.outcome]} under distribution shift "
                f"({write(figures['difference'], 'signed')})."
            )
        case "shift_explains_accuracy" if claim.outcome == "yes":
            return (
                "Under distribution shift, part of the attack's accuracy reflects the shift rather than membership: the never-trained control "
                f"has accuracy {write(figures['control_accuracy'])}, the blind baseline {write(figures['blind_accuracy'])}."
            )
        case "causal_predicts_better":
            way = {"yes": "better than", "no": "worse than", "inconclusive": "not significantly better or worse than"}
            return (
                f"On {law} the causal model predicts {way[claim.outcome]} {other} "
                f"({write(figures['causal'])} and {write(figures['other'])})."
            )
        case "causal_needs_less_noise":
            way = {"yes": "smaller", "no": "larger", "inconclusive": "not significantly different"}
            return (
                f"At equal Laplace noise, ε of least squares on the causes is {way[claim.outcome]} (ratio to all columns "
                f"{write(figures['ratio'])}, from random swaps of one record)."
            )
        case "helps_to_infer" if claim.outcome == "yes":
            return (
                f"The predictions of {name(subject['model'], 40)} help to infer {name(subject['column'], 40)} (gain in advantage "
                f"{write(figures['gain'], 'signed')}, in AUC {write(figures['gain_auc'], 'signed')})."
            )
    return ""


def _facts(found: CausalStudy) -> tuple[tuple[str, Cell], ...]:
    settings, shift = found.settings, found.settings["shift"]
    words = _SHIFTS.get(shift) or f"noise of up to {number(shift)} on every table but the label's"
    return (
        ("Label", name(found.label)),
        ("Causes", f"{listing(found.causes, 8)} ({_SOURCES[found.causes_from]})"),
        ("Training records per model", settings["trained_on"]),
        ("Shifted distributions", settings["shifted_worlds"]),
        ("Shift", words),
    )


def _blocks(found: CausalStudy) -> tuple[Block, ...]:
    first, second = (name(model.name, 40) for model in found.models[:2])
    step = f"It leaks significantly less than {second} for at least one distribution of non-members, and for none significantly more."
    chosen = [Item(step, f"Use {first}", "measured")] if outcome(found, "causal_leaks_less") == "yes" else []
    terms = ("Member", "Non-member", "AUC", "Advantage", "Never-trained control", "Blind baseline", "Significant")
    return filled(
        _utilities(found),
        *(_attacks(found, law) for law in (SAME, SHIFTED)),
        _attributes(found),
        steps(chosen),
        warnings(found),
        Details("Charts", _charts(found), open=True),
        _choice(found),
        _noise(found),
        not_run(found.not_run),
        reading(HOW_TO_READ, *terms),
        sources({}, ["tople2020"]),
        provenance(found),
    )


def _measure(found: CausalStudy) -> str:
    return "Accuracy" if found.settings["task"] == "classification" else "1 − squared error / variance"


def _utilities(found: CausalStudy) -> Table:
    rows = [Row((name(model.name), *values(model.training, model.test, model.shifted))) for model in found.models]
    columns = ("Model", "Training sample", "P", "P*")
    note = f"{_measure(found)}. P* is the mean over shifted distributions."
    return Table(columns, tuple(rows), "Utility", note, brief=True)


def _attacks(found: CausalStudy, law: str) -> Table:
    rows = []
    for model in found.models:
        best = found.strongest(model.name, law)
        if best is not None:
            figures = (*values(best.accuracy, best.control_accuracy), Value(best.excess_accuracy, "signed"))
            rows.append(Row((name(model.name), name(best.attack, 40), *figures)))
    rows.append(Row(("blind baseline", "boosted trees", Value(found.blind[law].accuracy), None, None)))
    columns = ("Model", "Strongest attack", "Accuracy", "Control", "Excess")
    note = (
        f"Members against {_LAWS[law]}. The strongest attack has the largest excess AUC. Intervals are simultaneous over the attacks. An accuracy of "
        "0.5 is chance."
    )
    return Table(columns, tuple(rows), f"Membership inference against {law}", note, brief=True)


def _attributes(found: CausalStudy) -> Table:
    rows = []
    for one in found.attributes:
        helps = outcome(found, "helps_to_infer", column=one.column, model=one.model) == "yes"
        figures = (Value(one.baseline), *values(one.gain, one.gain_auc, style="signed"))
        column = f"{name(one.column, 40)}{' (cause)' if one.is_cause else ''}"
        rows.append(Row((column, name(one.model, 40), *figures), *tag_if(helps, "significant")))
    columns = ("Column", "Model", "Baseline", "Gain", "Gain in AUC")
    note = (
        "Baseline: advantage of an attacker who knows all other columns and the label but not the model; 0 is chance. Gains: advantage and AUC of the "
        "strongest attack minus those of the baseline."
    )
    return Table(columns, tuple(rows), "Inference of sensitive columns", note, brief=True, most=20)


def _choice(found: CausalStudy) -> Table | None:
    if found.choice is None:
        return None
    rows = [
        Row((name(column), number(value)), "cause" if column in found.choice.significant else "")
        for column, value in sorted(found.choice.p_values.items(), key=lambda pair: pair[1])
    ]
    note = (
        f"{count(found.choice.accepted)} of {count(found.choice.tested)} sets of columns are invariant over {count(found.choice.environments)} "
        "environments. The p-value is the largest of any set without the column. It is assumed that no environment and no hidden variable acts "
        "on the label directly, and that all causes were tested."
    )
    return Table(("Column", "p-value"), tuple(rows), "Choice of the causes", note)


def _noise(found: CausalStudy) -> Table | None:
    if (noise := found.noise) is None:
        return None
    rows = (
        Row(("Sensitivity on the causes", Value(noise.causal))),
        Row(("Sensitivity on all columns", Value(noise.associational))),
        Row(("Ratio of ε at equal Laplace noise", Value(noise.ratio))),
    )
    note = (
        f"L1 sensitivity of least squares (l2 = {number(noise.l2)}): the largest change over {count(noise.swaps)} random swaps of one record among "
        f"{count(noise.size)}. It is a lower bound and guarantees nothing."
    )
    return Table(("Figure", "Value"), rows, "Noise for differential privacy", note)


def _charts(found: CausalStudy) -> tuple[Chart, ...]:
    """Utility against leakage for every kind of model, and the accuracy of the strongest attack with its controls."""
    series = []
    for law in (SAME, SHIFTED):
        marks = []
        for model in found.models:
            best, worth = found.strongest(model.name, law), model.utility(law)
            if best is not None and worth is not None:
                marks.append(Mark(worth, best.excess_auc, name(model.name, 40)))
        series += [Series(law, tuple(marks), "points")] if marks else []
    if not series:
        return ()
    utility = Chart(
        "Utility and leakage",
        "Each point is a kind of model. Models further right predict better; models further down leak less.",
        Axis(_measure(found), from_zero=False),
        Axis("Excess AUC of the strongest attack"),
        tuple(series),
    )
    return (utility, *(_accuracies(found, law) for law in (SAME, SHIFTED)))


def _accuracies(found: CausalStudy, law: str) -> Chart:
    best = [found.strongest(model.name, law) for model in found.models]
    accuracies: dict[str, list[Estimate | None]] = {
        "never-trained control": [None if one is None else one.control_accuracy for one in best],
        "blind baseline": [found.blind[law].accuracy for _ in best],
        "attack": [None if one is None else one.accuracy for one in best],
    }
    return by_category(
        f"Strongest attack against {law}",
        f"Accuracy against {_LAWS[law]}, by kind of model.",
        Axis("Accuracy", from_zero=False),
        rows_of(name(model.name, 40) for model in found.models),
        accuracies,
        Rule(0.5, "x", "chance"),
    )
