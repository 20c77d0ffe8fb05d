"""Structure checks of support vector machines, since libsvm does not check the sizes of its arrays."""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from scipy import sparse

from leakscope.models.structure import Check, array, require, whole

NEEDED = ("_n_support", "_dual_coef_", "_intercept_", "_probA", "_probB", "support_", "support_vectors_", "_sparse")


def checks() -> dict[type, Check]:
    """Return the check of the base class of all libsvm estimators."""
    from sklearn.svm._base import BaseLibSVM

    return {BaseLibSVM: _check_svm}


def _check_svm(model: Any) -> None:
    attributes = vars(model)
    if any(name not in attributes for name in NEEDED):  # not fitted: scikit-learn refuses to predict
        return
    is_sparse = attributes["_sparse"]
    require(isinstance(is_sparse, bool | np.bool_), "its flag for sparse records is not a boolean")
    require(
        "_impl" not in attributes and "_sparse_kernels" not in attributes, "it claims to be another kind of machine"
    )
    _check_kernel(attributes["kernel"])
    vectors = _check_sparse_vectors(attributes) if is_sparse else _check_dense_vectors(attributes)
    _check_counts(model, vectors)


def _check_dense_vectors(attributes: dict[str, Any]) -> int:
    """Return the number of support vectors."""
    support = array(attributes["support_"], "i", 1)
    vectors = array(attributes["support_vectors_"], "f", 2)
    if not _is_precomputed(attributes["kernel"]):
        require(len(vectors) == len(support), "its number of support vectors does not match its attributes")
        return len(support)
    shape = attributes["shape_fit_"]
    require(isinstance(shape, tuple) and shape, "the shape of its training records is unknown")
    records = whole(shape[0])
    require(((support >= 0) & (support < records)).all(), "a support vector is not a training record")
    return len(support)


def _check_sparse_vectors(attributes: dict[str, Any]) -> int:
    """Return the number of support vectors; the indices inside the matrix are checked with every sparse matrix."""
    vectors, coefficients = attributes["support_vectors_"], attributes["_dual_coef_"]
    require(not _is_precomputed(attributes["kernel"]), "a precomputed kernel can't be sparse")
    for matrix in (vectors, coefficients):
        require(
            sparse.issparse(matrix) and getattr(matrix, "format", "") == "csr",
            "its support vectors are not sparse as stated",
        )
        require(len(matrix.indices) == len(matrix.data) == matrix.indptr[-1], "a sparse matrix has too many entries")
    return len(vectors.indptr) - 1


def _is_precomputed(kernel: Any) -> bool:
    return callable(kernel) or kernel == "precomputed"


def _check_kernel(kernel: Any) -> None:
    """Check that a kernel is a name of libsvm or a Python function; a numpy function could return any shape."""
    if callable(kernel):
        function = kernel.func if isinstance(kernel, partial) else kernel
        require(isinstance(function, FunctionType), "its kernel is not a Python function")
    else:
        require(type(kernel) is str, "its kernel is not a name")


def _check_counts(model: Any, vectors: int) -> None:
    """Check the sizes of counts per class, coefficients, intercepts and probability parameters."""
    attributes = vars(model)
    counts = array(attributes["_n_support"], "i", 1).astype(np.int64)
    groups = len(counts)
    if type(model)._impl in ("c_svc", "nu_svc"):
        require(
            groups >= 2 and groups == len(attributes["classes_"]), "its number of classes does not match its attributes"
        )
        require((counts >= 0).all() and counts.sum() == vectors, "the number of its support vectors per class is wrong")
    else:
        require(groups == 2, "its number of classes does not match its attributes")
    pairs = groups * (groups - 1) // 2
    coefficients = attributes["_dual_coef_"]
    if attributes["_sparse"]:
        require(
            len(coefficients.data) == (groups - 1) * vectors, "its number of coefficients does not match its attributes"
        )
    else:
        require(array(coefficients, "f", 2).shape == (groups - 1, vectors), "its coefficients have the wrong shape")
    require(
        len(array(attributes["_intercept_"], "f", 1)) == pairs, "its number of intercepts does not match its attributes"
    )
    has_probabilities = attributes["_sparse"] and attributes.get(
        "_effective_probability", attributes.get("probability")
    )
    for name in ("_probA", "_probB"):
        size = len(array(attributes[name], "f", 1))
        require(size == pairs or (size == 0 and not has_probabilities), "its probabilities have too few parameters")
