"""Quantisation: round the values of a feature explanation to a few significant digits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.defenses.explained import changed
from leakscope.models.target import Target


@dataclass(frozen=True)
class Quantise(Tunable):
    """Round feature explanations to a number of significant digits.

    Examples
    --------
    >>> Quantise([1]).defend(None, 1).explanation("gradient")
    'gradient:digits=1'
    """

    digits: Any = (2, 1)

    name: ClassVar[str] = "quantise"
    setting_name: ClassVar[str] = "significant digits"
    what: ClassVar[str] = "feature explanations are rounded to a few digits"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII (rounded probabilities), applied to explanations"
    allowed = whole_numbers("significant digits", 1, 15)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Return the rounded explanation."""
        return Defended(explanation=partial(changed, digits=int(setting)))
