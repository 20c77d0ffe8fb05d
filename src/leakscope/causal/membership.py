r"""Membership attacks in distribution and under shift, with what a shift gives away set apart.

An attacker tells members, the training set S drawn from P, from outsiders of P or of a shifted law P*
[tople2020, Def. 6 and section 4.1]. Against P* two things mix: knowing S, and telling P from P*. Three figures part them:

- **blind**: the best an attacker does who never asks the model, from the records alone;
- **control**: the same attack on a model of the same kind that was trained on an independent sample of P. It never saw the
  "members", so that all it finds is P against P*;
- **excess** = attack - control: what the training set gave away.

Models come in pairs, each trained on a sample that the other never saw. Each is attacked with its own sample as members,
and serves as control for the sample of the other: whatever is peculiar to one model enters the excess once with each sign
and cancels. Half of the outsiders go with each sample.

The accuracy of an attack is its share of right decisions among equally many members and outsiders: a coin has 0.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from leakscope import intervals
from leakscope.blind import blind_guesses
from leakscope.crossfit import Sample, scale_of
from leakscope.errors import InputError
from leakscope.evidence import Attack, Evidence, Floats, Guesses, Known
from leakscope.extra import advantage_difference, auc_difference
from leakscope.models import Model
from leakscope.ranking import Ranking, Scale, split
from leakscope.records import Records, take_rows
from leakscope.releases import observe
from leakscope.results import Estimate
from leakscope.risk import Judged

Indices = NDArray[np.intp]
Shown = Mapping[str, Floats]

#: Members judged in all, and as many outsiders: enough for intervals of ± 0.01.
MOST_JUDGED = 20_000
FEWEST = 20
#: Different answers of a model, as a share of the records, below which they are few.
FEW_ANSWERS = 0.7


@dataclass(frozen=True)
class Pair:
    """Two models of one kind, and the disjoint samples of P that each was trained on."""

    models: tuple[Model, Model]
    samples: tuple[Records, Records]


@dataclass(frozen=True)
class Membership:
    """One attack on one kind of model, against one law of outsiders.

    Parameters
    ----------
    accuracy, auc
        Of the attack on the model.
    control_accuracy, control_auc
        Of the same attack on a model that never saw the members.
    excess_accuracy, excess_auc
        Attack minus control, paired over records; of models with few different answers, the interval also allows for the
        chance of the attack's fits.
    """

    attack: str
    release: str
    accuracy: Estimate
    auc: Estimate
    control_accuracy: Estimate
    control_auc: Estimate
    excess_accuracy: Estimate
    excess_auc: Estimate


@dataclass(frozen=True)
class Blind:
    """What an attacker does who never asks a model."""

    accuracy: Estimate
    auc: Estimate


@dataclass(frozen=True)
class Deal:
    """Who is judged: ``judged`` members of each sample and as many outsiders each, dealt to two halves."""

    members: tuple[Indices, Indices]
    outsiders: tuple[Indices, Indices]

    @classmethod
    def draw(cls, sizes: Sequence[int], outsiders: int, most: int, rng: np.random.Generator) -> Deal:
        judged = min(*sizes, outsiders // 2, most // 2)
        if judged < FEWEST:
            raise InputError(
                f"there are {min(sizes)} members and {outsiders} others, and an attack needs {FEWEST} and {2 * FEWEST}: "
                "give more records."
            )
        members = tuple(rng.permutation(size)[:judged] for size in sizes)
        shuffled = rng.permutation(outsiders)
        return cls((members[0], members[1]), (shuffled[:judged], shuffled[judged : 2 * judged]))

    @property
    def judged(self) -> int:
        return len(self.members[0])

    @property
    def member(self) -> NDArray[np.bool_]:
        """Members of the first sample, its outsiders, members of the second, its outsiders."""
        return np.tile(np.repeat([True, False], self.judged), 2)

    @property
    def half(self) -> Indices:
        return np.tile(np.arange(self.judged) % 2, 4)

    @property
    def world(self) -> Indices:
        """Which sample a record goes with."""
        return np.repeat([0, 1], 2 * self.judged)


def try_membership(
    pair: Pair,
    outsiders: Records,
    attacks: Sequence[Attack],
    *,
    known: Sequence[Records] | None = None,
    most: int = MOST_JUDGED,
    seed: int | np.random.SeedSequence = 0,
    confidence: float = 0.95,
) -> tuple[Membership, ...]:
    """Attack both models of a pair, each with its own sample as members and with that of the other as control.

    Parameters
    ----------
    pair
        The models and their samples.
    outsiders
        Records of P or of P* that neither model saw.
    attacks
        What to try, such as ``leakscope.attacks.confidence_network()``.
    known
        Where the outsiders come from that the attacker learns from; by default they are drawn like the judged ones
        (and are others). With records of P and judged ones of P*, the attacker has never seen P*.
    most
        Members judged at most.
    """
    seeds = np.random.SeedSequence(seed) if isinstance(seed, int) else seed
    dealing, *drawn = seeds.spawn(1 + len(attacks))
    rng = np.random.default_rng(dealing)
    deal = Deal.draw([len(sample.y) for sample in pair.samples], len(outsiders.y), most, rng)
    releases = tuple(dict.fromkeys(name for attack in attacks for name in attack.releases))
    members = [_take(sample, rows) for sample, rows in zip(pair.samples, deal.members, strict=True)]
    others = [_take(outsiders, rows) for rows in deal.outsiders]
    taught = None if known is None else _mixed(known, deal.judged, rng)
    few = any(_has_few_answers(model, sample) for model, sample in zip(pair.models, members, strict=True))
    found = []
    for attack, child in zip(attacks, drawn, strict=True):
        target, control = (
            _judged(attack, pair, members, others, taught, own, releases, deal, np.random.default_rng(child))
            for own in (True, False)
        )
        found.append(_membership(attack, target, control, deal, few, confidence))
    return tuple(found)


def try_blind(
    samples: Sequence[Records],
    outsiders: Records,
    *,
    most: int = MOST_JUDGED,
    seed: int | np.random.SeedSequence = 0,
    confidence: float = 0.95,
) -> Blind:
    """Tell members from outsiders from the records and their labels alone: boosted trees, as in an audit (`blind`)."""
    dealing, drawn = (np.random.SeedSequence(seed) if isinstance(seed, int) else seed).spawn(2)
    deal = Deal.draw([len(sample.y) for sample in samples], len(outsiders.y), most, np.random.default_rng(dealing))
    members = _joined([_take(sample, rows) for sample, rows in zip(samples, deal.members, strict=True)])
    others = _take(outsiders, np.concatenate(deal.outsiders))
    everyone = np.arange(2 * deal.judged)
    half = np.tile(everyone % 2, 2)
    sample = Sample(everyone, everyone, 2 * deal.judged, half, half[:0])
    judged = blind_guesses(members, others, sample, np.random.default_rng(drawn))
    advantage = intervals.mean_difference(judged.says, confidence)
    return Blind(accuracy_of(advantage), intervals.auc(judged.ranking, confidence))


def accuracy_of(advantage: Estimate) -> Estimate:
    """Share of right decisions among equally many members and outsiders: (1 + advantage)/2.

    Examples
    --------
    >>> accuracy_of(Estimate(0.2, 0.1, 0.3))
    0.60 [0.55, 0.65]
    """
    value, low, high = ((1 + end) / 2 for end in (advantage.value, advantage.low, advantage.high))
    return replace(advantage, value=value, low=low, high=high)


def _judged(
    attack: Attack,
    pair: Pair,
    members: Sequence[Records],
    others: Sequence[Records],
    taught: Records | None,
    own: bool,
    releases: tuple[str, ...],
    deal: Deal,
    rng: np.random.Generator,
) -> Judged:
    """The attack on each sample, asking the model that trained on it, or the one that did not."""
    evidences = []
    for number in (0, 1):
        model = pair.models[number if own else 1 - number]
        inside, outside = _Asked.of(model, members[number], releases), _Asked.of(model, others[number], releases)
        strangers = outside if taught is None else _Asked.of(model, taught, releases)
        evidences += _cross(attack, inside, outside, strangers)
    score, says = np.empty(len(deal.member)), np.empty(len(deal.member))
    for number, guesses in enumerate(attack.guess_all(evidences, rng)):
        rows = np.flatnonzero((deal.world == number // 2) & (deal.half == number % 2))
        score[rows], says[rows] = guesses.score, guesses.says_member
    guesses = Guesses(score, says)
    return Judged(guesses, deal.member, scale_of(attack, deal.half, deal.world))


@dataclass(frozen=True)
class _Asked:
    """What the releases show of some records, and their labels."""

    shown: Shown
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, model: Model, records: Records, releases: tuple[str, ...]) -> _Asked:
        return cls(observe(model, records, releases), records.y)

    def take(self, attack: Attack, rows: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64], Floats | None]:
        beside = attack.beside_in(self.shown)
        return self.shown[attack.release][rows], self.labels[rows], None if beside is None else beside[rows]


def _cross(attack: Attack, inside: _Asked, outside: _Asked, strangers: _Asked) -> list[Evidence]:
    """Ask about one half of members and outsiders while the other half of members, and strangers, are known."""
    half, half_of_strangers = np.arange(len(inside.labels)) % 2, np.arange(len(strangers.labels)) % 2
    evidences = []
    for number in (0, 1):
        asked = [side.take(attack, half == number) for side in (inside, outside)]
        known = [inside.take(attack, half != number), strangers.take(attack, half_of_strangers != number)]
        member = np.repeat([True, False], [len(part[1]) for part in known])
        observed, labels, beside = (_both(column) for column in zip(*asked, strict=True))
        seen, true, seen_beside = (_both(column) for column in zip(*known, strict=True))
        use = attack.uses_labels
        evidences.append(
            Evidence(observed, labels if use else None, Known(seen, true if use else None, member, seen_beside), beside)
        )
    return evidences


def _both(parts: Sequence[Any]) -> Any:
    return None if parts[0] is None else np.concatenate([part for part in parts if part is not None])


def _membership(
    attack: Attack, target: Judged, control: Judged, deal: Deal, few: bool, confidence: float
) -> Membership:
    advantage, there = (intervals.mean_difference(judged.says, confidence) for judged in (target, control))
    accuracy, auc = advantage_difference(target, control, confidence), auc_difference(target, control, confidence)
    if few:
        fits = Scale(deal.half + 2 * deal.world, deal.world)
        changes = split(target.guesses.says_member - control.guesses.says_member, deal.member, fits)
        accuracy = _over_fits(accuracy, [float(np.mean(part.members) - np.mean(part.nonmembers)) for part in changes])
        if not attack.fixed_scale:
            both = (split(judged.guesses.score, deal.member, fits) for judged in (target, control))
            auc = _over_fits(
                auc, [Ranking.of([ours]).auc - Ranking.of([other]).auc for ours, other in zip(*both, strict=True)]
            )
    return Membership(
        attack=attack.name,
        release=attack.release,
        accuracy=accuracy_of(advantage),
        auc=intervals.auc(target.ranking, confidence),
        control_accuracy=accuracy_of(there),
        control_auc=intervals.auc(control.ranking, confidence),
        excess_accuracy=_halved(accuracy),
        excess_auc=auc,
    )


def _has_few_answers(model: Model, records: Records) -> bool:
    """Whether many records share their answer, so that a fitted rule that turns takes whole groups of them along."""
    return len(np.unique(model.predict(records.X), axis=0)) < FEW_ANSWERS * len(records)


def _over_fits(excess: Estimate, fits: Sequence[float]) -> Estimate:
    """Widen an interval over records to Student's over the four fits of the attack, where that is wider.

    Where a model has few different answers, a rule that is fitted once more may move whole groups of records to the other
    side, between the attack on a model and that on its control, which no error over records tells of.
    """
    spread = float(np.std(fits, ddof=1)) / math.sqrt(len(fits))
    half = float(special.stdtrit(len(fits) - 1, 0.5 + excess.confidence / 2)) * spread
    low, high = min(excess.low, excess.value - half), max(excess.high, excess.value + half)
    return replace(excess, low=max(-2.0, low), high=min(2.0, high), method=f"{excess.method}, or Student over fits")


def _halved(difference: Estimate) -> Estimate:
    """From a difference of advantages to one of accuracies."""
    return replace(difference, value=difference.value / 2, low=difference.low / 2, high=difference.high / 2)


def _take(records: Records, rows: Indices) -> Records:
    return Records(take_rows(records.X, rows), records.y[rows], np.arange(len(rows)))


def _joined(parts: Sequence[Records]) -> Records:
    y = np.concatenate([part.y for part in parts])
    return Records(np.concatenate([part.X for part in parts]), y, np.arange(len(y)))


def _mixed(known: Sequence[Records], count: int, rng: np.random.Generator) -> Records:
    """So many records, in equal shares from each set."""
    share = min(count // len(known), *(len(records.y) for records in known))
    mixed = _joined([_take(records, rng.permutation(len(records.y))[:share]) for records in known])
    return _take(mixed, rng.permutation(len(mixed.y)))
