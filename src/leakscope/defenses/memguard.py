r"""MemGuard-style noise: replace some outputs by random ones that keep the order of the classes.

For each output s, Jia et al. 2019 search a noisy output s + r with the same predicted class at which a classifier that
imitates the attacker is undecided (their Phase I), and release it with the probability that a bound ε on the expected
distortion allows (Phase II),

.. math:: \Pr(\text{give } s + r) = \min\{1,\; ε / \lVert r \rVert_1\},
          \qquad\text{so that}\qquad \mathbb E \lVert \text{given} - s \rVert_1 \le ε.

Phase II is implemented as published. **Phase I is not**: no attacker is imitated. The noisy output is drawn uniformly from the
probability vectors that rank the classes as s does; it reveals only the order of the classes. At ε = 2, the largest possible
distance, every output is replaced.

The noise is a function of the output, rounded to nine digits, and of a secret number. Repeated queries get the same output, so
averaging does not remove the noise. Slightly changed records get other noise, so averaging over them does.
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

#: Digits to which outputs are rounded: those of one record differ less than this if only the batch differs.
DIGITS = 9


@dataclass(frozen=True)
class MemGuard(Tunable):
    """Replace outputs by noise within an expected distortion, the sum of absolute changes of the probabilities.

    ``secret`` is the seed of the noise. Anyone who knows it can find out which outputs were replaced.

    Examples
    --------
    >>> noisy = MemGuard(2.0).defend(None, 2.0).answers(np.array([[0.9, 0.1], [0.9, 0.1]]))
    >>> bool((noisy[0] == noisy[1]).all()), noisy.argmax(axis=1)
    (True, array([0, 0]))
    """

    distortions: Any = (0.5, 1.0)
    secret: int = 0

    name: ClassVar[str] = "memguard"
    setting_name: ClassVar[str] = "expected distortion"
    what: ClassVar[str] = "some outputs are replaced by random ones that rank the classes in the same order"
    source: ClassVar[str] = "after Jia et al. 2019, Phase II"
    allowed = Allowed("distortion", lambda value: 0 < value <= 2, "above 0 and at most 2")
    refuse = staticmethod(refuse_without_probabilities)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("secret", self.secret, least=0)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Release outputs with noise."""
        note = "the noise is not fitted to an attack, unlike that of Jia et al. 2019, and averaging over changed records removes it"
        answers = partial(_guard, float(setting), self.secret)
        return Defended(keeps_labels=True, answers=answers, notes=(note,))


def _guard(distortion: float, secret: int, answers: Floats) -> Floats:
    waits, coin = _drawn(answers, secret)
    noisy = np.empty_like(answers)
    order = np.argsort(-answers, axis=1, kind="stable")
    evenly = -np.sort(-waits / waits.sum(axis=1, keepdims=True), axis=1)
    np.put_along_axis(noisy, order, evenly, axis=1)
    noisy = keep_prediction(answers, noisy)  # two draws may be equal
    distance = np.abs(noisy - answers).sum(axis=1)
    return np.where((coin * distance < distortion)[:, None], noisy, answers)


def _drawn(answers: Floats, secret: int) -> tuple[Floats, Floats]:
    """Draw exponential numbers for each output, whose shares are uniform over probability vectors, and one in (0, 1)."""
    from leakscope.data.fingerprints import row_hashes

    numbers = uniforms(row_hashes(np.round(answers, DIGITS)), answers.shape[1] + 1, secret)
    return -np.log(numbers[:, 1:]), numbers[:, 0]
