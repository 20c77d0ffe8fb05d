"""What studies share: how they take a model with its data, how they work, and the calls of the last version that still work."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from leakscope.core.errors import InputError
from leakscope.data.records import join_records
from leakscope.evaluation.settings import Clock, Settings
from leakscope.evaluation.training import Retrain
from leakscope.models.adapters import EstimatorOutputs
from leakscope.models.target import Target, make_target
from leakscope.releases.release import Progress
from leakscope.worlds.training import retrain
from leakscope.worlds.workers import check_work

Study = TypeVar("Study", bound=Callable[..., Any])


def read_target(model: Any, train: Any, holdout: Any, **how: Any) -> Target:
    """Give the target itself, or make one of the model, its records and what `make_target` takes.

    Examples
    --------
    >>> from leakscope.toys import lookup
    >>> toy = lookup(n=100)
    >>> target = read_target(toy.model, toy.train, toy.holdout)
    >>> read_target(target, None, None) is target
    True
    """
    given = {"train": train, "holdout": holdout, **how}
    if not isinstance(model, Target):
        if train is None or holdout is None:
            raise InputError("pass a Target, or a model with train=(X, y) and holdout=(X, y)")
        return make_target(model, **given)
    if extra := [name for name, value in given.items() if value is not None]:
        raise InputError(f"a Target is given, and {extra[0]} too: pass {extra[0]} to make_target")
    return model


def read_universe(learner: Any, X: Any, y: Any) -> tuple[Any, Any, Any, int | None]:
    """Give a learner with all records that it may be trained on; of a target its model, its records, and the number of members.

    Examples
    --------
    >>> from leakscope.toys import lookup
    >>> toy = lookup(n=100)
    >>> read_universe(toy.model, toy.train, toy.holdout)[3]
    100
    >>> read_universe("ridge", [[0.0], [1.0]], [0.0, 1.0])
    ('ridge', [[0.0], [1.0]], [0.0, 1.0], None)
    """
    if isinstance(learner, Target) or (isinstance(X, tuple) and isinstance(y, tuple)):
        target = read_target(learner, X, y)
        everyone = join_records(target.members, target.nonmembers)
        return given_model(target), everyone.X, everyone.y, len(target.members)
    if X is None or y is None:
        raise InputError("pass a Target, a model with its training set and holdout, or a learner with X and y")
    return learner, X, y, None


def given_model(model: Any) -> Any:
    """Give the model that a target was made of, where the target still has it."""
    if not isinstance(model, Target):
        return model
    predict = model.model.predict
    return predict.estimator if isinstance(predict, EstimatorOutputs) else model.model


@dataclass(frozen=True, eq=False)
class Work:
    """How a study works: its settings, how it trains models, whom it tells of progress, and the seconds of its steps."""

    settings: Settings
    retrain: Retrain
    progress: Progress | None
    clock: Clock = field(default_factory=Clock)


def read_work(
    settings: Settings, workers: int | None, cluster: str | None, cache: str | Path | None, progress: Progress | None
) -> Work:
    """Check how a study is to work."""
    checked = settings.checked()
    check_work(workers, cluster, cache)
    return Work(checked, partial(retrain, workers=workers, cluster=cluster, cache=cache), progress)


class Steps:
    """Count finished steps for a progress bar."""

    def __init__(self, stage: str, total: int, progress: Progress | None) -> None:
        self.stage, self.total, self.progress, self.done = stage, total, progress, 0

    def __call__(self, steps: int = 1) -> None:
        self.done += steps
        if self.progress is not None:
            self.progress(self.stage, self.done, self.total)


def formerly(*positions: str, **names: str) -> Callable[[Study], Study]:
    """Accept calls of the last version, with a warning that names the new form.

    Parameters
    ----------
    positions
        Options that followed the data by position.
    names
        Old names of options, each with the new one.

    Examples
    --------
    >>> @formerly("size", width="length")
    ... def study(X, *, size=1, length=2):
    ...     return size, length
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     study(None, 3, width=4)
    (3, 4)
    >>> [str(one.message) for one in said]
    ['write study(…, size=…): the next version ...', 'write study(…, length=…): the next version ...']
    """

    def accept(study: Study) -> Study:
        kinds = [one.kind for one in inspect.signature(study).parameters.values()]
        most = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)

        @wraps(study)
        def run(*data: Any, **options: Any) -> Any:
            count = 1 if data and isinstance(data[0], Target) else most
            old = list(zip(positions, data[count : count + len(positions)], strict=False))
            data = (*data[:count], *data[count + len(positions) :])
            old += [(new, options.pop(name)) for name, new in names.items() if name in options]
            for name, value in old:
                if options.get(name) is not None:
                    raise InputError(f"{name} is given twice: write {study.__name__}(…, {name}=…)")
                how = f"write {study.__name__}(…, {name}=…)"
                warnings.warn(f"{how}: the next version takes no other form", FutureWarning, stacklevel=2)
                options[name] = value
            return study(*data, **options)

        return cast("Study", run)

    return accept
