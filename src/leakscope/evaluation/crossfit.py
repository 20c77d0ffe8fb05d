"""Cross-fitting: the sample of judged records, its two halves, and attacks that are fitted to one half and judged on the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.protocol import Attack, Evidence, Known, Scores, take_records
from leakscope.core.arrays import Booleans, Floats, Indices, Labels
from leakscope.core.ranking import Scale, numbers_in

Hashes = NDArray[np.uint64]
#: Number of the model that each record was shown to.
Models = NDArray[np.intp] | NDArray[np.int8]


@dataclass(frozen=True)
class Sample:
    """The judged records: equally many members and non-members, in random order, split into two halves.

    Copies of a record would reveal each other's membership. Of equal members only one is judged, likewise of equal
    non-members, and a record on both sides has both copies in one half.

    ``members`` orders all members; the first ``judged`` of them are judged, the others only get a score, in the half
    ``other_half``. Judged records always have this order: members first, then non-members.
    """

    members: Indices
    nonmembers: Indices
    judged: int
    half: Indices
    other_half: Indices

    @classmethod
    def draw(cls, members: Hashes, nonmembers: Hashes, rng: np.random.Generator) -> Sample:
        """Draw from members and non-members that are given by a hash of each record."""
        inside, outside = _one_of_each(members, rng), _one_of_each(nonmembers, rng)
        judged = min(len(inside), len(outside))
        inside, outside = inside[:judged], outside[:judged]
        half = np.arange(judged) % 2
        twins = follow(nonmembers[outside], members[inside], half)
        rest = np.setdiff1d(np.arange(len(members)), inside)
        both = np.concatenate([members[inside], nonmembers[outside]])
        all_halves = np.concatenate([half, fill(twins, half, rng)])
        other = follow(members[rest], both, all_halves)
        order = np.concatenate([inside, rest])
        return cls(order, outside, judged, all_halves, np.where(other < 0, np.arange(len(rest)) % 2, other))

    @property
    def member(self) -> Booleans:
        """Which judged records are members: the truth, which no attack reads for a record that it scores."""
        return np.repeat([True, False], self.judged)

    def twins(self, members: Hashes) -> Indices:
        """Return for each member that is not judged the position of an equal judged member, or -1."""
        judged, rest = members[self.members[: self.judged]], members[self.members[self.judged :]]
        return follow(rest, judged, np.arange(self.judged))

    def judge(self, of_members: NDArray[Any], of_nonmembers: NDArray[Any]) -> NDArray[Any]:
        """Return the judged part of an array over all members and one over all non-members."""
        return np.concatenate([of_members[self.members[: self.judged]], of_nonmembers[self.nonmembers]])

    def permuted(self, rng: np.random.Generator) -> Booleans:
        """Shuffle the memberships within each half, so that both stay balanced: the permuted control."""
        member = self.member
        for number in (0, 1):
            rows = np.flatnonzero(self.half == number)
            member[rows] = member[rng.permutation(rows)]
        return member


def _one_of_each(hashes: Hashes, rng: np.random.Generator) -> Indices:
    """One position for each different hash, in random order."""
    order = rng.permutation(len(hashes))
    _, first = np.unique(hashes[order], return_index=True)
    return order[np.sort(first)]


def follow(hashes: Hashes, leaders: Hashes, parts: NDArray[Any], default: Any = -1) -> NDArray[Any]:
    """Give each record the part of a leader with the same hash, or its default."""
    if not len(leaders):
        return np.full(len(hashes), default)
    rank = np.argsort(leaders)
    at = rank[np.minimum(np.searchsorted(leaders, hashes, sorter=rank), len(leaders) - 1)]
    return np.where(leaders[at] == hashes, parts[at], default)


def fill(placed: Indices, like: Indices, rng: np.random.Generator) -> Indices:
    """Assign 0 or 1 at random to free places (-1), so that their numbers are as close as possible to those in ``like``.

    Examples
    --------
    >>> fill(np.array([1, -1, -1, 1]), np.array([0, 1, 0, 1]), np.random.default_rng(0))
    array([1, 0, 0, 1])
    """
    free = rng.permutation(np.flatnonzero(placed < 0))
    zeros = int(np.clip(np.sum(like == 0) - np.sum(placed == 0), 0, len(free)))
    filled = placed.copy()
    filled[free[:zeros]], filled[free[zeros:]] = 0, 1
    return filled


def cross_guess(
    attack: Attack,
    observed: Floats,
    labels: Labels,
    member: Booleans,
    half: Indices,
    rng: np.random.Generator,
    *,
    others: tuple[Floats, Labels, Indices] | None = None,
    second: Floats | None = None,
    others_second: Floats | None = None,
    model: Models | None = None,
    known: Known | None = None,
) -> tuple[Scores, Floats]:
    """Run the attack on each half of the records with the memberships of the other half known.

    Parameters
    ----------
    others
        Records outside the sample, (observed, labels, half), that get a score too.
    second, others_second
        What the second release shows of the sample and of the others, if the attack reads a second release.
    model
        Number of the model that each record was shown to, if there are several: the attack runs on each separately.
        There are no ``others`` then.
    known
        What the attacker knows instead of the records of the sample, row by row.

    Returns
    -------
    tuple
        Scores and decisions of the sample, and scores of the others.

    Examples
    --------
    >>> from leakscope.attacks import loss_threshold
    >>> loss, member = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([True, True, False, False])
    >>> guesses, _ = cross_guess(loss_threshold("log_loss"), loss, np.zeros(4), member, np.array([0, 1, 0, 1]),
    ...                          np.random.default_rng(0))
    >>> guesses.says_member
    array([1., 1., 0., 0.])
    """
    seen, true, other_half = others if others is not None else (observed[:0], labels[:0], half[:0])
    learned = Known(observed, labels, member, second) if known is None else known
    if not attack.uses_labels:
        learned = replace(learned, labels=None)
    asked_of = np.zeros_like(half) if model is None else model
    models = [asked_of == number for number in numbers_in(asked_of)]
    folds = [(of_model, number) for of_model in models for number in (0, 1)]

    def evidence(of_model: Booleans, number: int) -> Evidence:
        asked, also = np.flatnonzero(of_model & (half == number)), other_half == number
        reading = None if second is None else take_records(second, asked)
        if reading is not None and others_second is not None:
            reading = _below(reading, others_second[also])
        return Evidence(
            _below(take_records(observed, asked), seen[also]),
            _below(labels[asked], true[also]) if attack.uses_labels else None,
            learned.take(of_model & (half != number)),
            reading,
        )

    score, says, other_score = np.empty(len(observed)), np.empty(len(observed)), np.empty(len(seen))
    answers = attack.guess_all((evidence(*fold) for fold in folds), rng)
    for (of_model, number), guesses in zip(folds, answers, strict=True):
        asked = of_model & (half == number)
        here = int(asked.sum())
        score[asked], other_score[other_half == number] = guesses.score[:here], guesses.score[here:]
        says[asked] = guesses.says_member[:here]
    return Scores(score, says), other_score


def _below(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Both arrays concatenated; the first itself if the second is empty."""
    return np.concatenate([first, second]) if len(second) else first


def scale_of(attack: Attack, half: Indices, world: Models | None = None) -> Scale:
    """Return which scores of a cross-fitted attack can be compared: those of one half, or all where the scale is fixed.

    ``world`` is the number of the model that each record was shown to, if there are several.
    """
    if world is None:
        return Scale.of_one(len(half)) if attack.fixed_scale else Scale.of_halves(half)
    block: Any = world
    return Scale(block if attack.fixed_scale else half + 2 * block, block)
