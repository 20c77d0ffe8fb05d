"""Model files made to crash, hang or fill the memory of the process that loads them or predicts with them."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

rng = np.random.default_rng(5)
X = np.abs(rng.normal(size=(80, 3)))
y = np.digitize(X[:, 0], [0.4, 0.9])
FLOAT, INT64, BOOL = 1, 7, 9  # onnx.TensorProto


def changed(model, **attributes):
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def change_tree(estimator, **fields):
    """Replace numbers in the nodes of a fitted decision tree: field=(node, number)."""
    tree = estimator.tree_
    state = tree.__getstate__()
    for field, (node, number) in fields.items():
        state["nodes"][field][node] = number
    estimator.tree_ = Tree(tree.n_features, tree.n_classes, tree.n_outputs)
    estimator.tree_.__setstate__(state)
    return estimator


def decision_tree(**fields):
    return change_tree(DecisionTreeClassifier(random_state=0).fit(X, y), **fields)


def deep_in_a_pipeline():
    """The wrong node is the last tree's of a forest in a pipeline."""
    model = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(X, y)
    change_tree(model[-1].estimators_[-1], right_child=(0, 10**7))
    return model


def forest_with_a_wider_tree():
    """Each tree agrees with itself, but a forest asks only the first one how many features there are."""
    model = ExtraTreesRegressor(3, random_state=0).fit(X, y)
    wide = ExtraTreesRegressor(1, random_state=0).fit(np.hstack([X * 0, np.zeros((80, 5000)), X]), y)
    model.estimators_[2] = wide.estimators_[0]
    return model


def tree_that_is_not_asked_for_its_features(value):
    """Scikit-learn compares records with n_features_in_ if it is there, and nothing differs from a masked number."""
    wide = DecisionTreeClassifier(random_state=0).fit(np.hstack([np.zeros((80, 10**5)), X]), y)
    return changed(decision_tree(), tree_=wide.tree_, n_features_in_=value)


def gradient_boosting_with_too_few_columns():
    """The first prediction has one column, and the trees of the other classes are added beyond it."""
    model = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y)
    return changed(model, init_=DummyClassifier(strategy="prior").fit(X, np.zeros(80)))


def isolation_forest():
    model = IsolationForest(n_estimators=3, random_state=0).fit(X)
    wide = IsolationForest(n_estimators=1, random_state=0).fit(np.hstack([np.zeros((80, 5000)), X]))
    model.estimators_[1] = wide.estimators_[0]
    return model


def boosting(**fields):
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(X, y)
    nodes = model._predictors[1][0].nodes
    for field, number in fields.items():
        nodes[field][0] = number
    return model


def svc(**attributes):
    return changed(SVC().fit(X, y), **attributes)


def sparse_svc():
    """Scikit-learn checks the number of support vectors of dense machines only."""
    model = SVC().fit(sparse.csr_matrix(X), y)
    return changed(model, _n_support=(model._n_support + 10**6).astype(np.int32))


def precomputed_svr():
    model = SVR(kernel="precomputed").fit(X @ X.T, y)
    return changed(model, support_=model.support_ + np.int32(10**8))


def neighbors(**attributes):
    return changed(KNeighborsClassifier(algorithm="brute").fit(X, y), **attributes)


def k_means(**attributes):
    return changed(KMeans(2, n_init=1, random_state=0).fit(X), **attributes)


def search_tree():
    model = KNeighborsClassifier(algorithm="kd_tree").fit(X, y)
    state = list(model._tree.__getstate__())
    state[1] = np.asarray(state[1]) + 10**9
    model._tree.__setstate__(tuple(state))
    return model


def sparse_coefficients():
    model = LogisticRegression().fit(X, y).sparsify()
    model.coef_.indices[0] = 10**8
    return model


def random_state():
    """Numpy takes the position in the state of its generator from a file as it is."""
    state = np.random.RandomState(0).get_state(legacy=False)
    state["state"]["pos"] = 10**8
    source = np.random.RandomState()
    source.set_state(state)
    return changed(DummyClassifier(strategy="stratified", random_state=0).fit(X, y), random_state=source)


