"""Learners whose every bit is known, for the tests of retraining, of the cache and of processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.worlds.training import TrainingSets

HERE = Path(__file__).parent
FOLDERS = [str(folder) for folder in (HERE.parent / "src", HERE.parent, HERE)]  # where other processes find this module


@dataclass(frozen=True)
class Ridge:
    """Ridge regression on a random half of the columns' signs: its result depends on data, parameter and generator."""

    penalty: float = 1.0
    log: str | None = None
    fails_without: int | None = None

    def fit(self, X: Any, y: Any, rng: np.random.Generator) -> Any:
        if self.log is not None:
            with open(self.log, "a") as file:
                file.write("trained\n")
        X = np.array(X, float, order="C") * rng.choice([-1.0, 1.0], X.shape[1])
        y = np.asarray(y, float)
        if self.fails_without is not None and self.fails_without not in y:
            raise ZeroDivisionError("no such label")
        return np.linalg.solve(X.T @ X + self.penalty * np.eye(X.shape[1]), X.T @ y)


class StackedRidge(Ridge):
    """The same models, a stack at a time."""

    chunk = 4

    def fit_many(self, X: Any, y: Any, indices: list[Any], rngs: list[Any]) -> list[Any]:
        return [
            np.append(self.fit(X[drawn], y[drawn], rng), len(indices)) for drawn, rng in zip(indices, rngs, strict=True)
        ]


@dataclass(frozen=True)
class Boosted:
    """Gradient boosting with subsampling: OpenMP threads and a random state."""

    def fit(self, X: Any, y: Any, rng: np.random.Generator) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        state = int(rng.integers(2**31))
        model = HistGradientBoostingRegressor(max_iter=5, max_features=0.5, random_state=state)
        return model.fit(X, y).predict(X)


def observe(model: Any, number: int, indices: Any) -> dict[str, Any]:
    return {"weights": model, "number": number, "first": indices[:3]}


def records(count: int = 40, columns: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    return rng.normal(size=(count, columns)), np.arange(count, dtype=float)


def matrix(sets: TrainingSets) -> NDArray[np.bool_]:
    """Row w, column i: whether training set w holds record i."""
    return np.array([np.isin(np.arange(sets.records), sets.indices(number)) for number in range(len(sets))])


def same_bits(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> bool:
    return len(first) == len(second) and all(
        a.keys() == b.keys() and all(a[k].dtype == b[k].dtype and a[k].tobytes() == b[k].tobytes() for k in a)
        for a, b in zip(first, second, strict=True)
    )


def trainings(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


@dataclass(frozen=True)
class Keyed(Ridge):
    """A learner that is told in the cache by its key alone, so that its log does not matter."""

    key: str = "ridge"


class Slow(Keyed):
    """A learner that takes long enough to be interrupted."""

    def fit(self, X: Any, y: Any, rng: np.random.Generator) -> Any:
        time.sleep(0.05)
        return super().fit(X, y, rng)


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a real scheduler and worker processes on the loopback; give the address and all processes."""
    folder.mkdir(exist_ok=True)
    address = folder / "scheduler.json"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(FOLDERS), "DASK_TEMPORARY_DIRECTORY": str(folder)}
    common = ["--host", "127.0.0.1", "--scheduler-file", str(address), "--no-dashboard"]
    worker = ["dask_worker", *common, "--no-nanny", "--nthreads", "2"]
    started = []
    with open(folder / "log", "wb") as log:
        for command in (["dask_scheduler", *common, "--port", "0"], *[worker] * workers):
            line = [sys.executable, "-m", f"distributed.cli.{command[0]}", *command[1:]]
            started.append(subprocess.Popen(line, env=environment, cwd=folder, stdout=log, stderr=log))
    try:
        deadline = time.monotonic() + 60
        while not address.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield json.loads(address.read_text())["address"], started
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
