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
    """A gain with its sign and interval.

    Examples
    --------
    >>> signed(Estimate(0.071, 0.052, 0.09)), signed(Estimate(-0.001, -0.011, 0.009))
    ('+0.07 [0.05, 0.09]', '0.00 [-0.01, 0.01]')
    """
    text = describe(estimate)["text"].replace("\u00a0", " ").replace("-0.00 ", "0.00 ", 1)
    return text if estimate.value < 0 or text.startswith("0.00 ") else f"+{text}"


def _row(extra: Extra) -> dict[str, Any]:
    name = safe_text(extra.release)
    control = f"; where the model never saw the members {signed(extra.control)}" if extra.control else ""
    return {
        "label": f"{name}: {signed(extra.auc)} in AUC{control}",
        "release": name,
        "gain": signed(extra.auc),
        "control_gain": signed(extra.control) if extra.control else "–",
        "adds": extra.adds,
        "auc": describe(extra.auc),
        "advantage": describe(extra.advantage),
        "without": describe(extra.without),
        "together": describe(extra.together),
        "control": describe(extra.control) if extra.control else None,
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
