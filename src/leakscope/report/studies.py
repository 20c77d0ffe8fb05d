"""Measurements that stand beside the attacks of an audit, in words and numbers for the report."""

from __future__ import annotations

from typing import Any

from leakscope.report.words import SENTENCE_LENGTH, describe, described, safe_text
from leakscope.results import Figure, Findings, Point, Study

_TITLES = {
    "leakage": "What the parameters carry",
    "reconstruction": "What explanations by training records reveal",
    "frontier": "What each explanation says, and what it gives away",
    "causal": "Models on causes against models on everything",
    "attributes": "What the answers tell about sensitive columns",
}


def summarize_studies(findings: Findings) -> list[dict[str, Any]]:
    """One section for each study of the record."""
    return [_study(study, f"study-{number}") for number, study in enumerate(findings.studies, start=1)]


def _study(study: Study, anchor: str) -> dict[str, Any]:
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
        "figures": [_figure(figure) for figure in study.figures],
        "advice": [safe_text(advice, SENTENCE_LENGTH) for advice in study.advice],
        "warnings": [safe_text(warning, SENTENCE_LENGTH) for warning in study.warnings],
        "settings": [
            {"name": safe_text(name), "value": safe_text(value, SENTENCE_LENGTH)}
            for name, value in study.settings.items()
        ],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "title": safe_text(figure.title, SENTENCE_LENGTH),
        "description": safe_text(figure.description, 2 * SENTENCE_LENGTH),
        "kind": figure.kind,
        "x_label": safe_text(figure.x_label),
        "y_label": safe_text(figure.y_label),
        "logarithmic_x": figure.logarithmic_x,
        "logarithmic_y": figure.logarithmic_y,
        "marked": [safe_text(name) for name in figure.marked],
        "series": [
            {"name": safe_text(series.name), "points": [_point(point) for point in series.points]}
            for series in figure.series
        ],
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "x": point.x,
        "y": describe(point.y),
        "label": safe_text(point.label),
        "across": described(point.across),
    }
