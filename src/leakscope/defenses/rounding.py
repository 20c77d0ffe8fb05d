r"""Rounding: release probabilities, or predicted values, with few digits.

Probabilities are rounded to a number of decimal places and divided by their sum, so that they remain probabilities; if all
become 0, all are set equal. The predicted class does not change: if rounding makes it equal to or smaller than another (0.46
and 0.54 both become 0.5), it is set larger by :math:`10^{-9}`. An attacker therefore sees the label and the rounded numbers,
and nothing else (Shokri et al. 2017, section VIII, round probabilities and do not mention ties).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.models.target import Target

#: Margin of the predicted class over a class that would otherwise replace it.
AHEAD = 1e-9


@dataclass(frozen=True)
class Rounding(Tunable):
    """Round outputs to a number of decimal places.

    Examples
    --------
    >>> Rounding([1]).defend(None, 1).answers(np.array([[0.86, 0.14]]))
    array([[0.9, 0.1]])
    """

    digits: Any = (3, 1)

    name: ClassVar[str] = "round"
    setting_name: ClassVar[str] = "digits"
    what: ClassVar[str] = "outputs are rounded to a few digits"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII"
    allowed = whole_numbers("digits", 0, 15)

    def refuse(self, target: Target) -> str | None:
        """Refuse models that release labels only."""
        if target.model.task == "classification" and not target.model.gives_probabilities:
            return "it releases labels only, so that there is nothing to round"
        return None

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Release rounded outputs."""
        return Defended(keeps_labels=True, answers=partial(_round, int(setting)))


def _round(digits: int, answers: Floats) -> Floats:
    rounded = np.round(answers, digits)
    if rounded.ndim == 1:
        return rounded
    sums = rounded.sum(axis=1, keepdims=True)
    shares = np.where(sums > 0, rounded / np.where(sums > 0, sums, 1.0), 1 / rounded.shape[1])
    return keep_prediction(answers, shares)


def refuse_without_probabilities(target: Target) -> str | None:
    """Return why the model has no probabilities to change, as the end of a sentence, or None if it has."""
    if target.model.task == "regression":
        return "it is a regression model, and this defense changes probabilities"
    if not target.model.gives_probabilities:
        return "it releases labels only, and this defense changes probabilities"
    return None


def keep_prediction(before: Floats, after: Floats) -> Floats:
    """Return the changed probabilities with the same predicted class, set larger by 1e-9 if necessary.

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
