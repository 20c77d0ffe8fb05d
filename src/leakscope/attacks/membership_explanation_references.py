r"""Attacks that compare feature explanations of the target with those of reference models.

A network is flat around records that it was trained on [shokri2019, section 4.3.3 (1)], and flat around easy records too. Reference models
distinguish the two: an explanation that is smaller under this model than under models without the record is evidence of membership. Two
numbers are kept of each explanation :math:`\varphi`:

- *size*: :math:`\ln\|\varphi\|_1` (`log_norm`), in which gradients of members differ;
- *sum*: :math:`\sum_i \varphi_i`, which for a complete method (integrated gradients, LRP, DeepLIFT) is the prediction less that at the
  baseline.

For each number, the values under reference models with the record are modelled as Gaussian around :math:`\mu_{in}`, those under the
others around :math:`\mu_{out}`, with the pooled deviations of `references`. Two attacks use them, with t the value that the target
shows:

- *likelihood ratio*: LiRA (Carlini et al. 2022) on explanations. The score is the sum of :math:`Λ = \ln N(t; \mu_{in},
  σ_{in}) - \ln N(t; \mu_{out}, σ_{out})` over the two numbers. It reads the explanation alone.
- *learned*: the classifier of `membership_learned_references` with the features :math:`t - (\mu_{in} + \mu_{out})/2` and Λ of both numbers,
  added to all its features of the prediction. What an explanation adds to the prediction is the AUC of this attack minus that of the same
  classifier without these four features. With labels, the sign of the distances is reversed where the label is wrong: a flat model is there
  confident of another class.

The values are held between the 0.1 % and the 99.9 % quantile of those under the reference models: a network that rounds a gradient
to 0 has an infinite logarithm there. In four cases (Adult with logistic regression and with a network, digits, location30; gradient,
integrated gradients, LRP) the four features were as good as or better than :math:`(t, \mu_{in}, \mu_{out}, Λ)` with labels and with
probabilities. The entropy of the explanation, its largest and its smallest value were tried as further numbers and left out: none raised the gain.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.membership_explanation_norm import log_norm
from leakscope.attacks.membership_learned_references import Features, answer_features, fit_and_guess, reads_of
from leakscope.attacks.membership_lira import log_gaussian_ratio
from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.references import (
    COLUMNS,
    DEVIATION_OUT,
    MEAN_IN,
    MEAN_OUT,
    OF_EXPLANATION,
    REFERENCES,
    references_in,
    statistics_of_phi,
)
from leakscope.core.arrays import Floats
from leakscope.models.model import Task
from leakscope.releases.feature_explanations.settings import parse

SOURCE = "Leakscope; after Carlini et al. 2022 and shokri2019, section 4.3.3"
NAME = "likelihood ratio of the explanation (LiRA)"
LEARNED = "learned on explanation and reference models (logistic regression)"
LEARNED_WITH_PREDICTION = "learned on prediction, explanation and reference models (logistic regression)"
#: Numbers that are kept of an explanation.
STATISTICS = 2
#: Columns of each number in the table: those of `statistics_of_phi`, and the limits.
LOW, HIGH = DEVIATION_OUT + 1, DEVIATION_OUT + 2
WIDTH = HIGH + 1
LIMITS = (0.001, 0.999)


def references_of(release: str) -> str:
    """Return the name of the release that holds the statistics of reference models about an explanation.

    Examples
    --------
    >>> references_of("gradient")
    'references of gradient'
    """
    return OF_EXPLANATION + release


def explanation_statistics(explanation: Floats) -> Floats:
    """Return the size and sum of each explanation, (n, 2).

    Examples
    --------
    >>> explanation_statistics(np.array([[1.0, -2.0], [3.0, 0.0]])).round(2)
    array([[ 1.1, -1. ],
           [ 1.1,  3. ]])
    """
    return np.column_stack([log_norm(explanation), explanation.sum(axis=1, dtype=np.float64)])


def explanation_table(statistics: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Return what reference models show of each record's explanation, (n, 12): six columns for the size, then six for the sum.

    Parameters
    ----------
    statistics
        `explanation_statistics` of the records under each reference model, (models, n, 2).
    inside
        Whether the model was trained on the record, (models, n).

    Examples
    --------
    >>> statistics = np.array([[[1.0, 0.5]], [[3.0, 0.5]]])
    >>> explanation_table(statistics, np.array([[True], [False]]))[0, [MEAN_IN, MEAN_OUT]].round(2)
    array([1., 3.])
    """
    parts = []
    for number in range(STATISTICS):
        values = statistics[:, :, number]
        low, high = np.quantile(values, LIMITS)
        table = statistics_of_phi(np.clip(values, low, high), inside)
        parts += [table, np.broadcast_to([low, high], (len(table), 2))]
    return np.hstack(parts)


