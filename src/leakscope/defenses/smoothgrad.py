"""SmoothGrad: average the gradient over noisy copies of the record (Smilkov et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from leakscope.defenses.defense import Allowed, Defended, Tunable
from leakscope.defenses.explained import smoothed
from leakscope.models.target import Target


@dataclass(frozen=True)
class SmoothGrad(Tunable):
    """Replace explanations by SmoothGrad with noise of a standard deviation in units of the explained columns.

    Examples
    --------
    >>> SmoothGrad([0.5]).defend(None, 0.5).explanation("gradient")
    'smoothgrad:sigma=0.5'
    """

    sigmas: Any = (0.2, 1.0)

    name: ClassVar[str] = "smoothgrad"
    setting_name: ClassVar[str] = "noise deviation"
    what: ClassVar[str] = "feature explanations are averaged over noisy copies of the record"
    source: ClassVar[str] = "Smilkov et al. 2017; as a defense shokri2019, section 4.5"
    allowed = Allowed("the standard deviation of the noise", lambda value: value > 0, "above 0")

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Replace the explanation by SmoothGrad."""
        return Defended(explanation=partial(smoothed, sigma=float(setting)))
