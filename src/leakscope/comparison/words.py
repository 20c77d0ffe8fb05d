"""What a comparison says in a few words, the same in the terminal, in a study and on the page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from leakscope.comparison.result import Comparison, Version
from leakscope.core.estimate import Estimate
from leakscope.report.words import describe, safe_text
from leakscope.telling import finite

if TYPE_CHECKING:
    from leakscope.comparison.record_explanations import RecordVersion

BROKEN = "the guarantee is broken"
IN_DOUBT = (
    "in doubt: the attacks found more than the claim allows, but members and outsiders differ by themselves, so that this need "
    "not be the model's doing"
)
#: A number of a text as `describe` writes it.
_NUMBER = re.compile(r"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?")


def quoted(name: object) -> str:
    """The name of a version inside a sentence."""
    return f"“{safe_text(name, 40)}”"


def signed(change: Estimate) -> dict[str, Any]:
    r"""A change as `describe` has it, with the sign of every number that is not zero.

    >>> signed(Estimate(-0.016, -0.034, 0.002))["text"].replace("\u00a0", " ")
    '−0.02 [−0.03, +0.002]'
    """
    words = describe(finite(change))
    return {**words, **{part: _NUMBER.sub(_with_sign, words[part]) for part in ("shown", "interval", "text")}}


def _with_sign(found: re.Match[str]) -> str:
    text = found[0]
    if float(text.replace(",", "")) == 0:
        return text.removeprefix("-")
    return text.replace("-", "−", 1) if text.startswith("-") else f"+{text}"


def said(estimate: Estimate) -> str:
    """A number with its interval, in one line of plain text."""
    return str(describe(finite(estimate))["text"]).replace("\u00a0", " ")


def said_change(change: Estimate) -> str:
    """A change with its interval, in one line of plain text."""
    return str(signed(change)["text"]).replace("\u00a0", " ")


def standing(version: Version | RecordVersion) -> str:
    """How a version stands beside the others."""
    if version.surely_beaten_by is not None:
        return f"surely beaten by {quoted(version.surely_beaten_by)}"
    return "nothing beats it" if version.beaten_by is None else f"beaten by {quoted(version.beaten_by)}"


def claim(version: Version) -> str:
    """What is claimed of a version, for the neighbours that it is claimed for; empty where nothing is."""
    guarantee = version.guarantee
    if guarantee is None:
        return ""
    delta = f", δ = {guarantee.delta:g}" if guarantee.delta else ""
    swap = guarantee.neighbours == "swap"
    said_of = "the swap of one record" if swap else "one record added or removed"
    epsilon, _ = guarantee.for_swaps()
    doubled = "" if swap else f", that is ε = {rounded_up(epsilon)} for the swap of one"
    return f"ε = {rounded_up(guarantee.epsilon)}{delta} for {said_of}{doubled}"


def rounded_up(epsilon: float) -> str:
    """A claim with three digits, never less than it is.

    >>> rounded_up(3.96307), rounded_up(0.5), rounded_up(7.996)
    ('3.97', '0.5', '8')
    """
    if not epsilon > 0:
        return f"{epsilon:g}"
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return f"{math.ceil(round(epsilon / step, 9)) * step:.3g}"


def promise(version: Version) -> str:
    """What the attacks make of the claim, in a sentence; empty where nothing is claimed."""
    found = _shown_epsilon(version)
    match version.promise:
        case "broken":
            return f"{BROKEN}: {broken_promise(version)}"
        case "in doubt":
            return f"The guarantee of {quoted(version.name)} ({claim(version)}) is {IN_DOUBT}; {found}."
        case "holds":
            return f"The guarantee of {quoted(version.name)} ({claim(version)}) holds as far as these attacks tell; {found}."
    return ""


def broken_promise(version: Version) -> str:
    """What is claimed and what the attacks show, of a claim that is broken."""
    return f"{quoted(version.name)} claims {claim(version)}, and {_shown_epsilon(version)}."


def _shown_epsilon(version: Version) -> str:
    return f"the attacks show that ε is {said(version.epsilon)} for the swap of one record"


def in_short(version: Version) -> str:
    """What became of a claim that does not stand, in a few words.

    A page has them above its answer.
    """
    return f"The guarantee of {quoted(version.name)} is {'broken' if version.promise == 'broken' else 'in doubt'}"


def proposed(comparison: Comparison) -> Version | None:
    """The recommended version, or else the cheapest by points of those that surely lower the risk; None if none does."""
    if comparison.recommendation.version is not None:
        return comparison[comparison.recommendation.version]
    if comparison.recommendation.kind in ("inconclusive", "untested"):
        return None
    sure = [
        version
        for version in comparison.versions
        if version.lowered is not None and version.lowered.high < 0 and version.promise != "broken"
    ]
    return max(sure, key=lambda version: version.main.gain.value, default=None)


def group_costs(version: Version) -> list[tuple[str, Estimate]]:
    """Groups that surely lose with a version: their names and the change of the first metric, the largest loss first."""
    sign = 1 if version.main.better == "more" else -1
    sure = [group for group in version.groups if (group.change.high if sign > 0 else -group.change.low) < 0]
    return [
        (f"{safe_text(group.column, 40)} = {safe_text(group.level, 40)}", group.change)
        for group in sorted(sure, key=lambda group: sign * group.change.value)
    ]


def noted(comparison: Comparison) -> dict[str, list[str]]:
    """Every note once, with the names of the versions that it belongs to."""
    return _each_once((note, version.name) for version in comparison.versions for note in version.notes)


def foundations(comparison: Comparison) -> dict[str, list[str]]:
    """What guarantees rest on, each once, with the names of the versions that it belongs to."""
    return _each_once(
        (version.guarantee.rests_on, version.name)
        for version in comparison.versions
        if version.guarantee is not None and version.guarantee.rests_on
    )


def _each_once(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text, name in pairs:
        found.setdefault(text, []).append(name)
    return found
