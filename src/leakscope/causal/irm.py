r"""Invariant risk minimisation (IRM): train a network that predicts equally well in every environment (Arjovsky et al. 2019).

An environment is a set of records of the same task from one origin: a hospital, a year. The correlation of a feature with the
label may differ between environments if the feature is not a cause. With :math:`\Phi(x)` the log-odds of a network, and the
mean log-loss in environment e

.. math:: R_e(w) = \tfrac1{n_e}\sum_i \log\bigl(1 + e^{w\Phi(x_i)}\bigr) - y_i\, w\, \Phi(x_i),

the network minimises over E environments (their IRMv1, section 3.1)

.. math:: \frac1E \sum_e \bigl(R_e(1) + \lambda\, R_e'(1)^2\bigr) + \mu\,\|\theta\|^2 .

The factor w is a dummy that equals 1. A derivative other than 0 means that larger or smaller log-odds would fit this
environment better. With σ(z) = 1 / (1 + e⁻ᶻ) it needs no automatic differentiation:

.. math:: R_e'(1) = \tfrac1{n_e}\sum_i \Phi_i\,(\sigma(\Phi_i) - y_i), \qquad
          \frac{\partial R_e'(1)}{\partial \Phi_i} = \tfrac1{n_e}\bigl(\sigma(\Phi_i) - y_i + \Phi_i\,\sigma(\Phi_i)(1 - \sigma(\Phi_i))\bigr).

On a mini-batch the square of :math:`R_e'(1)` is biased upwards by its variance. Each step therefore uses the product of the
derivatives in two halves of the batch, which is unbiased (their appendix D), or the square if the batch is the whole
environment. λ = 0 is empirical risk minimisation (ERM) with equal weight for every environment, which is plain ERM on the
pooled records if all environments have the same size.

As in their code, λ is 1 for the first ``anneal`` steps. If λ > 1, the objective is divided by λ, so that one learning rate fits
both stages. Weights start uniform on ±√(6 / (inputs + outputs)) and biases at 0; the L2 penalty applies to both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count, check_number
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.extras import import_torch
from leakscope.core.threads import one_thread
from leakscope.data.records import list_names
from leakscope.learners.linear import read_records

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
#: Features and labels of one environment.
Environment = tuple[Any, Any]

ROWS = 4096  # records per batch in prediction
MEAN_DECAY, SQUARE_DECAY, TINY = 0.9, 0.999, 1e-8  # Adam's β₁, β₂ and ε
LARGEST = 1e18  # squares of larger values overflow in float32


@dataclass(frozen=True, eq=False)
class InvariantModel:
    """A network that `IRM` trained.

    Parameters
    ----------
    layers
        Weights (inputs, outputs) and bias of each layer.
    classes
        The two classes in sorted order.
    columns
        Names of the features; empty if they were an array.
    """

    layers: tuple[Layer, ...]
    classes: NDArray[Any]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class IRMLearner:
    """Trains a network of ReLU layers for two classes by IRM.

    Records are not scaled: standardise columns of very different scales first.

    Parameters
    ----------
    penalty
        Weight λ of the squared derivative by the dummy; 0 for empirical risk minimisation.
    anneal
        Number of initial steps with a weight of at most 1.
    steps
        Number of steps of Adam.
    batch
        Records of each environment per step, or all if there are fewer.
    rate
        Learning rate of Adam.
    widths
        Neurons of each hidden layer; empty for a linear model.
    l2
        Weight of the sum of squares of all parameters.

    Examples
    --------
    The label is x plus noise, and z is the label plus noise: less of it in the first environment than in the second.

    >>> rng = np.random.default_rng(0)
    >>> def gather(noise):
    ...     x = rng.normal(size=2000)
    ...     y = (x + rng.normal(size=2000) > 0).astype(int)
    ...     return np.column_stack([x, y - 0.5 + rng.normal(size=2000) * noise]), y
    >>> seen, shifted = [gather(0.3), gather(1.0)], gather(3.0)
    >>> erm, irm = (IRMLearner(penalty=penalty, anneal=100, steps=600, rate=0.01, widths=(8,)) for penalty in (0.0, 1e4))
    >>> for learner in (erm, irm):
    ...     model = learner.fit(seen, np.random.default_rng(1))
    ...     print(learner.name, learner.accuracy(model, *shifted))
    ERM, network 8 0.65 [0.62, 0.67]
    IRM, network 8 0.73 [0.71, 0.76]
    """

    penalty: float = 1e4
    anneal: int = 190
    steps: int = 500
    batch: int = 2500
    rate: float = 1e-3
    widths: tuple[int, ...] = (128, 128)
    l2: float = 1e-3

    def __post_init__(self) -> None:
        if not isinstance(self.widths, tuple | list):
            raise InputError(f"widths must hold the width of each hidden layer, not {self.widths!r}")
        object.__setattr__(self, "widths", tuple(check_count("each of widths", width) for width in self.widths))
        for name, least in (("steps", 1), ("batch", 2), ("anneal", 0)):
            check_count(name, getattr(self, name), least)
        for name in ("penalty", "l2"):
            check_number(name, getattr(self, name), least=0)
        check_number("rate", self.rate, least=0, open_ends=True)

    @property
    def name(self) -> str:
        """Name in reports."""
        kind = "IRM" if self.penalty else "ERM"
        return f"{kind}, network {'-'.join(map(str, self.widths))}" if self.widths else f"{kind}, linear"

    def fit(self, environments: Sequence[Environment], rng: np.random.Generator) -> InvariantModel:
        """Train one network on environments, each (features, labels).

        Features are a table or images of any shape, the same in all environments; labels are any two classes.

        Raises
        ------
        InputError
            If there is only one environment and a penalty, an environment has one class, there are more than two classes,
            the columns differ, or the training diverges.
        """
        torch = import_torch("invariant training")
        tables, targets, classes, columns = _read(environments, needed=2 if self.penalty else 1)
        shapes = list(pairwise([tables[0].shape[1], *self.widths, 1]))
        parameters = [torch.from_numpy(part).requires_grad_() for part in _start(shapes, rng)]
        batches = zip(*(_batches(len(y), self.batch, rng) for y in targets), strict=True)
        X, Y = [torch.from_numpy(table) for table in tables], [torch.from_numpy(target) for target in targets]
        whole = [len(y) <= self.batch for y in targets]
        with one_thread(), torch.enable_grad():
            adam = _Adam(parameters, self.rate)
            for step, chosen in zip(range(self.steps), batches, strict=False):
                weight = self.penalty if step >= self.anneal else min(1.0, self.penalty)
                rows = [torch.from_numpy(part) for part in chosen]
                x = torch.cat([table.index_select(0, part) for table, part in zip(X, rows, strict=True)])
                y = [target.index_select(0, part) for target, part in zip(Y, rows, strict=True)]
                outputs = _forward(parameters, x)
                slope = objective_slope(outputs.detach(), y, weight, whole)
                adam.step(torch.autograd.grad(outputs, parameters, slope), self.l2 / max(1.0, weight))
        trained = [part.detach().numpy() for part in parameters]
        if not all(np.isfinite(part).all() for part in trained):
            raise InputError("the training diverged: lower rate, or standardise the features")
        return InvariantModel(tuple(zip(trained[::2], trained[1::2], strict=True)), classes, columns)

    def outputs(self, model: InvariantModel, X: Any) -> Floats:
        """Return the log-odds of the second class against the first, (rows, 1)."""
        return np.concatenate([_log_odds(model, X[start : start + ROWS]) for start in range(0, max(len(X), 1), ROWS)])

    def probabilities(self, model: InvariantModel, X: Any) -> Floats:
        """Return the probability of both classes, (rows, 2)."""
        second = special.expit(self.outputs(model, X))
        return np.hstack([1 - second, second])

    def accuracy(self, model: InvariantModel, X: Any, y: Any) -> Estimate:
        """Return the share of records whose class is predicted, with the interval of Clopper and Pearson."""
        right = model.classes[(self.outputs(model, X)[:, 0] > 0).astype(np.intp)] == np.asarray(y)
        return intervals.proportion(int(right.sum()), len(right))


def dummy_gradient(log_odds: Any, y: Any) -> Estimate:
    """Estimate the derivative of the log-loss by the dummy factor in one environment, with Student's interval.

    It is 0 in every environment if the model is invariant, and below 0 if larger log-odds would fit better. Labels are 0
    and 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=10_000)
    >>> y = rng.random(10_000) < special.expit(z)
    >>> dummy_gradient(z, y), dummy_gradient(3 * z, y)
    (0.000 [−0.008, 0.008], 0.42 [0.39, 0.45])
    """
    z, truth = np.ravel(np.asarray(log_odds, np.float64)), np.ravel(np.asarray(y, np.float64))
    if len(z) != len(truth) or not np.isin(truth, (0, 1)).all():
        raise InputError("y must be 0 or 1 for each of the log-odds: encode the classes")
    return intervals.mean(z * (special.expit(z) - truth))


def objective_slope(outputs: Any, targets: Sequence[Any], weight: float, whole: Sequence[bool]) -> Any:
    """Return the derivative of the objective, without its L2 part, by the log-odds of a batch; tensors in and out.

    Parameters
    ----------
    outputs
        Log-odds of the records of all environments, one environment after the other.
    targets
        Labels of each environment, 0 or 1.
    weight
        λ; the objective is divided by it if it is above 1.
    whole
        For each environment, whether the batch is all of it: then the square is used, otherwise the product of two halves.
    """
    torch = import_torch()
    slopes = []
    for z, y, complete in zip(outputs.split([len(y) for y in targets]), targets, whole, strict=True):
        n, middle, probability = len(y), len(y) // 2, z.sigmoid()
        residual = probability - y
        terms = z * residual  # their mean is the derivative by the dummy
        change = residual + z * probability * (1 - probability)  # derivative of a term by its log-odds
        if complete:
            pull = 2 * terms.mean() * change / n
        else:
            (first, second), (early, late) = terms.split([middle, n - middle]), change.split([middle, n - middle])
            pull = torch.cat([second.mean() * early / middle, first.mean() * late / (n - middle)])
        slopes.append(residual / n + weight * pull)
    return torch.cat(slopes) / (len(targets) * max(1.0, weight))


# --- networks ---------------------------------------------------------------------------------------------------------


def _start(shapes: Sequence[tuple[int, int]], rng: np.random.Generator) -> list[NDArray[np.float32]]:
    """Draw random weights and set zero biases, layer by layer."""
    parts = []
    for inputs, outputs in shapes:
        bound = math.sqrt(6 / (inputs + outputs))
        parts += [rng.uniform(-bound, bound, (inputs, outputs)).astype(np.float32), np.zeros(outputs, np.float32)]
    return parts


def _batches(records: int, batch: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield batches of random permutations without end; all records in order if one batch holds them all."""
    if batch >= records:
        yield from repeat(np.arange(records))
    stream = rng.permutation(records)
    while True:
        if len(stream) < batch:
            stream = np.concatenate([stream, rng.permutation(records)])
        yield stream[:batch]
        stream = stream[batch:]


