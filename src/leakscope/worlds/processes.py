"""Tasks in processes of this machine, which end with the process that started them.

The data for the tasks lies in an anonymous file of the parent process, where the system has them (Linux). Such a file has
no name in any folder and ends with the parent, however that ends. Elsewhere joblib writes it to a temporary folder,
which joblib's resource tracker removes.
"""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from leakscope.core.errors import ResourceError

Answer = TypeVar("Answer")

HELD_BACK = (signal.SIGINT, signal.SIGTERM)
WATCH = 0.5  # seconds between two looks at whether the parent is alive


def run_in_processes(
    workers: int,
    call: Callable[[Any, range], Answer],
    shared: bytes,
    tasks: Sequence[range],
    is_over: Callable[[], bool],
) -> Generator[Answer, None, None]:
    """Yield ``call(place, task)`` for each task, in the order in which they finish.

    `read` gives ``shared`` at ``place``. Processes must be able to import ``call``. Once ``is_over()`` is true, only
    the tasks under way are yielded. A process that was killed, often because memory ran out, is a `ResourceError`.
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
            # `yield from` would close the answers itself, with joblib's warning
            for answer in answers:  # noqa: UP028
                yield answer
    except BrokenProcessPool:
        raise ResourceError("a worker process was killed, often because memory ran out: use fewer workers") from None


def read(place: Any) -> Any:
    """Read the shared data at a place that `run_in_processes` gave."""
    return place.read_bytes() if isinstance(place, Path) else place


@contextmanager
def _readable(shared: bytes) -> Iterator[Any]:
    """Give the place at which the processes of this user can read ``shared``."""
    if not hasattr(os, "memfd_create") or not Path(f"/proc/{os.getpid()}/fd").is_dir():
        yield np.frombuffer(shared, np.uint8)
        return
    with os.fdopen(os.memfd_create("leakscope"), "wb") as file:
        file.write(shared)
        file.flush()
        yield Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")


@contextmanager
def _closed(answers: Any) -> Iterator[Any]:
    """Cancel what is still running when the reader stops early; joblib would warn of what was meant."""
    try:
        yield answers
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            answers.close()


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Hold signals back while workers are started.

    An exception in the middle would break joblib. Workers inherit this until `_end_with_parent`: Ctrl-C makes them print
    no traceback while they import.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # joblib would start it below, and Python 3.11 lets signals through afterwards
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent(parent: int) -> None:
    """End this worker soon after its parent, however the parent ended, and leave Ctrl-C to the parent.

    A thread looks, since Linux's own signal (PR_SET_PDEATHSIG) comes when the *thread* that started the worker ends, and
    joblib starts workers from several.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
    if not hasattr(signal, "SIGKILL"):  # on Windows, the number of the parent does not change when it ends
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="leakscope-parent", daemon=True).start()
