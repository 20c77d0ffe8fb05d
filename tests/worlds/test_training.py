"""Designs have the stated distributions, and `retrain` gives identical results for any workers and repetition."""

import itertools
import os
import pickle
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from retraining import Boosted, Ridge, StackedRidge, dask_cluster, matrix, observe, records, same_bits
from scipy import stats

from leakscope.core.errors import InputError, MissingExtraError, TrainingError
from leakscope.core.threads import one_thread
from leakscope.worlds import cluster as cluster_module
from leakscope.worlds import workers as workers_module
from leakscope.worlds.training import TrainingSets, leave_one_out, random_sets, retrain, with_and_without

RIDGE = Ridge()


def literal_loop(learner: Any, X: Any, y: Any, sets: TrainingSets, seed: int) -> list[dict[str, Any]]:
    found = []
    for number, child in enumerate(np.random.SeedSequence(seed).spawn(len(sets))):
        drawn = sets.indices(number)
        model = learner.fit(X[drawn], y[drawn], np.random.default_rng(child))
        found.append({name: np.array(value) for name, value in observe(model, number, drawn).items()})
    return found


def trained(learner: Any = RIDGE, sets: TrainingSets | None = None, see: Any = observe, **options: Any) -> list[Any]:
    """Retrain on the 40 records, by default with leave-one-out."""
    return retrain(learner, *records(), sets or leave_one_out(40), see, **({"seed": 0, "workers": 1} | options))


# --- designs ---


def test_leave_one_out_lacks_one_record_per_world() -> None:
    assert np.array_equal(matrix(leave_one_out(9)), ~np.eye(9, dtype=bool))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("record", [0, 2, 5])
def test_worlds_with_and_without_are_uniform(record: int, shared: bool) -> None:
    sets = with_and_without(6, record, size=3, draws=2_000, seed=1, shared=shared)
    for side in (0, 1):
        possible = [drawn for drawn in itertools.combinations(range(6), 3) if (record in drawn) == (side == 0)]
        seen = Counter(tuple(sets.indices(number)) for number in range(side, 4_000, 2))
        assert set(seen) <= set(possible)
        assert stats.chisquare([seen[drawn] for drawn in possible]).pvalue > 1e-3


def test_shared_pairs_differ_by_one_record_and_others_are_independent() -> None:
    shared = with_and_without(30, 4, size=10, draws=50, seed=1)
    apart = with_and_without(30, 4, size=10, draws=2_000, seed=1, shared=False)
    assert all(len(np.intersect1d(shared.indices(2 * k), shared.indices(2 * k + 1))) == 9 for k in range(50))
    common = [len(np.intersect1d(apart.indices(2 * k), apart.indices(2 * k + 1))) for k in range(2_000)]
    # 9 of 29 others against 10 of 29 others: hypergeometric
    law = stats.hypergeom(29, 10, 9)
    assert abs(np.mean(common) - law.mean()) < 4 * law.std() / np.sqrt(2_000)


def test_smallest_and_largest_training_sets() -> None:
    assert matrix(with_and_without(2, 1, size=1, draws=1, seed=0)).tolist() == [[False, True], [True, False]]
    largest = with_and_without(5, 0, size=4, draws=3, seed=0)
    assert np.array_equal(largest.indices(1), [1, 2, 3, 4])


def test_a_huge_design_costs_nothing_until_it_is_drawn() -> None:
    start = time.perf_counter()
    designs = [
        random_sets(48_842, 24_421, 400_000, seed=0),
        with_and_without(48_842, 17, size=1_000, draws=200_000, seed=0),
        leave_one_out(48_842),
    ]
    drawn = [design.indices(len(design) - 1) for design in designs]
    assert time.perf_counter() - start < 1
    assert [len(indices) for indices in drawn] == [24_421, 1_000, 48_841]
    assert all(len(pickle.dumps(design)) < 1_000 for design in designs)
    assert all((np.diff(indices) > 0).all() for indices in drawn)


