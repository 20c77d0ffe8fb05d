r"""What Figures 5 and 14 of shokri2019 have in common: networks on synthetic data of more and more features.

The data [shokri2019, section 4.4 and appendix D] are those of scikit-learn's ``make_classification`` with every feature
informative and one corner of a hypercube per class. A record of class c is

.. math:: x = v_c + A_c^\top z, \qquad z \sim N(0, I_n), \quad (A_c)_{ij} \sim U(-1, 1), \quad v_c \in \{-1, 1\}^n,

with a corner :math:`v_c` and a matrix :math:`A_c` for each class, drawn once; the label of one record in a hundred is
redrawn. They are generated here, in a third of the memory and time. A feature so has variance n/3, and a class its
own covariance: the number of features also sets the scale of the inputs, and it saturates tanh.

Half of the records train the network and half test it. ‖∇c(x)‖₁ is the 1-norm of the gradient of the predicted class's
probability. Its correlation with membership (1 for members, 0 for non-members) is Pearson's, 0 where all norms are equal; the
AUC is that of −‖∇c‖₁, which large norms of few records don't move.

The paper leaves open what our reading fills in:

* Batches are of 100 records, and weights start uniform on ±1/√inputs.
* A decay of 1e-7 per step lowers the rate of Adagrad by 0.1 % over a training: it is left out.
* 100 classes need 7 features, or corners are shared: scikit-learn refuses fewer, and so do we.

Intervals are Student's, over networks. Each has its own draw of the data up to ``FEATURES_OF_OWN_DRAW`` features; above,
networks share one draw and differ by training half, start and order: intervals then hold for other halves of these data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Booleans
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import mean, proportion
from leakscope.core.ranking import Ranking, split
from leakscope.core.result import Claim
from leakscope.papers.panels import Panel
from leakscope.papers.reproduction import Cell, Reproduction, Work

Size = Literal["small", "base", "big"]
Points = NDArray[Any]  # float32, which is what networks compute with
Labels = NDArray[np.intp]

#: Neurons of each hidden layer.
WIDTHS: dict[Size, tuple[int, ...]] = {"small": (5,), "base": (50, 50), "big": (100, 100, 100)}
RANDOM_LABELS = 0.01
BATCH, RATE = 100, 0.01
FEATURES_OF_OWN_DRAW = 1000
ALMOST_NONE = 0.05  # a correlation of this size counts as almost none
NUMBERS = 1 << 22  # of a matrix, or of gradients, at a time


class SizeEffort(NamedTuple):
    """How much is done: records in all, passes over the training half, and networks of each kind."""

    points: int
    epochs: int
    networks: int


class NetworkFigures(NamedTuple):
    """Of one network."""

    correlation: float
    auc: float
    train_accuracy: float
    test_accuracy: float


def draw_points(features: int, classes: int, points: int, rng: np.random.Generator) -> tuple[Points, Labels]:
    """Draw records and labels by the law of the module, class by class.

    Examples
    --------
    >>> X, y = draw_points(features=3, classes=4, points=8, rng=np.random.default_rng(0))
    >>> X.shape, y
    ((8, 3), array([0, 0, 1, 1, 2, 2, 3, 3]))
    """
    X = np.empty((points, features), np.float32)
    y = np.sort(np.arange(points) % classes)
    width = max(1, NUMBERS // features)
    for code, corner in enumerate(_corners(features, classes, rng)):
        rows = slice(*np.searchsorted(y, [code, code + 1]))
        z = rng.standard_normal((rows.stop - rows.start, features), np.float32)
        for start in range(0, features, width):
            columns = slice(start, min(start + width, features))
            mixing = 2 * rng.random((features, columns.stop - start), np.float32) - 1
            np.matmul(z, mixing, out=X[rows, columns])
        X[rows] += corner
    redrawn = rng.random(points) < RANDOM_LABELS
    y[redrawn] = rng.integers(classes, size=int(redrawn.sum()))
    return X, y


def _corners(features: int, classes: int, rng: np.random.Generator) -> Points:
    """Different corners of the hypercube, one per class; the first 30 coordinates tell them apart."""
    telling = min(features, 30)
    codes = rng.choice(2**telling, classes, replace=False)
    bits = np.column_stack(
        [codes[:, None] >> np.arange(telling) & 1, rng.integers(2, size=(classes, features - telling))]
    )
    return np.asarray(2 * bits - 1, np.float32)


# --- networks -----------------------------------------------------------------------------------------------------------


def measure(
    features: int, classes: int, sizes: Sequence[Size], effort: SizeEffort, seed: int
) -> dict[Size, list[NetworkFigures]]:
    """Draw data, train networks of each size on halves of them, and measure members and non-members; all sizes see the same."""
    from leakscope.learners import MLP

    rng = np.random.default_rng([seed, features, classes])
    draws = effort.networks if features <= FEATURES_OF_OWN_DRAW else 1
    drawn = [draw_points(features, classes, effort.points, rng) for _ in range(draws)]
    X, y = drawn[0] if draws == 1 else (np.vstack([x for x, _ in drawn]), np.hstack([labels for _, labels in drawn]))
    orders = [rng.permutation(effort.points) + effort.points * (number % draws) for number in range(effort.networks)]
    half = effort.points // 2
    found: dict[Size, list[NetworkFigures]] = {}
    for size in sizes:
        learner = MLP(
            widths=WIDTHS[size],
            steps=max(1, effort.epochs * half // BATCH),
            batch=BATCH,
            rate=RATE,
            task="classification",
            optimizer="adagrad",
            inputs=features,
            classes=classes,
        )
        rngs = [
            np.random.default_rng([seed, features, classes, *WIDTHS[size], number]) for number in range(len(orders))
        ]
        found[size] = []
        for start in range(0, len(orders), learner.chunk):
            part = slice(start, start + learner.chunk)
            models = learner.fit_many(X, y, [order[:half] for order in orders[part]], rngs[part])
            for model, order in zip(models, orders[part], strict=True):
                found[size].append(_look(learner, model, X, y, order, np.arange(len(order)) < half))
    return found


def _look(learner: Any, model: Any, X: Points, y: Labels, order: Labels, member: Booleans) -> NetworkFigures:
    """Measure a network on the records in this order, the members first."""
    from leakscope.releases.feature_explanations import explain
    from leakscope.releases.feature_explanations.scikit_networks import module_of

    module = module_of(learner, model)
    norms, right = np.empty(len(order)), np.empty(len(order), bool)
    step = max(1, NUMBERS // X.shape[1])
    for start in range(0, len(order), step):
        rows = order[start : start + step]
        block = slice(start, start + len(rows))
        norms[block] = np.abs(explain(module, X[rows], "gradient", outputs="logits")).sum(axis=1, dtype=np.float64)
        log_odds = learner.outputs(model, X[rows])  # of each class but the first, against the first
        predicted = np.where(log_odds.max(axis=1) > 0, 1 + log_odds.argmax(axis=1), 0)
        right[block] = predicted == y[rows]
    return NetworkFigures(
        correlation(norms, member),
        Ranking.of(split(-norms, member)).auc,
        float(right[member].mean()),
        float(right[~member].mean()),
    )


def correlation(values: NDArray[np.float64], member: Booleans) -> float:
    """Give Pearson's coefficient of values and membership; 0 where all values are equal.

    Examples
    --------
    >>> round(correlation(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, False])), 3)
    -0.894
    """
    spread = float(np.std(values))
    if spread == 0:
        return 0.0
    return float(np.mean((values - values.mean()) * (member - member.mean())) / (spread * np.std(member)))


# --- what is found for each number of features and classes ------------------------------------------------------------------


class SizeRow(NamedTuple):
    """Networks of one size on data with a number of features and classes."""

    features: int
    classes: int
    size: Size
    networks: int
    correlation: Estimate
    auc: Estimate
    train_accuracy: Estimate
    test_accuracy: Estimate

    @property
    def place(self) -> str:
        return f"n = {self.features:,}"


MEASURES = ("correlation", "auc", "train_accuracy", "test_accuracy")
COLUMNS = ["features", "classes", "network", *MEASURES, "networks", "note"]


def figure(
    work: Work,
    features: Sequence[int],
    classes: Sequence[int],
    sizes: Sequence[Size],
    effort: SizeEffort,
    statements: Callable[[int, Sequence[SizeRow]], list[Claim]],
    panels: Callable[[Sequence[SizeRow]], list[Panel]],
) -> Reproduction:
    """Train networks of every size at every number of features and classes, and decide statements by number of classes."""
    rows = study(work, features, classes, sizes, effort)
    return work.result(
        settings={
            "data": "make_classification of scikit-learn: every feature informative, one corner of the hypercube per class, "
            "1 % of labels random",
            "features": features,
            "classes": classes,
            "networks": {size: WIDTHS[size] for size in sizes},
            "training": f"tanh, Adagrad with rate {RATE} and no decay, batches of {BATCH}, "
            "which the paper does not state",
            **effort._asdict(),
        },
        columns=COLUMNS,
        rows=table(rows, features, classes),
        statements=[part for k in classes for part in statements(k, rows)],
        panels=panels(rows),
    )


def study(
    work: Work, features: Sequence[int], classes: Sequence[int], sizes: Sequence[Size], effort: SizeEffort
) -> list[SizeRow]:
    """Give a row for every size, number of classes and number of features, in this order."""
    jobs = [(count, k) for k in classes for count in sorted(features) if k <= 2**count]
    seed = work.seed
    answers = work.each(jobs, lambda job: measure(*job, sizes, effort, seed), cost=lambda job: job[0])
    return [_row(*job, size, found[size], effort) for size in sizes for job, found in zip(jobs, answers, strict=True)]


def table(rows: Sequence[SizeRow], features: Sequence[int], classes: Sequence[int]) -> list[list[Cell]]:
    """Give rows in the order of `COLUMNS`, followed by one for each impossible combination."""
    cells: list[list[Cell]] = [
        [row.features, row.classes, row.size, *(getattr(row, name) for name in MEASURES), row.networks,
         "networks share one draw of the data" if row.features > FEATURES_OF_OWN_DRAW else None]
        for row in rows
    ]  # fmt: skip
    for k in classes:
        for count in sorted(features):
            if k > 2**count:
                why = f"{k} classes need as many corners, and a hypercube of {count} has {2**count}"
                cells.append([count, k, *[None] * (len(COLUMNS) - 4), 0, why])
    return cells


def _row(features: int, classes: int, size: Size, found: Sequence[NetworkFigures], effort: SizeEffort) -> SizeRow:
    columns = np.array(found).T
    means = [mean(column) for column in columns]
    half = effort.points // 2
    accuracies = [_inside(means[place], columns[place], half) for place in (2, 3)]
    return SizeRow(features, classes, size, len(found), means[0], means[1], *accuracies)


def _inside(found: Estimate, shares: NDArray[np.float64], records: int) -> Estimate:
    """The interval of shares kept inside 0 and 1, and no narrower than the records alone make it."""
    least = proportion(round(float(shares.sum()) * records), records * len(shares))
    low, high = min(found.low, least.low), max(found.high, least.high)
    return Estimate(found.value, max(0.0, low), min(1.0, high), n=found.n, method="Student, over networks")


def magnitude(found: Estimate) -> Estimate:
    """Give the estimate of an absolute value.

    Examples
    --------
    >>> magnitude(Estimate(-0.3, -0.4, -0.2)), magnitude(Estimate(-0.1, -0.3, 0.1))
    (0.30 [0.20, 0.40], 0.10 [0.00, 0.30])
    """
    sides = sorted((abs(found.low), abs(found.high)))
    low = 0.0 if found.low <= 0 <= found.high else sides[0]
    return Estimate(abs(found.value), low, sides[1], found.confidence, n=found.n, method=found.method)
