"""References of another kind, for models that can't be trained again: a function, a server, a file in ONNX.

Each is a linear model and boosted trees on the same records, and answers with the mean of both. Records are turned into numbers once, as
for the blind baseline.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.data.encoding import as_numbers
from leakscope.data.records import Records, join_records
from leakscope.models.model import Model
from leakscope.models.target import Target, TrainingRecipe

NAME = "linear model and boosted trees"
#: Trees of the boosted model, over all classes.
TREES = 100


def own_or_other_kind(target: Target, learner: TrainingRecipe | None, seed: int) -> tuple[TrainingRecipe, Records]:
    """Return the learner and all records; without a learner one of another kind, and the records as that one reads them."""
    everyone = join_records(target.members, target.nonmembers)
    if learner is not None:
        return learner, everyone
    table = as_numbers(everyone.X, np.random.default_rng(seed))
    records = Records(table, everyone.y, everyone.ids)
    return TrainingRecipe(NAME, _FitOtherKind(target.model), f"{NAME}, {target.model.task}"), records


@dataclass(frozen=True, eq=False)
class _FitOtherKind:
    like: Model

    def __call__(self, X: Floats, y: NDArray[Any], rng: np.random.Generator) -> Model:
        table, labels = Standard.of(X), Standard.of(y[:, None]) if self.like.classes is None else None
        # Rounded, so that the unit of the labels does not decide between equally good splits.
        values = y if labels is None else np.round(labels.apply(y[:, None])[:, 0], 9)
        linear, trees = self._estimators(int(rng.integers(2**31)))
        with warnings.catch_warnings():  # a linear model that has not converged is good enough
            warnings.simplefilter("ignore")
            linear.fit(table.apply(X), values)
        trees.fit(X, values)
        return Model(
            NAME, self.like.task, self.like.classes, True, _AveragedModel(self.like, linear, trees, table, labels)
        )

    def _estimators(self, seed: int) -> tuple[Any, Any]:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression, Ridge

        if self.like.classes is None:
            trees = HistGradientBoostingRegressor(max_iter=TREES, early_stopping=False, random_state=seed)
            return Ridge(), trees
        rounds = max(5, TREES // len(self.like.classes))
        return LogisticRegression(max_iter=100), HistGradientBoostingClassifier(
            max_iter=rounds, early_stopping=False, random_state=seed
        )


@dataclass(frozen=True)
class Standard:
    """Mean and deviation of each column; columns of extreme numbers count for nothing."""

    centre: Floats
    spread: Floats

    @classmethod
    def of(cls, X: Floats) -> Standard:
        held = np.nan_to_num(X)
        with np.errstate(over="ignore", invalid="ignore"):
            centre, spread = held.mean(axis=0), held.std(axis=0)
        usable = np.isfinite(centre) & np.isfinite(spread) & (spread > 0)
        return cls(np.where(usable, centre, 0.0), np.where(usable, spread, np.inf))

    def apply(self, X: Floats) -> Floats:
        return (np.nan_to_num(X) - self.centre) / self.spread

    def undo(self, X: Floats) -> Floats:
        return X * np.where(np.isfinite(self.spread), self.spread, 0.0) + self.centre


@dataclass(frozen=True, eq=False)
class _AveragedModel:
    like: Model
    linear: Any
    trees: Any
    table: Standard
    labels: Standard | None

    def __call__(self, X: Floats) -> Floats:
        scaled = self.table.apply(X)
        if self.like.classes is None or self.labels is not None:
            assert self.labels is not None
            return self.labels.undo((self.linear.predict(scaled) + self.trees.predict(X)) / 2)
        answers = np.zeros((len(X), len(self.like.classes)))
        for estimator, table in ((self.linear, scaled), (self.trees, X)):
            answers[:, estimator.classes_] += estimator.predict_proba(table) / 2
        return answers
