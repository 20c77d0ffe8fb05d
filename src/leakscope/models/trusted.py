"""Types in skops files that are loaded without ``--trust``, in addition to those that skops knows to be safe.

`models.structure` validates their content, or they hold plain values that Python and numpy use with bounds checks. A
type is accepted only from the loader of skops that writes it: a tree as a tree, and not as a function to call.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any


def _names(module: str, names: str) -> Iterator[str]:
    return (f"{module}.{name}" for name in names.split())


_METRICS = [
    f"{name}Distance{bits}" for name in ("Euclidean", "Manhattan", "Chebyshev", "Minkowski") for bits in (32, 64)
]
_SCORES = "accuracy_score balanced_accuracy_score brier_score_loss f1_score log_loss precision_score recall_score"
_SPLITS = "KFold StratifiedKFold GroupKFold StratifiedGroupKFold RepeatedKFold RepeatedStratifiedKFold ShuffleSplit"
_KERNELS = (
    "ConstantKernel WhiteKernel RBF Matern RationalQuadratic ExpSineSquared DotProduct Sum Product Exponentiation"
)
_TESTS = "f_classif f_regression chi2"

#: Names of types and functions by the loader that may create them.
KNOWN: dict[str, frozenset[str]] = {
    loader: frozenset(names)
    for loader, names in {
        # checked by `models.structure_trees`
        "TreeNode": ["sklearn.tree._tree.Tree"],
        "ObjectNode": [
            "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
            # checked by `models.structure_neighbours`
            *_names("sklearn.neighbors._kd_tree", "KDTree KDTree32 KDTree64"),
            *_names("sklearn.neighbors._ball_tree", "BallTree BallTree32 BallTree64"),
            *_names("sklearn.metrics._dist_metrics", " ".join(_METRICS)),
            # checked by `models.structure`
            "scipy.interpolate._bsplines.BSpline",
            # Python code on plain values
            *_names("sklearn.calibration", "_CalibratedClassifier _SigmoidCalibration"),
            *_names("sklearn.compose._column_transformer", "make_column_selector _RemainderColsList"),
            *_names("sklearn._loss.loss", "HalfTweedieLoss HalfTweedieLossIdentity"),
            "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
            *_names("sklearn.gaussian_process.kernels", _KERNELS),
            *_names("sklearn.metrics._scorer", "_PassthroughScorer _Scorer"),
            *_names("sklearn.model_selection._split", f"{_SPLITS} StratifiedShuffleSplit TimeSeriesSplit"),
            *_names("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer SGDOptimizer"),
        ],
        "DictNode": ["sklearn.utils._bunch.Bunch"],
        "DTypeNode": ["numpy.dtype"],
        "SparseMatrixNode": [
            f"scipy.sparse._{form}.{form}_{kind}"
            for form in ("csr", "csc", "coo", "bsr")
            for kind in ("matrix", "array")
        ],
        "PartialNode": ["functools.partial"],
        # functions of arrays that check them and call no unchecked code
        "FunctionNode": [
            "numpy.mean",
            "scipy._lib.array_api_compat.numpy._aliases.asarray",
            "sklearn.utils.validation.check_array",
            *_names("sklearn.feature_selection._univariate_selection", _TESTS),
            *_names("sklearn.feature_selection._mutual_info", "mutual_info_classif mutual_info_regression"),
            *_names("sklearn.metrics._classification", _SCORES),
            *_names("sklearn.metrics._ranking", "roc_auc_score average_precision_score"),
            *_names("sklearn.metrics._regression", "mean_squared_error mean_absolute_error r2_score"),
        ],
    }.items()
}


def known_types(content: bytes) -> list[str]:
    """Return the names of types in the bytes of a skops file that are safe to load, since their content is validated.

    Examples
    --------
    >>> import skops.io
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> known_types(skops.io.dumps(DecisionTreeClassifier().fit([[0], [1]], [0, 1])))
    ['sklearn.tree._tree.Tree']
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
    loaders: dict[str, set[str]] = {}
    for node in _nodes([schema]):
        loaders.setdefault(f"{node.get('__module__')}.{node.get('__class__')}", set()).add(str(node["__loader__"]))
    return sorted(name for name, used in loaders.items() if all(name in KNOWN.get(each, ()) for each in used))


def _nodes(waiting: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a schema, which can be nested to any depth."""
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and "__loader__" in part:
            yield part
        parts: Iterable[Any] = part.values() if isinstance(part, dict) else part
        waiting.extend(each for each in parts if isinstance(each, dict | list))
