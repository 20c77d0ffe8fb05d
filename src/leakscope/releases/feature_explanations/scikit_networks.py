"""Conversion of scikit-learn's MLPs, and of those of `learners.MLP`, to torch modules. Needs torch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from leakscope.core.errors import InputError
from leakscope.releases.feature_explanations.network import NetworkView

_ACTIVATIONS = {
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
    "logistic": torch.nn.Sigmoid,
    "identity": torch.nn.Identity,
}


def network_view(estimator: Any) -> NetworkView:
    """Return the view of a fitted ``MLPClassifier`` or ``MLPRegressor``."""
    layers = list(zip(estimator.coefs_, estimator.intercepts_, strict=True))
    module = fully_connected(layers, estimator.activation)
    kind = {"softmax": "logits", "logistic": "logits", "identity": "values"}.get(estimator.out_activation_)
    outputs = estimator.coefs_[-1].shape[1]
    if kind is None:
        what = f"a network with an output of {estimator.out_activation_}"
        raise InputError(f"{what} can't be explained: use squared_error")
    if outputs > 1 and estimator.out_activation_ != "softmax":
        raise InputError(
            "a network with several labels per record can't be explained: train one network for each label"
        )
    return NetworkView(module, kind)


def fully_connected(layers: list[tuple[Any, Any]], activation: str, *, reference_class: bool = False) -> Any:
    """Return a module of the given weights (inputs, outputs) and biases; ``reference_class`` puts a logit of 0 first.

    Examples
    --------
    >>> module = fully_connected([(np.array([[2.0]]), np.array([1.0]))], "tanh")
    >>> module(torch.tensor([[3.0]], dtype=torch.float64)).item()
    7.0
    """
    parts: list[Any] = []
    for weights, bias in layers:
        linear = torch.nn.Linear(*np.shape(weights), dtype=torch.from_numpy(np.asarray(weights)).dtype)
        linear.weight.data = torch.from_numpy(np.ascontiguousarray(np.asarray(weights).T))
        linear.bias.data = torch.from_numpy(np.array(bias, np.asarray(weights).dtype))
        parts += [linear, _ACTIVATIONS[activation]()]
    if reference_class:
        parts[-1] = torch.nn.ConstantPad1d((1, 0), 0.0)
    else:
        parts.pop()
    return torch.nn.Sequential(*parts)


def module_of(learner: Any, model: Any) -> Any:
    """Return the torch module of a network that `learners.MLP` trained; it gives logits, or the value.

    Examples
    --------
    >>> from leakscope.learners import MLP
    >>> learner, X, y = MLP(widths=(4,), steps=5, task="classification").prepare(np.eye(6), [0, 1, 2, 0, 1, 2])
    >>> module = module_of(learner, learner.fit(X, y, np.random.default_rng(0)))
    >>> module(torch.eye(6)).shape
    torch.Size([6, 3])
    """
    outputs = 1 if learner.task == "regression" else learner.classes - 1
    shapes = list(pairwise([learner.inputs, *learner.widths, outputs]))
    sizes = [(inputs + 1) * outputs for inputs, outputs in shapes]
    parts = np.split(np.asarray(model), np.cumsum(sizes)[:-1])
    layers = [
        (part[: inputs * outputs].reshape(inputs, outputs), part[inputs * outputs :])
        for part, (inputs, outputs) in zip(parts, shapes, strict=True)
    ]
    return fully_connected(layers, learner.activation, reference_class=learner.task == "classification")
