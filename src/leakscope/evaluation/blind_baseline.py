"""The blind baseline: a classifier of members against non-members without the model.

An attack that is not better may have found a distribution shift, not a leak of the model. The baseline reads the features,
the label, and the loss of a simple model that was trained on the other half of the judged records: sets of records that
differ in difficulty differ under any model, trained on them or not.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.protocol import Scores
from leakscope.core.arrays import Floats
from leakscope.core.ranking import Scale
from leakscope.data.encoding import as_numbers
from leakscope.data.records import take_rows
from leakscope.evaluation.crossfit import Sample
from leakscope.evaluation.risk import Judged
from leakscope.models.target import Records

#: Largest number of records, enough to detect any distribution shift that an attacker could use.
MOST_KNOWN = 5_000


def blind_guesses(members: Records, nonmembers: Records, sample: Sample, rng: np.random.Generator) -> Judged:
    """Score each half of the judged records by boosted trees on features and label, fitted to the other half.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shifted = Records(rng.normal(3, 1, (200, 1)), np.zeros(200), np.arange(200), {})
    >>> others = Records(rng.normal(0, 1, (200, 1)), np.zeros(200), np.arange(200), {})
    >>> blind_guesses(shifted, others, Sample.draw(np.arange(200), np.arange(200, 400), rng), rng).ranking.auc > 0.9
    True
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    member, half = sample.member, sample.half
    table = _table(members, nonmembers, sample, rng)
    table[:, -1] = _surprise(table[:, :-2], table[:, -2], half, members.y.dtype.kind == "i", rng)
    scores = np.empty(len(member))
    for number in (0, 1):
        known = np.flatnonzero(half != number)
        if len(known) > MOST_KNOWN:
            known = rng.choice(known, MOST_KNOWN, replace=False)
        asked = half == number
        trees = HistGradientBoostingClassifier(
            max_iter=16,
            learning_rate=0.15,
            max_leaf_nodes=6,
            early_stopping=False,
            random_state=int(rng.integers(2**31)),
        )
        learned = table[known]
        # In other columns no split leaves enough records on both sides: without them the trees are the same, and cost less.
        columns = np.flatnonzero(np.count_nonzero(learned != learned[0], axis=0) >= trees.min_samples_leaf)
        if not len(columns):
            columns = np.arange(1)
        trees.fit(learned[:, columns], member[known])
        scores[asked] = trees.decision_function(table[np.ix_(asked, columns)])
    return Judged(Scores(scores, (scores > 0).astype(np.float64)), member, Scale.of_halves(half))


def _table(members: Records, nonmembers: Records, sample: Sample, rng: np.random.Generator) -> Floats:
    """The judged records as numbers: text becomes codes, and wide records become random projections.

    The last column but one is the label; the last is empty.
    """
    judged = sample.judged
    inside, outside = take_rows(members.X, sample.members[:judged]), take_rows(nonmembers.X, sample.nonmembers)
    features = as_numbers(inside, rng, outside)
    table = np.zeros((2 * judged, features.shape[1] + 2))
    table[:, :-2] = features
    table[:, -2] = sample.judge(members.y, nonmembers.y)
    return table


def _surprise(
    features: Floats, labels: Floats, half: NDArray[np.intp], classes: bool, rng: np.random.Generator
) -> Floats:
    """Loss of a linear model of the label, trained on the other half: log-loss for classes, else squared error."""
    from sklearn.linear_model import LogisticRegression, Ridge

    features = np.nan_to_num(features) if np.isnan(features).any() else features
    loss = np.zeros(len(labels))
    for number in (0, 1):
        asked, known = half == number, np.flatnonzero(half != number)
        if len(known) > MOST_KNOWN // 2:
            known = rng.choice(known, MOST_KNOWN // 2, replace=False)
        if len(np.unique(labels[known])) < 2:
            continue
        model, learned = LogisticRegression(max_iter=30) if classes else Ridge(), features[known]
        centre, spread = learned.mean(axis=0), learned.std(axis=0)
        spread[spread == 0] = 1.0
        with warnings.catch_warnings():  # convergence is not needed
            warnings.simplefilter("ignore")
            model.fit((learned - centre) / spread, labels[known])
        # Scale the weights instead of a copy of all records.
        model.coef_ = model.coef_ / spread
        model.intercept_ = model.intercept_ - model.coef_ @ centre
        loss[asked] = _linear_loss(model, features[asked], labels[asked], classes)
    return loss


def _linear_loss(model: Any, features: Floats, labels: Floats, classes: bool) -> Floats:
    if not classes:
        return np.asarray((model.predict(features) - labels) ** 2)
    column = np.minimum(np.searchsorted(model.classes_, labels), len(model.classes_) - 1)
    likelihood = model.predict_proba(features)[np.arange(len(column)), column]
    return np.asarray(-np.log(np.maximum(likelihood * (model.classes_[column] == labels), 1e-12)))
