"""Execution of tasks on the workers of a Dask cluster.

A lost scheduler, lost workers or a worker that a task kills raise a `ResourceError`; the call never waits forever.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from leakscope.core.errors import InputError, MissingExtraError, ResourceError

Answer = TypeVar("Answer")

PATIENCE = 10  # seconds to wait for a cluster to answer
BATCH = 0.5  # seconds after which a worker returns its results; short tasks are returned together
LARGEST_BATCH = 256  # tasks


def run_on_cluster(
    address: str, call: Callable[[Any, range], Answer], shared: Any, tasks: Sequence[range], is_over: Callable[[], bool]
) -> Generator[Answer, None, None]:
    """Yield ``call(shared, task)`` for each task, in the order in which they finish.

    ``address`` is the address of a Dask scheduler, whose workers must be able to import ``call``. Once ``is_over()`` is
    true, no more tasks are started. Raises `InputError` if the scheduler does not answer or has no workers, and
    `ResourceError` if the scheduler or all workers are lost later.
    """
    with _connected(address) as client:
        data = client.scatter(shared, broadcast=True)
        finished: SimpleQueue[Any] = SimpleQueue()
        under_way: dict[Any, list[range]] = {}
        left = deque(tasks)
        room = 2 * sum(client.nthreads().values())
        while True:
            while left and len(under_way) < room and not is_over():
                size = max(1, min(LARGEST_BATCH, len(left) // room))
                batch = [left.popleft() for _ in range(size)]
                future = client.submit(_run_batch, call, data, batch, pure=False)
                under_way[future] = batch
                future.add_done_callback(finished.put)
            if not under_way:
                return
            future = _next(client, finished)
            batch = under_way.pop(future)
            answers = future.result(timeout=PATIENCE)
            left.extendleft(reversed(batch[len(answers) :]))
            yield from answers


def _run_batch(call: Callable[[Any, range], Answer], shared: Any, tasks: list[range]) -> list[Answer]:
    """Run at least one task on a worker, and more until the time of a batch is over."""
    end = time.monotonic() + BATCH
    answers = [call(shared, tasks[0])]
    for task in tasks[1:]:
        if time.monotonic() > end:
            break
        answers.append(call(shared, task))
    return answers


def _next(client: Any, finished: SimpleQueue[Any]) -> Any:
    """Wait for the next finished future; raise if the cluster has no workers, since tasks would then wait forever."""
    last_seen = time.monotonic()
    while True:
        with suppress(Empty):
            return finished.get(timeout=1)
        if client.status != "running":
            raise ConnectionError
        if client.sync(client.scheduler.ncores, callback_timeout=PATIENCE):
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > PATIENCE:
            raise ResourceError("the Dask cluster lost all its workers: start new workers")


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler that has workers, and translate connection errors."""
    try:
        from distributed import Client, KilledWorker
        from distributed.client import CancelledError
    except ImportError:
        raise MissingExtraError("a Dask cluster", "cluster") from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError):
        raise InputError(f"no Dask scheduler answers at {address}: check the address, tcp://host:port") from None
    try:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise InputError(f"the Dask scheduler at {address} has no workers: start at least one") from None
        yield client
    except KilledWorker:
        raise ResourceError(
            "several workers of the Dask cluster died on the same task, often for lack of memory: give them more memory"
        ) from None
    except (OSError, CancelledError, TimeoutError):
        raise ResourceError(
            f"the Dask cluster at {address} lost its scheduler, its workers or the connection: check that they are running"
        ) from None
    finally:
        client.close(timeout=1)
