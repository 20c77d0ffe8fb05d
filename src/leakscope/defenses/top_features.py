"""Top features: an explanation shows only its largest values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, read_settings
from leakscope.defenses.explained import Changed
from leakscope.target import Target


@dataclass(frozen=True)
class TopFeatures:
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

    def __post_init__(self) -> None:
        _ = self.settings

    @property
    def settings(self) -> tuple[int, ...]:
        """Numbers of features."""
        return read_settings(
            self.features,
            "features shown",
            lambda value: value == int(value) and value >= 1,
            "a whole number from 1 on",
        )

    def refuse(self, target: Target) -> str | None:  # noqa: ARG002
        """None: whether a model can be explained is asked for the explanation itself."""
        return None

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The explanation, cut."""
        return Defended(explanation=Changed({"top": int(setting)}))
