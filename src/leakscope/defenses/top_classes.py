r"""Top classes: release the probabilities of the k most probable classes only; the others share the rest equally.

With :math:`p_{(1)} \ge \dots \ge p_{(c)}` the output is :math:`p_{(1)}, …, p_{(k)}` and
:math:`(1 - p_{(1)} - … - p_{(k)})/(c - k)` for every other class. Shokri et al. 2017, section VIII, omit the others; equal shares
reveal as little and remain probabilities. Of equally probable classes the first ranks first, so that the predicted class is
always shown. The probabilities of all classes but one determine the last: k = c - 1 hides nothing.
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

ALL_SHOWN = "the classes shown determine the probabilities of all others, so that this hides nothing"


@dataclass(frozen=True)
class TopClasses(Tunable):
    """Release the probabilities of the most probable classes only.

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
    setting_name: ClassVar[str] = "classes"
    what: ClassVar[str] = "only the probabilities of the most probable classes are released"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII"
    allowed = whole_numbers("number of classes")

    def refuse(self, target: Target) -> str | None:
        """Refuse models without probabilities, or with fewer than two hidden classes."""
        if reason := refuse_without_probabilities(target):
            return reason
        shown = min(self.settings)
        if _all_shown(shown, target):
            return f"it has {_number(target)} classes, and the probabilities of {shown} determine those of all"
        return None

    def defend(self, target: Target, setting: Any) -> Defended:
        """Release this number of classes."""
        notes = (ALL_SHOWN,) if _all_shown(int(setting), target) else ()
        return Defended(keeps_labels=True, answers=partial(_show, int(setting)), notes=notes)


def _number(target: Target) -> int:
    return 0 if target.model.classes is None else len(target.model.classes)


def _all_shown(shown: int, target: Target) -> bool:
    return shown >= _number(target) - 1


def _show(shown: int, answers: Floats) -> Floats:
    hidden = np.argsort(-answers, axis=1, kind="stable")[:, shown:]
    if hidden.shape[1] == 0:
        return answers
    rest = np.take_along_axis(answers, hidden, axis=1)
    changed = answers.copy()
    np.put_along_axis(changed, hidden, rest.mean(axis=1, keepdims=True), axis=1)
    return keep_prediction(answers, changed)  # rounding may make a mean larger than its parts
