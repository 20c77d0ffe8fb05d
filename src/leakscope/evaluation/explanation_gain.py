"""Extra leakage of an explanation beyond the prediction: the same attack with and without it, on the same records.

The attacker reads the prediction and the true label, and in a second run the explanation too, with the same kind of
classifier. The difference of the two is the extra leakage [shokri2019, Observation 4.3, where the paper finds none]. It is
paired: both runs are judged on the same records, which makes its interval much narrower than that of either. The interval
can be below 0, since uninformative inputs can make a classifier worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from leakscope.core import intervals
from leakscope.core.estimate import Estimate
from leakscope.core.ranking import Scale, ScoreSplit, Stratum, split
from leakscope.evaluation.results import Extra
from leakscope.evaluation.risk import Judged, JudgedAttack


def extra_leakage(without: JudgedAttack, together: JudgedAttack, prediction: str, confidence: float) -> Extra:
    """Compare an attack on the prediction and the explanation with one on the prediction alone.

    Parameters
    ----------
    without, together
        The two attacks, judged on the same records in the same halves.
    prediction
        The prediction that both read.
    confidence
        Confidence of every interval.
    """
    added = auc_difference(together.target, without.target, confidence)
    control = None
    if without.control is not None and together.control is not None:
        control = auc_difference(together.control, without.control, confidence)
    return Extra(
        release=together.attack.release,
        prediction=prediction,
        auc=added,
        advantage=advantage_difference(together.target, without.target, confidence),
        without=intervals.auc(without.target.ranking, confidence),
        together=intervals.auc(together.target.ranking, confidence),
        control=control,
        beyond_control=None if control is None else intervals.difference(added, control),
    )


def auc_difference(together: Judged, without: Judged, confidence: float, *, fits: Scale | None = None) -> Estimate:
    """Return the difference of two attacks' AUCs on the same records and strata; ``fits`` as in `advantage_difference`."""
    found = intervals.paired_auc_difference(together.scores, without.scores)(confidence)
    if fits is None:
        return found
    aucs = [
        [
            Stratum(np.sort(part.members), np.sort(part.nonmembers)).auc
            for part in split(one.attack_scores.score, one.member, fits)
        ]
        for one in (together, without)
    ]
    return _over_fits(found, [ours - theirs for ours, theirs in zip(*aucs, strict=True)])


def advantage_difference(
    together: Judged, without: Judged, confidence: float, *, fits: Scale | None = None
) -> Estimate:
    """Return the difference of two advantages, from the changes of the decisions, which are in [-1, 1].

    ``fits`` states which records each fit of the attack has judged, for models with few distinct predictions. A small change
    of a fit then moves whole groups of records across the threshold, which a standard error over records does not include.
    The interval is at least as wide as Student's interval over the fits.
    """
    change = (together.attack_scores.says_member - without.attack_scores.says_member + 1) / 2
    parts: list[ScoreSplit] = split(change, together.member, together.scale)
    half = intervals.mean_difference(parts, confidence)
    low, high = max(-2.0, 2 * half.low), min(2.0, 2 * half.high)
    found = replace(half, value=2 * half.value, low=low, high=high, method="Agresti-Caffo, paired")
    if fits is None:
        return found
    changes = split(2 * change, together.member, fits)
    return _over_fits(found, [float(np.mean(part.members) - np.mean(part.nonmembers)) for part in changes])


def _over_fits(found: Estimate, fits: Sequence[float]) -> Estimate:
    """Widen an interval over records to Student's interval over the fits of the attack, if that is wider."""
    error = float(np.std(fits, ddof=1)) / math.sqrt(len(fits))
    half = float(special.stdtrit(len(fits) - 1, 0.5 + found.confidence / 2)) * error
    low, high = min(found.low, found.value - half), max(found.high, found.value + half)
    return replace(found, low=max(-2.0, low), high=min(2.0, high), method=f"{found.method}, or Student over fits")
