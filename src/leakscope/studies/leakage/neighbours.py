r"""Divergence by nearest neighbours: what the Gaussian approximation is checked against.

With :math:`\rho_k(x_i)` the distance from draw :math:`x_i` of p to its k-th neighbour among the other draws of p, and
:math:`\nu_k(x_i)` that to its k-th neighbour among m draws of q,

.. math:: \hat D(p\|q) = \frac dn\sum_{i=1}^n\ln\frac{\nu_k(x_i)}{\rho_k(x_i)} + \ln\frac m{n-1}

converges to D(p‖q) for any two densities (Wang, Kulkarni, Verdú 2009, Eq. 14). From a few hundred draws it has a bias of its
own, so that it is compared with itself: the same estimate from as many draws of the two *Gaussians* with the same means and
covariances. The difference of the two is what the laws hold beyond their first two moments.
"""

from __future__ import annotations

import numpy as np

from leakscope.core.arrays import Floats

NEIGHBOURS = 5
#: Groups of draws that give an estimate each; their spread is its error, whatever the records share.
GROUPS = 10
#: Draws of one side in a group: fewer don't carry an estimate, more cost time only.
FEWEST, MOST = 20, 200


def neighbour_divergence(first: Floats, second: Floats, neighbours: int = NEIGHBOURS) -> float:
    """Symmetric divergence D(p‖q) + D(q‖p) from independent draws of both, (draws, dimensions), in nats.

    NaN where draws repeat so often that neighbours coincide: such laws have no density.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> value = neighbour_divergence(rng.normal(0.0, 1.0, (2000, 1)), rng.normal(1.0, 1.0, (2000, 1)))
    >>> bool(abs(value - 1.0) < 0.15)
    True
    """
    return _one_way(first, second, neighbours) + _one_way(second, first, neighbours)


def _one_way(first: Floats, second: Floats, neighbours: int) -> float:
    from scipy.spatial import KDTree

    among_own, among_others = (
        np.asarray(KDTree(sample).query(first, [nearest])[0])[:, 0]
        for sample, nearest in ((first, neighbours + 1), (second, neighbours))
    )
    if not (among_own.all() and among_others.all()):
        return float("nan")
    count, dimensions = first.shape
    return float(dimensions * np.log(among_others / among_own).mean() + np.log(len(second) / (count - 1)))


def beyond_gaussian(with_record: Floats, without: Floats, seed: int) -> Floats:
    """What nearest neighbours find beyond the Gaussians of the same moments, (records, groups), in nats.

    Draws are (records, draws, dimensions). Of each group the two sides come from different draws, since the two draws of a
    pair share all but one record and would be each other's neighbours. No groups where draws are too few.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> normal = rng.normal(size=(2, 3, 2000, 1))
    >>> bool(abs(beyond_gaussian(normal[0], normal[1], seed=0)).max() < 1)
    True
    """
    count = min(with_record.shape[1], without.shape[1]) // (2 * GROUPS)
    if count < FEWEST:
        return np.empty((len(with_record), 0))
    used = min(count, MOST)
    differences = np.empty((len(with_record), GROUPS))
    for group in range(GROUPS):
        first = with_record[:, 2 * group * count : 2 * group * count + used]
        second = without[:, (2 * group + 1) * count : (2 * group + 1) * count + used]
        for record in range(len(first)):
            normals = np.random.default_rng((seed, group, record)).standard_normal((2, used, first.shape[2]))
            root = _whitening(first[record], second[record])
            drawn = first[record] @ root, second[record] @ root
            twins = _of_same_moments(drawn[0], normals[0]), _of_same_moments(drawn[1], normals[1])
            differences[record, group] = neighbour_divergence(*drawn) - neighbour_divergence(*twins)
    return differences


def _whitening(first: Floats, second: Floats) -> Floats:
    """Map that makes the pooled covariance the identity: neighbours depend on the scale, divergence doesn't."""
    pooled = (np.cov(first, rowvar=False) + np.cov(second, rowvar=False)) / 2
    values, vectors = np.linalg.eigh(np.atleast_2d(pooled))
    return np.asarray(vectors / np.sqrt(np.maximum(values, values[-1] * 1e-14)))


def _of_same_moments(draws: Floats, normals: Floats) -> Floats:
    """Gaussian draws with exactly the mean and covariance of these."""
    centred = normals - normals.mean(axis=0)
    now, wanted = (np.atleast_2d(np.cov(sample, rowvar=False)) for sample in (centred, draws))
    return np.asarray(draws.mean(axis=0) + centred @ np.linalg.inv(_root(now)).T @ _root(wanted).T)


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T)
