"""Data sets that scikit-learn includes or generates: breast_cancer, digits and make_classification."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.data.datasets.dataset import Dataset, Description, no_groups


def read_breast_cancer(description: Description) -> Dataset:
    """Load 569 tumours with 30 measurements each; label 0 malignant, 1 benign."""
    from sklearn.datasets import load_breast_cancer

    table, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    return Dataset(description, table, labels.to_numpy(np.int64), no_groups(table.index), tuple(table.columns))


def read_digits(description: Description) -> Dataset:
    """Load 1,797 digits of 64 pixels with values 0 to 16."""
    from sklearn.datasets import load_digits

    table, labels = load_digits(return_X_y=True, as_frame=True)
    return Dataset(description, table, labels.to_numpy(np.int64), no_groups(table.index))


def make_classification(
    description: Description, *, samples: int = 20_000, features: int = 20, classes: int = 2, seed: int = 0
) -> Dataset:
    """Generate Gaussian classes around different corners of a hypercube with ``features`` dimensions [shokri2019, 4.3].

    Every feature is informative and every class has one corner; 1 % of the labels are random (default of scikit-learn).
    """
    from sklearn.datasets import make_classification

    check_count("features", features)
    check_count("classes", classes, 2)
    check_count("samples", samples, classes)
    if classes > 2**features:
        raise InputError(f"classes={classes} needs as many corners of a hypercube: pass features= above {features}")
    values, labels = make_classification(
        samples,
        features,
        n_informative=features,
        n_redundant=0,
        n_clusters_per_class=1,
        n_classes=classes,
        random_state=seed,
    )
    table = pd.DataFrame(values, columns=[f"feature_{number}" for number in range(1, features + 1)])
    return Dataset(description, table, labels.astype(np.int64), no_groups(table.index))
