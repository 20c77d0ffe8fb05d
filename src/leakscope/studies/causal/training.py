"""Training of all models of a comparison, and what each is asked once it is trained.

Each kind of model is trained on both samples of each scenario. All pairs are training sets of one design, so that they are trained in
parallel. The records carry the number of the kind in a column after the others, since the models of a design have one learner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.causal.kinds import Kind, TableKind
from leakscope.causal.membership import MembershipTrial
from leakscope.core.arrays import Floats, Indices
from leakscope.data.records import Records, join_records
from leakscope.models.model import Model
from leakscope.studies.causal.scenarios import CausalProblem
from leakscope.worlds.cache import Observations
from leakscope.worlds.training import TrainingSets

#: `leakscope.worlds.retrain` with its seed and where it runs.
Retrain = Callable[..., list[Observations]]
OWN, TEST = "own", "test"


@dataclass(frozen=True, eq=False)
class PairLearner:
    """Trains the models of one kind on several samples; the last column of the records is the number of the kind."""

    kinds: Sequence[Kind]
    classes: NDArray[Any] | None
    chunk: ClassVar[int] = 2

    def fit(self, X: NDArray[Any], y: NDArray[Any], rng: np.random.Generator) -> Model:
        """Train one model."""
        return self.fit_many(X, y, [np.arange(len(X))], [rng])[0]

    def fit_many(
        self, X: NDArray[Any], y: NDArray[Any], indices: Sequence[Indices], rngs: Sequence[np.random.Generator]
    ) -> list[Model]:
        """Train the models of a pair as one stack."""
        kind = self.kinds[int(X[indices[0][0], -1])]
        return kind.fit_each([Records(X[rows, :-1], y[rows], rows) for rows in indices], self.classes, rngs)


@dataclass(frozen=True, eq=False)
class Questions:
    """What is asked of every model: utility and losses on all records, releases of the judged ones, and of ``variants``.

    ``trials`` has those of P and of each P* for every kind and scenario, scenarios fastest. ``variants`` are records whose outputs
    attribute inference reads; only models on the first sample of the first scenario are asked.
    """

    problem: CausalProblem
    kinds: Sequence[Kind]
    trials: Sequence[Sequence[MembershipTrial]]
    releases: tuple[str, ...]
    variants: NDArray[Any]

    def __call__(self, model: Model, number: int, indices: Indices) -> dict[str, Any]:  # noqa: ARG002
        """Ask the model of one training set."""
        pair, side = divmod(number, 2)
        kind, place = divmod(pair, len(self.problem.scenarios))
        scenario, table = self.problem.scenarios[place], self.kinds[kind]
        asked = {OWN: scenario.samples[side], TEST: scenario.test, **scenario.shifted}
        scale = float(np.var(np.concatenate([sample.y for sample in scenario.samples])))
        seen: dict[str, Any] = {}
        for name, records in asked.items():
            answers = model.predict(records.X)
            seen[f"utility {name}"] = _utility(model, answers, records.y, scale)
            if model.classes is not None and not side:
                seen[f"loss {name}"] = _losses(answers, records.y)
            if isinstance(table, TableKind):
                seen[f"unseen {name}"] = table.unseen(model, records.X).mean()
        for law, trial in enumerate(self.trials[pair]):
            seen |= {f"{law} {name}": values for name, values in trial.ask(model, self.releases).items()}
        if len(self.variants) and not place and not side:
            seen["variants"] = model.predict(self.variants)
        return seen


def train_all(retrain: Retrain, questions: Questions) -> list[Observations]:
    """Train and ask every kind on both samples of every scenario: kinds slowest, samples fastest."""
    problem, kinds = questions.problem, questions.kinds
    samples = [sample for scenario in problem.scenarios for sample in scenario.samples]
    pool = reduce(join_records, samples)
    X = np.concatenate(
        [np.column_stack([pool.X, np.full(len(pool), kind, pool.X.dtype)]) for kind in range(len(kinds))]
    )
    ends = np.cumsum([0, *[len(sample) for sample in samples] * len(kinds)])
    design = TrainingSets(len(X), len(ends) - 1, partial(_between, ends))
    return retrain(PairLearner(kinds, problem.classes), X, np.tile(pool.y, len(kinds)), design, questions)


def _between(ends: Indices, number: int) -> Indices:
    return np.arange(ends[number], ends[number + 1])


def _utility(model: Model, answers: Floats, y: NDArray[Any], scale: float) -> Floats:
    """Whether each label is right, or 1 - squared error / variance of the label."""
    if model.classes is not None:
        return np.asarray(answers.argmax(axis=1) == y, dtype=np.float64)
    return np.asarray(1 - (answers - y) ** 2 / scale)


def _losses(answers: Floats, y: NDArray[Any]) -> Floats:
    """Half the sum of squared errors of the probabilities, a loss in [0, 1]."""
    errors = np.array(answers)
    errors[np.arange(len(errors)), y] -= 1
    return np.asarray(np.square(errors).sum(axis=1) / 2)


def recorded(kind: Kind, classes: NDArray[Any] | None, X: NDArray[Any], answers: Floats) -> Model:
    """Return a model that gives the recorded answers to the records X, and knows no others."""
    return kind.model(
        classes, partial(_look_up, {row.tobytes(): place for place, row in enumerate(X)}, X.dtype, answers)
    )


def _look_up(places: Mapping[bytes, int], dtype: Any, answers: Floats, X: NDArray[Any]) -> Floats:
    rows = np.asarray(X, dtype) + 0  # minus zero is zero
    return answers[[places[row.tobytes()] for row in rows]]
