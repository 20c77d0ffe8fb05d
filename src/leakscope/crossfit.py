"""Fitting and judging on disjoint records: who is judged, in which half, and the attack run on one half after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.evidence import Attack, Evidence, Floats, Guesses, Known, Labels
from leakscope.intervals import Booleans, Scale

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Sample:
    """Which records are judged: equally many members and non-members, in random order, dealt to two halves in turn.

    ``members`` orders all members; the first ``judged`` of them are judged, the others only get a score.
    The judged records stand in this order everywhere: members first, then non-members.
    """

    members: Indices
    nonmembers: Indices
    judged: int

    @classmethod
    def draw(cls, members: int, nonmembers: int, rng: np.random.Generator) -> Sample:
        judged = min(members, nonmembers)
        return cls(rng.permutation(members), rng.permutation(nonmembers)[:judged], judged)

    @property
    def member(self) -> Booleans:
        """Who of the judged is a member: the truth, which no attack sees for a record it is asked about."""
        return np.repeat([True, False], self.judged)

    @property
    def half(self) -> Indices:
        return np.tile(halves(self.judged), 2)

    def judge(self, of_members: NDArray[Any], of_nonmembers: NDArray[Any]) -> NDArray[Any]:
        """The judged part of an array over all members and one over all non-members."""
        return np.concatenate([of_members[self.members[: self.judged]], of_nonmembers[self.nonmembers]])

    def permuted(self, rng: np.random.Generator) -> Booleans:
        """Memberships shuffled within each half, so that each stays balanced: the control with nothing to find."""
        member, half = self.member, self.half
        for number in (0, 1):
            rows = np.flatnonzero(half == number)
            member[rows] = member[rng.permutation(rows)]
        return member


def halves(records: int) -> Indices:
    """Records dealt to two halves in turn.

    Examples
    --------
    >>> halves(5)
    array([0, 1, 0, 1, 0])
    """
    return np.arange(records) % 2


def cross_guess(
    attack: Attack,
    observed: Floats,
    labels: Labels,
    member: Booleans,
    half: Indices,
    rng: np.random.Generator,
    *,
    others: tuple[Floats, Labels] | None = None,
) -> tuple[Guesses, Floats]:
    """Ask the attack about each half of the records while it knows the memberships in the other.

    ``others`` are records outside the sample, (observed, labels), that get a score too, dealt to the halves in turn.
    Returns the guesses about the sample and the scores of the others.

    Examples
    --------
    >>> from leakscope.attacks import loss_threshold
    >>> loss, member = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([True, True, False, False])
    >>> guesses, _ = cross_guess(loss_threshold("log_loss"), loss, np.zeros(4), member, np.array([0, 1, 0, 1]),
    ...                          np.random.default_rng(0))
    >>> guesses.says_member
    array([1., 1., 0., 0.])
    """
    seen, true = others if others is not None else (observed[:0], labels[:0])
    other_half = halves(len(seen))
    score, says, other_score = np.empty(len(observed)), np.empty(len(observed)), np.empty(len(seen))
    for number in (0, 1):
        asked, also, rest = half == number, other_half == number, half != number
        use = attack.uses_labels
        evidence = Evidence(
            np.concatenate([observed[asked], seen[also]]),
            np.concatenate([labels[asked], true[also]]) if use else None,
            Known(observed[rest], labels[rest] if use else None, member[rest]),
        )
        guesses = attack.guess(evidence, rng)
        here = int(asked.sum())
        score[asked], other_score[also] = guesses.score[:here], guesses.score[here:]
        says[asked] = guesses.says_member[:here]
    return Guesses(score, says), other_score


def scale_of(attack: Attack, half: Indices, world: Indices | None = None) -> Scale:
    """Which scores of a cross-fitted attack can be compared: those of one half, or all where the scale is fixed.

    ``world`` numbers the models that the records were shown to, where there are several.
    """
    block = np.zeros_like(half) if world is None else world
    return Scale(block if attack.fixed_scale else half + 2 * block, block)
