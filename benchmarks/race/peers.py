"""The default audit compared with sacroml and the Adversarial Robustness Toolbox (ART): same learner, same split, same machine.

Each peer has an environment of its own in ``.race/``, which this module makes once. The goal is a larger AUC and TPR at 1 % FPR than
those of each peer in every row. CPU time is compared with the peer's strongest attack; ART trains no models, so that its
time is shown without a goal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Line
from benchmarks.race.targets import SEED, TARGETS, Target, default_audit, largest

HERE, ENVIRONMENTS = Path(__file__).parent, Path(".race")
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Peer:
    """Another tool: what to install, in this order, and what it can attack."""

    script: str
    packages: tuple[str, ...]
    regressions: bool
    trains: bool


PEERS = {
    # torch first: asked for by sacroml it would bring the CUDA libraries.
    "sacroml": Peer("peer_sacroml.py", ("torch==2.13.0", "sacroml==2.0.1"), regressions=False, trains=True),
    # ART imports packaging and does not declare it.
    "ART": Peer(
        "peer_art.py", ("packaging==25.0", "adversarial-robustness-toolbox==1.20.1"), regressions=True, trains=False
    ),
}


def run(full: bool) -> Iterator[Line]:  # noqa: ARG001
    for name, peer in PEERS.items():
        try:
            python = environment(name, peer)
        except subprocess.CalledProcessError as error:
            yield Line(f"{name} is not available", float("nan"), None, "", f"[{_last_line(error.stderr)}]")
            continue
        for row, target in TARGETS.items():
            if target.task == "classification" or peer.regressions:
                yield from _compared(name, peer, row, attack(python, peer, target))


def environment(name: str, peer: Peer) -> Path:
    """Python of the peer's environment, made if it is missing or has other versions."""
    folder = ENVIRONMENTS / name.lower()
    python, made = folder / "bin" / "python", folder / "packages"
    if not made.exists() or made.read_text(encoding="utf-8") != " ".join(peer.packages):
        _call([sys.executable, "-m", "venv", "--clear", str(folder)])
        for package in peer.packages:
            _call([str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", package])
        made.write_text(" ".join(peer.packages), encoding="utf-8")
    return python


def attack(python: Path, peer: Peer, target: Target, seed: int = SEED) -> dict[str, Any]:
    """What the peer's attacks reach on the target of one split, or ``error``."""
    X, y = target.records()
    order, n = np.random.default_rng(seed).permutation(len(X)), target.size
    learner = {
        "module": type(target.learner).__module__,
        "class": type(target.learner).__name__,
        "parameters": target.learner.get_params(),
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "task.npz"
        np.savez(file, X=X, y=y, train=order[:n], holdout=order[n : 2 * n], learner=json.dumps(learner))
        try:
            done = _call([str(python), str(HERE / peer.script), str(file)])
        except subprocess.CalledProcessError as error:
            return {"error": _last_line(error.stderr)}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _compared(name: str, peer: Peer, row: str, found: dict[str, Any]) -> Iterator[Line]:
    if "error" in found:
        yield Line(f"{row}: {name} failed", float("nan"), None, "", f"[{found['error']}]")
        return
    own, spent = default_audit(row)
    figures = {"AUC": ("auc", largest(own).auc.value)}
    if TARGETS[row].size >= 1000:  # 1 % of fewer non-members are too few to compare
        figures["TPR at 1 % FPR"] = ("tpr", max(risk.tpr_at_fpr[0.01].value for risk in own.risks))
    for what, (key, value) in figures.items():
        best = max(found, key=lambda attack: found[attack][key])
        shown = ", ".join(f"{attack} {each[key]:.3f}" for attack, each in found.items())
        difference = value - found[best][key]
        yield Line(f"{row}: {what} beyond {name}", difference, 0.0, "", f"[{value:.3f}; {shown}]", at_least=True)
    best = max(found, key=lambda attack: found[attack]["auc"])
    shown = ", ".join(f"{attack} {each['cpu']:.1f} s" for attack, each in found.items())
    goal = 1.0 if peer.trains else None
    yield Line(
        f"{row}: CPU over {name}'s best ({best})", spent / found[best]["cpu"], goal, "x", f"[{spent:.1f} s; {shown}]"
    )


def _call(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | THREADS)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]
