"""An estimator that fails as its folder says: the file ``fault`` there names what goes wrong while it is trained."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Faulty(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the share of each class; log the process of each training in the folder.

    Faults: ``memory`` runs out of memory; ``killed`` kills its own process once three models are in the cache, and
    ``killed 123`` kills process 123 then.
    """

    def __init__(self, folder: str, random_state: int | None = None) -> None:
        self.folder = folder
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "Faulty":
        folder = Path(self.folder)
        with (folder / "trainings").open("a") as log:
            log.write(f"{os.getpid()}\n")
        fault = (folder / "fault").read_text() if (folder / "fault").exists() else ""
        if fault == "memory":
            np.empty((len(X), 1 << 46))
        if fault.startswith("killed"):
            time.sleep(0.2)
            if len(list((folder / "cache").glob("*.npz"))) >= 3:
                os.kill(int(fault.removeprefix("killed") or os.getpid()), signal.SIGKILL)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / len(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile(self.shares_, (len(X), 1))

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[self.shares_.argmax()])
