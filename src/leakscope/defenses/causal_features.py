r"""Causal features: the model sees only the columns that are causes of the label.

Let :math:`h_c` be trained on the causes :math:`X_C` of Y and :math:`h_a` on all columns, of n records of a population P. Then

.. math:: \max_{P^*} \mathrm{Adv}(A_{BL}, h_c, n, P, P^*) \le \max_{P^*} \mathrm{Adv}(A_{BL}, h_a, n, P, P^*)

for the attacker who says "member" with probability 1 − loss/B [tople2020, Thm 5], under the conditions of [tople2020, Thm 1]:
every :math:`P^*` has the same :math:`P(Y \mid X_C)` and no record that P never has, the best predictor from the causes is among the
models, whoever may use all columns may use the causes alone, and the loss is symmetric and obeys the triangle inequality, which the
log-loss does not. It compares worst cases under shift, in which telling P from :math:`P^*` counts as well. That a model leaks less
about people of P itself does not follow from it: this is what `compare` measures, and no guarantee is given.

One thing needs no condition: the answers are a function of the kept columns alone, so that nothing about a record's other columns
passes through the model [tople2020, Thm 7, as far as it holds: they may still be guessed from the kept ones].

Other columns are set to constants in training and in prediction, so that any model works as it is. Causes that are looked for are
looked for once, on all training records: what this choice itself tells of them is not measured.
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


@dataclass(frozen=True)
class CausalFeatures:
    """The causes of the label are kept, and all other columns blanked.

    Parameters
    ----------
    columns
        The causes: names of columns, or their positions.
    environment
        In their place, a column or group that says where each record comes from (a hospital, a year): the causes are then
        those that `leakscope.causal.invariant_features` finds, once, on the training records.

    Examples
    --------
    >>> CausalFeatures(["age", "education"]).settings
    ('age, education',)
    """

    columns: Any = None
    environment: Column | None = None

    name: ClassVar[str] = "causal-features"
    knob: ClassVar[str] = "columns"
    what: ClassVar[str] = "the model sees only the columns that are causes of the label"
    source: ClassVar[str] = "tople2020, Theorem 5"

    def __post_init__(self) -> None:
        if self.columns is None:
            return
        if self.environment is not None:
            raise InputError("causes are named by columns= or found by environment=: give one of the two")
        columns = (self.columns,) if isinstance(self.columns, str | int) else tuple(self.columns)
        if not columns or not all(isinstance(column, str | int | np.integer) for column in columns):
            raise InputError("columns= must hold names or positions of columns, at least one")
        object.__setattr__(self, "columns", tuple(dict.fromkeys(columns)))

    @property
    def settings(self) -> tuple[str, ...]:
        """The columns that are kept, or that they are looked for."""
        return (INVARIANT,) if self.columns is None else (", ".join(map(str, self.columns)),)

    def refuse(self, target: Target) -> str | None:
        """It needs to be trained again on a table, and someone or something that names the causes."""
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
            return str(error).rstrip(".")
        return None if len(kept) < target.members.X.shape[1] else "all its columns are causes, and none is left out"

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Training on the causes."""
        learner = learner_of(self, target)
        kept, why = self._kept(target)
        notes = (why, "answers tell nothing of the other columns that the kept ones do not tell", NOTHING_PROVEN)
        return Defended(make_learner(learner.name, partial(fit_blanked, learner, kept)), notes=notes)

    def _kept(self, target: Target) -> tuple[tuple[int, ...], str]:
        """Positions of the causes, and who says that they are."""
        X = target.members.X
        if X.ndim != 2:
            raise InputError("its records are not a table of columns")
        if self.columns is not None:
            return positions(X, self.columns), f"taken for the causes of the label on your word: {self.settings[0]}"
        found = _invariance(target, self.environment)
        causes = () if found.alike else found.features or found.plausible
        if not causes:
            reason = str(found).split("\n")[0]
            raise InputError(reason[0].lower() + reason[1:])
        how = "found to be" if found.features else "not significant, only suggested as"
        where = f"over {len(found.environments)} environments at {found.confidence:.0%} confidence ({found.test} test)"
        return positions(X, causes), f"{how} causes of the label {where}: {', '.join(map(str, causes))}"


def positions(X: Any, columns: Sequence[Any]) -> tuple[int, ...]:
    """Positions of columns that are given by name or by position, in order; a name comes first.

    Examples
    --------
    >>> positions(pd.DataFrame({"age": [1], "job": ["cook"]}), ["job"]), positions(np.eye(3), ["2", 0])
    ((1,), (0, 2))
    """
    known = list(X.columns) if isinstance(X, pd.DataFrame) else list(range(X.shape[1]))
    places = {str(place): place for place in range(len(known))} | {str(name): k for k, name in enumerate(known)}
    if lacking := [column for column in columns if str(column) not in places]:
        raise InputError(f"there is no column {list_names(lacking)}: the columns are {list_names(known, 12)}")
    return tuple(sorted({places[str(column)] for column in columns}))


def environment_column(target: Target, name: Column) -> tuple[NDArray[Any], int | None]:
    """The environment of each training record, and its position among the columns; None where it is a group beside them."""
    X = target.members.X
    if str(name) in target.members.groups and not (isinstance(X, pd.DataFrame) and name in X.columns):
        return target.members.groups[str(name)], None
    try:
        (place,) = positions(X, [name])
    except InputError:
        raise InputError(
            f"there is no column or group {name!r} of environments: name one of the training set"
        ) from None
    return np.asarray(X.iloc[:, place] if isinstance(X, pd.DataFrame) else X[:, place]), place


@lru_cache(maxsize=1)  # refuse and defend both ask, and thousands of tests take a while
def _invariance(target: Target, environment: Column) -> Invariance:
    from leakscope.causal.invariance import invariant_features

    levels, place = environment_column(target, environment)
    X = target.members.X
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X).infer_objects()
    others = [k for k in range(table.shape[1]) if k != place and table.iloc[:, k].nunique(dropna=False) > 1]
    return invariant_features(table.iloc[:, others], target.members.y, levels)
