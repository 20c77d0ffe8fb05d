"""What explanations add to the prediction, in words and numbers for the report."""

from __future__ import annotations

from typing import Any

from leakscope.report.words import describe, safe_text
from leakscope.results import Estimate, Extra, Findings

TITLE = "What releasing each explanation adds"


def summarize_extras(findings: Findings) -> dict[str, Any] | None:
    """The section about explanations, or None where none was released beside a prediction."""
    if not findings.extras:
        return None
    ordered = sorted(findings.extras, key=lambda extra: -extra.auc.value)
    return {
        "title": TITLE,
        "finding": _finding(ordered),
        "description": _finding(ordered),
        "beside": safe_text(ordered[0].beside),
        "rows": [_row(extra) for extra in ordered],
    }


def signed(estimate: Estimate) -> str:
    """A gain with its sign and interval, with digits enough to tell on which side of zero the interval lies.

    Examples
    --------
    >>> signed(Estimate(0.221, 0.192, 0.25)), signed(Estimate(0.0062, 0.0011, 0.0113)), signed(Estimate(-0.001, -0.03, 0.03))
    ('+0.22 [0.19, 0.25]', '+0.006 [0.001, 0.011]', '0.00 [-0.03, 0.03]')
    """
    shown = gain(estimate)
    return f"{shown['shown']} {shown['interval']}".replace("\u00a0", " ").strip()


def gain(estimate: Estimate) -> dict[str, Any]:
    """As `describe`, with a sign before the number."""
    width = estimate.high - estimate.low
    digits = 2 if width > 0.03 else 3 if width > 0.003 else 4
    # Adding zero to what was rounded turns -0.00 into 0.00.
    value, low, high = (round(number, digits) + 0.0 for number in (estimate.value, estimate.low, estimate.high))
    shown = f"{value:+.{digits}f}" if value else f"{value:.{digits}f}"
    interval = f"[{low:.{digits}f},\u00a0{high:.{digits}f}]"
    return {**describe(estimate), "shown": shown, "interval": interval, "text": f"{shown}\u00a0{interval}"}


def _row(extra: Extra) -> dict[str, Any]:
    name = safe_text(extra.release)
    control = f"; where the model never saw the members {signed(extra.control)}" if extra.control else ""
    return {
        "label": f"{name}: {signed(extra.auc)} in AUC{control}",
        "release": name,
        "gain": signed(extra.auc),
        "control_gain": signed(extra.control) if extra.control else "–",
        "adds": extra.adds,
        "auc": gain(extra.auc),
        "advantage": gain(extra.advantage),
        "without": describe(extra.without),
        "together": describe(extra.together),
        "control": gain(extra.control) if extra.control else None,
    }


def _finding(extras: list[Extra]) -> str:
    """One sentence: which explanations surely add something, and by how much the most telling of the others might."""
    beside = safe_text(extras[0].beside)
    adding = [extra for extra in extras if extra.adds]
    others = [extra for extra in extras if not extra.adds]
    said = []
    if adding:
        names = ", ".join(f"{safe_text(extra.release)} {signed(extra.auc)}" for extra in adding[:5])
        more = f" and {len(adding) - 5} more" if len(adding) > 5 else ""
        said.append(f"Beside {beside}, these explanations give more away, in AUC: {names}{more}")
    if others:
        highest = max(others, key=lambda extra: extra.auc.high)
        who = "no explanation surely adds to what" if not adding else "for the others no gain is sure beyond what"
        said.append(
            f"{who} {beside} already give away; the widest interval is that of "
            f"{safe_text(highest.release)}, {signed(highest.auc)}"
        )
    sentence = "; ".join(said)
    return sentence[:1].upper() + sentence[1:] + "."
