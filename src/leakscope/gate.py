"""Conditions that a release pipeline sets: ``auc.high > 0.6`` fails the gate if it holds for the strongest attack.

``extra`` is what an explanation adds to the AUC of the prediction, for the explanation that adds the most.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass

from leakscope.errors import InputError
from leakscope.results import Audit, Estimate

COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
FIGURES = ("auc", "advantage", "accuracy", "tpr_at_fpr[RATE]", "group_gap", "extra")
_FORM = re.compile(
    r"\s*(?P<figure>[a-z_]+)\s*(?:\[\s*(?P<rate>[^\]]*?)\s*\])?\s*(?:\.\s*(?P<part>\w+))?"
    r"\s*(?P<sign>>=|<=|>|<)\s*(?P<limit>\S+)\s*"
)


@dataclass(frozen=True)
class Condition:
    """One condition, checked before the audit for form and after it for truth.

    Examples
    --------
    >>> condition = Condition.parse("tpr_at_fpr[0.01].high > 0.05")
    >>> condition.figure, condition.rate, condition.part, condition.limit
    ('tpr_at_fpr', 0.01, 'high', 0.05)
    >>> Condition.parse("uac > 0.6")
    Traceback (most recent call last):
    leakscope.errors.InputError: unknown figure “uac” in “uac > 0.6”: use auc, advantage, accuracy, tpr_at_fpr[RATE], group_gap, extra
    """

    text: str
    figure: str
    rate: float | None
    part: str
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        found = _FORM.fullmatch(text)
        if found is None:
            raise InputError(f"can't read the condition “{text}”: write for example “auc.high > 0.6”")
        figure, part = found["figure"], found["part"] or "value"
        if figure not in ("auc", "advantage", "accuracy", "tpr_at_fpr", "group_gap", "extra"):
            raise InputError(f"unknown figure “{figure}” in “{text}”: use {', '.join(FIGURES)}")
        if part not in ("value", "low", "high"):
            raise InputError(f"unknown part “.{part}” in “{text}”: use .value, .low or .high")
        if (figure == "tpr_at_fpr") != (found["rate"] is not None):
            raise InputError(f"a false-positive rate in brackets goes with tpr_at_fpr and only there: “{text}”")
        try:
            rate = None if found["rate"] is None else float(found["rate"])
            limit = float(found["limit"])
            if not (math.isfinite(limit) and math.isfinite(rate or 0.0)):
                raise ValueError(text)
        except ValueError as error:
            raise InputError(f"“{text}” compares with something that is not a number") from error
        return cls(text.strip(), figure, rate, part, found["sign"], limit)

    def check(self, rates: tuple[float, ...], groups: bool, explanations: bool = True) -> None:
        """Refuse, before anything is computed, a condition that this audit will have no number for."""
        if self.figure == "extra" and not explanations:
            raise InputError(
                f"“{self.text}” needs an explanation beside a prediction: --releases probabilities,gradient"
            )
        if self.rate is not None and self.rate not in rates:
            raise InputError(
                f"“{self.text}” asks for a rate that isn't measured: use {', '.join(f'{r:g}' for r in rates)}"
            )
        if self.figure == "group_gap" and not groups:
            raise InputError(f"“{self.text}” needs groups: name their columns with --groups")

    def holds(self, audit: Audit) -> bool:
        """Whether the condition is true of the strongest attack, which means that the gate fails."""
        number = getattr(self.estimate(audit), self.part)
        return bool(COMPARE[self.sign](number, self.limit))

    def estimate(self, audit: Audit) -> Estimate:
        risk = audit.strongest
        if self.figure == "extra":
            self.check((), groups=True, explanations=bool(audit.extras))
            return max((extra.auc for extra in audit.extras), key=lambda added: float(getattr(added, self.part)))
        if self.rate is not None:
            return risk.tpr_at_fpr[self.rate]
        found = getattr(risk, self.figure)
        if found is None:
            raise InputError(f"“{self.text}” needs groups of at least the smallest size that is reported")
        return found  # type: ignore[no-any-return]
