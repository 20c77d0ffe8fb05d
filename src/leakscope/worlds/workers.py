"""Where tasks run: in this process, in processes of this machine, or on the workers of a Dask cluster.

A task is a range of numbers, and what is run is one function of it. The answers are the same wherever they come from,
as long as the function depends on nothing but the task and holds itself to `one_thread`.
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

SHORT = 3.0  # seconds: starting processes would take longer than the work


def run_tasks(
    run: Run[Answer], tasks: list[range], workers: int | None = None, cluster: str | None = None
) -> Iterator[tuple[range, Answer]]:
    """Yield each task with its answer, in the order in which they finish.

    Parameters
    ----------
    run
        Function of one task; it is sent to each process once, with all the data that it holds.
    workers
        Number of local processes; 1 stays in this one. By default this one as long as the rest would take a few
        seconds at most, and otherwise one process per core.
    cluster
        Address of a Dask scheduler, ``tcp://host:port``.

    Raises
    ------
    InputError
        If ``run`` can't be sent to other processes, or the cluster does not answer. Whatever ``run`` itself raises
        is raised here after the tasks that were under way have been yielded.
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
            # the first task may have spent its time on imports: a second one tells, if it can be afforded
            left = len(tasks) - finished
            is_long = left > 1 and quickest * left > SHORT and (finished > 1 or quickest > SHORT)
            if workers is None and is_long and cpu_count() > 1:
                break
    if finished < len(tasks):
        yield from _run_elsewhere(run, tasks[finished:], workers, cluster)


def check_work(workers: int | None, cluster: str | None, cache: str | Path | None) -> None:
    """Refuse, before anything is trained, a number of workers, a cluster address or a cache folder that can't be right."""
    if workers is not None:
        check_count("workers", workers)
    if workers is not None and cluster is not None:
        raise InputError("give either a number of workers or the address of a cluster, not both")
    if cluster is not None and not re.fullmatch(r"[a-z]+://\S+:\d+", cluster):
        raise InputError(f"{cluster!r} is not the address of a Dask scheduler: write tcp://host:port")
    if cache is not None and not isinstance(cache, str | Path):
        raise InputError(f"cache must be a folder, not {cache!r}")
    if cache is not None:
        check_folder(Path(cache))


def _run_elsewhere(
    run: Run[Answer], tasks: list[range], workers: int | None, cluster: str | None
) -> Iterator[tuple[range, Answer]]:
    """Yield the tasks as other processes finish them; after a failure start no more, but lose none that is done."""
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
    """Pack ``run`` with all its data, once for all processes."""
    import cloudpickle  # type: ignore[import-untyped]

    try:
        return bytes(cloudpickle.dumps(run))
    except Exception as error:
        if (fault := resource_error(error)) is not None:
            raise fault from None
        raise InputError(f"the learner can't be sent to other processes ({describe(error)}): use workers=1") from None


_unpacked: dict[str, Run[Any]] = {}
_unpack_lock = threading.Lock()


def _unpack(packed: Any, digest: str) -> Run[Any]:
    """Unpack what `_pack` made, once per process, and forget what came before."""
    with _unpack_lock:
        if digest not in _unpacked:
            _unpacked.clear()
            try:
                _unpacked[digest] = pickle.loads(read(packed))
            except Exception as error:
                if (fault := resource_error(error)) is not None:
                    raise fault from None
                raise InputError(
                    f"a worker can't load the learner ({describe(error)}): install what it needs there"
                ) from None
            if isinstance(packed, np.ndarray):  # a cluster's worker drops it once the client is gone
                weakref.finalize(packed, _unpacked.pop, digest, None)
        return _unpacked[digest]


def _run_packed(digest: str, packed: Any, task: range) -> tuple[range, Any, Exception | None]:
    """Run one task in a worker; a failure is an answer too, so that it stops no other task."""
    try:
        return task, _unpack(packed, digest)(task), None
    except Exception as failure:
        return task, None, failure
