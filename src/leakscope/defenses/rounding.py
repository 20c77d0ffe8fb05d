r"""Rounding: probabilities, or predicted values, leave with few digits.

Probabilities are rounded to so many digits after the point and divided by their sum, so that they stay probabilities; where
all become 0, all are equal. The predicted class stays what it was: where rounding leaves it level with others, or behind
them (0.46 and 0.54 both become 0.5), it is put ahead by :math:`10^{-9}`. An attacker therefore gets the label and the
rounded numbers, and nothing else (Shokri et al. 2017, section VIII, round probabilities and say nothing of ties).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.models.target import Target

#: By how much the predicted class is put ahead of another that would have taken its place.
AHEAD = 1e-9


@dataclass(frozen=True)
class Rounding(Tunable):
    """Answers rounded to so many digits after the point.

    Examples
    --------
    >>> Rounding([1]).defend(None, 1).answers(np.array([[0.86, 0.14]]))
    array([[0.9, 0.1]])
    """

    digits: Any = (3, 1)

    name: ClassVar[str] = "round"
    knob: ClassVar[str] = "digits"
    what: ClassVar[str] = "answers are rounded to a few digits"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII"
    allowed = whole_numbers("digits", 0, 15)

    def refuse(self, target: Target) -> str | None:
        """Only a model that says labels alone has nothing to round."""
        if target.model.task == "classification" and not target.model.gives_probabilities:
            return "it gives labels only, and there is nothing to round"
        return None

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The answers, rounded."""
        return Defended(keeps_labels=True, answers=partial(_round, int(setting)))


def _round(digits: int, answers: Floats) -> Floats:
    rounded = np.round(answers, digits)
    if rounded.ndim == 1:
        return rounded
    sums = rounded.sum(axis=1, keepdims=True)
    shares = np.where(sums > 0, rounded / np.where(sums > 0, sums, 1.0), 1 / rounded.shape[1])
    return keep_prediction(answers, shares)


def refuse_without_probabilities(target: Target) -> str | None:
    """Why there are no probabilities to change, as the end of a sentence, or None where there are."""
    if target.model.task == "regression":
        return "it predicts values, and this changes probabilities"
    if not target.model.gives_probabilities:
        return "it gives labels only, and this changes probabilities"
    return None


def keep_prediction(before: Floats, after: Floats) -> Floats:
    """Changed probabilities whose largest stands where it stood before, put ahead by 1e-9 where it does not.

    Examples
    --------
    >>> keep_prediction(np.array([[0.46, 0.54]]), np.array([[0.5, 0.5]])).argmax(axis=1)
    array([1])
    """
    top = before.argmax(axis=1)
    rows = np.flatnonzero(after.argmax(axis=1) != top)
    if not len(rows):
        return after
    kept = after.copy()
    kept[rows, top[rows]] = after[rows].max(axis=1) + AHEAD
    kept[rows] /= kept[rows].sum(axis=1, keepdims=True)
    return kept
