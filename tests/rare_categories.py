"""Records with rare categories, as in tables of people: few of them dominate a model."""

import numpy as np
from scipy.special import expit


def rare_categories(n, seed, levels, numbers, shift=0.0):
    """One-hot columns of so many levels each, then numbers; labels are from a logistic model."""
    rng = np.random.default_rng(seed)
    parts = []
    for count in levels:
        share = np.arange(1, count + 1) ** -1.5
        parts.append(np.eye(count)[rng.choice(count, n, p=share / share.sum())])
    X = np.hstack([*parts, rng.beta(2, 5, (n, numbers))])
    scores = X @ rng.normal(0, 1.5, X.shape[1])
    return X, (rng.random(n) < expit(scores - scores.mean() + shift)).astype(int)
