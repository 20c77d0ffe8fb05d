"""Checks of indices and sizes in loaded scikit-learn models that compiled code uses without bounds checks.

A file format that runs no code still determines the numbers in a model. Compiled code in scikit-learn, scipy and numpy
uses some of them as indices without a bounds check: the children of a tree node, the number of support vectors, a column
of a sparse matrix. A wrong number crashes the process or causes invalid memory access. `check_structure` visits every
object of a loaded model and refuses such numbers, so that predictions are safe for any records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from inspect import getattr_static
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from leakscope.core.failures import cause

#: Maximum number of threads that a file may set: OpenMP ends the process if it cannot start as many as requested.
MOST_THREADS = 1024

PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), np.generic, type, slice)
Check = Callable[[Any], None]


class StructureError(ValueError):
    """A model contains an invalid number that compiled code would use unchecked; the message names it."""


def require(condition: Any, fault: str) -> None:
    """Raise a `StructureError` that names the fault unless the condition holds."""
    if not condition:
        raise StructureError(fault)


def check_structure(model: Any) -> None:
    """Check every object of a loaded model.

    Parameters
    ----------
    model
        A loaded estimator, or any object that contains estimators.

    Raises
    ------
    StructureError
        If compiled code would use an invalid number; the message names the class and the fault.

    Notes
    -----
    The checks follow the compiled sources of scikit-learn 1.6 to 1.9. They cover decision trees and their ensembles,
    histogram gradient boosting, support vector machines, nearest neighbours, k-means, feature hashing, splines, sparse
    matrices and random number generators. Linear models, neural networks and encoders use numpy, which checks bounds.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> check_structure(tree)
    >>> tree.n_features_in_ = 2
    >>> check_structure(tree)
    Traceback (most recent call last):
    ...
    leakscope.models.structure.StructureError: DecisionTreeClassifier: a tree is made for another number of features
    """
    for value, owner in list(visit(model)):
        try:
            _check_attributes(value)
            for check in _checks_of(type(value)):
                check(value)
        except StructureError as fault:
            raise StructureError(f"{owner}: {fault}") from None
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise StructureError(f"{owner}: an attribute has the wrong type ({type(error).__name__})") from cause(error)


def visit(model: Any) -> Iterator[tuple[Any, str]]:
    """Yield every object of the model except plain values, with the class of the estimator that contains it."""
    seen: dict[int, Any] = {}  # keeps the objects alive, since ids are reused
    waiting = [(model, type(model).__name__)]
    while waiting:
        value, owner = waiting.pop()
        if isinstance(value, PLAIN) or id(value) in seen:
            continue
        seen[id(value)] = value
        if hasattr(value, "get_params"):
            owner = type(value).__name__
        yield value, owner
        waiting.extend((part, owner) for part in _parts(value) if not isinstance(part, PLAIN))


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        yield from value
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            yield from np.asarray(value).ravel().tolist()  # what a mask hides, too
    elif isinstance(value, partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, MethodType):
        yield value.__self__
    if not isinstance(value, FunctionType):
        yield from getattr(value, "__dict__", {}).values()


def _checks_of(kind: type) -> list[Check]:
    """Return the checks of a class and of its base classes."""
    known = _checks()
    return [known[base] for base in kind.__mro__ if base in known]


@lru_cache(maxsize=1)
def _checks() -> dict[type, Check]:
    from scipy.interpolate import BSpline
    from scipy.sparse import sparray, spmatrix
    from sklearn.base import BaseEstimator
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.feature_extraction.text import HashingVectorizer

    from leakscope.models import structure_neighbours as cluster_structure
    from leakscope.models import structure_svm as svm_structure
    from leakscope.models import structure_trees as tree_structure

    return {
        BaseEstimator: _check_threads,
        sparray: _check_sparse,
        spmatrix: _check_sparse,
        BSpline: _check_spline,
        FeatureHasher: _check_hasher,
        HashingVectorizer: _check_hasher,
        np.random.RandomState: _check_random_state,
        np.random.Generator: _check_random_state,
        np.random.BitGenerator: _check_bit_generator,
        **tree_structure.checks(),
        **svm_structure.checks(),
        **cluster_structure.checks(),
    }


def whole(value: Any) -> int:
    """Return an integer; refuse similar objects such as masked arrays.

    A comparison with a masked array is never true, so the checks of scikit-learn would not detect it.
    """
    require(isinstance(value, int | np.integer) and not isinstance(value, bool), "a count is not a whole number")
    return int(value)


def array(value: Any, kind: str, dimensions: int) -> np.ndarray[Any, Any]:
    """Return an ndarray of this kind of numbers and number of dimensions; refuse anything else."""
    require(type(value) is np.ndarray, "an array is missing or of another type")
    require(
        value.dtype.kind in kind and value.ndim == dimensions, "an array has the wrong type or number of dimensions"
    )
    return value  # type: ignore[no-any-return]


# --- parts of many estimators -----------------------------------------------------------------------------------------


def _check_attributes(value: Any) -> None:
    """Check that no attribute hides a method of a known class, such as the one that checks records."""
    kind: Any = type(value)
    if kind.__module__.startswith(("sklearn.", "scipy.")):
        for name in getattr(value, "__dict__", {}):
            require(not _is_method(kind, name), f"an attribute hides its method {name!r}")


def _check_threads(estimator: Any) -> None:
    for name in ("n_jobs", "_n_threads"):
        if (value := vars(estimator).get(name)) is not None:
            require(abs(whole(value)) <= MOST_THREADS, f"it asks for more than {MOST_THREADS} threads")


@lru_cache(maxsize=10_000)
def _is_method(kind: Any, name: str) -> bool:
    """Return whether a class has a method of this name, which an attribute would hide."""
    method = getattr_static(kind, name, None)
    return hasattr(type(method), "__get__") and not hasattr(type(method), "__set__")


def _check_sparse(matrix: Any) -> None:
    """Check that the indices of a sparse matrix lie inside it; scipy does so on request only."""
    if matrix.format in ("csr", "csc", "bsr"):
        try:
            matrix.check_format(full_check=True)
        except ValueError:
            raise StructureError("an index of a sparse matrix lies outside it") from None
    elif matrix.format == "coo":
        for axis, index in enumerate(matrix.coords):
            require(((index >= 0) & (index < matrix.shape[axis])).all(), "an index of a sparse matrix lies outside it")


def _check_spline(spline: Any) -> None:
    """Check what the constructor checks, which loading does not call: as many coefficients as knots need, in order."""
    attributes = vars(spline)  # properties would convert the arrays that compiled code reads
    knots = array(attributes.get("_t", attributes.get("t")), "f", 1)
    coefficients = attributes.get("_c", attributes.get("c"))
    array(coefficients, "fc", max(1, np.ndim(coefficients)))
    degree = whole(attributes["k"])
    number = len(knots) - degree - 1
    fits = 0 <= degree < number <= len(coefficients)
    require(fits and knots.dtype == np.float64, "a spline has the wrong number of knots or coefficients")
    require(coefficients.dtype in (np.float64, np.complex128), "a spline has coefficients of another type")
    is_sorted = np.isfinite(knots).all() and (np.diff(knots) >= 0).all() and knots[degree] < knots[number]
    require(is_sorted, "a spline has unsorted knots")


def _check_hasher(hasher: Any) -> None:
    require(1 <= whole(hasher.n_features) < 2**31, "a hash has an invalid number of features")


def _check_random_state(random: Any) -> None:
    _check_bit_generator(random._bit_generator if isinstance(random, np.random.RandomState) else random.bit_generator)


def _check_bit_generator(generator: Any) -> None:
    """Check the positions in the buffers of MT19937 and Philox, which numpy loads unchecked."""
    state = generator.state
    if state["bit_generator"] == "MT19937":
        require(
            0 <= int(state["state"]["pos"]) <= 624, "the position of a random number generator lies outside its state"
        )
    elif state["bit_generator"] == "Philox":
        require(0 <= int(state["buffer_pos"]) <= 4, "the position of a random number generator lies outside its state")