def _forward(parameters: Sequence[Any], x: Any) -> Any:
    """Log-odds of a batch, (rows,)."""
    torch = import_torch()
    for place in range(0, len(parameters), 2):
        x = torch.addmm(parameters[place + 1], x, parameters[place])
        x = x.relu() if place < len(parameters) - 2 else x
    return x[:, 0]


class _Adam:
    """Steps of Adam (Kingma & Ba 2015, Algorithm 1) by the kernel of ``torch.optim``, which itself is slow to import."""

    def __init__(self, parameters: Sequence[Any], rate: float) -> None:
        torch = import_torch()
        self.values = [part.detach() for part in parameters]
        self.means, self.squares = ([torch.zeros_like(part) for part in self.values] for _ in range(2))
        self.counts = [torch.zeros(()) for _ in self.values]
        self.rate = rate

    def step(self, gradients: Sequence[Any], l2: float) -> None:
        """Take one step with the gradient plus that of ``l2`` times the squared parameters."""
        for count in self.counts:
            count += 1
        import_torch()._fused_adam_(
            self.values, list(gradients), self.means, self.squares, [], self.counts, lr=self.rate, weight_decay=2 * l2,
            beta1=MEAN_DECAY, beta2=SQUARE_DECAY, eps=TINY, amsgrad=False, maximize=False,
        )  # fmt: skip


