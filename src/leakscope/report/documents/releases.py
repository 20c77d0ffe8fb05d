"""Names of releases, and what an attack on one of them finds, for lay readers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from leakscope.core.estimate import Estimate
from leakscope.core.wording import count, name, out_of, percent
from leakscope.evaluation.results import Largest, ReleaseRisk, Risk

#: The false-positive rate that sentences use where the sample supports it.
USUAL_RATE = 0.01
LOSSES = ("log_loss", "likelihood_loss", "squared_error")
_NAMES = {
    "labels": "Predicted label",
    "label_stability": "Predicted label, with changed copies",
    "boundary_distance": "Predicted label, with points around the record",
    "probabilities": "Probabilities",
    "predictions": "Predicted value",
    "parameters": "Parameters (the model file)",
    "explanations": "Feature explanations",
    "record explanations": "Record explanations",
} | dict.fromkeys(LOSSES, "Loss (true label known)")


def release_name(release: str, task: str = "") -> str:
    """Return the name of a release; where the task is ``scores``, it is the name of a column of scores.

    Examples
    --------
    >>> release_name("log_loss"), release_name("gradient:top=5"), release_name("loss", "scores")
    ('Loss (true label known)', 'Explanation “gradient:top=5”', 'Score “loss”')
    """
    if task == "scores":
        return "Score" if release == "scores" else f"Score “{name(release)}”"
    return _NAMES.get(release) or f"Explanation “{name(release)}”"


def shown_rate(tpr_at_fpr: Mapping[float, Estimate]) -> float | None:
    """Return the false-positive rate to write about: 1 %, otherwise the smallest one that the sample supports, otherwise the largest.

    Examples
    --------
    >>> shown_rate({0.1: Estimate(0.3, 0.2, 0.4), 0.001: Estimate(0.5, 0, 0.5, kind="upper bound")})
    0.1
    """
    supported = [rate for rate, tpr in tpr_at_fpr.items() if tpr.kind in ("estimate", "exact")]
    if USUAL_RATE in supported:
        return USUAL_RATE
    return min(supported) if supported else max(tpr_at_fpr, default=None)


def in_plain_words(risk: Risk | ReleaseRisk) -> str:
    """State how many people are identified, or how often the attack is right about a pair, where that says more."""
    return in_pairs(risk) if speaks_in_pairs(risk) else identified(risk)


def identified(risk: Risk | ReleaseRisk) -> str:
    """State how many people an attacker identifies at a false-positive rate that the sample supports, or nothing."""
    rate = shown_rate(risk.tpr_at_fpr)
    if rate is None:
        return ""
    people = max(100, round(1 / rate))
    return (
        f"Of {count(people)} people in the training data, an attacker who accepts {_false_alarms(rate)} would identify "
        f"{out_of(people, risk.tpr_at_fpr[rate])}; guessing identifies {rate * people:.4g}."
    )


def in_pairs(risk: Risk | ReleaseRisk | Largest, attack: str = "the strongest attack") -> str:
    """State how often the attack is right about a pair of one member and one non-member."""
    return (
        f"Shown one person from the training data and one who was not in it, {attack} picks the right one {out_of(100, risk.auc)} times out of 100; a "
        "coin gets 50."
    )


def speaks_in_pairs(risk: Risk | ReleaseRisk) -> bool:
    """Tell whether the AUC is significantly above chance and the number of people found is not."""
    rate = shown_rate(risk.tpr_at_fpr)
    return rate is None or (risk.auc.low > 0.5 and risk.tpr_at_fpr[rate].low <= rate)


def _false_alarms(rate: float) -> str:
    per = 1 / rate
    if math.isclose(per, round(per)):
        return f"1 false alarm per {count(round(per))} non-members"
    return f"false alarms for {percent(rate)} of the non-members"