def test_draws_are_independent_of_the_training_with_the_same_seed() -> None:
    drawn = random_sets(100, 50, 2, seed=5).indices(0)
    rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(0,)))
    assert not np.array_equal(drawn, np.sort(rng.choice(100, 50, replace=False, shuffle=False)))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: leave_one_out(1), r"\b1$"),
        *((lambda size=size: random_sets(5, size, 1, seed=0), "size") for size in (0, 6)),
        (lambda: random_sets(5, 2, 0, seed=0), "count"),
        (lambda: random_sets(10, 5, 2, seed=-1), "seed"),
        (lambda: with_and_without(10, 10, size=3, draws=1, seed=0), r"\b10\b"),
        (lambda: with_and_without(10, 0, size=10, draws=1, seed=0), r"\b10\b.*\b9\b"),
        (lambda: with_and_without(10, 0, size=3, draws=0, seed=0), "draws"),
        (lambda: leave_one_out(3).indices(3), r"\b3\b"),
    ],
)
def test_impossible_designs_are_refused(make: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        make()


# --- retraining ---


def test_leave_one_out_equals_a_literal_loop() -> None:
    X, y = records()
    assert same_bits(trained(seed=11), literal_loop(Ridge(), X, y, leave_one_out(40), 11))


def test_frames_give_the_same_models_as_arrays() -> None:
    X, y = records()
    frame, labels = pd.DataFrame(X, index=np.arange(40)[::-1]), pd.Series(y)
    sets = random_sets(40, 20, 6, seed=2)
    assert same_bits(trained(sets=sets), retrain(Ridge(), frame, labels, sets, observe, seed=0, workers=1))


@pytest.mark.parametrize(("count", "sizes"), [(8, [4, 4]), (9, [4, 5]), (10, [4, 4, 2]), (2, [2]), (5, [5])])
def test_stacks_are_fixed_and_never_of_one(count: int, sizes: list[int]) -> None:
    X, y = records()
    sets = TrainingSets(40, count, leave_one_out(40).draw)
    found = trained(StackedRidge(), sets, seed=11)
    assert [int(observed["weights"][-1]) for observed in found] == [size for size in sizes for _ in range(size)]
    plain = literal_loop(Ridge(), X, y, sets, 11)
    assert all(np.array_equal(a["weights"][:-1], b["weights"]) for a, b in zip(found, plain, strict=True))


def test_a_single_world_is_a_stack_of_its_own() -> None:
    found = trained(StackedRidge(), TrainingSets(40, 1, leave_one_out(40).draw))
    assert [int(observed["weights"][-1]) for observed in found] == [1]


def blocks() -> tuple[Any, Any]:
    """Every other row of a table of several blocks of columns."""
    X, y = records(200)
    frame = pd.DataFrame(X).add_prefix("x").assign(age=np.arange(200), job=pd.Categorical(["cook", "judge"] * 100))
    return frame[::2], pd.Series(y[::2])


@pytest.mark.parametrize(
    ("learner", "X", "y"),
    [
        *((learner, *records(200)) for learner in (Ridge(), StackedRidge(), Boosted())),
        (Boosted(), *blocks()),
        (Ridge(), *records(4_000, 100)),  # 3 MB: mapped, not copied through a pipe
    ],
    ids=["single", "stacked", "boosted", "blocks", "large"],
)
def test_two_processes_give_the_same_bits_as_one(learner: Any, X: Any, y: Any) -> None:
    run = partial(retrain, learner, X, y, random_sets(len(y), len(y) // 2, 10, seed=2), observe, seed=4)
    assert same_bits(run(workers=1), run(workers=2))


def test_long_work_goes_to_other_processes_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "SHORT", 0.0)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    found = trained(see=lambda *_: {"process": os.getpid()}, workers=None)
    assert {int(observed["process"]) for observed in found[:1]} == {os.getpid()}
    assert os.getpid() not in {int(observed["process"]) for observed in found[2:]}


def test_short_work_stays_here() -> None:
    found = trained(see=lambda *_: {"process": os.getpid()}, workers=None)
    assert {int(observed["process"]) for observed in found} == {os.getpid()}


def test_the_order_of_finishing_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = trained()

    def backwards(run: Any, tasks: list[range], *_: Any) -> Iterator[Any]:
        return ((task, run(task)) for task in reversed(tasks))

    monkeypatch.setattr("leakscope.worlds.training.run_tasks", backwards)
    assert same_bits(plain, trained(cache=tmp_path))


def test_each_task_runs_on_one_thread_and_the_limit_is_lifted_afterwards() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads(*_: Any) -> dict[str, Any]:
        return {"threads": [pool["num_threads"] for pool in threadpool_info()]}

    with threadpool_limits(2):
        before = [pool["num_threads"] for pool in threadpool_info()]
        found = trained(see=threads)
        after = [pool["num_threads"] for pool in threadpool_info()]
    assert max(before) == 2
    assert after[: len(before)] == before
    assert all((observed["threads"] == 1).all() for observed in found)


def test_progress_counts_worlds(tmp_path: Path) -> None:
    for _ in range(2):  # trained, then read from the cache
        steps: list[tuple[str, int, int]] = []
        keep = partial(lambda seen, *step: seen.append(step), steps)
        trained(cache=tmp_path, progress=keep)
        assert steps == [("retraining", done, 40) for done in range(1, 41)]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_kept_is_chosen_in_the_order_of_the_worlds(workers: int) -> None:
    whole = trained()
    order: list[int] = []

    def keep(number: int, observed: Any) -> Any:
        order.append(number)
        return number, observed["weights"].sum()

    kept = trained(workers=workers, keep=keep)
    assert order == list(range(40))
    assert kept == [(number, seen["weights"].sum()) for number, seen in enumerate(whole)]


def test_the_callers_records_stay_as_they_are() -> None:
    X, y = records()
    before = X.copy()

    class Careless:
        def fit(self, X: Any, *_: Any) -> Any:
            X[:] = 0
            return X

    retrain(Careless(), X, y, leave_one_out(40), observe, seed=0, workers=1)
    assert np.array_equal(X, before)


# --- failures ---


def test_stopping_halfway_leaves_nothing_behind(tmp_path: Path) -> None:
    run = partial(trained, cache=tmp_path, workers=2)

    def stop(_: str, done: int, __: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(progress=stop)
    assert len(list(tmp_path.glob("*.npz"))) == 5
    assert same_bits(run(), trained())


@pytest.mark.parametrize(
    ("learner", "workers", "named"), [(Ridge, 1, r"\b6\b"), (Ridge, 2, r"\b6\b"), (StackedRidge, 1, r"\b4\b.*\b7\b")]
)
def test_a_failure_names_its_worlds_and_keeps_what_is_done(
    learner: Any, workers: int, named: str, tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match=rf"{named}.*ZeroDivisionError.*retraining\.py"):
        trained(learner(fails_without=6), workers=workers, cache=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) >= (6 if learner is Ridge else 1)


@pytest.mark.parametrize("bad", [np.array([object()]), ["text"], {"a": 1}])
def test_only_numbers_are_kept(bad: Any) -> None:
    with pytest.raises(InputError, match=r"\b0\b.*'bad'"):
        trained(see=lambda *_: {"bad": bad})


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"sets": leave_one_out(39)}, r"\b39\b.*\b40\b"),
        ({"seed": -1}, "seed"),
        ({"workers": 0}, "workers"),
        ({"cache": __file__}, r"test_training\.py"),
        ({"see": partial(lambda lock, *_: {"a": lock.locked()}, threading.Lock()), "workers": 2}, "workers=1"),
    ],
)
def test_bad_input_is_refused(options: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        trained(**options)


def test_records_without_a_label_are_refused() -> None:
    X, y = records()
    with pytest.raises(InputError, match=r"\b40\b.*\b39\b"):
        retrain(Ridge(), X, y[:39], leave_one_out(40), observe, seed=0)


# --- cluster ---


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with dask_cluster(tmp_path_factory.mktemp("dask")) as (address, _):
        yield address


@pytest.mark.parametrize("learner", [Ridge(), StackedRidge(), Boosted()])
def test_a_dask_cluster_gives_the_same_bits(learner: Any, cluster: str, tmp_path: Path) -> None:
    X, y = records(200)
    sets = random_sets(200, 100, 20, seed=2)
    alone = retrain(learner, X, y, sets, observe, seed=4, workers=1)
    for _ in range(2):
        assert same_bits(alone, retrain(learner, X, y, sets, observe, seed=4, cluster=cluster, cache=tmp_path))


def test_a_failure_on_the_cluster_names_its_world(cluster: str) -> None:
    with pytest.raises(TrainingError, match=r"\b6\b.*ZeroDivisionError"):
        trained(Ridge(fails_without=6), workers=None, cluster=cluster)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "tcp://"])
