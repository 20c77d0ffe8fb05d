"""The report as one HTML file: no network, nothing beside it, and no values of any record.

Its one script is inline and named by its digest in the page's policy, so that nothing else can run. The page is complete
without it.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from leakscope.report.charts import Bin, Curve, Mark, Row, group_chart, histogram_chart, people_chart, roc_chart
from leakscope.report.figures import draw_figure
from leakscope.report.summary import summarize
from leakscope.results import Findings

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
_FONT = Markup('system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif')


def render(audit: Findings) -> str:
    """The page that ``report.html`` holds, made from the audit's summary alone."""
    return render_summary(summarize(audit))


def render_summary(summary: dict[str, Any]) -> str:
    """The page for a summary; every number on it stands in the summary."""
    return render_page(
        "report.html.j2",
        summary,
        charts=draw(summary),
        people=_draw_people(summary),
        figures=[[draw_figure(figure) for figure in study["figures"]] for study in summary["studies"]],
    )


def render_page(template: str, summary: dict[str, Any], **pictures: Any) -> str:
    """A whole page from a template, with the one script and the policy that names it."""
    script = (_TEMPLATES / "report.js").read_text(encoding="utf-8")
    page = _environment().get_template(template)
    return page.render(summary, **pictures, script=Markup(script), policy=_policy(script), font=_FONT, scope="")


def render_fragment(audit: Findings) -> str:
    """The verdict, the releases and the curve of the strongest attack, for a notebook.

    One ``div`` without script or ids, whose style reaches nothing outside of it.

    Examples
    --------
    >>> from leakscope.auditing import audit
    >>> from leakscope.toys import lookup
    >>> toy = lookup(n=100)
    >>> shown = render_fragment(audit(toy.model, toy.train, toy.holdout, fit=toy.fit))
    >>> shown.startswith('<div class="leakscope-audit">'), "<script" in shown
    (True, False)
    """
    summary = summarize(audit)
    template = _environment().get_template("fragment.html.j2")
    return template.render(summary, charts=draw(summary), font=_FONT).strip()


def draw(summary: dict[str, Any]) -> dict[str, Markup]:
    """The charts of a summary, by name."""
    roc, histogram, groups = summary["roc"], summary["histogram"], summary["groups"]
    charts = {
        "roc": roc_chart(
            [Curve(**curve) for curve in roc["curves"]],
            [_mark(reading) for reading in roc["readings"]],
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


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _policy(script: str) -> str:
    """What the page may do: show itself, and run this one script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


def _draw_people(summary: dict[str, Any]) -> Markup:
    picture = summary["answer"]["picture"]
    if picture is None:
        return Markup("")
    return people_chart(picture["low"], picture["high"], picture["guess"], picture["title"], picture["description"])


def _mark(reading: dict[str, Any]) -> Mark:
    found = reading["found"]
    bound = found["kind"] == "upper bound"
    return Mark(
        reading["label"], reading["rate"], found["value"], found["low"], found["high"], bound, quiet=not reading["mark"]
    )


def _row(row: dict[str, Any]) -> Row:
    auc = row["auc"]
    return Row(row["label"], row["column"], row["level"], auc["value"], auc["low"], auc["high"], row["stands_out"])
