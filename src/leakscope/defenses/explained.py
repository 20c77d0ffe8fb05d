"""Changes of feature explanations by defenses: from the name of an explanation to the name of the defended one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from leakscope.releases.feature_explanations import FeatureExplanation, parse


@dataclass(frozen=True)
class ChangedExplanation:
    """Changes some settings of an explanation.

    Examples
    --------
    >>> ChangedExplanation({"top": 5})("gradient:digits=2")
    'gradient:top=5:digits=2'
    """

    settings: dict[str, Any]

    def __call__(self, name: str) -> str:
        return replace(parse(name), **self.settings).name


@dataclass(frozen=True)
class Smoothed:
    """Replaces a derivative by SmoothGrad and keeps the other settings of the explanation.

    Examples
    --------
    >>> Smoothed(0.5)("gradient:top=5")
    'smoothgrad:sigma=0.5:top=5'
    """

    sigma: float

    def __call__(self, name: str) -> str:
        given = parse(name)
        kept = {item: getattr(given, item) for item in ("output", "noise", "normalised", "top", "decimals", "digits")}
        if given.method not in ("gradient", "smoothgrad"):
            kept["output"] = None
        return FeatureExplanation("smoothgrad", sigma=self.sigma, **kept).name
