r"""Membership attacks in distribution and under distribution shift, with a never-trained control that removes the shift.

An attacker distinguishes members, the training set S drawn from P, from non-members of P or of a shifted distribution P*
[tople2020, Def. 6 and section 4.1]. Against P*, membership and the shift both contribute. Three figures separate them:

- **blind**: the blind baseline, which classifies the records without a model;
- **control**: the same attack on a model of the same kind that was trained on an independent sample of P. It never saw the
  members, so it detects only the difference between P and P*;
- **excess** = attack - control: the part due to membership.

Models come in pairs trained on disjoint samples (`evaluation.paired`): each is attacked with its own sample as members, and
is the control of the other. Effects of one model enter the excess once with each sign and cancel. Half of the non-members
are assigned to each sample.

The accuracy of an attack is its share of correct decisions among equally many members and non-members: chance is 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leakscope.attacks.protocol import Attack
from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_share
from leakscope.core.estimate import Estimate
from leakscope.core.threads import one_thread
from leakscope.data.records import Records, join_records
from leakscope.evaluation.blind_baseline import blind_guesses
from leakscope.evaluation.evaluate import Cohort, Evaluated, evaluate
from leakscope.evaluation.explanation_gain import advantage_difference, auc_difference
from leakscope.evaluation.paired import MEMBERS, Paired
from leakscope.models.model import Model, Task

#: Members attacked in total, and as many non-members: enough for intervals of ± 0.01.
MOST_JUDGED = 20_000
#: Share of distinct predictions among the records below which a model has few of them.
FEW_ANSWERS = 0.7
#: The release that holds the outputs of a model, by task.
OUTPUTS: dict[Task, str] = {"classification": "probabilities", "regression": "predictions"}


@dataclass(frozen=True)
class ModelPair:
    """Two models of one kind, trained on disjoint samples: each is the never-trained control of the other.

    Parameters
    ----------
    models, samples
        The models, and the training records of each, drawn from P.
    """

    models: tuple[Model, Model]
    samples: tuple[Records, Records]


@dataclass(frozen=True)
class Membership:
    """One attack on one kind of model, against one distribution of non-members.

    Parameters
    ----------
    accuracy, auc
        Figures of the attack on the model.
    control_accuracy, control_auc
        Figures of the never-trained control.
    excess_accuracy, excess_auc
        Attack minus control, paired over records; of models with few distinct predictions, the interval also allows for the
        randomness of the attack's fits.
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
    """The blind baseline: members against non-members without a model."""

    accuracy: Estimate
    auc: Estimate


