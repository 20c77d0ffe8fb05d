r"""Learned attack with reference models: a classifier on the scores of RMIA, BASE and LiRA.

For each record, with φ and the statistics of `references`, the features are

.. math:: φ,\quad \mu_{in},\quad \mu_{out},\quad \ln\frac{p}{\bar p}\ \text{(RMIA)},\quad
          \ln\frac{p_T}{\bar p_T}\ \text{(BASE)},\quad Λ\ \text{(LiRA)}.

RMIA, BASE and LiRA are the best scores for different models, and with few reference models the means that they compare with are
noisy. The classifier learns the weight of each score from the known records. It is fitted to one half of the judged records and
evaluated on the other.

- *logistic regression*: with the features as they are, or with all products of two as well. Five-fold cross-validation of the
  log-loss within the known records decides between the two: products help if a model leaks much, and overfit if it leaks little.
- *boosted trees*: the trees of `membership_explanation_learned`.

If only labels are released, the features are :math:`1[\hat y = y]`, :math:`\mu_{in}`, :math:`\mu_{out}` and the score of
`membership_label_references`.

With four reference models and 221 to 5,000 records a side, logistic regression has an AUC at most 0.004 below the best of RMIA, LiRA and BASE in
each of six cases, and 0.015 above it on location30 (`docs/methods.md` has the table). The label and the deviations of single records were tried
as further features and left out: neither raised the mean AUC over the cases, and the label cost 0.008 on logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from leakscope.attacks.logistic import LogisticClassifier
from leakscope.attacks.membership_base import tempered_ratio
from leakscope.attacks.membership_explanation_learned import boosted_trees
from leakscope.attacks.membership_label_references import right_beyond_references
from leakscope.attacks.membership_learned import thin
from leakscope.attacks.membership_lira import log_density_ratio
from leakscope.attacks.membership_rmia import log_ratio
from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.references import MEAN_IN, MEAN_OUT, REFERENCES, loss_release, phi_of_loss, references_in
from leakscope.core.arrays import Booleans, Floats
from leakscope.core.errors import InputError
from leakscope.core.threads import one_thread
from leakscope.models.model import Task

Classifier = Literal["logistic regression", "boosted trees"]
Features = Callable[[Evidence | Known], Floats]

SOURCE = "Leakscope; after Carlini et al. 2022, Zarifzadeh et al. 2024 and Lassila et al. 2025"
#: Parts of the known records in the choice of the features.
PARTS = 5
#: Inverse of the penalty, without and with products; chosen on draws of records that the table of `docs/methods.md` does not use.
STRENGTH = {1: 0.1, 2: 1.0}


def learned_references(
    task: Task = "classification", classifier: Classifier = "logistic regression", *, prediction: str | None = None
) -> Attack:
    """Return the attack on ``log_loss``, on ``squared_error`` of a regression, or on ``labels``, with ``references``.

    Parameters
    ----------
    task
        ``"classification"`` or ``"regression"``.
    classifier
        ``"logistic regression"`` or ``"boosted trees"``.
    prediction
        What is released: ``"labels"``, or probabilities or values, from which a loss follows.

    Examples
    --------
    >>> learned_references().name
    'learned on reference models (logistic regression)'
    >>> learned_references(prediction="labels").releases
    ('labels', 'references')
    """
    if classifier not in ("logistic regression", "boosted trees"):
        raise InputError(f"classifier must be 'logistic regression' or 'boosted trees', not {classifier!r}")
    name, release = f"learned on reference models ({classifier})", reads_of(task, prediction)
    features = answer_features(task, prediction)

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        return fit_and_guess(evidence, rng, features, name, classifier)

    return Attack(name, release, SOURCE, guess, uses_labels=release == "labels", second=REFERENCES)


def reads_of(task: Task, prediction: str | None = None) -> str:
    """Return the release that the attack reads of a prediction: a loss, or labels."""
    return prediction if prediction == "labels" else loss_release(task)


def answer_features(task: Task, prediction: str | None = None) -> Features:
    """Return the function that computes the features of the released answers."""
    return _label_features if prediction == "labels" else partial(features_of, task=task)


def fit_and_guess(
    evidence: Evidence,
    rng: np.random.Generator,
    features: Features,
    name: str,
    classifier: Classifier = "logistic regression",
) -> Scores:
    """Fit the classifier to features of the known records, and score the judged ones."""
    references_in(evidence, name)
    known = thin(evidence.known, rng)
    with one_thread():  # sums in another order are rounded differently
        fit: Any = _fit_logistic if classifier == "logistic regression" else boosted_trees
        model = fit(features(known), known.member)
        score = np.asarray(model.decision_function(features(evidence)), dtype=np.float64)
    return Scores(score, (score > 0).astype(np.float64))


def _label_features(seen: Evidence | Known) -> Floats:
    references = references_in(seen, "learned on reference models")
    right = (seen.observed[:, 0] == seen.labels).astype(np.float64)
    return np.column_stack([right, references[:, [MEAN_IN, MEAN_OUT]], right_beyond_references(seen)])


def features_of(seen: Evidence | Known, task: Task) -> Floats:
    """Return one row per record with the features of the module."""
    references = references_in(seen, "learned on reference models")
    phi = phi_of_loss(seen.observed[:, 0], task)
    ratios = [ratio(seen, task) for ratio in (log_ratio, tempered_ratio, log_density_ratio)]
    return np.column_stack([phi, references[:, MEAN_IN], references[:, MEAN_OUT], *ratios])


def _fit_logistic(features: Floats, member: Booleans) -> LogisticClassifier:
    """Logistic regression on the features, or on them and their products: the one that predicts better."""
    plain = LogisticClassifier.fit(features, member, STRENGTH[1])
    if min(member.sum(), (~member).sum()) < PARTS:
        return plain
    part = np.empty(len(member), np.intp)
    for side in (member, ~member):
        part[side] = np.arange(side.sum()) % PARTS
    products = LogisticClassifier.fit(features, member, STRENGTH[2], degree=2)
    losses = [model.loss_unseen(features, member, part) for model in (plain, products)]
    return plain if losses[0] <= losses[1] else products
