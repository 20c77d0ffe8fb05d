"""Measurements that stand beside the attacks of an audit, in words and numbers for the report."""

from __future__ import annotations

from typing import Any

from leakscope.report.axes import short_number
from leakscope.report.words import SENTENCE_LENGTH, describe, described, safe_text
from leakscope.results import Estimate, Figure, Findings, Point, Study

_TITLES = {
    "leakage": "What the parameters carry",
    "reconstruction": "What explanations by training records reveal",
    "frontier": "What each explanation says, and what it gives away",
    "causal": "Models on causes against models on everything",
    "attributes": "What the answers tell about sensitive columns",
    "comparison": "The model as it is, and defended versions of it",
}


def summarize_studies(findings: Findings) -> list[dict[str, Any]]:
    """One section for each study of the record."""
    audited = findings.target.model
    return [_study(study, f"study-{number}", audited) for number, study in enumerate(findings.studies, start=1)]


def measured_on(study: Study, audited: str) -> str:
    """What a study was measured on, and whether that is the audited model by its name."""
    name = study.measured
    if not name:
        return "The study does not say what it was measured on."
    if name == audited:
        return f"Measured on a model of the same name as the audited one, {safe_text(name)}."
    return f"Measured on {safe_text(name)}, and the audited model is {safe_text(audited)}: what holds for one need not hold for the other."


def _study(study: Study, anchor: str, audited: str) -> dict[str, Any]:
    return {
        "anchor": anchor,
        "kind": study.kind,
        "title": _TITLES[study.kind],
        "release": safe_text(study.release),
        "question": safe_text(study.question, SENTENCE_LENGTH),
        "answer": safe_text(study.answer, 2 * SENTENCE_LENGTH),
        "numbers": [
            {
                "name": safe_text(number.name),
                "estimate": describe(number.estimate),
                "note": safe_text(number.note, SENTENCE_LENGTH),
            }
            for number in study.numbers
        ],
        "figures": [figure_words(figure) for figure in study.figures],
        "advice": [safe_text(advice, SENTENCE_LENGTH) for advice in study.advice],
        "measured_on": measured_on(study, audited),
        "warnings": [safe_text(warning, SENTENCE_LENGTH) for warning in study.warnings],
        "settings": [
            {"name": safe_text(name), "value": safe_text(value, SENTENCE_LENGTH)}
            for name, value in study.settings.items()
        ],
    }


def figure_words(figure: Figure) -> dict[str, Any]:
    """A figure with its texts made safe, and every number both raw and as it is shown."""
    return {
        "title": safe_text(figure.title, SENTENCE_LENGTH),
        "description": safe_text(figure.description, 2 * SENTENCE_LENGTH),
        "kind": figure.kind,
        "x_label": safe_text(figure.x_label),
        "y_label": safe_text(figure.y_label),
        "logarithmic_x": figure.logarithmic_x,
        "logarithmic_y": figure.logarithmic_y,
        "marked": [safe_text(name) for name in figure.marked],
        "chance": figure.chance,
        "from_zero": figure.from_zero,
        "series": [
            {
                "name": safe_text(series.name),
                "points": [_point(point, safe_text(series.name)) for point in series.points],
            }
            for series in figure.series
        ],
    }


def _point(point: Point, series: str) -> dict[str, Any]:
    """A point with what is said of it: its figures are short ones, as on the axes, since they may be of any size."""
    label, x_text, y_text = safe_text(point.label), short_number(point.x), _short(point.y)
    across_text = _short(point.across) if point.across is not None else x_text
    named = ", ".join(dict.fromkeys(part for part in (series, label) if part))
    return {
        "x": point.x,
        "x_text": across_text,
        "y": describe(point.y),
        "y_text": y_text,
        "label": label,
        "across": described(point.across),
        "said": f"{named} — {across_text}: {y_text}" if named else f"{across_text}: {y_text}",
    }


def _short(estimate: Estimate) -> str:
    unit = f" {safe_text(estimate.unit)}" if estimate.unit else ""
    match estimate.kind:
        case "exact":
            return f"{short_number(estimate.value)}{unit}"
        case "upper bound":
            return f"at most {short_number(estimate.high)}{unit}"
        case "lower bound":
            return f"at least {short_number(estimate.low)}{unit}"
    return f"{short_number(estimate.value)} [{short_number(estimate.low)}, {short_number(estimate.high)}]{unit}"
