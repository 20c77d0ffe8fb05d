"""Label only: release the predicted class without probabilities.

The output is 1 for the most probable class (the first of equal ones) and 0 for the others (as a defense Shokri et al. 2017,
section VIII). Labels still distinguish members from non-members if the model is more accurate on members. Labels of slightly
changed records reveal more: Choquette-Choo et al. 2021 and Li and Zhang 2021 attack in this way
(`leakscope.attacks.label_only`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, say_labels
from leakscope.defenses.rounding import refuse_without_probabilities
from leakscope.models.target import Target


@dataclass(frozen=True)
class LabelOnly:
    """Release the predicted class only; there is one setting, ``labels``.

    Examples
    --------
    >>> import numpy as np
    >>> LabelOnly().defend(None, "labels").answers(np.array([[0.3, 0.7]]))
    array([[0., 1.]])
    """

    name: ClassVar[str] = "label-only"
    setting_name: ClassVar[str] = "answers"
    what: ClassVar[str] = "only the predicted class is released, without probabilities"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII; attacked by Choquette-Choo et al. 2021"
    refuse = staticmethod(refuse_without_probabilities)

    @property
    def settings(self) -> tuple[str, ...]:
        """The one setting."""
        return ("labels",)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Release labels."""
        return Defended(keeps_labels=True, answers=say_labels)
