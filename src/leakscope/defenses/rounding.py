"""Rounding: probabilities, or predicted values, leave with few digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from leakscope.defenses.defense import Defended, Floats, read_settings
from leakscope.target import Target


@dataclass(frozen=True)
class Rounding:
    """Answers rounded to so many digits after the point.

    Rounded probabilities are divided by their sum, so that they stay probabilities; where all become 0, all are equal.

    Examples
    --------
    >>> Rounding([1]).defend(None, 1).answers(np.array([[0.86, 0.14]]))
    array([[0.9, 0.1]])
    """

    digits: Any = (3, 1)

    name: ClassVar[str] = "round"
    knob: ClassVar[str] = "digits"
    what: ClassVar[str] = "answers are rounded to a few digits"
    source: ClassVar[str] = "Shokri et al. 2017, section VII"
    stronger: ClassVar[Literal["larger", "smaller", ""]] = "smaller"

    def __post_init__(self) -> None:
        _ = self.settings

    @property
    def settings(self) -> tuple[int, ...]:
        """Numbers of digits."""
        return read_settings(self.digits, "digits", lambda value: value == int(value) and 0 <= value <= 15, "0 to 15")

    def refuse(self, target: Target) -> str | None:
        """Only a model that says labels alone has nothing to round."""
        if target.model.task == "classification" and not target.model.gives_probabilities:
            return "it gives labels only, and there is nothing to round"
        return None

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The answers, rounded."""
        return Defended(answers=_Rounded(int(setting)))


@dataclass(frozen=True)
class _Rounded:
    digits: int

    def __call__(self, answers: Floats) -> Floats:
        rounded = np.round(answers, self.digits)
        if rounded.ndim == 1:
            return rounded
        sums = rounded.sum(axis=1, keepdims=True)
        return np.where(sums > 0, rounded / np.where(sums > 0, sums, 1.0), 1 / rounded.shape[1])
