"""One attack, tried on the target and where there is nothing to find.

The attacker either knows half of the members and is judged on the other half, both ways round (`crossfit`), or knows none and
fits on shadow models (`shadow`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leakscope.control import ControlWorld
from leakscope.crossfit import Sample, cross_guess, scale_of
from leakscope.evidence import Attack, Floats, Guesses
from leakscope.ranking import Scale
from leakscope.releases import stack
from leakscope.risk import Judged, Trial
from leakscope.shadow import Shadows
from leakscope.target import Target


def try_attack(
    attack: Attack,
    target: Target,
    sample: Sample,
    observed: Sequence[Mapping[str, Floats]],
    control: ControlWorld | None,
    shadows: Shadows | None,
    draws: Iterator[np.random.SeedSequence],
) -> tuple[Trial, Floats]:
    """The attack on the target, on the never-trained control, and on shuffled memberships; and scores of the unjudged.

    ``observed`` holds what the releases show of members and of non-members. Three seeds are taken from ``draws``.
    """
    rngs = [np.random.default_rng(next(draws)) for _ in range(3)]
    rest = sample.members[sample.judged :]
    seen = {name: sample.judge(*(side[name] for side in observed)) for name in attack.releases}
    others = {name: observed[0][name][rest] for name in attack.releases}
    labels = sample.judge(target.members.y, target.nonmembers.y)
    if shadows is not None:
        return _through_shadows(
            attack, shadows, sample, (seen, labels), (others, target.members.y[rest]), control, rngs
        )
    guesses, scores = cross_guess(
        attack,
        seen[attack.release],
        labels,
        sample.member,
        sample.half,
        rngs[0],
        others=(others[attack.release], target.members.y[rest], sample.other_half),
        beside=_beside(attack, seen),
        others_beside=_beside(attack, others),
    )
    shuffled = sample.permuted(rngs[1])
    permuted, _ = cross_guess(
        attack, seen[attack.release], labels, shuffled, sample.half, rngs[1], beside=_beside(attack, seen)
    )
    unseen = None if control is None else _on_control(attack, sample, labels, control, rngs[2])
    scale = scale_of(attack, sample.half)
    return Trial(attack, Judged(guesses, sample.member, scale), Judged(permuted, shuffled, scale), unseen), scores


def _beside(attack: Attack, shown: Mapping[str, Floats]) -> Floats | None:
    return None if attack.beside is None else shown[attack.beside]


def _on_control(attack: Attack, sample: Sample, labels: Any, control: ControlWorld, rng: np.random.Generator) -> Judged:
    """The attack again on each of the models that never saw the records they are asked about."""
    member, half = sample.member, sample.half
    score, says = np.empty(len(member)), np.empty(len(member))
    for world in np.unique(control.world):
        rows = np.flatnonzero(control.world == world)
        shown = {name: control.observed[name][rows] for name in attack.releases}
        part, _ = cross_guess(
            attack, shown[attack.release], labels[rows], member[rows], half[rows], rng, beside=_beside(attack, shown)
        )
        score[rows], says[rows] = part.score, part.says_member
    return Judged(Guesses(score, says), member, scale_of(attack, half, control.world))


def _through_shadows(
    attack: Attack,
    shadows: Shadows,
    sample: Sample,
    judged: tuple[Mapping[str, Floats], Any],
    others: tuple[Mapping[str, Floats], Any],
    control: ControlWorld | None,
    rngs: Sequence[np.random.Generator],
) -> tuple[Trial, Floats]:
    """Fitted once on the shadow models, the attack is asked about the judged, the others, and the judged in the control.

    All its scores can be compared, since one fit gave them. Shuffled memberships need no fit of their own, since the attack
    saw none of the true ones.
    """
    parts = [judged, others] + ([] if control is None else [(control.observed, judged[1])])
    shown = {name: stack([part[name] for part, _ in parts]) for name in attack.releases}
    labels = np.concatenate([part for _, part in parts])
    answer = shadows.guess(attack, shown[attack.release], labels, _beside(attack, shown), rngs[0])
    member = sample.member
    first, last = len(member), len(member) + len(others[1])
    one = np.zeros(len(member), np.intp)
    guesses = Guesses(answer.score[:first], answer.says_member[:first])
    target = Judged(guesses, member, Scale(one, one))
    permuted = Judged(guesses, sample.permuted(rngs[1]), Scale(one, one))
    unseen = None
    if control is not None:
        there = Guesses(answer.score[last:], answer.says_member[last:])
        unseen = Judged(there, member, Scale(control.world, control.world))
    return Trial(attack, target, permuted, unseen), answer.score[first:last]
