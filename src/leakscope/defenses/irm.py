r"""Invariant risk minimisation: replace the model by a network trained to predict equally well in all environments.

An environment is the origin of a record: a hospital, a year. The network is that of `leakscope.causal.IRMLearner`, which minimises the
mean over environments of

.. math:: R_e(1) + \lambda\, R_e'(1)^2,

the log-loss plus the squared derivative by a factor of the log-odds (Arjovsky et al. 2019, IRMv1). It is trained on the input of
the model's last step, without the environment itself. λ = 0 is the same network without the penalty. Use it as the baseline of
the other settings: they differ from the audited model by the network too, not only by the penalty.

The penalty is intended to make the network use only the causes of the label, as the networks of [tople2020, section 4.2] do, whose
members are harder to distinguish from records under a shift [tople2020, Thm 5]. Neither is proven for a trained network, and
there is no guarantee.

Environments with few records of a class are pooled, so that every half of the records contains all environments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.causal import irm as invariant
from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError, MissingExtraError
from leakscope.data.fingerprints import row_hashes
from leakscope.defenses.bounded_linear import why_no_rows
from leakscope.defenses.causal_features import Column, environment_column
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.defenses.fewer_features import Blanking, blank_columns
from leakscope.defenses.retraining import NOTHING_PROVEN
from leakscope.models.encoding import Encoding, make_encoding
from leakscope.models.model import Model
from leakscope.models.target import Target

FEWEST = 20  # records of each class in an environment: a random half has none of them with probability 1e-6
DEFAULT = invariant.IRMLearner(anneal=100, steps=500, rate=0.03, widths=(16,))


@dataclass(frozen=True)
class IRM(Tunable):
    """Train a small network to predict equally well in all environments.

    Parameters
    ----------
    penalties
        One or more weights λ of the penalty; 0 is the same network without it.
    environment
        A column of the records, which the network then does not use, or a group of the target.
    network
        Architecture and training settings of the network; its own penalty is not used.

    Examples
    --------
    >>> IRM((0, 100), environment="hospital").settings
    (0, 100)
    """

    penalties: Any = (10.0, 1000.0)
    environment: Column | None = None
    network: invariant.IRMLearner = DEFAULT

    name: ClassVar[str] = "irm"
    setting_name: ClassVar[str] = "penalty"
    what: ClassVar[str] = "a network replaces the model and is trained to predict equally well in all environments"
    source: ClassVar[str] = "Arjovsky et al. 2019, as used by tople2020, section 4.2"
    allowed = Allowed("penalty", lambda value: value >= 0, "0 or more")

    def refuse(self, target: Target) -> str | None:
        """Refuse targets without two classes and at least two environments."""
        if target.model.classes is None or len(target.model.classes) != 2:
            return "invariant risk minimisation needs two classes"
        if find_spec("torch") is None:
            return str(MissingExtraError("invariant training", "torch"))
        if (reason := why_no_rows(target)) is not None:
            return reason
        if self.environment is None:
            return "it has to be told where records come from: name a column or group as environment= (--environments hospital)"
        try:
            environments = read_environments(target, self.environment)
        except InputError as error:
            return str(error).rstrip(".")
        if environments.count < 2:
            return f"environment {self.environment!r} needs two levels with {FEWEST} or more records of each class"
        return None

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train the network with this penalty."""
        if target.model.classes is None or self.environment is None:
            raise InputError(f"{self.name}: {self.refuse(target)}")
        environments, X = read_environments(target, self.environment), target.members.X
        place = environments.column
        blanking = None if place is None else blank_columns(X, [k for k in range(X.shape[1]) if k != place])
        table = ScaledEncoding.of(make_encoding(target), blanking, X)
        network = replace(self.network, penalty=float(setting))
        fit = _NetworkFit(network, environments, table, target.model.classes)
        note = f"{network.name} replaces the model, trained on {environments.count} environments"
        return Defended(make_learner(network.name, fit), notes=(note, NOTHING_PROVEN))


