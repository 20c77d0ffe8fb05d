"""Execution of tasks in the current process, in local processes or on a Dask cluster.

A task is a range of numbers, the argument of one function. Results do not depend on where the function runs, provided
that it depends on the task only and runs in `one_thread`.
"""

import hashlib
import math
import pickle
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from leakscope.core.checks import check_count
from leakscope.core.errors import InputError, resource_error
from leakscope.core.failures import describe
from leakscope.worlds.cache import check_folder
from leakscope.worlds.cluster import run_on_cluster
from leakscope.worlds.processes import read, run_in_processes

Answer = TypeVar("Answer")
Run = Callable[[range], Answer]

SHORT = 3.0  # seconds of work for which starting processes is not worthwhile


def run_tasks(
    run: Run[Answer], tasks: list[range], workers: int | None = None, cluster: str | None = None
) -> Iterator[tuple[range, Answer]]:
    """Yield each task with its result, in the order of completion.

    Parameters
    ----------
    run
        Function of one task. It is sent to each process once, with its data.
    workers
        Number of local processes; 1 uses the current process. By default the current process if the remaining tasks
        take a few seconds at most, otherwise one process per core.
    cluster
        Address of a Dask scheduler, ``tcp://host:port``.

    Raises
    ------
    InputError
        If ``run`` cannot be sent to other processes, or the cluster does not answer. An exception of ``run`` is raised
        after the tasks that were already running have been yielded.
    ResourceError
        If a worker process was killed, or the cluster was lost.

    Examples
    --------
    >>> list(run_tasks(sum, [range(3), range(3, 5)], workers=1))
    [(range(0, 3), 3), (range(3, 5), 7)]
    """
    from joblib import cpu_count

    finished = 0
    if cluster is None and (workers in (None, 1) or len(tasks) == 1):
        quickest = math.inf
        for task in tasks:
            start = time.perf_counter()
            answer = run(task)
            quickest = min(quickest, time.perf_counter() - start)
            finished += 1
            yield task, answer
            # the first task may include the time of imports, so a second one is timed if it is short
            left = len(tasks) - finished
            is_long = left > 1 and quickest * left > SHORT and (finished > 1 or quickest > SHORT)
            if workers is None and is_long and cpu_count() > 1:
                break
    if finished < len(tasks):
        yield from _run_elsewhere(run, tasks[finished:], workers, cluster)


def check_work(workers: int | None, cluster: str | None, cache: str | Path | None) -> None:
    """Check the number of workers, the cluster address and the cache folder before training."""
    if workers is not None:
        check_count("workers", workers)
    if workers is not None and cluster is not None:
        raise InputError("workers= and cluster= are both given: pass one of them")
    if cluster is not None and not re.fullmatch(r"[a-z]+://\S+:\d+", cluster):
        raise InputError(f"{cluster!r} is not the address of a Dask scheduler: write tcp://host:port")
    if cache is not None and not isinstance(cache, str | Path):
        raise InputError(f"cache must be a folder, not {cache!r}")
    if cache is not None:
        check_folder(Path(cache))


def _run_elsewhere(
    run: Run[Answer], tasks: list[range], workers: int | None, cluster: str | None
) -> Iterator[tuple[range, Answer]]:
    """Yield the tasks as other processes finish them; after a failure start no more, but yield all finished ones."""
    from joblib import cpu_count

    packed = _pack(run)
    call = partial(_run_packed, hashlib.sha256(packed).hexdigest())
    failures: list[Exception] = []
    if cluster is None:
        number = min(workers or cpu_count(), len(tasks))
        place = run_in_processes(number, call, packed, tasks, lambda: bool(failures))
    else:
        place = run_on_cluster(cluster, call, np.frombuffer(packed, np.uint8), tasks, lambda: bool(failures))
    with closing(place) as answers:
        for task, answer, failure in answers:
            if failure is not None:
                failures.append(failure)
            else:
                yield task, answer
    if failures:
        raise failures[0]


def _pack(run: Run[Any]) -> bytes:
    """Pickle ``run`` with its data, once for all processes."""
    import cloudpickle  # type: ignore[import-untyped]

    try:
        return bytes(cloudpickle.dumps(run))
    except Exception as error:
        if (fault := resource_error(error)) is not None:
            raise fault from None
        raise InputError(f"the learner can't be sent to other processes ({describe(error)}): pass workers=1") from None


_unpacked: dict[str, Run[Any]] = {}
_unpack_lock = threading.Lock()


def _unpack(packed: Any, digest: str) -> Run[Any]:
    """Unpickle the function of `_pack` once per process, and discard the previous one."""
    with _unpack_lock:
        if digest not in _unpacked:
            _unpacked.clear()
            try:
                _unpacked[digest] = pickle.loads(read(packed))
            except Exception as error:
                if (fault := resource_error(error)) is not None:
                    raise fault from None
                raise InputError(
                    f"a worker can't load the learner ({describe(error)}): install its packages on the workers"
                ) from None
            if isinstance(packed, np.ndarray):  # a worker of a cluster drops it when the client disconnects
                weakref.finalize(packed, _unpacked.pop, digest, None)
        return _unpacked[digest]


def _run_packed(digest: str, packed: Any, task: range) -> tuple[range, Any, Exception | None]:
    """Run one task in a worker; return an exception as a result, so that other tasks continue."""
    try:
        return task, _unpack(packed, digest)(task), None
    except Exception as failure:
        return task, None, failure
