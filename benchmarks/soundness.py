"""False "leaks" of the whole default audit on models that were not trained on the members, and its power on those that were.

``python -m benchmarks.soundness 0 4`` runs the seeds 0 to 3 and prints after each the counts so far; names of designs may follow. Each audit
is one combination of

- a design: *default*; *function*, a model that can't be trained again; *unequal*, 700 members and 220 held-out records; *split*, with
  ``random_split``; *rounded*, answers with one decimal; *persons*, two similar rows per person; *private*, parameters with noise;
  *deep*, a network of two hidden layers, trained to the end; *large*, 2,500 records a side; *proven*, training with a proof of
  differential privacy, ε = 8 and δ = 10⁻⁵ (Adult only);
- a data set and a learner, of which *few epochs*, *strong penalty* and *large leaves* gain much from more records;
- a condition: *fair*; *noisy*, one held-out label in ten is wrong; *shift*, noise is added to the held-out features;
- a target that was trained on the members, or on other records.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import leakscope as ls
from leakscope.core.threads import one_thread


class Rounded(LogisticRegression):
    """Predictions with one decimal."""

    def predict_proba(self, X: Any) -> Any:
        rounded = super().predict_proba(X).round(1) + 1e-3
        return rounded / rounded.sum(axis=1, keepdims=True)


class Noisy(LogisticRegression):
    """Parameters with Gaussian noise, drawn in each training."""

    def fit(self, X: Any, y: Any) -> Noisy:
        super().fit(X, y)
        rng = np.random.default_rng(self.random_state)
        self.coef_ = self.coef_ + rng.normal(0, 0.3, self.coef_.shape)
        return self


DESIGNS = ("default", "function", "unequal", "split", "rounded", "persons", "private", "deep", "large", "proven")
CONDITIONS = ("fair", "noisy", "shift")
CLASSIFIERS = {
    "logistic": LogisticRegression(max_iter=300),
    "forest": RandomForestClassifier(20),
    "large leaves": RandomForestClassifier(20, min_samples_leaf=20),
    "tree": DecisionTreeClassifier(min_samples_leaf=5),
    "few epochs": MLPClassifier((32,), max_iter=8),
    "strong penalty": LogisticRegression(C=0.01, max_iter=300),
}
#: Designs with a learner of their own.
SPECIAL = {
    "rounded": Rounded(max_iter=300),
    "private": Noisy(max_iter=300),
    "deep": MLPClassifier((64, 64), max_iter=200),
}
#: Learners of the design *proven*; DP-SGD trains the network that it defends, or a linear model.
PROVEN = {
    "objective perturbation": (ls.defenses.ObjectivePerturbation(8.0), LogisticRegression(max_iter=300)),
    "parameter noise": (ls.defenses.ParameterNoise(8.0), LogisticRegression(max_iter=300)),
    "dp-sgd, linear": (ls.defenses.DPSGD(8.0), LogisticRegression(max_iter=300)),
    "dp-sgd, network": (ls.defenses.DPSGD(8.0), MLPClassifier((16,), max_iter=20)),
}
#: Members and held-out records.
SIZES = {"unequal": (700, 220), "large": (2500, 2500)}
REGRESSORS = {"forest": RandomForestRegressor(20), "ridge": Ridge()}
#: Learners that gain more from more records than from training on a record.
DATA_HUNGRY = ("large leaves", "few epochs", "strong penalty")
#: A trained target is audited for every seed that this divides; never-trained ones for all.
TRAINED_EVERY = 4


@dataclass(frozen=True)
class Job:
    """One audit."""

    design: str
    data: str
    learner: str
    condition: str
    trained: bool


@cache
def records(data: str) -> tuple[Any, Any]:
    if data == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16, y
    adult = ls.datasets.load("adult", preparation="one-hot")
    X = adult.X.to_numpy(np.float64)
    return (X[:, 1:], 17 + 73 * X[:, 0]) if data == "age" else (X, adult.y)


def jobs(seed: int, designs: Sequence[str]) -> Iterator[Job]:
    for trained in (False, True)[: 1 if seed % TRAINED_EVERY else 2]:
        for design in designs:
            special = [design] if design in SPECIAL else list(PROVEN) if design == "proven" else None
            named = {"large": ("adult", "age"), "proven": ("adult",)}
            for data in named.get(design, ("adult", "digits", *([] if special else ["age"]))):
                for learner in special or (REGRESSORS if data == "age" else CLASSIFIERS):
                    for condition in CONDITIONS[: 1 if design == "split" else 3]:
                        yield Job(design, data, learner, condition, trained)


def run(job: Job, seed: int) -> str:
    """The kind of the verdict."""
    X, y = records(job.data)
    rng = np.random.default_rng([seed, len(X), DESIGNS.index(job.design)])
    members, held_out = SIZES.get(job.design, (440, 440))
    order = rng.permutation(len(X))
    inside, outside, other = np.split(order[: 2 * members + held_out], [members, members + held_out])
    train, holdout = (X[inside], y[inside]), _condition(X[outside], y[outside], job, rng)
    source = train if job.trained else (X[other], y[other])
    if job.design == "persons":
        train, holdout, source = (_two_rows(*part, np.random.default_rng(seed)) for part in (train, holdout, source))
    if job.design == "proven":
        return _audit_proven(source, train, holdout, job, seed)
    known = REGRESSORS if job.data == "age" else CLASSIFIERS | SPECIAL
    learner = clone(known[job.learner])
    if "random_state" in learner.get_params():
        learner.set_params(random_state=seed)
    return _audit(learner.fit(*source), train, holdout, job, seed)


def _audit(model: BaseEstimator, train: Any, holdout: Any, job: Job, seed: int) -> str:
    options: dict[str, Any] = {"workers": 1, "seed": seed, "random_split": job.design == "split"}
    audited: Any = model
    if job.design == "function":
        regression = job.data == "age"
        audited = model.predict if regression else model.predict_proba
        options["task"] = "regression" if regression else "classification"
        options["classes"] = None if regression else list(model.classes_)
    return ls.audit(audited, train, holdout, **options).verdict.kind


def _audit_proven(source: Any, train: Any, holdout: Any, job: Job, seed: int) -> str:
    """The learner is made for the records that the target was trained on."""
    defense, plain = PROVEN[job.learner]
    made = defense.defend(ls.make_target(clone(plain).fit(*source), source, holdout), 8.0).learner
    model = made.fit(*source, np.random.default_rng(seed))
    return ls.audit(model, train, holdout, fit=made.fit, workers=1, seed=seed).verdict.kind


def _condition(X: Any, y: Any, job: Job, rng: np.random.Generator) -> tuple[Any, Any]:
    if job.condition == "shift":
        return X + rng.normal(0, 0.15, X.shape), y
    if job.condition == "noisy":
        wrong = rng.random(len(y)) < 0.1
        values = y + rng.normal(0, 2 * y.std(), len(y)) if job.data == "age" else rng.permutation(y)
        return X, np.where(wrong, values, y)
    return X, y


def _two_rows(X: Any, y: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Half of the records, each with a second row that differs by a tenth of the usual distance."""
    X, y = X[: len(X) // 2], y[: len(y) // 2]
    return np.concatenate([X, X + 0.05 * rng.normal(size=X.shape) * X.std(axis=0)]), np.concatenate([y, y])


def main() -> None:
    first, stop, designs = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(DESIGNS)
    found: dict[Job, Counter[str]] = {}
    start = time.monotonic()
    warnings.simplefilter("ignore")
    for seed in range(first, stop):
        for job in jobs(seed, designs):
            with one_thread():
                found.setdefault(job, Counter())[run(job, seed)] += 1
        print(f"seed {seed}, {time.monotonic() - start:.0f} s", flush=True)
        for line in table(found):
            print(line, flush=True)


def table(found: dict[Job, Counter[str]]) -> Iterator[str]:
    """Per design, condition and kind of learner: verdicts about never-trained and about trained targets."""
    rows: dict[tuple[str, str, bool], tuple[Counter[str], Counter[str]]] = {}
    for job, counts in found.items():
        row = rows.setdefault((job.design, job.condition, job.learner in DATA_HUNGRY), (Counter(), Counter()))
        row[job.trained].update(counts)
    for (design, condition, hungry), (never, trained) in sorted(rows.items()):
        learners = "data-hungry" if hungry else "usual"
        yield f"  {design:8} {condition:5} {learners:11}  never trained {dict(never)}; trained {dict(trained)}"


if __name__ == "__main__":
    main()
