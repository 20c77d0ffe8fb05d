r"""Dropout: disable a random part of a network's hidden units in each training step.

Each unit is dropped independently with probability p for each record and step. The outputs of the others are divided by
1 - p, so that prediction needs no change (Srivastava et al. 2014, section 4, with the scaling moved from prediction to
training, as in their section 10). Units then cannot jointly memorise a record. Salem et al. 2019 (ML-Leaks) use dropout
against membership inference.

scikit-learn's networks have no dropout, so the network is trained in torch. Hidden layers, activation, weight of the l2
penalty, learning rate, batch size and number of epochs are those of the audited network. The solver is always Adam,
weights are initialised as in torch, and training runs all epochs. Rate 0 is the same training without dropout: compare
the other rates with it to see the effect of dropout alone.

Deviations: inputs are never dropped, and the weights have no norm constraint, which the source recommends. Records are
encoded as for the audited network; the encoding is not refitted on other training sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.core.extras import import_torch
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.defenses.retraining import NOTHING_PROVEN, known_class
from leakscope.defenses.torch_training import MODULES
from leakscope.models.adapters import seeded_torch
from leakscope.models.encoding import Encoding, last_step, make_encoding
from leakscope.models.model import Model, Task, to_probabilities
from leakscope.models.target import Target

NETWORKS = {"MLPClassifier": True, "MLPRegressor": False}
IN_TORCH = "the network is trained in torch with Adam: compare with rate 0, which is trained in the same way"
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "relu": lambda values: np.maximum(values, 0),
    "tanh": np.tanh,
    "logistic": lambda values: np.exp(-np.logaddexp(0, -values)),
    "identity": lambda values: values,
}


@dataclass(frozen=True)
class Dropout(Tunable):
    """Drop hidden units of a network at random during training.

    Parameters
    ----------
    rates
        One or more probabilities of dropping a unit, from 0 to below 1.

    Examples
    --------
    >>> Dropout([0, 0.5]).settings
    (0, 0.5)
    """

    rates: Any = (0.2, 0.5)

    name: ClassVar[str] = "dropout"
    setting_name: ClassVar[str] = "rate"
    what: ClassVar[str] = "hidden units of the network are disabled at random during training"
    source: ClassVar[str] = "Srivastava et al. 2014, section 4; Salem et al. 2019"
    allowed = Allowed("the rate of dropout", lambda value: 0 <= value < 1, "from 0 to below 1")

    def refuse(self, target: Target) -> str | None:
        """Refuse all but scikit-learn networks with hidden units."""
        last = last_step(target)
        if known_class(last, NETWORKS) is None:
            name = target.model.name if last is None else type(last).__name__
            return f"{name} is not a network with hidden units; supported are {', '.join(NETWORKS)}"
        if not _widths(last):
            return "the network has no hidden units"
        if getattr(last, "loss", None) == "poisson":
            return "it is trained for the Poisson loss; supported are log-loss and squared error"
        try:
            make_encoding(target)
        except InputError as error:
            return str(error).rstrip(".")
        return None

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train in torch with this rate."""
        import_torch("dropout")
        last = last_step(target)
        network = Architecture(
            widths=_widths(last),
            activation=last.activation,
            penalty=float(last.alpha),
            learning_rate=float(last.learning_rate_init),
            batch=200 if last.batch_size == "auto" else int(last.batch_size),
            passes=int(last.n_iter_),
            rate=float(setting),
        )
        model = target.model
        fit = _DropoutFit(model.name, model.task, model.classes, make_encoding(target), network)
        return Defended(make_learner(model.name, fit), notes=(IN_TORCH, NOTHING_PROVEN))


@dataclass(frozen=True)
class Architecture:
    """Architecture and training settings of a network; the penalty is scikit-learn's ``alpha``."""

    widths: tuple[int, ...]
    activation: str
    penalty: float
    learning_rate: float
    batch: int
    passes: int
    rate: float


@dataclass(frozen=True, eq=False)
class _DropoutFit:
    name: str
    task: Task
    classes: NDArray[Any] | None
    encoding: Encoding
    network: Architecture

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        outputs = 1 if self.classes is None else len(self.classes)
        layers = train(self.network, self.encoding(X), y, outputs, self.classes is not None, rng)
        predict = DropoutOutputs(self.encoding, layers, self.network.activation, self.classes is not None)
        return Model(self.name, self.task, self.classes, self.classes is not None, predict)


@dataclass(frozen=True, eq=False)
class DropoutOutputs:
    """Outputs of a network on encoded records, with all units active and without torch."""

    encoding: Callable[[Any], Floats]
    layers: list[tuple[Floats, Floats]]
    activation: str
    classification: bool

    def __call__(self, X: Any) -> Floats:
        values = self.encoding(X)
        for place, (weights, bias) in enumerate(self.layers):
            values = (ACTIVATIONS[self.activation](values) if place else values) @ weights + bias
        return to_probabilities(values, "logits") if self.classification else values[:, 0]


def train(
    network: Architecture, X: Floats, y: NDArray[Any], outputs: int, classification: bool, rng: np.random.Generator
) -> list[tuple[Floats, Floats]]:
    """Train for the mean log-loss or half the mean squared error; return weights (inputs, outputs) and bias of each layer."""
    torch = import_torch()
    with seeded_torch(rng):
        module = build(network, X.shape[1], outputs)
        records = torch.from_numpy(X.astype(np.float32))
        labels = torch.from_numpy(y.astype(np.int64 if classification else np.float32))
        size = min(network.batch, len(y))
        named = list(module.named_parameters())
        weights = [parameter for name, parameter in named if name.endswith("weight")]
        biases = [parameter for name, parameter in named if name.endswith("bias")]
        decayed = [{"params": weights, "weight_decay": network.penalty / size}, {"params": biases}]
        optimizer = torch.optim.Adam(decayed, lr=network.learning_rate, fused=True)
        for _ in range(network.passes):
            for rows in torch.randperm(len(y)).split(size):
                answers = module(records[rows])
                if classification:
                    loss = torch.nn.functional.cross_entropy(answers, labels[rows])
                else:
                    loss = 0.5 * torch.nn.functional.mse_loss(answers[:, 0], labels[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        arrays = [parameter.detach().numpy().astype(np.float64) for _, parameter in named]
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError("training with dropout diverged: standardise the records, or lower learning_rate_init")
    return [(weight.T.copy(), bias) for weight, bias in zip(arrays[::2], arrays[1::2], strict=True)]


def build(network: Architecture, inputs: int, outputs: int) -> Any:
    """Build the network as a torch module, with dropout after each hidden layer."""
    nn = import_torch().nn
    parts: list[Any] = []
    for width in network.widths:
        parts += [nn.Linear(inputs, width), getattr(nn, MODULES[network.activation])(), nn.Dropout(network.rate)]
        inputs = width
    return nn.Sequential(*parts, nn.Linear(inputs, outputs))


def _widths(last: Any) -> tuple[int, ...]:
    return tuple(int(width) for width in np.atleast_1d(np.asarray(last.hidden_layer_sizes, dtype=int)))
