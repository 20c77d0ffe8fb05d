r"""Top classes: only the k most probable classes keep their probability, and the others share the rest evenly.

With :math:`p_{(1)} \ge \dots \ge p_{(c)}` the answer shows :math:`p_{(1)}, …, p_{(k)}` and
:math:`(1 - p_{(1)} - … - p_{(k)})/(c - k)` for every other class (Shokri et al. 2017, section VIII, who leave the others out;
shared evenly they stay probabilities, and say as little). Of classes that are equally probable the first is taken first, so
that the predicted class is always shown. All but one of the classes tell the last one too: k = c - 1 hides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.defenses.rounding import keep_prediction, refuse_without_probabilities
from leakscope.models.target import Target

ALL_TOLD = "the classes shown tell the probabilities of all others too: this hides nothing"


@dataclass(frozen=True)
class TopClasses(Tunable):
    """The probabilities of so many classes, the most probable ones.

    Examples
    --------
    >>> from leakscope.models.target import make_target
    >>> from leakscope.toys import constant_model
    >>> X, y = np.zeros((4, 1)), np.arange(4)
    >>> target = make_target(constant_model(4), (X, y), (X, y))
    >>> TopClasses(1).defend(target, 1).answers(np.array([[0.1, 0.7, 0.2, 0.0]])).round(3)
    array([[0.1, 0.7, 0.1, 0.1]])
    """

    classes: Any = (1, 3)

    name: ClassVar[str] = "top-classes"
    knob: ClassVar[str] = "classes"
    what: ClassVar[str] = "only the most probable classes are shown with their probability"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII"
    allowed = whole_numbers("number of classes")

    def refuse(self, target: Target) -> str | None:
        """There must be probabilities, and two classes at least that stay hidden."""
        if reason := refuse_without_probabilities(target):
            return reason
        shown = min(self.settings)
        if _all_told(shown, target):
            return f"it has {_number(target)} classes, and to show {shown} of them tells the probability of all"
        return None

    def defend(self, target: Target, setting: Any) -> Defended:
        """The answers with so many classes shown."""
        notes = (ALL_TOLD,) if _all_told(int(setting), target) else ()
        return Defended(keeps_labels=True, answers=partial(_show, int(setting)), notes=notes)


def _number(target: Target) -> int:
    return 0 if target.model.classes is None else len(target.model.classes)


def _all_told(shown: int, target: Target) -> bool:
    return shown >= _number(target) - 1


def _show(shown: int, answers: Floats) -> Floats:
    hidden = np.argsort(-answers, axis=1, kind="stable")[:, shown:]
    if hidden.shape[1] == 0:
        return answers
    rest = np.take_along_axis(answers, hidden, axis=1)
    changed = answers.copy()
    np.put_along_axis(changed, hidden, rest.mean(axis=1, keepdims=True), axis=1)
    return keep_prediction(answers, changed)  # a mean may be rounded above its parts
