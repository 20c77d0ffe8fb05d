"""The distance to the decision boundary: members are those that are farther from it (Choquette-Choo et al. 2021; Li and Zhang 2021).

It reads the release ``boundary_distance`` (`leakscope.releases.boundary_distance`), which takes predicted labels alone and 200 questions a record, and
runs only where it is asked for by name. The score is the distance, 0 for a record with a wrong label; "member" is said from the
distance on that is best on the known records.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Guesses
from leakscope.attacks.references import at_best_threshold

SOURCE = "Choquette-Choo et al. 2021; Li and Zhang 2021"


def boundary() -> Attack:
    """The attack on ``boundary_distance`` of a classification model with numeric features.

    Examples
    --------
    >>> boundary().release
    'boundary_distance'
    """
    return Attack("distance to the decision boundary", "boundary_distance", SOURCE, _guess, fixed_scale=True)


def _guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:  # noqa: ARG001
    return at_best_threshold(evidence, lambda seen: seen.observed[:, 0])
