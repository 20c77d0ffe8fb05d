r"""Learned attacks on a feature explanation: boosted trees on the prediction, and on prediction and explanation.

They measure what an explanation reveals in addition to the prediction [shokri2019, Observation 4.3]. The two attacks differ
only in their inputs: `learned_prediction` reads features of the prediction, `learned_explanation` these and features of the
explanation. Both fit the same classifier to records whose membership the attacker knows [shokri2019, section 4.1].

Features of a prediction: the log-odds of the largest probabilities in falling order, the predicted class, and the
probabilities along the first principal components of those of the known records, and with the true label its log-odds and
its code; of a predicted label, its code, and with the true label also that and whether they agree; of a predicted value, the
value, and with the true one the squared error. The components show which classes are second and third. An explanation shows
this too, and without the components it would appear to add what the prediction contains.

Features of an explanation :math:`\varphi`, with signed shares :math:`s_i = \varphi_i / \|\varphi\|_1`:

- size: :math:`\ln \|\varphi\|_1`, and :math:`\sum_i \varphi_i`, which for a complete method such as integrated gradients is
  the prediction less that at the baseline;
- shape: the entropy :math:`-\sum_i |s_i| \ln |s_i|` and the share of zeros;
- signs: :math:`\sum_i s_i`, the largest share and the smallest;
- direction: the shares along the first principal components of the known records' shares.

The components are fitted without memberships.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakscope.attacks.membership_explanation_norm import log_norm
from leakscope.attacks.membership_learned import confidences, label_and_confidences, smallest_leaf, thin
from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.core.arrays import Booleans, Floats, Labels
from leakscope.core.errors import InputError
from leakscope.core.threads import one_thread
from leakscope.releases.feature_explanations.settings import parse

Features = Callable[[Evidence | Known], Floats]

PREDICTIONS = ("probabilities", "predictions", "labels")
SOURCE = "shokri2019, section 4.2, with boosted trees"
TREES, LEAVES, RATE = 100, 4, 0.05
COMPONENTS = 20
#: Known records that the components are fitted to: more change them little.
MOST_FOR_COMPONENTS = 2_000
#: Numbers of an explanation that are summarised at a time, which bounds memory.
BLOCK = 1 << 22


def learned_prediction(release: str = "probabilities", *, true_label: bool = True) -> Attack:
    """Return the attack by boosted trees on the prediction, which `learned_explanation` is compared with.

    Parameters
    ----------
    release
        ``"probabilities"``, ``"labels"``, or ``"predictions"`` of a regression model.
    true_label
        Whether the attacker knows the records' true labels.

    Examples
    --------
    >>> learned_prediction().name
    'learned on prediction and label (boosted trees)'
    """

    def prepare(known: Known) -> Features:
        features = PredictionFeatures.fit(release, known.observed)
        return lambda seen: features(seen.observed, seen.labels)

    attack = Attack(_name("prediction", true_label), release, SOURCE, _guess(prepare), uses_labels=true_label)
    return attack.reads(*PREDICTIONS)


def learned_explanation(release: str, *, second: str | None = "probabilities", true_label: bool = True) -> Attack:
    """Return the attack by boosted trees on the explanation and on all that `learned_prediction` reads.

    Parameters
    ----------
    release
        The explanation, such as ``"gradient"``.
    second
        The prediction that is released with it, as for `learned_prediction`; None for the explanation alone.
    true_label
        Whether the attacker knows the records' true labels.

    Examples
    --------
    >>> attack = learned_explanation("gradient")
    >>> attack.name, attack.releases
    ('learned on all (boosted trees)', ('gradient', 'probabilities'))
    """
    if second not in (None, *PREDICTIONS):
        raise InputError(f"second must be {', '.join(map(repr, PREDICTIONS))} or None, not {second!r}")

    def prepare(known: Known) -> Features:
        of_explanation = ExplanationFeatures.fit(known.observed)
        of_prediction = None if second is None else PredictionFeatures.fit(second, _second(known))

        def features(seen: Evidence | Known) -> Floats:
            columns = [of_explanation(seen.observed)]
            if of_prediction is not None:
                columns.insert(0, of_prediction(_second(seen), seen.labels))
            elif seen.labels is not None:
                columns.insert(0, _column(seen.labels))
            return np.hstack(columns)

        return features

    sees = "explanation" if second is None else "both"
    return Attack(
        _name(sees, true_label), parse(release).name, SOURCE, _guess(prepare), uses_labels=true_label, second=second
    )


def _name(sees: str, true_label: bool) -> str:
    what = "all" if sees == "both" and true_label else f"{sees} and label" if true_label else sees
    return f"learned on {what} (boosted trees)"


def _second(seen: Evidence | Known) -> Floats:
    if seen.second is None:
        raise InputError("this attack reads the prediction too: pass it as second of the evidence")
    return seen.second


def _guess(prepare: Callable[[Known], Features]) -> Callable[[Evidence, np.random.Generator], Scores]:
    """The attack that fits boosted trees to features of the known records.

    The number of trees is fixed. On few records, early stopping loses more by the records held out than it gains, and its
    randomness would add to the difference of two attacks.
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        known = thin(evidence.known, rng)
        with one_thread():  # sums in another order are rounded differently
            features = prepare(known)
            trees = boosted_trees(features(known), known.member)
            score = trees.decision_function(features(evidence))
        return Scores(score, (score > 0).astype(np.float64))

    return guess


