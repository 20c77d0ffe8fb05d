"""The charts of an audit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from leakscope.core.estimate import Estimate
from leakscope.core.wording import count, name, out_of, percent, write
from leakscope.evaluation.results import Audit, Extra, GroupRisk, Risk
from leakscope.report.charts.forest import rows_of
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.documents.releases import shown_rate, speaks_in_pairs

#: Distance of the readings of a ROC curve, in powers of ten.
READINGS_APART = 0.2
EXPOSURE_BINS = 20


def people(audit: Audit) -> Chart | None:
    """Draw the answer as a hundred dots; None where it is not about a hundred."""
    risk, verdict = audit.strongest, audit.verdict
    rate = shown_rate(risk.tpr_at_fpr)
    of_group = verdict.finding is not None and verdict.finding.code == "group_auc"
    if verdict.kind == "inconclusive" or of_group or (verdict.leaks and not risk.beats_chance):
        return None
    if verdict.leaks and rate is not None and not speaks_in_pairs(risk):
        found, guess, what = risk.tpr_at_fpr[rate], 100 * rate, "of 100 people identified"
    else:
        found, guess, what = risk.auc, 50.0, "of 100 pairs recognised"
    if guess < 1:
        return None
    text = out_of(100, found)
    filled = Estimate(100 * found.value, 100 * found.low, 100 * found.high, found.confidence, found.kind)
    return Chart(
        f"{text} {what}; {guess:.4g} by guessing",
        f"Of 100 dots {text} are filled. Guessing fills {guess:.4g}.",
        Axis(""),
        Axis("", low=0, high=100),
        (Series("identified", (Mark(0, filled),), "people"),),
        rules=(Rule(guess, label="guessing"),),
    )


def roc(audit: Audit) -> Chart:
    """Draw the ROC curves of all attacks on logarithmic axes, the strongest with its band and its readings."""
    strongest, judged = audit.strongest, audit.target.judged
    smallest = min(1 / max(2, judged), 0.1)
    others = [risk for risk in audit.risks if (risk.release, risk.attack) != (strongest.release, strongest.attack)]
    series = [Series(_name(risk), _points(risk), "curve", "muted") for risk in others]
    series.append(Series(_name(strongest), _points(strongest), "curve", "strong"))
    series.append(Series("TPR at low FPR", _readings(strongest, judged), "points", "strong"))
    said = "; ".join(
        f"{write(tpr, 'percent')} TPR at {percent(rate)} FPR"
        for rate, tpr in sorted(strongest.tpr_at_fpr.items(), reverse=True)
    )
    return Chart(
        "ROC curves",
        f"Strongest attack ({_name(strongest)}): {said or f'AUC {write(strongest.auc)}'}. On the dashed line an attack is no better than chance.",
        Axis("False-positive rate", "log", percent=True, low=smallest, high=1),
        Axis("True-positive rate", "log", percent=True, low=smallest, high=1),
        tuple(series),
        rules=(Rule(None, "diagonal", "chance"),),
    )


def _points(risk: Risk) -> tuple[Mark, ...]:
    roc = risk.roc
    if not roc.low:
        return tuple(map(Mark, roc.fpr, roc.tpr))
    bands = zip(roc.tpr, roc.low, roc.high, strict=True)
    tprs = [Estimate(tpr, min(low, tpr), max(high, tpr), risk.auc.confidence) for tpr, low, high in bands]
    return tuple(map(Mark, roc.fpr, tprs))


def _readings(risk: Risk, judged: int) -> tuple[Mark, ...]:
    """Points of the curve whose values can be read off: the usual rates, and others evenly spread on the logarithmic axis."""
    from leakscope.core.intervals import FALSE_ALARMS_NEEDED

    found = dict(risk.tpr_at_fpr)
    roc = risk.roc
    for fpr, tpr, low, high in reversed(list(zip(roc.fpr, roc.tpr, roc.low, roc.high, strict=False))):
        if 0 < fpr < 1 and all(abs(math.log10(fpr / rate)) >= READINGS_APART for rate in found if rate > 0):
            found[fpr] = Estimate(tpr, low, high, risk.auc.confidence)
            if fpr * judged < FALSE_ALARMS_NEEDED:  # only an upper bound is known
                found[fpr] = Estimate(high, 0.0, high, risk.auc.confidence, "upper bound")
    return tuple(
        Mark(rate, tpr, said=f"{write(tpr, 'percent')} TPR at {percent(float(f'{rate:.3g}'))} FPR")
        for rate, tpr in sorted(found.items())
    )


def _name(risk: Risk) -> str:
    return f"{name(risk.attack)} on {name(risk.release)}"


def histogram(audit: Audit) -> Chart:
    """Draw how the scores of members and non-members are distributed."""
    found = audit.strongest.histogram
    edges = found.edges
    members = _shares(edges, found.members, "member"), _shares(edges, found.nonmembers, "non-member")
    series = (
        Series("members", members[0], "area", "strong", end=edges[-1]),
        Series("non-members", members[1], "steps", end=edges[-1]),
    )
    return Chart(
        "Scores of members and non-members",
        "Under the strongest attack. The more the members are on the right of the non-members, the more the model reveals.",
        Axis("Score (rank among non-members)", from_zero=False),
        Axis("Share of the records", percent=True),
        series,
    )


def _shares(edges: Sequence[float], counts: Sequence[int], side: str) -> tuple[Mark, ...]:
    total = max(1, sum(counts))
    return tuple(Mark(low, many / total, said=count(many, side)) for low, many in zip(edges[:-1], counts, strict=True))


def exposure(audit: Audit) -> Chart | None:
    """Draw how the exposure of the training records is distributed; None where they are not listed."""
    if audit.records is None or not len(audit.records):
        return None
    scores = audit.records["score"].to_numpy(dtype=float)
    ends = min(0.0, scores.min()), max(1.0, scores.max())
    counts, edges = np.histogram(scores[np.isfinite(scores)], EXPOSURE_BINS, ends)
    bins = zip(edges[:-1].tolist(), counts.tolist(), strict=True)
    marks = tuple(Mark(low, many, said=count(many, "record")) for low, many in bins)
    return Chart(
        "Exposure of the training records",
        "Number of training records by exposure. Those on the right are the most exposed.",
        Axis("Exposure", from_zero=False),
        Axis("Records"),
        (Series("training records", marks, "area", "strong", end=float(edges[-1])),),
    )


def groups(audit: Audit, shown: Sequence[GroupRisk], out: Sequence[GroupRisk]) -> Chart:
    """Draw the AUC within each group as a forest plot."""
    columns = list(dict.fromkeys(group.column for group in shown))
    ordered = sorted(shown, key=lambda group: (columns.index(group.column), -group.auc.value))
    plain, strong = list[Mark](), list[Mark]()
    for at, group in enumerate(ordered):
        figures = f"AUC {write(group.auc)}, gap {write(group.gap, 'signed')}"
        mark = Mark(group.auc, at, said=f"{name(group.column)} = {name(group.level)}: {figures}")
        (strong if group in out else plain).append(mark)
    series = (
        Series("groups", tuple(plain), "points"),
        Series("significantly more exposed", tuple(strong), "points", "strong"),
    )
    return Chart(
        "AUC within each group",
        f"{count(len(out), 'group is', 'groups are') if out else 'No group is'} significantly more exposed than the rest.",
        Axis("AUC", from_zero=False),
        rows_of((name(group.level) for group in ordered), (name(group.column) for group in ordered)),
        tuple(one for one in series if one.marks),
        rules=(Rule(0.5, "x", "chance"), Rule(audit.strongest.auc.value, "x", "all records", "strong")),
    )


def extras(ordered: Sequence[Extra]) -> Chart:
    """Draw what each explanation adds as a forest plot."""
    names = [name(extra.release) for extra in ordered]
    said = [f"{which}: {write(extra.auc, 'signed')}" for which, extra in zip(names, ordered, strict=True)]
    marks = tuple(Mark(extra.auc, at, said=said[at]) for at, extra in enumerate(ordered))
    return Chart(
        "Gain in AUC by each explanation",
        f"Beyond the {name(ordered[0].prediction)}. At 0 the explanation adds nothing.",
        Axis("Gain in AUC"),
        rows_of(names),
        (Series("gain", marks, "points"),),
        rules=(Rule(0.0, "x", "no gain"),),
    )
