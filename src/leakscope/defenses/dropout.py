r"""Dropout: in each training step of a network, a random part of its hidden units is switched off.

A unit is dropped with probability p, on its own and anew for each record and step, and what is left is divided by 1 - p, so
that nothing has to change once the network is trained (Srivastava et al. 2014, section 4, with the scaling moved from
prediction to training, as in their section 10). No unit can rely on another to remember a record with it. Salem et al. 2019
(ML-Leaks) use it against membership inference.

scikit-learn's networks know no dropout, so the network is trained in torch: hidden layers, activation, weight of the l2
penalty, learning rate, size of batches and number of passes are those of the audited network, but the solver is always
Adam, weights start as in torch, and nothing stops training before the last pass. The rate 0 is the same training without
dropout: compare the others with it to see what dropout alone does.

Deviation: inputs are never dropped, and the limit on the norm of weights that the source recommends is left out. Records are
encoded as for the audited network, and the encoding is not learned anew on other training sets.
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
IN_TORCH = "the network is trained in torch with Adam, which the rate 0 does too: compare with that"
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "relu": lambda values: np.maximum(values, 0),
    "tanh": np.tanh,
    "logistic": lambda values: np.exp(-np.logaddexp(0, -values)),
    "identity": lambda values: values,
}


@dataclass(frozen=True)
class Dropout(Tunable):
    """Hidden units of a network dropped at random while it is trained.

    Parameters
    ----------
    rates
        One probability of being dropped or several, from 0 to below 1.

    Examples
    --------
    >>> Dropout([0, 0.5]).settings
    (0, 0.5)
    """

    rates: Any = (0.2, 0.5)

    name: ClassVar[str] = "dropout"
    knob: ClassVar[str] = "rate"
    what: ClassVar[str] = "hidden units of the network are switched off at random while it is trained"
    source: ClassVar[str] = "Srivastava et al. 2014, section 4; Salem et al. 2019"
    allowed = Allowed("the rate of dropout", lambda value: 0 <= value < 1, "from 0 to below 1")

    def refuse(self, target: Target) -> str | None:
        """Only networks of scikit-learn with hidden units."""
        last = last_step(target)
        if known_class(last, NETWORKS) is None:
            name = target.model.name if last is None else type(last).__name__
            return f"{name} is no network whose hidden units could be dropped; these are: {', '.join(NETWORKS)}"
        if not _widths(last):
            return "the network has no hidden units"
        if getattr(last, "loss", None) == "poisson":
            return "networks are trained here for the log-loss or the squared error, and not for the Poisson loss"
        try:
            make_encoding(target)
        except InputError as error:
            return str(error).rstrip(".")
        return None

    def defend(self, target: Target, setting: Any) -> Defended:
        """Training in torch with this rate."""
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
    """How a network is built and trained; the penalty is scikit-learn's ``alpha``."""

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
        predict = NetworkOutputs(self.encoding, layers, self.network.activation, self.classes is not None)
        return Model(self.name, self.task, self.classes, self.classes is not None, predict)


@dataclass(frozen=True, eq=False)
class NetworkOutputs:
    """Answers of a network on encoded records: all units are on, and torch is not needed."""

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
    """Weights (inputs, outputs) and bias of each layer, trained for the mean log-loss or half the mean squared error."""
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
        raise InputError("the training with dropout diverged: standardise the records, or lower learning_rate_init.")
    return [(weight.T.copy(), bias) for weight, bias in zip(arrays[::2], arrays[1::2], strict=True)]


def build(network: Architecture, inputs: int, outputs: int) -> Any:
    """The network as a torch module, with dropout after each hidden layer."""
    nn = import_torch().nn
    parts: list[Any] = []
    for width in network.widths:
        parts += [nn.Linear(inputs, width), getattr(nn, MODULES[network.activation])(), nn.Dropout(network.rate)]
        inputs = width
    return nn.Sequential(*parts, nn.Linear(inputs, outputs))


def _widths(last: Any) -> tuple[int, ...]:
    return tuple(int(width) for width in np.atleast_1d(np.asarray(last.hidden_layer_sizes, dtype=int)))
