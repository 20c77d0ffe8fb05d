r"""LiRA, the likelihood ratio of each record (Carlini et al. 2022, Algorithm 1, online).

Shadow models are trained, as the target was, on random halves of all records. With φ the log-odds of a record's true label,

.. math:: φ = \ln\frac{p_y(x)}{1 - p_y(x)},

its values under the models that had the record are taken for Gaussian with mean :math:`\mu_{in}`, those under the others with
mean :math:`\mu_{out}`, and the score of the record is

.. math:: Λ = \ln N(φ;\, \mu_{in}, σ_{in}) - \ln N(φ;\, \mu_{out}, σ_{out}), \qquad \text{"member" where } Λ > 0,

at the φ that the target shows. Easy and hard records have means of their own, which a threshold on the loss can't know. The
deviations are one number for all records each, pooled over the records' own means, as Carlini et al. advise for few models.

Probabilities are held within [1e-12, 1 - 1e-12]. For a regression φ is :math:`-\sqrt{|y - f(x)|}`: the root of a
Gaussian error is nearly Gaussian itself; Carlini et al. treat classes only. The deviations are held above a thousandth of the deviation of all φ, so that a model without any randomness gives finite scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.membership_learned import log_odds
from leakscope.errors import InputError
from leakscope.evidence import Attack, Evidence, Floats, Guesses, Labels
from leakscope.models import Task

SOURCE = "Carlini et al. 2022, Algorithm 1"
#: What the attack reads beside the release: for each record the four columns of `reference_statistics`.
REFERENCES = "references"
#: Deviations are held above this part of the deviation of all φ.
SMALLEST = 1e-3


def lira(task: Task = "classification") -> Attack:
    """The attack on ``log_loss``, or on ``squared_error`` of a regression; beside it stand the ``references``.

    Examples
    --------
    >>> lira("classification").releases
    ('log_loss', 'references')
    """
    release = "squared_error" if task == "regression" else "log_loss"

    def guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:  # noqa: ARG001
        if evidence.beside is None:
            raise InputError("LiRA needs what shadow models say of each record: pass reference_statistics as beside")
        ratio = _log_ratio(_phi_of_loss(evidence.observed[:, 0], task), evidence.beside)
        return Guesses(ratio, (ratio > 0).astype(np.float64))

    name = "likelihood ratio per record (LiRA)"
    return Attack(name, release, SOURCE, guess, fixed_scale=True, beside=REFERENCES)


def phi_of(answers: Floats, y: Labels, task: Task) -> Floats:
    """φ of each record, from a model's answers and the true labels; see the module.

    Examples
    --------
    >>> phi_of(np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([0, 1]), "classification").round(3)
    array([0.   , 2.197])
    """
    if task == "regression":
        return -np.sqrt(np.abs(answers - y))
    return log_odds(np.take_along_axis(answers, np.asarray(y, np.intp)[:, None], axis=1)[:, 0])


def _phi_of_loss(loss: Floats, task: Task) -> Floats:
    """The same from what the release shows."""
    return np.asarray(-(loss**0.25)) if task == "regression" else log_odds(np.exp(-loss))


def reference_statistics(phi: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Mean of φ with and without each record, and the pooled deviations with and without: (n, 4).

    Parameters
    ----------
    phi
        φ of each record under each shadow model, (models, n).
    inside
        Whether the model was trained on the record, (models, n). A record that all models had, or none, gets the missing mean
        from the other and the mean shift of all records that have both.

    Examples
    --------
    >>> phi, inside = np.array([[2.0], [4.0], [0.0], [1.0]]), np.array([[True], [True], [False], [False]])
    >>> reference_statistics(phi, inside).round(3)
    array([[3.   , 0.5  , 1.414, 0.707]])
    """
    if phi.shape != inside.shape or phi.ndim != 2:
        raise InputError(f"φ has shape {phi.shape} and who had which record {inside.shape}: give (models, n) twice")
    if inside.all() or not inside.any():
        raise InputError("some shadow models must have had a record and some must not: train more of them")
    sides = [_side(phi, part) for part in (inside, ~inside)]
    (mean_in, count_in, deviation_in), (mean_out, count_out, deviation_out) = sides
    both = (count_in > 0) & (count_out > 0)
    shift = np.mean((mean_in - mean_out)[both]) if both.any() else np.mean(phi[inside]) - np.mean(phi[~inside])
    table = np.empty((phi.shape[1], 4))
    table[:, 0] = np.where(count_in > 0, mean_in, mean_out + shift)
    table[:, 1] = np.where(count_out > 0, mean_out, mean_in - shift)
    table[:, 2:] = np.maximum([deviation_in, deviation_out], SMALLEST * np.std(phi) + np.finfo(np.float64).eps)
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


def _log_ratio(phi: Floats, references: Floats) -> Floats:
    mean_in, mean_out, deviation_in, deviation_out = references[:, :4].T
    deviation_in, deviation_out = (np.maximum(part, 1e-12) for part in (deviation_in, deviation_out))
    far_in, far_out = (phi - mean_in) / deviation_in, (phi - mean_out) / deviation_out
    return np.asarray((far_out**2 - far_in**2) / 2 + np.log(deviation_out / deviation_in))