def test_a_cluster_that_does_not_answer_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE", 1)
    with pytest.raises(InputError, match=address):
        trained(workers=None, cluster=address)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"leakscope\[cluster\]"):
        trained(workers=None, cluster="tcp://127.0.0.1:1")


def test_random_sets_are_uniform_and_of_one_size() -> None:
    sets = random_sets(records=5, size=2, count=3000, seed=1)
    counts = Counter(tuple(sets.indices(number)) for number in range(3000))
    assert set(counts) == set(itertools.combinations(range(5), 2))
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


class Dice:
    """A learner whose model is the first number of its generator."""

    def fit(self, X: Any, y: Any, rng: np.random.Generator) -> float:  # noqa: ARG002
        return float(rng.random())


def test_worlds_of_one_stream_share_their_generator(tmp_path: Path) -> None:
    X = np.zeros(4)

    def rolled(sets: TrainingSets) -> list[float]:
        seen = retrain(Dice(), X, X, sets, lambda model, _, __: {"roll": model}, seed=3, workers=1, cache=tmp_path)
        return [float(observed["roll"]) for observed in seen]

    apart = leave_one_out(4)
    together = TrainingSets(apart.records, apart.count, apart.draw, lambda number: number % 2)
    first, second = rolled(apart), rolled(together)
    assert len(set(first)) == 4
    assert second == [first[0], first[1], first[0], first[1]]


def test_one_thread_holds_torch_and_gives_back_what_it_had() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with one_thread():
            assert torch.get_num_threads() == 1
            with one_thread():
                assert torch.get_num_threads() == 1
            assert "mkl_get_max_threads() : 2" not in torch.__config__.parallel_info()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
