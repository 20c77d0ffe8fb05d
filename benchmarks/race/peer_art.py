"""The black-box attack of the Adversarial Robustness Toolbox, with its random forest; see `peer_task`.

It is fitted on half of the members and half of the held-out records, and judged on the others. For a regression its only input is
the loss.
"""

from __future__ import annotations

import numpy as np
from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
from art.estimators.classification import SklearnClassifier
from art.estimators.regression import ScikitlearnRegressor
from peer_task import Scored, Task, answer


def black_box(task: Task) -> Scored:
    wrapped = ScikitlearnRegressor(task.model) if task.regression else SklearnClassifier(task.model)
    attack = MembershipInferenceBlackBox(
        wrapped, input_type="loss" if task.regression else "prediction", attack_model_type="rf"
    )
    (X, y), (Xh, yh) = task.train, task.holdout
    half = len(X) // 2
    attack.fit(X[:half], y[:half], Xh[:half], yh[:half])
    scores = [
        attack.infer(*side, probabilities=True).ravel() for side in ((X[half:], y[half:]), (Xh[half:], yh[half:]))
    ]
    return [(np.concatenate(scores), np.repeat([1, 0], [len(part) for part in scores]))]


answer({"black box (random forest)": black_box})
