r"""Components: train the model on the first principal components of the records.

With centred records in the rows of Z, the components are the eigenvectors of :math:`Z^\top Z` with the largest eigenvalues,
and a record becomes its k products with them. farokhi2020 (section 6, Figure 4) varies k: leakage grows with the number
of features. Here the components are those of the input of the pipeline's last step, without further scaling. Each training
computes them from its training records; they are part of the released model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.defenses.fewer_features import SIZES, is_size, read_size
from leakscope.defenses.retraining import NO_LEARNER, NOTHING_PROVEN, learner_of
from leakscope.models.encoding import make_encoding
from leakscope.models.target import EstimatorFit, Target


@dataclass(frozen=True)
class Components(Tunable):
    """Pass only the first principal components to the last step of the model.

    Parameters
    ----------
    components
        Number of components: a share of the last step's input columns, below 1, or a whole number from 1.

    Examples
    --------
    >>> Components([0.5, 3]).settings
    (0.5, 3)
    """

    components: Any = (0.5, 0.25)

    name: ClassVar[str] = "components"
    setting_name: ClassVar[str] = "components"
    what: ClassVar[str] = "the model is trained on a few principal components of the records"
    source: ClassVar[str] = "farokhi2020, section 6 (Figure 4)"
    allowed = Allowed("the number of components", is_size, SIZES)

    def refuse(self, target: Target) -> str | None:
        """Refuse all but scikit-learn models on numbers, or in a pipeline that encodes the records as numbers."""
        if target.learner is None:
            return NO_LEARNER
        if not isinstance(target.learner.fit, EstimatorFit):
            return "it is trained by your own function, which has no last step to change: pass a scikit-learn model"
        X = target.members.X
        if len(getattr(target.learner.fit.estimator, "steps", ())) > 1:
            try:
                width = make_encoding(target).width
            except InputError as error:
                return str(error).rstrip(".")
        elif X.ndim != 2 or not _holds_numbers(X):
            return "its records are not all numbers: combine the encoder and the model in one pipeline"
        else:
            width = X.shape[1]
        most = max(self.settings)
        return f"its last step has {width} input columns, fewer than the {most:g} components" if most > width else None

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train with principal components before the last step."""
        learner = learner_of(self, target)
        recipe: Any = learner.fit
        fit = replace(recipe, estimator=with_components(recipe.estimator, float(setting)))
        return Defended(make_learner(learner.name, fit), notes=(NOTHING_PROVEN,))


def with_components(estimator: Any, setting: float) -> Any:
    """Clone an estimator and insert principal components before its last step.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> list(with_components(Ridge(), 0.5).named_steps)
    ['dense', 'components', 'first', 'last']
    """
    from sklearn.base import clone
    from sklearn.decomposition import PCA
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    whole = clone(estimator)
    steps = getattr(whole, "steps", [("last", whole)])
    name, last = steps[-1]
    if hasattr(last, "steps"):
        return whole.set_params(**{name: with_components(last, setting)})
    before = [(f"before_{place}", step) for place, (_, step) in enumerate(steps[:-1])]
    return Pipeline(
        [
            *before,
            ("dense", FunctionTransformer(_dense)),
            ("components", PCA(svd_solver="covariance_eigh")),
            ("first", FunctionTransformer(_first, kw_args={"setting": setting})),
            ("last", last),
        ]
    )


def _dense(table: Any) -> NDArray[np.float64]:
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)


def _first(scores: NDArray[np.float64], setting: float) -> NDArray[np.float64]:
    """Return the first components; a share refers to all components: the columns, or the records if these are fewer."""
    return scores[:, : read_size(setting, scores.shape[1])]


def _holds_numbers(X: Any) -> bool:
    kinds = X.dtypes if isinstance(X, pd.DataFrame) else [X.dtype]
    return all(pd.api.types.is_numeric_dtype(kind) for kind in kinds)
