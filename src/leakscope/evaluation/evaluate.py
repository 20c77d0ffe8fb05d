"""One attack, evaluated: its risk on the target, beside the never-trained control, shuffled memberships and the blind baseline.

Every study that asks "does this attack distinguish members from non-members?" asks it here. The attacker knows the membership of
half of the judged records and is judged on the other half, both ways round (`crossfit`).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.crossfit import Indices, Sample, cross_guess, scale_of
from leakscope.evidence import Attack, Floats, Guesses, Labels
from leakscope.ranking import Scale
from leakscope.results import Risk
from leakscope.risk import FALSE_POSITIVE_RATES, Confidence, Judged, Trial, assess
from leakscope.workers import one_thread

Shown = Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Control:
    """What the releases show of the judged records, asked of models that were not trained on them.

    ``model`` says for each judged record which of these models was asked about it.
    """

    shown: Shown
    model: Indices
    trained_on: int = 0


@dataclass(frozen=True, eq=False)
class Observed:
    """What the releases show: of all members, of all non-members, and of the judged records through the control."""

    members: Shown
    nonmembers: Shown
    control: Control | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """What all attacks of a study are judged by.

    Parameters
    ----------
    sample
        Which records are judged.
    labels
        True labels of all members and of all non-members.
    blind
        Scores of the blind baseline on the judged records; None where the records are not known.
    groups
        Column name to the level of each judged record.
    """

    sample: Sample
    labels: tuple[Labels, Labels]
    blind: Judged | None
    groups: Mapping[str, NDArray[Any]]
    seed: int
    fprs: tuple[float, ...] = FALSE_POSITIVE_RATES

    @cached_property
    def scales(self) -> tuple[Scale, Scale]:
        """Which scores can be compared (`crossfit.scale_of`), of fitted attacks and of those with a fixed scale; shared by all."""
        block = np.zeros_like(self.sample.half)
        return Scale(self.sample.half, block), Scale(block, block)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """An attack's scores, its risk at each confidence, and the scores of the members that are not judged."""

    trial: Trial
    risks: tuple[Risk, ...]
    others: Floats


def evaluate(attack: Attack, case: Case, observed: Observed, confidences: Sequence[float | Confidence]) -> Evaluated:
    """Run an attack on the target and on its controls, and give its risk at each confidence.

    What is random in an attack follows from the seed and its name, so that the same attack gives the same scores in every study,
    whatever else runs.
    """
    seed = zlib.crc32(f"{attack.name} on {attack.release}".encode())
    draws = [np.random.default_rng(one) for one in np.random.SeedSequence([case.seed, seed]).spawn(3)]
    with one_thread():
        trial, others = _try(attack, case, observed, draws)
    risks = assess(trial, case.blind, case.groups, confidences=confidences, fprs=case.fprs)
    # Copies without what scoring has cached, which for a million records is some 100 MB an attack.
    control = None if trial.control is None else replace(trial.control)
    return Evaluated(replace(trial, target=replace(trial.target), permuted=None, control=control), tuple(risks), others)


def _try(attack: Attack, case: Case, observed: Observed, rngs: Sequence[np.random.Generator]) -> tuple[Trial, Floats]:
    """The attack on the target, on shuffled memberships and on the control; and scores of the members that are not judged."""
    sample, rest = case.sample, case.sample.members[case.sample.judged :]
    seen = {name: sample.judge(observed.members[name], observed.nonmembers[name]) for name in attack.releases}
    others = {name: observed.members[name][rest] for name in attack.releases}
    labels, scale = sample.judge(*case.labels), case.scales[attack.fixed_scale]
    guesses, scores = cross_guess(
        attack,
        seen[attack.release],
        labels,
        sample.member,
        sample.half,
        rngs[0],
        others=(others[attack.release], case.labels[0][rest], sample.other_half),
        beside=attack.beside_in(seen),
        others_beside=attack.beside_in(others),
    )
    shuffled = sample.permuted(rngs[1])
    permuted, _ = cross_guess(
        attack, seen[attack.release], labels, shuffled, sample.half, rngs[1], beside=attack.beside_in(seen)
    )
    unseen = None if observed.control is None else _on_control(attack, sample, labels, observed.control, rngs[2])
    return Trial(attack, Judged(guesses, sample.member, scale), Judged(permuted, shuffled, scale), unseen), scores


def _on_control(attack: Attack, sample: Sample, labels: Any, control: Control, rng: np.random.Generator) -> Judged:
    """The attack again on each of the models that were not trained on the records they are asked about."""
    member, half = sample.member, sample.half
    score, says = np.empty(len(member)), np.empty(len(member))
    for number in np.unique(control.model):
        rows = np.flatnonzero(control.model == number)
        shown = {name: control.shown[name][rows] for name in attack.releases}
        part, _ = cross_guess(
            attack, shown[attack.release], labels[rows], member[rows], half[rows], rng, beside=attack.beside_in(shown)
        )
        score[rows], says[rows] = part.score, part.says_member
    return Judged(Guesses(score, says), member, scale_of(attack, half, control.model))
