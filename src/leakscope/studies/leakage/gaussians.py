r"""How much two Gaussians differ: divergences and mutual information, in closed form where there is one.

An invertible linear map turns any pair :math:`p_1 = N(\mu_1, \Sigma_1)`, :math:`p_0 = N(\mu_0, \Sigma_0)` into
:math:`p_1 = N(\nu, \operatorname{diag}\lambda)`, :math:`p_0 = N(0, I)`, and no divergence changes. With
:math:`\Sigma_0 = LL^\top` and :math:`L^{-1}\Sigma_1L^{-\top} = Q\operatorname{diag}(\lambda)Q^\top` it is
:math:`\theta\mapsto Q^\top L^{-1}(\theta-\mu_0)`, so :math:`\nu = Q^\top L^{-1}(\mu_1-\mu_0)`. Then

.. math::

   D(p_1\|p_0) &= \tfrac12\sum_j(\lambda_j-1-\ln\lambda_j+\nu_j^2), \qquad
   D(p_0\|p_1) = \tfrac12\sum_j(1/\lambda_j-1+\ln\lambda_j+\nu_j^2/\lambda_j),

which is Remark 3 of farokhi2020 with its trace and transpose put right. The Rényi divergence of order :math:`\alpha` is

.. math:: D_\alpha(p_1\|p_0) = \sum_j\Bigl[\frac{\alpha\nu_j^2}{2s_j}
          - \frac{\ln s_j - (1-\alpha)\ln\lambda_j}{2(\alpha-1)}\Bigr],\qquad s_j = \alpha + (1-\alpha)\lambda_j,

and infinite as soon as some :math:`s_j\le0`, that is :math:`\lambda_j\ge\alpha/(\alpha-1)` (Gil, Alajaji, Linder 2013). At
order infinity it is the largest log-ratio, :math:`\tfrac12\sum_j[\nu_j^2/(1-\lambda_j) - \ln\lambda_j]`, finite only if
:math:`p_1` is the narrower one in every direction.

The mutual information between a bit with probability :math:`\alpha_1` and a draw from :math:`p_1` or :math:`p_0` has no
closed form; it is the mean over the even mixture of a bounded function of the log-ratio :math:`\ell = \ln p_1/p_0`, taken at
fixed quasi-random points.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from leakscope.core.arrays import Floats

#: Quasi-random points of each of the two Gaussians.
POINTS = 256
#: Log-ratios worked on at a time.
BLOCK = 2_000_000


class GaussianPair(NamedTuple):
    """Two Gaussians in canonical form: N(shift, diag(scale)) with the record, N(0, 1) without; arrays (..., dimensions)."""

    scale: Floats
    shift: Floats


class Canonical(NamedTuple):
    """A pair in canonical form, and the map that leads there: ``(theta - centre) @ map``."""

    pair: GaussianPair
    centre: Floats
    map: Floats


def canonical(mean_in: Floats, covariance_in: Floats, mean_out: Floats, covariance_out: Floats) -> Canonical:
    """Canonical form of pairs of Gaussians, means (..., p) and covariances (..., p, p).

    Raises ``numpy.linalg.LinAlgError`` where the second covariance is not positive definite.

    Examples
    --------
    >>> pair = canonical(np.array([3.0]), np.array([[2.0]]), np.array([1.0]), np.array([[4.0]])).pair
    >>> pair.scale, pair.shift
    (array([0.5]), array([1.]))
    """
    inverse_root = np.linalg.inv(np.linalg.cholesky(covariance_out))
    scale, vectors = np.linalg.eigh(inverse_root @ covariance_in @ np.swapaxes(inverse_root, -1, -2))
    to_canonical = np.swapaxes(inverse_root, -1, -2) @ vectors
    shift = ((mean_in - mean_out)[..., None, :] @ to_canonical)[..., 0, :]
    return Canonical(GaussianPair(scale, shift), mean_out, to_canonical)


def symmetric_divergence(pair: GaussianPair) -> Floats:
    """Give D(p1‖p0) + D(p0‖p1), in nats; the logarithms cancel [farokhi2020, Remark 3, corrected].

    Examples
    --------
    >>> float(symmetric_divergence(GaussianPair(np.array([1.0]), np.array([0.2]))).round(6))
    0.04
    """
    scale, shift = pair
    with np.errstate(divide="ignore"):
        value: Floats = 0.5 * (scale + 1 / scale - 2 + shift * shift * (1 + 1 / scale)).sum(axis=-1)
    return value


def swapped(pair: GaussianPair) -> GaussianPair:
    """The same two Gaussians in the other order."""
    return GaussianPair(1 / pair.scale, -pair.shift / np.sqrt(pair.scale))


def renyi_divergence(pair: GaussianPair, order: float) -> Floats:
    """Rényi divergence of p1 from p0, of any order above 1 and up to infinity, in nats; ``inf`` where it is infinite.

    Examples
    --------
    >>> narrower = GaussianPair(np.array([0.5]), np.array([1.0]))
    >>> float(renyi_divergence(narrower, np.inf).round(6)), float(renyi_divergence(swapped(narrower), np.inf))
    (1.346574, inf)
    """
    scale, shift = pair
    with np.errstate(divide="ignore", invalid="ignore"):
        if np.isinf(order):
            value = 0.5 * (np.where(shift == 0, 0.0, shift * shift / (1 - scale)) - np.log(scale))
            finite = (scale < 1) | ((scale == 1) & (shift == 0))
        else:
            mixed = order + (1 - order) * scale
            value = order * shift * shift / (2 * mixed)
            value = value - (np.log(mixed) - (1 - order) * np.log(scale)) / (2 * (order - 1))
            finite = mixed > 0
    return np.where(finite.all(axis=-1), np.where(finite, value, 0.0).sum(axis=-1), np.inf)


def information_per_divergence(pair: GaussianPair, share: float, points: int = POINTS) -> Floats:
    r"""Give mutual information over symmetric divergence, to two percent: :math:`\alpha_0\alpha_1/2` where both vanish, never over twice that.

    The mutual information, in nats, is that between a draw and the bit that says which Gaussian it came from, and ``share`` is :math:`\alpha_1`, the probability of
    p1. With :math:`r = e^\ell` it is the mean over p0 of :math:`f(r) = \alpha_1r\ln r - (\alpha_1r+\alpha_0)\ln(\alpha_1r+\alpha_0)` [farokhi2020, Eq. 3].
    Under the even mixture :math:`\ell\tanh(\ell/2)` has the mean :math:`\tfrac12(D(p_1\|p_0)+D(p_0\|p_1))`, and near
    :math:`\ell=0` it is proportional to what the information takes the mean of: the quotient of the two means over the same
    points is exact for small leakage, where either mean alone is not.

    Examples
    --------
    >>> float(information_per_divergence(GaussianPair(np.ones(1), np.full(1, 1e-3)), 0.5).round(6))
    0.125
    """
    limit = share * (1 - share) / 2
    shape, dimensions = pair.scale.shape[:-1], pair.scale.shape[-1]
    if limit == 0:
        return np.zeros(shape)
    scale, shift = pair.scale.reshape(-1, dimensions), pair.shift.reshape(-1, dimensions)
    normals = normal_points(points, dimensions)
    values = np.full(len(scale), limit)
    step = max(1, BLOCK // (2 * points))
    for start in range(0, len(scale), step):
        rows = slice(start, start + step)
        sides = [_log_ratios(scale[rows], shift[rows], normals, side) for side in (True, False)]
        parts = _information_and_divergence(np.concatenate(sides, axis=1), share)
        information, divergence = (part.mean(axis=1) for part in parts)
        np.divide(information, 2 * divergence, out=values[rows], where=divergence > 0)
    return np.asarray(np.minimum(values, 2 * limit)).reshape(shape)  # [farokhi2020, Cor. 1, before its last step]


def _log_ratios(scale: Floats, shift: Floats, normals: Floats, from_in: bool) -> Floats:
    """Log-ratios ln p1/p0 at quasi-random points of p1 or of p0: (pairs, points), one quadratic per dimension, expanded."""
    if from_in:  # x = shift + sqrt(scale) z: x² − z² = (scale − 1) z² + 2 shift sqrt(scale) z + shift²
        quadratic, linear = (scale - 1) / 2, shift * np.sqrt(scale)
        constant = (shift * shift - np.log(scale)).sum(axis=1) / 2
    else:  # z² − (z − shift)²/scale
        quadratic, linear = (1 - 1 / scale) / 2, shift / scale
        constant = (-shift * shift / scale - np.log(scale)).sum(axis=1) / 2
    ratios: Floats = constant[:, None] + quadratic @ (normals * normals).T + linear @ normals.T
    return ratios


def _information_and_divergence(ratio: Floats, share: float) -> tuple[Floats, Floats]:
    """Give 2 f(r)/(1 + r), whose mean over the even mixture is that of f over p0, and ℓ tanh(ℓ/2), without overflow.

    Everything comes from one exponential, E = exp(-|ℓ|): r/(1+r) is 1/(1+E) or E/(1+E), and the logarithm of α₁r + α₀ is
    ln(α₁ + α₀E) + ℓ or ln(α₀ + α₁E), by the sign of ℓ.
    """
    size, positive = np.abs(ratio), ratio > 0
    small = np.exp(-size)
    large = 1 / (1 + small)
    other = 1 - share
    near, far = np.where(positive, share, other), np.where(positive, other, share)
    log_mixture = np.log(near + far * small)  # less ℓ where ℓ > 0
    # α of the likelier law times its part of the mixture; then the same of the other law, whose log-ratio is -|ℓ|
    information = -2 * large * (near * log_mixture + far * small * (size + log_mixture))
    # Near r = 1 the two terms cancel to second order; the series takes over where it is the more exact.
    series = share * other * ratio * ratio / 2
    information = np.where(size < 1e-4, series, np.maximum(information, 0.0))
    return information, size * (1 - small) * large


@lru_cache(maxsize=8)
def normal_points(count: int, dimensions: int) -> Floats:
    """Quasi-random standard normals (count, dimensions), always the same, of mean zero and unit variance in each column."""
    from scipy.stats import qmc

    half = special.ndtri(qmc.Sobol(dimensions, rng=0).random(count // 2))
    points = np.concatenate([half, -half])
    points /= points.std(axis=0)
    points.setflags(write=False)
    return np.asarray(points, np.float64)
