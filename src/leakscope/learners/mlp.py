r"""Fully connected networks, trained a stack at a time.

A network with L layers maps a record :math:`a_0 = x` to its output by

.. math:: a_l = h(a_{l-1} W_l + b_l) \quad (l < L), \qquad f_\theta(x) = a_{L-1} W_L + b_L,

with h = tanh or max(0, ·). For regression :math:`f_\theta(x)` is the predicted value. For K classes it has K - 1
numbers, the log-odds of class 1 … K - 1 against class 0. The parameters θ stand in the order
:math:`W_1, b_1, W_2, b_2, …`, a matrix by rows, each row the weights that leave one input.

Training goes for [farokhi2020, Eq. 1] with :math:`g(\theta) = \theta^\top\theta`: the loss is
:math:`\lambda\,\theta^\top\theta` plus the mean squared error or the mean log-loss of a mini-batch, and each step is one
of Adam (Kingma & Ba 2015, Algorithm 1) with β = (0.9, 0.999) and ε = 1e-8, or of Adagrad (Duchi, Hazan & Singer 2011,
diagonal form) with ε = 1e-8. The gradient of the penalty is part of the gradient that both see: this is not decoupled
weight decay. Steps are counted, not epochs, so that training sets of
different sizes get the same amount of training.

Start and order are random. All weights and biases of a layer start uniform on ±1/√(number of its inputs), as in
PyTorch's ``nn.Linear``. One random order of the training set follows the next, and this stream is cut into batches of
min(``batch``, n), so that all batches are of one size; a batch may hold the end of one order and the beginning of the
next. Both come from the generator of the model alone.

A model is the same to the last bit whoever its neighbours in the stack are, and however many. Matrix products round
differently where a matrix starts off a 16-byte boundary, and where it is alone. So columns, neurons, outputs and batch
are filled up with zeros to even numbers, which makes every matrix in a stack a multiple of 16 bytes, and a network that
is alone trains beside its twin. What is filled up has gradient 0 and stays 0.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_count, check_number
from leakscope.core.errors import InputError
from leakscope.core.extras import import_torch
from leakscope.core.threads import one_thread
from leakscope.learners.linear import check_size, read_classes, read_records, read_values

Weights = NDArray[np.floating[Any]]
Shape = tuple[int, int]

STACK = 16  # networks at a time: more are no quicker, and fewer leave more of the time to Python
STACKED_NUMBERS = 1 << 22  # parameters at a time: 64 MB with the gradient and what Adam keeps
BLOCK = 64  # steps whose batches are drawn at a time
ALIGNED = 64  # numbers of float32 that vector instructions of any processor divide
LARGEST = 1e18  # squares of larger values leave the range of float32
MEAN_DECAY, SQUARE_DECAY, TINY = 0.9, 0.999, 1e-8  # Adam's β₁, β₂ and ε; Adagrad has the same ε


@dataclass(frozen=True)
class MLP:
    """A fully connected network, trained on mini-batches; many at once by stacked matrix products.

    A model is its parameters as one array, float32 out of training; see the module for their order. Records are used
    as they are: columns of very different scale are better standardised before.

    Parameters
    ----------
    widths
        Neurons of each hidden layer; by default the network of [farokhi2020, section 6]. Empty for a linear model.
    activation
        ``"tanh"`` or ``"relu"``.
    l2
        Weight λ of the penalty θᵀθ over all parameters, biases included.
    steps
        Number of steps.
    batch
        Records per step, or all where there are fewer.
    rate
        Step size of the optimizer.
    task
        ``"regression"`` (squared error) or ``"classification"`` (log-loss).
    optimizer
        ``"adam"`` or ``"adagrad"``.
    inputs, classes
        Number of columns and of classes; `prepare` finds them in the data.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 64)[:, None]
    >>> learner, X, y = MLP(widths=(16, 16), steps=300, rate=0.01).prepare(x, x[:, 0] ** 2)
    >>> learner.name
    'tanh network 16-16'
    >>> model = learner.fit(X, y, np.random.default_rng(0))
    >>> learner.parameters(model).shape, bool(learner.losses(model, X, y).mean() < 0.05 * y.var())
    ((321,), True)
    """

    widths: tuple[int, ...] = (50, 50, 50, 50, 50)
    activation: Literal["tanh", "relu"] = "tanh"
    l2: float = 0.0
    steps: int = 500
    batch: int = 32
    rate: float = 1e-3
    task: Literal["regression", "classification"] = "regression"
    optimizer: Literal["adam", "adagrad"] = "adam"
    inputs: int | None = field(default=None, repr=False)
    classes: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.widths, tuple | list):
            raise InputError(f"widths must hold the width of each hidden layer, not {self.widths!r}")
        object.__setattr__(self, "widths", tuple(check_count("each of widths", width) for width in self.widths))
        choices = {
            "activation": ("tanh", "relu"),
            "task": ("regression", "classification"),
            "optimizer": ("adam", "adagrad"),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise InputError(f"{name} is {known[0]!r} or {known[1]!r}, not {getattr(self, name)!r}")
        for name in ("steps", "batch"):
            check_count(name, getattr(self, name))
        check_number("l2", self.l2, least=0)
        check_number("rate", self.rate, least=0, open_ends=True)

    @property
    def identified(self) -> bool:
        """Whether two sets of parameters are two functions: hidden neurons can change places and signs."""
        return not self.widths

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{self.activation} network {'-'.join(map(str, self.widths))}" if self.widths else "linear network"

    @property
    def chunk(self) -> int:
        """How many models `fit_many` should get at a time: fewer of large networks, which gain little by stacking."""
        if self.inputs is None:
            return STACK
        return max(2, min(STACK, STACKED_NUMBERS // sum(map(_size, self._shapes(self.inputs)))))

    def prepare(self, X: Any, y: Any) -> tuple["MLP", Floats, NDArray[Any]]:
        """Check records and labels; give a learner that knows their columns and classes, and both as arrays.

        Labels of a classification become their positions among the sorted classes.

        Examples
        --------
        >>> learner, X, y = MLP(task="classification").prepare([[0], [1], [2]], ["b", "a", "b"])
        >>> learner.classes, y
        (2, array([1, 0, 1]))
        """
        import_torch()
        table, labels, _ = read_records(X, y, "a network")
        _check_range(table, "features")
        known = replace(self, inputs=table.shape[1], classes=None)
        if self.task == "regression":
            values = read_values(labels, "regression")
            _check_range(values, "labels")
            return known, table, values
        classes, codes = read_classes(labels)
        return replace(known, classes=len(classes)), table, codes

    def check(self, X: Floats, y: NDArray[Any], size: int) -> None:  # noqa: ARG002
        """Refuse a size that no training set of these records has; on all others a network can be trained."""
        check_size(size, len(X))

    def fit(self, X: Floats, y: NDArray[Any], rng: np.random.Generator) -> Weights:
        """Train one network: the same as in a stack, to the last bit."""
        return self.fit_many(X, y, [np.arange(len(X))], [rng])[0]

    def fit_many(
        self, X: Floats, y: NDArray[Any], indices: Sequence[Indices], rngs: Sequence[np.random.Generator]
    ) -> list[Weights]:
        """Train a network on each of the training sets, all at once.

        Parameters
        ----------
        X, y
            All records, as `prepare` gives them.
        indices
            Positions of the records of each training set; those of equal size train together.
        rngs
            A generator for each.

        Raises
        ------
        InputError
            If some of the networks diverge.
        """
        records, targets = np.array(X, np.float32), self._targets(y)
        sizes = [len(drawn) for drawn in indices]
        if 0 in sizes:
            raise InputError("a training set is empty: a network needs 1 record or more")
        models: list[Weights] = [np.empty(0, np.float32)] * len(sizes)
        for size in set(sizes):
            alike = [model for model, other in enumerate(sizes) if other == size]
            generators = [rngs[model] for model in alike]
            if len(alike) == 1:
                alike, generators = alike * 2, [*generators, copy.deepcopy(generators[0])]
            trained = self._train(records, targets, [indices[model] for model in alike], generators)
            for model, parameters in zip(alike, trained, strict=True):
                models[model] = parameters
        _check_finite(models)
        return models

    def parameters(self, model: Weights) -> Floats:
        """Give all weights and biases as one array."""
        return model.astype(np.float64)

    def from_parameters(self, theta: Floats) -> Weights:
        """Give the network with these parameters, which are not rounded to float32.

        Examples
        --------
        >>> learner = MLP(widths=(), inputs=2)
        >>> learner.outputs(learner.from_parameters(np.array([1.0, 10.0, 0.5])), np.array([[2.0, 3.0]]))
        array([[32.5]])
        """
        model = np.array(theta, np.float64)
        if self.inputs is not None:
            self._check_parameters(model, self.inputs)
        return model

    def outputs(self, model: Weights, X: Floats) -> Floats:
        """Give the predicted value, or the log-odds of each class but the first against the first; a row per record."""
        activity = np.asarray(X, np.float64)
        self._check_parameters(model, activity.shape[1])
        layers = _layers(model.astype(np.float64), self._shapes(activity.shape[1]))
        for number, (weights, bias) in enumerate(layers, start=1):
            activity = activity @ weights + bias
            if number < len(layers):
                activity = np.tanh(activity) if self.activation == "tanh" else np.maximum(activity, 0.0)
        return activity

    def losses(self, model: Weights, X: Floats, y: NDArray[Any]) -> Floats:
        """Give the squared error or the log-loss (in nats) of each record."""
        outputs = self.outputs(model, X)
        if self.task == "regression":
            squares: Floats = np.square(outputs[:, 0] - y)
            return squares
        log_odds = np.column_stack([np.zeros(len(outputs)), outputs])
        own = np.take_along_axis(log_odds, np.asarray(y, np.intp)[:, None], axis=1)[:, 0]
        losses: Floats = np.logaddexp.reduce(log_odds, axis=1) - own
        return losses

    # --- training -----------------------------------------------------------------------------------------------------

    def _outputs(self) -> int:
        if self.task == "regression":
            return 1
        if self.classes is None:
            raise InputError("the number of classes is not known: use the learner that prepare(X, y) gives")
        return self.classes - 1

    def _shapes(self, inputs: int) -> list[Shape]:
        return list(pairwise([inputs, *self.widths, self._outputs()]))

    def _check_parameters(self, model: Weights, inputs: int) -> None:
        needed = sum(map(_size, self._shapes(inputs)))
        if model.shape != (needed,):
            raise InputError(
                f"for records of {inputs} columns this network has parameters of shape ({needed},), not {model.shape}: "
                "give the columns that it was trained on"
            )

    def _targets(self, y: NDArray[Any]) -> NDArray[np.float32]:
        """What the outputs are compared with: the value, or 1 for the class of the record if it is not the first."""
        if self.task == "regression":
            return np.array(y, np.float32).reshape(-1, 1)
        return np.eye(1 + self._outputs(), dtype=np.float32)[np.asarray(y, np.intp), 1:]

    def _train(
        self,
        records: NDArray[np.float32],
        targets: NDArray[np.float32],
        indices: Sequence[Indices],
        rngs: Sequence[np.random.Generator],
    ) -> NDArray[np.float32]:
        """Train networks on training sets of one size; one row of parameters each."""
        torch = import_torch()
        shapes = self._shapes(records.shape[1])
        even = [(_even(inputs), _even(outputs)) for inputs, outputs in shapes]
        used = _used(shapes, even)
        start = np.zeros((len(rngs), sum(map(_size, even))), np.float32)
        start[:, used] = [_start(shapes, rng) for rng in rngs]
        streams = [_batches(drawn, self.batch, rng) for drawn, rng in zip(indices, rngs, strict=True)]
        filled = np.pad(records, ((0, 0), (0, records.shape[1] % 2)))
        X, Y = torch.from_numpy(filled), torch.from_numpy(targets)
        with one_thread(), torch.no_grad():
            stack = _Stack(start, even)
            for step in range(self.steps):
                if step % BLOCK == 0:
                    block = torch.from_numpy(np.stack([next(stream) for stream in streams], axis=1))
                rows = block[step % BLOCK]
                x, target = (table.index_select(0, rows.ravel()).view(*rows.shape, -1) for table in (X, Y))
                self._backpropagate(stack, _fill(x, _even(x.shape[1]), x.shape[2]), target)
                stack.step(self.optimizer, step + 1, self.rate, self.l2)
        return stack.parameters()[:, used]

    def _backpropagate(self, stack: "_Stack", x: Any, target: Any) -> None:
        """Write the gradient of the mean loss of each network's own batch into the stack."""
        torch = import_torch()
        activities = [x]
        for number, (weights, bias) in enumerate(stack.layers, start=1):
            activity = torch.baddbmm(bias, activities[-1], weights)
            if number < len(stack.layers):
                activity = activity.tanh_() if self.activation == "tanh" else activity.relu_()
            activities.append(activity)
        outputs = activities.pop()
        residuals = self._residuals(outputs[:, : target.shape[1], : target.shape[2]], target)
        slope = _fill(residuals.div_(target.shape[1]), *outputs.shape[1:])
        for number in reversed(range(len(stack.layers))):
            before, (weights, bias) = activities[number], stack.gradients[number]
            torch.bmm(before.transpose(1, 2), slope, out=weights)
            torch.sum(slope, 1, keepdim=True, out=bias)
            if number:
                slope = torch.bmm(slope, stack.layers[number][0].transpose(1, 2))
                if self.activation == "tanh":  # the derivative is 1 - tanh²
                    slope.addcmul_(slope * before, before, value=-1)
                else:
                    slope.mul_(before > 0)

    def _residuals(self, outputs: Any, target: Any) -> Any:
        """Derivative of the loss of each record by its outputs."""
        if self.task == "regression":
            return (outputs - target).mul_(2)
        torch = import_torch()
        with_first = torch.nn.functional.pad(outputs, (1, 0))  # the log-odds of the first class against itself are 0
        return torch.softmax(with_first, 2)[:, :, 1:] - target


