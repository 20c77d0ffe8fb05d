"""[shokri2019, Figure 5, section 4.4]: does the gradient's 1-norm tell membership, by number of features and classes."""

from __future__ import annotations

from collections.abc import Sequence

from leakscope import plots
from leakscope.core.estimate import Estimate
from leakscope.papers import shokri_dimensions
from leakscope.papers.reproduction import Reproduction
from leakscope.papers.shokri_dimensions import ALMOST_NONE, Effort, Row, at, magnitude
from leakscope.papers.trends import shown
from leakscope.worlds import Progress

ID = "shokri-fig5"
TITLE = "Membership and the 1-norm of the gradient, by number of features"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, section 4.4 and Figure 5",
    "statement": (
        "Almost no correlation up to 100 features; a correlation from 1,000 to 10,000, which decreases in the end. Two "
        "classes: training and test accuracy near 100 % for few features, the test accuracy drops from about 100 on, the "
        "training accuracy from 1,000 on. 100 classes: the test accuracy is always low, and the training accuracy is high "
        "only from 1,000 to 10,000."
    ),
    "numbers": "The extracted text of the paper has no numbers of this figure: its statements are compared.",
}
#: The paper has 6,000 features too: they are close to 5,000 and would take a fifth of the time.
FULL = {
    "features": (1, 2, 5, 10, 14, 20, 50, 100, 127, 200, 500, 600, 1000, 2000, 3072, 5000, 10_000),
    "classes": (2, 100),
    "points": 20_000,
    "epochs": 100,
    "networks": 3,
}
QUICK = {"features": (2, 20, 1200), "classes": (2, 20), "points": 1000, "epochs": 20, "networks": 3}

FEW, MANY = 100, 1000  # features: up to so many no correlation, from so many on one
HIGH, LOW = 0.95, 0.5  # accuracies


def run(
    features: Sequence[int],
    classes: Sequence[int],
    points: int,
    epochs: int,
    networks: int,
    seed: int = 0,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Reproduction:
    """Train networks at every number of features and classes."""
    effort = Effort(points, epochs, networks)
    rows = shokri_dimensions.study(
        ID, features, classes, ("base",), effort, seed=seed, progress=progress, workers=workers
    )
    words = shokri_dimensions.summary([part for k in classes for part in _statements(k, rows)])
    return Reproduction(
        id=ID,
        title=TITLE,
        settings=shokri_dimensions.settings(features, classes, ("base",), effort, seed),
        columns=shokri_dimensions.COLUMNS,
        rows=shokri_dimensions.table(rows, features, classes),
        paper=PAPER,
        verdict=words,
        svg=plots.stacked(TITLE, words, [_correlations(rows, classes), *(_accuracies(rows, k) for k in classes)]),
    )


# --- the statements of the paper, each with whether the intervals show it -----------------------------------------------


def _statements(classes: int, rows: Sequence[Row]) -> list[tuple[bool, str]]:
    """All that can be said of one number of classes; a statement about rows that are not there is left out."""
    rows = [row for row in rows if row.classes == classes]
    few, many = [row for row in rows if row.features <= FEW], [row for row in rows if row.features >= MANY]
    name = f"{classes} classes: "
    found = []
    if few:
        most = max(few, key=lambda row: magnitude(row.correlation).low)
        said = f"{name}almost no correlation up to {FEW} features, at most {at(most, most.correlation)}, AUC {shown(most.auc)}"
        found.append((magnitude(most.correlation).low <= ALMOST_NONE, said))
    if many:
        strongest, last = max(many, key=lambda row: magnitude(row.correlation).value), many[-1]
        said = f"{name}a correlation from {MANY:,} features on, {at(strongest, strongest.correlation)}, AUC {shown(strongest.auc)}"
        found.append((magnitude(strongest.correlation).low > ALMOST_NONE, said))
    if len(many) > 1:
        said = f"{name}it decreases in the end, {at(last, last.correlation)}"
        found.append((magnitude(last.correlation).high < magnitude(strongest.correlation).low, said))
    if few and many:
        found += _two_classes(name, few, many) if classes == 2 else _more_classes(name, rows, many)
    return found


def _two_classes(name: str, few: Sequence[Row], many: Sequence[Row]) -> list[tuple[bool, str]]:
    worst = min(few, key=lambda row: row.test_accuracy.value)
    first, last = many[0], many[-1]
    found = [
        (
            min(worst.train_accuracy.high, worst.test_accuracy.high) > HIGH,
            f"{name}training and test accuracy are near 1 up to {FEW} features, test at least "
            f"{at(worst, worst.test_accuracy)}",
        ),
        (
            last.test_accuracy.high < few[-1].test_accuracy.low,
            f"{name}the test accuracy drops from {at(few[-1], few[-1].test_accuracy)} to {at(last, last.test_accuracy)}",
        ),
    ]
    if len(many) > 1:
        said = f"{name}the training accuracy drops from {at(first, first.train_accuracy)} to {at(last, last.train_accuracy)}"
        found.append((last.train_accuracy.high < first.train_accuracy.low, said))
    return found


def _more_classes(name: str, rows: Sequence[Row], many: Sequence[Row]) -> list[tuple[bool, str]]:
    best = max(rows, key=lambda row: row.test_accuracy.value)
    below = max((row for row in rows if row not in many), key=lambda row: row.train_accuracy.value)
    highest = max(many, key=lambda row: row.train_accuracy.value)
    return [
        (
            best.test_accuracy.high < LOW,
            f"{name}the test accuracy is always low, at most {at(best, best.test_accuracy)}",
        ),
        (
            highest.train_accuracy.low > max(LOW, below.train_accuracy.high),
            f"{name}the training accuracy is high only from {MANY:,} features on, {at(highest, highest.train_accuracy)} "
            f"against {at(below, below.train_accuracy)}",
        ),
    ]


# --- figures ------------------------------------------------------------------------------------------------------------


def _correlations(rows: Sequence[Row], classes: Sequence[int]) -> str:
    series = {f"{k} classes": [(row.features, row.correlation) for row in rows if row.classes == k] for k in classes}
    return _lines("Correlation of membership and ‖∇c‖₁", series, "Pearson's coefficient")


def _accuracies(rows: Sequence[Row], classes: int) -> str:
    ours = [row for row in rows if row.classes == classes]
    series = {
        "training": [(row.features, row.train_accuracy) for row in ours],
        "test": [(row.features, row.test_accuracy) for row in ours],
    }
    return _lines(f"Accuracy of the network, {classes} classes", series, "Accuracy")


def _lines(title: str, series: dict[str, list[tuple[int, Estimate]]], y_label: str) -> str:
    points: dict[str, list[tuple[float, Estimate | None]]] = {name: list(found) for name, found in series.items()}
    return plots.lines(title, title, points, x_label="Features", y_label=y_label, logarithmic_y=False)
