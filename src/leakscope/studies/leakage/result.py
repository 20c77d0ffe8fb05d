"""The result of a measurement of leakage: figures for one or several settings, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, Outcome, Result

NATS_PER_BIT = math.log(2)
#: What a sweep varies.
Setting = Literal["size", "l2", "noise"]
SETTINGS: tuple[Setting, ...] = ("size", "l2", "noise")


@dataclass(frozen=True)
class Renyi:
    """Rényi divergence of one order between the two laws of a record, over the records.

    ``direction``: ``with‖without`` bounds how strongly a model can indicate membership, ``without‖with`` how strongly non-membership. ``median`` is
    None where half of the records or more have an infinite divergence, and ``infinite`` is the share of these records.
    """

    order: float | Literal["inf"]
    direction: str
    median: Estimate | None
    infinite: Estimate


@dataclass(frozen=True, kw_only=True)
class LeakagePoint:
    """How much the models of one learner, trained on sets of one size, reveal about the membership of a record.

    Parameters
    ----------
    size, l2, noise
        The setting: number of training records, weight of the regularisation (None where the learner has none), standard deviation of the noise.
    prior, dimensions
        Probability that a record is in the training set, and number of parameters or outputs that vary.
    rho_kl
        Mean over records of the symmetric divergence, in nats; the interval covers the draws and the choice of records.
    rho_kl_median, rho_kl_quantiles, rho_kl_worst
        The median, other quantiles, and the largest of the measured records, whose interval is corrected for selection.
    rho_mi, rho_mi_ceiling
        Mutual information with the record's membership, in nats, and its upper bound by Corollary 1.
    advantage_bound
        Upper bound on the advantage of any attack if both laws are Gaussian [Theorem 1, corrected]. The claim ``bounded`` states whether it holds.
    attack
        Advantage of a likelihood-ratio attack that knows the two Gaussians from other draws, on draws that it has not seen. It needs no
        assumption: a lower bound on the strongest attack.
    threshold_attack
        Advantage of an attack that compares the loss with the mean training loss of other models [farokhi2020, 6.2]; None where it was not run.
    rho_neighbours
        ``rho_kl`` with the difference that nearest neighbours find to the Gaussians, in twenty records; None with too few draws.
    control
        The same estimate for training sets against the same sets with one record, not a given one, replaced: the truth is 0. None where it can't be
        measured.
    ill_conditioned
        Share of draws with a parameter more than eight robust deviations away from its median.
    renyi
        Worst cases beyond the mean: see `Renyi`.
    warnings
        What limits these figures.
    """

    size: int
    l2: float | None
    noise: float
    prior: float
    dimensions: int
    rho_kl: Estimate
    rho_kl_median: Estimate
    rho_kl_quantiles: dict[float, Estimate]
    rho_kl_worst: Estimate
    rho_mi: Estimate
    rho_mi_ceiling: Estimate
    advantage_bound: Estimate
    attack: Estimate
    threshold_attack: Estimate | None = None
    rho_neighbours: Estimate | None
    control: Estimate | None
    ill_conditioned: Estimate
    renyi: tuple[Renyi, ...]
    warnings: tuple[Caveat, ...] = ()


@dataclass(frozen=True)
class NotMeasured:
    """A setting that can't be measured, and why."""

    size: int
    l2: float | None
    noise: float
    reason: str


