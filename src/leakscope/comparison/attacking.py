"""Every version attacked by the same attacks with the same draws, and by attacks that know its defense.

An attacker who knows the defense fits on defended answers: every attack that learns does so, since the records that it knows
are shown to it as the version shows them. Two more are added where they can be run:

- *label only*: asks for the label of slightly changed copies of a record, and so has no use for the confidences that a
  defense masks (Choquette-Choo et al. 2021);
- *attacks with reference models*: LiRA (Carlini et al. 2022) and RMIA (Zarifzadeh et al. 2024) compare with models that were
  trained with the defense, and whose answers go through it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks import ATTACKS, explanation_attacks
from leakscope.attacks.membership_label_only import label_only
from leakscope.attacks.membership_lira import lira
from leakscope.attacks.membership_rmia import rmia
from leakscope.attacks.references import REFERENCES, reference_statistics
from leakscope.comparison.plan import Planned
from leakscope.comparison.result import SHADOWS_KNOW
from leakscope.comparison.training import ANSWERS, Design, Shown, Trained
from leakscope.control import ControlWorld
from leakscope.crossfit import Sample
from leakscope.evidence import Attack, Floats
from leakscope.ranking import Part, split
from leakscope.releases import RELEASES, Block
from leakscope.results import Risk
from leakscope.risk import Judged, Trial, assess
from leakscope.target import Target
from leakscope.trying import try_attack
from leakscope.verdict import choose_strongest
from leakscope.workers import one_thread

STABILITY = "label_stability"
#: What each attack knows of a defense beside fitting on what the version shows.
KNOWS = {
    label_only().name: "asks for labels of changed copies: masked confidences do not matter",
    lira().name: SHADOWS_KNOW,
    rmia().name: SHADOWS_KNOW,
}


@dataclass(frozen=True, eq=False)
class Case:
    """What all versions are judged by: the same records, halves, baseline and groups."""

    target: Target
    sample: Sample
    design: Design
    blind: Judged
    groups: Mapping[str, NDArray[Any]]
    seed: int
    confidence: float
    together: float
    fprs: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the attacks found on one version: risks that hold for all versions at once, and the scores of each attack by half."""

    careful: tuple[Risk, ...]
    scores: tuple[list[Part], ...]
    trials: tuple[Trial, ...]

    @property
    def strongest(self) -> int:
        """Position of the strongest attack."""
        return choose_strongest(self.careful)


def attacks_on(target: Target, version: Planned, explained: Sequence[str], shadows: bool) -> tuple[Attack, ...]:
    """The usual attacks that this model's answers allow, those on explanations, and those that know the defense."""
    usual = [attack for attack in ATTACKS[target.model.task] if attack.refuse(target.model) is None]
    if target.model.task == "classification" and (version.made.answers is None or version.made.keeps_labels):
        usual.append(label_only())  # the copies are asked of the model itself, so the labels must be those that leave
    for name in explained_by(version, explained):
        prediction = "predictions" if target.model.task == "regression" else "probabilities"
        usual += explanation_attacks(name, prediction=prediction)
    task = target.model.task
    return (*usual, lira(task), rmia(task)) if shadows else tuple(usual)


def explained_by(version: Planned, explained: Sequence[str]) -> list[str]:
    """Names of the explanations that a version releases."""
    change = version.made.explanation
    return [name if change is None else change(name) for name in explained]


def attack_version(case: Case, version: Planned, trained: Trained, explained: Sequence[str]) -> Outcome:
    """Run every attack on one version."""
    target, sample = case.target, case.sample
    attacks = attacks_on(target, version, explained, shadows=len(trained.shadows) > 0)
    shown = [_releases(case, version, side, records.y, attacks) for side, records in
             ((trained.members, target.members), (trained.nonmembers, target.nonmembers))]  # fmt: skip
    labels = sample.judge(target.members.y, target.nonmembers.y)
    control = None
    if trained.control is not None:
        seen = _releases(case, version, trained.control, labels, attacks)
        control = ControlWorld(seen, case.design.asked, int(np.bincount(case.design.trains, minlength=2).min()))
    if len(trained.shadows):
        _add_references(case, version, trained, labels, shown, control)
    # The same draws for the same attack in every version, so that versions differ by the defense alone.
    trials = []
    for place, attack in enumerate(attacks):
        draws = iter(np.random.SeedSequence((case.seed, place)).spawn(3))
        with one_thread():
            trials.append(try_attack(attack, target, sample, shown, control, None, draws)[0])
    return _judge(case, trials)


def _releases(
    case: Case, version: Planned, shown: Shown, labels: NDArray[Any], attacks: Sequence[Attack]
) -> dict[str, Floats]:
    """What the attacks read, from the answers as the version gives them."""
    block = Block(case.target.model, None, labels, version.shown(case.target, shown[ANSWERS]))
    wanted = dict.fromkeys(name for attack in attacks for name in attack.releases if name != REFERENCES)
    return {name: shown[name] if name in shown else RELEASES[name].observe(block) for name in wanted}


def _add_references(
    case: Case,
    version: Planned,
    trained: Trained,
    labels: NDArray[Any],
    shown: list[dict[str, Floats]],
    control: ControlWorld | None,
) -> None:
    """What shadow models say of each judged record with and without it; records that are not judged have none."""
    task = case.target.model.task
    answers = (version.shown(case.target, part) for part in trained.shadows)
    references = reference_statistics(answers, labels, case.design.inside(), task)
    for side, rows, offset in (
        (0, case.sample.members[: case.sample.judged], 0),
        (1, case.sample.nonmembers, case.sample.judged),
    ):
        records = case.target.members if side == 0 else case.target.nonmembers
        table = np.tile(references.mean(axis=0), (len(records), 1))
        table[rows] = references[offset : offset + case.sample.judged]
        shown[side][REFERENCES] = table
    if control is not None:
        control.observed[REFERENCES] = references


def _judge(case: Case, trials: Sequence[Trial]) -> Outcome:
    careful = [assess(trial, case.blind, {}, confidences=(case.together,), fprs=case.fprs)[0] for trial in trials]
    scores = [split(trial.target.guesses.score, trial.target.member, case.blind.scale) for trial in trials]
    # A copy without what scoring has cached, which for a million records is some 100 MB an attack.
    kept = tuple(replace(trial, target=replace(trial.target)) for trial in trials)
    return Outcome(tuple(careful), tuple(scores), kept)