# --- environments -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Environments:
    """Maps records to the numbers of their environments; unknown ones belong to the largest, number 0.

    Parameters
    ----------
    column
        Position of the environment's column; None if whole records are looked up among those of the audit. Records that are
        equal in all columns then belong to the environment of the first of them.
    keys, numbers
        Sorted hashes of the column's values, or of the records, and the environment of each.
    count
        Number of environments.
    """

    column: int | None
    keys: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    count: int

    def __call__(self, X: Any) -> NDArray[np.int64]:
        hashes = _hashes(X, self.column)
        places = np.minimum(np.searchsorted(self.keys, hashes), len(self.keys) - 1)
        return np.where(self.keys[places] == hashes, self.numbers[places], 0)


def read_environments(target: Target, name: Column) -> Environments:
    """Return the environments of a target by a column or group."""
    if target.members.X.ndim != 2:
        raise InputError("its records are not a table of columns")
    levels, place = environment_column(target, name)
    codes, known = pd.factorize(levels, use_na_sentinel=False)
    pooled = pool(codes, target.members.y)
    hashes, numbers = _hashes(target.members.X, place), pooled[codes]
    if place is None:  # reference models are trained on holdout records too, whose rows do not contain their group
        others = pd.Index(known).get_indexer(pd.Index(target.nonmembers.groups[str(name)]))
        numbers = np.append(numbers, np.where(others >= 0, pooled[others], 0))
        hashes = np.append(hashes, _hashes(target.nonmembers.X, None))
    keys, first = np.unique(hashes, return_index=True)
    return Environments(place, keys, numbers[first], int(pooled.max()) + 1)


def pool(codes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """Map levels to environments, the largest first: small levels are pooled, or added to the largest.

    Examples
    --------
    >>> pool(np.repeat([0, 1, 2, 3], [50, 100, 30, 30]), np.arange(210) % 2)
    array([1, 0, 2, 2])
    """
    counts = np.zeros((int(codes.max()) + 1, 2), np.int64)
    np.add.at(counts, (codes, y), 1)
    small = counts.min(axis=1) < FEWEST
    order = np.argsort(-np.where(small, -1, counts.sum(axis=1)), kind="stable")
    numbers = np.empty(len(counts), np.int64)
    numbers[order] = np.arange(len(counts))
    own = int((~small).sum())
    numbers[small] = own if counts[small].sum(axis=0).min() >= FEWEST else 0
    return numbers


def _hashes(X: Any, column: int | None) -> NDArray[np.uint64]:
    if column is None:
        return row_hashes(X)
    return row_hashes(X.iloc[:, [column]] if isinstance(X, pd.DataFrame) else X[:, [column]])


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScaledEncoding:
    """Encodes and centres records, and scales columns of standard deviation above 1 to 1, so that one learning rate fits."""

    encoding: Encoding
    blanking: Blanking | None
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, encoding: Encoding, blanking: Blanking | None, X: Any) -> ScaledEncoding:
        """Return the encoding with centre and scale of these records."""
        raw = cls(encoding, blanking, np.zeros(1), np.ones(1))(X)
        return cls(encoding, blanking, raw.mean(axis=0), np.maximum(raw.std(axis=0), 1.0))

    def __call__(self, X: Any) -> Floats:
        encoded = self.encoding(X if self.blanking is None else self.blanking(X))
        return (encoded - self.centre) / self.scale


@dataclass(frozen=True, eq=False)
class _NetworkFit:
    network: invariant.IRMLearner
    environments: Environments
    table: ScaledEncoding
    classes: NDArray[Any]

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        numbers, table = self.environments(X), self.table(X)
        mixed = [number for number in np.unique(numbers) if len(np.unique(y[numbers == number])) == 2]
        if mixed:  # an environment with one class only is added to the largest
            numbers = np.where(np.isin(numbers, mixed), numbers, mixed[0])
        parts = [(table[numbers == number], y[numbers == number]) for number in np.unique(numbers)]
        trained = self.network.fit(parts, rng)
        predict = partial(_answer, self.network, trained, self.table)
        return Model(self.network.name, "classification", self.classes, True, predict)


def _answer(network: invariant.IRMLearner, trained: invariant.InvariantModel, table: ScaledEncoding, X: Any) -> Floats:
    return network.probabilities(trained, table(X))
