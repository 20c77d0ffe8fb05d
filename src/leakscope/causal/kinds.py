"""Kinds of model in the causal study: their columns and their training (table, network, scikit-learn estimator).

The causal model of discrete variables is the table of Y given its parents. The associational model is the network of
[tople2020, section 4.1] on all columns: 128-512-128 ReLU, Adam with rate 1e-4, 10,000 steps. The paper states neither the
batch size, which is 128 here, nor the encoding of levels, which is one-hot here. A third kind, the same network on the
parents only, separates the effect of the columns from that of the kind of model.

A kind is trained on several samples at once and returns one model per sample. Labels are positions in ``classes``, or values
if ``classes`` is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from leakscope.causal.encoding import one_hot
from leakscope.causal.table_model import CausalTable, LabelTable
from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.core.threads import one_thread
from leakscope.data.records import Records
from leakscope.models.model import Model, Task

WIDTHS, RATE, STEPS, BATCH = (128, 512, 128), 1e-4, 10_000, 128


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Parameters
    ----------
    columns, levels
        Positions of the columns that the model uses, and number of levels of every column of the records.
    name
        Name of the model in results.
    """

    columns: tuple[int, ...]
    levels: tuple[int, ...]
    name: str = "model"

    def train(
        self, samples: Sequence[Records], classes: NDArray[Any] | None, seed: np.random.SeedSequence
    ) -> list[Model]:
        """Train a model on each sample."""
        return self.fit_each(samples, classes, [np.random.default_rng(child) for child in seed.spawn(len(samples))])

    def fit_each(
        self, samples: Sequence[Records], classes: NDArray[Any] | None, rngs: Sequence[np.random.Generator]
    ) -> list[Model]:
        """Train a model on each sample, with a generator for each."""
        raise NotImplementedError

    def model(self, classes: NDArray[Any] | None, predict: Callable[[Any], Floats]) -> Model:
        """Return the model that answers by a function of records."""
        task: Task = "regression" if classes is None else "classification"
        return Model(self.name, task, classes, classes is not None, predict)

    def encode(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the inputs of the model: one column of zeros and ones for each level, and numbers as they are."""
        return one_hot(X[:, list(self.columns)], [self.levels[column] for column in self.columns])


@dataclass(frozen=True)
class TableKind(Kind):
    """Maximum-likelihood table of the label given some columns of codes; see `Kind`."""

    name: str = "causal table"

    def fit_each(
        self, samples: Sequence[Records], classes: NDArray[Any] | None, rngs: Sequence[np.random.Generator]
    ) -> list[Model]:
        """Count each sample."""
        if classes is None:
            raise InputError("kind 'table' needs classes, and the label is a number: use another kind of model")
        used = tuple(self.levels[column] for column in self.columns)
        learner = CausalTable(tuple(range(len(used))), used, len(classes))
        tables = [learner.fit(self.encode(of.X), of.y, rng) for of, rng in zip(samples, rngs, strict=True)]
        return [self.model(classes, _Lookup(self, learner, table)) for table in tables]

    def encode(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """Return the columns that the table uses."""
        return X[:, list(self.columns)].astype(np.intp)

    def unseen(self, model: Model, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether no training record has the configuration of a record."""
        lookup = model.predict
        if not isinstance(lookup, _Lookup):
            raise InputError(f"{model.name} is not a table that this kind trained")
        return lookup.learner.unseen(lookup.table, self.encode(X))


@dataclass(frozen=True)
class NetworkKind(Kind):
    """Fully connected network on one column of zeros and ones for each level; needs torch.

    Parameters
    ----------
    columns, levels, name
        As for `Kind`.
    widths
        Neurons of each hidden layer.
    steps, batch, rate
        Training steps, records in each step, and learning rate.
    """

    name: str = "network"
    widths: tuple[int, ...] = WIDTHS
    steps: int = STEPS
    batch: int = BATCH
    rate: float = RATE

    def fit_each(
        self, samples: Sequence[Records], classes: NDArray[Any] | None, rngs: Sequence[np.random.Generator]
    ) -> list[Model]:
        """Train the networks as one stack."""
        from leakscope.learners import MLP

        parts = [self.encode(sample.X) for sample in samples]
        learner = MLP(
            self.widths, "relu", steps=self.steps, batch=self.batch, rate=self.rate, inputs=parts[0].shape[1],
            task="regression" if classes is None else "classification", classes=None if classes is None else len(classes),
        )  # fmt: skip
        indices = [np.arange(start, end) for start, end in pairwise(np.cumsum([0, *map(len, parts)]))]
        labels = np.concatenate([sample.y for sample in samples])
        networks = learner.fit_many(np.concatenate(parts), labels, indices, rngs)
        return [self.model(classes, partial(self._predict, learner, network)) for network in networks]

    def _predict(self, learner: Any, network: Any, X: NDArray[Any]) -> Floats:
        """Return the probabilities, or values, of a network."""
        with one_thread():
            outputs: Floats = learner.outputs(network, self.encode(X))
        if learner.task == "regression":
            return outputs[:, 0]
        return np.asarray(special.softmax(np.pad(outputs, ((0, 0), (1, 0))), axis=1))


@dataclass(frozen=True)
class EstimatorKind(Kind):
    """Any scikit-learn classifier or regressor."""

    estimator: Any = None

    def fit_each(
        self, samples: Sequence[Records], classes: NDArray[Any] | None, rngs: Sequence[np.random.Generator]
    ) -> list[Model]:
        """Train a clone on each sample; a class that is missing from a sample has probability 0."""
        from leakscope.models.adapters import Layout
        from leakscope.models.target import EstimatorFit

        fit = EstimatorFit(self.estimator, Layout(None, None), None if classes is None else np.arange(len(classes)))
        if classes is not None and any(len(np.unique(sample.y)) < 2 for sample in samples):
            raise InputError("a training sample has one class only: pass more records")
        fitted = [fit(self.encode(sample.X), sample.y, rng) for sample, rng in zip(samples, rngs, strict=True)]
        return [self.model(classes, partial(self._predict, model)) for model in fitted]

    def _predict(self, fitted: Model, X: NDArray[Any]) -> Floats:
        return fitted.predict(self.encode(X))


@dataclass(frozen=True)
class _Lookup:
    """Returns the probabilities of a table."""

    kind: TableKind
    learner: CausalTable
    table: LabelTable

    def __call__(self, X: NDArray[Any]) -> Floats:
        return self.learner.probabilities(self.table, self.kind.encode(X))
