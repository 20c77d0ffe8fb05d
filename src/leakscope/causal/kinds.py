"""Kinds of model that are compared: which columns one uses, and how it is trained.

The causal model of a discrete world is the table of Y given its parents; the associational one is the network of
[tople2020, section 4.1] on all columns: 128-512-128 ReLU, Adam with step 1e-4, 10,000 steps. The paper does not state the
batch, which is 128 here, nor how levels are encoded: each is a column of zeros and ones. A third, the same network on the
parents alone, tells what the choice of columns does from what the kind of model does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from leakscope.causal.encoding import one_hot
from leakscope.causal.table_model import CausalTable, Table
from leakscope.models import Model
from leakscope.records import Records
from leakscope.workers import one_thread

Floats = NDArray[np.float64]

WIDTHS, RATE, STEPS, BATCH = (128, 512, 128), 1e-4, 10_000, 128


class Kind(Protocol):
    """A kind of model: trained on several samples at once, it gives a model for each."""

    @property
    def name(self) -> str: ...

    def train(self, samples: Sequence[Records], classes: NDArray[Any], seed: np.random.SeedSequence) -> list[Model]:
        """Train one model on each sample of codes with positions of classes as labels."""
        ...


@dataclass(frozen=True)
class TableKind:
    """The maximum-likelihood table of the label given some columns of codes.

    Parameters
    ----------
    columns
        Positions of the columns.
    levels
        Number of levels of every column.
    """

    columns: tuple[int, ...]
    levels: tuple[int, ...]
    name: str = "causal table"

    def train(self, samples: Sequence[Records], classes: NDArray[Any], seed: np.random.SeedSequence) -> list[Model]:
        """Count each sample."""
        learner = CausalTable(self.columns, self.levels, len(classes))
        fitted = [learner.fit(sample.X, sample.y, np.random.default_rng(seed)) for sample in samples]
        return [Model(self.name, "classification", classes, True, _Lookup(learner, table)) for table in fitted]


@dataclass(frozen=True)
class NetworkKind:
    """A fully connected network on some columns of codes, one column of zeros and ones for each level. Needs torch."""

    columns: tuple[int, ...]
    levels: tuple[int, ...]
    name: str = "network"
    widths: tuple[int, ...] = WIDTHS
    steps: int = STEPS
    batch: int = BATCH
    rate: float = RATE

    def train(self, samples: Sequence[Records], classes: NDArray[Any], seed: np.random.SeedSequence) -> list[Model]:
        """Train the networks as one stack."""
        from leakscope.learners import MLP

        parts = [self.encode(sample.X) for sample in samples]
        learner = MLP(
            self.widths, "relu", steps=self.steps, batch=self.batch, rate=self.rate, task="classification",
            inputs=parts[0].shape[1], classes=len(classes),
        )  # fmt: skip
        indices = [np.arange(start, end) for start, end in pairwise(np.cumsum([0, *map(len, parts)]))]
        generators = [np.random.default_rng(child) for child in seed.spawn(len(samples))]
        labels = np.concatenate([sample.y for sample in samples])
        networks = learner.fit_many(np.concatenate(parts), labels, indices, generators)
        answers = [_Outputs(self, learner, network) for network in networks]
        return [Model(self.name, "classification", classes, True, answer) for answer in answers]

    def encode(self, X: NDArray[Any]) -> Any:
        """What the network sees of some records."""
        return one_hot(X[:, list(self.columns)], [self.levels[column] for column in self.columns])


@dataclass(frozen=True)
class _Lookup:
    """Probabilities out of a table."""

    learner: CausalTable
    table: Table

    def __call__(self, X: NDArray[Any]) -> Floats:
        return self.learner.probabilities(self.table, X)


@dataclass(frozen=True)
class _Outputs:
    """Probabilities out of a network."""

    kind: NetworkKind
    learner: Any
    network: Any

    def __call__(self, X: NDArray[Any]) -> Floats:
        with one_thread():
            outputs = self.learner.outputs(self.network, self.kind.encode(X))
        return np.asarray(special.softmax(np.pad(outputs, ((0, 0), (1, 0))), axis=1))
