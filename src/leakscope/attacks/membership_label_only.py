"""The label-only attack: members are those whose label survives small changes (Choquette-Choo et al. 2021, section 3).

It reads the release ``label_stability`` (`leakscope.releases.label_stability`), which takes predicted labels alone, and so it finds what a
defense leaves that changes or hides confidences and keeps the labels. The score is the stability; "member" is whoever
reaches the stability that tells the known members from the known others best, as Choquette-Choo et al. choose it.
The distance to the boundary between the labels, which takes some thousand questions a record, is not measured.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Guesses
from leakscope.attacks.references import at_best_threshold

SOURCE = "Choquette-Choo et al. 2021, section 3"


def label_only() -> Attack:
    """The attack on ``label_stability``, which asks about each record and eight changed copies of it.

    Examples
    --------
    >>> label_only().release
    'label_stability'
    """
    return Attack("label only, with changed copies", "label_stability", SOURCE, _guess, fixed_scale=True)


def _guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:  # noqa: ARG001
    return at_best_threshold(evidence, lambda seen: seen.observed[:, 0])
