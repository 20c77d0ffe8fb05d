"""Top features: release only the largest values of a feature explanation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.defenses.explained import changed
from leakscope.models.target import Target


@dataclass(frozen=True)
class TopFeatures(Tunable):
    """Release only the explanation's values of largest magnitude; the others are 0.

    Examples
    --------
    >>> TopFeatures([3]).defend(None, 3).explanation("gradient")
    'gradient:top=3'
    """

    features: Any = (5, 1)

    name: ClassVar[str] = "top-features"
    setting_name: ClassVar[str] = "features shown"
    what: ClassVar[str] = "feature explanations show only the most important features"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII (top-k probabilities), applied to explanations"
    allowed = whole_numbers("features shown")

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Return the explanation with this number of features."""
        return Defended(explanation=partial(changed, top=int(setting)))
