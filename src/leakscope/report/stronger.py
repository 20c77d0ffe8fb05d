"""What was not run and would be stronger, with the time that it would take."""

from __future__ import annotations

from typing import Any

from leakscope.results import Findings

#: Numbers of reference models that are offered.
OFFERED = (4, 16, 64)
#: Trainings of the target's size that the controls take: four folds of three quarters of the members and two halves.
CONTROLS = 4


def stronger_options(findings: Findings) -> list[dict[str, Any]]:
    """Options that would make this audit stronger, each with what it does and its estimated seconds (None if not known)."""
    references = findings.settings.get("references")
    if references is None or findings.settings.get("retrain") is False:
        return []
    options = []
    offered = next((number for number in OFFERED if number > references), None)
    if offered is not None:
        seconds = _seconds(findings, references, offered)
        options.append({"what": f"{offered} reference models", "option": f"--references {offered}", "seconds": seconds})
    if findings.strongest.control.kind == "never trained" and not findings.settings.get("random split"):
        options.append({"what": "the statement that training and held-out records come from one random split, if they do",
                        "option": "--random-split", "seconds": None})  # fmt: skip
    for option in options:
        option["text"] = _sentence(option)
    return options


def _seconds(findings: Findings, references: int, offered: int) -> float | None:
    """Time of more references, from the time of one training in this audit."""
    spent = findings.seconds.get("retrain")
    if not spent:
        return None
    retrained = findings.strongest.control.kind == "never trained"
    # Without references the controls are two models of half of the members.
    trainings = references + (CONTROLS if retrained and references else 1 if retrained else 0)
    planned = offered + (CONTROLS if retrained else 0)
    return float(spent / trainings * (planned - trainings)) if trainings else None


def _sentence(option: dict[str, Any]) -> str:
    time = "" if option["seconds"] is None else f", about {duration(option['seconds'])} more"
    return f"{option['what']} ({option['option']}{time})"


def duration(seconds: float) -> str:
    """A time in one unit.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.2, 45, 170, 9000)]
    ['1 s', '45 s', '3 min', '2.5 h']
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
