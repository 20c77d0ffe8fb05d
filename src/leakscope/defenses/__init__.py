"""Defenses, one file each, with settings, source and, if proven, a guarantee of differential privacy.

Pass an instance to `leakscope.compare`, or its short name in `DEFENSES` to ``leakscope compare --defenses``.
"""

from typing import Any

from leakscope.bounds.guarantee import Guarantee
from leakscope.core.lazy import lazy_names
from leakscope.defenses.defense import Defended, Defense, apply

#: Short name to file and class; each is imported at first use.
DEFENSES: dict[str, tuple[str, str]] = {
    "l2": ("l2", "L2"),
    "early-stopping": ("early_stopping", "EarlyStopping"),
    "dropout": ("dropout", "Dropout"),
    "fewer-features": ("fewer_features", "FewerFeatures"),
    "components": ("components", "Components"),
    "more-data": ("more_data", "MoreData"),
    "distillation": ("distillation", "Distillation"),
    "parameter-noise": ("parameter_noise", "ParameterNoise"),
    "objective-perturbation": ("objective_perturbation", "ObjectivePerturbation"),
    "dp-sgd": ("dp_sgd", "DPSGD"),
    "pate": ("pate", "PATE"),
    "causal-features": ("causal_features", "CausalFeatures"),
    "irm": ("irm", "IRM"),
    "adversarial": ("adversarial", "AdversarialRegularisation"),
    "leakage-penalty": ("leakage_penalty", "LeakagePenalty"),
    "round": ("rounding", "Rounding"),
    "top-classes": ("top_classes", "TopClasses"),
    "temperature": ("temperature", "Temperature"),
    "label-only": ("label_only", "LabelOnly"),
    "memguard": ("memguard", "MemGuard"),
    "smoothgrad": ("smoothgrad", "SmoothGrad"),
    "top-features": ("top_features", "TopFeatures"),
    "quantise": ("quantise", "Quantise"),
    "fewer-records": ("fewer_records", "FewerRecords"),
    "round-influences": ("rounded_influences", "RoundedInfluences"),
    "query-budget": ("query_budget", "QueryBudget"),
}
_HOMES = {kind: f".{home}" for home, kind in DEFENSES.values()}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

__all__ = ["DEFENSES", "Defended", "Defense", "Guarantee", "apply", *_HOMES]


def find(name: str) -> Any:
    """Return the class of a defense by its short name.

    Examples
    --------
    >>> find("round").setting_name
    'digits'
    """
    return __getattr__(DEFENSES[name][1])
