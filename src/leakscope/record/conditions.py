"""Conditions that fail a release, such as ``auc.high > 0.6``, evaluated on the claims of a saved result.

A condition compares a figure with a number, or the outcome of a claim with a word:

- ``FIGURE > NUMBER``, where a figure is an estimate of a claim, such as ``auc``, ``tpr_at_fpr[0.01]``, ``largest_group.auc``: the largest of all
  claims that have it, or with a subject (``labels: auc > 0.6``) of the claims about that release, version, …;
- ``CODE = yes``, ``CODE != no``, such as ``leak = yes``; for an audit also ``verdict = leaks`` and ``verdict != "not detected"``.

A condition is *failed*, *passed* or *uncertain*. With ``.low``, ``.value`` or ``.high`` it is about that one number. Otherwise it is about the whole
interval: failed if all of it meets the condition, passed if none of it does, uncertain if the limit lies inside. A one-sided bound implies nothing
about the other side.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate, largest
from leakscope.core.result import Claim, Outcome, Result
from leakscope.core.wording import SENTENCE_LENGTH, name, write

Judged = Literal["failed", "passed", "uncertain"]
COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
PARTS = ("value", "low", "high")
#: Verdicts of an audit as outcomes of its claims; the last two are the words of older versions.
VERDICTS: dict[str, tuple[str, Outcome]] = {
    "leaks": ("leak", "yes"),
    "claim refuted": ("claim_refuted", "yes"),
    "not detected": ("leak", "no"),
    "inconclusive": ("leak", "inconclusive"),
    "no evidence": ("leak", "no"),
    "cannot tell": ("leak", "inconclusive"),
}
OUTCOMES: tuple[Outcome, ...] = ("yes", "no", "inconclusive")
#: How to get a figure that only some results have.
_HOW_TO_MEASURE = {
    "extra": "name explanations with --releases",
    "group_gap": "name columns with --groups",
    "largest_group.auc": "name columns with --groups",
}
#: Difference from the limit below which an estimate may show the same digits as the limit.
CLOSE = 0.005
_FIGURE = re.compile(
    r"(?P<figure>largest_group ?\. ?auc|[a-z_]+) ?(?:\[ ?(?P<rate>[^\]]*?) ?\])? ?(?:\. ?(?P<part>\w+))? ?(?P<sign>>=|<=|>|<) ?(?P<limit>\S+)"
)
_OUTCOME = re.compile(r"(?P<code>[a-z_]+) ?(?P<sign>==?|!=) ?(?P<quote>[\"']?)(?P<word>[a-z_ ]+)(?P=quote)")


@dataclass(frozen=True)
class Judgement:
    """Result of one condition.

    Parameters
    ----------
    condition
        Its text.
    outcome
        ``failed``, ``passed`` or ``uncertain``.
    estimate
        The estimate that was compared, or None.
    reason
        Why it is uncertain, or additional information.
    because
        Reason for the condition, from the policy.
    """

    condition: str
    outcome: Judged
    estimate: Estimate | None = None
    reason: str = ""
    because: str = ""

    def __str__(self) -> str:
        return self.line()

    def line(self, note: str = "") -> str:
        """Return the condition in one line, with the number, the reasons and a note in brackets."""
        found = "" if self.estimate is None else f"it is {write(self.estimate)}"
        told = [name(part, SENTENCE_LENGTH) for part in (found, self.reason, self.because, note) if part]
        return name(self.condition, SENTENCE_LENGTH) + (f" ({'; '.join(told)})" if told else "")


@dataclass(frozen=True)
class Scope:
    """Figures, codes of claims and subjects that a result has or will have; subjects are None if unknown."""

    figures: tuple[str, ...]
    codes: tuple[str, ...]
    subjects: tuple[str, ...] | None = None

    @classmethod
    def of(cls, result: Result) -> Scope:
        """Return the scope of a result."""
        known = [*(figure for claim in result.claims for figure in claim.estimates), *result.possible_figures]
        subjects = [str(value) for claim in result.claims for value in claim.subject.values()]
        subjects += [item.release for item in result.not_run]
        return cls(tuple(dict.fromkeys(known)), tuple(result.codes), tuple(dict.fromkeys(subjects)))


def audit_scope(releases: tuple[str, ...], *, groups: bool, explanations: bool) -> Scope:
    """Return the scope of an audit before it is run."""
    from leakscope.evaluation.results import Audit
    from leakscope.evaluation.risk import FALSE_POSITIVE_RATES

    rates = [f"tpr_at_fpr[{rate:g}]" for rate in FALSE_POSITIVE_RATES]
    possible = {"group_gap": groups, "largest_group.auc": groups, "extra": explanations, "bound": True}
    possible |= dict.fromkeys(("blind", "beyond_blind", "overfitting"), True)
    figures = ["auc", "advantage", "accuracy", *rates, *(figure for figure, known in possible.items() if known)]
    return Scope(tuple(figures), tuple(Audit.codes), releases)


@dataclass(frozen=True)
class Condition:
    """A figure compared with a number; conditions that differ in their text only are equal.

    Examples
    --------
    >>> condition = Condition.parse("labels: tpr_at_fpr[0.01].high > 0.05")
    >>> condition.subject, condition.figure, condition.part, condition.limit
    ('labels', 'tpr_at_fpr[0.01]', 'high', 0.05)
    """

    text: str = field(compare=False)
    subject: str | None
    figure: str
    part: str | None
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        subject, form, shown = *_split(text), name(text)
        found = _FIGURE.fullmatch(form)
        if found is None:
            raise InputError(f"cannot read the condition “{shown}”: write for example “auc.high > 0.6”")
        figure, part, rate = found["figure"].replace(" ", ""), found["part"], found["rate"]
        if figure == "verdict":
            raise InputError(f"the verdict in “{shown}” is not a number: write for example “verdict = leaks”")
        if part not in (None, *PARTS):
            raise InputError(f"unknown part “.{part}” in “{shown}”: use .value, .low or .high")
        if (figure == "tpr_at_fpr") != (rate is not None):
            raise InputError(f"“{shown}”: use a false-positive rate in brackets with tpr_at_fpr, and only there")
        if subject == "":
            raise InputError(f"“{shown}”: name a release or version before the colon, or remove the colon")
        if rate is not None:
            figure = f"{figure}[{_number(rate, shown):g}]"
        return cls(" ".join(text.split()), subject, figure, part, found["sign"], _number(found["limit"], shown))

    def check(self, scope: Scope) -> None:
        """Raise an error if results of this scope have no number for the condition."""
        shown = name(self.text)
        if self.figure not in scope.figures:
            advice = _HOW_TO_MEASURE.get(self.figure, f"use {', '.join(map(name, scope.figures))}")
            raise InputError(f"“{shown}” needs a figure that is not measured: {advice}")
        if self.subject is not None and scope.subjects is not None and self.subject not in scope.subjects:
            known = ", ".join(name(one) for one in scope.subjects)
            raise InputError(f"“{shown}” is about {self.subject!r}, which the result does not have: use {known}")

    def judge(self, result: Result) -> Judgement:
        """Evaluate the condition on the claims."""
        about = [claim for claim in result.claims if self.subject is None or self.subject in claim.subject.values()]
        having = [claim for claim in about if self.figure in claim.estimates]
        if not having:
            return Judgement(self.text, "uncertain", None, self._why_missing(result))
        estimate = largest([claim.estimates[self.figure] for claim in having])
        low, high = span(estimate, self.part)
        met = [COMPARE[self.sign](end, self.limit) for end in (low, high)]
        if met[0] != met[1]:
            return Judgement(self.text, "uncertain", estimate, _why_uncertain(estimate))
        if not met[0] and (unknown := _without_number(about, having)):
            return Judgement(self.text, "uncertain", estimate, f"no number for {unknown}")
        close = self.part is not None and low == high and abs(high - self.limit) < CLOSE
        reason = f".{self.part} is {high:.6g}" if close else ""
        return Judgement(self.text, "failed" if met[0] else "passed", estimate, reason)

    def _why_missing(self, result: Result) -> str:
        reasons = [item.reason for item in result.not_run if item.release == self.subject]
        about = "" if self.subject is None else f" of {name(self.subject)}"
        return f"no {self.figure}{about} was measured" + "".join(f": {why}" for why in reasons[:1])


def _without_number(about: Sequence[Claim], having: Sequence[Claim]) -> str:
    """Return a subject of the same kind without a number, if any: other subjects do not decide for it."""
    codes = {claim.code for claim in having}
    for claim in about:
        if claim.code in codes and claim.subject and not claim.estimates and claim.outcome == "inconclusive":
            return name(" = ".join(str(value) for value in claim.subject.values()))
    return ""


@dataclass(frozen=True)
class OutcomeCondition:
    """The outcome of a claim, or the verdict of an audit, compared with a word.

    If a claim is inconclusive, the true outcome may be ``yes`` or ``no``, so that conditions on these are uncertain. Only a condition that requires the
    safe outcome, such as ``verdict != "not detected"``, fails.

    Examples
    --------
    >>> found = OutcomeCondition.parse('verdict != "not detected"')
    >>> found.code, found.outcome
    ('leak', 'no')
    """

    text: str = field(compare=False)
    subject: str | None
    code: str
    sign: str
    outcome: Outcome

    @classmethod
    def parse(cls, text: str) -> OutcomeCondition:
        subject, form, shown = *_split(text), name(text)
        found = _OUTCOME.fullmatch(form)
        if found is None:
            raise InputError(f"cannot read the condition “{shown}”: write for example “verdict = leaks”")
        code, word, sign = found["code"], found["word"].strip(), "!=" if found["sign"] == "!=" else "="
        if code == "verdict":
            if word.replace("_", " ") not in VERDICTS:
                known = "leaks, “claim refuted”, “not detected” or inconclusive"
                raise InputError(f"unknown verdict in “{shown}”: use {known}")
            code, word = VERDICTS[word.replace("_", " ")]
        outcome = next((one for one in OUTCOMES if one == word), None)
        if outcome is None:
            raise InputError(f"unknown outcome in “{shown}”: use yes, no or inconclusive")
        return cls(" ".join(text.split()), subject, code, sign, outcome)

    def check(self, scope: Scope) -> None:
        """Raise an error if results of this scope do not make the claim."""
        if self.code not in scope.codes:
            known = ", ".join(scope.codes)
            raise InputError(f"“{name(self.text)}” needs a claim that the result does not make: use {known}")

    def judge(self, result: Result) -> Judgement:
        """Evaluate the condition on the claims; the worst of several claims decides."""
        about = [claim for claim in result.claims if claim.code == self.code]
        if self.subject is not None:
            about = [claim for claim in about if self.subject in claim.subject.values()]
        elif overall := [claim for claim in about if not claim.subject]:
            about = overall
        if not about:
            return Judgement(self.text, "uncertain", None, f"the result has no claim {self.code}")
        judged = [(self._judge_one(claim.outcome, result.codes[self.code]), claim) for claim in about]
        order: tuple[Judged, ...] = ("failed", "uncertain", "passed")
        outcome, claim = min(judged, key=lambda pair: order.index(pair[0]))
        return Judgement(self.text, outcome, None, f"{self.code} is {claim.outcome}")

    def _judge_one(self, found: Outcome, risky: Outcome | None) -> Judged:
        safe = {"yes": "no", "no": "yes"}.get(risky or "")
        demanded = self.sign == "!=" and self.outcome == safe
        if found == "inconclusive" and self.outcome != "inconclusive" and not demanded:
            return "uncertain"
        return "failed" if (found == self.outcome) == (self.sign == "=") else "passed"


def parse_condition(text: str) -> Condition | OutcomeCondition:
    """Parse a condition, or raise an error.

    Examples
    --------
    >>> parse_condition("auc > 0.6").part is None
    True
    """
    if not isinstance(text, str):
        raise InputError(f"a condition must be a text, such as “auc.high > 0.6”, not {name(repr(text))}")
    is_outcome = re.search(r"[<>]", text) is None and re.search(r"[=!]", text) is not None
    return OutcomeCondition.parse(text) if is_outcome else Condition.parse(text)


def span(estimate: Estimate, part: str | None) -> tuple[float, float]:
    """Return the range of the number that a condition is about.

    Examples
    --------
    >>> span(Estimate(0.7, 0.6, 0.8), None), span(Estimate(0.7, 0.6, 0.8), "high")
    ((0.6, 0.8), (0.8, 0.8))
    >>> span(Estimate(0.2, 0.0, 0.2, kind="upper bound"), "low")
    (-inf, 0.2)
    """
    if estimate.kind == "upper bound":
        return (estimate.high if part == "high" else -math.inf), estimate.high
    if estimate.kind == "lower bound":
        return estimate.low, (estimate.low if part == "low" else math.inf)
    if part is None:
        return estimate.low, estimate.high
    number = float(getattr(estimate, part))
    return number, number


def _split(text: str) -> tuple[str | None, str]:
    """Split the subject, if any, from the rest; a subject may contain colons, the rest does not."""
    subject, colon, rest = " ".join(text.split()).rpartition(":")
    return (subject.strip() if colon else None), rest.strip()


def _number(text: str, shown: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"“{shown}” compares with text that is not a number: write for example “auc.high > 0.6”")
    return number


def _why_uncertain(estimate: Estimate) -> str:
    if estimate.kind in ("upper bound", "lower bound"):
        return f"only {'an' if estimate.kind == 'upper bound' else 'a'} {estimate.kind} is known"
    return "the limit lies inside the interval"
