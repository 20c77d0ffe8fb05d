"""Attack on the distance to the decision boundary: members are farther from it (Choquette-Choo et al. 2021; Li and Zhang 2021).

It reads the release ``boundary_distance`` (`leakscope.releases.boundary_distance`), which needs predicted labels alone and 200 queries per
record. It runs only if it is named. The score is the distance, 0 for a record with a wrong label; the threshold is the best one on the
known records.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.attacks.references import at_best_threshold

SOURCE = "Choquette-Choo et al. 2021; Li and Zhang 2021"


def boundary() -> Attack:
    """Return the attack on ``boundary_distance`` of a classification model with numeric features.

    Examples
    --------
    >>> boundary().release
    'boundary_distance'
    """
    return Attack("distance to the decision boundary", "boundary_distance", SOURCE, _guess, fixed_scale=True)


def _guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
    return at_best_threshold(evidence, lambda seen: seen.observed[:, 0])
