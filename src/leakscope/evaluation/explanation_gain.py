"""What an explanation gives away once the prediction is out: the same attack with and without it, on the same records.

The attacker holds the prediction and the true label, and in a second run the explanation too, with the same kind of
classifier over all features of the first. The difference of the two is the extra leakage [shokri2019, Observation 4.3, where
the paper finds none]. It is paired: both runs are judged on the same records, which makes its interval much narrower than
that of either. The interval may lie below 0, since a classifier that is offered what does not help can do worse by it.
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


def extra_leakage(without: JudgedAttack, together: JudgedAttack, beside: str, confidence: float) -> Extra:
    """Compare an attack on the prediction and the explanation with one on the prediction alone.

    Parameters
    ----------
    without, together
        The two attacks, judged on the same records in the same halves.
    beside
        The prediction that both know.
    confidence
        Confidence of every interval.
    """
    added = auc_difference(together.target, without.target, confidence)
    control = None
    if without.control is not None and together.control is not None:
        control = auc_difference(together.control, without.control, confidence)
    return Extra(
        release=together.attack.release,
        beside=beside,
        auc=added,
        advantage=advantage_difference(together.target, without.target, confidence),
        without=intervals.auc(without.target.ranking, confidence),
        together=intervals.auc(together.target.ranking, confidence),
        control=control,
        beyond_control=None if control is None else intervals.difference(added, control),
    )


def auc_difference(together: Judged, without: Judged, confidence: float, *, fits: Scale | None = None) -> Estimate:
    """Return the difference of the AUCs of two attacks on the same records in the same strata; ``fits`` as in `advantage_difference`."""
    found = intervals.paired_auc_difference(together.scores, without.scores)(confidence)
    if fits is None:
        return found
    aucs = [
        [
            Stratum(np.sort(part.members), np.sort(part.nonmembers)).auc
            for part in split(one.guesses.score, one.member, fits)
        ]
        for one in (together, without)
    ]
    return _over_fits(found, [ours - theirs for ours, theirs in zip(*aucs, strict=True)])


def advantage_difference(
    together: Judged, without: Judged, confidence: float, *, fits: Scale | None = None
) -> Estimate:
    """Return the difference of two advantages: changes of the decision lie in [-1, 1], half of them plus one half in [0, 1].

    ``fits`` says which records one fit of the attack has judged, for models with few distinct predictions. There a fit that
    changes slightly moves whole groups of records across the threshold, which no error over records includes. The interval is
    then at least as wide as Student's over the fits.
    """
    change = (together.guesses.says_member - without.guesses.says_member + 1) / 2
    parts: list[ScoreSplit] = split(change, together.member, together.scale)
    half = intervals.mean_difference(parts, confidence)
    low, high = max(-2.0, 2 * half.low), min(2.0, 2 * half.high)
    found = replace(half, value=2 * half.value, low=low, high=high, method="Agresti-Caffo, paired")
    if fits is None:
        return found
    changes = split(2 * change, together.member, fits)
    return _over_fits(found, [float(np.mean(part.members) - np.mean(part.nonmembers)) for part in changes])


def _over_fits(found: Estimate, fits: Sequence[float]) -> Estimate:
    """Widen an interval over records to Student's over the fits of the attack, where that is wider."""
    error = float(np.std(fits, ddof=1)) / math.sqrt(len(fits))
    half = float(special.stdtrit(len(fits) - 1, 0.5 + found.confidence / 2)) * error
    low, high = min(found.low, found.value - half), max(found.high, found.value + half)
    return replace(found, low=max(-2.0, low), high=min(2.0, high), method=f"{found.method}, or Student over fits")
