"""Reproductions of the figures and tables of the papers with the public API: one short module each.

A module of this package that has an ``ID`` is a reproduction. It has a ``TITLE``, the ``PAPER`` with what it states, the
settings ``FULL`` and ``QUICK``, and ``run(work, **settings)``, which gives a `Reproduction`; ``work`` is a
`leakscope.papers.reproduction.Work`. There is no other list: a new module is found by being there.
"""

from __future__ import annotations

import pkgutil
import shlex
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

from leakscope.core.errors import InputError
from leakscope.core.result import Caveat
from leakscope.core.versions import stamp
from leakscope.data import datasets
from leakscope.papers import finished
from leakscope.papers.reproduction import Reproduction, Work
from leakscope.worlds import Progress

__all__ = ["Reproduction", "reproduce", "reproductions"]


def reproductions() -> dict[str, ModuleType]:
    """Give the reproductions by id, each the module that defines it.

    Examples
    --------
    >>> reproductions()["farokhi-fig1"].TITLE
    'Linear regression: advantage and leakage by number of training records'
    """
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    return {module.ID: module for module in modules if hasattr(module, "ID")}


def reproduce(
    name: str,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    workers: int | None = None,
    *,
    synthetic: bool = False,
    cache: str | Path | None = None,
) -> Reproduction:
    """Reproduce a figure, table or statement of a paper.

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
    synthetic
        Use generated data in the place of data sets that need files. The result says so, and its numbers can't be
        compared with the paper's.
    cache
        Folder that keeps finished work: the result, and trainings of an interrupted run. The result is computed again if
        settings, seed, package versions, code or data have changed.

    Raises
    ------
    MissingDataError
        If a data set is not on this machine. A reproduction downloads nothing.

    Examples
    --------
    >>> reproduce("farokhi-fig9")
    Traceback (most recent call last):
    leakscope.core.errors.InputError: there is no reproduction 'farokhi-fig9': choose one of farokhi-cor2, farokhi-fig1, ...
    """
    known = reproductions()
    if name not in known:
        raise InputError(f"there is no reproduction {str(name)[:40]!r}: choose one of {', '.join(known)}")
    module = known[name]
    work = Work(module, module.QUICK if quick else module.FULL, seed, progress, workers, cache)
    if cache is None:
        return _run(work, quick, synthetic)[0]
    entry = finished.FinishedResult.of(
        Path(cache), name, {**work.settings, "quick": quick, "seed": seed, "synthetic": synthetic}
    )
    if (kept := entry.load()) is not None:
        return kept
    result, asked = _run(work, quick, synthetic)
    entry.store(result, asked)
    return result


def _run(work: Work, quick: bool, synthetic: bool) -> tuple[Reproduction, set[str]]:
    """The result, labelled if it rests on generated data, and the data sets that it asked for."""
    start = time.perf_counter()
    with datasets.local_only(synthetic) as usage:
        result = work.run()
    if usage.generated:
        result = result.on_synthetic(sorted(usage.generated))
    options = [option for option, chosen in (("--quick", quick), ("--synthetic", synthetic)) if chosen]
    return replace(
        result,
        settings=result.settings | {"quick": quick},
        warnings=(*result.warnings, *([Caveat("quick_run")] if quick else [])),
        seconds={"total": round(time.perf_counter() - start, 3)},
        command=shlex.join(["leakscope", "reproduce", work.module.ID, *options, "--seed", str(work.seed)]),
        **stamp(),
    ), usage.asked
