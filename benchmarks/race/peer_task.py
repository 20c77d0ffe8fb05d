"""What both peers read and print. It runs in a peer's environment, which holds scikit-learn and not Leakscope.

The first argument is an npz file with the arrays ``X``, ``y``, ``train`` and ``holdout`` (row numbers), and ``learner``: JSON with the
module, the class and the parameters of a scikit-learn estimator. The answer is one JSON object on the last line: for each attack its
AUC, TPR at 1 % FPR and CPU seconds without the training of the target.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve


class Task(NamedTuple):
    """A model trained on the members, and both sets of records."""

    model: Any
    train: tuple[Any, Any]
    holdout: tuple[Any, Any]

    @property
    def regression(self) -> bool:
        return not hasattr(self.model, "classes_")


#: Scores of records with their memberships, one pair for each time that the attack was run.
Scored = list[tuple[Any, Any]]


def read() -> Task:
    with np.load(sys.argv[1], allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
        train, holdout = ((X[rows], y[rows]) for rows in (arrays["train"], arrays["holdout"]))
        learner = json.loads(str(arrays["learner"]))
    model = getattr(import_module(learner["module"]), learner["class"])(**learner["parameters"])
    return Task(model.fit(*train), train, holdout)


def figures(scored: Scored) -> dict[str, float]:
    """Mean AUC and TPR at 1 % FPR over the times that an attack was run."""
    aucs, tprs = [], []
    for score, member in scored:
        fpr, tpr, _ = roc_curve(member, score)
        aucs.append(roc_auc_score(member, score))
        tprs.append(tpr[fpr <= 0.01].max())
    return {"auc": float(np.mean(aucs)), "tpr": float(np.mean(tprs))}


def answer(attacks: dict[str, Callable[[Task], Scored]]) -> None:
    """Run the attacks and print what they reach."""
    warnings.simplefilter("ignore")
    task, found = read(), {}
    for name, attack in attacks.items():
        start = time.process_time()
        scored = attack(task)
        found[name] = {"cpu": time.process_time() - start, **figures(scored)}
    print(json.dumps(found))
