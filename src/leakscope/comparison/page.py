"""The comparison as one HTML file, in the style of the report: no network, nothing beside it, no values of any record."""

from __future__ import annotations

from typing import Any

from leakscope.comparison.result import Comparison
from leakscope.comparison.summary import summarize
from leakscope.report.figures import draw_figure
from leakscope.report.html import render_page


def render(comparison: Comparison) -> str:
    """The page that ``compare.html`` holds, made from the summary alone.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> target = ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> page = render(ls.compare(target, ls.defenses.Rounding([1]), references=0, retrain=False))
    >>> "<h1><bdi>None of the versions that were tried surely lowers the risk." in page
    True
    """
    return render_summary(summarize(comparison))


def render_summary(summary: dict[str, Any]) -> str:
    """The page for a summary; every number on it stands in the summary."""
    return render_page("compare.html.j2", summary, picture=draw_figure(summary["figure"], point_texts(summary)))


def point_texts(summary: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Beside a point stand its number in the table and its name, or the number alone where there is no room."""
    return {row["name"]: (f"{row['number']} {row['name']}", str(row["number"])) for row in summary["versions"]}
