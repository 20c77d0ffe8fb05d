r"""Causal features: train the model only on columns that are causes of the label.

Let :math:`h_c` be trained on the causes :math:`X_C` of Y and :math:`h_a` on all columns, of n records of a population P. Then

.. math:: \max_{P^*} \mathrm{Adv}(A_{BL}, h_c, n, P, P^*) \le \max_{P^*} \mathrm{Adv}(A_{BL}, h_a, n, P, P^*)

for the attack that predicts "member" with probability 1 − loss/B [tople2020, Thm 5], under the conditions of [tople2020, Thm 1]:
every :math:`P^*` has the same :math:`P(Y \mid X_C)` and its support within that of P, the best predictor from the causes is among
the models, a model on all columns may also use the causes alone, and the loss is symmetric and satisfies the triangle inequality,
which the log-loss does not. The theorem compares worst cases under shift, in which distinguishing P from :math:`P^*` counts too.
It does not imply that the model leaks less about records of P itself: `compare` measures this, without a guarantee.

One property needs no condition: predictions are a function of the kept columns only, so that the model reveals nothing about
other columns [tople2020, Thm 7, as far as it holds: they may still be predictable from the kept ones].

Other columns are set to constants in training and in prediction, so that any model works unchanged. With ``environment``, the
causes are searched once, on all training records; the leakage of this choice is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.data.records import list_names
from leakscope.defenses.defense import Defended, make_learner
from leakscope.defenses.fewer_features import fit_blanked
from leakscope.defenses.retraining import NO_LEARNER, NOTHING_PROVEN, learner_of
from leakscope.models.target import Target

if TYPE_CHECKING:
    from leakscope.causal.invariance import Invariance

Column = int | str
INVARIANT = "invariant"
#: Why no cause is found, as the end of a sentence.
REJECTED = "no set of columns predicts the label in the same way in all environments"
ALIKE = "the label has the same distribution in all environments, so that causes cannot be identified"


@dataclass(frozen=True)
class CausalFeatures:
    """Keep the causes of the label, and set all other columns to constants.

    Parameters
    ----------
    columns
        The causes: names of columns, or their positions.
    environment
        Instead of ``columns``: a column or group with the origin of each record (a hospital, a year). The causes are then
        those that `leakscope.causal.invariant_features` finds on the training records.

    Examples
    --------
    >>> CausalFeatures(["age", "education"]).settings
    ('age, education',)
    """

    columns: Any = None
    environment: Column | None = None

    name: ClassVar[str] = "causal-features"
    setting_name: ClassVar[str] = "columns"
    what: ClassVar[str] = "the model sees only the columns that are causes of the label"
    source: ClassVar[str] = "tople2020, Theorem 5"

    def __post_init__(self) -> None:
        if self.columns is None:
            return
        if self.environment is not None:
            raise InputError("columns= and environment= exclude each other: pass one of them")
        columns = (self.columns,) if isinstance(self.columns, str | int) else tuple(self.columns)
        if not columns or not all(isinstance(column, str | int | np.integer) for column in columns):
            raise InputError("columns= must hold at least one name or position of a column")
        object.__setattr__(self, "columns", tuple(dict.fromkeys(columns)))

    @property
    def settings(self) -> tuple[str, ...]:
        """The columns that are kept, or ``invariant`` if they are searched."""
        return (INVARIANT,) if self.columns is None else (", ".join(map(str, self.columns)),)

    def refuse(self, target: Target) -> str | None:
        """Refuse targets that cannot be retrained on a table, or whose causes are neither given nor found."""
        if target.learner is None:
            return NO_LEARNER
        if self.columns is None and self.environment is None:
            return (
                "it has to be told the causes of the label: name them as columns= (--causes age,education), or a column of "
                "environments in which they can be found as environment= (--environments hospital)"
            )
        try:
            kept, _ = self._kept(target)
        except InputError as error:
            return str(error)
        return None if len(kept) < target.members.X.shape[1] else "all its columns are causes, so that none is removed"

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Train on the causes."""
        learner = learner_of(self, target)
        kept, why = self._kept(target)
        notes = (why, "predictions are a function of the kept columns only", NOTHING_PROVEN)
        return Defended(make_learner(learner.name, partial(fit_blanked, learner, kept)), notes=notes)

    def _kept(self, target: Target) -> tuple[tuple[int, ...], str]:
        """Return the positions of the causes and how they were determined."""
        X = target.members.X
        if X.ndim != 2:
            raise InputError("its records are not a table of columns")
        if self.columns is not None:
            return positions(X, self.columns), f"causes of the label as you stated them: {self.settings[0]}"
        found = _invariance(target, self.environment)
        causes = () if found.alike else found.features or found.plausible
        if not causes:
            raise InputError(REJECTED if found.rejected_all else ALIKE)
        how = "significant" if found.features else "suggested, not significant"
        where = f"over {len(found.environments)} environments at {found.confidence:.0%} confidence ({found.test} test)"
        return positions(X, causes), f"causes of the label, {how} {where}: {', '.join(map(str, causes))}"


def positions(X: Any, columns: Sequence[Any]) -> tuple[int, ...]:
    """Return the positions of columns given by name or by position, in order; a name takes precedence.

    Examples
    --------
    >>> positions(pd.DataFrame({"age": [1], "job": ["cook"]}), ["job"]), positions(np.eye(3), ["2", 0])
    ((1,), (0, 2))
    """
    known = list(X.columns) if isinstance(X, pd.DataFrame) else list(range(X.shape[1]))
    places = {str(place): place for place in range(len(known))} | {str(name): k for k, name in enumerate(known)}
    if lacking := [column for column in columns if str(column) not in places]:
        raise InputError(f"unknown column {list_names(lacking)}: the columns are {list_names(known, 12)}")
    return tuple(sorted({places[str(column)] for column in columns}))


def environment_column(target: Target, name: Column) -> tuple[NDArray[Any], int | None]:
    """Return the environment of each training record and its column's position, None if it is a group."""
    X = target.members.X
    if str(name) in target.members.groups and not (isinstance(X, pd.DataFrame) and name in X.columns):
        return target.members.groups[str(name)], None
    try:
        (place,) = positions(X, [name])
    except InputError:
        raise InputError(f"unknown environment {name!r}: pass a column or group of the training set") from None
    return np.asarray(X.iloc[:, place] if isinstance(X, pd.DataFrame) else X[:, place]), place


@lru_cache(maxsize=1)  # refuse and defend both call it, and it runs thousands of tests
def _invariance(target: Target, environment: Column) -> Invariance:
    from leakscope.causal.invariance import invariant_features

    levels, place = environment_column(target, environment)
    X = target.members.X
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X).infer_objects()
    others = [k for k in range(table.shape[1]) if k != place and table.iloc[:, k].nunique(dropna=False) > 1]
    return invariant_features(table.iloc[:, others], target.members.y, levels)
