"""Runs that are stopped, killed or starved: exit codes, no process and no file left, finished work kept."""

import errno
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run as exit_code
from faulty import Faulty
from retraining import FOLDERS, Keyed, Ridge, Slow, dask_cluster, observe, records, same_bits, trainings

from leakscope.cli.main import main
from leakscope.core import errors
from leakscope.core.errors import EndpointError, InputError, TrainingError
from leakscope.record import files
from leakscope.worlds.training import leave_one_out, retrain

SHARED = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a model, its data, and empty folders for the cache and temporary files."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3))).add_prefix("x")
    y = rng.integers(2, size=400)
    for name, rows in (("train", slice(0, 200)), ("holdout", slice(200, 400))):
        X[rows].assign(label=y[rows]).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Faulty(str(tmp_path)).fit(X[:200], y[:200])))
    (tmp_path / "trainings").unlink()
    (tmp_path / "tmp").mkdir()
    return tmp_path


def audit(folder: Path, *more: str) -> list[str]:
    return [
        "audit", str(folder / "model.pkl"), "--trust-pickle", "--train", str(folder / "train.csv"),
        "--holdout", str(folder / "holdout.csv"), "--label", "label", "--references", "10", *more,
    ]  # fmt: skip


def start(folder: Path, *line: str, path: tuple[str, ...] = (), **options: Any) -> subprocess.Popen[str]:
    """Start Python in a session of its own; it heeds Ctrl-C, which a shell has ignored in the background."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*path, *FOLDERS]), "TMPDIR": str(folder / "tmp")}
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    options = {"text": True, "stderr": subprocess.PIPE, "preexec_fn": heed} | options
    return subprocess.Popen([sys.executable, *line], env=environment, start_new_session=True, **options)


def command(folder: Path, *more: str, **options: Any) -> subprocess.Popen[str]:
    return start(folder, "-m", "leakscope", *more, **options)


def wait_until(condition: Any, seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(condition())


def is_running(process: int) -> bool:
    """Whether a process runs; one that ended and that nobody has waited for does not."""
    try:
        os.kill(process, 0)
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def workers(folder: Path) -> set[int]:
    log = folder / "trainings"
    return {int(line) for line in log.read_text().split()} if log.exists() else set()


def kept(folder: Path) -> int:
    return len(list((folder / "cache").glob("*.npz")))


def leftovers(folder: Path, process: int) -> list[str]:
    """Name the files in the temporary folder and in shared memory that a run left."""
    own = re.compile(rf"(folder_|loky-){process}[-_]")
    shared = [path.name for path in SHARED.iterdir() if own.search(path.name)] if SHARED.is_dir() else []
    return shared + [path.name for path in (folder / "tmp").iterdir()]


# --- signals ---

RUN = """
import os, time
import numpy as np
from leakscope.cli import main as cli
from leakscope.worlds.training import leave_one_out, retrain
from retraining import Keyed, observe

class Slow(Keyed):
    def fit(self, X, y, rng):
        with open({log!r}, "a") as log:
            log.write(f"{{os.getpid()}}\\n")
        time.sleep(0.02 if y[0] else 30)
        return super().fit(X[:40, :5], y[:40], rng)

@cli.app.command()
def slow(cache: str = "") -> None:
    X = np.random.default_rng(7).normal(size=(4_000, 100))
    retrain(Slow(), X, np.arange(4_000.0), leave_one_out(4_000), observe, seed=0, workers=2, cache=cache)

