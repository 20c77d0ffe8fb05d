"""Worlds: who was in which training set, and the models that were trained so.

A world is one training set out of the audited records. A design (leave-one-out, random sets, with and without one
record) is a rule that draws each world when it is asked for, so that 400,000 worlds over 48,842 records cost nothing
to write down. `retrain` trains a model in every world and keeps what was observed of it. It is the only place that
trains many models: the only parallel call, the only cache, the only progress.

Every world trains on one thread with a generator of its own, spawned from the seed by the number of the world, so the
results are the same to the last bit whatever the number of workers and the order in which they finish.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from leakscope.core.arrays import Indices
from leakscope.core.checks import check_count, check_seed
from leakscope.core.errors import InputError, TrainingError, resource_error
from leakscope.core.failures import cause, describe, frames, safe_warnings
from leakscope.core.threads import one_thread
from leakscope.core.versions import versions
from leakscope.data.fingerprints import fingerprint
from leakscope.data.records import take_rows
from leakscope.worlds.cache import Observations, open_cache
from leakscope.worlds.workers import check_work, run_tasks

Observe = Callable[[Any, int, Indices], Mapping[str, Any]]
Progress = Callable[[str, int, int], None]

DESIGN = 0x776F726C6473  # keeps the draws of a design apart from the training in it when both have the same seed


@dataclass(frozen=True)
class Worlds:
    """Training sets drawn out of ``records`` records by a rule.

    Parameters
    ----------
    records
        How many records there are to draw from.
    count
        How many worlds there are.
    draw
        Gives the training records of a world by its number, in rising order; must be a picklable function.
    stream
        Gives the number of the generator that a world trains with, by default its own number. Worlds that differ in one
        record can share what else is random in the training, so that only the record tells their models apart.

    Examples
    --------
    >>> worlds = leave_one_out(4)
    >>> len(worlds), worlds.indices(1)
    (4, array([0, 2, 3]))
    """

    records: int
    count: int
    draw: Callable[[int], Indices]
    stream: Callable[[int], int] | None = None

    def __len__(self) -> int:
        return self.count

    def indices(self, world: int) -> Indices:
        """Give the positions of the training records of one world, in rising order."""
        if not 0 <= world < self.count:
            raise InputError(f"there is no world {world}: worlds are numbered 0 to {self.count - 1}")
        return self.draw(world)

    def generator(self, seed: int, world: int) -> np.random.Generator:
        """Give the generator that one world trains with."""
        number = world if self.stream is None else self.stream(world)
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def leave_one_out(records: int) -> Worlds:
    """As many worlds as records; world w lacks record w.

    Examples
    --------
    >>> [leave_one_out(3).indices(world).tolist() for world in range(3)]
    [[1, 2], [0, 2], [0, 1]]
    """
    if records < 2:
        raise InputError(f"leaving one record out needs 2 records or more, not {records}")
    return Worlds(records, records, partial(_all_but, records))


def _all_but(records: int, world: int) -> Indices:
    return np.delete(np.arange(records, dtype=np.intp), world)


def random_sets(records: int, size: int, count: int, seed: int) -> Worlds:
    """Uniform training sets of one size, drawn independently of each other.

    Examples
    --------
    >>> len(random_sets(records=6, size=2, count=3, seed=0).indices(1))
    2
    """
    check_count("size", size, most=records)
    check_count("count", count)
    check_seed(seed)
    return Worlds(records, count, partial(_random_set, records, size, seed))


def _random_set(records: int, size: int, seed: int, world: int) -> Indices:
    chosen = design_generator(seed, world).choice(records, size, replace=False, shuffle=False)
    return np.sort(chosen).astype(np.intp, copy=False)


def with_and_without(records: int, record: int, size: int, draws: int, seed: int, shared: bool = True) -> Worlds:
    r"""Random training sets of one size: world 2k holds ``record``, world 2k + 1 does not.

    The Monte-Carlo design of farokhi2020 for the leakage about record i. Each world with the record is uniform on
    :math:`\{S : |S| = n, i \in S\}`, each world without it on :math:`\{S : |S| = n, i \notin S\}`, where n is ``size``.

    Parameters
    ----------
    record
        Position of the record in question.
    size
        Number of training records in each world.
    draws
        Number of pairs; there are twice as many worlds.
    shared
        Whether the two worlds of a pair share n - 1 records drawn from the others, the one adding ``record``, the other
        one more of the others: the same two laws, with far less noise in what tells them apart. ``False`` draws all
        worlds independently, as the paper does.

    Examples
    --------
    >>> worlds = with_and_without(records=6, record=2, size=3, draws=1, seed=0)
    >>> [2 in worlds.indices(world) for world in range(2)]
    [True, False]
    >>> len(np.intersect1d(worlds.indices(0), worlds.indices(1)))
    2
    """
    if not 0 <= record < records:
        raise InputError(f"there is no record {record}: records are numbered 0 to {records - 1}")
    if not 1 <= size < records:
        raise InputError(
            f"training sets with and without a record out of {records} hold 1 to {records - 1}, not {size}"
        )
    check_count("draws", draws)
    check_seed(seed)
    draw = _shared_draw if shared else _independent_draw
    return Worlds(records, 2 * draws, partial(draw, records, record, size, seed))


def _shared_draw(records: int, record: int, size: int, seed: int, world: int) -> Indices:
    pair, side = divmod(world, 2)
    # `choice` gives its sample in random order, so the last of it is uniform on what the others leave
    others = _sample_others(records, record, size, design_generator(seed, pair))
    return np.sort(others if side else np.append(others[:-1], record))


def _independent_draw(records: int, record: int, size: int, seed: int, world: int) -> Indices:
    rng = design_generator(seed, world)
    if world % 2:
        return np.sort(_sample_others(records, record, size, rng))
    return np.sort(np.append(_sample_others(records, record, size - 1, rng), record))


def _sample_others(records: int, record: int, size: int, rng: np.random.Generator) -> Indices:
    chosen = rng.choice(records - 1, size, replace=False).astype(np.intp, copy=False)
    return chosen + (chosen >= record)


def design_generator(seed: int, number: int) -> np.random.Generator:
    """Give the generator of one draw of a design."""
    return np.random.default_rng(np.random.SeedSequence((seed, DESIGN), spawn_key=(number,)))


class Learner(Protocol):
    """Whatever trains a model by ``fit(X, y, rng)``.

    It may have ``fit_many(X, y, indices, rngs)``, which gets all records, a list of index arrays and as many generators
    and gives a list of models; ``chunk``, how many models that is at a time; and ``key``, its name in the cache.
    """

    def fit(self, X: Any, y: Any, rng: np.random.Generator, /) -> Any: ...


def retrain(
    learner: Learner,
    X: Any,
    y: Any,
    worlds: Worlds,
    observe: Observe,
    *,
    seed: int,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    keep: Callable[[int, Observations], Any] | None = None,
) -> list[Any]:
    """Train one model in each world and give what was observed of it.

    Parameters
    ----------
    learner
        Trains a model by ``fit(X, y, rng)``, or many at once by ``fit_many``: see `Learner`.
    X, y
        The records that the worlds are drawn from: arrays, or a data frame and a series.
    observe
        ``observe(model, world, indices)`` gives named arrays of numbers; the model itself is not kept.
    seed
        World w trains with the generator of child w of ``SeedSequence(seed)``, or of child ``worlds.stream(w)``.
    workers
        Number of local processes; 1 stays in this one. By default this one if that takes a few seconds at most, and
        otherwise one process per core. The results are the same to the last bit.
    cluster
        Address of a Dask scheduler (``tcp://host:port``) whose workers are to be used instead.
    cache
        Folder that keeps what was observed, by content: data, learner, ``observe``, seed, training records and package
        versions. What is found there is not trained again, so an interrupted run goes on where it was. A learner or
        ``observe`` with a ``key`` attribute is told by that key alone. A damaged or changed file is trained again. A
        folder that other users may write to is refused. Files are for their owner's eyes: explanations of a record by
        several methods can give the record itself away.
    progress
        Called with ``("retraining", done, total)``, counting worlds, after each step.
    keep
        ``keep(world, observations)`` gives what is kept of a world, by default all. It is called in the order of the worlds, as
        soon as all earlier ones are finished, so that memory need not grow with what is observed.

    Returns
    -------
    list
        What was observed, or kept, in world 0, 1, 2, …

    Raises
    ------
    InputError
        If the input does not fit together, or the cluster or the cache can't be used.
    TrainingError
        If training or ``observe`` fails; the message names the world. What was finished by then is in the cache.
    ResourceError
        If memory ran out, a worker or the cluster was lost, or the disk is full. What was finished by then is in the
        cache, and the same call resumes there.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean:
    ...     def fit(self, X, y, rng):
    ...         return X.mean()
    >>> X = np.array([0.0, 1.0, 5.0])
    >>> seen = retrain(Mean(), X, X, leave_one_out(3), lambda model, world, indices: {"mean": model}, seed=0)
    >>> [float(world["mean"]) for world in seen]
    [3.0, 2.5, 0.5]
    """
    check_seed(seed)
    if not len(X) == len(y) == worlds.records:
        raise InputError(
            f"the worlds are drawn from {worlds.records} records but there are {len(X)} records and {len(y)} labels"
        )
    check_work(workers, cluster, cache)
    job = _Job(learner, X, y, worlds, observe, seed)
    results: list[Any] = []
    waiting: dict[int, Observations] = {}
    done = 0
    # Closed at once where the caller is stopped in between: the processes must not work on until garbage is collected.
    with closing(_cached(job, None if cache is None else Path(cache), workers, cluster)) as answers:
        for task, observations in answers:
            waiting |= zip(task, observations, strict=True)
            while (world := len(results)) in waiting:
                observed = waiting.pop(world)
                results.append(observed if keep is None else keep(world, observed))
            done += len(task)
            if progress is not None:
                progress("retraining", done, len(worlds))
    return results


@dataclass(frozen=True)
class _Job:
    """All that the training in any world needs."""

    learner: Learner
    X: Any
    y: Any
    worlds: Worlds
    observe: Observe
    seed: int

    def tasks(self) -> list[range]:
        """Cut the worlds into pieces that depend on nothing but the learner.

        No piece of many is a single world: stacked matrix products round a stack of one differently.
        """
        count = len(self.worlds)
        if not hasattr(self.learner, "fit_many"):
            return [range(world, world + 1) for world in range(count)]
        chunk = max(2, getattr(self.learner, "chunk", 16))
        starts = list(range(0, count, chunk))
        if count > 1 and count % chunk == 1:
            starts.pop()
        return [range(start, stop) for start, stop in zip(starts, [*starts[1:], count], strict=True)]

    def run(self, task: range) -> list[Observations]:
        """Train and observe the worlds of one task, on one thread."""
        with one_thread(), _named(task):
            indices = [self.worlds.indices(world) for world in task]
            rngs = [self.worlds.generator(self.seed, world) for world in task]
            fit_many = getattr(self.learner, "fit_many", None)
            if fit_many is not None:
                models = fit_many(self.X, self.y, indices, rngs)
            else:
                models = [self.fit(*drawn) for drawn in zip(indices, rngs, strict=True)]
            observed = zip(models, task, indices, strict=True)
            return [_numbers(self.observe(model, world, drawn)) for model, world, drawn in observed]

    def fit(self, indices: Indices, rng: np.random.Generator) -> Any:
        return self.learner.fit(take_rows(self.X, indices), take_rows(self.y, indices), rng)


def _numbers(observed: Mapping[str, Any]) -> Observations:
    arrays = {name: np.array(values) for name, values in observed.items()}
    for name, array in arrays.items():
        if not isinstance(name, str) or array.dtype.kind not in "biufc":
            raise InputError(f"what is observed of a model must be named arrays of numbers, but {name!r} is not")
    return arrays


@contextmanager
def _named(task: range) -> Iterator[None]:
    """Name the world in whatever goes wrong in it; the note carries the traceback through other processes."""
    try:
        with safe_warnings():
            yield
    except Exception as error:
        if (fault := resource_error(error)) is not None:
            raise fault from None
        place = f"world {task[0]}" if len(task) == 1 else f"worlds {task[0]} to {task[-1]}"
        if isinstance(error, InputError):
            raise TrainingError(f"in {place}: {error}") from cause(error)
        # No local name for the new error: with its traceback it would form a cycle, which keeps shared records in memory.
        raise _noted(TrainingError(f"training failed in {place}: {describe(error)}"), frames(error)) from cause(error)


def _noted(failure: TrainingError, note: str) -> TrainingError:
    failure.add_note(note)
    return failure


def _cached(
    job: _Job, folder: Path | None, workers: int | None, cluster: str | None
) -> Generator[tuple[range, list[Observations]], None, None]:
    """Yield what the cache holds, then run the rest and keep it."""
    if folder is None:
        yield from run_tasks(job.run, job.tasks(), workers, cluster)
        return
    cache = open_cache(folder)
    common = _common_key(job)
    missing: dict[range, str] = {}
    start = getattr(job.observe, "start", 0)  # number of the first world, where these are the later worlds of a design
    for task in job.tasks():
        streams = [world if job.worlds.stream is None else job.worlds.stream(world) for world in task]
        key = fingerprint(
            common, [start + world for world in task], streams, [job.worlds.indices(world) for world in task]
        )
        stored = cache.load(key, len(task))
        if stored is None:
            missing[task] = key
        else:
            yield task, stored
    for task, observations in run_tasks(job.run, list(missing), workers, cluster):
        cache.store(missing[task], observations)
        yield task, observations


def _common_key(job: _Job) -> str:
    learner = getattr(job.learner, "key", job.learner)
    observe = getattr(job.observe, "key", job.observe)
    return fingerprint(job.X, job.y, learner, fingerprint(observe, fitted=True), job.seed, versions())
