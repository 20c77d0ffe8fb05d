"""Learned attacks: a small classifier distinguishes members from non-members by the released values.

The attacker knows the membership of some records (shokri2019, section 4.1; tople2020, section 4.1, after Salem et al.
2019), fits the classifier to them and is judged on others. Inputs of the classifier:

- ``confidences``: the probabilities in descending order, without the records' labels;
- ``label and confidences``: these, the probability of the true label, and the label;
- ``loss``: the loss alone.

Probabilities are read as log-odds, since members differ from non-members in the tails.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from leakscope.attacks.logistic import LogisticClassifier
from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.core.arrays import Floats, Labels
from leakscope.releases.release import LOSSES

Looks = Literal["confidences", "label and confidences", "loss"]
Classifier = Literal["logistic regression", "tree", "network"]

#: Known records that a classifier is fitted to at most: more make it slower, not better.
MOST_KNOWN = 10_000
#: Most probable classes that are read: the others carry almost no information.
MOST_CONFIDENCES = 10
#: Depth of the tree. Deeper ones fit chance: on six models of `benchmarks.race` their AUC is equal or smaller, by up to 0.02.
DEEPEST = 6
SOURCES: dict[Looks, str] = {
    "confidences": "tople2020, section 4.1; Salem et al. 2019",
    "label and confidences": "shokri2019, section 4.2",
    "loss": "shokri2019, section 4.3 (loss threshold)",
}


def learned(release: str, looks: Looks, classifier: Classifier = "tree") -> Attack:
    """Return the attack by a classifier on the release; ``looks`` names its inputs.

    Examples
    --------
    >>> learned("probabilities", "confidences", "logistic regression").name
    'learned on confidences (logistic regression)'
    """
    features = {"confidences": confidences, "label and confidences": label_and_confidences, "loss": _loss}[looks]

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        known = thin(evidence.known, rng)
        unit = _unit(known.observed) if looks == "loss" else 1.0
        if classifier == "logistic regression":
            fitted = LogisticClassifier.fit(features(known.observed / unit, known.labels), known.member)
            odds = fitted.decision_function(features(evidence.observed / unit, evidence.labels))
            return Scores(odds, (odds > 0).astype(np.float64))
        model = _classifier(classifier, len(known.member), int(rng.integers(2**31)))
        with warnings.catch_warnings():  # a network that would gain from more steps is still an attack
            warnings.filterwarnings("ignore", message=".*(converge|iterations).*")
            model.fit(features(known.observed / unit, known.labels), known.member)
        probability = model.predict_proba(features(evidence.observed / unit, evidence.labels))[:, 1]
        return Scores(log_odds(probability), (probability > 0.5).astype(np.float64))

    name = f"learned on {looks} ({classifier})"
    attack = Attack(name, release, SOURCES[looks], guess, uses_labels=looks == "label and confidences")
    return attack.reads(*LOSSES) if looks == "loss" else attack.reads("probabilities")


def thin(known: Known, rng: np.random.Generator) -> Known:
    """Return at most `MOST_KNOWN` of the known records, at random and in their order."""
    if len(known.member) <= MOST_KNOWN:
        return known
    rows = np.sort(rng.choice(len(known.member), MOST_KNOWN, replace=False))
    labels = None if known.labels is None else known.labels[rows]
    second = None if known.second is None else known.second[rows]
    return Known(known.observed[rows], labels, known.member[rows], second)


def smallest_leaf(known: int) -> int:
    """Return the smallest number of known records in a leaf: a hundredth, and at least ten."""
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
    """Return the natural logarithm of p / (1 - p), probabilities held 1e-12 away from 0 and 1."""
    held = np.clip(probability, 1e-12, 1 - 1e-12)
    return np.log(held) - np.log1p(-held)


def confidences(observed: Floats, labels: Labels | None) -> Floats:  # noqa: ARG001
    """Return the log-odds of the largest probabilities, in descending order."""
    classes = observed.shape[1]
    ordered = -np.sort(-observed, axis=1) if classes > 2 else observed.max(axis=1, keepdims=True)
    # The last of k sorted probabilities is one minus the others.
    return log_odds(ordered[:, : min(MOST_CONFIDENCES, max(classes - 1, 1))])


def label_and_confidences(observed: Floats, labels: Labels | None) -> Floats:
    """Return `confidences`, the log-odds of the true label, and its code."""
    codes = np.asarray(labels, dtype=np.intp)
    likelihood = np.take_along_axis(observed, codes[:, None], axis=1)
    return np.hstack([confidences(observed, None), log_odds(likelihood), codes[:, None].astype(np.float64)])


def _unit(losses: Floats) -> float:
    """Power of two near the mean loss: a tree ignores differences below 1e-7, whatever the unit of the labels."""
    mean = float(losses.mean())
    return float(2.0 ** np.round(np.log2(mean))) if mean > 0 else 1.0


def _loss(observed: Floats, labels: Labels | None) -> Floats:  # noqa: ARG001
    # A root reduces large losses and keeps zero; unlike a logarithm with an offset it has no scale.
    return np.asarray(observed[:, :1] ** 0.25)
