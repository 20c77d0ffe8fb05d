r"""Divergence between two Gaussian laws from draws of each: without the bias of plugging in, and with its standard error.

Means and covariances estimated from m draws in p dimensions make the symmetric divergence J too large by about
:math:`p(p+3)/m`, whatever it is. Three things are done about it.

1. *Draws that are independent* follow Wishart's law: with :math:`a = (m-p-2)/(m-1)`, :math:`aS^{-1}` is unbiased for
   :math:`\Sigma^{-1}`, so that

   .. math:: \hat J = \tfrac12\bigl[a\operatorname{tr}S_0^{-1}S_1 + a\operatorname{tr}S_1^{-1}S_0 - 2p
             + a\,d^\top(S_0^{-1}+S_1^{-1})d - \text{its mean at }\delta=0\bigr]

   has no bias. *Draws in pairs* that share all but one record have little bias to begin with, and are plugged in plainly.
2. The *jackknife* over B blocks of draws, deleted from both sides at once, removes what bias of order 1/m is left (laws
   that are not Gaussian, dependent sides) and gives the standard error.
3. Near zero J is quadratic: :math:`J\approx|u|^2`, where u stacks the whitened difference of means and, over
   :math:`\sqrt2`, that of covariances. With W the covariance of its estimate, the variance of :math:`\hat J` is
   :math:`4u^\top Wu + 2\operatorname{tr}W^2`. The jackknife sees :math:`4\hat u^\top W\hat u`, which falls with the
   estimate: a small estimate would have too narrow an interval. The variance is therefore taken as a line
   :math:`aJ + b` with :math:`a = 4\hat u^\top W\hat u/|\hat u|^2` and :math:`b = 2\operatorname{tr}W^2` from the spread
   of the blocks, and the interval holds those J from which what was found is not too far.

Everything works on stacks of records: arrays (records, draws, dimensions).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.studies.leakage.gaussians import (
    Canonical,
    GaussianPair,
    canonical,
    information_per_divergence,
    symmetric_divergence,
)

#: Blocks of draws that the jackknife leaves out in turn.
BLOCKS = 25
POINTS_OF_REPLICATES = 64
MOST_DIMENSIONS = 1000
#: A variance this small compared with that of the other law is none.
VANISHING = 1e-13


class Side(NamedTuple):
    """Draws of one law in blocks: how many, their sums and the sums of their products, about a common centre."""

    counts: Floats  # (blocks,)
    sums: Floats  # (records, blocks, dimensions)
    products: Floats  # (records, blocks, dimensions, dimensions)

    def without_each(self) -> Side:
        """All draws first, then all but those of each block: one row more than blocks."""
        return Side(*(_total_and_rest(part, axis) for part, axis in zip(self, (0, 1, 1), strict=True)))

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and unbiased covariance of each row."""
        counts = self.counts[:, None]
        mean = self.sums / counts
        outer = self.sums[..., :, None] * mean[..., None, :]
        return mean, (self.products - outer) / (counts[..., None] - 1)


