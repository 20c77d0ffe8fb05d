"""[shokri2019, Figure 5, section 4.4]: does the gradient's 1-norm reveal membership, by number of features and classes."""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Claim
from leakscope.papers import panels
from leakscope.papers.reproduction import Reproduction, Work, statement
from leakscope.papers.shokri_dimensions import ALMOST_NONE, MEASURES, SizeEffort, SizeRow, figure, magnitude
from leakscope.papers.trends import between, every, less

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


def run(work: Work, features: Sequence[int], classes: Sequence[int], **effort: int) -> Reproduction:
    """Train networks at every number of features and classes."""
    return figure(work, features, classes, ("base",), SizeEffort(**effort), _statements, _figures)


def _statements(classes: int, rows: Sequence[SizeRow]) -> list[Claim]:
    """All that can be stated of one number of classes; a statement about rows that are not there is left out."""
    rows = [row for row in rows if row.classes == classes]
    few, many = [row for row in rows if row.features <= FEW], [row for row in rows if row.features >= MANY]
    name = f"{classes} classes: "
    found = []
    if few:
        most = max(few, key=lambda row: magnitude(row.correlation).low)
        none = magnitude(most.correlation).low <= ALMOST_NONE
        said = f"{name}almost no correlation up to {FEW} features"
        found.append(statement(said, none, {most.place: most.correlation, f"AUC, {most.place}": most.auc}))
    if many:
        strongest, last = max(many, key=lambda row: magnitude(row.correlation).value), many[-1]
        said = f"{name}a correlation from {MANY:,} features on"
        figures = {strongest.place: strongest.correlation, f"AUC, {strongest.place}": strongest.auc}
        found.append(statement(said, between(magnitude(strongest.correlation), ALMOST_NONE), figures))
    if len(many) > 1:
        holds = less(magnitude(last.correlation), magnitude(strongest.correlation))
        found.append(statement(f"{name}the correlation decreases in the end", holds, {last.place: last.correlation}))
    if few and many:
        found += _two_classes(name, few, many) if classes == 2 else _more_classes(name, rows, many)
    return found


def _two_classes(name: str, few: Sequence[SizeRow], many: Sequence[SizeRow]) -> list[Claim]:
    worst = min(few, key=lambda row: row.test_accuracy.value)
    before, first, last = few[-1], many[0], many[-1]
    high = every([between(one, HIGH) for one in (worst.train_accuracy, worst.test_accuracy)])
    found = [
        statement(
            f"{name}training and test accuracy are near 1 up to {FEW} features",
            high,
            {f"training, {worst.place}": worst.train_accuracy, f"test, {worst.place}": worst.test_accuracy},
        ),
        statement(
            f"{name}the test accuracy drops",
            less(last.test_accuracy, before.test_accuracy),
            {before.place: before.test_accuracy, last.place: last.test_accuracy},
        ),
    ]
    if len(many) > 1:
        ends = {first.place: first.train_accuracy, last.place: last.train_accuracy}
        holds = less(last.train_accuracy, first.train_accuracy)
        found.append(statement(f"{name}the training accuracy drops", holds, ends))
    return found


def _more_classes(name: str, rows: Sequence[SizeRow], many: Sequence[SizeRow]) -> list[Claim]:
    best = max(rows, key=lambda row: row.test_accuracy.value)
    below = max((row for row in rows if row not in many), key=lambda row: row.train_accuracy.value)
    highest = max(many, key=lambda row: row.train_accuracy.value)
    only = every([between(highest.train_accuracy, LOW), less(below.train_accuracy, highest.train_accuracy)])
    figures = {highest.place: highest.train_accuracy, below.place: below.train_accuracy}
    return [
        statement(
            f"{name}the test accuracy is always low",
            between(best.test_accuracy, high=LOW),
            {best.place: best.test_accuracy},
        ),
        statement(f"{name}the training accuracy is high only from {MANY:,} features on", only, figures),
    ]


def _figures(rows: Sequence[SizeRow]) -> list[panels.Panel]:
    """The correlation, and for each number of classes the accuracies."""
    by_classes = {k: [row for row in rows if row.classes == k] for k in dict.fromkeys(row.classes for row in rows)}
    series = {f"{k} classes": [(row.features, row.correlation) for row in ours] for k, ours in by_classes.items()}
    found = [("Correlation of membership and ‖∇c‖₁", "Pearson's coefficient", series)]
    for k, ours in by_classes.items():
        training, test = ([(row.features, getattr(row, name)) for row in ours] for name in MEASURES[2:])
        found.append((f"Accuracy of the network, {k} classes", "Accuracy", {"training": training, "test": test}))
    return [panels.lines(title, ("Features", y_label), of) for title, y_label, of in found]
