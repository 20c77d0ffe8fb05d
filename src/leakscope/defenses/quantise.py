"""Quantisation: the values of an explanation are rounded to a few significant digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.defenses.explained import Changed
from leakscope.models.target import Target


@dataclass(frozen=True)
class Quantise(Tunable):
    """Explanations are rounded to so many significant digits.

    Examples
    --------
    >>> Quantise([1]).defend(None, 1).explanation("gradient")
    'gradient:digits=1'
    """

    digits: Any = (2, 1)

    name: ClassVar[str] = "quantise"
    knob: ClassVar[str] = "significant digits"
    what: ClassVar[str] = "explanations are rounded to a few digits"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII (rounded answers), carried to explanations"
    allowed = whole_numbers("significant digits", 1, 15)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The explanation, rounded."""
        return Defended(explanation=Changed({"digits": int(setting)}))
