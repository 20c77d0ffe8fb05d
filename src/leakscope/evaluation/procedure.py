"""What the training procedure leaks: each reference model attacked as a target, with the references of other pairs.

Who trained a reference was drawn by the auditor. A shift between members and held-out records can therefore not enter, and the spread
over references shows how much the leak varies from training to training.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakscope import intervals
from leakscope.core.arrays import Floats
from leakscope.evaluation.training import Fits
from leakscope.models import Task
from leakscope.ranking import Ranking, split
from leakscope.results import Procedure


def procedure_risk(fits: Fits, inside: NDArray[np.bool_], task: Task, confidence: float) -> Procedure | None:
    """The mean AUC of RMIA over references as targets, each against the references of the other pairs; None with one pair.

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
