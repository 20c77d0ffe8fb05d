r"""Reference models, seen from one record: what models that had the record say of it, and what the others say.

Attacks that compare a record with itself under other trainings read these statistics as the release ``references``, one row per
record. With φ the log-odds of the true label (`phi_of`) and p its likelihood under a reference model:

====================== ============================================================================================
``MEAN_IN``            mean of φ under the models that had the record
``MEAN_OUT``           mean of φ under the others
``DEVIATION_IN``       standard deviation of φ around the records' own ``MEAN_IN``, pooled over all records
``DEVIATION_OUT``      the same around ``MEAN_OUT``
``LOG_MEAN_LIKELIHOOD`` logarithm of the mean of p over all reference models
``VARIANCE``           regression: mean squared error of the models on records that they did not have; 1 for classes
====================== ============================================================================================

Probabilities are held within [0.01, 0.99] for φ: forests answer 0 and 1, and without the limits a few such answers decide the
pooled deviations. For a regression φ is :math:`-\sqrt{|y - f(x)|}`, since the root of a Gaussian error is nearly Gaussian, and p is
:math:`\exp(-(y - f(x))^2/2\sigma^2)` with σ² = ``VARIANCE``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from leakscope.errors import InputError
from leakscope.evidence import Evidence, Floats, Labels
from leakscope.models import Task

#: Name of the release that holds these statistics.
REFERENCES = "references"
#: Name of the same from reference models of another kind than the target, where the target can't be trained again.
OTHER_REFERENCES = "other references"
#: Both. They are no releases of a model, and are made by the auditor.
FROM_REFERENCES = (REFERENCES, OTHER_REFERENCES)
MEAN_IN, MEAN_OUT, DEVIATION_IN, DEVIATION_OUT, LOG_MEAN_LIKELIHOOD, VARIANCE = range(6)
#: Probabilities are held this far from 0 and 1 for φ.
CLIP = 0.01
#: Deviations are held above this part of the deviation of all φ, so that models without randomness give finite scores.
SMALLEST = 1e-3


def phi_of(answers: Floats, y: Labels, task: Task) -> Floats:
    """φ of each record, from a model's answers and the true labels.

    Examples
    --------
    >>> phi_of(np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([0, 1]), "classification").round(3)
    array([0.   , 2.197])
    """
    if task == "regression":
        return -np.sqrt(np.abs(answers - y))
    return _clipped_log_odds(likelihood_of(answers, y))


def phi_of_loss(loss: Floats, task: Task) -> Floats:
    """The same from a release: ``log_loss``, or ``squared_error`` of a regression."""
    return np.asarray(-(loss**0.25)) if task == "regression" else _clipped_log_odds(np.exp(-loss))


def _clipped_log_odds(probability: Floats) -> Floats:
    held = np.clip(probability, CLIP, 1 - CLIP)
    return np.log(held) - np.log1p(-held)


def likelihood_of(answers: Floats, y: Labels) -> Floats:
    """Probability of the true label."""
    return np.take_along_axis(answers, np.asarray(y, np.intp)[:, None], axis=1)[:, 0]


def reference_statistics(answers: Iterable[Floats], y: Labels, inside: NDArray[np.bool_], task: Task) -> Floats:
    """Statistics of each record, (n, 6); see the module for the columns.

    Parameters
    ----------
    answers
        For each reference model what it answers about the records: (n, classes), or (n,) for a regression. Of each only two
        numbers per record are kept.
    y
        True labels, (n,).
    inside
        Whether the model was trained on the record, (models, n). A record that all models had, or none, gets the missing mean
        from the other and the mean shift of all records that have both.

    Examples
    --------
    >>> answers = np.array([[[0.2, 0.8]], [[0.3, 0.7]], [[0.5, 0.5]], [[0.6, 0.4]]])
    >>> inside = np.array([[True], [True], [False], [False]])
    >>> table = reference_statistics(answers, np.array([1]), inside, "classification")
    >>> table[0, [MEAN_IN, MEAN_OUT]].round(2), np.exp(table[0, LOG_MEAN_LIKELIHOOD]).round(3)
    (array([ 1.12, -0.2 ]), np.float64(0.6))
    """
    seen = [
        (phi_of(part, y, task), (part - y) ** 2 if task == "regression" else likelihood_of(part, y)) for part in answers
    ]
    phi, fit = (np.array(column) for column in zip(*seen, strict=True))
    return combine(phi, fit, inside, task)


def combine(phi: Floats, fit: Floats, inside: NDArray[np.bool_], task: Task) -> Floats:
    """The same from φ and the likelihood (of a regression the squared error) under each model, (models, n) each."""
    if inside.all() or not inside.any():
        raise InputError("some reference models must have had a record and some must not: train more of them")
    if phi.shape != inside.shape:
        raise InputError(
            f"there are answers of {len(phi)} reference models about {phi.shape[1]} records, and memberships of shape "
            f"{inside.shape}: give (models, n) memberships"
        )
    table = np.empty((inside.shape[1], 6))
    table[:, : DEVIATION_OUT + 1] = _statistics_of_phi(phi, inside)
    if task == "regression":
        table[:, VARIANCE] = max(float(fit[~inside].mean()), np.finfo(np.float64).tiny)
        logs = -fit / (2 * table[:, VARIANCE])
        top = logs.max(axis=0)
        table[:, LOG_MEAN_LIKELIHOOD] = top + np.log(np.exp(logs - top).mean(axis=0))
    else:
        table[:, VARIANCE] = 1.0
        table[:, LOG_MEAN_LIKELIHOOD] = np.log(np.maximum(fit.mean(axis=0), np.finfo(np.float64).eps))
    return table


def _statistics_of_phi(phi: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Means with and without each record, and the pooled deviations from them."""
    (mean_in, count_in, deviation_in), (mean_out, count_out, deviation_out) = (
        _side(phi, part) for part in (inside, ~inside)
    )
    both = (count_in > 0) & (count_out > 0)
    shift = np.mean((mean_in - mean_out)[both]) if both.any() else np.mean(phi[inside]) - np.mean(phi[~inside])
    table = np.empty((phi.shape[1], 4))
    table[:, MEAN_IN] = np.where(count_in > 0, mean_in, mean_out + shift)
    table[:, MEAN_OUT] = np.where(count_out > 0, mean_out, mean_in - shift)
    table[:, DEVIATION_IN:] = np.maximum(
        [deviation_in, deviation_out], SMALLEST * np.std(phi) + np.finfo(np.float64).eps
    )
    return table


def _side(phi: Floats, part: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64], float]:
    """Mean and number of each record's φ under the models of one side, and the deviation from these means.

    Where no record has two, so that there is no deviation from a mean of its own, it is that of all.
    """
    count = part.sum(axis=0)
    mean = np.where(part, phi, 0.0).sum(axis=0) / np.maximum(count, 1)
    squares = float((np.where(part, phi - mean, 0.0) ** 2).sum())
    freedom = int(np.maximum(count - 1, 0).sum())
    return mean, count, float(np.sqrt(squares / freedom)) if freedom else float(np.std(phi[part]))


def references_in(evidence: Evidence, attack: str) -> Floats:
    """The statistics that an attack was given, or an error that names what is missing."""
    if evidence.beside is None:
        raise InputError(f"“{attack}” needs reference models: pass reference_statistics as beside")
    return evidence.beside
