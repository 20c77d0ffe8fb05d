"""Demonstration: audit extremely randomised trees on scikit-learn's breast-cancer data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from leakscope.evaluation.results import Audit
from leakscope.models.provenance import file_digest
from leakscope.releases.release import Progress
from leakscope.studies.audit import audit


def run(folder: Path, seed: int = 0, progress: Progress | None = None) -> tuple[Audit, str]:
    """Train, save model and data, audit, and save the audit; return it with the command that reproduces it."""
    import skops.io
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import ExtraTreesClassifier

    bunch = load_breast_cancer(as_frame=True)
    table = bunch.data.assign(diagnosis=np.array(["malignant", "benign"])[bunch.target])
    table.columns = pd.Index([name.replace(" ", "_") for name in table.columns])
    order = np.random.default_rng(seed).permutation(len(table))
    half = len(table) // 2
    train, holdout = (table.iloc[np.sort(part)].reset_index(drop=True) for part in (order[:half], order[half:]))
    features = table.columns[:-1]
    forest = ExtraTreesClassifier(random_state=seed).fit(train[features], train["diagnosis"])

    folder.mkdir(parents=True, exist_ok=True)
    skops.io.dump(forest, folder / "model.skops")
    train.to_csv(folder / "train.csv", index=False)
    holdout.to_csv(folder / "holdout.csv", index=False)
    command = _command(folder, seed)
    result = audit(
        forest, (train[features], train["diagnosis"]), (holdout[features], holdout["diagnosis"]),
        groups=(train[["diagnosis"]], holdout[["diagnosis"]]), seed=seed, command=command,
        model_digest=file_digest(folder / "model.skops"), progress=progress,
    )  # fmt: skip
    result.save(folder / "audit")
    return result, command


def _command(folder: Path, seed: int) -> str:
    """Return the command that reproduces the audit."""
    files = f"{folder / 'model.skops'} --train {folder / 'train.csv'} --holdout {folder / 'holdout.csv'}"
    options = f"--label diagnosis --groups diagnosis --seed {seed} --out {folder / 'audit'}"
    return f"leakscope audit {files} {options}"
