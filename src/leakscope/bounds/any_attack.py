r"""Upper bounds on the advantage of any attack, from information leakage or from differential privacy.

Record i is in the training set (:math:`z = 1`, with probability :math:`\alpha_1 = n/N`) or not, and the released
parameters follow :math:`p_1` or :math:`p_0`. An attack sees the record and the parameters and predicts "member" with
probabilities TPR and FPR. Its advantage :math:`\mathrm{TPR} - \mathrm{FPR}` is at most the total variation
:math:`\mathrm{TV}(p_1, p_0)`; the likelihood-ratio test attains it. With
:math:`J = D(p_1\|p_0) + D(p_0\|p_1)` the symmetric divergence in nats, the smaller of the two directions is at most J/2:

.. math::

   \mathrm{TV} \le \sqrt{\tfrac12 \min D} \le \tfrac12\sqrt J \quad\text{(Pinsker)}, \qquad
   \mathrm{TV} \le \sqrt{1 - e^{-\min D}} \le \sqrt{1 - e^{-J/2}} \quad\text{(Bretagnolle and Huber 1979)}.

Both are concave in J. By Jensen's inequality, they bound the mean advantage over records if
:math:`\rho_\mathrm{KL} = E[J]` replaces J.

Every function takes a number or an array and returns the same type.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


def advantage_from_kl(symmetric_kl: Numbers) -> Numbers:
    r"""Bound the advantage of any attack on the parameters by the symmetric divergence J in nats.

    :math:`\min\{\tfrac12\sqrt J, \sqrt{1 - e^{-J/2}}, 1\}` [farokhi2020, Thm 1, corrected]. For one record J is its own
    divergence; with :math:`\rho_\mathrm{KL}` the mean advantage over records is bounded.

    As printed, the theorem bounds the *probability of success* by :math:`\tfrac12\sqrt{\rho_\mathrm{KL}}`. This cannot hold: a
    model that leaks nothing has :math:`\rho_\mathrm{KL} = 0`, and random guessing succeeds half the time. By Le Cam's lemma,
    the smallest *sum* of the two error rates is :math:`1 - \mathrm{TV}`, so that at even odds the probability of success is
    :math:`\tfrac12 + \tfrac12\mathrm{TV}`. The proof therefore bounds the advantage :math:`|2P - 1|`.

    Examples
    --------
    >>> advantage_from_kl(0.04), round(advantage_from_kl(10.0), 4)
    (0.1, 0.9966)
    >>> advantage_from_kl(np.array([0.0, 1.0, np.inf]))
    array([0. , 0.5, 1. ])
    """
    J = _within("a symmetric Kullback-Leibler divergence", symmetric_kl, 0, np.inf)
    return _like(symmetric_kl, np.minimum(np.sqrt(J) / 2, np.sqrt(-np.expm1(-J / 2))))


def success_from_advantage(advantage: Numbers) -> Numbers:
    """Return the probability of a correct decision if members and non-members are equally likely: (1 + advantage) / 2.

    Examples
    --------
    >>> success_from_advantage(0.5)
    0.75
    """
    return _like(advantage, (1 + _within("an advantage", advantage, -1, 1)) / 2)


def advantage_from_epsilon(epsilon: Numbers, delta: float = 0.0) -> Numbers:
    r"""Bound the advantage of any attack if the release is (ε, δ)-differentially private.

    :math:`(e^\varepsilon - 1 + 2\delta)/(e^\varepsilon + 1)`, which some mechanism attains (Kairouz, Oh and Viswanath 2015:
    every test has :math:`\mathrm{FPR} + e^\varepsilon\,\mathrm{FNR} \ge 1 - \delta` and the same with the rates exchanged;
    add the two). At δ = 0 it is below :math:`e^\varepsilon - 1` (Yeom et al. 2018, Theorem 1). Neighbours differ by a swap, as
    in `leakscope.bounds.sensitivity`: replacing record i by a random non-member changes the distribution of the model with i
    into the distribution without it, so that the two are (ε, δ)-close.

    Examples
    --------
    >>> round(advantage_from_epsilon(1.0), 4), round(advantage_from_epsilon(1.0, delta=0.01), 4)
    (0.4621, 0.4675)
    """
    e, d = _within("epsilon", epsilon, 0, np.inf), _within("delta", delta, 0, 1)
    return _like(epsilon, np.tanh(e / 2) + 2 * d * special.expit(-e))


def advantage_from_epsilon_loose(epsilon: Numbers) -> Numbers:
    r"""Return the bound :math:`\min\{e^\varepsilon - 1, 1\}` on the advantage under ε-differential privacy [tople2020, Lemma 2].

    From Yeom et al. (2018, Theorem 1), for comparison with papers that state it. It is 1 from ε = ln 2 on.
    `advantage_from_epsilon` is never larger, is attained by some mechanism, and is below 1 for every ε.

    Examples
    --------
    >>> round(advantage_from_epsilon_loose(0.1), 4), round(advantage_from_epsilon(0.1), 4)
    (0.1052, 0.05)
    >>> advantage_from_epsilon_loose(np.array([0.0, 0.7]))
    array([0., 1.])
    """
    e = _within("epsilon", epsilon, 0, np.inf)
    return _like(epsilon, np.minimum(np.expm1(np.minimum(e, 1.0)), 1.0))  # clipping ε at 1 prevents overflow


def laplace_epsilon(sensitivity: Numbers, scale: float) -> Numbers:
    r"""Return the ε at which Laplace noise of scale b on each parameter is ε-differentially private: :math:`\Delta_1/b`.

    Dwork and Roth (2014, Theorem 3.6), as used in [tople2020, Thm 3]; :math:`\Delta_1` is the sensitivity in absolute
    distance, `leakscope.bounds.sensitivity.sensitivity` with ``norm=1``. At equal noise, the ε of two learners have the ratio
    of their sensitivities. A lower bound on the sensitivity gives a lower bound on ε, and no guarantee.

    Examples
    --------
    >>> laplace_epsilon(0.5, scale=2.0)
    0.25
    """
    apart = _within("a sensitivity", sensitivity, 0, np.inf)
    return _like(sensitivity, apart / _within("a scale", scale, 0, np.inf, above=True))


def laplace_noise(epsilon: Numbers, sensitivity: float) -> Numbers:
    r"""Return the scale b of the Laplace noise on each parameter that makes the release ε-differentially private.

    :math:`\Delta_1/\varepsilon`, the inverse of `laplace_epsilon`.

    Examples
    --------
    >>> laplace_noise(0.25, sensitivity=0.5)
    2.0
    """
    apart = _within("a sensitivity", sensitivity, 0, np.inf)
    e = _within("epsilon", epsilon, 0, np.inf, above=True)
    if np.any(np.isinf(e)) or np.any(np.isinf(apart)):
        raise InputError("epsilon and sensitivity must be finite")
    return _like(epsilon, apart / e)


def entropy(share: Numbers) -> Numbers:
    """Return the entropy in nats of a binary variable that is 1 with probability ``share``.

    Examples
    --------
    >>> round(entropy(0.5), 4), entropy(1.0)
    (0.6931, 0.0)
    """
    p = _within("a share", share, 0, 1)
    return _like(share, special.entr(p) + special.entr(1 - p))


def information_ceiling(symmetric_kl: Numbers, share: float) -> Numbers:
    r"""Bound the information in nats of the parameters about a membership: :math:`\min\{\alpha_0\alpha_1 J, J/4, H(\alpha_1)\}`.

    [farokhi2020, Cor. 1 and the line above it]. ``share`` is :math:`\alpha_1 = n/N`, the probability of *being* in the
    training set; the paper prints it for :math:`\alpha_0`. J/4 is the largest value of the first term over all shares, and the
    mutual information is at most the entropy H of the membership.

    Examples
    --------
    >>> round(information_ceiling(0.2, share=0.1), 6), round(information_ceiling(50.0, share=0.1), 4)
    (0.018, 0.3251)
    """
    J = _within("a symmetric Kullback-Leibler divergence", symmetric_kl, 0, np.inf)
    odds = _within("a share", share, 0, 1)
    # J may be infinite. Any finite number above 4 ln 2 / α₀α₁ gives the same result, and 0 for a share of 0.
    return _like(symmetric_kl, np.minimum(odds * (1 - odds) * np.minimum(J, 1e300), entropy(odds)))


def gaussian_delta(sigma: Numbers, epsilon: float, sensitivity: float) -> Numbers:
    r"""Return the smallest δ at which Gaussian noise of standard deviation σ on each parameter is (ε, δ)-differentially private.

    :math:`\Phi\bigl(\tfrac{\Delta}{2\sigma} - \tfrac{\varepsilon\sigma}{\Delta}\bigr)
    - e^\varepsilon\,\Phi\bigl(-\tfrac{\Delta}{2\sigma} - \tfrac{\varepsilon\sigma}{\Delta}\bigr)` (Balle and Wang 2018,
    Theorem 8), with Δ the sensitivity: the hockey-stick divergence of two Gaussians at distance Δ.

    Examples
    --------
    >>> round(gaussian_delta(1.0, epsilon=1.0, sensitivity=1.0), 6)
    0.126937
    """
    s = _within("sigma", sigma, 0, np.inf, above=True)
    e = _within("epsilon", epsilon, 0, np.inf)
    with np.errstate(over="ignore", divide="ignore"):
        apart = _within("a sensitivity", sensitivity, 0, np.inf) / s
        return _like(sigma, _hockey_stick(apart, e))


def _hockey_stick(apart: Floats, e: Floats) -> Floats:
    r"""Return δ of two unit Gaussians at distance ``apart`` = Δ/σ.

    With :math:`t_\pm = \varepsilon\sigma/\Delta \pm \Delta/2\sigma` we have :math:`e^\varepsilon\varphi(t_+) = \varphi(t_-)`,
    so that :math:`\delta = \varphi(t_-)\,(R(t_-) - R(t_+))` with Mills' ratio R. This avoids large powers of e, and in the
    tail differences of large logarithms. Where :math:`t_- < 0`, R overflows and Φ is accurate.
    """
    a = np.where(apart > 0, apart, 1.0)
    nearer, farther = e / a - a / 2, e / a + a / 2
    height = np.exp(-np.square(nearer) / 2) / 2  # φ(t) R(t) = height * erfcx(t/√2)
    first = np.where(
        nearer > 0, height * special.erfcx(np.maximum(nearer, 0) / np.sqrt(2)), special.ndtr(-np.minimum(nearer, 0))
    )
    delta = first - height * special.erfcx(farther / np.sqrt(2))
    return np.where(apart > 0, np.clip(delta, 0.0, 1.0), 0.0)


def gaussian_noise(
    epsilon: Numbers, delta: float, sensitivity: float, method: Literal["analytic", "classic"] = "analytic"
) -> Numbers:
    r"""Return the standard deviation σ of Gaussian noise on each parameter that makes the release (ε, δ)-differentially private.

    Parameters
    ----------
    epsilon, delta
        The guarantee; δ lies strictly between 0 and 1.
    sensitivity
        The largest distance by which one swap can change the parameters: see `leakscope.bounds.sensitivity.sensitivity`. A lower
        bound gives no guarantee.
    method
        ``analytic``: the smallest possible σ, for any ε (Balle and Wang 2018). ``classic``:
        :math:`\sqrt{2\ln(1.25/\delta)}\,\Delta/\varepsilon` [farokhi2020, Prop. 1]. The proof holds for ε < 1 only, although
        the proposition does not say so; larger ε raise an error.

    Examples
    --------
    >>> round(gaussian_noise(0.5, 1e-5, sensitivity=1.0), 4)
    7.0318
    >>> round(gaussian_noise(0.5, 1e-5, sensitivity=1.0, method="classic"), 4)
    9.6896
    """
    e = _within("epsilon", epsilon, 0, np.inf, above=True)
    d = _within("delta", delta, 0, 1, above=True)
    apart = _within("a sensitivity", sensitivity, 0, np.inf)
    if np.any(d == 1) or np.any(np.isinf(e)) or np.any(np.isinf(apart)):
        raise InputError("delta must be below 1, and epsilon and sensitivity finite")
    if method == "analytic":
        return _like(epsilon, apart * _smallest_noise(e, d))
    if method != "classic":
        raise InputError(f"unknown method {method!r}: use 'analytic' or 'classic'")
    if np.any(e >= 1):
        raise InputError("method 'classic' needs an epsilon below 1: use method='analytic'")
    return _like(epsilon, np.sqrt(2 * np.log(1.25 / d)) * apart / e)


def _smallest_noise(e: Floats, d: Floats) -> Floats:
    """Find σ/Δ by bisection of its logarithm; return the upper end, where the guarantee holds."""
    e, d = np.broadcast_arrays(e, d)
    # At the lower end δ rounds to 1. At the upper end it is at most its value at ε = 0, which Δ/(σ√2π) bounds.
    low = np.log(1e-3 / (1 + np.sqrt(e)))
    high = -np.log(np.sqrt(2 * np.pi)) - np.log(d)
    for _ in range(64):
        middle = (low + high) / 2
        enough = _hockey_stick(np.exp(-middle), e) <= d
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(np.exp(high))


def _within(what: str, value: Any, lowest: float, highest: float, *, above: bool = False) -> Floats:
    """Return the value as an array, or raise an error that states the allowed range."""
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be a number, not {value!r}") from None
    right = (numbers > lowest if above else numbers >= lowest) & (numbers <= highest)
    if not right.all():
        wrong = float(numbers[~right].flat[0])
        start = f"above {lowest:g}" if above else f"{lowest:g} or more"
        end = "" if np.isinf(highest) else f" and at most {highest:g}"
        raise InputError(f"{what} must be {start}{end}, not {wrong:g}")
    return numbers


def _like(given: Numbers, answer: Any) -> Numbers:  # noqa: ARG001  # gives the type checker the type of the result
    """Return a float for a number and an array for an array."""
    return cast(Numbers, float(answer) if np.ndim(answer) == 0 else np.asarray(answer))
