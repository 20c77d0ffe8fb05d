"""The explanations that a frontier measures by default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leakscope.explanations import FeatureExplanation, explain_model
from leakscope.explanations.faithfulness import Bench

#: Deviations of SmoothGrad's noise, in units of the usual deviation of a feature.
SIGMAS = (0.25, 1.0, 4.0)
#: Deviations of noise on the released values, in units of their usual size.
NOISES = (0.1, 1.0)
TOPS = (5, 20)


def usual_settings(bench: Bench) -> list[FeatureExplanation]:
    """Give all methods, and the gradient with every form of post-processing.

    The largest values are taken of gradient times input too: those of a gradient are often at features that the record does not have.

    Settings with a unit are fitted to the records, to one digit: the noise of SmoothGrad to the standard deviation of the features, noise and decimals to
    the size of the gradients.

    Examples
    --------
    >>> from leakscope.adapters import estimator_model
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = estimator_model(LinearRegression().fit(X, X @ [300.0, 400.0]))
    >>> [how.name for how in usual_settings(Bench(model, X)) if "sigma" in how.name or "noise" in how.name]
    ['smoothgrad:sigma=1.0', 'smoothgrad:sigma=4.0', 'smoothgrad:sigma=1.0:samples=5', 'gradient:noise=40.0', 'gradient:noise=400.0']
    """
    plain = FeatureExplanation("gradient", output=None if bench.shown == "probability" else "logit")
    contributions = replace(plain, method="gradient_x_input")
    size = _root_mean_square(explain_model(bench.model, bench.drawn, plain)) or 1.0
    spread = _root_mean_square(bench.flat - bench.flat.mean(axis=0)) or 1.0
    smooth = [replace(plain, method="smoothgrad", sigma=one_digit(share * spread)) for share in SIGMAS]
    rounded = [replace(plain, digits=1), replace(plain, digits=2)]
    rounded.append(replace(plain, decimals=max(0, -int(np.floor(np.log10(size))))))
    every = [
        plain,
        contributions,
        replace(plain, method="integrated_gradients", baseline=bench.baseline),
        FeatureExplanation("lrp"),
        FeatureExplanation("deeplift", baseline=bench.baseline),
        *smooth,
        replace(smooth[1], samples=5),
        *(replace(how, top=top) for how in (plain, contributions) for top in TOPS if top < bench.flat.shape[1]),
        *rounded,
        *(replace(plain, noise=one_digit(share * size)) for share in NOISES),
        replace(plain, normalised=True),
    ]
    return list({how.name: how for how in every}.values())


def one_digit(value: float) -> float:
    """Rounded to one significant digit.

    >>> one_digit(0.0347)
    0.03
    """
    return float(f"{value:.0e}")


def _root_mean_square(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
