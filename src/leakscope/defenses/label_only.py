"""Label only: the predicted class leaves, and no probability.

The answer is 1 for the most probable class and 0 for the others, the first of equally probable ones (as a defense Shokri et
al. 2017, section VIII). Labels still tell members from others where the model is right about more members than others, and
asked about slightly changed records they tell more: Choquette-Choo et al. 2021 and Li and Zhang 2021 attack them in this way
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
    """The predicted class alone; there is one setting, ``labels``.

    Examples
    --------
    >>> import numpy as np
    >>> LabelOnly().defend(None, "labels").answers(np.array([[0.3, 0.7]]))
    array([[0., 1.]])
    """

    name: ClassVar[str] = "label-only"
    knob: ClassVar[str] = "answers"
    what: ClassVar[str] = "only the predicted class is told, and no probability"
    source: ClassVar[str] = "Shokri et al. 2017, section VIII; attacked by Choquette-Choo et al. 2021"
    refuse = staticmethod(refuse_without_probabilities)

    @property
    def settings(self) -> tuple[str, ...]:
        """The one setting."""
        return ("labels",)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The answers as labels."""
        return Defended(keeps_labels=True, answers=say_labels)
