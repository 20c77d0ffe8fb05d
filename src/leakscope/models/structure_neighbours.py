"""Structure checks of models with stored records or centres: nearest neighbours, search trees and k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leakscope.models.structure import Check, array, require, whole


def checks() -> dict[type, Check]:
    """Return the check of each class with stored records or centres."""
    from sklearn.cluster import BisectingKMeans
    from sklearn.cluster._kmeans import _BaseKMeans
    from sklearn.neighbors import KernelDensity, _ball_tree, _kd_tree
    from sklearn.neighbors._base import NeighborsBase

    names = (f"{kind}{width}" for kind in ("KDTree", "BallTree") for width in ("", "32", "64"))
    kinds = [getattr(module, name, None) for name in names for module in (_kd_tree, _ball_tree)]
    return {
        **{kind: _check_search_tree for kind in kinds if kind is not None},
        NeighborsBase: _check_neighbors,
        KernelDensity: _check_density,
        _BaseKMeans: _check_centers,
        BisectingKMeans: _check_bisecting,
    }


def _check_neighbors(model: Any) -> None:
    attributes = vars(model)
    if "_fit_X" not in attributes:
        return
    stored, features = attributes["_fit_X"], whole(attributes.get("n_features_in_"))
    require(sparse.issparse(stored) or array(stored, "fiub", 2).size, "its stored records are not a table")
    require(stored.shape[1] == features, "its stored records have another number of features")
    require(
        whole(attributes.get("n_samples_fit_")) == stored.shape[0],
        "its number of records does not match its attributes",
    )
    tree = attributes.get("_tree")
    require(tree is None or np.shape(tree.data) == stored.shape, "its search tree holds other records")
    if "classes_" in attributes:
        _check_labels(attributes["_y"], attributes["classes_"], stored.shape[0])


def _check_labels(labels: Any, classes: Any, records: int) -> None:
    """Check the labels, which are indices of the array in which votes are counted."""
    columns = array(labels, "i", np.ndim(labels)).reshape(len(labels), -1)
    require(len(columns) == records, "its stored records have another number of labels")
    known = classes if isinstance(classes, list) else [classes]
    require(columns.shape[1] == len(known), "its labels have another number of columns")
    for column, names in zip(columns.T, known, strict=True):
        require(((column >= 0) & (column < len(names))).all(), "a stored record has a class that does not exist")


def _check_density(model: Any) -> None:
    if "tree_" in vars(model):
        features = whole(vars(model).get("n_features_in_"))
        require(np.shape(vars(model)["tree_"].data)[1] == features, "its search tree holds other records")


def _check_search_tree(tree: Any) -> None:
    """Check the arrays of a k-d tree or ball tree, a complete binary tree with children 2i + 1 and 2i + 2."""
    state = tree.__getstate__()
    data, order, nodes, bounds = (np.asarray(part) for part in state[:4])
    records, features = data.shape
    levels, number = whole(state[5]), whole(state[6])
    require(0 < levels < 64 and number == 2**levels - 1 == len(nodes), "a search tree has another number of nodes")
    require(np.array_equal(np.sort(order), np.arange(records)), "a search tree leads to records that do not exist")
    _check_ranges(nodes, records)
    require(bounds.shape[1:] == (number, features), "a search tree has the wrong bounds")
    require(bounds.shape[0] == (2 if "KDTree" in type(tree).__name__ else 1), "a search tree has the wrong bounds")
    state[11]._validate_data(data)
    require(state[12] is None or len(state[12]) == records, "a search tree has another number of weights")


def _check_ranges(nodes: NDArray[Any], records: int) -> None:
    starts, ends = nodes["idx_start"], nodes["idx_end"]
    require(
        ((starts >= 0) & (starts <= ends) & (ends <= records)).all(), "a search tree leads to records that do not exist"
    )
    is_last = 2 * np.arange(len(nodes)) + 1 >= len(nodes)
    require((nodes["is_leaf"][is_last] != 0).all(), "a child of a search tree lies outside the tree")


def _check_centers(model: Any) -> None:
    if "cluster_centers_" in vars(model):
        _check_center(vars(model)["cluster_centers_"], whole(vars(model).get("n_features_in_")), 2)


def _check_center(center: Any, features: int, dimensions: int) -> None:
    require(array(center, "f", dimensions).size, "it has no centres")
    require(center.shape[-1] == features, "its centres have another number of features")


def _check_bisecting(model: Any) -> None:
    """Check the centre of each cluster and that clusters form a tree."""
    waiting = [vars(model).get("_bisecting_tree")]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None:
            continue
        require(id(node) not in seen, "its clusters form a cycle")
        seen.add(id(node))
        _check_center(node.center, whole(vars(model).get("n_features_in_")), 1)
        waiting += [vars(node).get("left"), vars(node).get("right")]