@dataclass(frozen=True)
class Goal:
    """Where leakage falls below a goal, in bits, as one setting, ``along``, grows and the others stay ``fixed``.

    ``value`` is the first measured one from which on every upper end stays below the goal, None where there is none; ``crossing`` is where the curve
    itself crosses it, interpolated between two measured values on logarithmic scales. ``last`` is the estimate at the largest measured value, in
    nats.
    """

    bits: float
    along: Setting
    fixed: dict[str, float | None]
    value: float | None
    crossing: float | None
    last: Estimate


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Leakage(Result):
    """How much trained models reveal about the membership of a record, at one setting or at several.

    Parameters
    ----------
    points
        The figures of each setting.
    not_measured
        Settings that can't be measured, and why.
    goals
        Where leakage falls below the goal of the sweep, if it has one.
    records
        One row for each measured record and setting: ``record`` (position), ``id``, ``kl`` with ``kl_low`` and ``kl_high``, ``mi``,
        ``advantage_bound``, ``attack``, ``renyi_2``, ``renyi_inf`` (with‖without), ``finite_up_to`` (the order at which the Rényi divergence becomes
        infinite in one direction or the other), ``size``, ``l2`` and ``noise``.
    """

    kind: ClassVar[str] = "leakage"
    codes: ClassVar[Mapping[str, Outcome | None]] = {
        "leak": "yes", "bounded": None, "leaks_less": None, "below_goal": "no",
    }  # fmt: skip
    possible_figures: ClassVar[tuple[str, ...]] = ("advantage_bound", "threshold_attack")
    table: ClassVar[str] = "points"

    points: tuple[LeakagePoint, ...]
    not_measured: tuple[NotMeasured, ...] = ()
    goals: tuple[Goal, ...] = ()

    @property
    def point(self) -> LeakagePoint:
        """The setting that the claims are about: the largest size with the weakest regularisation and the least noise."""
        return min(self.points, key=lambda point: (-point.size, point.l2 or 0.0, point.noise))

    @property
    def rho_kl(self) -> Estimate:
        """Mean symmetric divergence of `point`, in nats."""
        return self.point.rho_kl

    @property
    def rho_kl_median(self) -> Estimate:
        """Symmetric divergence of the median record of `point`, in nats."""
        return self.point.rho_kl_median

    @property
    def rho_mi(self) -> Estimate:
        """Mutual information of `point`, in nats."""
        return self.point.rho_mi

    @property
    def advantage_bound(self) -> Estimate:
        """Upper bound on the advantage of any attack at `point`, if both laws are Gaussian."""
        return self.point.advantage_bound

    @property
    def attack(self) -> Estimate:
        """Advantage of the likelihood-ratio attack at `point`."""
        return self.point.attack

    def below(
        self, bits: float, measure: Literal["rho_kl", "rho_mi"] = "rho_kl", along: Setting = "size"
    ) -> tuple[Goal, ...]:
        """Find how many records, how much regularisation or how much noise it takes until leakage is below ``bits`` bits.

        Parameters
        ----------
        measure
            ``"rho_kl"``, the symmetric divergence, or ``"rho_mi"``, the mutual information.
        along
            ``"size"``, ``"l2"`` or ``"noise"``: what grows. There is one answer for each combination of the others.

        Examples
        --------
        >>> import numpy as np
        >>> from leakscope.studies.leakage import sweep
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(400, 2))
        >>> found = sweep("ridge", X, X[:, 0] + rng.normal(size=400), sizes=(20, 80), records=10, draws=300, models=0)
        >>> found.below(bits=0.1)[0].value
        80
        """
        bits = check_goal(bits)
        if measure not in ("rho_kl", "rho_mi"):
            raise InputError(f"measure must be 'rho_kl' or 'rho_mi', not {measure!r}")
        if along not in SETTINGS:
            raise InputError(f"along must be {', '.join(map(repr, SETTINGS))}, not {along!r}")
        others = [name for name in SETTINGS if name != along]
        curves: dict[tuple[float | None, ...], list[tuple[float, Estimate]]] = {}
        for point in self.points:
            fixed = tuple(getattr(point, name) for name in others)
            curves.setdefault(fixed, []).append((getattr(point, along) or 0, getattr(point, measure)))
        found = []
        for fixed, curve in sorted(curves.items(), key=lambda item: [value or 0.0 for value in item[0]]):
            curve.sort(key=lambda point: point[0])
            value, crossing = _crossing(curve, bits * NATS_PER_BIT)
            found.append(Goal(bits, along, dict(zip(others, fixed, strict=True)), value, crossing, curve[-1][1]))
        return tuple(found)


def check_goal(bits: float) -> float:
    """Check a goal: a number of bits above zero."""
    return check_number("the goal in bits", bits, 0, open_ends=True)


def _crossing(curve: list[tuple[float, Estimate]], goal: float) -> tuple[float | None, float | None]:
    value = None
    for place, estimate in reversed(curve):
        if estimate.high >= goal:
            break
        value = place
    for (left, first), (right, second) in reversed(list(pairwise(curve))):
        if left > 0 and first.value >= goal > second.value > 0:
            way = math.log(first.value / goal) / math.log(first.value / second.value)
            return value, float(math.exp(math.log(left) + way * math.log(right / left)))
    return value, None
