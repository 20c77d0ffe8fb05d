"""LiRA and the worst-case attack of sacroml; see `peer_task`. Both are for classifiers only.

LiRA has 16 shadow models of the target's size. The worst-case attack is run ten times, each on another fifth of the records.
"""

from __future__ import annotations

import logging
import tempfile

from peer_task import Scored, Task, answer
from sacroml.attacks.likelihood_attack import LIRAAttack
from sacroml.attacks.target import Target
from sacroml.attacks.worst_case_attack import WorstCaseAttack

SHADOW_MODELS = 16


def _target(task: Task) -> Target:
    (X, y), (Xh, yh) = task.train, task.holdout
    return Target(model=task.model, X_train=X, y_train=y, X_test=Xh, y_test=yh)


def lira(mode: str) -> object:
    def run(task: Task) -> Scored:
        with tempfile.TemporaryDirectory() as folder:
            attack = LIRAAttack(
                folder, write_report=False, n_shadow_models=SHADOW_MODELS, mode=mode, report_individual=True
            )
            attack.attack(_target(task))
        return _scored(attack.attack_metrics)

    return run


def worst_case(task: Task) -> Scored:
    with tempfile.TemporaryDirectory() as folder:
        attack = WorstCaseAttack(folder, write_report=False, report_individual=True)
        attack.attack(_target(task))
    return _scored(attack.attack_metrics)


def _scored(metrics: list[dict]) -> Scored:
    return [(run["individual"]["member_prob"], run["individual"]["member"]) for run in metrics]


logging.disable(logging.WARNING)
answer({"LiRA online": lira("online-carlini"), "LiRA offline": lira("offline"), "worst case": worst_case})
