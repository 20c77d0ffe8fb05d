"""Changes of feature explanations by defenses: from the name of an explanation to the name of the defended one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leakscope.releases.feature_explanations import FeatureExplanation, parse


def changed(name: str, **settings: Any) -> str:
    """Change some settings of an explanation.

    Examples
    --------
    >>> changed("gradient:digits=2", top=5)
    'gradient:top=5:digits=2'
    """
    return replace(parse(name), **settings).name


def smoothed(name: str, sigma: float) -> str:
    """Replace a derivative by SmoothGrad and keep the other settings of the explanation.

    Examples
    --------
    >>> smoothed("gradient:top=5", sigma=0.5)
    'smoothgrad:sigma=0.5:top=5'
    """
    given = parse(name)
    kept = {item: getattr(given, item) for item in ("output", "noise", "normalised", "top", "decimals", "digits")}
    if given.method not in ("gradient", "smoothgrad"):
        kept["output"] = None
    return FeatureExplanation("smoothgrad", sigma=sigma, **kept).name
