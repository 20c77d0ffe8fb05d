"""A first load and prediction of a model file in a process of its own, with limits on time and memory.

A file can hold numbers that crash or hang the process that uses them, or that ask for all its memory. The child process
meets them first: it loads the file, checks the structure of the model (`model_structure`) and predicts a few generated
records. Only if it ends well does this process load the same bytes.

The child is forked where possible, since importing scikit-learn again would take seconds. A forked child has the locks but
not the threads of its parent and may, rarely, hang or crash for this reason alone. Then a new interpreter decides.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from leakscope.core.errors import InputError

Kind = Literal["skops", "onnx"]

SECONDS = 60.0  # for any file; and one more second for each
BYTES_PER_SECOND = 10_000_000
MEMORY = 4 * 2**30  # for any file, or
MEMORY_PER_BYTE = 20
START = 60.0  # seconds that a new interpreter may take to import what it needs
OUT_OF_MEMORY = 3  # exit code of the child
RECORDS = 5

#: What a new interpreter runs; the modules of this process must be found there as here.
COMMAND = "import json, sys; job = json.loads(sys.stdin.buffer.readline()); sys.path[:] = job.pop('modules'); "
COMMAND += "from leakscope.models.trial import answer_parent; answer_parent(job)"


@dataclass(frozen=True)
class Limits:
    """How long the child may take, and how much memory it may add to what it starts with."""

    seconds: float
    memory: int


@dataclass(frozen=True)
class TrialTask:
    """What the child does: the kind of the file, its path for messages, and the types that are trusted."""

    kind: Kind
    path: str
    trust: tuple[str, ...]
    seconds: float
    memory: int
    parent: int


@dataclass(frozen=True)
class TrialOutcome:
    """How the child ended: its exit code, or minus the signal's number, and what it said."""

    code: int
    said: str


