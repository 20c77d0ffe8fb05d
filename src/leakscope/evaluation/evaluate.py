"""Evaluation of one attack: risk on the target, never-trained control, permuted memberships, and blind baseline.

Every study measures here whether an attack distinguishes members from non-members. The attacker knows the membership of half of
the judged records and is judged on the other half, and vice versa (`crossfit`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.protocol import Attack, Known, Scores
from leakscope.core.arrays import Floats, Indices, Labels
from leakscope.core.ranking import Scale
from leakscope.core.threads import one_thread
from leakscope.evaluation.crossfit import Models, Sample, cross_guess, scale_of
from leakscope.evaluation.groups import GroupColumn
from leakscope.evaluation.results import Risk
from leakscope.evaluation.risk import FALSE_POSITIVE_RATES, Confidence, Judged, JudgedAttack, assess, group_columns

Shown = Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class ControlOutputs:
    """Released values of the judged records from models that were not trained on them: the never-trained control.

    ``model`` is the number of the model that was queried about each judged record.
    """

    shown: Shown
    model: Models
    trained_on: int = 0


@dataclass(frozen=True, eq=False)
class KnownNonmembers:
    """Non-members that the attack is fitted to instead of the judged ones: one for each of these, in their order.

    ``target`` and ``control`` hold their released values, from the same models as those of the judged ones.
    """

    labels: Labels
    target: Shown
    control: Shown


@dataclass(frozen=True, eq=False)
class Observed:
    """Released values of all members, of all non-members, and of the judged records under the control.

    ``known`` is for an attack that is fitted to other non-members than the judged ones. ``judged`` holds statistics of reference models,
    which exist for the judged records only and are the same for target and control.
    """

    members: Shown
    nonmembers: Shown
    control: ControlOutputs | None = None
    known: KnownNonmembers | None = None
    judged: Shown = field(default_factory=dict)

    def of_judged(self, name: str, sample: Sample) -> Floats:
        """Return the released values of the judged records."""
        return self.judged[name] if name in self.judged else sample.judge(self.members[name], self.nonmembers[name])

    def of_others(self, name: str, sample: Sample) -> Floats:
        """Return the released values of members that are not judged; the mean of statistics that exist for judged ones only."""
        rest = sample.members[sample.judged :]
        if name in self.judged:
            return np.tile(self.judged[name].mean(axis=0), (len(rest), 1))
        return np.asarray(self.members[name][rest])


@dataclass(frozen=True, eq=False)
class Cohort:
    """The records, labels and groups on which all attacks of a study are judged.

    Parameters
    ----------
    sample
        Which records are judged.
    labels
        True labels of all members and of all non-members.
    blind
        Scores of the blind baseline on the judged records; None if the records are not known, or if the study measures it
        once.
    groups
        Column name to the level of each judged record.
    model
        Number of the model that each judged record was shown to, if the target consists of several models and each is the
        control of another. Scores are then compared within a model, every member is judged, memberships are not shuffled, and
        the attack draws the same random numbers on target and control, so that only the models differ.
    """

    sample: Sample
    labels: tuple[Labels, Labels]
    blind: Judged | None
    groups: Mapping[str, NDArray[Any]]
    seed: int
    fprs: tuple[float, ...] = FALSE_POSITIVE_RATES
    model: Indices | None = None

    @cached_property
    def scales(self) -> tuple[Scale, Scale]:
        """Which scores can be compared (`crossfit.scale_of`), of fitted attacks and of those with a fixed scale; shared by all."""
        half = self.sample.half
        if self.model is None:
            return Scale.of_halves(half), Scale.of_one(len(half))
        return Scale(half + 2 * self.model, self.model), Scale(self.model, self.model)

    @cached_property
    def group_columns(self) -> list[GroupColumn]:
        """The groups as codes; shared by all attacks."""
        return group_columns(self.groups)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """An attack's risk at each confidence, with its scores.

    Parameters
    ----------
    run
        Function that computes the judged attack and the scores of the members that are not judged. It is deterministic.
    kept
        Its result, if it is kept.
    """

    attack: Attack
    risks: tuple[Risk, ...]
    run: Callable[[], tuple[JudgedAttack, Floats]]
    kept: tuple[JudgedAttack, Floats] | None

    @cached_property
    def _scored(self) -> tuple[JudgedAttack, Floats]:
        return self.run() if self.kept is None else self.kept

    @property
    def trial(self) -> JudgedAttack:
        """The attack on the target and on the control."""
        return self._scored[0]

    @property
    def others(self) -> Floats:
        """Scores of the members that are not judged."""
        return self._scored[1]

    def without_scores(self) -> Evaluated:
        """Return a copy without scores; if they are read, the attack runs again."""
        return replace(self, kept=None)


def evaluate(attack: Attack, case: Cohort, observed: Observed, confidences: Sequence[float | Confidence]) -> Evaluated:
    """Run an attack on the target and on its controls, and return its risk at each confidence.

    The random numbers of an attack depend on the seed and its name only, so that the same attack gives the same scores in every study.
    """
    trial, others = _try(attack, case, observed, shuffled=case.model is None)
    risks = assess(trial, case.blind, case.group_columns, confidences=confidences, fprs=case.fprs)
    # Copies without the caches of scoring, which for a million records are about 100 MB per attack.
    control = None if trial.control is None else replace(trial.control)
    kept = replace(trial, target=replace(trial.target), permuted=None, control=control)
    return Evaluated(attack, tuple(risks), partial(_try, attack, case, observed, shuffled=False), (kept, others))


def _try(attack: Attack, case: Cohort, observed: Observed, *, shuffled: bool) -> tuple[JudgedAttack, Floats]:
    """The attack on the target, on shuffled memberships and on the control; and scores of the members that are not judged."""
    seed = zlib.crc32(f"{attack.name} on {attack.release}".encode())
    on_target, on_permuted, on_control = np.random.SeedSequence([case.seed, seed]).spawn(3)
    sample, rest = case.sample, case.sample.members[case.sample.judged :]
    with one_thread():
        seen = {name: observed.of_judged(name, sample) for name in attack.releases}
        others = {name: observed.of_others(name, sample) for name in attack.releases}
        labels, scale = sample.judge(*case.labels), case.scales[attack.fixed_scale]
        guesses, scores = _guess(
            attack, case, seen, labels, np.random.default_rng(on_target),
            others=(others[attack.release], case.labels[0][rest], sample.other_half),
            others_second=attack.second_in(others),
            model=case.model,
            known=_learned(attack, case, seen, observed.known, lambda known: known.target),
        )  # fmt: skip
        permuted = None
        if shuffled:
            rng = np.random.default_rng(on_permuted)
            member = sample.permuted(rng)  # within each half
            permuted = Judged(_guess(attack, case, seen, labels, rng, member)[0], member, scale)
        del seen, others
        unseen = None
        if observed.control is not None:
            rng = np.random.default_rng(on_control if case.model is None else on_target)
            unseen = _on_control(attack, case, labels, observed, rng)
    return JudgedAttack(attack, Judged(guesses, sample.member, scale), permuted, unseen), scores


def _guess(
    attack: Attack, case: Cohort, shown: Shown, labels: Any, rng: np.random.Generator, member: Any = None, **more: Any
) -> tuple[Scores, Floats]:
    """Run the attack on the judged records."""
    sample, second = case.sample, attack.second_in(shown)
    known_as = sample.member if member is None else member
    return cross_guess(attack, shown[attack.release], labels, known_as, sample.half, rng, second=second, **more)


def _learned(
    attack: Attack, case: Cohort, seen: Shown, known: KnownNonmembers | None, shown: Callable[[KnownNonmembers], Shown]
) -> Known | None:
    """What the attacker knows: the judged members, and the known non-members instead of the judged ones."""
    if known is None:
        return None
    judged = case.sample.judged
    both = {name: np.concatenate([seen[name][:judged], shown(known)[name]]) for name in attack.releases}
    labels = np.concatenate([case.sample.judge(*case.labels)[:judged], known.labels])
    return Known(both[attack.release], labels, case.sample.member, attack.second_in(both))


def _on_control(attack: Attack, case: Cohort, labels: Any, observed: Observed, rng: np.random.Generator) -> Judged:
    """Run the attack on each of the models that were not trained on the records that they are queried about."""
    control, sample = observed.control, case.sample
    assert control is not None
    shown = {
        name: observed.judged[name] if name in observed.judged else control.shown[name] for name in attack.releases
    }
    known = _learned(attack, case, shown, observed.known, lambda known: known.control)
    guesses, _ = _guess(attack, case, shown, labels, rng, model=control.model, known=known)
    return Judged(guesses, sample.member, scale_of(attack, sample.half, control.model))
