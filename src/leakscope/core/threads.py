"""Context manager that limits numerical libraries to one thread, so that results do not depend on the number of cores."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_thread_lock = threading.Lock()
_limits: list[Any] = []
_tasks_running = 0
_torch_threads: list[int] = []


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit numerical libraries and nested joblib calls to one thread until the last task of the process ends."""
    from joblib import parallel_config

    global _tasks_running
    torch = sys.modules.get("torch")
    with _thread_lock:
        if torch is not None and not _torch_threads:
            _torch_threads.append(torch.get_num_threads())
        _limits.append(_thread_pools(len(sys.modules)).limit(limits=1))
        if torch is not None:  # torch ignores the limits of the pools once its own number of threads was set
            torch.set_num_threads(1)
        _tasks_running += 1
    try:
        with parallel_config(backend="sequential"):
            yield
    finally:
        with _thread_lock:
            _tasks_running -= 1
            while _limits and not _tasks_running:
                _limits.pop().restore_original_limits()
            while _torch_threads and not _tasks_running:
                sys.modules["torch"].set_num_threads(_torch_threads.pop())


@lru_cache(maxsize=1)
def _thread_pools(modules_loaded: int) -> Any:  # noqa: ARG001
    """Find the thread pools, again after new imports; cached because the search takes longer than a small training."""
    import scipy.linalg  # noqa: F401  # loads the pools that the import of a learner would add later
    import sklearn.utils  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
