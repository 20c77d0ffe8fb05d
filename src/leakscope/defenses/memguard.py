r"""MemGuard-style noise: some answers are replaced by others that keep the order of the classes.

Jia et al. 2019 search, for each answer s, a noisy answer s + r with the same predicted class at which a classifier that
imitates the attacker can't decide (their Phase I), and give it with the probability that a bound ε on the expected distortion
allows (Phase II),

.. math:: \Pr(\text{give } s + r) = \min\{1,\; ε / \lVert r \rVert_1\},
          \qquad\text{so that}\qquad \mathbb E \lVert \text{given} - s \rVert_1 \le ε.

Phase II is done here as it stands. **Phase I is not**: no attacker is imitated. The noisy answer is a probability vector drawn
evenly from all that rank the classes as s does; it says nothing of s but the order of its classes. At ε = 2, the largest
distance that there is, every answer is replaced.

The noise is a function of the answer, rounded to nine digits, and of a secret number: asking again gives the same
answer, and averaging does not help. Asking about slightly changed records gives other noise, and does help.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.keyed_random import uniforms
from leakscope.defenses.defense import Allowed, Defended, Tunable
from leakscope.defenses.rounding import keep_prediction, refuse_without_probabilities
from leakscope.models.target import Target

#: Answers of one model about one record differ by less than this many digits show, where only the batch differs.
DIGITS = 9


@dataclass(frozen=True)
class MemGuard(Tunable):
    """Noise within so much expected distortion, the sum of absolute changes of an answer's probabilities.

    ``secret`` is the number that decides the noise: whoever knows it can tell which answers were replaced.

    Examples
    --------
    >>> noisy = MemGuard(2.0).defend(None, 2.0).answers(np.array([[0.9, 0.1], [0.9, 0.1]]))
    >>> bool((noisy[0] == noisy[1]).all()), noisy.argmax(axis=1)
    (True, array([0, 0]))
    """

    distortions: Any = (0.5, 1.0)
    secret: int = 0

    name: ClassVar[str] = "memguard"
    knob: ClassVar[str] = "expected distortion"
    what: ClassVar[str] = "some answers are replaced by random ones that rank the classes in the same order"
    source: ClassVar[str] = "after Jia et al. 2019, Phase II"
    allowed = Allowed("distortion", lambda value: 0 < value <= 2, "above 0 and at most 2")
    refuse = staticmethod(refuse_without_probabilities)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("secret", self.secret, least=0)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The answers with noise."""
        note = "the noise imitates no attacker, unlike that of Jia et al. 2019, and changed records average it out"
        answers = partial(_guard, float(setting), self.secret)
        return Defended(keeps_labels=True, answers=answers, notes=(note,))


def _guard(distortion: float, secret: int, answers: Floats) -> Floats:
    waits, coin = _drawn(answers, secret)
    noisy = np.empty_like(answers)
    order = np.argsort(-answers, axis=1, kind="stable")
    evenly = -np.sort(-waits / waits.sum(axis=1, keepdims=True), axis=1)
    np.put_along_axis(noisy, order, evenly, axis=1)
    noisy = keep_prediction(answers, noisy)  # two of the numbers drawn may be equal
    distance = np.abs(noisy - answers).sum(axis=1)
    return np.where((coin * distance < distortion)[:, None], noisy, answers)


def _drawn(answers: Floats, secret: int) -> tuple[Floats, Floats]:
    """For each answer exponential numbers, whose shares are even on all probability vectors, and a number in (0, 1)."""
    from leakscope.data.fingerprints import row_hashes

    numbers = uniforms(row_hashes(np.round(answers, DIGITS)), answers.shape[1] + 1, secret)
    return -np.log(numbers[:, 1:]), numbers[:, 0]
