"""Leakage under a penalty on leakage and under plain l2, at equal loss or accuracy: the tables of the documentation.

    LEAKSCOPE_DATA=... python -m benchmarks.leakage_penalty [name of a data set ...]

In each draw a universe of records is sampled from a data set, and the remaining records are held out. Leakage is measured by the package's own
`membership_leakage` on training sets from the universe, loss and accuracy on the held-out records. A penalty
is compared with the l2 that leaks least among those with no higher utility loss, interpolated on a logarithmic scale. It is
chosen from the means over all draws, and the difference is paired by draw, with Student's 95 % interval.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from leakscope.data import datasets
from leakscope.learners import Logistic, Ridge
from leakscope.learners.leakage_penalty import LeakagePenalised
from leakscope.studies.leakage import membership_leakage

DRAWS, UNIVERSE, SIZE = 20, 240, 60
RECORDS, SETS, MODELS = 24, 80, 60
WEIGHTS, BASE = (0.2, 0.5), 0.01
L2 = tuple(np.geomspace(1e-3, 10.0, 9))
NOISE = 0.2
COLUMNS = 5
FIGURES = ("mean", "worst", "attack", "mean, noise", "worst, noise")


class PenaltyData(NamedTuple):
    """Records, labels and the plain learner."""

    X: Any
    y: Any
    learner: Any


def data_sets() -> dict[str, Any]:
    return {
        "Gaussian": lambda: _linear(np.random.default_rng(1).standard_normal),
        "heavy tails": lambda: _linear(lambda shape: np.random.default_rng(1).standard_t(3, shape)),
        "diabetes": _diabetes,
        "breast cancer": _breast_cancer,
        "Adult": _adult,
    }


def _linear(draw: Any) -> PenaltyData:
    values = draw((20_000, COLUMNS + 1))
    X, errors = values[:, :-1], values[:, -1]
    return PenaltyData(X, X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0]) + errors, Ridge)


def _components(X: Any) -> Any:
    """The first principal components of the standardised columns, each of variance one."""
    table = np.asarray(X, np.float64)
    left = np.linalg.svd((table - table.mean(axis=0)) / table.std(axis=0), full_matrices=False)[0]
    return left[:, :COLUMNS] * math.sqrt(len(left))


def _diabetes() -> PenaltyData:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return PenaltyData(_components(X), (y - y.mean()) / y.std(), Ridge)


def _breast_cancer() -> PenaltyData:
    data = datasets.load("breast_cancer")
    return PenaltyData(_components(data.X), np.asarray(data.y), Logistic)


def _adult() -> PenaltyData:
    data = datasets.load("adult", preparation="codes")
    return PenaltyData(_components(data.X), np.asarray(data.y), Logistic)


def measure(data: PenaltyData, learner: Any, draw: int) -> dict[str, float]:
    """Leakage, loss and accuracy of a learner in one draw."""
    order = np.random.default_rng((7, draw)).permutation(len(data.y))
    inside, outside = order[:UNIVERSE], order[UNIVERSE : UNIVERSE + 5000]
    found = {}
    with tempfile.TemporaryDirectory() as cache:  # with noise, the models are the same
        for name, noise in (("", 0.0), (", noise", NOISE)):
            leakage = membership_leakage(
                learner, data.X[inside], data.y[inside], SIZE, RECORDS, SETS, noise, seed=draw, workers=1, cache=cache
            )
            found |= {f"mean{name}": leakage.rho_kl.value, f"worst{name}": leakage.point.rho_kl_worst.value}
            found |= {"attack": leakage.attack.value} if not noise else {}
    made, X, y = learner.prepare(data.X, data.y)
    sets = [np.random.default_rng((8, draw, model)).choice(inside, SIZE, replace=False) for model in range(MODELS)]
    models = made.fit_many(X, y, sets, [])
    losses = np.mean([made.losses(model, X[outside], y[outside]).mean() for model in models])
    found |= {"loss": float(losses)}
    if made.task == "classification":
        wrong = [((made.outputs(model, X[outside])[:, 0] > 0) != y[outside]).mean() for model in models]
        found |= {"error rate": float(np.mean(wrong))}
    return found


def compare(plain: dict[str, Any], penalised: dict[str, Any], cost: str, figure: str) -> tuple[float, Any]:
    """Give the l2 that leaks least at no higher utility loss, from mean curves, and the paired differences (penalty less l2)."""
    place, fine = np.log(L2), np.linspace(math.log(L2[0]), math.log(L2[-1]), 400)
    costs, leaks = (np.interp(fine, place, plain[name].mean(axis=1)) for name in (cost, figure))
    allowed = costs <= max(penalised[cost].mean(), costs.min())
    best = fine[np.flatnonzero(allowed)[leaks[allowed].argmin()]]
    there = np.array([np.interp(best, place, column) for column in plain[figure].T])
    return math.exp(best), penalised[figure] - there


def interval(values: Any) -> str:
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    low, high = values.mean() - half, values.mean() + half
    sign = "" if low <= 0 <= high else " *"
    return f"{values.mean():+.3f} [{low:+.3f}, {high:+.3f}]{sign}"


def study(name: str) -> Iterator[str]:
    """Give the lines of text for one data set."""
    data = data_sets()[name]()
    learners = [data.learner(l2) for l2 in L2]
    learners += [LeakagePenalised(data.learner(BASE), weight) for weight in WEIGHTS]
    rows = [[measure(data, learner, draw) for draw in range(DRAWS)] for learner in learners]
    table = {figure: np.array([[one[figure] for one in row] for row in rows]) for figure in rows[0][0]}
    floor = (COLUMNS + 1) / (SIZE * (1 - SIZE / UNIVERSE))
    yield f"{name}: {DRAWS} draws, {SIZE} of {UNIVERSE} records; first-order mean leakage {floor:.3f}"
    for row, learner in enumerate(learners):
        means = ", ".join(f"{figure} {values[row].mean():.3f}" for figure, values in table.items())
        yield f"  {learner.name}, l2 {learner.l2:.3g}: {means}"
    plain = {figure: values[: len(L2)] for figure, values in table.items()}
    for row, weight in enumerate(WEIGHTS, start=len(L2)):
        penalised = {figure: values[row] for figure, values in table.items()}
        for cost in [name for name in ("loss", "error rate") if name in table]:
            best = int(plain[cost].mean(axis=1).argmin())
            yield f"  κ {weight:g} less l2 {L2[best]:.3g}, the best of it: {cost} {interval(penalised[cost] - plain[cost][best])}"
            for figure in FIGURES:
                l2, differences = compare(plain, penalised, cost, figure)
                yield f"  κ {weight:g} less l2 {l2:.3g} at equal {cost}: {figure} {interval(differences)}"


if __name__ == "__main__":
    for chosen in sys.argv[1:] or data_sets():
        for line in study(chosen):
            print(line, flush=True)
