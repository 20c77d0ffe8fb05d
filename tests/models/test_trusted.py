"""Types of scikit-learn, scipy and numpy load from skops files without trust; everything else is asked for."""

import importlib
import io
import json
import zipfile
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import skops.io
from hostile_files import X, decision_tree, node, y, zipped
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.feature_selection import SelectKBest, chi2, f_classif, mutual_info_classif
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, TweedieRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

from leakscope.core.errors import InputError
from leakscope.models.files import load_model
from leakscope.models.structure import StructureError, check_structure
from leakscope.models.trusted import KNOWN, known_types

PAIR = (y > 0).astype(int)
FRAME = pd.DataFrame({"size": X[:, 0], "kind": pd.Categorical(np.where(X[:, 1] > 0.7, "a", "b")), "age": X[:, 2]})


def columns():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer((OneHotEncoder(), ["kind"]), (numbers, make_column_selector(dtype_include=float)))


@pytest.mark.parametrize(
    ("model", "records"),
    [
        (make_pipeline(columns(), RandomForestClassifier(3, random_state=0)), FRAME),
        (HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3), FRAME),
        (GridSearchCV(RandomForestClassifier(2, random_state=0), {"max_depth": [2, 3]}, cv=2, scoring="roc_auc"), X),
        (CalibratedClassifierCV(RandomForestClassifier(2, random_state=0), method="isotonic", cv=2), X),
        (CalibratedClassifierCV(LogisticRegression(), cv=2), X),
        (StackingClassifier([("trees", RandomForestClassifier(2, random_state=0))], cv=2), X),
        *[(KNeighborsClassifier(algorithm=kind, p=p), X) for kind in ("kd_tree", "ball_tree") for p in (1, 2, 3)],
        *[(make_pipeline(SelectKBest(test, k=2), LogisticRegression()), X) for test in (f_classif, chi2)],
        (make_pipeline(SelectKBest(mutual_info_classif, k=2), LogisticRegression()), X),
        (make_pipeline(KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), LogisticRegression()), X),
        (make_pipeline(SplineTransformer(), LogisticRegression()), X),
        (GaussianProcessClassifier(1.0 * Matern() + WhiteKernel(), optimizer=None), X),
        (MLPClassifier((3,), max_iter=200, tol=0.1), X),
        (TweedieRegressor(), X),
        (LogisticRegression().fit(X, PAIR).sparsify(), X),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_models_of_scikit_learn_need_no_trust(tmp_path, model, records):
    if not hasattr(model, "coef_"):
        model.fit(records, PAIR)
    skops.io.dump(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    assert np.array_equal(loaded.predict(records), model.predict(records))


def test_known_names_exist():
    """A name with another spelling would trust nothing; some exist in other versions of scikit-learn and scipy only."""
    found = 0
    names = [name for known in KNOWN.values() for name in known]
    for name in names:
        module, _, last = name.rpartition(".")
        try:
            found += hasattr(importlib.import_module(module), last)
        except ModuleNotFoundError:
            assert "_lib.array_api_compat" in name
    assert found >= len(names) - 5


def renamed(content, old, **fields):
    """Bytes of a skops file in which the nodes of one type have other fields."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}

    def change(part):
        if isinstance(part, dict):
            changed = {name: change(value) for name, value in part.items()}
            return changed | fields if part.get("__class__") == old else changed
        return [change(value) for value in part] if isinstance(part, list) else part

    return zipped(parts | {"schema.json": json.dumps(change(json.loads(parts["schema.json"])))})


@pytest.mark.parametrize("loader", ["FunctionNode", "TypeNode", "ObjectNode", "ConstructorFromReduceNode"])
def test_a_known_type_is_accepted_from_its_own_loader_only(tmp_path, loader):
    inner = node("Tree", "sklearn.tree._tree", loader, content=node("tuple", "builtins", "TupleNode", content=[]))
    schema = node("list", "builtins", "ListNode", content=[inner])
    path = tmp_path / "model.skops"
    path.write_bytes(zipped({"schema.json": json.dumps(schema)}))
    assert known_types(path.read_bytes()) == []
    with pytest.raises(InputError, match=r"sklearn\.tree\._tree\.Tree"):
        load_model(path)


def test_one_wrong_use_of_a_type_withdraws_all():
    content = skops.io.dumps([decision_tree(), decision_tree()])
    assert known_types(content) == ["sklearn.tree._tree.Tree"]
    assert known_types(renamed(content, "Tree", __loader__="ObjectNode")) == []


@pytest.mark.parametrize("name", ["numpy.save", "numpy.load", "sklearn.cluster._kmeans._kmeans_single_lloyd"])
def test_other_functions_are_asked_for(tmp_path, name):
    module, _, last = name.rpartition(".")
    schema = skops.io.dumps(FunctionTransformer(np.save))
    path = tmp_path / "model.skops"
    path.write_bytes(renamed(schema, "save", __class__=last, __module__=module))
    with pytest.raises(InputError, match=f"--trust {name} "):
        load_model(path)


def test_all_types_are_asked_for_in_one_line_to_copy(tmp_path):
    functions = [np.save, np.load, np.savez, np.loadtxt, np.genfromtxt]
    skops.io.dump([FunctionTransformer(function) for function in functions], tmp_path / "model.skops")
    with pytest.raises(InputError) as caught:
        load_model(tmp_path / "model.skops")
    words = str(caught.value).split()
    trust = [after for word, after in pairwise(words) if word == "--trust"]
    assert "\n" not in str(caught.value)
    assert len(load_model(tmp_path / "model.skops", trust=trust)) == len(functions)


def test_what_a_mask_hides_is_checked():
    hidden = np.ma.MaskedArray(np.array([decision_tree(feature=(0, 10**8))], dtype=object), mask=[True])
    with pytest.raises(StructureError):
        check_structure([hidden])


def spline(**attributes):
    model = SplineTransformer().fit(X)
    own = vars(model.bsplines_[0])
    own.update({f"_{name}" if f"_{name}" in own else name: value for name, value in attributes.items()})
    return model


def search_tree(metric):
    model = KNeighborsClassifier(algorithm="ball_tree", p=3).fit(X, y)
    state = list(model._tree.__getstate__())
    state[11] = metric
    model._tree.__setstate__(tuple(state))
    return model


def weighted():
    from sklearn.metrics import DistanceMetric

    return DistanceMetric.get_metric("minkowski", p=3, w=np.ones(2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: spline(t=np.zeros(2)),
        lambda: spline(t=np.ma.MaskedArray(np.arange(12.0), True)),
        lambda: spline(t=np.full(12, np.nan)),
        lambda: spline(c=np.zeros((2, 7))),
        lambda: spline(k=10**8),
        lambda: spline(derivative=np.multiply),
        lambda: search_tree(weighted()),
        lambda: sparse.csr_matrix((np.ones(1), np.array([10**6]), np.array([0, 1])), shape=(1, 2)),
    ],
)
def test_types_that_need_no_trust_are_validated(make):
    with pytest.raises((StructureError, ValueError)):
        check_structure(make())