class _Stack:
    """Networks of one shape: parameters, gradient and the optimizer's moments as one flat buffer each.

    A buffer holds the weights of all networks layer by layer, and then their biases, so that a layer is one contiguous
    (networks, inputs, outputs) array for the stacked products, and a step is one pass over whole buffers, by the kernels
    of ``torch.optim``, which itself takes a second in each process to import. Buffers are filled up with zeros to a
    multiple of `ALIGNED` numbers: a kernel computes what is left at the end in another way, with other rounding.
    """

    def __init__(self, start: NDArray[np.float32], shapes: list[Shape]) -> None:
        torch = import_torch()
        self.networks, self.shapes = len(start), shapes
        numbers = -(-start.size // ALIGNED) * ALIGNED
        # allocated one by one: each begins on a boundary, and so does every matrix in it
        self.values, self.gradient, self.mean, self.square = (torch.zeros(numbers) for _ in range(4))
        self.layers, self.gradients = self._views(self.values), self._views(self.gradient)
        ends = np.cumsum([part[0].numel() for part in self._parts()])
        for part, values in zip(self._parts(), np.split(start, ends[:-1], axis=1), strict=True):
            part.copy_(torch.from_numpy(values).reshape(part.shape))

    def _views(self, buffer: Any) -> list[tuple[Any, Any]]:
        shapes = [*self.shapes, *((1, outputs) for _, outputs in self.shapes)]
        sizes = [self.networks * inputs * outputs for inputs, outputs in shapes]
        parts = buffer[: sum(sizes)].split(sizes)
        views = [part.view(self.networks, *shape) for part, shape in zip(parts, shapes, strict=True)]
        return list(zip(views[: len(self.shapes)], views[len(self.shapes) :], strict=True))

    def _parts(self) -> list[Any]:
        return [part for layer in self.layers for part in layer]

    def step(self, optimizer: str, number: int, rate: float, l2: float) -> None:
        """Go one step down the gradient, to which that of the penalty is added first."""
        torch = import_torch()
        state = [self.values], [self.gradient], [self.mean], [self.square]
        settings = {"lr": rate, "weight_decay": 2 * l2, "eps": TINY, "maximize": False}
        count = [torch.tensor(float(number))]
        if optimizer == "adam":
            decay = {"beta1": MEAN_DECAY, "beta2": SQUARE_DECAY, "amsgrad": False}
            torch._fused_adam_(*state, [], count, **settings, **decay)
        else:
            torch._fused_adagrad_(*state[:2], state[3], count, lr_decay=0.0, **settings)

    def parameters(self) -> NDArray[np.float32]:
        """One row per network."""
        return np.concatenate([part.reshape(self.networks, -1).numpy() for part in self._parts()], axis=1)


def _even(number: int) -> int:
    return number + number % 2


def _fill(stack: Any, rows: int, columns: int) -> Any:
    """Append zeros up to so many rows and columns."""
    if stack.shape[1:] == (rows, columns):
        return stack
    return import_torch().nn.functional.pad(stack, (0, columns - stack.shape[2], 0, rows - stack.shape[1]))


def _used(shapes: list[Shape], filled: list[Shape]) -> Indices:
    """Positions of the parameters among those of the same network with layers filled up."""
    layers = _layers(np.arange(sum(map(_size, filled))), filled)
    parts = [
        part
        for (inputs, outputs), (weights, bias) in zip(shapes, layers, strict=True)
        for part in (weights[:inputs, :outputs].ravel(), bias[:outputs])
    ]
    return np.concatenate(parts)


def _start(shapes: list[Shape], rng: np.random.Generator) -> NDArray[np.float32]:
    """Random parameters of one network, uniform on ±1/√(inputs of the layer)."""
    bounds = np.repeat([1 / math.sqrt(inputs) for inputs, _ in shapes], list(map(_size, shapes)))
    return rng.uniform(-bounds, bounds).astype(np.float32)


def _batches(indices: Indices, batch: int, rng: np.random.Generator) -> Iterator[Indices]:
    """Cut an endless stream of random orders of the training set into batches, and give a block of them at a time."""
    batch = min(batch, len(indices))
    stream = rng.permutation(indices)
    while True:
        lacking = BLOCK * batch - len(stream)
        orders = [rng.permutation(indices) for _ in range(-(-lacking // len(indices)))]
        stream = np.concatenate([stream, *orders])
        yield stream[: BLOCK * batch].reshape(BLOCK, batch)
        stream = stream[BLOCK * batch :]


def _layers(parameters: NDArray[Any], shapes: list[Shape]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Weights (inputs, outputs) and bias (outputs,) of each layer of one network."""
    parts = np.split(parameters, np.cumsum(list(map(_size, shapes)))[:-1])
    return [
        (part[: inputs * outputs].reshape(inputs, outputs), part[inputs * outputs :])
        for (inputs, outputs), part in zip(shapes, parts, strict=True)
    ]


def _size(shape: Shape) -> int:
    return (shape[0] + 1) * shape[1]


# --- checks -----------------------------------------------------------------------------------------------------------


def _check_finite(models: list[Weights]) -> None:
    diverged = sum(not np.isfinite(model).all() for model in models)
    if diverged:
        raise InputError(
            f"the training of {diverged} of {len(models)} networks diverged: lower rate, or standardise X and y"
        )


def _check_range(values: Floats, what: str) -> None:
    if (largest := np.abs(values).max()) > LARGEST:
        raise InputError(f"the {what} reach {largest:.1g}, too large for 32-bit arithmetic: rescale them")
