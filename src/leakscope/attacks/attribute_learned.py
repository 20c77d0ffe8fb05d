r"""Learned attribute inference: boosted trees on the known features, with and without the model's answer.

Trees fitted to reference records, whose level v of the sensitive feature is known, give :math:`\Pr(v \mid x_K)` from the
known features: *imputation*, the baseline without a model. The same trees on the known features and the model's output give
:math:`\Pr(v \mid x_K, h(x))`. The two attacks differ only in their inputs. Uninformative inputs make trees slightly worse,
so that the gain can be below 0.

The trees read probabilities as log-odds, and more than twenty classes as their first principal components.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.attributes import AttributeAttack, AttributeEvidence
from leakscope.attacks.membership_explanation_learned import PrincipalComponents
from leakscope.attacks.membership_learned import log_odds
from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.threads import one_thread

TREES, LEAVES, RATE = 40, 8, 0.15
#: Reference records that the trees are fitted to at most: more make them slower and hardly better.
MOST_KNOWN = 10_000
MOST_CLASSES = 20


def learned_attribute() -> AttributeAttack:
    """Return the attack by boosted trees on the known features and the model's output.

    Examples
    --------
    >>> learned_attribute().name
    'learned on features and output (boosted trees)'
    """
    name = "learned on features and output (boosted trees)"
    return AttributeAttack(name, "tople2020, Def. 8, with boosted trees", _with_output, has_control=True)


def imputation() -> AttributeAttack:
    """Return the baseline: boosted trees on the known features alone.

    Examples
    --------
    >>> imputation().source
    'Jayaraman and Evans 2022, imputation'
    """
    return AttributeAttack("imputation (boosted trees)", "Jayaraman and Evans 2022, imputation", _without_output)


def boosted_trees(
    known: Floats, level: Indices, asked: Floats, categorical: Booleans, levels: int, rng: np.random.Generator
) -> Floats:
    """Return the probability of each level for the records asked about, (n, levels), by trees fitted to known records.

    Without features this is the share of each level among the known records.

    Examples
    --------
    >>> known = np.repeat([[0.0], [1.0]], 100, axis=0)
    >>> level = np.repeat([0, 1], 100)
    >>> rng = np.random.default_rng(0)
    >>> boosted_trees(known, level, np.array([[1.0]]), np.array([False]), 2, rng).round(1)
    array([[0., 1.]])
    """
    share = np.bincount(level, minlength=levels) / len(level)
    varying = np.flatnonzero((known != known[:1]).any(axis=0))
    if not len(varying):
        return np.repeat(share[None, :], len(asked), axis=0)
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = np.arange(len(known))
    if len(rows) > MOST_KNOWN:
        rows = np.sort(rng.choice(rows, MOST_KNOWN, replace=False))
    trees = HistGradientBoostingClassifier(
        learning_rate=RATE,
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=max(5, len(rows) // 500),
        categorical_features=categorical[varying],
        early_stopping=False,
        random_state=0,
    )
    found = np.zeros((len(asked), levels))
    with one_thread():  # sums in another order are rounded differently
        trees.fit(known[rows][:, varying], level[rows])
        found[:, trees.classes_] = trees.predict_proba(asked[:, varying])
    return found


def _without_output(evidence: AttributeEvidence, rng: np.random.Generator) -> Floats:
    return _trees(evidence, rng, [])


def _with_output(evidence: AttributeEvidence, rng: np.random.Generator) -> Floats:
    return _trees(evidence, rng, [_output_features(evidence.reference.output, evidence.output, evidence.classes)])


def _trees(evidence: AttributeEvidence, rng: np.random.Generator, added: list[tuple[Floats, Floats]]) -> Floats:
    """Trees on the known features, the label where it is known, and what is added for known and asked records."""
    reference, unordered = evidence.reference, [evidence.categorical]
    known, asked = [reference.features], [evidence.features]
    if evidence.labels is not None and reference.labels is not None:
        known.append(np.asarray(reference.labels, np.float64)[:, None])
        asked.append(np.asarray(evidence.labels, np.float64)[:, None])
        unordered.append(np.array([evidence.classes and evidence.output.shape[1] <= MOST_CLASSES]))
    for of_known, of_asked in added:
        known.append(of_known)
        asked.append(of_asked)
        unordered.append(np.zeros(of_known.shape[1], dtype=bool))
    return boosted_trees(
        np.hstack(known), reference.level, np.hstack(asked), np.concatenate(unordered), evidence.levels, rng
    )


def _output_features(known: Floats, asked: Floats, classes: bool) -> tuple[Floats, Floats]:
    """The answers as columns for trees: the components are fitted to the reference records."""
    if not classes:
        return known, asked
    if known.shape[1] == 2:
        return log_odds(known[:, 1:]), log_odds(asked[:, 1:])
    if known.shape[1] <= MOST_CLASSES:
        return log_odds(known), log_odds(asked)
    components = PrincipalComponents.fit(known[:MOST_KNOWN])
    return components(known), components(asked)
