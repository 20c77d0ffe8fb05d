"""Attribute inference: every attack infers each half of the records from the other, as the baseline does, and is judged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakscope.attacks.attributes import AttributeAttack, AttributeEvidence, Reference
from leakscope.core.arrays import Booleans, Floats
from leakscope.core.checks import check_confidence, check_seed
from leakscope.core.errors import InputError
from leakscope.core.intervals import difference
from leakscope.core.result import Caveat, plain_settings
from leakscope.core.versions import stamp
from leakscope.evaluation.settings import MARGIN
from leakscope.models.model import Outputs, Task
from leakscope.models.provenance import model_fingerprint
from leakscope.releases.release import Progress
from leakscope.studies.attributes import measures
from leakscope.studies.attributes.measures import InferredLevels
from leakscope.studies.attributes.reading import InferenceSettings, JudgedRecords, Sides, read_judged, read_sides
from leakscope.studies.attributes.result import (
    AttributeFinding,
    AttributeRisk,
    Attributes,
    SensitiveColumn,
    column_claims,
)
from leakscope.studies.inputs import Steps, formerly, given_model


@formerly("sensitive")
def attributes(
    model: Any,
    train: tuple[Any, Any] | None = None,
    holdout: tuple[Any, Any] | None = None,
    *,
    sensitive: Any,
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
    progress: Progress | None = None,
) -> Attributes:
    """Measure what a model reveals about sensitive columns to an attacker who knows others [tople2020, Def. 8].

    Parameters
    ----------
    model, train, holdout, task, classes, outputs
        See :func:`leakscope.audit`. The records have the sensitive columns too; those of a Target have only what the model reads, where the model
        knows its columns. Without training records (None), the held-out ones alone are judged.
    sensitive
        Name of a column, or its number where X is an array, or a list of them; 2 to 20 different values each.
    known
        Columns that the attacker knows; by default all but the sensitive one.
    knows_label
        Whether the attacker knows the true labels; the baseline then knows them too.
    digits
        Decimals that the model's outputs are rounded to before they are released; None for all.
    attacks
        By default those of `leakscope.attacks.ATTRIBUTE_ATTACKS`.
    most
        The largest number of records judged on each side; drawn at random.
    confidence
        Confidence of every interval. Those of the gains are simultaneous for all attacks on one column.
    seed
        The same seed gives the same numbers to the last bit.
    progress
        Called with (stage, done, total).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.integers(0, 2, (400, 2)), rng.integers(0, 2, 400)
    >>> result = attributes(lambda X: 0.2 + 0.3 * X[:, 0], None, (X, y), sensitive=[0, 1])
    >>> [result.claim("attribute_leak", column=column).outcome for column in ("0", "1")]
    ['yes', 'inconclusive']
    """
    names = list(sensitive) if isinstance(sensitive, list | tuple) else [sensitive]
    if not names:
        raise InputError("sensitive names no column: name one or more")
    start, listed = time.perf_counter(), isinstance(known, list | tuple)
    check_seed(seed)
    check_confidence(confidence)
    sides = read_sides(model, train, holdout, task=task, classes=classes, outputs=outputs)
    how = InferenceSettings(knows_label, digits, attacks, most, confidence, seed)
    risks, names = [], list(dict.fromkeys(names))
    step = Steps("inferring columns", len(names), progress)
    for name in names:
        others = [one for one in known or () if one != name] if listed else known
        risks.append(_infer(sides, name, others, how))
        step()
    settings = {
        "model": risks[0].model, "sensitive": [risk.column.name for risk in risks], "knows_label": knows_label, "digits": digits,
        "most": most, "margin": MARGIN, "confidence": confidence, "seed": seed,
    }  # fmt: skip
    return Attributes(
        claims=tuple(claim for risk in risks for claim in column_claims(risk, MARGIN)),
        columns=tuple(risk.column for risk in risks),
        findings=tuple(found for risk in risks for found in risk.findings),
        warnings=(Caveat("columns_not_simultaneous", {"columns": len(risks)}),) if len(risks) > 1 else (),
        settings=plain_settings(settings),
        fingerprints=model_fingerprint(given_model(model)),
        seconds={"attacks": round(time.perf_counter() - start, 3)},
        **stamp(),
    )


def attribute_inference(
    model: Any,
    X: Any,
    y: Any,
    sensitive: Any,
    *,
    train: tuple[Any, Any] | None = None,
    known: Sequence[Any] | None = None,
    task: Task | None = None,
    classes: ArrayLike | None = None,
    outputs: Outputs | None = None,
    **how: Any,
) -> AttributeRisk:
    """Measure what a model reveals about one sensitive column; see `attributes`, which decides claims about several.

    Every attack knows one half of the records and is judged on the other, and the other way round, as the baseline is, which does not have the model.

    Parameters
    ----------
    X, y
        Records and their labels. With ``train`` they must be held-out records.
    train
        A pair (X, y) of records that the model was trained on: they are judged too, and compared.
    how
        Other options of `attributes`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.integers(0, 2, (400, 2)), rng.integers(0, 2, 400)
    >>> both = attribute_inference(lambda X: 0.2 + 0.3 * X[:, 0] + 0.1 * X[:, 1], X, y, sensitive=1)
    >>> both.records.attack("output").gain.low > 0.8  # one of 0.2, 0.3, 0.5, 0.6: the output reveals both features
    True
    >>> one = attribute_inference(lambda X: 0.2 + 0.3 * X[:, 0], X, y, sensitive=1)
    >>> one.records.attack("output").gain.value
    0.0
    """
    sides = read_sides(model, train, (X, y), task=task, classes=classes, outputs=outputs)
    return _infer(sides, sensitive, known, InferenceSettings(**how))


def _infer(sides: Sides, sensitive: Any, known: Sequence[Any] | None, how: InferenceSettings) -> AttributeRisk:
    """Judge all attacks on one sensitive column."""
    how = how.checked()
    confidence, chosen = how.confidence, _choose(how.attacks, how.knows_label)
    reading, asking = np.random.default_rng(how.seed).spawn(2)
    judged = read_judged(sides, sensitive, known, how, reading)
    guesses = _guess(judged, chosen, asking)
    column = SensitiveColumn(str(sensitive), len(judged.levels), tuple(map(str, judged.columns.known)))
    findings = _judge(judged, chosen, guesses, False, confidence, column.name)
    if sides.train is not None:
        members = _judge(judged, chosen, guesses, True, confidence, column.name)
        findings += [
            replace(one, beyond_holdout=difference(one.gain, other.gain))
            for one, other in zip(members, findings, strict=True)
        ]
    return AttributeRisk(judged.model.name, column, tuple(findings))


def _choose(attacks: Sequence[AttributeAttack] | None, knows_label: bool) -> tuple[AttributeAttack, ...]:
    from leakscope.attacks import ATTRIBUTE_ATTACKS

    if attacks is None:
        return tuple(attack for attack in ATTRIBUTE_ATTACKS.values() if knows_label or not attack.uses_label)
    chosen = (attacks,) if isinstance(attacks, AttributeAttack) else tuple(attacks)
    if not chosen or not all(isinstance(attack, AttributeAttack) for attack in chosen):
        raise InputError("attacks must be attribute attacks, such as leakscope.attacks.inversion('output')")
    if lacking := [attack.name for attack in chosen if attack.uses_label and not knows_label]:
        raise InputError(f"the attack “{lacking[0]}” needs true labels: pass knows_label=True, or leave it out")
    return chosen


# --- attacks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _AttributeGuesses:
    """Guesses of the baseline, of each attack, and of each attack against the control, where it has one."""

    baseline: InferredLevels
    attacks: tuple[InferredLevels, ...]
    controls: tuple[InferredLevels | None, ...]


def _guess(judged: JudgedRecords, attacks: Sequence[AttributeAttack], rng: np.random.Generator) -> _AttributeGuesses:
    """Run the baseline and every attack on each half of the records, with the other as reference."""
    from leakscope.attacks import imputation

    shuffled, output = rng.permutation(len(judged.level)), judged.output()
    halves = [_evidence(judged, output, half, rng) for half in (0, 1)]
    seeds = [int(seed) for seed in rng.integers(2**32, size=2)]
    baseline = _cross(judged, imputation(), halves, seeds)
    halves = [replace(one, prior=baseline.probability[judged.half == half]) for half, one in enumerate(halves)]
    found = [_cross(judged, attack, halves, seeds) for attack in attacks]
    controls: list[InferredLevels | None] = [None] * len(attacks)
    if any(attack.has_control for attack in attacks):
        false = judged.output(shuffled)
        changed = not np.array_equal(false, output)  # equal answers give equal guesses, to the last bit
        halves = [_with_output(one, false, judged.half == half) for half, one in enumerate(halves)]
        for number, attack in enumerate(attacks):
            if attack.has_control:
                controls[number] = _cross(judged, attack, halves, seeds) if changed else found[number]
    return _AttributeGuesses(baseline, tuple(found), tuple(controls))


def _evidence(judged: JudgedRecords, output: Floats, half: int, rng: np.random.Generator) -> AttributeEvidence:
    """What the attacker holds of the records of one half, with the records of the other as reference."""
    asked, rest = np.flatnonzero(judged.half == half), np.flatnonzero(judged.half != half)
    labels = judged.labels
    return AttributeEvidence(
        features=judged.features[asked],
        categorical=judged.categorical,
        labels=None if labels is None else labels[asked],
        output=output[asked],
        reference=Reference(
            judged.features[rest], None if labels is None else labels[rest], output[rest], judged.level[rest]
        ),
        levels=len(judged.levels),
        prior=np.empty((len(asked), len(judged.levels))),
        ask=judged.queries(asked, rest, rng),
        knows_all=not judged.columns.unknown,
        classes=judged.model.task == "classification",
    )


def _with_output(evidence: AttributeEvidence, output: Floats, asked: Booleans) -> AttributeEvidence:
    reference = replace(evidence.reference, output=output[~asked])
    return replace(evidence, output=output[asked], reference=reference)


def _cross(
    judged: JudgedRecords, attack: AttributeAttack, halves: Sequence[AttributeEvidence], seeds: Sequence[int]
) -> InferredLevels:
    """One attack on both halves. All start from the same random numbers: equal evidence gives equal guesses."""
    probability = np.empty((len(judged.level), len(judged.levels)))
    said = np.empty(len(judged.level), np.intp)
    for half, (evidence, seed) in enumerate(zip(halves, seeds, strict=True)):
        asked, known = judged.half == half, evidence.reference.level
        probability[asked] = attack.guess(evidence, np.random.default_rng(seed))
        said[asked] = measures.decide(probability[asked], np.bincount(known, minlength=evidence.levels) / len(known))
    return InferredLevels(probability, said, judged.level, judged.half)


# --- judging ----------------------------------------------------------------------------------------------------------


def _judge(
    judged: JudgedRecords,
    attacks: Sequence[AttributeAttack],
    guesses: _AttributeGuesses,
    member: bool,
    confidence: float,
    column: str,
) -> list[AttributeFinding]:
    """The figures of the training records, or of the held-out ones."""
    rows = np.flatnonzero(judged.member == member)
    base = guesses.baseline.take(rows)
    together = 1 - (1 - confidence) / (len(attacks) * len(np.unique(judged.member)))
    without = measures.advantage(base, confidence), measures.auc(base, confidence)
    findings = []
    for attack, whole, control in zip(attacks, guesses.attacks, guesses.controls, strict=True):
        found, false = whole.take(rows), None if control is None else control.take(rows)
        findings.append(
            AttributeFinding(
                column=column,
                side="training" if member else "holdout",
                records=len(rows),
                attack=attack.name,
                source=attack.source,
                baseline_advantage=without[0],
                baseline_auc=without[1],
                advantage=measures.advantage(found, confidence),
                auc=measures.auc(found, confidence),
                gain=measures.gain(found, base, together),
                gain_auc=measures.auc_gain(found, base, together),
                control=None if false is None else measures.gain(false, base, confidence),
                beyond_control=None if false is None else measures.gain(found, false, together),
            )
        )
    return findings