def _log_odds(model: InvariantModel, X: Any) -> Floats:
    columns = len(model.layers[0][0])
    if model.columns and model.columns != tuple(map(str, getattr(X, "columns", model.columns))):
        raise InputError(f"X must have the columns {list_names(model.columns)}, in this order")
    try:
        table = np.asarray(X, np.float64)
    except (TypeError, ValueError):
        raise InputError("X must be numbers: encode the features") from None
    if (given := math.prod(table.shape[1:])) != columns:
        raise InputError(f"X must have the {columns} columns that the model was trained on, not {given}")
    activity = table.reshape(len(table), columns)
    for number, (weights, bias) in enumerate(model.layers, start=1):
        activity = activity @ weights + bias
        activity = np.maximum(activity, 0.0) if number < len(model.layers) else activity
    return activity


# --- checks -----------------------------------------------------------------------------------------------------------


def _read(
    environments: Sequence[Environment], needed: int
) -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]], NDArray[Any], tuple[str, ...]]:
    """Return features as float32 tables, labels as 0 and 1, the two classes, and the column names if any."""
    pairs = list(environments)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise InputError("environments must be a list of pairs (features, labels), one per environment")
    if len(pairs) < needed:
        raise InputError(f"penalty needs several environments, not {len(pairs)}: pass two or more, or penalty=0")
    read = [read_records(_flat(X), y, "a network") for X, y in pairs]
    for number, (table, labels, columns) in enumerate(read):
        if columns != read[0][2]:
            raise InputError(
                f"environment {number} has other columns than environment 0 ({table.shape[1]} and {len(read[0][2])}): pass "
                "the same features in the same order"
            )
        if len(np.unique(labels)) == 1:
            raise InputError(f"environment {number} has one class only: merge it with another, or drop it")
        if (largest := np.abs(table).max()) > LARGEST:
            raise InputError(f"the features reach {largest:.1g}, too large for 32-bit arithmetic: rescale them")
    classes = np.unique(np.concatenate([labels for _, labels, _ in read]))
    if len(classes) != 2:
        raise InputError(f"labels have {len(classes)} classes: pass two")
    tables = [table.astype(np.float32) for table, _, _ in read]
    names = read[0][2] if hasattr(pairs[0][0], "columns") else ()
    return tables, [(labels == classes[1]).astype(np.float32) for _, labels, _ in read], classes, names


def _flat(X: Any) -> Any:
    """Flatten images to rows; tables are unchanged."""
    return X.reshape(len(X), -1) if isinstance(X, np.ndarray) and X.ndim > 2 else X
