"""Attribute inference: every attack guesses each half of the records from the other, beside the baseline, and is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakscope.attribute import measures
from leakscope.attribute.evidence import AttributeAttack, AttributeEvidence, Reference
from leakscope.attribute.measures import Judgement
from leakscope.attribute.result import AttributeFinding, AttributeRisk, AttributeSide
from leakscope.attribute.study import Study, read_study
from leakscope.core.estimate import Estimate
from leakscope.errors import InputError
from leakscope.evidence import Floats
from leakscope.intervals import difference
from leakscope.models import Outputs, Task
from leakscope.ranking import Booleans


def attribute_inference(
    model: Any,
    X: Any,
    y: Any,
    sensitive: Any,
    *,
    train: tuple[Any, Any] | None = None,
    known: Sequence[Any] | None = None,
    knows_label: bool = True,
    digits: int | None = None,
    attacks: Sequence[AttributeAttack] | None = None,
    most: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    task: Task | None = None,
    classes: ArrayLike | None = None,
    outputs: Outputs | None = None,
) -> AttributeRisk:
    """Measure what a model tells about a sensitive feature to an attacker who knows others [tople2020, Def. 8].

    Every attack knows one half of the records and is judged on the other, and the other way round, beside the baseline that
    never meets the model.

    Parameters
    ----------
    model
        A fitted scikit-learn estimator or pipeline, a torch module, a callable or a `Model`; see `make_target`.
    X, y
        Records with the sensitive feature and all that the model reads, and their labels. With ``train`` they must be
        records that were not trained on.
    sensitive
        Name of the column, or its number where X is an array; at most 20 different values.
    train
        A pair (X, y) of records that the model was trained on: they are judged too, and compared.
    known
        Columns that the attacker knows; by default all but the sensitive one.
    knows_label
        Whether the attacker knows the records' true labels; the baseline then knows them too.
    digits
        Decimals that the model's answers are rounded to before anyone sees them; None for all.
    attacks
        By default those of `leakscope.attacks.ATTRIBUTE_ATTACKS`.
    most
        Records that are judged at most, of those trained on and of the others; drawn at random.
    confidence
        Confidence of every interval; those of the gains hold for all attacks at once.
    seed
        The same seed gives the same numbers to the last bit.
    task, classes, outputs
        As for `make_target`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.integers(0, 2, (400, 2)), rng.integers(0, 2, 400)
    >>> both = attribute_inference(lambda X: 0.2 + 0.3 * X[:, 0] + 0.1 * X[:, 1], X, y, sensitive=1)
    >>> both.records.attack("output").gain.low > 0.8  # one of 0.2, 0.3, 0.5, 0.6: the answer tells both features
    True
    >>> one = attribute_inference(lambda X: 0.2 + 0.3 * X[:, 0], X, y, sensitive=1)
    >>> one.records.attack("output").gain.value, one.leaks
    (0.0, False)
    """
    _check_settings(seed, confidence, most, digits)
    chosen = _choose(attacks, knows_label)
    reading, asking = np.random.default_rng(seed).spawn(2)
    study = read_study(
        model, (X, y), train, sensitive, known, knows_label=knows_label, digits=digits, most=most, rng=reading,
        task=task, classes=classes, outputs=outputs,
    )  # fmt: skip
    guesses = _guess(study, chosen, asking)
    present = [False] if train is None else [False, True]
    sides = [_judge(study, chosen, guesses, member, confidence) for member in present]
    return AttributeRisk(
        model=study.model.name,
        sensitive=str(sensitive),
        levels=tuple(map(str, study.levels)),
        known=tuple(map(str, study.columns.known)),
        knows_label=knows_label,
        records=sides[0],
        members=None if train is None else sides[1],
        membership={} if train is None else _membership(sides[1], sides[0]),
        settings={"digits": digits, "most": most, "fillings": study.fillings, "confidence": confidence, "seed": seed},
    )


def _check_settings(seed: Any, confidence: Any, most: Any, digits: Any) -> None:
    for name, number, least in (("seed", seed, 0), ("most", most, 40), ("digits", 0 if digits is None else digits, 0)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise InputError(f"{name} must be a whole number from {least} on, not {number!r}.")
    if not isinstance(confidence, int | float) or not 0.5 <= confidence <= 0.99999:
        raise InputError(f"confidence must be a number from 0.5 to 0.99999, not {confidence!r}.")


def _choose(attacks: Sequence[AttributeAttack] | None, knows_label: bool) -> tuple[AttributeAttack, ...]:
    from leakscope.attacks import ATTRIBUTE_ATTACKS

    if attacks is None:
        return tuple(attack for attack in ATTRIBUTE_ATTACKS.values() if knows_label or not attack.uses_label)
    chosen = (attacks,) if isinstance(attacks, AttributeAttack) else tuple(attacks)
    if not chosen or not all(isinstance(attack, AttributeAttack) for attack in chosen):
        raise InputError("attacks must be attribute attacks, such as leakscope.attacks.inversion('output').")
    if lacking := [attack.name for attack in chosen if attack.uses_label and not knows_label]:
        raise InputError(f"the attack “{lacking[0]}” needs true labels: say knows_label=True, or leave it out.")
    return chosen


# --- guessing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Guesses:
    """Guesses of the baseline, of each attack, and of each attack against the control, where it has one."""

    baseline: Judgement
    attacks: tuple[Judgement, ...]
    controls: tuple[Judgement | None, ...]


def _guess(study: Study, attacks: Sequence[AttributeAttack], rng: np.random.Generator) -> _Guesses:
    """Let the baseline and every attack guess each half of the records, knowing the other."""
    from leakscope.attacks import imputation

    shuffled, output = rng.permutation(len(study.level)), study.output()
    halves = [_evidence(study, output, half, rng) for half in (0, 1)]
    seeds = [int(seed) for seed in rng.integers(2**32, size=2)]
    baseline = _cross(study, imputation(), halves, seeds)
    halves = [replace(one, prior=baseline.probability[study.half == half]) for half, one in enumerate(halves)]
    found = [_cross(study, attack, halves, seeds) for attack in attacks]
    controls: list[Judgement | None] = [None] * len(attacks)
    if any(attack.has_control for attack in attacks):
        false = study.output(shuffled)
        changed = not np.array_equal(false, output)  # equal answers give equal guesses, to the last bit
        halves = [_with_output(one, false, study.half == half) for half, one in enumerate(halves)]
        for number, attack in enumerate(attacks):
            if attack.has_control:
                controls[number] = _cross(study, attack, halves, seeds) if changed else found[number]
    return _Guesses(baseline, tuple(found), tuple(controls))


def _evidence(study: Study, output: Floats, half: int, rng: np.random.Generator) -> AttributeEvidence:
    """What the attacker holds of the records of one half, with the records of the other as reference."""
    asked, rest = np.flatnonzero(study.half == half), np.flatnonzero(study.half != half)
    labels = study.labels
    return AttributeEvidence(
        features=study.features[asked],
        categorical=study.categorical,
        labels=None if labels is None else labels[asked],
        output=output[asked],
        reference=Reference(
            study.features[rest], None if labels is None else labels[rest], output[rest], study.level[rest]
        ),
        levels=len(study.levels),
        prior=np.empty((len(asked), len(study.levels))),
        ask=study.queries(asked, rest, rng),
        knows_all=not study.columns.unknown,
        classes=study.model.task == "classification",
    )


def _with_output(evidence: AttributeEvidence, output: Floats, asked: Booleans) -> AttributeEvidence:
    reference = replace(evidence.reference, output=output[~asked])
    return replace(evidence, output=output[asked], reference=reference)


def _cross(
    study: Study, attack: AttributeAttack, halves: Sequence[AttributeEvidence], seeds: Sequence[int]
) -> Judgement:
    """One attack on both halves. All start from the same random numbers: equal evidence gives equal guesses."""
    probability = np.empty((len(study.level), len(study.levels)))
    said = np.empty(len(study.level), np.intp)
    for half, (evidence, seed) in enumerate(zip(halves, seeds, strict=True)):
        asked, known = study.half == half, evidence.reference.level
        probability[asked] = attack.guess(evidence, np.random.default_rng(seed))
        said[asked] = measures.decide(probability[asked], np.bincount(known, minlength=evidence.levels) / len(known))
    return Judgement(probability, said, study.level, study.half)


# --- judging ----------------------------------------------------------------------------------------------------------


def _judge(
    study: Study, attacks: Sequence[AttributeAttack], guesses: _Guesses, member: bool, confidence: float
) -> AttributeSide:
    """The figures of the records trained on, or of the others."""
    rows = np.flatnonzero(study.member == member)
    base = guesses.baseline.take(rows)
    together = 1 - (1 - confidence) / (len(attacks) * len(np.unique(study.member)))
    findings = []
    for attack, whole, control in zip(attacks, guesses.attacks, guesses.controls, strict=True):
        found, false = whole.take(rows), None if control is None else control.take(rows)
        findings.append(
            AttributeFinding(
                attack=attack.name,
                source=attack.source,
                advantage=measures.advantage(found, confidence),
                auc=measures.auc(found, confidence),
                gain=measures.gain(found, base, together),
                gain_auc=measures.auc_gain(found, base, together),
                control=None if false is None else measures.gain(false, base, confidence),
                beyond_control=None if false is None else measures.gain(found, false, together),
            )
        )
    return AttributeSide(
        records=len(rows),
        baseline_advantage=measures.advantage(base, confidence),
        baseline_auc=measures.auc(base, confidence),
        attacks=tuple(findings),
    )


def _membership(members: AttributeSide, others: AttributeSide) -> dict[str, Estimate]:
    """What being trained on adds to the gain of each attack."""
    pairs = zip(members.attacks, others.attacks, strict=True)
    return {one.attack: difference(one.gain, other.gain) for one, other in pairs}
