r"""Statistics of each record under reference models with and without it, as the release ``references``.

Attacks that compare the target with reference models read these statistics, one row per record. With φ the log-odds of the true
label (`phi_of`) and p its likelihood under a reference model:

======================= ============================================================================================
``MEAN_IN``             mean of φ under the models that had the record
``MEAN_OUT``            mean of φ under the others
``DEVIATION_IN``        standard deviation of φ around the records' own ``MEAN_IN``, pooled over all records
``DEVIATION_OUT``       the same around ``MEAN_OUT``
``LOG_MEAN_LIKELIHOOD`` logarithm of the mean of p over all reference models
``VARIANCE``            regression: mean squared error of the models on records that they did not have; 1 for classes
``LOG_MEAN_OUT``        logarithm of the mean of p over the models that did not have the record
``LOG_MEAN_TEMPERED``   logarithm of the mean over all reference models of p at temperature 2 (`log_tempered`)
``MEAN_LOSS_OUT``       mean loss (`bounded_log_loss`, or the squared error) under the models that did not have the record
======================= ============================================================================================

Probabilities are held within [0.01, 0.99] for φ: forests give 0 and 1, and without the limits a few such values dominate the pooled
deviations. For a regression φ is :math:`-\sqrt{|y - f(x)|}`, since the root of a Gaussian error is nearly Gaussian, and p is
:math:`\exp(-(y - f(x))^2/2\sigma^2)` with σ² = ``VARIANCE``, a Gaussian error. The tempered column has a Laplace error instead.

From `OWN` models on each side of every record, the deviations are each record's own, as Carlini et al. (2022) advise for many models.
A record that every model had takes the means over all models in place of those over the models that did not have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.protocol import Evidence, Known, Scores
from leakscope.core.arrays import Floats, Labels
from leakscope.core.errors import InputError
from leakscope.models.model import Task

#: Name of the release that holds these statistics.
REFERENCES = "references"
#: Name of the same from reference models of another kind than the target, if the target can't be retrained.
OTHER_REFERENCES = "other references"
#: Both. They are not releases of a model: the auditor computes them.
FROM_REFERENCES = (REFERENCES, OTHER_REFERENCES)
#: How the name of the same about explanations begins (`membership_explanation_references`).
OF_EXPLANATION = "references of "
MEAN_IN, MEAN_OUT, DEVIATION_IN, DEVIATION_OUT, LOG_MEAN_LIKELIHOOD, VARIANCE = range(6)
LOG_MEAN_OUT, LOG_MEAN_TEMPERED, MEAN_LOSS_OUT = range(6, 9)
COLUMNS = 9
LIKELIHOOD_COLUMNS = [LOG_MEAN_LIKELIHOOD, LOG_MEAN_OUT, LOG_MEAN_TEMPERED, MEAN_LOSS_OUT]
#: Numbers in a block. Several arrays of this size fit into the cache of a processor.
CELLS = 1 << 19
#: Probabilities are held this far from 0 and 1 for φ.
CLIP = 0.01
#: Lower limit of deviations, as a part of the deviation of all φ, so that models without randomness give finite scores.
SMALLEST = 1e-3
#: Models with and without a record from which on it has its own deviations.
OWN = 32
#: Lower limit of a record's own deviation, as a part of the pooled one.
OWN_FLOOR = 0.5
TINY, EPS = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).eps)


def from_references(name: str) -> bool:
    """Return whether the auditor computes a release from reference models."""
    return name in FROM_REFERENCES or name.startswith(OF_EXPLANATION)


def loss_release(task: Task) -> str:
    """Return the name of the loss that attacks with reference models read."""
    return "squared_error" if task == "regression" else "log_loss"


def phi_of(fit: Floats, task: Task) -> Floats:
    """Return φ of each record, from the likelihood of its true label, or from the squared error of a regression.

    Examples
    --------
    >>> phi_of(np.array([0.5, 0.9]), "classification").round(3)
    array([0.   , 2.197])
    """
    return np.asarray(-(fit**0.25)) if task == "regression" else _clipped_log_odds(fit)


def phi_of_loss(loss: Floats, task: Task) -> Floats:
    """Return the same from a release: ``log_loss``, or ``squared_error`` of a regression."""
    return phi_of(loss if task == "regression" else np.exp(-loss), task)


def _clipped_log_odds(probability: Floats) -> Floats:
    held = np.clip(probability, CLIP, 1 - CLIP)
    return np.log(held) - np.log1p(-held)


def log_tempered(log_likelihood: Floats, task: Task) -> Floats:
    r"""Return the logarithm of the likelihood at temperature T = 2, from ln p.

    For classes, with p the probability of the true label held within the limits of φ, it is the logarithm of
    :math:`p^{1/T} / (p^{1/T} + (1-p)^{1/T})`: the true label against all others. For a regression it is
    :math:`-|y - f(x)|/Tb`, a Laplace error of the same variance (:math:`b = \sigma/\sqrt2`), which equals :math:`-\sqrt{-\ln p}`.

    Examples
    --------
    >>> np.exp(log_tempered(np.log([0.5, 0.8]), "classification")).round(3)
    array([0.5  , 0.667])
    """
    if task == "regression":
        return np.asarray(-np.sqrt(-log_likelihood))
    return np.asarray(-np.logaddexp(0, -_clipped_log_odds(np.exp(log_likelihood)) / 2))


def bounded_log_loss(loss: Floats) -> Floats:
    """Return the log-loss with the probability held above the lower limit of φ.

    Examples
    --------
    >>> bounded_log_loss(np.array([0.5, 36.0])).round(3)
    array([0.5  , 4.605])
    """
    return np.asarray(np.minimum(loss, -np.log(CLIP)))


def log_likelihood_of_loss(loss: Floats, references: Floats, task: Task) -> Floats:
    """Return the logarithm of p under the target, from a release: ``log_loss``, or ``squared_error`` of a regression."""
    return -loss / (2 * references[:, VARIANCE]) if task == "regression" else -loss


def likelihood_of(answers: Floats, y: Labels) -> Floats:
    """Return the probability of the true label."""
    return np.take_along_axis(answers, np.asarray(y, np.intp)[:, None], axis=1)[:, 0]


def reference_statistics(answers: Iterable[Floats], y: Labels, inside: NDArray[np.bool_], task: Task) -> Floats:
    """Return the statistics of each record, (n, 9); see the module for the columns.

    Parameters
    ----------
    answers
        Answers of each reference model: (n, classes), or (n,) for a regression. Only one number per record is kept of each.
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
    return combine(np.array([fit_of(part, y, task) for part in answers]), inside, task)


