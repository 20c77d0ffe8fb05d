"""Execution of tasks in local worker processes, which end with their parent process.

On Linux the data of the tasks is in an anonymous file of the parent process, which has no path and disappears with the
parent. On other systems joblib writes the data to a temporary folder, which its resource tracker removes.
"""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from leakscope.core.errors import ResourceError

Answer = TypeVar("Answer")

HELD_BACK = (signal.SIGINT, signal.SIGTERM)
WATCH = 0.5  # seconds between two checks whether the parent is alive


def run_in_processes(
    workers: int,
    call: Callable[[Any, range], Answer],
    shared: bytes,
    tasks: Sequence[range],
    is_over: Callable[[], bool],
) -> Generator[Answer, None, None]:
    """Yield ``call(place, task)`` for each task, in the order in which they finish.

    `read` returns ``shared`` from ``place``. Processes must be able to import ``call``. Once ``is_over()`` is true, no
    more tasks are started. Raises `ResourceError` if a process was killed, often for lack of memory.
    """
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed, parallel_config

    def calls(place: Any) -> Iterator[Any]:
        for task in tasks:
            if is_over():
                return
            yield delayed(call)(place, task)

    ends_with_us = {"initializer": _end_with_parent, "initargs": (os.getpid(),)}
    with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1, **ends_with_us):
        parallel = Parallel(return_as="generator_unordered")
    try:
        with _readable(shared) as place, ExitStack() as stack:
            with _signals_wait():
                answers = stack.enter_context(_closed(parallel(calls(place))))
            # `yield from` would close the answers itself, and joblib would warn
            for answer in answers:  # noqa: UP028
                yield answer
    except BrokenProcessPool:
        raise ResourceError("a worker process was killed, often for lack of memory: use fewer workers") from None


def read(place: Any) -> Any:
    """Read the shared data at a place that `run_in_processes` passed to ``call``."""
    return place.read_bytes() if isinstance(place, Path) else place


@contextmanager
def _readable(shared: bytes) -> Iterator[Any]:
    """Provide a place where processes of this user can read ``shared``."""
    if not hasattr(os, "memfd_create") or not Path(f"/proc/{os.getpid()}/fd").is_dir():
        yield np.frombuffer(shared, np.uint8)
        return
    with os.fdopen(os.memfd_create("leakscope"), "wb") as file:
        file.write(shared)
        file.flush()
        yield Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")


@contextmanager
def _closed(answers: Any) -> Iterator[Any]:
    """Cancel running tasks if the reader stops early, without the warning of joblib."""
    try:
        yield answers
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            answers.close()


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Block signals while workers are started.

    An exception at that time would break joblib. Workers inherit the mask until `_end_with_parent`, so Ctrl-C during
    their imports prints no traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # otherwise joblib starts it below, and Python 3.11 then unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent(parent: int) -> None:
    """End this worker soon after its parent ends for any reason, and ignore Ctrl-C, which the parent handles.

    A thread polls, because Linux sends PR_SET_PDEATHSIG when the *thread* that started the worker ends, and joblib
    starts workers from several threads.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.dup2(2, 1)  # the user's code may print, and standard output holds the result alone
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
    if not hasattr(signal, "SIGKILL"):  # on Windows the parent id does not change when the parent ends
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="leakscope-parent", daemon=True).start()
