"""Linear models by which a defense replaces another are explained as scikit-learn's are."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import leakscope as ls
from leakscope.models.encoding import linear_model, make_encoding
from leakscope.releases.feature_explanations import METHODS, explain_model, parse


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_as_the_pipeline_with_the_same_parameters(method, classes):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(60, 4))
    y = rng.integers(0, classes, 60) if classes else X[:, 0] + rng.normal(size=60)
    model = make_pipeline(StandardScaler(), LogisticRegression() if classes else Ridge()).fit(X, y)
    target = ls.make_target(model, (X[:30], y[:30]), (X[30:], y[30:]))
    last = model[-1]
    coefficients, intercept = np.atleast_2d(last.coef_).T, np.atleast_1d(last.intercept_)
    made = linear_model(target, "the same", make_encoding(target), coefficients, intercept)
    np.testing.assert_allclose(made.predict(X), target.model.predict(X), atol=1e-12)
    how = parse(method)
    np.testing.assert_allclose(explain_model(made, X, how), explain_model(target.model, X, how), atol=1e-9)
