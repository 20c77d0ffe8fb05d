"""Cells, tags and names that the documents of several studies share."""

from __future__ import annotations

from leakscope.core.estimate import Estimate
from leakscope.core.result import Outcome, Result, Scalar
from leakscope.core.wording import Style, name
from leakscope.report.document import Tag, Tone, Value


def value(estimate: Estimate | None, style: Style = "number") -> Value | None:
    """Return the cell of an estimate, or an empty cell."""
    return None if estimate is None else Value(estimate, style)


def values(*estimates: Estimate | None, style: Style = "number") -> tuple[Value | None, ...]:
    """Return the cells of several estimates."""
    return tuple(value(estimate, style) for estimate in estimates)


def outcome(result: Result, code: str, **subject: Scalar) -> Outcome:
    """Return the outcome of the claim about exactly this subject; inconclusive if the result does not make it."""
    found = (claim.outcome for claim in result.claims if claim.code == code and claim.subject == subject)
    return next(found, "inconclusive")


def tag_if(applies: bool, text: str, tone: Tone = "risk") -> Tag:
    """Return a tag, or an empty one where it does not apply."""
    return (text, tone) if applies else ("", "plain")


def group_name(column: str, level: str) -> str:
    """Return the name of a group of records."""
    return f"{name(column, 40)} = {name(level, 40)}"


def control_name(kind: str) -> str:
    """Return the name of a control."""
    return "never-trained control" if kind == "never trained" else "permuted control"
