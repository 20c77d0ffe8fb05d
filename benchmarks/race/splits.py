"""The default audit over five random splits on the rows where it is close to other attacks, with paired intervals over the splits.

One split says little here: another one changes an AUC by about 0.01. The other attacks are RMIA and LiRA, online and offline, with 16 models, and 64 with ``--full``, and
the better of sacroml's two forms of LiRA with 16 models.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats

from benchmarks.measure import Line
from benchmarks.race.peers import PEERS, attack, environment
from benchmarks.race.targets import SEED, TARGETS, Target, audit, largest
from leakscope.attacks import lira, rmia

ROWS = ("CIFAR-100 MLP", "digits MLP", "diabetes forest", "age forest")
SPLITS, MODELS = 5, (16, 64)


def run(full: bool) -> Iterator[Line]:
    for name in ROWS:
        target, aucs = TARGETS[name], dict[str, list[float]]()
        for seed in range(SEED, SEED + SPLITS):
            for other, auc in _aucs(target, seed, full).items():
                aucs.setdefault(other, []).append(auc)
        own = np.array(aucs.pop("own"))
        for other, values in aucs.items():
            ahead = own[: len(values)] - values
            reach = stats.t.ppf(0.975, len(ahead) - 1) * ahead.std(ddof=1) / len(ahead) ** 0.5
            shown = f"[{ahead.mean() - reach:+.4f}, {ahead.mean() + reach:+.4f}; {own.mean():.4f} against {np.mean(values):.4f}]"
            yield Line(f"{name}: largest AUC minus {other}, {SPLITS} splits", ahead.mean(), None, "", shown)


def _aucs(target: Target, seed: int, full: bool) -> dict[str, float]:
    """Largest AUC of the default audit of one split, and those of other attacks."""
    train, holdout = target.split(seed)
    found = {"own": float(largest(audit(target.learner, train, holdout, seed=seed)[0]).auc.value)}
    for models in MODELS[: 2 if full else 1]:
        named = [rmia(target.task), lira(target.task), lira(target.task, online=False)]
        settings = {"references": models, "attacks": named, "random_split": True, "seed": seed}
        for risk in audit(target.learner, train, holdout, **settings)[0].risks:
            found[f"{models} models, {risk.attack}"] = float(risk.auc.value)
    if target.task == "classification":
        peer = PEERS["sacroml"]
        figures = attack(environment("sacroml", peer), peer, target, seed)
        found["sacroml"] = max(one["auc"] for one in figures.values())
    return found
