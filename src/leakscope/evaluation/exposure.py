r"""Exposure and membership evidence of each training record.

- *Exposure*: how vulnerable the record is whenever it is trained on. With reference models it is one minus the mean likelihood of its
  label under models of which half had it: hard records are vulnerable, and records with a low loss are not. Without references it is the
  rank of the record's score under the strongest attack.
- *Membership evidence*: a conformal p-value of "this record was not trained on" from the strongest attack on this model,
  :math:`p(x) = (1 + \#\{z : s(z) \ge s(x)\})/(n + 1)` over n non-members z. For records that were not trained on it is at most u with
  probability at most u (Vovk et al. 2005).

The p-values give the number of members that an attacker could name: the largest set that the Benjamini-Hochberg rule selects at
a false-discovery rate of 10 % from equally many members and non-members (Bates et al. 2023). The two figures are never combined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.ranking import Ranking, split
from leakscope.data.records import Records
from leakscope.evaluation.crossfit import Hashes, Sample
from leakscope.evaluation.evaluate import Evaluated
from leakscope.evaluation.results import NamedMembers, Procedure
from leakscope.evaluation.risk import Judged, exposure
from leakscope.evaluation.training import Fits
from leakscope.models.model import Task

#: False-discovery rate at which members are named.
DISCOVERY_RATE = 0.1


def p_values(sample: Sample, found: Evaluated, *, judged_only: bool) -> Floats:
    """Return the conformal p-value of each member, in the order of the training set; nan without a meaningful score."""
    judged, others = found.trial.target, found.others
    scores, member, stratum = judged.attack_scores.score, judged.member, judged.scale.stratum
    other_stratum = sample.other_half if stratum.any() else np.zeros(len(others), np.intp)
    everyone, strata = np.concatenate([scores[member], others]), np.concatenate([stratum[member], other_stratum])
    values = np.empty(len(everyone))
    values[sample.members] = 1 - exposure(everyone, strata, scores[~member], stratum[~member])
    if judged_only:
        values[sample.members[sample.judged :]] = np.nan
    return values


@dataclass(frozen=True, eq=False)
class Exposures:
    """Exposure of every member, in the order of the training set, with the ends of its interval; nan without one."""

    score: Floats
    low: Floats
    high: Floats


def exposure_by_references(
    sample: Sample, fits: Fits, inside: NDArray[np.bool_], task: Task, confidence: float, hashes: Hashes | None = None
) -> Exposures:
    r"""Return one minus the mean likelihood of each member, over the references if it or a copy is judged, else the halves.

    Half of the models in each mean had the record. The interval is over trainings of reference models, of which K/2 had the record and
    K/2 did not: with the variances :math:`s^2` among each, the mean over all K has variance
    :math:`(s_{in}^2 + s_{out}^2)/2K`, and Student's t has K - 2 degrees of freedom. It needs four references.

    Parameters
    ----------
    inside
        Which reference had which judged record, (references, judged).
    hashes
        Hashes of all members, which identify copies of judged members.
    """
    references, halves = fits.references[:, : sample.judged], fits.halves
    if task == "regression":
        scale = 2 * max(float(references.mean()), np.finfo(np.float64).tiny)
        references, halves = np.exp(-references / scale), np.exp(-halves / scale)
    score, reach = np.zeros(len(sample.members)), np.full(len(sample.members), np.nan)
    if len(halves):
        score = 1 - halves.mean(axis=0)
    judged = sample.members[: sample.judged]
    score[judged] = 1 - references.mean(axis=0)
    models = len(references)
    if models >= 4:
        variance = np.zeros(sample.judged)
        for part in (inside[:, : sample.judged], ~inside[:, : sample.judged]):
            mean = np.where(part, references, 0).sum(axis=0) / (models // 2)
            variance += (np.where(part, references - mean, 0) ** 2).sum(axis=0) / (models // 2 - 1)
        reach[judged] = stats.t.ppf((1 + confidence) / 2, models - 2) * np.sqrt(variance / (2 * models))
    if hashes is not None:
        twins, rest = sample.twins(hashes), sample.members[sample.judged :]
        for values in (score, reach):
            values[rest[twins >= 0]] = values[judged[twins[twins >= 0]]]
    return Exposures(score, np.maximum(score - reach, 0), np.minimum(score + reach, 1))


def record_table(members: Records, exposures: Exposures, evidence: Floats, more: Mapping[str, Any]) -> pd.DataFrame:
    """Build the table of exposure, interval, rank and membership evidence of every training record; ``more`` are columns."""
    shown, ids = pd.Series(exposures.score), pd.Series(members.ids)
    rank = shown.rank(method="min", ascending=False).astype("int64")
    names = ids if ids.dtype.kind in "iu" else ids.astype("str")
    columns = {"id": names, "score": shown, "low": exposures.low, "high": exposures.high, "rank": rank}
    return pd.DataFrame(columns | {"p_value": evidence} | dict(more))


def count_named(judged: Judged, confidence: float, seed: int) -> NamedMembers:
    """Count the judged members that an attacker could name at a false-discovery rate of 10 %.

    Half of the non-members calibrate the p-values of the others and of half of the members; then vice versa.

    Examples
    --------
    >>> from leakscope.attacks.protocol import Scores
    >>> from leakscope.core.ranking import Scale
    >>> member, one = np.repeat([True, False], 200), np.zeros(400, np.intp)
    >>> scores = np.where(np.arange(400) < 100, 9.0, np.random.default_rng(0).random(400))
    >>> count_named(Judged(Scores(scores, scores), member, Scale(one, one)), 0.95, seed=0).count >= 100
    True
    """
    rng, scores, stratum = np.random.default_rng(seed), judged.attack_scores.score, judged.scale.stratum
    part = np.empty(len(scores), np.intp)
    for side in (judged.member, ~judged.member):
        for number in np.unique(stratum):
            rows = rng.permutation(np.flatnonzero(side & (stratum == number)))
            part[rows] = np.arange(len(rows)) % 2
    named = np.zeros(len(scores), bool)
    for number in (0, 1):
        scale = ~judged.member & (part != number)
        asked = np.flatnonzero(part == number)
        p = 1 - exposure(scores[asked], stratum[asked], scores[scale], stratum[scale])
        named[asked[_benjamini_hochberg(p, DISCOVERY_RATE)]] = True
    count, members = int(named[judged.member].sum()), int(judged.member.sum())
    share = intervals.proportion(count, members, confidence)
    return NamedMembers(count, int(named[~judged.member].sum()), share, DISCOVERY_RATE)


def _benjamini_hochberg(p: Floats, rate: float) -> NDArray[np.bool_]:
    """Which hypotheses are rejected at a false-discovery rate."""
    ordered = np.sort(p)
    passed = np.flatnonzero(ordered <= rate * np.arange(1, len(p) + 1) / len(p))
    return np.asarray(p <= ordered[passed[-1]]) if len(passed) else np.zeros(len(p), bool)


def procedure_risk(fits: Fits, inside: NDArray[np.bool_], task: Task, confidence: float) -> Procedure | None:
    """Return the mean AUC of RMIA on each reference, with the other pairs as its references; None with one pair.

    The auditor drew the training sets of the references, so that there is no distribution shift. The spread over references shows how
    much the leak varies over trainings.

    Parameters
    ----------
    fits
        `Fits.references` holds the fit of the judged records under each reference.
    inside
        Which reference had which judged record.
    """
    models = len(fits.references)
    if models < 4:
        return None
    logs = _log_likelihood(fits.references, inside, task)
    aucs = []
    for model in range(models):
        others = logs[np.arange(models) // 2 != model // 2]
        top = others.max(axis=0)
        score = logs[model] - top - np.log(np.exp(others - top).mean(axis=0))
        aucs.append(Ranking.of(split(score, inside[model], None)).auc)
    return Procedure(intervals.mean_of_runs(np.array(aucs), confidence), models)


def _log_likelihood(fits: Floats, inside: NDArray[np.bool_], task: Task) -> Floats:
    if task == "regression":
        return np.asarray(-fits / (2 * max(float(fits[~inside].mean()), np.finfo(np.float64).tiny)))
    return np.log(np.maximum(fits, np.finfo(np.float64).eps))
