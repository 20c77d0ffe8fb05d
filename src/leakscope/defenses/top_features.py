"""Top features: an explanation shows only its largest values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.defenses.explained import Changed
from leakscope.models.target import Target


@dataclass(frozen=True)
class TopFeatures(Tunable):
    """Explanations show the values of so many features, those of largest magnitude; the others are 0.

    Examples
    --------
    >>> TopFeatures([3]).defend(None, 3).explanation("gradient")
    'gradient:top=3'
    """

    features: Any = (5, 1)

    name: ClassVar[str] = "top-features"
    knob: ClassVar[str] = "features shown"
    what: ClassVar[str] = "explanations show the few most important features only"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII (top-k answers), carried to explanations"
    allowed = whole_numbers("features shown")

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The explanation, cut."""
        return Defended(explanation=Changed({"top": int(setting)}))