def try_membership(
    pair: ModelPair,
    nonmembers: Records,
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
    nonmembers
        Records of P or of P* that neither model saw.
    attacks
        Attacks to run, such as ``leakscope.attacks.confidence_network()``.
    known
        Sources, in equal shares, of the non-members that the attack is fitted on; by default other records from the same
        distribution as the attacked ones. With records of P and attacked ones of P*, the attacker has no records of P*.
    most
        Members judged at most.
    seed, confidence
        Of the draws and the attacks' fits, and of all intervals.

    Returns
    -------
    tuple of Membership
        One for each attack.
    """
    check_share("confidence", confidence)
    trial = MembershipTrial.draw(pair.samples, nonmembers, most, seed, known)
    releases = releases_of(attacks, pair.models[0].task)
    return trial.judge([trial.ask(model, releases) for model in pair.models], attacks, confidence)


@dataclass(frozen=True, eq=False)
class MembershipTrial:
    """The records that attacks on a pair of models judge, and those that they learn from; drawn before any model is trained."""

    paired: Paired
    known: Records | None
    seed: int

    @classmethod
    def draw(
        cls,
        samples: Sequence[Records],
        nonmembers: Records,
        most: int,
        seed: int | np.random.SeedSequence,
        known: Sequence[Records] | None = None,
    ) -> MembershipTrial:
        """Draw the records; see `try_membership`."""
        drawing, guessing = _seeds(seed)
        rng = np.random.default_rng(drawing)
        paired = Paired.draw(samples, nonmembers, most, rng)
        learned = None if known is None else paired.mix(known, rng)
        return cls(paired, learned, int(guessing.generate_state(1, np.uint64)[0]))

    def ask(self, model: Model, releases: Sequence[str]) -> dict[str, Floats]:
        """Query one of the two models: what `judge` needs of it."""
        return self.paired.ask(model, releases, self.known)

    def judge(
        self, answers: Sequence[Mapping[str, Floats]], attacks: Sequence[Attack], confidence: float
    ) -> tuple[Membership, ...]:
        """Run attacks on what `ask` returned for both models."""
        case = self.paired.case(self.seed)
        releases = {name: None for attack in attacks for name in attack.releases}
        observed = self.paired.observed(answers, list(releases), self.known)
        few = any(map(_has_few_answers, answers, MEMBERS))
        return tuple(_membership(evaluate(attack, case, observed, (confidence,)), case, few) for attack in attacks)


def releases_of(attacks: Sequence[Attack], task: Task) -> tuple[str, ...]:
    """Return what is to be asked of a model for these attacks: its outputs, and all releases that they read."""
    return tuple(dict.fromkeys((OUTPUTS[task], *(name for attack in attacks for name in attack.releases))))


def try_blind(
    samples: Sequence[Records],
    nonmembers: Records,
    *,
    most: int = MOST_JUDGED,
    seed: int | np.random.SeedSequence = 0,
    confidence: float = 0.95,
) -> Blind:
    """Run the blind baseline of an audit on the records that `try_membership` judges with the same seed.

    Parameters
    ----------
    samples
        Members: the training records of both models.
    nonmembers, most, seed, confidence
        As in `try_membership`.

    Returns
    -------
    Blind
        Accuracy and AUC of a classifier of members against non-members that has no model.
    """
    check_share("confidence", confidence)
    drawing, guessing = _seeds(seed)
    paired = Paired.draw(samples, nonmembers, most, np.random.default_rng(drawing))
    members, others = join_records(*paired.members), join_records(*paired.nonmembers)
    with one_thread():
        found = blind_guesses(members, others, paired.sample, np.random.default_rng(guessing))
    advantage = intervals.mean_difference(found.says, confidence)
    return Blind(_accuracy(advantage), intervals.auc(found.ranking, confidence))


def _accuracy(advantage: Estimate) -> Estimate:
    """Convert an advantage to the accuracy among equally many members and non-members."""
    return advantage.mapped(lambda value: (1 + value) / 2)


def _membership(found: Evaluated, case: Cohort, few: bool) -> Membership:
    risk, target, control = found.risks[0], found.trial.target, found.trial.control
    assert control is not None
    fits = case.scales[0] if few else None
    excess = advantage_difference(target, control, risk.auc.confidence, fits=fits)
    return Membership(
        attack=risk.attack,
        release=risk.release,
        accuracy=_accuracy(risk.advantage),
        auc=risk.auc,
        control_accuracy=_accuracy(risk.control.advantage),
        control_auc=risk.control.auc,
        excess_accuracy=excess.mapped(lambda gap: gap / 2),  # accuracies differ by half as much as advantages
        excess_auc=auc_difference(
            target, control, risk.auc.confidence, fits=None if found.trial.attack.fixed_scale else fits
        ),
    )


def _has_few_answers(answers: Mapping[str, Floats], part: str) -> bool:
    """Whether many records share their prediction, so that a small change of a fit affects whole groups."""
    outputs = next(answers[name] for name in (f"{part} {release}" for release in OUTPUTS.values()) if name in answers)
    return len(np.unique(outputs, axis=0)) < FEW_ANSWERS * len(outputs)


def _seeds(seed: int | np.random.SeedSequence) -> list[np.random.SeedSequence]:
    """Return one seed for the draw of the attacked records and one for the attacks."""
    return (np.random.SeedSequence(seed) if isinstance(seed, int) else seed).spawn(2)
