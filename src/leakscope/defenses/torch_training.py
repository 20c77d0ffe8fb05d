"""What defenses that train a network share: its shape after the audited model, its tensors, and the way back to a `Model`.

A linear model becomes one layer, an MLP of scikit-learn a network with the same hidden layers and activation, and any other
model one layer too unless ``hidden`` says otherwise. Two classes have one score, k > 2 classes have k. The labels of a
regression are centred and scaled by the mean and the spread of the labels of the training records that were audited.
Training is in 32 bits and on one thread; the trained network is kept as plain arrays and answers in 64 bits, without torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.core.extras import import_torch
from leakscope.models.encoding import Encoding, last_step, make_encoding
from leakscope.models.model import Model, Task, to_probabilities
from leakscope.models.target import Target

Layers = tuple[tuple[Floats, Floats], ...]

#: Encoded values beyond this, which 32 bits can't square, are cut off.
LARGEST = 1e6
MODULES = {"relu": "ReLU", "tanh": "Tanh", "logistic": "Sigmoid", "identity": "Identity"}


@dataclass(frozen=True, eq=False)
class Plan:
    """How a network in place of the audited model is made, fed and read.

    ``activation`` is scikit-learn's name; a label of a regression is learnt as (label - centre) / scale.
    """

    encoding: Encoding
    hidden: tuple[int, ...]
    activation: str
    task: Task
    classes: NDArray[Any] | None
    gives_probabilities: bool
    centre: float = 0.0
    scale: float = 1.0

    @property
    def outputs(self) -> int:
        """Scores per record."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    def network(self) -> Any:
        """A new network: a single layer starts at 0, others at random by torch's own generator."""
        torch = import_torch()
        widths = (self.encoding.width, *self.hidden, self.outputs)
        parts: list[Any] = []
        for inputs, outputs in pairwise(widths):
            parts += [torch.nn.Linear(inputs, outputs), getattr(torch.nn, MODULES[self.activation])()]
        if not self.hidden:
            for parameter in parts[0].parameters():
                torch.nn.init.zeros_(parameter)
        return torch.nn.Sequential(*parts[:-1])

    def tensors(self, X: Any, y: NDArray[Any]) -> tuple[Any, Any]:
        """Records and labels as tensors."""
        torch = import_torch()
        labels = torch.tensor(y, dtype=torch.int64)
        if self.task == "regression":
            labels = torch.tensor(bounded((y - self.centre) / self.scale), dtype=torch.float32)
        return torch.tensor(bounded(self.encoding(X)), dtype=torch.float32), labels

    def losses(self, scores: Any, labels: Any) -> Any:
        """Cross-entropy, or half the squared error, of each record."""
        torch = import_torch()
        if self.task == "regression":
            return (scores[:, 0] - labels) ** 2 / 2
        return torch.nn.functional.cross_entropy(self.logits(scores), labels, reduction="none")

    def logits(self, scores: Any) -> Any:
        """One score per class: beside a single one stands a 0."""
        torch = import_torch()
        return scores if scores.shape[1] > 1 else torch.cat([torch.zeros_like(scores), scores], dim=1)

    def model(self, network: Any, name: str) -> Model:
        """The trained network as a `Model`."""
        linear = [part for part in network if hasattr(part, "weight")]
        layers = tuple((_array(part.weight).T, _array(part.bias)) for part in linear)
        if not all(np.isfinite(values).all() for layer in layers for values in layer):
            raise InputError(f"the training of {name} diverged: lower rate.")
        return Model(name, self.task, self.classes, self.gives_probabilities, NetworkOutputs(self, layers))


@dataclass(frozen=True, eq=False)
class NetworkOutputs:
    """Answers of a trained network, as the audited model gives them."""

    plan: Plan
    layers: Layers

    def __call__(self, X: Any) -> Floats:
        signal = bounded(self.plan.encoding(X))
        for place, (weights, bias) in enumerate(self.layers):
            signal = signal @ weights + bias
            if place < len(self.layers) - 1:
                signal = _activate(signal, self.plan.activation)
        if self.plan.classes is None:
            return signal[:, 0] * self.plan.scale + self.plan.centre
        probabilities = to_probabilities(signal, "logits")
        if self.plan.gives_probabilities:
            return probabilities
        certain: Floats = np.eye(len(self.plan.classes))[probabilities.argmax(axis=1)]
        return certain


def bounded(values: Floats) -> Floats:
    """Values within ±10⁶, and 0 for what is missing: no single record may bring the training to a halt, which would tell of it.

    >>> bounded(np.array([1.5, -1e39, np.nan]))
    array([ 1.5e+00, -1.0e+06,  0.0e+00])
    """
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)


def make_plan(target: Target, hidden: tuple[int, ...] | None) -> tuple[Plan, tuple[str, ...]]:
    """The plan for a target, and a note where the network is not of the audited model's kind.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.models.target import make_target
    >>> X, y = np.array([[0.0], [2.0], [0.0], [2.0]]), np.array([0, 1, 0, 1])
    >>> target = make_target(LogisticRegression().fit(X, y), (X, y), (X, y))
    >>> plan, notes = make_plan(target, None)
    >>> plan.hidden, plan.outputs, notes
    ((), 1, ())
    """
    model, last = target.model, last_step(target)
    notes: tuple[str, ...] = ()
    activation = "relu"
    if hidden is None:
        hidden = ()
        if hasattr(last, "hidden_layer_sizes"):
            hidden = tuple(int(width) for width in np.atleast_1d(last.hidden_layer_sizes))
            activation = last.activation
        elif not hasattr(last, "coef_"):
            notes = (f"A linear model stands in for {model.name}: hidden=(…) asks for a network with hidden layers.",)
    centre, scale = 0.0, 1.0
    if model.task == "regression":
        centre, scale = float(target.members.y.mean()), float(target.members.y.std()) or 1.0
    plan = Plan(
        make_encoding(target), hidden, activation, model.task, model.classes, model.gives_probabilities, centre, scale
    )
    return plan, notes


def read_hidden(hidden: Any) -> tuple[int, ...] | None:
    """Widths of hidden layers, or None for those of the audited model."""
    if hidden is None:
        return None
    widths = tuple(np.atleast_1d(np.asarray(hidden, dtype=object))) if np.size(hidden) else ()
    return tuple(check_count("each of hidden", width) for width in widths)


def _array(tensor: Any) -> Floats:
    values: Floats = tensor.detach().double().numpy()
    return values


def _activate(signal: Floats, activation: str) -> Floats:
    known: dict[str, Any] = {"tanh": np.tanh, "logistic": expit, "identity": np.asarray}
    return np.maximum(signal, 0.0) if activation == "relu" else np.asarray(known[activation](signal))
