"""Checks that the numbers of a loaded result do not contradict each other, by kind of result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from leakscope.core.result import Result
from leakscope.errors import InputError


def _audit(audit: Any) -> Iterator[str]:
    from leakscope.record.audit_consistency import contradictions

    return contradictions(audit)


#: For a kind of result a function that yields what can't be in a result that a study returned.
CHECKS: dict[str, Callable[[Any], Iterator[str]]] = {"audit": _audit}


def check_consistent(result: Result, path: Path) -> None:
    """Refuse a result whose numbers contradict each other."""
    contradictions = CHECKS.get(result.kind)
    if contradictions is None:
        return
    try:
        problem = next(contradictions(result), None)
    except (ArithmeticError, LookupError, ValueError) as error:
        problem = f"its numbers can't be checked ({type(error).__name__})"
    if problem is not None:
        raise InputError(
            f"{path} was edited, or is of another version: {problem}; restore the file, or run the study again"
        )
