"""Attacks on one given score per record: the score itself, and a small tree on it.

`leakscope.studies.scores` audits such scores without a model or records. The first attack takes the score as a membership score. The second
finds members in any range of the scale (shokri2019, section 4.1), in the middle or at both ends.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.membership_learned import log_odds, smallest_leaf, thin
from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.attacks.references import at_best_threshold
from leakscope.core.arrays import Floats

#: Largest number of leaves of the tree: on a single number more overfit.
LEAVES = 8


def given_score(release: str) -> Attack:
    """Return the attack whose score is the given one; its threshold is the best one on the known records.

    Examples
    --------
    >>> given_score("loss").fixed_scale
    True
    """
    return Attack("the given score", release, "the score that was given", _guess, fixed_scale=True)


def _guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
    return at_best_threshold(evidence, lambda seen: seen.observed[:, 0])


def tree_on_score(release: str) -> Attack:
    """Return the attack by a decision tree on the score (shokri2019, section 4.1).

    Examples
    --------
    >>> tree_on_score("loss").name
    'learned on the score (tree)'
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        from sklearn.tree import DecisionTreeClassifier

        known = thin(evidence.known, rng)
        ordered = np.sort(known.observed[:, 0])
        tree = DecisionTreeClassifier(
            min_samples_leaf=smallest_leaf(len(known.member)),
            max_leaf_nodes=LEAVES,
            random_state=int(rng.integers(2**31)),
        ).fit(_places(ordered, known.observed), known.member)
        probability = tree.predict_proba(_places(ordered, evidence.observed))[:, 1]
        return Scores(log_odds(probability), (probability > 0.5).astype(np.float64))

    return Attack("learned on the score (tree)", release, "shokri2019, section 4.1", guess)


def _places(ordered: Floats, observed: Floats) -> Floats:
    """Ranks of scores among the ordered ones: trees need no more, and scikit-learn's have single precision."""
    sides = [np.searchsorted(ordered, observed, side=side) for side in ("left", "right")]
    return np.asarray(sides[0] + sides[1], dtype=np.float64)