#: What is wrong, and the model that has it.
MODELS = {
    "tree child out of range": lambda: decision_tree(left_child=(0, 10**8)),
    "tree child below zero": lambda: decision_tree(right_child=(0, -(10**8))),
    "tree feature out of range": lambda: decision_tree(feature=(0, 10**8)),
    "tree feature below zero": lambda: decision_tree(feature=(0, -(10**8))),
    "tree cycle": lambda: decision_tree(left_child=(0, 0), right_child=(0, 0)),
    "tree node with two parents": lambda: decision_tree(left_child=(0, 2), right_child=(0, 2)),
    "tree in a forest in a pipeline": deep_in_a_pipeline,
    "forest with a wider tree": forest_with_a_wider_tree,
    "tree without its number of features": lambda: tree_that_is_not_asked_for_its_features(None),
    "tree with a masked number of features": lambda: tree_that_is_not_asked_for_its_features(
        np.ma.MaskedArray(3, True)
    ),
    "gradient boosting with too few columns": gradient_boosting_with_too_few_columns,
    "isolation forest with a wider tree": isolation_forest,
    "boosting child out of range": lambda: boosting(left=10**8, right=10**8),
    "boosting feature out of range": lambda: boosting(feature_idx=10**9),
    "boosting cycle": lambda: boosting(left=0, right=0),
    "boosting category out of range": lambda: boosting(is_categorical=1, bitset_idx=10**8),
    "svc support": lambda: svc(
        _n_support=np.array([10**7, -(2 * 10**7), 10**7 + len(SVC().fit(X, y).support_)], dtype=np.int32)
    ),
    "svc coefficients": lambda: svc(_dual_coef_=np.zeros((1, 1))),
    "svc intercepts": lambda: svc(
        _intercept_=np.zeros(1), _n_support=np.array([len(SVC().fit(X, y).support_)] + [0] * 20_000, dtype=np.int32)
    ),
    "svc of another kind": lambda: svc(_impl="epsilon_svr"),
    "svc without its check": lambda: svc(
        _n_support=np.array([10**6] * 3, dtype=np.int32), _validate_for_predict=np.positive
    ),
    "svc kernel of any shape": lambda: svc(
        kernel=np.multiply, _BaseLibSVM__Xfit=np.zeros((1, 1)), support_=np.array([10**8], dtype=np.int32)
    ),
    "sparse svc support": sparse_svc,
    "precomputed svr": precomputed_svr,
    "neighbours with classes out of range": lambda: neighbors(_y=np.full(80, 10**8)),
    "neighbours with too few features": lambda: neighbors(_fit_X=np.zeros((80, 1))),
    "search tree": search_tree,
    "sparse coefficients": sparse_coefficients,
    "random state": random_state,
    "centres": lambda: k_means(cluster_centers_=np.zeros((2, 1))),
    "threads": lambda: k_means(_n_threads=10**6),
}


def zipped(parts):
    """Return an archive of files by name."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def node(kind, module, loader, **more):
    """An object in the schema of a skops file."""
    return {"__class__": kind, "__module__": module, "__loader__": loader, "protocol": 2, **more}


def zip_bomb():
    """A file of 20 kB that says that it unpacks to 4 GB."""
    content = bytearray(zipped({"schema.json": "{}", "0.npy": bytes(20_000_000)}))
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = (4_000_000_000).to_bytes(4, "little")  # the declared size
    return bytes(content)


def repeated_array():
    """One array of 80 MB, read a hundred times: the declared sizes look harmless."""
    array = node("ndarray", "numpy", "NdArrayNode", type="numpy", file="0.npy")
    schema = node("list", "builtins", "ListNode", content=[array] * 100)
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(10_000_000))
    return zipped({"schema.json": json.dumps(schema), "0.npy": buffer.getvalue()})


def deep_nesting():
    """A list in a list, 100,000 times."""
    start = json.dumps(node("list", "builtins", "ListNode", content=[])).removesuffix("]}")
    return zipped({"schema.json": start * 100_000 + "]}" * 100_000})


def onnx_loop(rounds=2**62):
    """An ONNX model whose Loop node runs practically for ever."""
    from onnx.helper import make_graph, make_node, make_tensor, make_tensor_value_info

    body = make_graph(
        [make_node("Identity", ["go"], ["go_on"]), make_node("Add", ["sum", "one"], ["next"])],
        "body",
        [
            make_tensor_value_info("round", INT64, []),
            make_tensor_value_info("go", BOOL, []),
            make_tensor_value_info("sum", FLOAT, ["n", 3]),
        ],
        [make_tensor_value_info("go_on", BOOL, []), make_tensor_value_info("next", FLOAT, ["n", 3])],
        [make_tensor("one", FLOAT, [1], [1.0])],
    )
    constants = [make_tensor("rounds", INT64, [], [rounds]), make_tensor("yes", BOOL, [], [True])]
    return onnx_model([make_node("Loop", ["rounds", "yes", "x"], ["y"], body=body)], constants)


def onnx_allocation(size=2**42):
    """An ONNX model that expands a record to terabytes."""
    from onnx.helper import make_node, make_tensor

    nodes = [make_node("Expand", ["x", "shape"], ["large"]), make_node("ReduceSum", ["large", "axes"], ["y"])]
    constants = [make_tensor("shape", INT64, [3], [size // 12, 1, 3]), make_tensor("axes", INT64, [1], [0])]
    return onnx_model(nodes, constants)


def onnx_model(nodes, constants):
    from onnx.helper import make_graph, make_model, make_opsetid, make_tensor_value_info

    inputs, outputs = [make_tensor_value_info("x", FLOAT, ["n", 3])], [make_tensor_value_info("y", FLOAT, None)]
    graph = make_graph(nodes, "hostile", inputs, outputs, constants)
    return make_model(graph, opset_imports=[make_opsetid("", 17)], ir_version=8).SerializeToString()
