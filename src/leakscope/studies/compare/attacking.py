"""Every version attacked by the same attacks with the same draws, and by attacks that know its defense.

An attacker who knows the defense fits on defended answers: every attack that learns does so, since the records that it knows
are shown to it as the version shows them. Two more are added where they can be run:

- *label only*: queries the labels of slightly changed copies of a record, so that masked confidences do not matter (Choquette-Choo et al. 2021);
- *attacks with reference models*: LiRA (Carlini et al. 2022) and RMIA (Zarifzadeh et al. 2024) compare with models that were
  trained with the defense, and whose answers go through it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from leakscope.attacks import ATTACKS, explanation_attacks, reference_attacks
from leakscope.attacks import membership_explanation_references as of_explanations
from leakscope.attacks.membership_label_only import label_only
from leakscope.attacks.protocol import Attack
from leakscope.core.ranking import ScoreSplit, split
from leakscope.evaluation.design import Design
from leakscope.evaluation.evaluate import Cohort, evaluate
from leakscope.evaluation.references import fit_of_members, observe_version
from leakscope.evaluation.results import Fit, Risk
from leakscope.evaluation.risk import Confidence, JudgedAttack
from leakscope.evaluation.training import Trained
from leakscope.evaluation.verdict import choose_strongest
from leakscope.models.target import Target
from leakscope.studies.compare.plan import Planned

#: How each attack is adapted to a defense, beyond fitting on what the version shows.
KNOWS: dict[str, Literal["references", "labels"]] = {
    label_only().name: "labels",
    **{
        attack.name: "references"
        for same in (True, False)
        for attack in reference_attacks("classification", same_kind=same)
    },
    **dict.fromkeys((of_explanations.NAME, of_explanations.LEARNED_WITH_PREDICTION), "references"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparisonCase(Cohort):
    """What all versions are judged by: the same records, halves, baseline and groups.

    ``attacks`` holds for each version its attacks and the confidence of each, so that all intervals of all versions are simultaneous at
    ``confidence``; ``together`` is the confidence of each if all had the same.
    """

    target: Target
    design: Design
    training_seed: int
    confidence: float
    together: float
    attacks: Mapping[str, Sequence[tuple[Attack, Confidence]]]


@dataclass(frozen=True, eq=False)
class VersionOutcome:
    """What the attacks found on one version: risks with intervals that are simultaneous for all versions, and the scores of each attack by half."""

    careful: tuple[Risk, ...]
    scores: tuple[list[ScoreSplit], ...]
    trials: tuple[JudgedAttack, ...]
    fit: Fit | None

    @property
    def strongest(self) -> int:
        """Position of the strongest attack."""
        return choose_strongest(self.careful)


def attacks_on(
    target: Target, version: Planned, explained: Sequence[str], *, references: bool, masks: bool
) -> tuple[Attack, ...]:
    """The attacks of an audit that this model's answers allow, those on explanations, and those that know the defense.

    Where some version ``masks`` confidences, the attack on labels runs on all of them.
    """
    task = target.model.task
    same_kind = version.learner(target) is not None
    usual = [*reference_attacks(task, same_kind=same_kind), *ATTACKS[task]] if references else [*ATTACKS[task]]
    chosen = [attack for attack in usual if attack.refuse(target.model) is None]
    keeps = version.made.answers is None or version.made.keeps_labels
    if masks and keeps and task == "classification":
        chosen.append(
            label_only()
        )  # the model itself is queried with the copies, so its labels must be those that are released
    prediction = "predictions" if task == "regression" else "probabilities"
    for name in explained_by(version, explained):
        chosen += explanation_attacks(name, prediction=prediction, references=references and same_kind, task=task)
    return tuple(chosen)


def explained_by(version: Planned, explained: Sequence[str]) -> list[str]:
    """Names of the explanations that a version releases."""
    change = version.made.explanation
    return [name if change is None else change(name) for name in explained]


def attack_version(case: ComparisonCase, version: Planned, trained: Trained, place: int) -> VersionOutcome:
    """Run every attack on one version, the one at ``place`` of those that share the models."""
    target, show, attacks = case.target, version.show(case.target), case.attacks[version.name]
    names = [name for attack, _ in attacks for name in attack.releases]
    observed = observe_version(target, case.sample, trained, place, show, names)
    bare = Cohort(case.sample, case.labels, case.blind, {}, case.seed, case.fprs)
    found = [evaluate(attack, bare, observed, (chance,)) for attack, chance in attacks]
    assert case.blind is not None
    scale = case.blind.scale
    return VersionOutcome(
        tuple(one.risks[0] for one in found),
        tuple(split(one.trial.target.attack_scores.score, one.trial.target.member, scale) for one in found),
        tuple(one.trial for one in found),
        fit_of_members(target, case.sample, trained, place, show, case.confidence),
    )
