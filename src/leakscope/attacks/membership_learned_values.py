r"""Learned attack on a regression model: boosted trees on prediction, true value and residual.

A threshold on the error treats errors of equal size alike everywhere. Models are more accurate on some values than on others, and
regress towards the mean: members at the edge of the range have a smaller error than non-members there. The classifier reads
:math:`f(x)`, :math:`y`, :math:`y - f(x)` and :math:`|y - f(x)|`, all in units of the known labels' deviation, and learns which
errors are informative where (the black-box attack of Shokri et al. 2017 with values in place of classes; ART has it for regression).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscope.attacks.membership_explanation_learned import boosted_trees
from leakscope.attacks.membership_learned import thin
from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.core.arrays import Floats
from leakscope.core.threads import one_thread

SOURCE = "Shokri et al. 2017, for values"


def learned_values() -> Attack:
    """Return the attack on ``predictions`` of a regression; it needs the true values.

    Examples
    --------
    >>> learned_values().name
    'learned on prediction and truth (boosted trees)'
    """
    return Attack("learned on prediction and truth (boosted trees)", "predictions", SOURCE, _guess, uses_labels=True)


def _guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
    known = thin(evidence.known, rng)
    centre, unit = _scale(known.labels)
    with one_thread():  # sums in another order are rounded differently
        trees = boosted_trees(_features(known, centre, unit), known.member)
        score = np.asarray(trees.decision_function(_features(evidence, centre, unit)), dtype=np.float64)
    return Scores(score, (score > 0).astype(np.float64))


def _scale(labels: Any) -> tuple[float, float]:
    """Centre and deviation of the known labels, so that the unit of the labels does not matter."""
    values = np.asarray(labels, dtype=np.float64)
    return float(values.mean()), float(values.std()) or 1.0


def _features(seen: Evidence | Known, centre: float, unit: float) -> Floats:
    truth, prediction = np.asarray(seen.labels, dtype=np.float64), seen.observed[:, 0]
    residual = (truth - prediction) / unit
    columns = [(prediction - centre) / unit, (truth - centre) / unit, residual, np.abs(residual)]
    return np.column_stack(columns)
