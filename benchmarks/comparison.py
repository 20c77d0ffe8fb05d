"""A ten-way comparison against ten separate audits with the same attacks: Adult, logistic regression, 24,421 records on each side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leakscope as ls
from benchmarks.measure import Line, ratio, seconds
from leakscope import defenses
from leakscope.models.target import Model, TrainingRecipe

DEFENSES = (
    defenses.L2([0.001, 0.01, 0.1]),
    defenses.FewerFeatures([0.5]),
    defenses.ParameterNoise([1.0, 4.0]),
    defenses.Rounding([1]),
    defenses.Temperature([2.0, 5.0]),
    defenses.LabelOnly(),
)

ATTACKS = (*ls.attacks.ATTACKS["classification"], ls.attacks.label_only())


def run() -> Iterator[Line]:
    adult = ls.datasets.load("adult")
    half = len(adult.y) // 2
    order = np.random.default_rng(0).permutation(len(adult.y))
    (X, y), (other, other_y) = (
        (adult.X.iloc[rows].reset_index(drop=True), np.asarray(adult.y)[rows]) for rows in (order[:half], order[half:])
    )
    encode = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=500)).fit(X, y)
    target = ls.make_target(model, (X, y), (other, other_y))

    def audits() -> None:
        for defense in DEFENSES:
            for setting in defense.settings:
                version = defenses.apply(defense, target, setting)
                learner = version.learner
                fit = None if learner is None else _Again(learner, model)
                ls.audit(version.model, (X, y), (other, other_y), fit=fit, attacks=ATTACKS)

    def compare() -> None:
        ls.compare(target, defenses=DEFENSES, references=0)

    compare()  # imports
    value, detail = ratio(compare, audits, rounds=1)
    yield Line("ten-way comparison without shadow models, against ten separate audits", value, 1.0, detail=detail)
    took = seconds(lambda: ls.compare(target, defenses=DEFENSES))
    yield Line("ten-way comparison with eight shadow models for each learner", took, 120.0, unit="s")


class _Again:
    """A learner as the ``fit`` of an audit, which gives labels and not their codes."""

    def __init__(self, learner: TrainingRecipe, model: object) -> None:
        self.learner, self.classes = learner, model.classes_

    def __call__(self, X: object, y: np.ndarray, rng: np.random.Generator) -> Model:
        return self.learner.fit(X, np.searchsorted(self.classes, y), rng)
