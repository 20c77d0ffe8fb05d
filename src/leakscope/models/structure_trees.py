"""Structure checks of decision trees, forests, gradient boosting, isolation forests, histogram gradient boosting.

Compiled code follows child indices without a bounds check. A tree is valid if every child comes after its parent and
every node except the root has one parent: then every path stays in the tree and ends. Trees that scikit-learn grows are
numbered in this way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.models.structure import Check, array, require, whole

LEAF = -1  # sklearn.tree._tree.TREE_LEAF


def checks() -> dict[type, Check]:
    """Return the check of each class with trees."""
    from sklearn.ensemble import IsolationForest
    from sklearn.ensemble._forest import BaseForest
    from sklearn.ensemble._gb import BaseGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    return {
        Tree: _check_tree,
        BaseDecisionTree: _check_decision_tree,
        BaseForest: _check_forest,
        IsolationForest: _check_isolation_forest,
        BaseGradientBoosting: _check_gradient_boosting,
        TreePredictor: _check_predictor,
        BaseHistGradientBoosting: _check_hist_gradient_boosting,
    }


def _check_nodes(left: NDArray[Any], right: NDArray[Any], is_inner: NDArray[np.bool_]) -> None:
    """Check that every child comes after its parent, and every node except the first has one parent."""
    parents = np.flatnonzero(is_inner)
    left, right = left[is_inner].astype(np.int64), right[is_inner].astype(np.int64)
    children = np.concatenate([left, right])
    require(((children >= 0) & (children < len(is_inner))).all(), "a child of a tree node lies outside the tree")
    require((left > parents).all() and (right > parents).all(), "the nodes of a tree form a cycle")
    counts = np.bincount(children, minlength=len(is_inner))
    require((counts[1:] == 1).all(), "a tree node has no parent or several")


def _check_features(features: NDArray[Any], number: int) -> None:
    require(((features >= 0) & (features < number)).all(), "a tree splits on a feature that does not exist")


# --- decision trees ---------------------------------------------------------------------------------------------------


def _check_tree(tree: Any) -> None:
    require(tree.n_outputs >= 1 and tree.n_features >= 1, "a tree has no features or no outputs")
    require(1 <= tree.node_count <= tree.capacity, "a tree has no nodes")
    require(((tree.n_classes >= 1) & (tree.n_classes <= tree.max_n_classes)).all(), "a tree has no classes")
    left = tree.children_left
    is_inner = left != LEAF
    _check_nodes(left, tree.children_right, is_inner)
    _check_features(tree.feature[is_inner], tree.n_features)
    # the path of a record is written into an array of this many entries
    require(
        int(tree.compute_node_depths().max()) - 1 <= tree.max_depth <= tree.node_count, "a tree has the wrong depth"
    )


def _check_decision_tree(estimator: Any) -> None:
    """Check that the tree has as many features as the estimator expects of records."""
    if (tree := vars(estimator).get("tree_")) is not None:
        _check_same_features(tree, whole(vars(estimator).get("n_features_in_")))


def _check_same_features(tree: Any, features: int) -> None:
    from sklearn.tree._tree import Tree

    require(isinstance(tree, Tree), "a tree is of another type")
    require(tree.n_features == features, "a tree is made for another number of features")


def _check_forest(forest: Any) -> None:
    """Check the number of features of each tree, since trees in a forest do not check records."""
    if estimators := vars(forest).get("estimators_"):
        features = whole(vars(forest).get("n_features_in_"))
        for estimator in estimators:
            _check_same_features(vars(estimator)["tree_"], features)


def _check_isolation_forest(forest: Any) -> None:
    if estimators := vars(forest).get("estimators_"):
        features = whole(vars(forest).get("n_features_in_"))
        columns = vars(forest)["estimators_features_"]
        require(len(columns) == len(estimators), "a tree has no list of features")
        for estimator, chosen in zip(estimators, columns, strict=True):
            require(len(array(chosen, "iu", 1)) <= features, "a tree uses more features than there are")
            _check_same_features(vars(estimator)["tree_"], len(chosen))


def _check_gradient_boosting(model: Any) -> None:
    """Check the shape of the first prediction, to whose columns each stage adds one tree unchecked."""
    if "estimators_" not in vars(model):
        return
    features = whole(vars(model).get("n_features_in_"))
    estimators = array(vars(model)["estimators_"], "O", 2)
    require(estimators.size, "it has no trees")
    for estimator in estimators.ravel():
        _check_decision_tree(estimator)
        _check_same_features(vars(estimator)["tree_"], features)
    first = model._raw_predict_init(np.zeros((1, features), dtype=np.float32))
    require(first.shape == (1, estimators.shape[1]), "its first prediction has another number of columns")


# --- histogram gradient boosting --------------------------------------------------------------------------------------


def _check_predictor(predictor: Any) -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes = array(predictor.nodes, "V", 1)
    require(nodes.dtype == PREDICTOR_RECORD_DTYPE and len(nodes), "a tree has no nodes or nodes of another type")
    is_inner = nodes["is_leaf"] == 0
    _check_nodes(nodes["left"], nodes["right"], is_inner)
    is_categorical = is_inner & (nodes["is_categorical"] != 0)
    for bitsets in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        rows, columns = array(bitsets, "u", 2).shape
        require(not rows or columns == 8, "a set of categories has the wrong size")
        require(
            (nodes["bitset_idx"][is_categorical] < rows).all(),
            "a tree node has a set of categories that does not exist",
        )


def _check_hist_gradient_boosting(model: Any) -> None:
    attributes = vars(model)
    if "_predictors" not in attributes:
        return
    require(not attributes.get("_in_fit"), "it claims that it is being fitted")
    features = whole(attributes.get("n_features_in_"))
    mapper = vars(attributes["_bin_mapper"])
    is_categorical = array(mapper["is_categorical_"], "ub", 1) != 0
    require(len(is_categorical) == len(mapper["bin_thresholds_"]) == features, "its bins are made for other features")
    if attributes.get("_preprocessor") is not None:
        require(_width(attributes["_preprocessor"]) == features, "its preprocessor returns another number of features")
    for iteration in attributes["_predictors"]:
        require(
            len(iteration) == whole(attributes["n_trees_per_iteration_"]), "an iteration has another number of trees"
        )
        for predictor in iteration:
            nodes = predictor.nodes
            is_inner = nodes["is_leaf"] == 0
            _check_features(nodes["feature_idx"][is_inner], features)
            split_by_category = nodes["feature_idx"][is_inner & (nodes["is_categorical"] != 0)]
            require(is_categorical[split_by_category].all(), "a tree splits a number as if it were a category")


def _width(preprocessor: Any) -> int:
    """Return the number of columns that the preprocessor of a histogram gradient boosting model returns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
    from sklearn.utils import check_array

    require(type(preprocessor) is ColumnTransformer, "its preprocessor is of another type")
    width = 0
    for name, transformer, columns in preprocessor.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        chosen = preprocessor._transformer_to_input_indices[name]
        require(len(chosen) == np.count_nonzero(array(columns, "b", 1)), "its preprocessor selects other columns")
        if type(transformer) is FunctionTransformer:
            require(getattr(transformer.func, "func", None) is check_array, "its preprocessor changes the columns")
        else:
            require(type(transformer) is OrdinalEncoder, "its preprocessor is of another type")
        width += len(chosen)
    return width
