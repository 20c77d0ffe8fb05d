"""The document of a measurement of leakage: how much does a trained model reveal about one person?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from leakscope.bounds.any_attack import success_from_advantage
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, Result
from leakscope.core.wording import count, name, number, out_of, percent, sentence, write
from leakscope.report.charts.model import Axis, Chart, Mark, Series
from leakscope.report.document import Answer, Block, Details, Document, Item, Items, KeyFigures, Row, Table, Tag, Value
from leakscope.report.documents.caveats import describe, warnings
from leakscope.report.documents.cells import outcome, value
from leakscope.report.documents.common import filled, provenance, reading, sources, steps, terms
from leakscope.studies.leakage.claims import doubts
from leakscope.studies.leakage.result import SETTINGS, Goal, Leakage, LeakagePoint, NotMeasured

_QUESTIONS = {
    "parameters": "How much do the parameters of the model reveal about one person?",
    "function": "How much does the model's output for a person reveal about whether that person was trained on?",
}
_LABELS: dict[str, Tag] = {"yes": ("Leaks", "risk"), "inconclusive": ("Not significant", "unknown")}
_AXES = {"size": "Training records", "l2": "Regularisation l2", "noise": "Noise (standard deviation)"}
_PLURALS = {"size": "sizes", "l2": "values of l2", "noise": "values of the noise"}
_ADVICE = {
    "size": "Train on as many records as possible",
    "l2": "Increase the regularisation",
    "noise": "Add noise to the release",
}
MOST_PLACES = 4
HOW_TO_READ = (
    "Models are trained on many random training sets with and without each measured record. ρ_KL is the mean over records of the symmetric divergence "
    "between the two laws of the release: 0 means that the record has no effect on it.",
    "ρ_MI is the mutual information between the release and the membership of a record. It is at most the entropy of the membership itself.",
    "The bound limits the advantage (TPR minus FPR) of every attack on the release, on average over records, if both laws are Gaussian. It is stated only "
    "where this was checked and no check failed. It holds for this way of training only.",
    "The likelihood-ratio attack knows both laws from other models. Its advantage needs no assumption and is a lower bound on the strongest attack.",
)


def make(found: Leakage, others: Sequence[Result]) -> Document:  # noqa: ARG001
    """Make the document of a measurement of leakage."""
    settings, point = found.settings, found.point
    return Document(
        kind="leakage",
        title=f"Membership leakage of {name(found.studied, 40)}",
        question=_QUESTIONS[settings["space"]],
        answer=_answer(found),
        facts=(
            ("Learner", name(found.studied, 40)),
            ("Release", _release(found)),
            ("Setting", _place(point)),
            ("All records", settings["universe"]),
            ("Measured records", settings["records"]),
            ("Draws per record and side", settings["draws"]),
            ("Confidence", percent(settings["confidence"])),
        ),
        blocks=_blocks(found),
    )


def advise(found: Leakage) -> list[Item]:
    """Return the settings at which the median record leaks significantly less; for regularisation and noise the smallest one."""
    items = []
    for setting in SETTINGS:
        # The claims are about the largest size. Smaller ones leak more, which is the outcome "no".
        decided, here = ("no" if setting == "size" else "yes"), getattr(found.point, setting) or 0
        claims = [one for one in found.claims if one.code == "leaks_less" and one.subject["setting"] == setting]
        values = {float(one.subject["value"] or 0): one for one in claims if one.outcome == decided}
        values = {value: one for value, one in values.items() if (value < here) == (setting == "size")}
        if not values:
            continue
        there = min(values)
        before, after = (write(values[there].estimates[key]) for key in ("rho_kl_median_before", "rho_kl_median"))
        if setting == "size":
            said = f"From {count(int(there))} to {count(here)} training records, the divergence of the median record falls from {after} to {before}."
        else:
            said = (
                f"With {setting} {number(there)} instead of {number(here)}, the divergence of the median record falls from {before} to {after}. The utility "
                "loss was not measured here."
            )
        items.append(Item(said, _ADVICE[setting], "measured"))
    return items


def _release(found: Leakage) -> str:
    return "parameters" if found.settings["space"] == "parameters" else "outputs at the record"


def _place(point: LeakagePoint | NotMeasured) -> str:
    others = [f", {key} {number(value)}" for key, value in (("l2", point.l2), ("noise", point.noise)) if value]
    return f"{count(point.size)} training records{''.join(others)}"


def _bound(found: Leakage, point: LeakagePoint) -> Estimate | None:
    """The bound on all attacks, where it is claimed."""
    bounded = outcome(found, "bounded", size=point.size, l2=point.l2, noise=point.noise)
    return point.advantage_bound if bounded == "yes" else None


def _answer(found: Leakage) -> Answer:
    point, claim, what = found.point, found.claim("leak"), _release(found)
    model = f"{name(found.studied, 40)} trained on {count(point.size)} of {count(found.settings['universe'])} records"
    right = out_of(100, point.attack.mapped(success_from_advantage))
    headline = f"No significant leak was measured in the {what} of {model}."
    if claim.outcome == "yes":
        headline = f"The {what} of {model} reveal who was in the training data."
    said = f"An attacker who knows how models with and without a person differ is right {right} times out of 100 about one person; a coin gets 50."
    if (bound := _bound(found, point)) is not None:
        most = out_of(100, bound.mapped(success_from_advantage))
        limit = f"On average over people, any attack on the {what} is right {most} times out of 100, if the {what} follow Gaussian laws, as a check confirms."
    else:
        why = next(caveat for caveat in point.warnings if caveat.code in doubts(point))
        limit = f"No bound on all attacks is stated. {describe(why)}"
    technical = f"{_place(point)}: ρ_KL {write(point.rho_kl)}, advantage of the likelihood-ratio attack {write(point.attack)} (0 is chance, 1 is perfect)."
    return Answer(*_LABELS[claim.outcome], headline, (said, limit), (technical,))


def _blocks(found: Leakage) -> tuple[Block, ...]:
    table, more = _tables(found)
    settings: tuple[Block, ...] = (table, *_charts(found), more) if len(found.points) > 1 else ()
    left_out = ((_place(one), sentence(one.reason)) for one in found.not_measured)
    black_box = (
        "This is about the output at a person's own record. An attacker who sees other outputs too may learn more."
    )
    return filled(
        _figures(found),
        Details("Comparison of settings", settings, open=True),
        Items(tuple(map(_goal, found.goals)), "Goal", brief=True, most=8),
        steps(advise(found), "What lowers leakage"),
        terms(left_out, "Not measured", brief=True),
        warnings(found, more=[] if found.settings["space"] == "parameters" else [black_box]),
        Items(tuple(_other_warnings(found)), "Warnings at other settings", "warnings", brief=True),
        reading(HOW_TO_READ, "Advantage", "Bound", "Confidence interval", "Member", "Release", "Significant"),
        sources({"farokhi2020, Definitions 1 and 2, Theorem 1 (corrected)": ["ρ_KL, ρ_MI, bound on the advantage"]}),
        provenance(found),
    )


def _figures(found: Leakage) -> KeyFigures:
    point = found.point
    figures = [
        ("Advantage of the likelihood-ratio attack", point.attack, "0 is chance, 1 is perfect"),
        ("Advantage of the loss-threshold attack", point.threshold_attack, "0 is chance"),
        ("Divergence ρ_KL, mean over records", point.rho_kl, "0 means no effect of a record"),
        ("Divergence of the median record", point.rho_kl_median, "half of the records are below it"),
        ("Largest divergence of a measured record", point.rho_kl_worst, "other records may have a larger one"),
        ("Mutual information ρ_MI", point.rho_mi, f"by Corollary 1 {write(point.rho_mi_ceiling)}"),
        ("Control: divergence of equal laws", point.control, "its interval should contain 0"),
        ("Divergence ρ_KL by nearest neighbours", point.rho_neighbours, "checks the Gaussian laws"),
    ]
    attack, *others = [(label, Value(one), note) for label, one, note in figures if one is not None]
    limit = "Bound on the advantage of any attack", value(_bound(found, point))
    bound = (*limit, "on average over records, for Gaussian laws")
    return KeyFigures((attack, bound, *others), f"Figures for {_place(point)}", brief=True)


def _tables(found: Leakage) -> tuple[Table, Details]:
    """One row for each setting, in a narrow table and in a complete one."""
    narrow = {
        "ρ_KL": "rho_kl", "Bound": "advantage_bound", "Likelihood ratio": "attack", "Loss threshold": "threshold_attack"
    }  # fmt: skip
    wide = {
        "ρ_KL, median record": "rho_kl_median", "ρ_KL, largest": "rho_kl_worst", "ρ_MI": "rho_mi", "Control": "control",
        "Ill-conditioned draws": "ill_conditioned",
    }  # fmt: skip
    note = (
        "Bound: upper bound on the mean advantage of any attack, stated where the check of the Gaussian laws passed. Likelihood ratio, loss threshold: "
        "advantage of these attacks. Intervals hold for each row."
    )
    table = _table(found, narrow)
    more = replace(_table(found, wide), note="Control: divergence of two equal laws. Its interval should contain 0.")
    return replace(table, title="Leakage by setting", note=note, brief=True, most=12), Details("More figures", (more,))


def _table(found: Leakage, figures: Mapping[str, str]) -> Table:
    """A table of figures; columns without any value are left out."""
    settings = [one for one in SETTINGS if one == "size" or any(getattr(point, one) for point in found.points)]
    shown = {head: key for head, key in figures.items() if any(getattr(point, key) for point in found.points)}
    rows = []
    for point in found.points:
        place = [number(getattr(point, one) or 0) for one in settings[1:]]
        bound, share = _bound(found, point), Value(point.ill_conditioned, "percent")
        special = {"advantage_bound": value(bound), "ill_conditioned": share}
        figures_here = (special[key] if key in special else value(getattr(point, key)) for key in shown.values())
        rows.append(Row((point.size, *place, *figures_here)))
    return Table((*(one.capitalize() if one != "l2" else one for one in settings), *shown), tuple(rows))


def _charts(found: Leakage) -> list[Chart]:
    """Draw leakage against each setting that varies, with one line for each combination of the others."""
    varied = [one for one in SETTINGS if len({getattr(point, one) for point in found.points}) > 1]
    return [_chart(found, along, [one for one in varied if one != along]) for along in varied]


def _chart(found: Leakage, along: str, others: Sequence[str]) -> Chart:
    positive = {value for point in found.points if (value := getattr(point, along))}
    logarithmic = len(positive) > 1  # zero has no place on a logarithmic axis
    lines: dict[str, list[Mark]] = {}
    for point in sorted(found.points, key=lambda point: [getattr(point, one) or 0 for one in (*others, along)]):
        place = getattr(point, along) or 0
        if place or not logarithmic:
            rest = ", ".join(f"{one} {number(getattr(point, one) or 0)}" for one in others)
            said = f"{_place(point)}: {write(point.rho_kl)}"
            lines.setdefault(rest or "ρ_KL", []).append(Mark(float(place), point.rho_kl, said=said))
    left_out = logarithmic and any(not getattr(point, along) for point in found.points)
    return Chart(
        f"Leakage by {_AXES[along].lower()}",
        f"Mean divergence ρ_KL over {count(found.settings['records'])} records of {name(found.studied, 40)}, with intervals. Lower is better."
        + (" Zero is left out." if left_out else ""),
        Axis(_AXES[along], "log" if logarithmic else "linear"),
        Axis("Divergence ρ_KL (nats)", "log"),
        tuple(Series(rest, tuple(marks)) for rest, marks in lines.items()),
    )


def _goal(goal: Goal) -> Item:
    fixed = [f"{key} {number(value)}" for key, value in goal.fixed.items() if value]
    place = f" at {', '.join(fixed)}" if fixed else ""
    title = f"Below {number(goal.bits)} bits{place}"
    if goal.value is None:
        return Item(f"Not reached with the measured {_PLURALS[goal.along]}.", title)
    crossing = "" if goal.crossing is None else f" The curve crosses the goal near {number(goal.crossing)}."
    return Item(f"From {goal.along} {number(goal.value)} on.{crossing}", title)


def _other_warnings(found: Leakage) -> list[Item]:
    """Each kind of warning once, with the settings that it is about and the values of the first of them."""
    kinds: dict[str, list[tuple[LeakagePoint, Caveat]]] = {}
    for point in found.points:
        if point is not found.point:
            for caveat in point.warnings:
                kinds.setdefault(caveat.code, []).append((point, caveat))
    items = []
    for pairs in kinds.values():
        first = " The values are those of the first setting." if len({str(one) for _, one in pairs}) > 1 else ""
        more = f" and {count(len(pairs) - MOST_PLACES)} more" if len(pairs) > MOST_PLACES else ""
        places = "; ".join(_place(point) for point, _ in pairs[:MOST_PLACES])
        items.append(Item(describe(pairs[0][1]) + first, places + more))
    return items