def boosted_trees(features: Floats, member: Booleans) -> Any:
    """Fit trees that distinguish members from non-members."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(
        learning_rate=RATE,
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=smallest_leaf(len(member)),
        early_stopping=False,
        random_state=0,
    )
    trees.fit(features, member)
    return trees


@dataclass(frozen=True)
class PrincipalComponents:
    """The first principal components of some rows."""

    centre: Floats
    directions: Floats

    @classmethod
    def fit(cls, rows: Floats, count: int = COMPONENTS) -> PrincipalComponents:
        """Fit at most ``count`` components.

        Examples
        --------
        >>> PrincipalComponents.fit(np.array([[0.0, 1.0], [0.0, 3.0]]))(np.array([[5.0, 4.0]])).round(2)
        array([[2.]])
        """
        from sklearn.utils.extmath import randomized_svd

        centre = rows.mean(axis=0)
        most = max(1, min(count, len(rows) - 1, rows.shape[1]))
        return cls(centre, randomized_svd(rows - centre, most, random_state=0)[2].T)

    def __call__(self, rows: Floats) -> Floats:
        return np.asarray((rows - self.centre) @ self.directions, dtype=np.float64)


@dataclass(frozen=True)
class PredictionFeatures:
    """Features of predictions, and of their agreement with the true labels if these are known.

    Examples
    --------
    >>> features = PredictionFeatures.fit("predictions", np.zeros((2, 1)))
    >>> features(np.array([[2.0], [3.0]]), np.array([2.5, 3.0]))
    array([[2.  , 0.25],
           [3.  , 0.  ]])
    """

    release: str
    components: PrincipalComponents | None

    @classmethod
    def fit(cls, release: str, known: Floats) -> PredictionFeatures:
        components = PrincipalComponents.fit(_evenly(known)) if release == "probabilities" else None
        return cls(release, components)

    def __call__(self, prediction: Floats, labels: Labels | None) -> Floats:
        true = None if labels is None else _column(labels)
        if self.release == "predictions":
            return prediction if true is None else np.hstack([prediction, (prediction - true) ** 2])
        if self.components is None:
            return prediction if true is None else np.hstack([prediction, true, prediction == true])
        largest = confidences(prediction, None) if labels is None else label_and_confidences(prediction, labels)
        return np.hstack([largest, _column(prediction.argmax(axis=1)), self.components(prediction)])


@dataclass(frozen=True)
class ExplanationFeatures:
    """Features of explanations: size, shape, signs and direction, as the module defines them.

    Examples
    --------
    >>> features = ExplanationFeatures.fit(np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]))
    >>> features(np.array([[0.5, 0.5, 0.0, -1.0]]))[:, :7].round(2)
    array([[ 0.69,  0.  ,  1.04,  0.25,  0.  ,  0.25, -0.5 ]])
    """

    components: PrincipalComponents

    @classmethod
    def fit(cls, known: Floats) -> ExplanationFeatures:
        return cls(PrincipalComponents.fit(_shares(_evenly(known))))

    def __call__(self, explanation: Floats) -> Floats:
        step = max(1, BLOCK // explanation.shape[1])
        return np.vstack([self._block(explanation[i : i + step]) for i in range(0, len(explanation), step)])

    def _block(self, explanation: Floats) -> Floats:
        share = _shares(explanation)
        magnitude = np.abs(share)
        entropy = -np.sum(magnitude * np.log(np.where(magnitude > 0, magnitude, 1)), axis=1)
        size = [log_norm(explanation), explanation.sum(axis=1, dtype=np.float64)]
        shape = [entropy, np.mean(explanation == 0, axis=1)]
        signs = [share.sum(axis=1), share.max(axis=1), share.min(axis=1)]
        return np.hstack([np.column_stack([*size, *shape, *signs]), self.components(share)])


def _shares(explanation: Floats) -> Floats:
    values = np.asarray(explanation, dtype=np.float64)
    norm = np.abs(values).sum(axis=1, keepdims=True)
    return np.asarray(np.divide(values, norm, out=np.zeros_like(values), where=norm > 0))


def _evenly(known: Floats) -> Floats:
    """Evenly spaced rows, few enough to fit components quickly."""
    if len(known) <= MOST_FOR_COMPONENTS:
        return known
    return known[np.linspace(0, len(known) - 1, MOST_FOR_COMPONENTS).astype(np.intp)]


def _column(labels: Labels) -> Floats:
    return np.asarray(labels, dtype=np.float64)[:, None]
