"""More data: the model is trained on further records too, so that each single one weighs less.

farokhi2020 (section 6, Figure 1): leakage falls rapidly as the training set grows. The further records join every training
set, that of the controls and shadow models as well. They belong to nobody whose membership is judged: a further record whose
features are those of a training record or of a held-out one is left out, for it would hide the difference between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import read_pair, take_rows
from leakscope.defenses.defense import Defended, make_learner, read_settings
from leakscope.defenses.retraining import NO_LEARNER, NOTHING_PROVEN, learner_of
from leakscope.models.adapters import pick_columns
from leakscope.models.model import Model, label_codes
from leakscope.models.target import Target, TrainingRecipe

WHERE = "the further data"
ORDER = 0x6D6F7265  # the seed of the order in which further records are added: a larger share holds the smaller ones


@dataclass(frozen=True, eq=False)
class MoreData:
    """Further records added to every training set.

    Parameters
    ----------
    records
        A pair (X, y) with the columns and labels of the training set; what equals a judged record is left out.
    shares
        Which shares of them to add, above 0 and at most 1; they are taken in one random order.

    Examples
    --------
    >>> MoreData((np.eye(2), [0, 1])).settings
    (0.5, 1.0)
    """

    records: Any = field(default=None, repr=False)
    shares: Any = (0.5, 1.0)

    name: ClassVar[str] = "more-data"
    knob: ClassVar[str] = "share of the further records"
    what: ClassVar[str] = "the model is trained on further records too"
    source: ClassVar[str] = "farokhi2020, section 6 (Figure 1)"

    def __post_init__(self) -> None:
        _ = self.settings
        if self.records is not None:
            read_pair(self.records, WHERE)

    @property
    def settings(self) -> tuple[float, ...]:
        """Shares of the further records."""
        return read_settings(
            self.shares, "the share of further records", lambda value: 0 < value <= 1, "above 0, up to 1"
        )

    def refuse(self, target: Target) -> str | None:
        """It needs further records that fit the training set, and to be trained again."""
        if self.records is None:
            return "there are no further records: give them with MoreData((X, y)), or with --more more.csv"
        if target.learner is None:
            return NO_LEARNER
        try:
            _, y = self._read(target)
        except InputError as error:
            return str(error).rstrip(".")
        return None if len(y) else "all further records are training records or held-out ones: give others"

    def defend(self, target: Target, setting: Any) -> Defended:
        """Training on these records too."""
        learner = learner_of(self, target)
        X, y = self._read(target)
        order = np.random.default_rng(ORDER).permutation(len(y))
        rows = np.sort(order[: max(1, round(float(setting) * len(y)))])
        fit = partial(_fit, learner, (take_rows(X, rows), y[rows]))
        notes = [f"{len(rows)} further records are in every training set"]
        if twice := len(self.records[1]) - len(y):
            notes.append(f"{twice} further records equal a training record or a held-out one and are left out")
        return Defended(make_learner(learner.name, fit), notes=(*notes, NOTHING_PROVEN))

    def _read(self, target: Target) -> tuple[Any, NDArray[Any]]:
        """The further records with the target's columns, and their labels as codes or values, without judged records."""
        X, y, _ = read_pair(self.records, WHERE)
        classes = target.model.classes
        try:
            labels = np.asarray(y, dtype=np.float64) if classes is None else label_codes(classes, y, WHERE)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{WHERE} has labels that are not numbers: regression needs numbers") from cause(error)
        X = _same_form(target.members.X, X)
        judged = np.concatenate([row_hashes(target.members.X), row_hashes(target.nonmembers.X)])
        other = ~np.isin(row_hashes(X), judged)
        return take_rows(X, other), labels[other]


def _same_form(members: Any, X: Any) -> Any:
    if isinstance(members, pd.DataFrame) != isinstance(X, pd.DataFrame):
        raise InputError(f"the training set and {WHERE} must both be DataFrames, or neither")
    if not isinstance(members, pd.DataFrame):
        if members.shape[1:] != X.shape[1:]:
            raise InputError(f"{WHERE} has records of shape {X.shape[1:]}, and the training set of {members.shape[1:]}")
        return X
    X = pick_columns(X, tuple(members.columns))
    # Columns of categories stay so only if both tables name the same categories.
    categories = {name: kind for name, kind in members.dtypes.items() if isinstance(kind, pd.CategoricalDtype)}
    return X.astype(categories)


def _fit(
    learner: TrainingRecipe, further: tuple[Any, NDArray[Any]], X: Any, y: NDArray[Any], rng: np.random.Generator
) -> Model:
    tables = (X, further[0])
    together = pd.concat(tables, ignore_index=True) if isinstance(X, pd.DataFrame) else np.concatenate(tables)
    return learner.fit(together, np.concatenate([y, further[1]]), rng)
