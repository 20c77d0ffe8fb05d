"""The learned adversary: a small classifier tells members from non-members by what the release shows of them.

The attacker knows the membership of some records (shokri2019, section 4.1; tople2020, section 4.1, after Salem et al. 2019),
fits on those and is judged on others. What the classifier looks at:

- ``confidences``: the probabilities sorted from the largest down, without the records' labels;
- ``label and confidences``: these, the probability of the true label, and the label;
- ``loss``: the loss alone.

Probabilities enter as log-odds, since members differ from others far out in the tails.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from leakscope.attacks.logistic import Logistic
from leakscope.attacks.protocol import Attack, Evidence, Guesses, Known
from leakscope.core.arrays import Floats, Labels
from leakscope.releases.release import LOSSES

Looks = Literal["confidences", "label and confidences", "loss"]
Classifier = Literal["logistic regression", "tree", "network"]

#: More known records than this make a small classifier slower, not better.
MOST_KNOWN = 10_000
#: Classes beyond the tenth most probable say next to nothing, and are not looked at.
MOST_CONFIDENCES = 10
#: Depth of the tree. Deeper ones fit chance: on six models of `benchmarks.race` their AUC is equal or smaller, by up to 0.02.
DEEPEST = 6
SOURCES: dict[Looks, str] = {
    "confidences": "tople2020, section 4.1; Salem et al. 2019",
    "label and confidences": "shokri2019, section 4.2",
    "loss": "shokri2019, section 4.3 (loss threshold)",
}


def learned(release: str, looks: Looks, classifier: Classifier = "tree") -> Attack:
    """A classifier on the release; ``looks`` says on which part.

    Examples
    --------
    >>> learned("probabilities", "confidences", "logistic regression").name
    'learned on confidences (logistic regression)'
    """
    features = {"confidences": confidences, "label and confidences": label_and_confidences, "loss": _loss}[looks]

    def guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:
        known = thin(evidence.known, rng)
        unit = _unit(known.observed) if looks == "loss" else 1.0
        if classifier == "logistic regression":
            fitted = Logistic.fit(features(known.observed / unit, known.labels), known.member)
            odds = fitted.decision_function(features(evidence.observed / unit, evidence.labels))
            return Guesses(odds, (odds > 0).astype(np.float64))
        model = _classifier(classifier, len(known.member), int(rng.integers(2**31)))
        with warnings.catch_warnings():  # a network that would gain from more steps is still an attack
            warnings.filterwarnings("ignore", message=".*(converge|iterations).*")
            model.fit(features(known.observed / unit, known.labels), known.member)
        probability = model.predict_proba(features(evidence.observed / unit, evidence.labels))[:, 1]
        return Guesses(log_odds(probability), (probability > 0.5).astype(np.float64))

    name = f"learned on {looks} ({classifier})"
    attack = Attack(name, release, SOURCES[looks], guess, uses_labels=looks == "label and confidences")
    return attack.reads(*LOSSES) if looks == "loss" else attack.reads("probabilities")


def thin(known: Known, rng: np.random.Generator) -> Known:
    """At most `MOST_KNOWN` of the known records, at random and in their order."""
    if len(known.member) <= MOST_KNOWN:
        return known
    rows = np.sort(rng.choice(len(known.member), MOST_KNOWN, replace=False))
    labels = None if known.labels is None else known.labels[rows]
    beside = None if known.beside is None else known.beside[rows]
    return Known(known.observed[rows], labels, known.member[rows], beside)


def smallest_leaf(known: int) -> int:
    """Known records that a leaf of a tree holds at least: a hundredth, and ten."""
    return max(10, known // 100)


def _classifier(name: Literal["tree", "network"], known: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    choices: dict[str, Callable[[], Any]] = {
        "tree": lambda: DecisionTreeClassifier(
            max_depth=DEEPEST, min_samples_leaf=smallest_leaf(known), random_state=seed
        ),
        "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((16, 16), random_state=seed)),
    }
    return choices[name]()


def log_odds(probability: Floats) -> Floats:
    """Natural logarithm of p / (1 - p), probabilities held 1e-12 away from 0 and 1."""
    held = np.clip(probability, 1e-12, 1 - 1e-12)
    return np.log(held) - np.log1p(-held)


def confidences(observed: Floats, labels: Labels | None) -> Floats:  # noqa: ARG001
    """Log-odds of the largest probabilities, from the largest down."""
    classes = observed.shape[1]
    ordered = -np.sort(-observed, axis=1) if classes > 2 else observed.max(axis=1, keepdims=True)
    # The last of k sorted probabilities is one minus the others.
    return log_odds(ordered[:, : min(MOST_CONFIDENCES, max(classes - 1, 1))])


def label_and_confidences(observed: Floats, labels: Labels | None) -> Floats:
    """`confidences`, the log-odds of the true label, and its code."""
    codes = np.asarray(labels, dtype=np.intp)
    likelihood = np.take_along_axis(observed, codes[:, None], axis=1)
    return np.hstack([confidences(observed, None), log_odds(likelihood), codes[:, None].astype(np.float64)])


def _unit(losses: Floats) -> float:
    """Power of two near the mean loss: a tree takes differences below 1e-7 for none, whatever the unit of the labels."""
    mean = float(losses.mean())
    return float(2.0 ** np.round(np.log2(mean))) if mean > 0 else 1.0


def _loss(observed: Floats, labels: Labels | None) -> Floats:  # noqa: ARG001
    # A root tames large losses and keeps zero; unlike a logarithm with an offset it knows no scale.
    return np.asarray(observed[:, :1] ** 0.25)