def explanation_references(release: str) -> Attack:
    """Return the likelihood-ratio attack on a feature explanation; it reads neither prediction nor label.

    Examples
    --------
    >>> explanation_references("gradient").releases
    ('gradient', 'references of gradient')
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        held, parts = _compare(evidence.observed, references_in(evidence, NAME))
        ratio = sum((log_gaussian_ratio(t, part) for t, part in zip(held, parts, strict=True)), np.zeros(len(evidence)))
        return Scores(ratio, (ratio > 0).astype(np.float64))

    name = parse(release).name
    return Attack(NAME, name, SOURCE, guess, fixed_scale=True, second=references_of(name))


def learned_explanation_references(
    release: str, *, prediction: str | None = "probabilities", task: Task = "classification"
) -> Attack:
    """Return the attack by logistic regression on the explanation and on all that `learned_references` reads.

    Parameters
    ----------
    release
        The explanation, such as ``"gradient"``.
    prediction
        What is released with it: ``"probabilities"``, ``"labels"``, or ``"predictions"`` of a regression; None for the explanation
        alone.
    task
        ``"classification"`` or ``"regression"``.

    Examples
    --------
    >>> learned_explanation_references("gradient").releases
    ('gradient', 'log_loss', 'references', 'references of gradient')
    """
    explained = parse(release).name
    name, read = LEARNED, [references_of(explained)]
    features: Features = _features
    if prediction is not None:
        answers = reads_of(task, prediction)
        name, read = LEARNED_WITH_PREDICTION, [answers, REFERENCES, *read]
        features = _with_answers(answer_features(task, prediction), answers)

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        return fit_and_guess(evidence, rng, features, name)

    return Attack(name, explained, SOURCE, guess, uses_labels=prediction == "labels", second=tuple(read))


def _with_answers(of_answers: Features, release: str) -> Features:
    """Features of the answers, a loss or labels, and of the explanation."""

    def features(seen: Evidence | Known) -> Floats:
        second = references_in(seen, LEARNED_WITH_PREDICTION)
        answers = replace(seen, observed=second[:, :1], second=second[:, 1 : 1 + COLUMNS])
        explained = _features(replace(seen, second=second[:, 1 + COLUMNS :]))
        if release == "labels":
            explained[:, :STATISTICS] *= np.where(second[:, 0] == seen.labels, 1.0, -1.0)[:, None]
        return np.hstack([of_answers(answers), explained])

    return features


def _features(seen: Evidence | Known) -> Floats:
    """The distance of each number from the middle of its two means, then Λ of each."""
    both = list(zip(*_compare(seen.observed, references_in(seen, LEARNED)), strict=True))
    distances = [t - (part[:, MEAN_IN] + part[:, MEAN_OUT]) / 2 for t, part in both]
    return np.column_stack([*distances, *(log_gaussian_ratio(t, part) for t, part in both)])


def _compare(explanation: Floats, table: Floats) -> tuple[list[Floats], list[Floats]]:
    """The numbers of the target's explanation within their limits, and the columns of the table for each."""
    parts = [table[:, number * WIDTH : (number + 1) * WIDTH] for number in range(STATISTICS)]
    statistics = explanation_statistics(explanation)
    return [np.clip(statistics[:, at], part[:, LOW], part[:, HIGH]) for at, part in enumerate(parts)], parts