cli.main(["slow", "--cache", {cache!r}])
"""


@pytest.fixture
def slow_run(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a command that trains in two processes on 3 MB of data; all but the first task take 30 seconds."""
    run = start(folder, "-c", RUN.format(log=str(folder / "trainings"), cache=str(folder / "cache")))
    wait_until(lambda: (len(workers(folder)) == 2 and kept(folder) >= 1) or run.poll() is not None)
    assert run.poll() is None
    yield run
    for process in filter(is_running, {run.pid} | workers(folder)):  # none, unless the test failed
        os.kill(process, signal.SIGKILL)
    run.communicate(timeout=10)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_run_leaves_neither_processes_nor_files(
    number: int, code: int, folder: Path, slow_run: subprocess.Popen[str]
) -> None:
    slow_run.send_signal(number)
    assert slow_run.wait(timeout=10) == code
    assert wait_until(lambda: not any(map(is_running, workers(folder))), 5)
    assert wait_until(lambda: not leftovers(folder, slow_run.pid), 5)
    assert kept(folder) >= 1
    _, said = slow_run.communicate(timeout=10)
    assert said.startswith("leakscope: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_workers_start_is_one_sentence(number: int, code: int, folder: Path) -> None:
    """The whole group gets it, as from a terminal, before the workers have imported anything."""
    started = folder / "started"
    (folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        f"if 'popen_loky' in ' '.join(sys.orig_argv) and not os.path.exists({str(started)!r}):\n"
        f"    open({str(started)!r}, 'w').close()\n"
        f"    os.kill(0, {int(number)})\n"
    )
    run = command(folder, *audit(folder, "--workers", "2"), path=(str(folder),), stdout=subprocess.DEVNULL)
    _, said = run.communicate(timeout=30)
    assert started.exists()
    assert run.returncode == code
    assert len(said.splitlines()) == 1


def test_workers_in_a_long_task_end_with_their_killed_parent(folder: Path, slow_run: subprocess.Popen[str]) -> None:
    slow_run.kill()
    slow_run.wait(timeout=10)
    assert wait_until(lambda: not any(map(is_running, workers(folder))), 5)
    assert wait_until(lambda: not leftovers(folder, slow_run.pid), 5)


def test_a_killed_process_group_leaves_no_data(folder: Path, slow_run: subprocess.Popen[str]) -> None:
    """Nobody is left to remove files, so that no file may hold the data of the tasks."""
    os.killpg(slow_run.pid, signal.SIGKILL)
    slow_run.wait(timeout=10)
    left = [place / name for name in leftovers(folder, slow_run.pid) for place in (SHARED, folder / "tmp")]
    size = sum(path.stat().st_size for place in left for path in place.rglob("*") if path.is_file())
    for path in left:  # locks and empty folders of joblib
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    assert size == 0


def test_the_library_installs_no_signal_handler() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    X, y = records(6)
    retrain(Ridge(), X, y, leave_one_out(6), observe, seed=0, workers=2)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    with pytest.raises(SystemExit):
        main(["--version"])
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


RESUMED = """
from leakscope.worlds.training import leave_one_out, retrain
from retraining import Slow, observe, records
retrain(Slow(), *records(), leave_one_out(40), observe, seed=0, workers={workers}, cache={cache!r})
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_resumes_where_it_was(workers: int, folder: Path) -> None:
    process = start(folder, "-c", RESUMED.format(workers=workers, cache=str(folder / "cache")))
    assert wait_until(lambda: kept(folder) >= 3 or process.poll() is not None)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    finished, log = kept(folder), folder / "log"
    assert 3 <= finished < 40
    again = partial(retrain, X=records()[0], y=records()[1], sets=leave_one_out(40), observe=observe, seed=0, workers=1)
    found = again(Keyed(log=str(log)), cache=folder / "cache")
    assert trainings(log) == 40 - finished
    assert same_bits(found, again(Ridge()))


# --- faults of the machine ---


def resumes(folder: Path, line: list[str], said: str) -> None:
    """Check what a run said that lost its workers, and that the same command trains the other models and no more."""
    assert len(said.splitlines()) == 1
    finished = kept(folder)
    assert finished >= 3
    (folder / "fault").unlink()
    (folder / "trainings").unlink()
    assert exit_code(*line) == 0
    assert len((folder / "trainings").read_text().split()) == 16 - finished  # four folds, two halves, ten references


def test_a_killed_worker_is_code_3_and_the_next_run_resumes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = audit(folder, "--workers", "2", "--cache", str(folder / "cache"), "--out", str(folder / "out"))
    (folder / "fault").write_text("killed")
    assert exit_code(*line) == 3
    resumes(folder, line, capsys.readouterr().err)
    assert kept(folder) == 16


@pytest.mark.parametrize("workers", ["1", "2"])
def test_too_little_memory_is_code_3(workers: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "fault").write_text("memory")
    assert exit_code(*audit(folder, "--workers", workers)) == 3
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "--cache" in said


def test_a_lost_scheduler_is_code_3_and_the_next_run_resumes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = audit(folder, "--cache", str(folder / "cache"), "--out", str(folder / "out"))
    with dask_cluster(folder / "dask", workers=1) as (address, processes):
        (folder / "fault").write_text(f"killed {processes[0].pid}")
        assert exit_code(*line, "--cluster", address) == 3
    resumes(folder, line, capsys.readouterr().err)


def test_lost_workers_of_a_cluster_are_a_fault_of_the_machine(tmp_path: Path) -> None:
    X, y = records()
    with dask_cluster(tmp_path / "dask", workers=1) as (address, processes):

        def lose(_: str, done: int, __: int) -> None:
            if done == 5:
                for process in processes[1:]:
                    process.kill()

        with pytest.raises(errors.ResourceError):
            retrain(Slow(), X, y, leave_one_out(40), observe, seed=0, cluster=address, progress=lose)


def raised(error: BaseException, cause: BaseException) -> BaseException:
    try:
        raise error from cause
    except BaseException as found:
        return found


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [
        (MemoryError(), True),
        (raised(InputError("can't predict"), MemoryError()), True),
        (raised(TrainingError("failed on training set 3"), OSError(28, "No space left on device")), True),
        (OSError(errno.EFBIG, "File too large"), True),
        (OSError(errno.ESTALE, "Stale file handle"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (raised(EndpointError("no answer"), OSError(11, "Resource temporarily unavailable")), False),
        (InputError("no such column"), False),
        (FileNotFoundError(2, "No such file or directory"), False),
        (RuntimeError("a defect"), False),
    ],
)
def test_what_counts_as_a_fault_of_the_machine(error: BaseException, is_fault: bool) -> None:
    assert (errors.resource_error(error) is not None) == is_fault


def test_a_full_disk_while_saving_is_a_fault_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(errors.ResourceError, match=str(tmp_path / "out")):
        files.write_all(tmp_path / "out", {"result.json": b"{}"})


# --- standard output ---

lines = pytest.mark.parametrize("line", [["--version"], ["--help"], ["data", "list"], ["data", "list", "--json"]])
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@lines
def test_a_closed_pipe_is_code_141_without_a_word(line: list[str], folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    run = command(folder, *line, stdout=writer)
    os.close(writer)
    _, said = run.communicate(timeout=30)
    assert (run.returncode, said) == (141, "")


@needs_full
@lines
def test_a_full_output_is_code_3_in_one_line(line: list[str], folder: Path) -> None:
    with open("/dev/full", "w") as full:
        run = command(folder, *line, stdout=full)
        _, said = run.communicate(timeout=30)
    assert run.returncode == 3
    assert len(said.splitlines()) == 1


def test_no_output_at_all_is_refused(folder: Path) -> None:
    run = command(folder, "--version", preexec_fn=lambda: os.close(1))
    _, said = run.communicate(timeout=30)
    assert run.returncode == 141
    assert len(said.splitlines()) == 1


@needs_full
def test_an_unwritable_standard_error_does_not_change_the_exit_code(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        assert command(folder, "no-such-command", stderr=full).wait(timeout=30) == 2
