"""The label-only attack: labels of members are more stable under small changes (Choquette-Choo et al. 2021, section 3).

It reads the release ``label_stability`` (`leakscope.releases.label_stability`), which needs predicted labels alone. Defenses that only
change or hide confidences do not affect it. The score is the stability; the threshold is the best one on the known records, as in
Choquette-Choo et al. The distance to the decision boundary is another attack (`membership_boundary`).
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.attacks.references import at_best_threshold

SOURCE = "Choquette-Choo et al. 2021, section 3"


def label_only() -> Attack:
    """Return the attack on ``label_stability``, which asks about each record and eight changed copies of it.

    Examples
    --------
    >>> label_only().release
    'label_stability'
    """
    return Attack("label only, with changed copies", "label_stability", SOURCE, _guess, fixed_scale=True)


def _guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
    return at_best_threshold(evidence, lambda seen: seen.observed[:, 0])
