"""The design of training sets: which records train which model, for audits and comparisons alike.

Models are numbered. A study trains those that it needs, and asks each about some records:

============ =================================================================== ===============================================
model        trained on                                                          asked about
============ =================================================================== ===============================================
*whole*      all members: the audited model, or a defended version of it         all records
*folds*      all members without one part                                        its part of the judged members and of the
                                                                                 judged non-members (the never-trained
                                                                                 control), and the other judged members
*halves*     half of the members                                                 judged members of the other half, as many judged
                                                                                 non-members, and members that are not judged
*references* all members that are not judged, a random half of the judged        the judged records
             members and a random half of the judged non-members; the partner
             of a pair on the other halves
============ =================================================================== ===============================================

References have the size of the audited model, and every judged record is in exactly half of them. With references there are four
folds and two halves; without, two folds, which are the halves of the members. Copies of a record train together, and classes are
dealt evenly. References have the last numbers and each pair is drawn by itself: the first pairs are the same whatever the number of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Indices
from leakscope.core.errors import InputError
from leakscope.evaluation.crossfit import Hashes, Sample, follow
from leakscope.models.target import Target

Kind = Literal["whole", "fold", "half", "reference"]
KINDS: tuple[Kind, ...] = ("whole", "fold", "half", "reference")
FOLDS = 4
#: Draws of the folds before they are given up.
MOST_DRAWS = 1000
#: In `Design.sides`: trains both models of a pair, or none of them; the second number marks a held-out copy of a member.
BOTH, NEITHER, COPY = 2, -1, 4


@dataclass(frozen=True)
class Numbers:
    """How many models of each kind a study trains."""

    references: int = 0
    folds: int = 0
    halves: int = 0

    def __str__(self) -> str:
        """The plan in words.

        Examples
        --------
        >>> str(Numbers(4, 4, 2)), str(Numbers(folds=2))
        ('training 4 references, 4 folds, 2 halves', 'training 2 folds')
        """
        counts = ((self.references, "references"), (self.folds, "folds"), (self.halves, "halves"))
        return "training " + ", ".join(f"{count} {what}" for count, what in counts if count)


@dataclass(frozen=True, eq=False)
class Design:
    """Who trains which model, and about whom each is asked. Positions count members first, then non-members.

    Parameters
    ----------
    numbers
        How many models of each kind there are.
    members, records
        Number of members, and of all records.
    judged
        Positions of the judged records, members first.
    sides
        For each pair of references and each position: trains the first (0), the second (1), both or neither. A held-out copy of
        a member is had with it, but not trained on twice.
    fold
        The part of each member.
    half
        The part of each record. Judged non-members are dealt to the halves as members are, so that the half without it can be
        asked about every judged record. It is -1 for other non-members, and for all of them without folds.
    asked
        The fold model that each judged record is asked of.
    """

    numbers: Numbers
    members: int
    records: int
    judged: Indices
    sides: NDArray[np.int8]
    fold: NDArray[np.int8]
    half: NDArray[np.int8]
    asked: NDArray[np.int8]

    def __len__(self) -> int:
        return 1 + self.numbers.references + self.numbers.folds + self.numbers.halves

    @property
    def judged_members(self) -> Indices:
        return self.judged[: len(self.judged) // 2]

    def models(self, kind: Kind) -> range:
        """Return the numbers of the models of one kind."""
        counts = (1, self.numbers.folds, self.numbers.halves, self.numbers.references)
        at = KINDS.index(kind)
        return range(sum(counts[:at]), sum(counts[: at + 1]))

    def kind(self, model: int) -> Kind:
        """Return the kind of a model."""
        return next(kind for kind in KINDS if model in self.models(kind))

    def first_pairs(self, pairs: int) -> Design:
        """Return the same design with the first pairs of references alone."""
        return replace(self, numbers=replace(self.numbers, references=2 * pairs), sides=self.sides[:pairs])

    def draw(self, model: int) -> Indices:
        """Return the training records of a model."""
        kind = self.kind(model)
        number = model - self.models(kind).start
        if kind == "whole":
            return np.arange(self.members)
        if kind == "reference":
            side = self.sides[number // 2]
            return np.flatnonzero((side == number % 2) | (side == BOTH))
        return np.flatnonzero(self.fold != number if kind == "fold" else self.half[: self.members] == number)

    def rows(self, model: int) -> Indices:
        """Return the records that a model is asked about; for a fold those of the control come first.

        A half is asked about judged records of the other half, and about all members that are not judged, whose exposure is a mean over
        both halves.
        """
        kind = self.kind(model)
        if kind == "whole":
            return np.arange(self.records)
        if kind == "half":
            asked = np.arange(self.records) < self.members
            asked[self.judged] = self.half[self.judged] == 1 - (model - self.models("half").start)
            return np.flatnonzero(asked)
        return self.judged if kind == "reference" else np.concatenate([self.control_rows(model), self.fit_rows(model)])

    def control_rows(self, model: int) -> Indices:
        """Return the judged records that a fold model is the control for."""
        return np.asarray(self.judged[self.asked == model - self.models("fold").start])

    def fit_rows(self, model: int) -> Indices:
        """Return the judged members that a fold model was trained on, and is asked about to see how it fits them."""
        if not self.numbers.references:
            return self.judged[:0]
        rows = self.judged_members
        return np.asarray(rows[self.fold[rows] != model - self.models("fold").start])

    def inside(self) -> NDArray[np.bool_]:
        """Return which reference had which judged record, (references, judged)."""
        sides = self.sides[:, self.judged] % COPY
        first, second = (np.isin(sides, [number, BOTH]) for number in (0, 1))
        return np.stack([first, second], axis=1).reshape(-1, len(self.judged))

    @property
    def smallest_fold(self) -> int:
        """Training records of the fold model with the fewest."""
        return int(self.members - np.bincount(self.fold, minlength=self.numbers.folds).max())


def make_design(target: Target, sample: Sample, hashes: tuple[Hashes, Hashes], numbers: Numbers, seed: int) -> Design:
    """Draw the training sets of all models."""
    halving, folding, *pairing = (
        np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(2 + numbers.references // 2)
    )
    members, nonmembers = hashes
    classes = target.model.task == "classification"
    labels, others = (
        side.y if classes else np.zeros(len(side.y), np.intp) for side in (target.members, target.nonmembers)
    )
    judged = np.concatenate([sample.members[: sample.judged], len(members) + sample.nonmembers])
    sides = np.full((numbers.references // 2, len(members) + len(nonmembers)), NEITHER, np.int8)
    for pair, rng in zip(sides, pairing, strict=True):
        pair[:] = _draw_pair(sample, hashes, (labels, others), rng)
    half = _draw_halves(sample, hashes, (labels, others), numbers, halving)
    fold, asked = _draw_folds(sample, hashes, (labels, others), numbers.folds, folding)
    small = (part.astype(np.int8) for part in (fold, half, asked))
    return Design(numbers, len(members), len(members) + len(nonmembers), judged, sides, *small)


def _draw_pair(
    sample: Sample, hashes: tuple[Hashes, Hashes], labels: tuple[Any, Any], rng: np.random.Generator
) -> NDArray[np.int8]:
    """Which model of a pair of references each record trains."""
    (members, nonmembers), inside, outside = hashes, sample.members[: sample.judged], sample.nonmembers
    dealt = _deal(members[inside], labels[0][inside], 2, rng)
    first = follow(members, members[inside], dealt, BOTH)
    second = np.full(len(nonmembers), NEITHER)
    copies = np.isin(nonmembers[outside], members)
    alone, copied = outside[~copies], outside[copies]
    second[alone] = _deal(nonmembers[alone], labels[1][alone], 2, rng)
    second[copied] = COPY + follow(nonmembers[copied], members, first, 0)
    return np.concatenate([first, second]).astype(np.int8)


def _draw_halves(
    sample: Sample, hashes: tuple[Hashes, Hashes], labels: tuple[Any, Any], numbers: Numbers, rng: np.random.Generator
) -> Indices:
    """The half of each record; see `Design`."""
    members, nonmembers = hashes
    inside, outside = np.zeros(len(members), np.intp), np.full(len(nonmembers), -1)
    if numbers.halves:
        inside = _deal(members, labels[0], numbers.halves, rng)
    if numbers.halves and numbers.folds:
        rows = sample.nonmembers
        dealt = _deal(nonmembers[rows], labels[1][rows], numbers.halves, rng)
        outside[rows] = follow(nonmembers[rows], members, inside, dealt)
    return np.concatenate([inside, outside])


def _draw_folds(
    sample: Sample, hashes: tuple[Hashes, Hashes], labels: tuple[Any, Any], folds: int, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """The part of each member, and the fold model that each judged record is asked of.

    An attack on the control is fitted on one half of the records of one model. With a dozen records a draw can leave such a cell
    without members or without non-members; it is then drawn again.
    """
    members, nonmembers = hashes[0], hashes[1][sample.nonmembers]
    if not folds:
        return np.zeros(len(members), np.intp), np.zeros(2 * sample.judged, np.intp)
    for _ in range(MOST_DRAWS):
        fold = _deal(members, labels[0], folds, rng)
        dealt = _deal(nonmembers, labels[1][sample.nonmembers], folds, rng)
        outside = follow(nonmembers, members, fold, dealt)
        asked = np.concatenate([fold[sample.members[: sample.judged]], outside]).astype(np.intp)
        cells = np.bincount(4 * asked + 2 * sample.half + sample.member, minlength=4 * folds)
        if cells.all():
            return fold, asked
    raise InputError(
        f"there are only {sample.judged} different records on each side, too few for the never-trained control: add records, "
        "or leave it out with retrain=False (--no-retrain)"
    )


def _deal(hashes: Hashes, labels: NDArray[Any], parts: int, rng: np.random.Generator) -> Indices:
    """Deal records to parts of about equal size: copies to the same one, and each class evenly."""
    _, first, copy = np.unique(hashes, return_index=True, return_inverse=True)
    order = rng.permutation(np.argsort(first))  # by place, so that the values of the hashes play no part
    order = order[np.argsort(labels[first][order], kind="stable")]
    part = np.empty(len(first), np.intp)
    part[order] = np.arange(len(first)) % parts
    return part[copy]
