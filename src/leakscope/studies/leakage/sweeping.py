"""Leakage over sizes, regularisation and noise, with the advantage of attacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from leakscope.core.checks import check_confidence, check_count, check_seed
from leakscope.core.errors import InputError
from leakscope.core.result import Caveat
from leakscope.learners import as_learner
from leakscope.studies.inputs import formerly, read_universe
from leakscope.studies.leakage.claims import conclude
from leakscope.studies.leakage.figures import exceeds
from leakscope.studies.leakage.measure import LeakageSettings, measure_point
from leakscope.studies.leakage.result import Leakage, LeakagePoint, NotMeasured, check_goal
from leakscope.studies.leakage.swaps import Space
from leakscope.worlds.training import Progress
from leakscope.worlds.workers import check_work


@formerly("l2", "noise", "records", "draws", "space", "seed")
def sweep(
    learner: Any,
    X: Any = None,
    y: Any = None,
    sizes: Iterable[int] = (30, 100, 300, 1000),
    *,
    l2: Iterable[float] | None = None,
    noise: Iterable[float] = (0.0,),
    records: int | ArrayLike = 200,
    draws: int = 2000,
    space: Space = "parameters",
    seed: int = 0,
    models: int = 100,
    below: float | None = None,
    shared: bool = True,
    confidence: float = 0.95,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Leakage:
    """Measure leakage at every combination of size, regularisation and noise.

    Parameters
    ----------
    l2
        Values of the learner's own ``l2``; by default the one it has.
    models
        Models of the membership experiment at each setting [farokhi2020, 6.2], with a threshold from other models, so that the bound applies to it;
        0 leaves the experiment out, and so does noise in function space.
    below
        A goal in bits: the result states from which size on, and from which ``l2`` on if it varies, leakage stays below it (`Leakage.below`).
    learner, X, y, records, draws, space, seed, shared, confidence, workers, cluster, cache
        As in `membership_leakage`. All settings use the same records and seed.
    progress
        Called with ``("settings", done, total)`` after each, and with the progress of the training within it.

    Raises
    ------
    InputError
        If nothing can be measured. A setting that can't be measured (fewer records than parameters, for example) is listed with its reason.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> found = sweep("ridge", X, X[:, 0] + rng.normal(size=300), sizes=(2, 50), records=10, draws=200, models=0)
    >>> [point.size for point in found.points], [item.size for item in found.not_measured]
    ([50], [2])
    """
    learner, X, y, _ = read_universe(learner, X, y)
    made = as_learner(learner)
    check_work(workers, cluster, cache)
    check_seed(seed)
    check_confidence(confidence)
    if check_count("models", models, 0) == 1:
        raise InputError("models must be 0 (no experiment) or at least 2, not 1")
    goal = None if below is None else check_goal(below)
    weights = _values("l2", [getattr(made, "l2", None)] if l2 is None else l2, made)
    spreads, counts = _values("noise", noise), _values("sizes", sizes)
    settings = [(size, weight, spread) for weight in weights for spread in spreads for size in counts]
    points: list[LeakagePoint] = []
    tables: list[pd.DataFrame] = []
    refused: list[NotMeasured] = []
    fixed: dict[str, Any] = {}
    work = {"workers": workers, "cluster": cluster, "cache": cache, "progress": progress}
    how = LeakageSettings(records, draws, space, seed, shared, confidence, work)
    for done, (size, weight, spread) in enumerate(settings, start=1):
        one = made if l2 is None else replace(made, l2=weight)  # type: ignore[type-var]
        try:
            point, table, fixed = measure_point(one, X, y, size, spread, how)
            # the experiment adds noise to parameters; in function space it is the outputs that are noisy
            trained = models if space == "parameters" or not spread else 0
            points.append(_with_experiment(point, one, X, y, trained, how))
            tables.append(table)
        except InputError as error:
            place = int(size), None if weight is None else float(weight), float(spread)
            refused.append(NotMeasured(*place, str(error)))
        if progress is not None:
            progress("settings", done, len(settings))
    if not points:
        raise InputError(refused[0].reason)
    varied = {"sizes": counts, "l2": weights, "noise": spreads, "models": models, "below": goal}
    return conclude(points, pd.concat(tables, ignore_index=True), fixed | varied, goal, not_measured=tuple(refused))


def _values(name: str, values: Any, learner: Any = None) -> list[Any]:
    listed = list(values) if isinstance(values, Iterable) else [values]
    if not listed:
        raise InputError(f"{name} is empty: give one value or more")
    if name == "l2" and listed != [None] and not (is_dataclass(learner) and hasattr(learner, "l2")):
        raise InputError(f"{learner.name} has no l2 of its own to vary: leave l2 out and set it in the learner")
    return list(dict.fromkeys(listed))


def _with_experiment(
    point: LeakagePoint, learner: Any, X: Any, y: Any, models: int, how: LeakageSettings
) -> LeakagePoint:
    """Add the membership experiment at a setting, and a warning where it exceeds the bound or can't be run."""
    if not models:
        return point
    from leakscope.evaluation.membership_experiment import membership_experiment

    try:
        found = membership_experiment(
            learner,
            X,
            y,
            point.size,
            models,
            point.noise,
            attack="fixed threshold",
            seed=how.seed,
            confidence=how.confidence,
            **how.work,
        ).advantage
    except InputError as error:
        return replace(point, warnings=(*point.warnings, Caveat("no_threshold_attack", {"reason": str(error)})))
    return replace(
        point, threshold_attack=found.finite(), warnings=(*point.warnings, *exceeds(point, "loss-threshold", found))
    )
