"""Feature explanations of scikit-learn's linear and logistic models, in closed form and without torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.models.model import to_probabilities
from leakscope.releases.feature_explanations.noise import NOISE, draw
from leakscope.releases.feature_explanations.settings import FeatureExplanation

Link = Literal["softmax", "sigmoid", "scores", "values"]
#: Largest number of points of a Gauss-Legendre rule: rules with more are slow to compute and gain little.
POINTS = 128
#: Largest error of integrated gradients against the change of a probability: relative, and by rounding.
INCOMPLETE, ROUNDING = 1e-3, 1e-9
#: Largest factor by which steps are multiplied for records that need more.
MOST_STEPS = 20_000

_SOFTMAX = ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")
_SCORES = (
    "LinearSVC", "RidgeClassifier", "RidgeClassifierCV", "Perceptron", "SGDClassifier", "PassiveAggressiveClassifier",
)  # fmt: skip
_VALUES = (
    "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "LassoLars",
    "BayesianRidge", "ARDRegression", "HuberRegressor", "SGDRegressor", "LinearSVR", "QuantileRegressor",
    "TheilSenRegressor", "OrthogonalMatchingPursuit",
)  # fmt: skip


@dataclass(frozen=True)
class LinearView:
    """A model with one linear score per class. The score or the probability of the predicted class is explained.

    Parameters
    ----------
    weights, bias
        (outputs, features) and (outputs,). For a model with one score for two classes: its negative, and the score.
    link
        Function from scores to probabilities: ``softmax`` or ``sigmoid``; ``scores`` has none; ``values`` is regression.
    """

    weights: Floats
    bias: Floats
    link: Link

    def explain(self, X: Floats, how: FeatureExplanation, keys: NDArray[np.uint64]) -> Floats:
        """Return the explanations of records, one row each; ``keys`` seed the noise of each."""
        scores: Floats = X @ self.weights.T + self.bias
        code = scores.argmax(axis=1)
        weights: Floats = self.weights[code]
        if how.method == "lrp":
            z = np.take_along_axis(scores, code[:, None], axis=1)
            weights *= X * (z / (z + np.where(z < 0, -how.epsilon, how.epsilon)))
            return weights
        if how.method == "deeplift":
            weights *= X - how.baseline
            return weights
        if how.explains == "logit" or self.link == "values":
            weights *= {"gradient_x_input": X, "integrated_gradients": X - how.baseline}.get(how.method, 1.0)
            return weights
        if how.method == "smoothgrad":
            return self._smooth(scores, code, how, keys)
        if how.method == "integrated_gradients":
            return self._integrate(X, scores, code, how)
        gradient: Floats = self._by_score(scores, code) @ self.weights
        return gradient * X if how.method == "gradient_x_input" else gradient

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probabilities of the classes, along the last axis."""
        if self.link == "sigmoid":
            return to_probabilities(scores[..., 1:].reshape(-1, 1), "logits").reshape(scores.shape)
        return to_probabilities(scores.reshape(-1, scores.shape[-1]), "logits").reshape(scores.shape)

    def _by_score(self, scores: Floats, code: NDArray[np.intp]) -> Floats:
        """Derivative of the probability of class ``code`` by each score, along the last axis of ``scores``."""
        p = self.probabilities(scores)
        own = code.reshape(-1, *[1] * (scores.ndim - 1))
        likelihood = np.take_along_axis(p, np.broadcast_to(own, (*scores.shape[:-1], 1)), axis=-1)
        if self.link == "sigmoid":  # p_c depends on its own score alone
            return np.where(np.arange(2) == own, likelihood * (1 - likelihood), 0.0)
        slopes: Floats = likelihood * ((np.arange(scores.shape[-1]) == own) - p)
        return slopes

    def _smooth(
        self, scores: Floats, code: NDArray[np.intp], how: FeatureExplanation, keys: NDArray[np.uint64]
    ) -> Floats:
        """Mean over the noise of the derivatives by the scores, which the weights convert to derivatives by the features."""
        features = self.weights.shape[1]
        found = np.empty((len(scores), features))
        step = max(1, NOISE // (how.samples * features))
        for start in range(0, len(scores), step):
            rows = slice(start, start + step)
            noise = how.sigma * draw(keys[rows], (how.samples, features), how.seed)
            moved = scores[rows, None] + noise @ self.weights.T
            found[rows] = self._by_score(moved, code[rows]).mean(axis=1) @ self.weights
        return found

    def _integrate(self, X: Floats, scores: Floats, code: NDArray[np.intp], how: FeatureExplanation) -> Floats:
        r"""Slopes by the scores, integrated along the path.

        For the sigmoid, the integral is :math:`(p(x) - p(b))/(z(x) - z(b))` times the weights; for the softmax it is
        computed by quadrature, since several scores change at once.
        """
        start = np.full((1, X.shape[1]), how.baseline) @ self.weights.T + self.bias
        if self.link == "sigmoid":
            rows = np.arange(len(X))
            change = (scores - start)[rows, code]
            gain = (self.probabilities(scores) - self.probabilities(start))[rows, code]
            small = np.abs(change) < 1e-9
            slope = np.where(small, self._by_score(scores, code)[rows, code], gain / np.where(small, 1.0, change))
            return slope[:, None] * self.weights[code] * (X - how.baseline)
        total, todo, steps = np.zeros_like(scores), np.arange(len(scores)), how.steps
        while len(todo):
            total[todo] = self._mean_slope(start, scores[todo], code[todo], steps)
            gain = (self.probabilities(scores[todo]) - self.probabilities(start))[np.arange(len(todo)), code[todo]]
            missed = np.abs((total[todo] * (scores[todo] - start)).sum(axis=1) - gain)
            todo, steps = todo[~(missed <= INCOMPLETE * np.abs(gain) + ROUNDING)], 4 * steps
            if len(todo) and steps > MOST_STEPS:
                raise InputError(
                    f"integrated gradients with {steps // 4} steps do not add up to the change of the probability for {len(todo)} records: "
                    "rescale the records, or use integrated_gradients:output=logit"
                )
        return (total @ self.weights) * (X - how.baseline)

    def _mean_slope(self, start: Floats, scores: Floats, code: NDArray[np.intp], steps: int) -> Floats:
        """Mean of the slopes by the scores along the path."""
        total = np.zeros_like(scores)
        for node, weight in zip(*quadrature(steps), strict=True):
            total += weight * self._by_score(start + node * (scores - start), code)
        return total


@cache
def quadrature(steps: int) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre points and weights on [0, 1]; more than `POINTS` are split into several pieces."""
    pieces = -(-steps // POINTS)
    nodes, weights = np.polynomial.legendre.leggauss(-(-steps // pieces))
    starts = np.repeat(np.arange(pieces), len(nodes))
    return (starts + np.tile((nodes + 1) / 2, pieces)) / pieces, np.tile(weights / 2, pieces) / pieces


def linear_view(estimator: Any) -> LinearView | None:
    """Return the view of a fitted linear or logistic estimator, or None if it is something else."""
    name = type(estimator).__name__
    if type(estimator).__module__.split(".")[0] != "sklearn" or not hasattr(estimator, "coef_"):
        return None
    coefficients = estimator.coef_.toarray() if hasattr(estimator.coef_, "toarray") else estimator.coef_
    weights = np.atleast_2d(np.asarray(coefficients, np.float64))
    bias = np.broadcast_to(np.asarray(estimator.intercept_, np.float64), (len(weights),))
    if name in _VALUES:
        return LinearView(weights, bias, "values") if len(weights) == 1 else None
    per_class = name in _SOFTMAX and "ovr" in str(getattr(estimator, "multi_class", ""))
    if len(weights) > 1 and (per_class or getattr(estimator, "solver", "") == "liblinear"):
        return None  # one logistic model per class, with normalised probabilities
    if name in _SOFTMAX or (name == "SGDClassifier" and estimator.loss == "log_loss" and len(weights) == 1):
        return encoded_view(weights.T, bias, classification=True)
    if name not in _SCORES or hasattr(estimator, "predict_proba"):
        return None
    return replace(encoded_view(weights.T, bias, classification=True), link="scores")


def encoded_view(coefficients: Floats, intercept: Floats, *, classification: bool) -> LinearView:
    """Return the view of a linear model by its coefficients (features, outputs) and intercept (outputs,).

    Examples
    --------
    >>> encoded_view(np.array([[2.0], [3.0]]), np.array([0.5]), classification=True).weights
    array([[-2., -3.], [ 2.,  3.]])
    """
    weights, bias = coefficients.T, intercept
    if not classification:
        return LinearView(weights, bias, "values")
    if len(weights) > 1:
        return LinearView(weights, bias, "softmax")
    return LinearView(np.vstack([-weights, weights]), np.concatenate([-bias, bias]), "sigmoid")
