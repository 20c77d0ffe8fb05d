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

from leakscope.evidence import Attack, Evidence, Floats, Guesses, Labels
from leakscope.releases import LOSSES

Looks = Literal["confidences", "label and confidences", "loss"]
Classifier = Literal["logistic regression", "tree", "network"]

#: More known records than this make a small classifier slower, not better.
MOST_KNOWN = 10_000
#: Classes beyond the tenth most probable say next to nothing, and are not looked at.
MOST_CONFIDENCES = 10
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
    features = {"confidences": _confidences, "label and confidences": _label_and_confidences, "loss": _loss}[looks]

    def guess(evidence: Evidence, rng: np.random.Generator) -> Guesses:
        known = evidence.known
        rows = np.arange(len(known.member))
        if len(rows) > MOST_KNOWN:
            rows = np.sort(rng.choice(rows, MOST_KNOWN, replace=False))
        labels = None if known.labels is None else known.labels[rows]
        model = _classifier(classifier, len(rows), int(rng.integers(2**31)))
        with warnings.catch_warnings():  # a network that would gain from more steps is still an attack
            warnings.filterwarnings("ignore", message=".*(converge|iterations).*")
            model.fit(features(known.observed[rows], labels), known.member[rows])
        probability = model.predict_proba(features(evidence.observed, evidence.labels))[:, 1]
        return Guesses(_log_odds(probability), (probability > 0.5).astype(np.float64))

    name = f"learned on {looks} ({classifier})"
    attack = Attack(name, release, SOURCES[looks], guess, uses_labels=looks == "label and confidences")
    return attack.reads(*LOSSES) if looks == "loss" else attack.reads("probabilities")


def _classifier(name: Classifier, known: int, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    choices: dict[Classifier, Callable[[], Any]] = {
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        "tree": lambda: DecisionTreeClassifier(min_samples_leaf=max(10, known // 100), random_state=seed),
        "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((16, 16), random_state=seed)),
    }
    return choices[name]()


def _log_odds(probability: Floats) -> Floats:
    held = np.clip(probability, 1e-12, 1 - 1e-12)
    return np.log(held) - np.log1p(-held)


def _confidences(observed: Floats, labels: Labels | None) -> Floats:  # noqa: ARG001
    classes = observed.shape[1]
    ordered = -np.sort(-observed, axis=1) if classes > 2 else observed.max(axis=1, keepdims=True)
    # The last of k sorted probabilities is one minus the others.
    return _log_odds(ordered[:, : min(MOST_CONFIDENCES, max(classes - 1, 1))])


def _label_and_confidences(observed: Floats, labels: Labels | None) -> Floats:
    codes = np.asarray(labels, dtype=np.intp)
    likelihood = np.take_along_axis(observed, codes[:, None], axis=1)
    return np.hstack([_confidences(observed, None), _log_odds(likelihood), codes[:, None].astype(np.float64)])


def _loss(observed: Floats, labels: Labels | None) -> Floats:  # noqa: ARG001
    # A root tames large losses and keeps zero; unlike a logarithm with an offset it knows no scale.
    return np.asarray(observed[:, :1] ** 0.25)
