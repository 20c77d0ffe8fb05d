"""Damaged and malicious models are refused, and all valid models pass."""

import warnings

import hostile_files
import numpy as np
import pandas as pd
import pytest
import skops.io
from hostile_files import MODELS, X, y
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel
from sklearn.neighbors import KernelDensity, KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import all_estimators

from leakscope.core.errors import InputError
from leakscope.models.files import load_model
from leakscope.models.structure import StructureError, check_structure, visit

SPARSE = sparse.csr_matrix(np.where(X > 0.5, X, 0))
PAIR = (y > 0).astype(int)
FRAME = pd.DataFrame({"size": X[:, 0], "kind": pd.Categorical(np.where(X[:, 1] > 0.7, "a", "b")), "age": X[:, 2]})
TEXTS = [f"record {number} of {number % 7} words" for number in range(80)]


@pytest.mark.parametrize("fault", MODELS)
def test_a_model_with_wrong_numbers_is_refused(tmp_path, fault):
    path = tmp_path / "model.skops"
    skops.io.dump(MODELS[fault](), path)
    owner = "DecisionTreeClassifier" if fault == "tree in a forest in a pipeline" else r"[A-Z]\w+"
    with pytest.raises(InputError, match=rf"model\.skops'.*\b{owner}:") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["model.skops"]


def round_trip(model):
    content = skops.io.dumps(model)
    return skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))


def answers(model, records):
    for name in ("predict", "transform", "score_samples"):
        if hasattr(model, name):
            answer = getattr(model, name)(records)
            return answer.toarray() if sparse.issparse(answer) else answer
    raise AssertionError(model)


def test_every_classifier_and_regressor_passes():
    passed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, kind in (*all_estimators("classifier"), *all_estimators("regressor")):
            try:
                model = kind().fit(X, PAIR + 1)
            except (TypeError, ValueError):  # needs another estimator, or several targets
                continue
            check_structure(model)
            check_structure(round_trip(model))
            passed += 1
    assert passed > 60


@pytest.mark.parametrize(
    ("model", "records", "labels"),
    [
        *[(SVC(kernel=kernel), table, y) for kernel in ("linear", "poly", "rbf", "sigmoid") for table in (X, SPARSE)],
        *[(kind(), table, PAIR) for kind in (SVC, SVR, OneClassSVM) for table in (X, SPARSE, sparse.csr_array(X))],
        (NuSVC(nu=0.1), SPARSE, y),
        (SVR(epsilon=100.0), X, y),  # no support vectors
        (SVC(kernel="precomputed"), rbf_kernel(X), y),
        (SVC(kernel=chi2_kernel), X, y),
        (GradientBoostingClassifier(n_estimators=2), X, y),
        (GradientBoostingClassifier(n_estimators=2, init="zero"), X, PAIR),
        (GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()), X, y),
        (GradientBoostingRegressor(n_estimators=2, loss="quantile"), SPARSE, y),
        (HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3), FRAME, y),
        (
            HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3, categorical_features=[1]),
            np.c_[X[:, 0], y],
            PAIR,
        ),
        (DecisionTreeClassifier(ccp_alpha=0.01), np.where(X > 1.5, np.nan, X), y),
        (DecisionTreeRegressor(max_leaf_nodes=5), X, np.c_[y, PAIR]),
        (RandomForestClassifier(3, random_state=np.random.RandomState(0)), SPARSE, np.c_[y, PAIR]),
        (IsolationForest(n_estimators=3, max_features=2), X, None),
        *[(KNeighborsClassifier(algorithm=kind), X, y) for kind in ("brute", "kd_tree", "ball_tree")],
        (KNeighborsClassifier(), SPARSE, np.c_[y, PAIR]),
        (RadiusNeighborsClassifier(9.0, algorithm="brute"), X.astype(np.float32), y),
        (KernelDensity(), X, None),
        (SplineTransformer(), X, None),
        (SGDClassifier(random_state=0).fit(X, y).sparsify(), X, y),
        (make_pipeline(TfidfVectorizer(), LogisticRegression()), TEXTS, y),
        (make_pipeline(HashingVectorizer(n_features=64), SVC()), TEXTS, y),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_ordinary_settings_pass_and_predict_as_before(model, records, labels):
    if not hasattr(model, "coef_"):
        model.fit(records, labels)
    check_structure(model)
    loaded = round_trip(model)
    check_structure(loaded)
    assert np.array_equal(answers(loaded, records), answers(model, records))


def test_shared_and_circular_parts_are_visited_once():
    shared: list = [np.arange(3)]
    shared.append(shared)
    parts = [part for part, _ in visit({"a": shared, "b": (shared, np.array([shared, "text"], dtype=object))})]
    assert len([part for part in parts if part is shared]) == 1
    check_structure(shared)


def test_nesting_of_any_depth_is_visited():
    deep: list = [hostile_files.decision_tree(feature=(0, 10**8))]
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(StructureError):
        check_structure(deep)
