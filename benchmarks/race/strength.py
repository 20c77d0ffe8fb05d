"""AUC, TPR at 1 % FPR and CPU time of the default audit, and of the published attacks on the same model.

LiRA gets 16 reference models of its own, and 64 with ``--full``. The spread over splits is about 0.01 of AUC.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import process_time
from typing import Any

from benchmarks.measure import Line
from benchmarks.race.targets import SEED, TARGETS, Side, Target, audit, default_audit, fit, largest, risk_of
from leakscope.attacks import lira
from leakscope.core.threads import one_thread

#: How far the default audit may stay behind the best of the published attacks.
BEHIND = 0.01
#: CPU of an audit over one training and prediction of the target, at 5,000 + 5,000 records.
MOST_CPU = {"default": 10.0, "references=2": 7.5, "random_split=True": 6.5}
#: Splits over which the cost is added up.
COST_SPLITS = 5
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "references=2": {"references": 2},
    "random_split=True": {"random_split": True},
}


def run(full: bool) -> Iterator[Line]:
    for name, target in TARGETS.items():
        yield from _strength(name, target, full)
        if target.cost:
            yield from _cost(name, target)


def _strength(name: str, target: Target, full: bool) -> Iterator[Line]:
    found, _ = default_audit(name)
    best = largest(found)
    size = f"{target.size:,} + {target.size:,}"
    yield Line(
        f"{name} ({size}): largest AUC", best.auc.value, target.auc, "",
        f"[{best.attack}; {found.verdict.kind}]", at_least=True,
    )  # fmt: skip
    tpr = max(risk.tpr_at_fpr[0.01].value for risk in found.risks)
    yield Line(f"{name}: largest TPR at 1 % FPR", tpr, target.tpr, "", at_least=True)
    others = {short: risk_of(found, short).auc.value for short in ("RMIA", "BASE")}
    others["LiRA-16"] = _lira(target, 16)
    shown = ", ".join(f"{other} {auc:.3f}" for other, auc in others.items())
    yield Line(
        f"{name}: largest AUC minus the best of three published attacks",
        best.auc.value - max(others.values()), -BEHIND, "", f"[{shown}]", at_least=True,
    )  # fmt: skip
    if full:
        auc = _lira(target, 64)
        yield Line(f"{name}: largest AUC minus LiRA-64", best.auc.value - auc, 0.0, "", f"[{auc:.3f}]", at_least=True)


def _lira(target: Target, models: int) -> float:
    """AUC of LiRA. The split is random, and stating that leaves out models that LiRA does not use."""
    settings = {"references": models, "attacks": [lira(target.task)], "random_split": True}
    return float(risk_of(audit(target.learner, *target.split(), **settings)[0], "LiRA").auc.value)


def _cost(name: str, target: Target) -> Iterator[Line]:
    """CPU of three audits on each of some splits, over one training and prediction on the same splits.

    One split is not enough: boosting with early stopping trains the target of one split with 52 trees and that of another with 82. The
    training is timed between the audits, so that both meet the same load of the machine.
    """
    once, spent = 0.0, dict.fromkeys(SETTINGS, 0.0)
    for seed in range(SEED, SEED + COST_SPLITS):
        split, trained = target.split(seed), []
        for setting, chosen in SETTINGS.items():
            trained.append(_train_and_predict(target, split))
            spent[setting] += audit(target.learner, *split, **chosen)[1]
        once += median(trained)
    for setting, seconds in spent.items():
        what = f"{name}: CPU of the audit ({setting}) over one training and prediction, {COST_SPLITS} splits"
        yield Line(what, seconds / once, MOST_CPU[setting], detail=f"[{seconds:.1f} s against {once:.2f} s]")


def _train_and_predict(target: Target, split: tuple[Side, Side]) -> float:
    train, holdout = split
    start = process_time()
    model = fit(target.learner, train)
    with one_thread():
        for records, _ in (train, holdout):
            model.predict_proba(records)
    return process_time() - start
