"""From the measured records to the figures of a `LeakagePoint`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from leakscope.bounds.any_attack import advantage_from_kl, entropy, information_ceiling
from leakscope.core.arrays import Floats, Indices
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import proportion
from leakscope.core.result import Caveat
from leakscope.studies.leakage.draws import Jackknife, MeasuredDraws
from leakscope.studies.leakage.gaussians import GaussianPair, renyi_divergence, swapped
from leakscope.studies.leakage.result import LeakagePoint, Renyi

QUANTILES = (0.9, 0.99)
ORDERS = (2.0, 10.0, math.inf)
NATS = "nats"
#: Confidence of the tests of nearest neighbours against the Gaussian figure and of the control against zero: sweeps test often.
STRICT = 0.999


class Checks(NamedTuple):
    """Checks of the figures, in the first records."""

    beyond: Floats  # (records, groups): what nearest neighbours find beyond the Gaussians
    far: tuple[int, int]  # ill-conditioned draws, of how many
    control: Jackknife | str  # the divergence of two laws that are the same, or why there is none
    fixed: int  # parameters or outputs that never vary or follow from the others


class Summary:
    """Figures over all measured records."""

    def __init__(self, parts: list[MeasuredDraws], share: float, universe: int, confidence: float) -> None:
        self.divergence = Jackknife.joined([part.divergence for part in parts])
        self.information = Jackknife.joined([part.information for part in parts])
        self.pair = GaussianPair(*map(np.concatenate, zip(*(part.pair for part in parts), strict=True)))
        self.hits = np.concatenate([part.hits for part in parts])
        self.share, self.universe, self.confidence = share, universe, confidence
        self.blocks = self.hits.shape[1]

    def point(self, setting: dict[str, Any], space: str, checks: Checks) -> LeakagePoint:
        """Give the figures of a setting, with what limits them."""
        rho_kl, share = self._mean(self.divergence), self.share
        ceiling = float(information_ceiling(rho_kl.high, share))
        found = LeakagePoint(
            **setting,
            prior=share,
            rho_kl=rho_kl.finite(),
            rho_kl_median=self._quantile(0.5).finite(),
            rho_kl_quantiles={level: self._quantile(level).finite() for level in QUANTILES},
            rho_kl_worst=self._worst().finite(),
            rho_mi=self._mean(self.information).mapped(lambda value: min(float(entropy(share)), value), NATS),
            rho_mi_ceiling=Estimate(ceiling, 0.0, ceiling, self.confidence, "upper bound", NATS, method="Corollary 1"),
            advantage_bound=self._bound(),
            attack=self._attack(),
            rho_neighbours=self._neighbours(checks.beyond, rho_kl),
            control=None if isinstance(checks.control, str) else _mean_of_nothing(checks.control, self.confidence),
            ill_conditioned=proportion(*checks.far, confidence=self.confidence),
            renyi=tuple(self._renyi(order, way) for order in ORDERS for way in ("with‖without", "without‖with")),
        )
        return replace(found, warnings=tuple(_doubts(found, space, checks, self.divergence.values, self.universe)))

    def _mean(self, figure: Jackknife, confidence: float | None = None) -> Estimate:
        """Mean over records; the draws, which records share, and the choice of records both count."""
        count, mean = len(figure.full), figure.mean()
        of_draws = float(mean.variances()[0])
        # the records differ by more than the noise of their own draws, of which the part they share does not show
        spread = max(0.0, float(figure.values.var(ddof=1) - figure.variances().mean() + of_draws))
        of_records = spread / count * (1 - count / self.universe)
        freedom = (of_draws + of_records) ** 2 / max(of_draws**2 / mean.freedom + of_records**2 / (count - 1), 1e-300)
        confidence = confidence or self.confidence
        quantile = student(freedom, confidence)
        above = _skewed(quantile, _skewness(figure.values, of_draws + of_records))
        low, high = mean.interval(quantile, of_records)[0], mean.interval(above, of_records)[1]
        method = "jackknife over draws, Student over records with Hall's correction for skewness"
        return positive(float(mean.values[0]), float(low[0]), float(high[0]), confidence, count, method)

    def _quantile(self, level: float) -> Estimate:
        """Quantile over records: order statistics of the ends of their intervals."""
        values, (low, high) = self.divergence.values, self._ends(self.confidence)
        first, last = _places(len(values), level, self.confidence)
        least, most = float(np.sort(low)[first]), float(np.sort(high)[last])
        value = float(np.quantile(values, level))
        return positive(value, least, most, self.confidence, len(values), "order statistics of the records")

    def _worst(self) -> Estimate:
        count = len(self.divergence.full)
        low, high = self._ends(1 - (1 - self.confidence) / count)
        ends = float(self.divergence.values.max()), float(low.max()), float(high.max())
        return positive(*ends, self.confidence, count, "largest record, Bonferroni")

    def _ends(self, confidence: float) -> tuple[Floats, Floats]:
        return self.divergence.interval(student(self.divergence.freedom, confidence))

    def _bound(self) -> Estimate:
        """Theorem 1, corrected: from the mean by Jensen, or record by record, whichever is lower; each has half the error probability."""
        strict = 1 - (1 - self.confidence) / 2
        from_mean = advantage_from_kl(self._mean(self.divergence, strict).high)
        each = advantage_from_kl(np.maximum(self._ends(strict)[1], 0.0))
        count = len(each)
        error = float(np.std(each, ddof=1)) * math.sqrt((1 - count / self.universe) / count)
        from_records = float(np.mean(each)) + student(count - 1, strict) * error
        value = min(from_mean, from_records, 1.0)
        method = "Theorem 1, corrected: Pinsker or Bretagnolle-Huber, for Gaussian laws"
        return Estimate(value, 0.0, value, self.confidence, "upper bound", n=count, method=method)

    def _attack(self) -> Estimate:
        count = len(self.hits)
        of_draws = float(self.hits.mean(axis=0).var(ddof=1)) / self.blocks
        of_records = float(self.hits.mean(axis=1).var(ddof=1)) / count * (1 - count / self.universe)
        half = student(self.blocks - 1, self.confidence) * math.sqrt(of_draws + of_records)
        value = float(self.hits.mean())
        method = "likelihood ratio of the two Gaussians, on held-out draws"
        return Estimate(value, max(-1.0, value - half), min(1.0, value + half), self.confidence, n=count, method=method)

    def _neighbours(self, beyond: Floats, rho_kl: Estimate) -> Estimate | None:
        if not beyond.size or not np.isfinite(beyond).all():
            return None
        value = rho_kl.value + float(beyond.mean())
        half = student(beyond.shape[1] - 1, self.confidence) * _error_beyond(beyond)
        low = value - math.hypot(half, rho_kl.value - rho_kl.low)
        high = value + math.hypot(half, rho_kl.high - rho_kl.value)
        method = f"rho_kl and what nearest neighbours find beyond the Gaussians in {len(beyond)} records, MOVER"
        return positive(value, low, high, rho_kl.confidence, len(beyond), method)

    def _renyi(self, order: float, direction: str) -> Renyi:
        values = np.sort(renyi_divergence(self.pair if direction == "with‖without" else swapped(self.pair), order))
        count, infinite = len(values), int(np.isinf(values).sum())
        first, last = _places(count, 0.5, self.confidence)
        low, high = values[first], values[last]
        median = None
        if np.isfinite(middle := float(np.quantile(values, 0.5, method="lower"))):
            method = "order statistics of the records, plugged in"
            ends = min(float(low), middle), float(high)
            median = Estimate(middle, *ends, self.confidence, unit=NATS, n=count, method=method).finite()
        shown: Any = "inf" if math.isinf(order) else order
        return Renyi(shown, direction, median, proportion(infinite, count, self.confidence))

    def records(self, chosen: Indices, ids: Any) -> pd.DataFrame:
        """Give one row for each measured record."""
        names = chosen if ids is None else ids[chosen]
        low, high = (np.maximum(end, 0.0) for end in self._ends(self.confidence))
        back = swapped(self.pair)
        # orders from 1/(1 − 1/scale) on are infinite one way, and the same of the reciprocal the other way
        widest = np.maximum(self.pair.scale.max(axis=1), back.scale.max(axis=1))
        return pd.DataFrame(
            {
                "record": chosen,
                "id": names if names.dtype.kind in "iu" else names.astype("str"),
                "kl": np.maximum(self.divergence.values, 0.0),
                "kl_low": low,
                "kl_high": high,
                "mi": np.maximum(self.information.values, 0.0),
                "advantage_bound": advantage_from_kl(high),
                "attack": self.hits.mean(axis=1),
                "renyi_2": np.maximum(renyi_divergence(self.pair, 2.0), renyi_divergence(back, 2.0)),
                "renyi_inf": renyi_divergence(self.pair, math.inf),
                "finite_up_to": np.divide(widest, widest - 1, out=np.full(len(widest), np.inf), where=widest > 1),
            }
        )


def _places(count: int, level: float, confidence: float) -> tuple[int, int]:
    """Positions of the order statistics that enclose a quantile."""
    tail = (1 - confidence) / 2
    first, last = (special.bdtrik(end, count, level) for end in (tail, 1 - tail))
    return max(0, math.floor(first)), min(count - 1, math.ceil(last))


def student(freedom: float, confidence: float) -> float:
    return float(special.stdtrit(max(1.0, freedom), 0.5 + confidence / 2))


def _skewness(values: Floats, variance: float) -> float:
    """Skewness of the mean of the values, given its variance: a few records may leak far more than all others."""
    third = float(((values - values.mean()) ** 3).mean()) / len(values) ** 2
    return float(min(1.0, max(0.0, third / max(variance, 1e-300) ** 1.5)))


def _skewed(quantile: float, skewness: float) -> float:
    """Quantile above the mean of skewed values (Hall 1992, the cubic transformation); below it Student's is safe.

    Examples
    --------
    >>> round(_skewed(2.0, 0.3), 2), _skewed(2.0, 0.0)
    (2.73, 2.0)
    """
    if skewness < 1e-6:
        return quantile
    return 3 / skewness * (1 - float(np.cbrt(1 - skewness * (quantile + skewness / 6))))


def _mean_of_nothing(control: Jackknife, confidence: float) -> Estimate:
    mean = control.mean()
    low, high = mean.interval(student(mean.freedom, confidence))
    method = "training sets against the same with one record, not a given one, replaced"
    return positive(float(mean.values[0]), float(low[0]), float(high[0]), confidence, len(control.full), method)


def _error_beyond(beyond: Floats) -> float:
    """Standard error of what neighbours find: groups of draws and records both vary."""
    return math.sqrt(sum(float(beyond.mean(axis=axis).var(ddof=1)) / beyond.shape[1 - axis] for axis in (0, 1)))


def positive(value: float, low: float, high: float, confidence: float, n: int, method: str) -> Estimate:
    """A divergence is never negative, though an estimate without bias may be."""
    low, value, high = (max(0.0, end) for end in (min(low, value), value, max(high, value)))
    return Estimate(value, low, high, confidence, unit=NATS, n=n, method=method)


def _doubts(found: LeakagePoint, space: str, checks: Checks, divergences: Floats, universe: int) -> Iterator[Caveat]:
    """Yield what limits the figures."""
    beyond = checks.beyond
    if checks.fixed:
        every = checks.fixed + found.dimensions
        yield Caveat("fixed_parameters", {"fixed": checks.fixed, "all": every, "space": space})
    if isinstance(checks.control, str):
        yield Caveat("no_control", {"reason": checks.control})
    elif found.control is not None and _mean_of_nothing(checks.control, STRICT).low > 0:
        yield Caveat("control_not_zero", {"control": found.control})
    if found.ill_conditioned.value >= 0.001:
        yield Caveat("ill_conditioned", {"share": found.ill_conditioned, "space": space})
    kl, count = np.sort(np.maximum(divergences, 0.0)), len(divergences)
    top = max(1, math.ceil(count / 20))
    if 10 <= count < universe and kl[-top:].sum() > kl.sum() / 3:
        share = round(float(kl[-top:].sum() / kl.sum()), 2)
        yield Caveat("few_records_dominate", {"records": top, "of": count, "share": share})
    if found.noise:
        yield Caveat("gaussian_unchecked_noise")
    elif not beyond.size:
        yield Caveat("gaussian_unchecked_draws", {"needed": 400})
    elif np.isnan(beyond).any():
        yield Caveat("no_density")
    elif found.rho_neighbours is not None:
        half = student(beyond.shape[1] - 1, STRICT) * _error_beyond(beyond)
        if abs(beyond.mean()) > max(half, 0.25 * found.rho_kl.value):
            yield Caveat("neighbours_disagree", {"neighbours": found.rho_neighbours, "rho_kl": found.rho_kl})
    yield from exceeds(found, "likelihood-ratio", found.attack)


def exceeds(found: LeakagePoint, attack: str, advantage: Estimate) -> Iterator[Caveat]:
    """Yield a warning if an attack has a significantly larger advantage than the bound for Gaussian laws allows."""
    if advantage.low > found.advantage_bound.value:
        yield Caveat("attack_exceeds_bound", {"attack": attack, "advantage": advantage, "bound": found.advantage_bound})