@dataclass(frozen=True)
class Jackknife:
    """A statistic of each record: without bias, its replicates by block, and the noise of its quadratic part.

    ``replicates`` (records, blocks) are the values with one block left out; ``gram`` (records, blocks, blocks) holds the
    products of the blocks' parts of u, scaled like the statistic.
    """

    full: Floats
    replicates: Floats
    gram: Floats
    rank: int

    @property
    def values(self) -> Floats:
        """The statistics of the records, less their bias of order 1/m."""
        blocks = self.replicates.shape[1]
        return np.asarray(blocks * self.full - (blocks - 1) * self.replicates.mean(axis=1))

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the variance."""
        return int(self.replicates.shape[1] - 1)

    def variances(self) -> Floats:
        """Variances of the records, from the draws alone."""
        slope, floor = self._variance_line()
        return np.asarray(slope * np.maximum(self.values, 0.0) + floor)

    def interval(self, quantile: float, extra: float = 0.0) -> tuple[Floats, Floats]:
        r"""Ends of intervals: the values J that lie within ``quantile`` standard errors, taken at J, of what was found.

        The variance at J is the line of the module's third point, plus ``extra``: :math:`(J-\hat J)^2 = q^2(aJ+b)`.
        """
        slope, floor = self._variance_line()
        middle = self.values + quantile**2 * slope / 2
        at_zero = quantile**2 * (slope * np.maximum(self.values, 0.0) + floor + extra)
        half = np.sqrt(quantile**4 * slope**2 / 4 + at_zero)
        return np.minimum(self.values, middle - half), np.maximum(self.values, middle + half)

    def mean(self) -> Jackknife:
        """The mean over the records, whose draws may be shared."""
        full, replicates, gram = (part.mean(axis=0, keepdims=True) for part in (self.full, self.replicates, self.gram))
        return Jackknife(full, replicates, gram, self.rank * len(self.full))

    def _variance_line(self) -> tuple[Floats, Floats]:
        """Slope and value at zero of the variance as a function of the statistic."""
        blocks = self.replicates.shape[1]
        freedom = blocks - 1
        seen = freedom * self.replicates.var(axis=1)
        trace = np.trace(self.gram, axis1=1, axis2=2) / freedom
        squares = (self.gram * self.gram).sum(axis=(1, 2)) / freedom**2
        # E tr S² = (1 + 1/f) tr C² + (tr C)²/f for a Wishart matrix of f degrees of freedom, and tr C² ≥ (tr C)²/rank
        unbiased = (squares - trace**2 / freedom) * freedom**2 / ((freedom - 1) * (freedom + 2))
        floor = 2 * np.maximum(unbiased, trace**2 / self.rank) / blocks**2
        plugged_in = np.maximum(self.values, 0.0) + trace / blocks
        return np.divide(seen, plugged_in, out=np.zeros_like(seen), where=plugged_in > 0), floor

    @staticmethod
    def joined(parts: list[Jackknife]) -> Jackknife:
        """The records of several stacks, one after the other."""
        full, replicates, gram = zip(*((part.full, part.replicates, part.gram) for part in parts), strict=True)
        return Jackknife(np.concatenate(full), np.concatenate(replicates), np.concatenate(gram), parts[0].rank)


@dataclass(frozen=True)
class MeasuredDraws:
    """Estimates from the draws, for a stack of records."""

    divergence: Jackknife  # symmetric divergence, nats
    information: Jackknife  # mutual information, nats
    pair: GaussianPair  # plugged-in Gaussians in canonical form
    hits: Floats  # (records, blocks): right minus wrong decisions of the likelihood-ratio attack, on held-out draws


def measure(
    with_record: Floats, without: Floats, share: float, *, paired: bool, noise: Floats | None = None
) -> MeasuredDraws:
    """Measure how the draws with each record differ from those without it.

    Parameters
    ----------
    with_record, without
        Draws of the two laws, (records, draws, dimensions). Numbers of draws may differ unless they are paired.
    share
        Probability that a record is in the training set.
    paired
        Whether draw k of the two sides shares all but one record.
    noise
        (dimensions of the noise, dimensions): what is added to each draw is standard normal times this matrix. Its
        covariance is added to both laws; nothing is sampled except what the attack sees.
    """
    centre = without.mean(axis=1, keepdims=True)
    blocks = min(BLOCKS, with_record.shape[1], without.shape[1])
    first, second = _side(with_record - centre, blocks), _side(without - centre, blocks)
    dimensions = with_record.shape[2]
    extra = np.zeros((dimensions, dimensions)) if noise is None else noise.T @ noise
    check_draws(min(with_record.shape[1], without.shape[1]), dimensions, noise is not None)
    first_all, second_all = first.without_each(), second.without_each()
    pair = _canonical(first_all, second_all, extra).pair
    statistic = symmetric_divergence(pair)
    if not paired and noise is None:
        statistic = _independent_divergence(pair, first_all.counts, second_all.counts)
    information = statistic * _information_shares(pair, share)
    gram = _gram(first, second, extra)
    rank = dimensions * (dimensions + 3) // 2
    slope = share * (1 - share) / 2
    return MeasuredDraws(
        Jackknife(statistic[:, 0], statistic[:, 1:], gram, rank),
        Jackknife(information[:, 0], information[:, 1:], slope * gram, rank),
        GaussianPair(pair.scale[:, 0], pair.shift[:, 0]),
        _likelihood_ratio_hits(with_record - centre, without - centre, first, second, extra, noise),
    )


def _information_shares(pair: GaussianPair, share: float) -> Floats:
    """Information per divergence, (records, 1 + blocks): few points will do for how it changes from block to block."""
    exact = information_per_divergence(GaussianPair(pair.scale[:, :1], pair.shift[:, :1]), share)
    rough = information_per_divergence(pair, share, POINTS_OF_REPLICATES)
    return np.asarray(exact * rough / np.maximum(rough[:, :1], 1e-300))


def _total_and_rest(parts: Floats, axis: int) -> Floats:
    total = parts.sum(axis=axis, keepdims=True)
    return np.concatenate([total, total - parts], axis=axis)


def _edges(draws: int, blocks: int) -> list[int]:
    return [draws * number // blocks for number in range(blocks + 1)]


def _side(draws: Floats, blocks: int) -> Side:
    edges = _edges(draws.shape[1], blocks)
    parts = [draws[:, start:stop] for start, stop in pairwise(edges)]
    sums = np.stack([part.sum(axis=1) for part in parts], axis=1)
    products = np.stack([np.swapaxes(part, 1, 2) @ part for part in parts], axis=1)
    return Side(np.diff(edges).astype(np.float64), sums, products)


def check_draws(draws: int, dimensions: int, noisy: bool) -> None:
    """Refuse draws that are too few for a covariance, or dimensions that are too many for one."""
    needed = math.ceil((2 if noisy else dimensions + 4) * BLOCKS / (BLOCKS - 1)) + 2
    if draws < max(needed, 10):
        raise InputError(
            f"{dimensions:,} dimensions need {max(needed, 10):,} draws or more for a covariance, not {draws:,}: raise draws, or set space to function"
        )
    if dimensions > MOST_DIMENSIONS:
        raise InputError(
            f"a covariance of {dimensions:,} dimensions for each record takes too long (the limit is {MOST_DIMENSIONS:,}): set space to function"
        )


def _canonical(first: Side, second: Side, extra: Floats) -> Canonical:
    (mean_in, covariance_in), (mean_out, covariance_out) = first.moments(), second.moments()
    try:
        form = canonical(mean_in, covariance_in + extra, mean_out, covariance_out + extra)
    except np.linalg.LinAlgError:
        raise InputError(ENDLESS.format("without")) from None
    if not form.pair.scale.min() > VANISHING:
        raise InputError(ENDLESS.format("with"))
    return form


ENDLESS = (
    "training {} some record gives parameters without variation in a direction in which they vary otherwise, so the leakage is "
    "infinite: the model fits all training records exactly or has a step function as output, or there are too few draws. Raise size, draws, l2 or noise"
)


def _independent_divergence(pair: GaussianPair, count_in: Floats, count_out: Floats) -> Floats:
    """Symmetric divergence from independent Gaussian draws, unbiased: see the module's first point."""
    scale, shift = pair
    p = scale.shape[-1]
    factor_in, factor_out = (count_in - p - 2) / (count_in - 1), (count_out - p - 2) / (count_out - 1)
    trace_in, trace_out = scale.sum(axis=-1), (1 / scale).sum(axis=-1)  # tr S0⁻¹S1, tr S1⁻¹S0
    squared = shift * shift
    distance_out = squared.sum(axis=-1) - p / count_out - trace_in / count_in  # dᵀS0⁻¹d less its mean at δ = 0
    distance_in = (squared / scale).sum(axis=-1) - p / count_in - trace_out / count_out
    value: Floats = 0.5 * (factor_out * (trace_in + distance_out) + factor_in * (trace_out + distance_in) - 2 * p)
    return value


