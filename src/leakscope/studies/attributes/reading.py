"""The records that attribute inference judges, dealt to two halves, and queries to the model about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.attacks.attributes import Ask, AttributeAttack
from leakscope.core.arrays import Booleans, Floats, Indices, Labels
from leakscope.core.checks import check_confidence, check_count, check_seed
from leakscope.core.errors import InputError
from leakscope.data.records import as_array, read_features, take_rows
from leakscope.models.model import Model
from leakscope.models.target import Target, predict_in_blocks
from leakscope.studies.attributes.columns import (
    Columns,
    as_numbers,
    check_counts,
    choose_columns,
    read_levels,
    replaced,
)
from leakscope.studies.inputs import read_target

#: With fewer records on a side, intervals are too wide to be of use.
FEWEST = 40
#: How often the columns that the attacker does not know are filled for one query.
FILLINGS = 16

RECORDS, TRAIN = "the data", "the training set"


@dataclass(frozen=True)
class InferenceSettings:
    """How attribute inference is measured, whatever the column; see `attributes`."""

    knows_label: bool = True
    digits: int | None = None
    attacks: Sequence[AttributeAttack] | None = None
    most: int = 10_000
    confidence: float = 0.95
    seed: int = 0

    def checked(self) -> InferenceSettings:
        """Check them, and give counts as whole numbers."""
        return replace(
            self,
            digits=None if self.digits is None else check_count("digits", self.digits, least=0),
            most=check_count("most", self.most, FEWEST),
            confidence=check_confidence(self.confidence),
            seed=check_seed(self.seed),
        )


@dataclass(frozen=True, eq=False)
class JudgedRecords:
    """The judged records: held-out ones first, then training records.

    ``level`` is the true level, which an attack does not see for the records that it is judged on; ``features`` are the columns that the
    attacker knows, as numbers.
    """

    model: Model
    X: Any
    labels: Labels | None
    level: Indices
    levels: NDArray[Any]
    columns: Columns
    features: Floats
    categorical: Booleans
    member: Booleans
    half: Indices
    digits: int | None

    @property
    def fillings(self) -> int:
        return FILLINGS if self.columns.unknown else 1

    def predict(self, X: Any) -> Floats:
        """Outputs of the model, as released: (n, classes), or (n, 1) for regression."""
        parts = [answers for _, answers in predict_in_blocks(self.model, X, where=RECORDS)]
        found = np.concatenate(parts).reshape(len(X), -1)
        return found if self.digits is None else np.round(found, self.digits)

    def output(self, donors: Indices | None = None) -> Floats:
        """Outputs for all records; with ``donors``, for each with the sensitive value of another record."""
        rows = np.arange(len(self.level))
        return self.predict(
            take_rows(self.X, rows) if donors is None else replaced(self.X, rows, [self.columns.sensitive], donors)
        )

    def queries(self, asked: Indices, reference: Indices, rng: np.random.Generator) -> Ask:
        """Queries about some records by an attacker who has the reference records to fill unknown columns from."""
        names = [self.columns.sensitive, *self.columns.unknown]
        donors = [
            rng.choice(reference[self.level[reference] == code], (len(asked), self.fillings))
            for code in range(len(self.levels))
        ]

        def ask(rows: slice, code: int) -> Floats:
            filled = replaced(self.X, np.repeat(asked[rows], self.fillings), names, donors[code][rows].ravel())
            answers = self.predict(filled)
            return answers.reshape(-1, self.fillings, answers.shape[1])

        return ask


@dataclass(frozen=True, eq=False)
class Sides:
    """The model, the held-out records with their labels, and the training records where these are judged too."""

    target: Target
    holdout: Any
    labels: Any
    train: Any


def read_sides(model: Any, train: Any, holdout: Any, **how: Any) -> Sides:
    """Check the model and its records, once for all sensitive columns; without training records the held-out ones are judged."""
    target = read_target(model, holdout if train is None else train, holdout, **how)
    if target is model:
        classes, y = target.model.classes, target.nonmembers.y
        return Sides(target, target.nonmembers.X, y if classes is None else classes[y], target.members.X)
    X = read_features(holdout[0], RECORDS)
    if len(X) < FEWEST:
        raise InputError(f"{RECORDS} has {len(X)} records: give at least {FEWEST}")
    other = None if train is None else read_features(train[0], TRAIN)
    if isinstance(X, pd.DataFrame) and other is not None:
        other = other[list(X.columns)]
    return Sides(target, X, holdout[1], other)


def read_judged(
    given: Sides, sensitive: Any, known: Sequence[Any] | None, how: InferenceSettings, rng: np.random.Generator
) -> JudgedRecords:
    """Check the columns, draw the records that are judged, and deal them to halves."""
    X, target = given.holdout, given.target
    columns = choose_columns(X, sensitive, known, label=getattr(given.labels, "name", None))
    sides, labels = [X], [target.nonmembers.y]
    if given.train is not None:
        sides.append(given.train)
        labels.append(target.members.y)
    chosen = [np.sort(rng.permutation(len(side))[: how.most]) for side in sides]
    if min(map(len, chosen)) < FEWEST:
        raise InputError(f"{TRAIN} has {len(chosen[-1])} records: give at least {FEWEST}")
    parts = [take_rows(side, rows) for side, rows in zip(sides, chosen, strict=True)]
    pooled = pd.concat(parts, ignore_index=True) if isinstance(X, pd.DataFrame) else np.concatenate(parts)
    member = np.repeat(np.arange(len(parts)) == 1, list(map(len, parts)))
    level, levels = read_levels(pooled, sensitive)
    _refuse_label(X, sensitive, given.labels)
    for side in range(len(parts)):
        check_counts(level[member == bool(side)], levels, sensitive, TRAIN if side else RECORDS)
    features, categorical = as_numbers(pooled, columns.known)
    return JudgedRecords(
        model=target.model,
        X=pooled,
        labels=np.concatenate([y[rows] for y, rows in zip(labels, chosen, strict=True)]) if how.knows_label else None,
        level=level,
        levels=levels,
        columns=columns,
        features=features,
        categorical=categorical,
        member=member,
        half=deal(level, member, rng),
        digits=how.digits,
    )


def _refuse_label(X: Any, sensitive: Any, y: Any) -> None:
    values = X[sensitive] if isinstance(X, pd.DataFrame) else X[:, sensitive]
    if np.array_equal(np.asarray(values).astype(object), as_array(y).ravel().astype(object)):
        raise InputError(f"the sensitive column {sensitive!r} is the label itself: choose a feature")


def deal(level: Indices, member: Booleans, rng: np.random.Generator) -> Indices:
    """Halves in random order, each with as many records of each level and side as can be.

    Examples
    --------
    >>> deal(np.array([0, 0, 1, 1]), np.zeros(4, bool), np.random.default_rng(0)).reshape(2, 2).sum(axis=1)
    array([1, 1])
    """
    order = rng.permutation(len(level))
    order = order[np.lexsort((member[order], level[order]))]
    half = np.empty(len(level), np.intp)
    group = level[order] * 2 + member[order]
    first = np.searchsorted(group, group)  # where the group of each begins
    half[order] = (np.arange(len(level)) - first) % 2
    return half
