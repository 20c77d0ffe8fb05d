"""Designs of training sets, and `retrain`, which trains one model on each set.

A design (leave-one-out, random sets, with and without one record) states which record is in which training set. It
draws each set when the set is needed, so 400,000 sets of 48,842 records take no memory. `retrain` trains a model on
each set and keeps named observations of it. No other function trains many models: parallel execution, the cache and
the progress bar are implemented here only.

Each model is trained on one thread with its own generator, spawned from the seed by the number of the training set.
The results are therefore identical to the last bit for any number of workers and any order of completion.
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

DESIGN = 0x776F726C6473  # separates the random numbers of a design from those of training when both have the same seed


@dataclass(frozen=True)
class TrainingSets:
    """A numbered sequence of training sets, drawn from ``records`` records by a rule.

    Parameters
    ----------
    records
        Number of records to draw from.
    count
        Number of training sets.
    draw
        Picklable function from the number of a training set to the positions of its records, in ascending order.
    stream
        Function from the number of a training set to the number of its generator; the identity by default. Sets that
        differ in one record can share a generator, so that their models differ by that record only.

    Examples
    --------
    >>> sets = leave_one_out(4)
    >>> len(sets), sets.indices(1)
    (4, array([0, 2, 3]))
    """

    records: int
    count: int
    draw: Callable[[int], Indices]
    stream: Callable[[int], int] | None = None

    def __len__(self) -> int:
        return self.count

    def indices(self, number: int) -> Indices:
        """Return the positions of the records of one training set, in ascending order."""
        if not 0 <= number < self.count:
            raise InputError(f"there is no training set {number}: training sets are numbered 0 to {self.count - 1}")
        return self.draw(number)

    def generator(self, seed: int, number: int) -> np.random.Generator:
        """Return the generator that the model of one training set is trained with."""
        stream = number if self.stream is None else self.stream(number)
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))


def leave_one_out(records: int) -> TrainingSets:
    """Design one training set per record: set i holds all records except record i.

    Examples
    --------
    >>> [leave_one_out(3).indices(number).tolist() for number in range(3)]
    [[1, 2], [0, 2], [0, 1]]
    """
    if records < 2:
        raise InputError(f"leave_one_out needs at least 2 records, not {records}")
    return TrainingSets(records, records, partial(_all_but, records))


def _all_but(records: int, number: int) -> Indices:
    return np.delete(np.arange(records, dtype=np.intp), number)


def random_sets(records: int, size: int, count: int, seed: int) -> TrainingSets:
    """Design independent training sets, uniform among all sets of one size.

    Examples
    --------
    >>> len(random_sets(records=6, size=2, count=3, seed=0).indices(1))
    2
    """
    check_count("size", size, most=records)
    check_count("count", count)
    check_seed(seed)
    return TrainingSets(records, count, partial(_random_set, records, size, seed))


def _random_set(records: int, size: int, seed: int, number: int) -> Indices:
    chosen = design_generator(seed, number).choice(records, size, replace=False, shuffle=False)
    return np.sort(chosen).astype(np.intp, copy=False)


def with_and_without(records: int, record: int, size: int, draws: int, seed: int, shared: bool = True) -> TrainingSets:
    r"""Design random training sets of one size: set 2k holds ``record``, set 2k + 1 does not.

    This is the Monte-Carlo design of farokhi2020 for the leakage about record i. A set with the record is uniform on
    :math:`\{S : |S| = n, i \in S\}`, a set without it on :math:`\{S : |S| = n, i \notin S\}`, where n is ``size``.

    Parameters
    ----------
    record
        Position of the record.
    size
        Number of records in each training set.
    draws
        Number of pairs of training sets.
    shared
        Whether the two sets of a pair share n - 1 records. One set adds ``record``, the other set another record. The
        two distributions are the same, and estimates of their difference have a much smaller variance. ``False``
        draws all sets independently, as in the paper.

    Examples
    --------
    >>> sets = with_and_without(records=6, record=2, size=3, draws=1, seed=0)
    >>> [2 in sets.indices(number) for number in range(2)]
    [True, False]
    >>> len(np.intersect1d(sets.indices(0), sets.indices(1)))
    2
    """
    if not 0 <= record < records:
        raise InputError(f"there is no record {record}: records are numbered 0 to {records - 1}")
    if not 1 <= size < records:
        raise InputError(f"size={size} is outside the range for {records} records: pass a size from 1 to {records - 1}")
    check_count("draws", draws)
    check_seed(seed)
    draw = _shared_draw if shared else _independent_draw
    return TrainingSets(records, 2 * draws, partial(draw, records, record, size, seed))


def _shared_draw(records: int, record: int, size: int, seed: int, number: int) -> Indices:
    pair, side = divmod(number, 2)
    # `choice` returns its sample in random order, so the last element is uniform on the remaining records
    others = _sample_others(records, record, size, design_generator(seed, pair))
    return np.sort(others if side else np.append(others[:-1], record))


def _independent_draw(records: int, record: int, size: int, seed: int, number: int) -> Indices:
    rng = design_generator(seed, number)
    if number % 2:
        return np.sort(_sample_others(records, record, size, rng))
    return np.sort(np.append(_sample_others(records, record, size - 1, rng), record))


def _sample_others(records: int, record: int, size: int, rng: np.random.Generator) -> Indices:
    chosen = rng.choice(records - 1, size, replace=False).astype(np.intp, copy=False)
    return chosen + (chosen >= record)


def design_generator(seed: int, number: int) -> np.random.Generator:
    """Return the generator of one draw of a design."""
    return np.random.default_rng(np.random.SeedSequence((seed, DESIGN), spawn_key=(number,)))


class Trainer(Protocol):
    """An object that trains a model by ``fit(X, y, rng)``: what `retrain` needs.

    Optional attributes: ``fit_many(X, y, indices, rngs)``, which takes all records, a list of index arrays and one
    generator for each and returns a list of models; ``chunk``, the number of models per call of ``fit_many``; and
    ``key``, which identifies the trainer in the cache.
    """

    def fit(self, X: Any, y: Any, rng: np.random.Generator, /) -> Any: ...


def retrain(
    learner: Trainer,
    X: Any,
    y: Any,
    sets: TrainingSets,
    observe: Observe,
    *,
    seed: int,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    keep: Callable[[int, Observations], Any] | None = None,
    weights: Any = None,
) -> list[Any]:
    """Train one model on each training set and return the observations of each model.

    Parameters
    ----------
    learner
        Trains a model by ``fit(X, y, rng)``, or many at once by ``fit_many``: see `Trainer`.
    X, y
        All records that the training sets are drawn from: arrays, or a data frame and a series.
    sets
        Which record is in which training set.
    observe
        ``observe(model, number, indices)`` returns named numeric arrays. The model itself is discarded.
    seed
        Set i is trained with the generator of child i of ``SeedSequence(seed)``, or of child ``sets.stream(i)``.
    workers
        Number of local processes; 1 uses the current process. By default the current process if training takes a few
        seconds at most, otherwise one process per core. The results are identical to the last bit.
    cluster
        Address of a Dask scheduler (``tcp://host:port``) whose workers are used instead of local processes.
    cache
        Folder that stores the observations under a hash of the data, the learner, ``observe``, the seed, the training
        records and the package versions. Stored observations are not computed again, so an interrupted run resumes. A
        learner or ``observe`` with a ``key`` attribute is identified by that key alone. A damaged or changed file is
        ignored. A folder that other users can write to is refused. Files are readable by their owner only, because
        explanations of a record by several methods can reveal the record.
    progress
        Called with ``("retraining", done, total)`` after each step, where ``done`` and ``total`` count training sets.
    keep
        ``keep(number, observations)`` returns what is kept of a training set; everything by default. It is called in
        the order of the sets, as soon as all earlier ones are finished, which bounds the memory that is needed.
    weights
        Sample weight of each record. The learner then has a keyword: ``fit(X, y, rng, sample_weight=)``.

    Returns
    -------
    list
        The observations, or what ``keep`` returned, of training sets 0, 1, 2, …

    Raises
    ------
    InputError
        If the arguments are inconsistent, or the cluster or the cache cannot be used.
    TrainingError
        If training or ``observe`` fails. The message names the training set. Finished observations are in the cache.
    ResourceError
        If memory ran out, a worker or the cluster was lost, or the disk is full. Finished observations are in the
        cache, and the same call resumes there.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean:
    ...     def fit(self, X, y, rng):
    ...         return X.mean()
    >>> X = np.array([0.0, 1.0, 5.0])
    >>> seen = retrain(Mean(), X, X, leave_one_out(3), lambda model, number, indices: {"mean": model}, seed=0)
    >>> [float(observed["mean"]) for observed in seen]
    [3.0, 2.5, 0.5]
    """
    check_seed(seed)
    if not len(X) == len(y) == sets.records:
        raise InputError(
            f"sets= is for {sets.records} records, but X has {len(X)} and y has {len(y)}: pass equal numbers"
        )
    check_work(workers, cluster, cache)
    job = _Job(learner, X, y, sets, observe, seed, weights)
    results: list[Any] = []
    waiting: dict[int, Observations] = {}
    done = 0
    # Closes at once if the caller stops early: otherwise the processes continue until the generator is collected.
    with closing(_cached(job, None if cache is None else Path(cache), workers, cluster)) as answers:
        for task, observations in answers:
            waiting |= zip(task, observations, strict=True)
            while (number := len(results)) in waiting:
                observed = waiting.pop(number)
                results.append(observed if keep is None else keep(number, observed))
            done += len(task)
            if progress is not None:
                progress("retraining", done, len(sets))
    return results


@dataclass(frozen=True)
class _Job:
    """The arguments of `retrain` that a worker needs."""

    learner: Trainer
    X: Any
    y: Any
    sets: TrainingSets
    observe: Observe
    seed: int
    weights: Any = None

    def tasks(self) -> list[range]:
        """Divide the training sets into tasks, which depend on the learner only.

        With ``fit_many``, no task holds a single set: a stack of one is rounded differently in matrix products.
        """
        count = len(self.sets)
        if not hasattr(self.learner, "fit_many"):
            return [range(number, number + 1) for number in range(count)]
        chunk = max(2, getattr(self.learner, "chunk", 16))
        starts = list(range(0, count, chunk))
        if count > 1 and count % chunk == 1:
            starts.pop()
        return [range(start, stop) for start, stop in zip(starts, [*starts[1:], count], strict=True)]

    def run(self, task: range) -> list[Observations]:
        """Train and observe the models of one task, on one thread."""
        with one_thread(), _named(task):
            indices = [self.sets.indices(number) for number in task]
            rngs = [self.sets.generator(self.seed, number) for number in task]
            fit_many = getattr(self.learner, "fit_many", None)
            if fit_many is not None:
                models = fit_many(self.X, self.y, indices, rngs)
            else:
                models = [self.fit(*drawn) for drawn in zip(indices, rngs, strict=True)]
            observed = zip(models, task, indices, strict=True)
            return [_numbers(self.observe(model, number, drawn)) for model, number, drawn in observed]

    def fit(self, indices: Indices, rng: np.random.Generator) -> Any:
        options = {} if self.weights is None else {"sample_weight": take_rows(self.weights, indices)}
        return self.learner.fit(take_rows(self.X, indices), take_rows(self.y, indices), rng, **options)


def _numbers(observed: Mapping[str, Any]) -> Observations:
    arrays = {name: np.array(values) for name, values in observed.items()}
    for name, array in arrays.items():
        if not isinstance(name, str) or array.dtype.kind not in "biufc":
            raise InputError(f"observe= must return named numeric arrays, but {name!r} is not one")
    return arrays


@contextmanager
def _named(task: range) -> Iterator[None]:
    """Add the training set to the message of an error; the note carries the traceback across processes."""
    try:
        with safe_warnings():
            yield
    except Exception as error:
        if (fault := resource_error(error)) is not None:
            raise fault from None
        place = f"training set {task[0]}" if len(task) == 1 else f"training sets {task[0]} to {task[-1]}"
        if isinstance(error, InputError):
            raise TrainingError(f"{place}: {error}") from cause(error)
        # No local variable for the new error: with its traceback it would form a cycle that keeps the records in memory.
        raise _noted(TrainingError(f"training failed on {place}: {describe(error)}"), frames(error)) from cause(error)


def _noted(failure: TrainingError, note: str) -> TrainingError:
    failure.add_note(note)
    return failure


def _cached(
    job: _Job, folder: Path | None, workers: int | None, cluster: str | None
) -> Generator[tuple[range, list[Observations]], None, None]:
    """Yield the observations in the cache, then run the other tasks and store their observations."""
    if folder is None:
        yield from run_tasks(job.run, job.tasks(), workers, cluster)
        return
    cache = open_cache(folder)
    common = _common_key(job)
    missing: dict[range, str] = {}
    start = getattr(job.observe, "start", 0)  # number of the first set, where these are the later sets of a design
    for task in job.tasks():
        streams = [number if job.sets.stream is None else job.sets.stream(number) for number in task]
        key = fingerprint(
            common, [start + number for number in task], streams, [job.sets.indices(number) for number in task]
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
    weights = () if job.weights is None else (job.weights,)
    return fingerprint(job.X, job.y, *weights, learner, fingerprint(observe, fitted=True), job.seed, versions())
