"""Training of networks in torch for defenses: architecture from the audited model, tensors, conversion to a `Model`.

An MLP of scikit-learn becomes a network with the same hidden layers and activation. Any other model becomes one layer, unless
``hidden`` is given. Two classes have one score, k > 2 classes have k. The labels of a regression are centred and scaled by the
mean and standard deviation of the audited training records.
Training uses 32 bits and one thread; the trained network is stored as arrays and predicts in 64 bits without torch.
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

#: Encoded values are clipped at this magnitude, because squares of larger ones overflow in 32 bits.
LARGEST = 1e6
MODULES = {"relu": "ReLU", "tanh": "Tanh", "logistic": "Sigmoid", "identity": "Identity"}


@dataclass(frozen=True, eq=False)
class NetworkPlan:
    """Architecture, inputs and outputs of a network that replaces the audited model.

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
        """Number of scores per record."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    def network(self) -> Any:
        """Build a network: a single layer starts at 0, others are initialised by torch's generator."""
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
        """Return records and labels as tensors."""
        torch = import_torch()
        labels = torch.tensor(y, dtype=torch.int64)
        if self.task == "regression":
            labels = torch.tensor(bounded((y - self.centre) / self.scale), dtype=torch.float32)
        return torch.tensor(bounded(self.encoding(X)), dtype=torch.float32), labels

    def losses(self, scores: Any, labels: Any) -> Any:
        """Return the cross-entropy, or half the squared error, of each record."""
        torch = import_torch()
        if self.task == "regression":
            return (scores[:, 0] - labels) ** 2 / 2
        return torch.nn.functional.cross_entropy(self.logits(scores), labels, reduction="none")

    def logits(self, scores: Any) -> Any:
        """Return one score per class; a single score becomes the pair (0, score)."""
        torch = import_torch()
        return scores if scores.shape[1] > 1 else torch.cat([torch.zeros_like(scores), scores], dim=1)

    def model(self, network: Any, name: str) -> Model:
        """Convert the trained network to a `Model`."""
        linear = [part for part in network if hasattr(part, "weight")]
        layers = tuple((_array(part.weight).T, _array(part.bias)) for part in linear)
        if not all(np.isfinite(values).all() for layer in layers for values in layer):
            raise InputError(f"training with defense {name!r} diverged: lower rate")
        return Model(name, self.task, self.classes, self.gives_probabilities, NetworkOutputs(self, layers))


@dataclass(frozen=True, eq=False)
class NetworkOutputs:
    """Outputs of a trained network, of the same kind as the audited model's."""

    plan: NetworkPlan
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
    """Clip values at ±10⁶ and replace missing ones by 0, so that no single record makes training fail, which would reveal it.

    >>> bounded(np.array([1.5, -1e39, np.nan]))
    array([ 1.5e+00, -1.0e+06,  0.0e+00])
    """
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)


def make_plan(target: Target, hidden: tuple[int, ...] | None) -> tuple[NetworkPlan, tuple[str, ...]]:
    """Return the network plan of a target, and a note if the network differs in kind from the audited model.

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
            notes = (f"A linear model replaces {model.name}. Pass hidden= to train a network with hidden layers.",)
    centre, scale = 0.0, 1.0
    if model.task == "regression":
        centre, scale = float(target.members.y.mean()), float(target.members.y.std()) or 1.0
    plan = NetworkPlan(
        make_encoding(target), hidden, activation, model.task, model.classes, model.gives_probabilities, centre, scale
    )
    return plan, notes


def read_hidden(hidden: Any) -> tuple[int, ...] | None:
    """Return the widths of hidden layers, or None for those of the audited model."""
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
