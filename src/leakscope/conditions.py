"""Conditions that fail a release: ``auc.high > 0.6`` is judged on the record of an audit, and never on the model.

- ``auc``, ``advantage``, ``accuracy``, ``tpr_at_fpr[RATE]``: the largest that any attack reaches; with a release before it
  (``labels: auc > 0.6``) that any attack on that release does;
- ``group_gap``, the largest gap of a group to the rest under the strongest attack;
- ``largest_group.auc``, the largest AUC of any group under any attack;
- ``extra``, what the most telling explanation adds to the AUC of the prediction;
- ``bound``, the smallest advantage that the promised privacy lets no attack pass;
- ``verdict = leaks``, ``verdict != "no evidence"``.

Groups are those of the named columns, and the classes of the label or its deciles.

A condition is *failed*, *passed* or *uncertain*. With ``.low``, ``.value`` or ``.high`` it is about that one number. Without,
it is about the whole interval: failed if all of it meets the condition, passed if none of it does, uncertain if the limit lies
inside. Of a number that is only bounded from one side, nothing is assumed on the other.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import Literal

from leakscope.errors import InputError
from leakscope.intervals import largest
from leakscope.report.words import SENTENCE_LENGTH, describe, safe_text
from leakscope.results import Estimate, Findings, Largest

Outcome = Literal["failed", "passed", "uncertain"]
COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
#: Figures that each attack has, and so each release.
OF_ATTACKS = ("auc", "advantage", "accuracy", "tpr_at_fpr")
FIGURES = (
    "auc",
    "advantage",
    "accuracy",
    "tpr_at_fpr[RATE]",
    "group_gap",
    "largest_group.auc",
    "extra",
    "bound",
    "verdict",
)
#: Figures that only audits with groups have.
OF_GROUPS = ("group_gap", "largest_group.auc")
PARTS = ("value", "low", "high")
VERDICTS = ("leaks", "claim refuted", "no evidence", "cannot tell")
NO_GROUP = "no group is large enough to be compared, or none was named"
#: A number this close to the limit may look equal to it in an estimate, which shows two decimals or a little more.
CLOSE = 0.005
_FORM = re.compile(
    r"(?P<figure>largest_group ?\. ?auc|[a-z_]+) ?(?:\[ ?(?P<rate>[^\]]*?) ?\])? ?(?:\. ?(?P<part>\w+))? ?(?P<sign>>=|<=|>|<) ?(?P<limit>\S+)"
)
_VERDICT_FORM = re.compile(r"verdict ?(?P<sign>==?|!=) ?(?P<quote>[\"']?)(?P<kind>[a-z ]+)(?P=quote)")


@dataclass(frozen=True)
class Judgement:
    """What became of one condition.

    Parameters
    ----------
    condition
        Its text.
    outcome
        ``failed``, ``passed`` or ``uncertain``.
    estimate
        The number that it was judged by, or None where there is none.
    reason
        Why it is uncertain, or what else there is to know.
    because
        Why the condition was set, from the policy.
    """

    condition: str
    outcome: Outcome
    estimate: Estimate | None = None
    reason: str = ""
    because: str = ""

    def __str__(self) -> str:
        return self.line()

    def line(self, note: str = "") -> str:
        """The condition in one line, with the number, the reasons and a note in brackets."""
        found = "" if self.estimate is None else f"it is {describe(self.estimate)['text']}"
        told = [safe_text(part, SENTENCE_LENGTH) for part in (found, self.reason, self.because, note) if part]
        return safe_text(self.condition, SENTENCE_LENGTH) + (f" ({'; '.join(told)})" if told else "")


@dataclass(frozen=True)
class Scope:
    """What an audit has, or will have, numbers for. ``releases`` is None where that is not known."""

    rates: tuple[float, ...]
    groups: bool = True
    explanations: bool = True
    releases: tuple[str, ...] | None = None

    @classmethod
    def of(cls, audit: Findings) -> Scope:
        """What a record has numbers for. Whether groups were asked for is not in it."""
        attacked = [risk.release for risk in audit.risks]
        releases = dict.fromkeys([*attacked, *(item.release for item in audit.not_run)])
        return cls(tuple(audit.strongest.tpr_at_fpr), True, bool(audit.extras), tuple(releases))


@dataclass(frozen=True)
class Condition:
    """A figure compared with a number.

    Examples
    --------
    >>> condition = Condition.parse("labels: tpr_at_fpr[0.01].high > 0.05")
    >>> condition.release, condition.figure, condition.rate, condition.part, condition.limit
    ('labels', 'tpr_at_fpr', 0.01, 'high', 0.05)
    >>> Condition.parse("uac > 0.6")
    Traceback (most recent call last):
    leakscope.errors.InputError: unknown figure “uac” in “uac > 0.6”: use auc, advantage, accuracy, tpr_at_fpr[RATE], group_gap, largest_group.auc, extra, bound, verdict
    """

    text: str
    release: str | None
    figure: str
    rate: float | None
    part: str | None
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        release, form, shown = *_split(text), safe_text(text)
        found = _FORM.fullmatch(form)
        if found is None:
            raise InputError(f"can't read the condition “{shown}”: write for example “auc.high > 0.6”")
        figure, part = found["figure"].replace(" ", ""), found["part"]
        if figure == "verdict":
            raise InputError(f"the verdict in “{shown}” is no number: write for example “verdict = leaks”")
        if figure not in (*OF_ATTACKS, *OF_GROUPS, "extra", "bound"):
            raise InputError(f"unknown figure “{figure}” in “{shown}”: use {', '.join(FIGURES)}")
        if part not in (None, *PARTS):
            raise InputError(f"unknown part “.{part}” in “{shown}”: use .value, .low or .high")
        if (figure == "tpr_at_fpr") != (found["rate"] is not None):
            raise InputError(f"a false-positive rate in brackets goes with tpr_at_fpr and only there: “{shown}”")
        if release is not None and (figure not in OF_ATTACKS or not release):
            raise InputError(f"“{shown}”: name a release before auc, advantage, accuracy or tpr_at_fpr, and only there")
        rate = None if found["rate"] is None else _number(found["rate"], shown)
        return cls(" ".join(text.split()), release, figure, rate, part, found["sign"], _number(found["limit"], shown))

    @property
    def key(self) -> tuple[object, ...]:
        """The same for two ways of writing one condition."""
        return (self.release, self.figure, self.rate, self.part, self.sign, self.limit)

    def check(self, scope: Scope) -> None:
        """Refuse a condition that an audit of such a scope can have no number for."""
        shown = safe_text(self.text)
        if self.figure == "extra" and not scope.explanations:
            raise InputError(f"“{shown}” needs an explanation beside a prediction: --releases probabilities,gradient")
        if self.rate is not None and self.rate not in scope.rates:
            measured = ", ".join(f"{rate:g}" for rate in scope.rates)
            raise InputError(f"“{shown}” asks for a rate that isn't measured: use {measured}")
        if self.figure in OF_GROUPS and not scope.groups:
            raise InputError(f"“{shown}” needs groups: name their columns with --groups")
        if self.release is not None and scope.releases is not None and self.release not in scope.releases:
            known = ", ".join(safe_text(name) for name in scope.releases)
            raise InputError(f"“{shown}” asks for a release that isn't audited: use {known}")

    def judge(self, audit: Findings) -> Judgement:
        """Failed, passed or uncertain, by the record alone."""
        estimate, missing = self._find(audit)
        if estimate is None:
            return Judgement(self.text, "uncertain", None, missing)
        low, high = span(estimate, self.part)
        if self.figure == "bound" and estimate.kind == "upper bound":
            low = high  # the figure is the bound itself, and that is known
        met = [COMPARE[self.sign](end, self.limit) for end in (low, high)]
        if met[0] != met[1]:
            return Judgement(self.text, "uncertain", estimate, _why_uncertain(estimate))
        if self.figure in OF_GROUPS and not met[0] and (hidden := _hidden_columns(audit)):
            return Judgement(
                self.text, "uncertain", estimate, f"no group of {hidden[0]} is large enough to be compared"
            )
        close = self.part is not None and low == high and abs(high - self.limit) < CLOSE
        reason = f".{self.part} is {high:.6g}" if close else ""
        return Judgement(self.text, "failed" if met[0] else "passed", estimate, reason)

    def _find(self, audit: Findings) -> tuple[Estimate | None, str]:
        """The number, or why there is none."""
        match self.figure:
            case "group_gap":
                gaps = [group.gap for group in audit.strongest.by_group]
                return largest(gaps) if gaps else None, NO_GROUP
            case "largest_group.auc":
                return (audit.largest.group_auc if audit.largest else None), NO_GROUP
            case "extra":
                added = [extra.auc for extra in audit.extras]
                return largest(added) if added else None, "no explanation was audited beside a prediction"
            case "bound":
                if audit.bound is not None and audit.bound.contradicted:
                    return None, "the promised privacy is contradicted by an attack"
                return (audit.bound.advantage if audit.bound else None), "no privacy was promised with --epsilon"
        risk, missing = self._attack(audit)
        if risk is None:
            return None, missing
        if self.rate is not None:
            return risk.tpr_at_fpr.get(self.rate), f"the rate {self.rate:g} was not measured"
        return getattr(risk, self.figure), ""

    def _attack(self, audit: Findings) -> tuple[Largest | None, str]:
        if self.release is None:
            return audit.largest, "this record has the strongest attack only: audit again"
        for risk in audit.by_release:
            if risk.release == self.release:
                return risk.largest, ""
        reasons = [item.reason for item in audit.not_run if item.release == self.release]
        if not reasons and not audit.by_release:
            return None, "this record has no numbers for each release: audit again"
        return None, f"no attack on {safe_text(self.release)} was run" + "".join(f": {why}" for why in reasons[:1])


@dataclass(frozen=True)
class VerdictCondition:
    """The verdict, compared with one of its kinds; a refuted claim is a leak too.

    ``cannot tell`` means that the truth is one of the others, so conditions on those are then uncertain; only
    ``verdict != "no evidence"``, which asks that a leak be excluded, is failed.

    Examples
    --------
    >>> VerdictCondition.parse('verdict != "no evidence"').kind
    'no evidence'
    """

    text: str
    sign: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> VerdictCondition:
        found = _VERDICT_FORM.fullmatch(" ".join(text.split()))
        if found is None or found["kind"].strip() not in VERDICTS:
            raise InputError(
                f"can't read “{safe_text(text)}”: write verdict = or != and one of leaks, “claim refuted”, “no evidence”, “cannot tell”"
            )
        return cls(" ".join(text.split()), "!=" if found["sign"] == "!=" else "=", found["kind"].strip())

    @property
    def key(self) -> tuple[object, ...]:
        """The same for two ways of writing one condition."""
        return (self.sign, self.kind)

    def check(self, scope: Scope) -> None:
        """Every audit has a verdict."""

    def judge(self, audit: Findings) -> Judgement:
        """Failed, passed or uncertain, by the record alone."""
        said = f"the verdict is “{audit.verdict.kind}”"
        excluded = self.sign == "!=" and self.kind == "no evidence"  # all but one of the three is meant
        if audit.verdict.kind == "cannot tell" and self.kind != "cannot tell" and not excluded:
            return Judgement(self.text, "uncertain", None, said)
        # A refuted claim is a leak too: a gate against leaks must not pass it.
        same = audit.verdict.leaks if self.kind == "leaks" else audit.verdict.kind == self.kind
        met = same == (self.sign == "=")
        return Judgement(self.text, "failed" if met else "passed", None, said)


def parse_condition(text: str) -> Condition | VerdictCondition:
    """A condition from its text; what can't be read is refused in one sentence.

    Examples
    --------
    >>> parse_condition("auc > 0.6").part is None
    True
    """
    if not isinstance(text, str):
        raise InputError(f"a condition is a text, such as “auc.high > 0.6”, not {safe_text(repr(text))}")
    is_verdict = re.match(r"\s*verdict\s*[=!]", text) is not None
    return VerdictCondition.parse(text) if is_verdict else Condition.parse(text)


def span(estimate: Estimate, part: str | None) -> tuple[float, float]:
    """Where the number that a condition is about can lie.

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


def _hidden_columns(audit: Findings) -> list[str]:
    """Columns that were named as groups and have none of a size that is shown: other groups don't speak for them."""
    shown = {group.column for group in audit.strongest.by_group}
    return [safe_text(name) for name in audit.settings.get("groups") or [] if name not in shown]


def _split(text: str) -> tuple[str | None, str]:
    """The release, if one is named, and the rest: a release may have colons of its own, what follows it has none."""
    release, colon, rest = " ".join(text.split()).rpartition(":")
    return (release.strip() if colon else None), rest.strip()


def _number(text: str, shown: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"“{shown}” compares with something that is not a number: write for example “auc.high > 0.6”")
    return number


def _why_uncertain(estimate: Estimate) -> str:
    if estimate.kind in ("upper bound", "lower bound"):
        return f"only {'an' if estimate.kind == 'upper bound' else 'a'} {estimate.kind} is known"
    return "the limit lies inside the interval"
