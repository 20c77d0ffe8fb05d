"""What one kind of model does in one scenario, and in all scenarios together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.protocol import Attack
from leakscope.causal.generalisation import generalisation_errors
from leakscope.causal.kinds import Kind, TableKind
from leakscope.causal.membership import Blind, Membership, ModelPair, try_blind, try_membership
from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.data.records import Records
from leakscope.models.model import Model
from leakscope.studies.causal.result import SAME, SHIFTED, Compared, ModelAttack
from leakscope.studies.causal.scenarios import CausalProblem, Scenario

Found = TypeVar("Found")

FIGURES = ("accuracy", "auc", "control_accuracy", "control_auc", "excess_accuracy", "excess_auc")


@dataclass(frozen=True)
class ScenarioPart:
    """One kind of model in one scenario: utilities of records, generalisation errors, and what attacks found, by law."""

    training: Floats
    test: Floats
    shifted: tuple[Floats, ...]
    errors: tuple[tuple[Estimate, Estimate], ...]
    membership: dict[str, list[tuple[Membership, ...]]]
    unseen: tuple[float, ...]


def train_pair(kind: Kind, scenario: Scenario, classes: NDArray[Any] | None, seed: np.random.SeedSequence) -> ModelPair:
    """A model on each of the two samples."""
    first, second = kind.train(scenario.samples, classes, seed)
    return ModelPair((first, second), scenario.samples)


def measure(
    kind: Kind,
    pair: ModelPair,
    scenario: Scenario,
    attacks: Sequence[Attack],
    *,
    most: int,
    seeds: np.random.SeedSequence,
    each: float,
    confidence: float,
) -> ScenarioPart:
    """Query both models with all records, and attack them; ``each`` is the confidence of every attack."""
    labels = np.concatenate([sample.y for sample in scenario.samples])
    scale = float(np.var(labels))
    own = [_utility(model, sample, scale) for model, sample in zip(pair.models, pair.samples, strict=True)]
    worlds = list(scenario.shifted.values())
    attack = partial(try_membership, pair, attacks=attacks, most=most, confidence=each)
    classes = pair.models[0].classes is not None
    table = kind if isinstance(kind, TableKind) else None
    return ScenarioPart(
        training=np.concatenate(own),
        test=_over_models(pair, scenario.test, scale),
        shifted=tuple(_over_models(pair, records, scale) for records in worlds),
        errors=tuple(_errors(pair, scenario.test, records, confidence) for records in worlds if classes),
        membership=_by_law(scenario, seeds, attack),
        unseen=tuple(_unseen(table, pair, records) for records in worlds if table is not None),
    )


def measure_blind(
    scenario: Scenario, *, most: int, seeds: np.random.SeedSequence, confidence: float
) -> dict[str, list[Blind]]:
    """Measure the blind baseline, by law."""
    return _by_law(scenario, seeds, partial(try_blind, scenario.samples, most=most, confidence=confidence))


def _by_law(scenario: Scenario, seeds: np.random.SeedSequence, attack: Callable[..., Found]) -> dict[str, list[Found]]:
    """Attack with non-members of P, whose figures do not depend on the number of shifted distributions, and of each P*."""
    first, *children = seeds.spawn(len(scenario.shifted) + 1)
    worlds = zip(scenario.shifted.values(), children, strict=True)
    return {
        SAME: [attack(scenario.test, seed=first)],
        SHIFTED: [attack(records, seed=child) for records, child in worlds],
    }


def _utility(model: Model, records: Records, scale: float) -> Floats:
    """Whether each label is right, or 1 - squared error / variance of the label."""
    answers = model.predict(records.X)
    if model.classes is not None:
        return np.asarray(answers.argmax(axis=1) == records.y, dtype=np.float64)
    return np.asarray(1 - (answers - records.y) ** 2 / scale)


def _over_models(pair: ModelPair, records: Records, scale: float) -> Floats:
    return np.asarray(np.mean([_utility(model, records, scale) for model in pair.models], axis=0))


def _errors(pair: ModelPair, test: Records, shifted: Records, confidence: float) -> tuple[Estimate, Estimate]:
    """IDE and ODE of the first model for half the sum of squared errors of its probabilities, a loss in [0, 1]."""
    losses = []
    for records in (pair.samples[0], test, shifted):
        answers = np.array(pair.models[0].predict(records.X))
        answers[np.arange(len(answers)), records.y] -= 1
        losses.append(np.square(answers).sum(axis=1) / 2)
    found = generalisation_errors(*losses, bound=1.0, confidence=confidence)
    return found.in_distribution, found.out_of_distribution


def _unseen(kind: TableKind, pair: ModelPair, records: Records) -> float:
    return float(np.mean([kind.unseen(model, records.X) for model in pair.models]))


# --- all scenarios together -------------------------------------------------------------------------------------------


def pool(estimates: Sequence[Estimate]) -> Estimate:
    """The mean over shifted distributions; its interval is over records, for the distributions that were drawn.

    Distributions share their training samples, so that errors over records are not taken to average out: the ends are the means of
    the ends.

    Examples
    --------
    >>> pool([Estimate(0.5, 0.4, 0.6), Estimate(0.7, 0.6, 0.8)])
    0.60 [0.50, 0.70]
    """
    first = estimates[0]
    if len(estimates) == 1:
        return first
    value, low, high = (float(np.mean([getattr(one, end) for one in estimates])) for end in ("value", "low", "high"))
    counted = [one.n for one in estimates if one.n is not None]
    method = f"{first.method}, mean over {len(estimates)} worlds"
    return replace(first, value=value, low=low, high=high, n=sum(counted) or None, method=method)


def compare(kind: Kind, problem: CausalProblem, parts: Sequence[ScenarioPart], confidence: float) -> Compared:
    """One kind of model over all scenarios."""
    errors = [pair for part in parts for pair in part.errors]
    unseen = [share for part in parts for share in part.unseen]
    return Compared(
        name=kind.name,
        columns=tuple(problem.names[column] for column in kind.columns),
        training=pool([_mean(part.training, confidence) for part in parts]),
        test=pool([_mean(part.test, confidence) for part in parts]),
        shifted=pool([_mean(found, confidence) for part in parts for found in part.shifted]),
        in_distribution=pool([pair[0] for pair in errors]) if errors else None,
        out_of_distribution=pool([pair[1] for pair in errors]) if errors else None,
        unseen=float(np.mean(unseen)) if unseen else 0.0,
    )


def _mean(values: Floats, confidence: float) -> Estimate:
    """Share of right labels with the exact interval where all are 0 or 1, and else a mean with Student's."""
    if np.isin(values, (0.0, 1.0)).all():
        return intervals.proportion(int(values.sum()), len(values), confidence)
    found = intervals.mean(values, confidence)
    return replace(found, high=max(found.value, min(1.0, found.high)))  # no utility passes 1


def pool_attacks(kind: Kind, parts: Sequence[ScenarioPart]) -> list[ModelAttack]:
    """Give each attack on one kind of model, over all shifted distributions."""
    pooled = []
    for law in (SAME, SHIFTED):
        for tried in zip(*(found for part in parts for found in part.membership[law]), strict=True):
            figures = {figure: pool([getattr(found, figure) for found in tried]) for figure in FIGURES}
            pooled.append(ModelAttack(kind.name, law, tried[0].attack, tried[0].release, **figures))
    return pooled


def pool_blind(worlds: Sequence[Sequence[Blind]]) -> Blind:
    """The blind baseline over all shifted distributions."""
    found = [blind for world in worlds for blind in world]
    return Blind(pool([one.accuracy for one in found]), pool([one.auc for one in found]))
