r"""Temperature: make probabilities more equal by temperature scaling, :math:`p_c' \propto p_c^{1/T}`.

This is the softmax of :math:`\ln p_c / T`, and so of the model's scores divided by T (Guo et al. 2017, section 4.2; as a
defense Shokri et al. 2017, section VIII). At T = 1 nothing changes. As T grows, all classes of positive probability become
equally probable; a probability of exactly 0 remains 0. The order of the classes does not change.

**It is invertible.** Raising the outputs to the power T and dividing by their sum restores the original ones, up to rounding
error. With two classes, an attacker need not even do this: :math:`p_y'` increases with :math:`p_y`, so that an attack that
compares losses ranks all records as before. It only affects attacks that rely on the losses of the original model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from leakscope.core.arrays import Floats
from leakscope.defenses.defense import Allowed, Defended, Tunable
from leakscope.defenses.rounding import keep_prediction, refuse_without_probabilities
from leakscope.models.target import Target

UNDONE = "anyone who knows the temperature can invert it, so that it hides nothing"


@dataclass(frozen=True)
class Temperature(Tunable):
    """Make probabilities more equal by a temperature of at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> Temperature(2).defend(None, 2).answers(np.array([[0.8, 0.2]])).round(3)
    array([[0.667, 0.333]])
    """

    temperatures: Any = (2.0, 5.0)

    name: ClassVar[str] = "temperature"
    setting_name: ClassVar[str] = "temperature"
    what: ClassVar[str] = "probabilities are made more equal, so that the model appears less confident"
    source: ClassVar[str] = "Guo et al. 2017, section 4.2; Shokri et al. 2017, section VIII"
    allowed = Allowed("temperature", lambda value: value >= 1, "1 or more")
    refuse = staticmethod(refuse_without_probabilities)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Release outputs at this temperature."""
        return Defended(keeps_labels=True, answers=partial(_temper, float(setting)), notes=(UNDONE,))


def _temper(temperature: float, answers: Floats) -> Floats:
    # Dividing by the largest probability prevents underflow, and 0 remains 0.
    powers = (answers / answers.max(axis=1, keepdims=True)) ** (1 / temperature)
    return keep_prediction(answers, powers / powers.sum(axis=1, keepdims=True))
