"""The report as one HTML file: no scripts, no network, nothing beside it, and no values of any record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from leakscope.report.charts import Bin, Curve, Mark, Row, group_chart, histogram_chart, roc_chart
from leakscope.report.summary import summarize
from leakscope.results import Audit

_TEMPLATES = Path(__file__).with_name("templates")


def render(audit: Audit) -> str:
    """The page that ``report.html`` holds, made from the audit's summary alone."""
    return render_summary(summarize(audit))


def render_summary(summary: dict[str, Any]) -> str:
    """The page for a summary; every number on it stands in the summary."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(summary, charts=draw(summary))


def draw(summary: dict[str, Any]) -> dict[str, Markup]:
    """The charts of a summary, by name."""
    roc, histogram, groups = summary["roc"], summary["histogram"], summary["groups"]
    charts = {
        "roc": roc_chart(
            [Curve(**curve) for curve in roc["curves"]],
            [Mark(**mark) for mark in roc["marks"]],
            roc["smallest"],
            roc["title"],
            roc["description"],
        ),
        "histogram": histogram_chart(
            [Bin(*(item[name] for name in Bin._fields)) for item in histogram["bins"]],
            histogram["title"],
            histogram["description"],
        ),
    }
    if groups is not None:
        rows = [_row(row) for row in groups["rows"] if row["charted"]]
        charts["groups"] = group_chart(rows, groups["overall"]["value"], groups["title"], groups["description"])
    if (extras := summary["extras"]) is not None:
        rows = [_row({**row, "column": f"Beside {extras['beside']}", "level": row["release"], "stands_out": row["adds"]})
                for row in extras["rows"]]  # fmt: skip
        words = ("Gain in AUC", "adds nothing", "surely adds")
        charts["extras"] = group_chart(rows, None, extras["title"], extras["description"], reference=0.0, words=words)
    return charts


def _row(row: dict[str, Any]) -> Row:
    auc = row["auc"]
    return Row(row["label"], row["column"], row["level"], auc["value"], auc["low"], auc["high"], row["stands_out"])