def _gram(first: Side, second: Side, extra: Floats) -> Floats:
    """Products of the blocks' parts of u, (records, blocks, blocks): see the module's third point."""
    (mean_in, covariance_in), (mean_out, covariance_out) = (_about_mean(side) for side in (first, second))
    both = ((covariance_in + covariance_out).mean(axis=1) / 2) + extra
    root = np.linalg.inv(np.linalg.cholesky(both))[:, None]
    means = ((mean_in - mean_out)[..., None, :] @ np.swapaxes(root, -1, -2))[..., 0, :]
    spreads = root @ (covariance_in - covariance_out) @ np.swapaxes(root, -1, -2)
    parts = np.concatenate([means, spreads.reshape(*means.shape[:2], -1) / np.sqrt(2)], axis=2)
    parts -= parts.mean(axis=1, keepdims=True)
    return np.asarray(parts @ np.swapaxes(parts, 1, 2))


def _about_mean(side: Side) -> tuple[Floats, Floats]:
    """Each block's mean, and its covariance about the mean of all draws."""
    counts = side.counts[:, None]
    mean = side.sums / counts
    overall = (side.sums.sum(axis=1) / side.counts.sum())[:, None]
    cross = mean[..., :, None] * overall[..., None, :]
    about = side.products / counts[..., None] - cross - np.swapaxes(cross, -1, -2)
    return mean, about + overall[..., :, None] * overall[..., None, :]


def _likelihood_ratio_hits(
    with_record: Floats, without: Floats, first: Side, second: Side, extra: Floats, noise: Floats | None
) -> Floats:
    """Advantage, by record and block, of the attack that knows both Gaussians from the other half of the draws."""
    blocks = len(first.counts)
    hits = np.zeros((len(with_record), blocks))
    halves = np.arange(blocks) % 2 == 0
    for judged in (halves, ~halves):
        form = _canonical(_pooled(first, ~judged), _pooled(second, ~judged), extra)
        for sign, draws in ((1, with_record), (-1, without)):
            edges = _edges(draws.shape[1], blocks)
            for block in np.flatnonzero(judged):
                part = draws[:, edges[block] : edges[block + 1]]
                if noise is not None:
                    rng = np.random.default_rng((blocks, int(block), sign + 1))
                    part = part + rng.standard_normal((part.shape[1], len(noise))) @ noise
                hits[:, block] += sign * (np.sign(_log_ratio(part, form)) / 2).mean(axis=1)
    return hits


def _pooled(side: Side, blocks: NDArray[np.bool_]) -> Side:
    """Some blocks of draws as one."""
    sums, products = (part[:, blocks].sum(1, keepdims=True) for part in side[1:])
    return Side(side.counts[blocks].sum(keepdims=True), sums, products)


def _log_ratio(draws: Floats, form: Canonical) -> Floats:
    """Log-likelihood ratio of the two Gaussians at draws (records, draws, dimensions)."""
    place = (draws - form.centre) @ form.map[:, 0]
    scale, shift = form.pair
    distance = place * place - (place - shift) ** 2 / scale
    return np.asarray((distance - np.log(scale)).sum(axis=-1) / 2)
