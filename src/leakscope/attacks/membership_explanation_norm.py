r"""Attack on the size of an explanation: a decision tree on its 1-norm :math:`\|\varphi(x)\|_1 = \sum_i |\varphi_i(x)|`.

A network with saturating outputs is flat around the records it was trained on, so that their gradients are small. If an
attack uses nothing else, a tree on the 1-norm does as well as a network on the whole explanation [shokri2019, section
4.3.3 (1), Fig. 2], and the attack fails if explanations are divided by their 1-norm [section 4.3.3 (2)]. The tree reads
neither labels nor predictions, and is invariant under increasing functions of the norm.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.membership_learned import log_odds, thin
from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.core.arrays import Floats
from leakscope.releases.feature_explanations.settings import parse

#: Largest number of leaves: more overfit.
LEAVES = 20
SMALLEST_NORM = float(np.finfo(np.float32).tiny)


def explanation_norm(release: str) -> Attack:
    """Return the attack by a decision tree on the 1-norm of an explanation [shokri2019, section 4.3.3 (1)].

    A leaf holds at least ten known records and a twentieth of them; the score is its log-odds of membership.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(400) % 2 == 0
    >>> gradients = rng.normal(size=(400, 20)) * np.where(member, 1.0, 2.0)[:, None]
    >>> from leakscope.attacks import Known
    >>> evidence = Evidence(gradients[:4], None, Known(gradients[4:], None, member[4:]))
    >>> explanation_norm("gradient").guess(evidence, rng).says_member
    array([1., 0., 1., 0.])
    """

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        from sklearn.tree import DecisionTreeClassifier

        known = thin(evidence.known, rng)
        tree = DecisionTreeClassifier(min_samples_leaf=max(10, len(known.member) // LEAVES), random_state=0)
        tree.fit(log_norm(known.observed)[:, None], known.member)
        probability = tree.predict_proba(log_norm(evidence.observed)[:, None])[:, 1]
        return Scores(log_odds(probability), (probability > 0.5).astype(np.float64))

    source = "shokri2019, section 4.3.3 (1), Fig. 2"
    return Attack("tree on the 1-norm", parse(release).name, source, guess)


def log_norm(explanation: Floats) -> Floats:
    """Return the natural logarithm of each row's 1-norm to five decimals, at least that of the smallest float32.

    Rounding removes floating-point differences between sums, such as those of normalised explanations.

    Examples
    --------
    >>> log_norm(np.array([[1.0, -2.0], [0.0, 0.0]]))
    array([  1.09861, -87.33654])
    """
    norm = np.abs(explanation).sum(axis=1, dtype=np.float64)
    return np.asarray(np.log(np.maximum(norm, SMALLEST_NORM)).round(5))
