"""What one kind of model does in one scenario, and in all scenarios together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from leakscope.attacks.protocol import Attack
from leakscope.causal.generalisation import generalisation_errors
from leakscope.causal.kinds import Kind
from leakscope.causal.membership import Blind, Membership, MembershipTrial, try_blind
from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.data.records import Records
from leakscope.studies.causal.result import SAME, SHIFTED, Compared, ModelAttack
from leakscope.studies.causal.scenarios import CausalProblem, Scenario
from leakscope.studies.causal.training import OWN, TEST
from leakscope.worlds.cache import Observations

FIGURES = ("accuracy", "auc", "control_accuracy", "control_auc", "excess_accuracy", "excess_auc")


class Judging(NamedTuple):
    """What attackers try, on how many members at most, and the confidence of figures; ``each`` is that of every attack."""

    attacks: tuple[Attack, ...]
    sensitive: Sequence[str]
    most: int
    confidence: float
    each: float


@dataclass(frozen=True)
class ScenarioPart:
    """One kind of model in one scenario: utilities of records, generalisation errors, and what attacks found, by law."""

    training: Floats
    test: Floats
    shifted: tuple[Floats, ...]
    errors: tuple[tuple[Estimate, Estimate], ...]
    membership: dict[str, list[tuple[Membership, ...]]]
    unseen: tuple[float, ...]


def measure(
    scenario: Scenario, seen: Sequence[Observations], trials: Sequence[MembershipTrial], judging: Judging
) -> ScenarioPart:
    """Measure what both models of a pair were seen to do, and attack them."""
    first, second = seen
    found = []
    for law, trial in enumerate(trials):
        answers = [
            {name.removeprefix(f"{law} "): model[name] for name in model if name.startswith(f"{law} ")}
            for model in seen
        ]
        found.append(trial.judge(answers, judging.attacks, judging.each))
    return ScenarioPart(
        training=np.concatenate([model[f"utility {OWN}"] for model in seen]),
        test=_over_models(seen, f"utility {TEST}"),
        shifted=tuple(_over_models(seen, f"utility {name}") for name in scenario.shifted),
        errors=tuple(_errors(first, name, judging.confidence) for name in scenario.shifted if f"loss {name}" in first),
        membership={SAME: found[:1], SHIFTED: found[1:]},
        unseen=tuple(
            float(_over_models(seen, f"unseen {name}")) for name in scenario.shifted if f"unseen {name}" in second
        ),
    )


def draw_trials(scenario: Scenario, most: int, seeds: np.random.SeedSequence) -> list[MembershipTrial]:
    """Draw what is judged against non-members of P, and of each P*."""
    return [MembershipTrial.draw(scenario.samples, others, most, seed) for others, seed in _laws(scenario, seeds)]


def measure_blind(scenario: Scenario, judging: Judging, seeds: np.random.SeedSequence) -> dict[str, list[Blind]]:
    """Measure the blind baseline, by law."""
    found = [
        try_blind(scenario.samples, others, most=judging.most, seed=seed, confidence=judging.confidence)
        for others, seed in _laws(scenario, seeds)
    ]
    return {SAME: found[:1], SHIFTED: found[1:]}


def _laws(scenario: Scenario, seeds: np.random.SeedSequence) -> Iterator[tuple[Records, np.random.SeedSequence]]:
    """Non-members of P, whose seed does not depend on the number of shifted distributions, and of each P*."""
    laws = (scenario.test, *scenario.shifted.values())
    return zip(laws, seeds.spawn(len(laws)), strict=True)


def _over_models(seen: Sequence[Observations], name: str) -> Floats:
    return np.asarray(np.mean([model[name] for model in seen], axis=0))


def _errors(model: Observations, law: str, confidence: float) -> tuple[Estimate, Estimate]:
    """IDE and ODE of a model."""
    losses = (model[f"loss {name}"] for name in (OWN, TEST, law))
    found = generalisation_errors(*losses, bound=1.0, confidence=confidence)
    return found.in_distribution, found.out_of_distribution


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
