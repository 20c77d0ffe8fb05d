r"""The membership experiment: train many models, and let an adversary tell members from outsiders in each.

[farokhi2020, section 6.2] after Yeom et al. 2018, Experiment 1. For each model a training set S of n records is drawn
uniformly from the N there are. With even odds the adversary gets a record of S or one from outside, and guesses which; P is
its probability of being right, and

.. math:: \mathrm{Adv} = 2P - 1 = \mathrm{TPR} - \mathrm{FPR}.

The expectation over the record is taken exactly, over all n members and over many outsiders, where the paper draws single
records: the same law with less noise. Three adversaries, all on the loss ℓ of the record:

================ =====================================================================================================
mean loss        "member" where ℓ is at most the mean training loss of this very model (Yeom et al. 2018, section 6)
fixed threshold  "member" where ℓ is at most the mean training loss of the *other* models
likelihood ratio "member" where the error is likelier under :math:`N(0, \sigma_S^2)` than under :math:`N(0, \sigma_D^2)`;
                 the variances are the mean squared errors of the other models inside and outside of their training
                 sets (Yeom et al. 2018, Adversary 2 and Theorem 3). For regression.
================ =====================================================================================================

Theorem 1 of farokhi2020 bounds adversaries who know nothing of S but the parameters. The last two are such, the training
sets of other models being independent of S, and on average over models they stay below
`leakscope.bounds.any_attack.advantage_from_kl`. The first, which is the paper's, is not: the mean training loss is a number about S
that the parameters alone don't give, and can carry it past the bound. For the mean of two Gaussian values its advantage is
2/3 and the bound is 1/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakscope.core import intervals
from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_confidence, check_count, check_number
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.data.records import take_rows
from leakscope.learners import as_learner
from leakscope.worlds.cache import Observations
from leakscope.worlds.training import Progress, random_sets, retrain

LossAttack = Literal["mean loss", "fixed threshold", "likelihood ratio"]

NONMEMBERS = 0x6F757473  # keep the draws of outsiders and of noise apart from each other and from the training
NOISE = 0x6E6F6973
MOST_NOISE = 1e100  # squares of larger values leave the range of float64
ROUNDING = 1e-9  # relative error of an error: losses that differ by less are the same


@dataclass(frozen=True, eq=False)
class Experiment:
    """What one adversary gains, model by model.

    Parameters
    ----------
    advantages
        TPR − FPR in each model, with its sign.
    advantage
        Their mean over models, with Student's interval.
    size
        Number of training records of each model.
    attack
        Which one it was.
    """

    advantages: Floats
    advantage: Estimate
    size: int
    attack: LossAttack

    def quartiles(self) -> tuple[float, float, float]:
        r"""Return the first quartile, median and third quartile over models of \|TPR − FPR\|, the paper's Adv = \|2P − 1\|.

        For box plots as in the paper. The absolute value lifts them: an adversary who knows nothing scatters around 0 and
        so has a positive median. Whether there is anything to find is said by `advantage`.

        Examples
        --------
        >>> Experiment(np.array([-0.5, 0.25, 0.75]), Estimate(0.17, -1.0, 1.0), 10, "mean loss").quartiles()
        (0.375, 0.5, 0.625)
        """
        first, median, third = np.quantile(np.abs(self.advantages), [0.25, 0.5, 0.75])
        return float(first), float(median), float(third)


def membership_experiment(
    learner: Any,
    X: Any,
    y: Any,
    size: int,
    models: int = 100,
    noise: float = 0.0,
    nonmembers: int = 1000,
    attack: LossAttack = "mean loss",
    *,
    seed: int = 0,
    confidence: float = 0.95,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Experiment:
    """Train models on random sets of ``size`` records and measure how well an adversary tells who is in each.

    Parameters
    ----------
    learner, X, y
        As in `leakscope.bounds.sensitivity.sensitivity`.
    size
        Number of training records of each model.
    models
        How many models are trained, each on a set of its own.
    noise
        Deviation of the Gaussian noise that is added to each parameter before the adversary sees the model.
    nonmembers
        How many records outside of its training set a model is asked about at most, drawn at random for each.
    attack
        See the module.
    seed, workers, cluster, cache, progress
        See `leakscope.worlds.training.retrain`. The cache serves all adversaries alike.
    confidence
        Of the interval of ``advantage``.

    Examples
    --------
    Ten records and nine parameters: the model nearly remembers what it was trained on.

    >>> from leakscope.learners import Ridge
    >>> rng = np.random.default_rng(4)
    >>> X, y = rng.normal(size=(500, 8)), rng.normal(size=500)
    >>> membership_experiment(Ridge(l2=0.0), X, y, size=10, attack="fixed threshold").advantage
    0.68 [0.62, 0.74]
    >>> membership_experiment(Ridge(l2=1e6), X, y, size=10, attack="fixed threshold").advantage
    0.01 [−0.02, 0.05]
    """
    learner, X, y = as_learner(learner).prepare(X, y)
    _check(learner, len(y), size, models, noise, nonmembers, attack, confidence)
    learner.check(X, y, size)
    sets = random_sets(len(y), size, models, seed)
    losses = retrain(
        learner, X, y, sets, _Losses(learner, X, y, noise, nonmembers, seed),
        seed=seed, workers=workers, cluster=cluster, cache=cache, progress=progress,
    )  # fmt: skip
    advantages = ATTACKS[attack](losses)
    advantages.setflags(write=False)
    mean = intervals.mean(advantages, confidence)
    mean = replace(mean, low=max(mean.low, -1.0), high=min(mean.high, 1.0))
    return Experiment(advantages, mean, int(size), attack)


def _check(
    learner: Any, records: int, size: int, models: int, noise: float, nonmembers: int, attack: str, confidence: float
) -> None:
    check_count("size", size, 1, records - 1)
    check_count("models", models, 2)
    check_count("nonmembers", nonmembers)
    check_number("noise", noise, 0, MOST_NOISE)
    check_confidence(confidence)
    if attack not in ATTACKS:
        raise InputError(f"there is no attack {attack!r}: choose one of {', '.join(map(repr, ATTACKS))}")
    if attack == "likelihood ratio" and learner.task != "regression":
        raise InputError("the likelihood ratio is for the errors of a regression: use 'mean loss' or 'fixed threshold'")
    if noise > 0 and not hasattr(learner, "from_parameters"):
        raise InputError(f"{learner.name} can't be given parameters, so none can be made noisy: leave noise at 0")


@dataclass(frozen=True)
class _Losses:
    """What is observed of a model: its losses inside and outside of its training set."""

    learner: Any
    X: Any
    y: NDArray[Any]
    noise: float
    nonmembers: int
    seed: int

    def __call__(self, model: Any, number: int, indices: Indices) -> dict[str, Floats]:
        if self.noise > 0:
            theta = self.learner.parameters(model)
            model = self.learner.from_parameters(theta + self.noise * self._rng(NOISE, number).normal(size=theta.shape))
        outside = self._nonmembers(number, indices)
        return {"inside": self._losses(model, indices), "outside": self._losses(model, outside)}

    def _nonmembers(self, number: int, indices: Indices) -> Indices:
        """Positions of records outside of a training set, in rising order."""
        count = len(self.y) - len(indices)
        if count <= self.nonmembers:
            chosen = np.arange(count)
        else:
            chosen = np.sort(self._rng(NONMEMBERS, number).choice(count, self.nonmembers, replace=False, shuffle=False))
        # Before the k-th member (in rising order) there are indices[k] - k outsiders.
        before = np.searchsorted(indices - np.arange(len(indices)), chosen, side="right")
        return (chosen + before).astype(np.intp, copy=False)

    def _losses(self, model: Any, rows: Indices) -> Floats:
        losses: Floats = self.learner.losses(model, take_rows(self.X, rows), self.y[rows])
        return losses

    def _rng(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence((self.seed, purpose), spawn_key=(number,)))


# --- attacks ----------------------------------------------------------------------------------------------------------


def _by_likelihood_ratio(losses: list[Observations]) -> Floats:
    inside, outside = (_means_of_others(_means(losses, side)) for side in ("inside", "outside"))
    # Models without any error would divide by zero: hold the variances above rounding error.
    smallest = np.finfo(np.float64).tiny + ROUNDING**2 * outside
    inside, outside = np.maximum(inside, smallest), np.maximum(outside, smallest)
    # [Yeom et al. 2018, Adversary 2]: ln(σ_D²/σ_S²) > ε²(1/σ_S² − 1/σ_D²), solved for ε²
    with np.errstate(divide="ignore", invalid="ignore"):
        thresholds = np.log(outside / inside) / (1 / inside - 1 / outside)
    # Where members have the larger errors it is the large ones that speak for a member: everything turns around.
    return np.sign(outside - inside) * _advantages(losses, np.where(outside == inside, 0.0, thresholds))


ATTACKS: dict[str, Callable[[list[Observations]], Floats]] = {
    "mean loss": lambda losses: _advantages(losses, _means(losses, "inside")),
    "fixed threshold": lambda losses: _advantages(losses, _means_of_others(_means(losses, "inside"))),
    "likelihood ratio": _by_likelihood_ratio,
}


def _means(losses: list[Observations], side: str) -> Floats:
    return np.array([model[side].mean() for model in losses])


def _means_of_others(means: Floats) -> Floats:
    """The mean over all but one, for each: sums from both ends, since subtracting a huge one would wipe out the rest."""
    before = np.concatenate([[0.0], np.cumsum(means[:-1])])
    after = np.concatenate([np.cumsum(means[:0:-1])[::-1], [0.0]])
    others: Floats = (before + after) / (len(means) - 1)
    return others


def _advantages(losses: list[Observations], thresholds: Floats) -> Floats:
    """TPR − FPR of saying "member" where the loss is at most the threshold of its model."""
    advantages = np.empty(len(losses))
    for number, (model, threshold) in enumerate(zip(losses, thresholds, strict=True)):
        inside, outside = model["inside"], model["outside"]
        # A model that passes through its training records has nothing but rounding errors there: they count as equal.
        edge = threshold * (1 + ROUNDING) + ROUNDING**2 * max(inside.max(), outside.max())
        advantages[number] = np.mean(inside <= edge) - np.mean(outside <= edge)
    return advantages
