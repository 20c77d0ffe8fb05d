"""More data: train the model on additional records, so that each record has less influence.

farokhi2020 (section 6, Figure 1): leakage falls rapidly as the training set grows. The additional records are part of every
training set, including those of controls and reference models. An additional record with the features of a training record or
of a held-out record is excluded, because it would hide the difference between members and non-members.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import read_pair, stack_rows, take_rows
from leakscope.defenses.defense import Defended, make_learner, read_settings
from leakscope.defenses.retraining import NO_LEARNER, NOTHING_PROVEN, learner_of, same_form
from leakscope.models.model import Model, label_codes
from leakscope.models.target import Target, TrainingRecipe

WHERE = "the additional data"
ORDER = 0x6D6F7265  # seed of the order of additional records, so that a larger share contains the smaller ones


@dataclass(frozen=True, eq=False)
class MoreData:
    """Add records to every training set.

    Parameters
    ----------
    records
        A pair (X, y) with the columns and labels of the training set; copies of audited records are excluded.
    shares
        Shares of them to add, above 0 and at most 1; they are taken in one random order.

    Examples
    --------
    >>> MoreData((np.eye(2), [0, 1])).settings
    (0.5, 1.0)
    """

    records: Any = field(default=None, repr=False)
    shares: Any = (0.5, 1.0)

    name: ClassVar[str] = "more-data"
    setting_name: ClassVar[str] = "share of the additional records"
    what: ClassVar[str] = "the model is trained on additional records"
    source: ClassVar[str] = "farokhi2020, section 6 (Figure 1)"

    def __post_init__(self) -> None:
        _ = self.settings
        if self.records is not None:
            read_pair(self.records, WHERE)

    @property
    def settings(self) -> tuple[float, ...]:
        """Shares of the additional records."""
        return read_settings(
            self.shares, "the share of additional records", lambda value: 0 < value <= 1, "above 0, up to 1"
        )

    def refuse(self, target: Target) -> str | None:
        """Refuse without additional records that fit the training set, or if the target cannot be retrained."""
        if self.records is None:
            return "it needs additional records: pass MoreData((X, y)), or --more more.csv"
        if target.learner is None:
            return NO_LEARNER
        try:
            _, y = self._read(target)
        except InputError as error:
            return str(error).rstrip(".")
        return None if len(y) else "all additional records are training or held-out records: pass others"

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train on the additional records too."""
        learner = learner_of(self, target)
        X, y = self._read(target)
        order = np.random.default_rng(ORDER).permutation(len(y))
        rows = np.sort(order[: max(1, round(float(setting) * len(y)))])
        fit = partial(_fit, learner, (take_rows(X, rows), y[rows]))
        notes = [f"{len(rows)} additional records are in every training set"]
        if twice := len(self.records[1]) - len(y):
            notes.append(f"{twice} additional records equal a training or held-out record and are excluded")
        return Defended(make_learner(learner.name, fit), notes=(*notes, NOTHING_PROVEN))

    def _read(self, target: Target) -> tuple[Any, NDArray[Any]]:
        """Return the additional records with the target's columns and their labels, without copies of audited records."""
        X, y, _ = read_pair(self.records, WHERE)
        classes = target.model.classes
        try:
            labels = np.asarray(y, dtype=np.float64) if classes is None else label_codes(classes, y, WHERE)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{WHERE} has labels that are not numbers: pass numbers") from cause(error)
        X = same_form(target.members.X, X, WHERE)
        judged = np.concatenate([row_hashes(target.members.X), row_hashes(target.nonmembers.X)])
        other = ~np.isin(row_hashes(X), judged)
        return take_rows(X, other), labels[other]


def _fit(
    learner: TrainingRecipe, further: tuple[Any, NDArray[Any]], X: Any, y: NDArray[Any], rng: np.random.Generator
) -> Model:
    return learner.fit(stack_rows(X, further[0]), np.concatenate([y, further[1]]), rng)