def fit_of(answers: Floats, y: Labels, task: Task) -> Floats:
    """Return the likelihood of the true label, or the squared error of a regression."""
    return np.asarray((answers - y) ** 2) if task == "regression" else likelihood_of(answers, y)


def combine(fit: Floats, inside: NDArray[np.bool_], task: Task) -> Floats:
    """Return the statistics from the likelihood, or the squared error, under each model, (models, n)."""
    if inside.all() or not inside.any():
        raise InputError(
            "each record must be in the training set of some reference models and not of others: train more of them"
        )
    if fit.shape != inside.shape:
        raise InputError(
            f"there are answers of {len(fit)} reference models on {fit.shape[1]} records, and inside has the shape "
            f"{inside.shape}: pass an array (models, n)"
        )
    table = np.empty((inside.shape[1], COLUMNS), order="F")  # attacks read whole columns
    table[:, : DEVIATION_OUT + 1] = statistics_of_phi(phi_of(fit, task), inside)
    regression = task == "regression"
    table[:, VARIANCE] = max(float(fit[~inside].mean()), TINY) if regression else 1.0
    step = max(1, CELLS // len(inside))
    for start in range(0, len(table), step):
        rows = slice(start, start + step)
        outside = np.where((~inside[:, rows]).any(axis=0), ~inside[:, rows], True)
        means = _means_of_values if regression else _means_of_classes
        table[rows, LIKELIHOOD_COLUMNS] = means(fit[:, rows], outside, float(table[0, VARIANCE]))
    return table


def _means_of_classes(fit: Floats, outside: NDArray[np.bool_], _: float) -> Floats:
    """Columns that depend on the likelihoods of the true label."""
    root, rest = (np.sqrt(np.clip(part, CLIP, 1 - CLIP)) for part in (fit, 1 - fit))
    likelihoods = [fit.mean(axis=0), _mean(fit, outside), (root / (root + rest)).mean(axis=0)]
    logs = [np.log(np.maximum(mean, EPS)) for mean in likelihoods]
    return np.column_stack([*logs, _mean(-np.log(np.maximum(fit, CLIP)), outside)])


def _means_of_values(fit: Floats, outside: NDArray[np.bool_], variance: float) -> Floats:
    """Columns that depend on the squared errors of a regression."""
    logs, everyone = -fit / (2 * variance), np.ones_like(outside)
    likelihoods = [_log_mean(logs, part) for part in (everyone, outside)]
    return np.column_stack([*likelihoods, _log_mean(log_tempered(logs, "regression"), everyone), _mean(fit, outside)])


def _mean(values: Floats, part: NDArray[np.bool_]) -> Floats:
    """Mean of each record over the models in ``part``."""
    return np.asarray(np.where(part, values, 0.0).sum(axis=0) / part.sum(axis=0))


def _log_mean(logs: Floats, part: NDArray[np.bool_]) -> Floats:
    """Logarithm of the mean of exp(logs) over the models in ``part``, for logarithms of any size."""
    held = np.where(part, logs, -np.inf)
    top = held.max(axis=0)
    return np.asarray(top + np.log(np.exp(held - top).sum(axis=0) / part.sum(axis=0)))


def statistics_of_phi(phi: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Return the first four columns: means of φ, or of another number, with and without each record, and deviations.

    Examples
    --------
    >>> phi, inside = np.array([[1.0, 5.0], [3.0, 5.0], [0.0, 0.0], [0.0, 2.0]]), np.arange(4)[:, None] < [2, 2]
    >>> statistics_of_phi(phi, inside)
    array([[2., 0., 1., 1.],
           [5., 1., 1., 1.]])
    """
    table = np.empty((phi.shape[1], DEVIATION_OUT + 1), order="F")
    count = _moments(phi, inside, table.T)
    mean, squares, fewest = table.T[: MEAN_OUT + 1], table.T[DEVIATION_IN:], count.min()
    if not fewest:
        _fill_missing(mean, count, phi, inside)
    # Deviation of all φ, from the deviations around the means and between them.
    between = np.einsum("sn,sn,sn->", count, mean, mean) - np.einsum("sn,sn->", count, mean) ** 2 / phi.size
    sums = squares.sum(axis=1)
    smallest = SMALLEST * math.sqrt((sums.sum() + max(between, 0.0)) / phi.size) + EPS
    for side, column in enumerate(squares):
        freedom = np.maximum(count[side] - 1, 0, out=count[side])
        # If no record has two models on this side, there is no deviation from its own mean: use that of all.
        everyone = freedom.sum()
        pooled = math.sqrt(sums[side] / everyone) if everyone else float(np.std(phi[inside == (side == 0)]))
        if fewest < OWN:
            column[:] = max(pooled, smallest)
        else:
            # φ is limited, so that easy records have almost no own deviation, and a small difference of the target would dominate.
            column /= freedom
            np.sqrt(column, out=column)
            np.maximum(column, OWN_FLOOR * max(pooled, smallest), out=column)
    return table


def _fill_missing(mean: Floats, count: Floats, phi: Floats, inside: NDArray[np.bool_]) -> None:
    """Fill a missing mean with that of the other side and the mean shift of all records that have both."""
    both = (count > 0).all(axis=0)
    shift = np.mean((mean[0] - mean[1])[both]) if both.any() else np.mean(phi[inside]) - np.mean(phi[~inside])
    no_in, no_out = count == 0
    mean[0, no_in], mean[1, no_out] = mean[1, no_in] + shift, mean[0, no_out] - shift


def _moments(phi: Floats, inside: NDArray[np.bool_], out: Floats) -> Floats:
    """Mean of φ and sum of squares around that mean, (4, n), with and without the record; gives the numbers of models, (2, n).

    Each block of records is read once and stays in the cache. φ is taken relative to the first model, so that the
    squares lose no digits to a large mean.
    """
    models, n = phi.shape
    count, mean, squares = np.empty((2, n)), out[: MEAN_OUT + 1], out[DEVIATION_IN:]
    step = min(n, max(1, CELLS // models))
    buffers = np.empty((2, models, step))  # allocated once: a new array for each block would cost as much as the sums
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        (away, had), first = buffers[:, :, : rows.stop - start], phi[0, rows]
        np.subtract(phi[:, rows], first, out=away)
        np.copyto(had, inside[:, rows])
        number, total, square = count[:, rows], mean[:, rows], squares[:, rows]
        number[0] = inside[:, rows].view(np.uint8).sum(axis=0, dtype=np.uint8 if models < 256 else np.intp)
        np.subtract(models, number[0], out=number[1])
        _sum_sides(away, had, total)
        away *= away
        _sum_sides(away, had, square)
        middle = total / np.maximum(number, 1)
        square -= total * middle
        np.maximum(square, 0.0, out=square)
        np.add(middle, first, out=total)
    return count


def _sum_sides(values: Floats, had: Floats, out: Floats) -> None:
    """Sums over the models that had the record, and over the others, into the two rows of ``out``."""
    np.einsum("mn,mn->n", values, had, out=out[0])
    values.sum(axis=0, out=out[1])
    out[1] -= out[0]


def references_in(evidence: Evidence | Known, attack: str) -> Floats:
    """Return the statistics in the evidence, or raise an error that names what is missing."""
    if evidence.second is None:
        raise InputError(f"“{attack}” needs reference models: pass reference_statistics as second of the evidence")
    return evidence.second


def at_best_threshold(evidence: Evidence, score_of: Callable[[Evidence | Known], Floats]) -> Scores:
    """Score the records, and decide by the threshold that is best on the known records."""
    from leakscope.core.ranking import best_threshold

    score, known, member = score_of(evidence), score_of(evidence.known), evidence.known.member
    return Scores(score, (score >= best_threshold(known[member], known[~member])).astype(np.float64))