def limits_for(size: int) -> Limits:
    """Limits for a file of this many bytes; LEAKSCOPE_LOAD_SECONDS and LEAKSCOPE_LOAD_MEMORY (GB) replace them.

    Examples
    --------
    >>> limits_for(50_000_000).seconds
    65.0
    """
    memory = max(MEMORY, MEMORY_PER_BYTE * size)
    with contextlib.suppress(AttributeError, ValueError, OSError):
        memory = min(memory, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    seconds = _setting("LEAKSCOPE_LOAD_SECONDS", SECONDS + size / BYTES_PER_SECOND)
    return Limits(seconds, int(_setting("LEAKSCOPE_LOAD_MEMORY", memory / 2**30) * 2**30))


def _setting(name: str, default: float) -> float:
    try:
        value = float(os.environ.get(name) or default)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise InputError(f"the environment variable {name} must be a number above 0")
    return value


def try_model(path: Path, kind: Kind, content: bytes, trust: Sequence[str] = ()) -> None:
    """Load a model and predict with it in a child process; an `InputError` unless that ends well.

    ``content`` holds the bytes that the caller loads afterwards. ``path`` is for messages, and its folder for the
    weights of an ONNX file. ``trust`` names types in a skops file, beyond those that skops knows to be safe.

    Examples
    --------
    >>> import pathlib, skops.io, sklearn.dummy
    >>> model = sklearn.dummy.DummyClassifier().fit([[0], [1]], ["no", "yes"])
    >>> try_model(pathlib.Path("model.skops"), "skops", skops.io.dumps(model))
    """
    limits = limits_for(len(content))
    job = TrialTask(kind, str(path), tuple(trust), limits.seconds, limits.memory, os.getpid())
    outcome = None
    if kind == "skops" and hasattr(os, "fork"):
        import skops.io  # noqa: F401  # before the fork, so that the child has it

        outcome = _run_forked(job, content)
    if outcome is None or outcome.code not in (0, OUT_OF_MEMORY):
        outcome = _run_fresh(job, content)
    _judge(path, outcome, limits)


def _judge(path: Path, outcome: TrialOutcome, limits: Limits) -> None:
    """Raise one sentence unless the child ended well and refused nothing."""
    late = [-getattr(signal, name) for name in ("SIGALRM", "SIGXCPU") if hasattr(signal, name)]
    if outcome.code == 0 and outcome.said:
        if refusal := json.loads(outcome.said)["refusal"]:
            raise InputError(refusal)
    elif outcome.code in late:
        raise InputError(
            f"{str(path)!r} was not loaded and used for a first prediction within {limits.seconds:g} s: it may be made to "
            "do harm; if you trust it, set LEAKSCOPE_LOAD_SECONDS to a longer time"
        )
    elif outcome.code in (OUT_OF_MEMORY, -getattr(signal, "SIGKILL", 9)):
        raise InputError(
            f"{str(path)!r} needs more than {limits.memory / 2**30:.3g} GB of memory to load and to predict once: it may be "
            "made to do harm; if you trust it, set LEAKSCOPE_LOAD_MEMORY to more GB"
        )
    else:
        end = signal.Signals(-outcome.code).name if outcome.code < 0 else f"exit code {outcome.code}"
        raise InputError(
            f"{str(path)!r} is damaged or was made to do harm: the process that loaded it and predicted once crashed ({end})"
        )


# --- the parent's side ------------------------------------------------------------------------------------------------


def _run_forked(job: TrialTask, content: bytes) -> TrialOutcome:
    """Run the job in a copy of this process, with a third of the time: a new interpreter may follow."""
    job = TrialTask(**{**asdict(job), "seconds": job.seconds / 3})
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads: see the module's docstring
        child = os.fork()
    if child == 0:
        _be_child(job, content, writing)
    os.close(writing)
    try:
        said = _read_all(reading, time.monotonic() + job.seconds + START)
    finally:
        os.close(reading)
        status = _end(child)
    return TrialOutcome(os.waitstatus_to_exitcode(status), said)


def _read_all(reading: int, deadline: float) -> str:
    """Return what the child writes until it ends or the deadline passes."""
    parts = []
    while select.select([reading], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if not (part := os.read(reading, 65536)):
            break
        parts.append(part)
    return b"".join(parts).decode(errors="replace")


def _end(child: int) -> int:
    """Wait for a child that has closed its pipe, end it and all that it started if it does not end, return its status."""
    patience = time.monotonic() + 1.0
    status = 0
    with contextlib.suppress(ChildProcessError):  # another part of the program waits for children
        while time.monotonic() < patience:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.001)
        else:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
    _kill_group(child)
    return status


def _kill_group(leader: int) -> None:
    with contextlib.suppress(AttributeError, ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _run_fresh(job: TrialTask, content: bytes) -> TrialOutcome:
    """Run the job in a new interpreter."""
    header = json.dumps({**asdict(job), "modules": sys.path}).encode() + b"\n"
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", "-c", COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(header + content, timeout=START + job.seconds + 5)
    except subprocess.TimeoutExpired:
        return TrialOutcome(-getattr(signal, "SIGALRM", 14), "")
    finally:
        process.kill()
        process.wait()
        _kill_group(process.pid)
    return TrialOutcome(process.returncode, said.decode(errors="replace"))


# --- the child's side -------------------------------------------------------------------------------------------------


def _be_child(job: TrialTask, content: bytes, writing: int) -> NoReturn:
    """Run the job in a forked child and end; nothing of the parent's cleaning up must run here."""
    code = 1
    try:
        import faulthandler
        import fcntl

        faulthandler.disable()
        os.setsid()
        writing = fcntl.fcntl(writing, fcntl.F_DUPFD, 3)  # it is one of the three if the parent has closed them
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        code = _run(job, content, writing)
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def answer_parent(job: dict[str, Any]) -> NoReturn:
    """Run the job that the parent wrote to standard input, in a new interpreter."""
    content = sys.stdin.buffer.read()
    writing = os.dup(1)
    os.dup2(2, 1)
    os._exit(_run(TrialTask(**{**job, "trust": tuple(job["trust"])}), content, writing))


def _run(job: TrialTask, content: bytes, writing: int) -> int:
    """Try the model under the limits, write the refusal if there is one, and return the exit code."""
    warnings.simplefilter("ignore")
    if job.kind == "onnx":
        import onnxruntime  # noqa: F401  # what is imported does not count towards the limits
    else:
        import skops.io  # noqa: F401
    try:
        _confine(job)
        refusal = _try_onnx(job, content) if job.kind == "onnx" else _try_skops(job, content)
        os.write(writing, json.dumps({"refusal": refusal[:10_000]}).encode())
    except MemoryError:
        return OUT_OF_MEMORY
    return 0


def _confine(job: TrialTask) -> None:
    """Set the limits of this process; it writes no files and ends with its parent."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != job.parent:
            os._exit(1)
    if sys.platform == "win32":
        return
    import resource

    for name in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM):
        signal.signal(name, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM, signal.SIGXCPU])
    signal.setitimer(signal.ITIMER_REAL, job.seconds)
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CPU: int(job.seconds) + 5}
    with contextlib.suppress(OSError):  # no /proc: memory is not limited
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + job.memory
    for kind, value in limits.items():
        _, most = resource.getrlimit(kind)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))


def _try_skops(job: TrialTask, content: bytes) -> str:
    """Load, check and predict; return why the file is refused, or nothing."""
    from leakscope.core.threads import one_thread
    from leakscope.models.files import load_skops
    from leakscope.models.structure import StructureError, check_structure, visit

    with one_thread():  # other threads of an OpenMP pool do not exist in a forked child, and it would wait for them
        try:
            model = load_skops(Path(job.path), content, job.trust)
            check_structure(model)
        except InputError as error:
            return str(error)
        except StructureError as fault:
            return f"{job.path!r} is damaged or was made to do harm: {fault}"
        for part, _ in visit(model):
            if "_n_threads" in getattr(part, "__dict__", {}):  # k-means keeps a number of threads of its own
                part._n_threads = 1
        for records in _generated_records(model):
            _predict(model, records)
    return ""


def _generated_records(model: Any) -> Iterator[Any]:
    """Records to predict: numbers if the model says how many features it takes, and texts otherwise."""
    import numpy as np
    import pandas as pd

    try:
        features = int(model.n_features_in_)
        names = getattr(model, "feature_names_in_", None)
    except (AttributeError, TypeError, ValueError, OverflowError):
        yield ["", "a", "a first record"]
        return
    numbers = np.random.default_rng(0).normal(size=(RECORDS, features))
    numbers[:2] = [[0.0], [1.0]]
    yield numbers if names is None else pd.DataFrame(numbers, columns=names)


def _predict(model: Any, records: Any) -> None:
    for name in ("predict_proba", "predict"):
        try:
            getattr(model, name)(records)
        except MemoryError:
            raise
        except Exception:  # generated records need not be what the model takes: no reason to refuse
            continue


def _try_onnx(job: TrialTask, content: bytes) -> str:
    """Open a session and predict; return why the file is refused, or nothing."""
    from leakscope.models.onnx_session import generated_input, open_session

    try:
        session = open_session(content, Path(job.path).parent, threads=1)
    except Exception as error:
        _pass_on_memory_error(error)
        from leakscope.core.failures import describe

        return f"{job.path!r} can't be read as an ONNX file: {describe(error)}"
    try:
        session.run(None, {node.name: generated_input(node, RECORDS) for node in session.get_inputs()})
    except Exception as error:
        _pass_on_memory_error(error)
    return ""


def _pass_on_memory_error(error: Exception) -> None:
    """Raise a MemoryError for what onnxruntime says in words."""
    if isinstance(error, MemoryError) or re.search("bad_alloc|bad allocation|Failed to allocate memory", str(error)):
        raise MemoryError from None
