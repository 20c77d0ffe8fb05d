"""The figures of the papers, made anew with the public API: one short module each.

A module of this package that has an ``ID`` is a reproduction. It has a ``TITLE``, the ``PAPER`` with what it states, the
settings ``FULL`` and ``QUICK``, and ``run(**settings, seed, progress, workers)``, which gives a `Reproduction`. There is
no other list: a new module is found by being there.
"""

from __future__ import annotations

import pkgutil
import time
from dataclasses import replace
from importlib import import_module
from types import ModuleType

from leakscope.errors import InputError
from leakscope.papers.reproduction import Reproduction
from leakscope.worlds import Progress

__all__ = ["Reproduction", "reproduce", "reproductions"]


def reproductions() -> dict[str, ModuleType]:
    """The reproductions by id, each the module that holds it.

    Examples
    --------
    >>> reproductions()["farokhi-fig1"].TITLE
    'Linear regression: advantage and leakage by number of training records'
    """
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    return {module.ID: module for module in modules if hasattr(module, "ID")}


def reproduce(
    name: str, quick: bool = False, seed: int = 0, progress: Progress | None = None, workers: int | None = None
) -> Reproduction:
    """Make a figure of a paper anew.

    Parameters
    ----------
    name
        One of ``reproductions()``.
    quick
        Fewer points, records and models: to see that it works, not to be quoted.
    progress
        Called with the stage, how much of it is done, and how much there is.
    workers
        Number of local processes, by default as many as pay off; the numbers don't depend on it.

    Examples
    --------
    >>> reproduce("farokhi-fig9")
    Traceback (most recent call last):
    leakscope.errors.InputError: there is no reproduction 'farokhi-fig9': choose one of farokhi-cor2, farokhi-fig1, ...
    """
    known = reproductions()
    if name not in known:
        raise InputError(f"there is no reproduction {str(name)[:40]!r}: choose one of {', '.join(known)}")
    module = known[name]
    start = time.perf_counter()
    result: Reproduction = module.run(
        **(module.QUICK if quick else module.FULL), seed=seed, progress=progress, workers=workers
    )
    settings = result.settings | {"quick": quick}
    return replace(result, settings=settings, seconds=round(time.perf_counter() - start, 3))
