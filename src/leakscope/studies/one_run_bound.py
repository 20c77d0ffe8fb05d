"""A lower bound on ε from one trained model, and what it makes of a claim: pairs of members and non-members from an audit.

Members and non-members are paired within each half. Where training set and holdout were split at random, which record of a pair is the
member is a fair coin, and turning it over is the swap of one record (`claimed_epsilon`). Records that occur more than once are left out,
since for them the coin is not fair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.protocol import Attack
from leakscope.bounds.any_attack import advantage_from_epsilon
from leakscope.bounds.claimed_epsilon import Pairs, check_claim
from leakscope.core.arrays import Indices
from leakscope.core.estimate import Estimate
from leakscope.evaluation.crossfit import Hashes, Sample
from leakscope.evaluation.results import Bound, EpsilonClaim
from leakscope.evaluation.risk import JudgedAttack
from leakscope.evaluation.verdict import is_primary


def pair_records(half: Indices, judged: int, alone: NDArray[np.bool_]) -> tuple[Indices, Indices, Indices]:
    """Positions of members and of non-members that make pairs, and the half of each pair.

    Examples
    --------
    >>> pair_records(np.array([0, 1, 0, 1, 1, 0]), judged=3, alone=np.array([True, True, False, True, True, True]))
    (array([0, 1]), array([5, 3]), array([0, 1]))
    """
    inside, outside, halves = [], [], []
    for number in (0, 1):
        rows = np.flatnonzero((half == number) & alone)
        members, others = rows[rows < judged], rows[rows >= judged]
        count = min(len(members), len(others))
        inside.append(members[:count])
        outside.append(others[:count])
        halves.append(np.full(count, number))
    return np.concatenate(inside), np.concatenate(outside), np.concatenate(halves)


def stand_alone(hashes: tuple[Hashes, Hashes], sample: Sample) -> NDArray[np.bool_]:
    """Which judged records occur once in the data."""
    values, counts = np.unique(np.concatenate(hashes), return_counts=True)
    return np.asarray(counts[np.searchsorted(values, sample.judge(*hashes))] == 1)


def bound_epsilon(
    attacks: Sequence[Attack],
    trial_of: Callable[[int], JudgedAttack],
    sample: Sample,
    alone: NDArray[np.bool_],
    claimed: tuple[float, float] | None,
    confidence: float,
) -> EpsilonClaim | None:
    """Give the lower bound on ε by the primary attack, or by all of them where it did not run; None where no record can be paired.

    ``trial_of`` gives the trial of a position in ``attacks``; those of other attacks are not asked for. ``claimed`` is the (ε, δ) of a claim. ``alone`` says which judged records occur once (`stand_alone`).
    """
    inside, outside, half = pair_records(sample.half, sample.judged, alone)
    if not len(inside):
        return None
    pairs = []
    for at in [at for at, attack in enumerate(attacks) if is_primary(attack)] or range(len(attacks)):
        attack, score = attacks[at], trial_of(at).target.attack_scores.score
        pairs.append(Pairs(attack.name, score[inside], score[outside], None if attack.fixed_scale else half))
    epsilon, delta = claimed or (0.0, 0.0)
    tested = check_claim(epsilon, delta, pairs=pairs, confidence=confidence)
    assert tested.bound is not None
    return EpsilonClaim(
        None if claimed is None else tested.swap_epsilon, tested.swap_delta, tested.bound.finite(), tested.attack
    )


def promised(epsilon: float, delta: float = 0.0) -> Bound:
    """Give what no attack can exceed if training is (ε, δ)-differentially private, which is a statement of the caller.

    Examples
    --------
    >>> promised(1.0).advantage
    at most 0.463
    """
    most = float(advantage_from_epsilon(epsilon, delta))
    advantage = Estimate(most, 0.0, most, 1.0, "upper bound", method="follows from the guarantee")
    return Bound(advantage, "Kairouz, Oh and Viswanath 2015", float(epsilon), float(delta))
