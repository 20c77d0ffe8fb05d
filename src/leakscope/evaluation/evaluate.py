"""One attack, evaluated: its risk on the target, with the never-trained control, permuted memberships and the blind baseline.

Every study that asks "does this attack distinguish members from non-members?" asks it here. The attacker knows the membership of
half of the judged records and is judged on the other half, both ways round (`crossfit`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.protocol import Attack, Guesses, Known
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
    """What the releases show of the judged records, asked of models that were not trained on them.

    ``model`` says for each judged record which of these models was asked about it.
    """

    shown: Shown
    model: Models
    trained_on: int = 0


@dataclass(frozen=True, eq=False)
class KnownNonmembers:
    """Non-members that the attacker learns from in place of the judged ones: one for each of these, in their order.

    ``target`` and ``control`` hold what the releases show of them, asked of the same models as the judged ones.
    """

    labels: Labels
    target: Shown
    control: Shown


@dataclass(frozen=True, eq=False)
class Observed:
    """What the releases show: of all members, of all non-members, and of the judged records through the control.

    ``known`` is for an attacker who learns from other non-members than the judged ones. ``judged`` holds what is known of the judged
    records alone and is the same for target and control: statistics of reference models.
    """

    members: Shown
    nonmembers: Shown
    control: ControlOutputs | None = None
    known: KnownNonmembers | None = None
    judged: Shown = field(default_factory=dict)

    def of_judged(self, name: str, sample: Sample) -> Floats:
        """Return what a release shows of the judged records."""
        return self.judged[name] if name in self.judged else sample.judge(self.members[name], self.nonmembers[name])

    def of_others(self, name: str, sample: Sample) -> Floats:
        """Return what a release shows of members that are not judged; of what is known of judged records alone, their means."""
        rest = sample.members[sample.judged :]
        if name in self.judged:
            return np.tile(self.judged[name].mean(axis=0), (len(rest), 1))
        return np.asarray(self.members[name][rest])


@dataclass(frozen=True, eq=False)
class EvaluationCase:
    """What all attacks of a study are judged by.

    Parameters
    ----------
    sample
        Which records are judged.
    labels
        True labels of all members and of all non-members.
    blind
        Scores of the blind baseline on the judged records; None where the records are not known, or where the study measures
        it by itself, once for several cases.
    groups
        Column name to the level of each judged record.
    model
        Which model each judged record was shown to, where the target is several models and each one's control is another one
        of them. Scores are then compared within a model, every member is judged, memberships are not shuffled, and the attack
        draws the same random numbers on target and control, so that their difference is that of the models.
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
        """The groups by number; shared by all attacks."""
        return group_columns(self.groups)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """An attack's risk at each confidence, with its scores.

    Parameters
    ----------
    run
        Gives the scores: the trial, and the scores of the members that are not judged. The same every time.
    kept
        The same, where it is kept.
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
        """Return the same without scores; where they are read all the same, the attack runs again."""
        return replace(self, kept=None)


def evaluate(
    attack: Attack, case: EvaluationCase, observed: Observed, confidences: Sequence[float | Confidence]
) -> Evaluated:
    """Run an attack on the target and on its controls, and give its risk at each confidence.

    What is random in an attack follows from the seed and its name, so that the same attack gives the same scores in every study,
    whatever else runs.
    """
    trial, others = _try(attack, case, observed, shuffled=case.model is None)
    risks = assess(trial, case.blind, case.group_columns, confidences=confidences, fprs=case.fprs)
    # Copies without what scoring has cached, which for a million records is some 100 MB an attack.
    control = None if trial.control is None else replace(trial.control)
    kept = replace(trial, target=replace(trial.target), permuted=None, control=control)
    return Evaluated(attack, tuple(risks), partial(_try, attack, case, observed, shuffled=False), (kept, others))


def _try(attack: Attack, case: EvaluationCase, observed: Observed, *, shuffled: bool) -> tuple[JudgedAttack, Floats]:
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
    attack: Attack,
    case: EvaluationCase,
    shown: Shown,
    labels: Any,
    rng: np.random.Generator,
    member: Any = None,
    **more: Any,
) -> tuple[Guesses, Floats]:
    """Ask the attack about the judged records from what is shown of them."""
    sample, second = case.sample, attack.second_in(shown)
    known_as = sample.member if member is None else member
    return cross_guess(attack, shown[attack.release], labels, known_as, sample.half, rng, second=second, **more)


def _learned(
    attack: Attack,
    case: EvaluationCase,
    seen: Shown,
    known: KnownNonmembers | None,
    shown: Callable[[KnownNonmembers], Shown],
) -> Known | None:
    """What the attacker knows: the judged members as they are, and the known non-members in place of the judged ones."""
    if known is None:
        return None
    judged = case.sample.judged
    both = {name: np.concatenate([seen[name][:judged], shown(known)[name]]) for name in attack.releases}
    labels = np.concatenate([case.sample.judge(*case.labels)[:judged], known.labels])
    return Known(both[attack.release], labels, case.sample.member, attack.second_in(both))


def _on_control(
    attack: Attack, case: EvaluationCase, labels: Any, observed: Observed, rng: np.random.Generator
) -> Judged:
    """The attack again on each of the models that were not trained on the records they are asked about."""
    control, sample = observed.control, case.sample
    assert control is not None
    shown = {
        name: observed.judged[name] if name in observed.judged else control.shown[name] for name in attack.releases
    }
    known = _learned(attack, case, shown, observed.known, lambda known: known.control)
    guesses, _ = _guess(attack, case, shown, labels, rng, model=control.model, known=known)
    return Judged(guesses, sample.member, scale_of(attack, sample.half, control.model))
