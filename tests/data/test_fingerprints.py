"""Fingerprints are equal for equal content and different for different content, in any process."""

import functools
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leakscope.core.errors import InputError
from leakscope.data.fingerprints import fingerprint, row_hashes

RNG = np.random.default_rng(0)
SCALE = 3.0


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Settings:
    rate: float = 0.1
    layers: list[int] = field(default_factory=list)


class Plain:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def scaled(X: Any) -> Any:
    return X * SCALE


def double(X: Any) -> Any:
    return twice(X)


def twice(X: Any) -> Any:
    return 2 * X


def pipeline(strength: float = 1.0, unknown: str = "ignore") -> Pipeline:
    columns = ColumnTransformer(
        [("text", OneHotEncoder(handle_unknown=unknown), ["job"]), ("number", StandardScaler(), ["age"])]
    )
    return Pipeline([("columns", columns), ("model", LogisticRegression(C=strength))])


def adder(amount: Any) -> Any:
    return lambda X: X + amount


def padded(fill: int) -> Any:
    """An array with padding bytes, which are not content."""
    return np.frombuffer(bytes([1] * 9 + [fill] * 7), np.dtype([("a", "i8"), ("b", "u1")], align=True))


def own_estimator(step: int) -> Any:
    class Own(BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            return X + y + step

    return Own()


def learner(body: str) -> Any:
    """A learner that a notebook defines."""
    names: dict[str, Any] = {"Parent": Plain, "__name__": "notebook"}
    exec(f"class Learner(Parent):\n    def fit(self, X, y, rng):\n        return {body}", names)
    return names["Learner"](rate=1)


EQUAL = [
    (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    (np.arange(6.0), np.arange(12.0).reshape(6, 2)[:, 0] / 2),
    (np.array(["a", None, 1], object), np.array(["a", None, 1], object)),
    (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-01"], "M8[D]")),
    ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    ({"x", "y", "z", 1}, {1, "z", "y", "x"}),
    (Settings(0.2, [1]), Settings(0.2, [1])),
    (Plain(a=np.ones(3)), Plain(a=np.ones(3))),
    (pipeline(), clone(pipeline())),
    (adder(2), adder(2)),
    (functools.partial(scaled, 2), functools.partial(scaled, 2)),
    (np.random.default_rng(3), np.random.default_rng(3)),
    (np.random.RandomState(3), np.random.RandomState(3)),
    (np.random.SeedSequence(3).spawn(2)[1], np.random.SeedSequence(3, spawn_key=(1,))),
    (float("nan"), -float("nan")),
    (defaultdict(list, a=[1]), defaultdict(list, a=[1])),
    (padded(0), padded(255)),
    (own_estimator(1), own_estimator(1)),
    (learner("X"), learner("X")),
]

DIFFERENT = [
    (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)),
    (np.arange(6.0), np.arange(6)),
    (np.arange(3.0), pd.Series(np.arange(3.0))),
    (np.array(["a", "b"]), np.array(["ab", ""])),
    (np.array(["a", "b"], object), np.array(["ab", ""], object)),
    (1, True),
    (1, 1.0),
    (1, "1"),
    ("1", b"1"),
    ("ab", "a"),
    (["ab"], ["a", "b"]),
    ([1, 2], (1, 2)),
    ([[1], 2], [[1, 2]]),
    ({1: 2}, {2: 1}),
    ({1, 2}, [1, 2]),
    ({1, 2}, frozenset({1, 2})),
    (None, "None"),
    (Colour.RED, Colour.BLUE),
    (Settings(0.2), Settings(0.3)),
    (Plain(a=np.ones(3)), Plain(a=np.zeros(3))),
    (pipeline(), pipeline(strength=2.0)),
    (pipeline(), pipeline(unknown="error")),
    (LogisticRegression(), DecisionTreeClassifier()),
    (FunctionTransformer(adder(1)), FunctionTransformer(adder(2))),
    (adder(1), adder(2)),
    (lambda X: X + 1, lambda X: X + 2),
    (lambda X: X + 1, lambda X: X - 1),
    (lambda X, by=1: X * by, lambda X, by=2: X * by),
    (functools.partial(scaled, 2), functools.partial(scaled, 3)),
    (np.random.default_rng(3), np.random.default_rng(4)),
    (np.random.SeedSequence(3), np.random.SeedSequence(3, spawn_key=(1,))),
    (np.mean, np.median),
    (np.add, np.multiply),
    (len, max),
    (functools.lru_cache(lambda X: X + 1), functools.lru_cache(lambda X: X + 2)),
    (OrderedDict(a=1), OrderedDict(a=2)),
    (own_estimator(1), own_estimator(2)),
    (learner("X"), learner("y")),
    *((pd.Series(["ab", "c"], dtype=kind), pd.Series(["a", "bc"], dtype=kind)) for kind in (object, "str")),
]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_content_has_an_equal_fingerprint(first: Any, second: Any) -> None:
    assert fingerprint(first) == fingerprint(second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_content_has_another_fingerprint(first: Any, second: Any) -> None:
    assert fingerprint(first) != fingerprint(second)


def test_several_things_do_not_run_together() -> None:
    assert len({fingerprint("ab", "c"), fingerprint("a", "bc"), fingerprint(["ab", "c"]), fingerprint()}) == 4


def test_a_drawn_generator_is_another() -> None:
    rng = np.random.default_rng(3)
    before = fingerprint(rng)
    assert fingerprint(rng) == before  # reading the state does not draw
    rng.random()
    assert fingerprint(rng) != before


@given(arrays(st.sampled_from([np.float64, np.int32, np.bool_, np.dtype("U3")]), array_shapes(max_dims=3, max_side=4)))
def test_memory_order_does_not_matter(array: Any) -> None:
    first = fingerprint(array)
    assert fingerprint(np.asfortranarray(array)) == first
    assert fingerprint(np.repeat(array, 2, axis=0)[::2]) == first


def most_memory(call: Any, *arguments: Any) -> int:
    tracemalloc.start()
    try:
        call(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_large_arrays_take_little_memory() -> None:
    assert most_memory(fingerprint, np.asfortranarray(RNG.normal(size=(400_000, 10)))) < 8e6  # of 32 MB


# --- tables ---


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [30, 41, 30],
            "pay": [1.5, np.nan, 2.0],
            "job": ["cook", None, "judge"],
            "mixed": pd.Series(["a", 1, np.nan], dtype=object),
            "group": pd.Categorical(["x", "y", "x"]),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
        }
    )


def test_block_layout_does_not_matter() -> None:
    wide = table()
    wide["extra"] = [1, 2, 3]
    one_by_one = pd.DataFrame({name: wide[name].copy() for name in wide})
    assert fingerprint(wide) == fingerprint(one_by_one) == fingerprint(wide.copy())
    numbers = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"])
    assert fingerprint(numbers) == fingerprint(pd.DataFrame({"a": [0.0, 2.0, 4.0], "b": [1.0, 3.0, 5.0]}))


@pytest.mark.parametrize(
    ("column", "value"),
    [("age", 31), ("pay", 1.25), ("job", "clerk"), ("mixed", "b"), ("group", "y"), ("count", 2), ("day", pd.NaT)],
)
def test_every_cell_counts(column: str, value: Any) -> None:
    changed = table()
    changed.loc[0, column] = value
    assert fingerprint(changed) != fingerprint(table())


def test_names_types_order_and_index_count() -> None:
    plain = table()
    others = [
        plain.rename(columns={"age": "years"}),
        plain.astype({"age": float}),
        plain.astype({"job": object}),
        plain[plain.columns[::-1]],
        plain.iloc[::-1],
        plain.set_index(pd.Index([5, 6, 7])),
        plain.assign(group=plain["group"].cat.reorder_categories(["y", "x"])),
    ]
    assert len({fingerprint(frame) for frame in [plain, *others]}) == len(others) + 1
    assert fingerprint(plain.set_index(pd.Index([0, 1, 2]))) == fingerprint(plain)


# --- code ---


@pytest.mark.parametrize(("function", "name", "value"), [(scaled, "SCALE", 4.0), (double, "twice", lambda X: 3 * X)])
def test_globals_and_functions_that_a_function_uses_count(
    function: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprint(function)
    monkeypatch.setattr(sys.modules[__name__], name, value)
    assert fingerprint(function) != before


def test_recursive_functions_and_cycles_end() -> None:
    def countdown(n: int) -> int:
        return 0 if n == 0 else countdown(n - 1)

    loop: list[Any] = [1]
    loop.append(loop)
    other: list[Any] = [2]
    other.append(other)
    assert fingerprint(countdown) == fingerprint(countdown)
    assert fingerprint(loop) != fingerprint(other)


def test_code_that_is_shared_is_told_once() -> None:
    functions = [lambda X: X]
    for _ in range(60):  # 2 ** 60 paths lead to the first
        functions.append(lambda X, f=functions[-1], g=functions[-1]: f(g(X)))
    assert fingerprint(functions[-1]) == fingerprint(functions[-1])


def test_a_fitted_estimator_is_its_parameters_unless_asked() -> None:
    X, y = RNG.normal(size=(40, 2)), np.arange(40) % 2
    first, second = (DecisionTreeClassifier(random_state=0).fit(X, labels) for labels in (y, 1 - y))
    assert fingerprint(first) == fingerprint(second) == fingerprint(clone(first))
    assert fingerprint(first, fitted=True) != fingerprint(second, fitted=True)
    assert fingerprint([first], fitted=True) == fingerprint(
        [DecisionTreeClassifier(random_state=0).fit(X, y)], fitted=True
    )
    assert fingerprint(FrozenEstimator(first)) != fingerprint(FrozenEstimator(second))


def test_torch_modules_count_with_their_weights() -> None:
    torch = pytest.importorskip("torch")
    first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    assert fingerprint(first) != fingerprint(second)
    second.load_state_dict(first.state_dict())
    assert fingerprint(first) == fingerprint(second)
    assert fingerprint(torch.ones(2, dtype=torch.bfloat16)) != fingerprint(torch.zeros(2, dtype=torch.bfloat16))


def open_file() -> Any:
    return open(os.devnull)  # the test closes it


@pytest.mark.parametrize("make", [threading.Lock, lambda: (n for n in range(3)), open_file])
def test_what_has_no_content_is_refused(make: Any) -> None:
    thing = make()
    with pytest.raises(InputError, match="`key`"):
        fingerprint({"a": [thing]})
    if hasattr(thing, "close"):
        thing.close()


def test_bottomless_nesting_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(InputError, match=r"list.*`key`"):
        fingerprint(deep)


ELSEWHERE = """
import numpy as np, pandas as pd
from functools import partial
from leakscope.data.fingerprints import fingerprint, row_hashes

def known(word, words=frozenset({"a", "b", "c"})):
    return word in {"x", "y", "z"} or word in words

things = {"set": {"p", "q", "r"}, "code": partial(known, "a"), "rng": np.random.default_rng(0)}
frame = pd.DataFrame({"job": ["cook", None], "pay": [1.0, 2.5]})
print(fingerprint(things, frame, np.mean), row_hashes(frame))
"""


def test_other_processes_agree() -> None:
    source = str(Path(__file__).parents[2] / "src")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ELSEWHERE],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": source},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    answers = [process.communicate()[0] for process in processes]
    assert len(answers[0]) > 64
    assert answers[0] == answers[1]


# --- records ---


def test_numbers_are_compared_by_value() -> None:
    values = np.array([[0, 1], [1, 0], [2**40, -5], [1, 1]])
    expected = row_hashes(values)
    assert len(set(expected)) == 4
    for kind in (np.float64, np.float32, np.int64):
        assert np.array_equal(row_hashes(values.astype(kind)), expected)
    frame = pd.DataFrame(values, columns=["a", "b"])
    assert np.array_equal(row_hashes(frame), expected)
    assert np.array_equal(row_hashes(frame.astype({"a": float, "b": "Int64"})), expected)
    assert np.array_equal(row_hashes(frame.astype(object)), expected)
    assert np.array_equal(row_hashes(frame.astype({"a": "category"})), expected)
    assert np.array_equal(row_hashes(values.astype(bool)[:2]), row_hashes(values[:2]))
    assert np.array_equal(row_hashes(np.asfortranarray(values)), expected)


def test_zero_has_no_sign_and_missing_values_are_equal() -> None:
    odd_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    hashes = row_hashes(np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0], [odd_nan, 1.0]]))
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]
    columns: list[Any] = [pd.array([1, None], dtype=kind) for kind in ("Int64", "Float64", "object", "float64")]
    assert len({tuple(row_hashes(pd.DataFrame({"a": column}))) for column in columns}) == 1
    text = [pd.Series(["a", None], dtype=kind) for kind in (object, "str", "category")]
    assert len({tuple(row_hashes(pd.DataFrame({"a": column}))) for column in text}) == 1


def test_large_whole_numbers_stay_apart() -> None:
    base = np.array([2**53, 2**60, 2**63 - 2_000, -(2**63) + 2_000])
    near = (base[:, None] + np.arange(-500, 500)).reshape(-1, 1)
    assert len(set(row_hashes(near))) == len(near)
    exact = np.array([2**53, 2**60, -(2**63)])
    assert np.array_equal(row_hashes(exact), row_hashes(exact.astype(float)))
    top = np.array([2**64 - 1, 2**64 - 2, 2**63], np.uint64)
    assert len(set(row_hashes(top))) == 3
    assert row_hashes(top)[2] == row_hashes(np.array([2.0**63]))[0]


def test_distinct_records_have_distinct_hashes() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(30)] * 4), axis=-1).reshape(-1, 4)  # 810,000 small whole numbers
    assert len(np.unique(row_hashes(grid))) == len(grid)
    bits = (np.arange(1 << 16)[:, None] >> np.arange(16)) & 1
    assert len(np.unique(row_hashes(bits.astype(np.float32)))) == 1 << 16


def test_the_same_record_is_found_in_both_tables() -> None:
    train, holdout = table(), table().iloc[[2, 0]].reset_index(drop=True).astype({"age": float, "job": object})
    hashes = row_hashes(train, ["yes", "no", "no"])
    assert np.array_equal(row_hashes(holdout, pd.Series(["no", "yes"])), hashes[[2, 0]])
    assert not np.isin(row_hashes(holdout, pd.Series(["yes", "no"])), hashes).any()
    assert not np.isin(row_hashes(holdout), hashes).any()


def test_position_counts() -> None:
    assert row_hashes(np.array([[1, 2]]))[0] != row_hashes(np.array([[2, 1]]))[0]
    assert row_hashes(np.array([[1]]), [2])[0] != row_hashes(np.array([[1, 2]]))[0]


def test_moments_are_compared_by_time() -> None:
    days = pd.Series(pd.to_datetime(["2020-01-01", "2021-06-05"]))
    hashes = {tuple(row_hashes(pd.DataFrame({"a": days.dt.as_unit(unit)}))) for unit in ("s", "us", "ns")}
    zoned = days.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    assert {tuple(row_hashes(pd.DataFrame({"a": zoned})))} == hashes


@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 2, 3), (4, 0), (0, 3)])
def test_any_shape_goes(shape: tuple[int, ...]) -> None:
    array = RNG.normal(size=shape)
    assert row_hashes(array).shape == shape[:1]
    assert np.array_equal(row_hashes(array), row_hashes(array.reshape(shape[0], int(np.prod(shape[1:])))))


def test_cells_of_any_kind_go_too() -> None:
    frame = pd.DataFrame({"a": [[1, 2], {"b": 1}, [1, 2], None], "b": [1, "x", 1, b"y"]})
    hashes = row_hashes(frame)
    assert hashes[0] == hashes[2]
    assert len(set(hashes)) == 3
    assert len(set(row_hashes(np.array([["a", "b"], ["b", "a"], ["a", "b"]])))) == 2


def test_bad_records_are_refused() -> None:
    with pytest.raises(InputError, match=r"\b3\b.*\b2\b"):
        row_hashes(np.zeros((3, 2)), [0, 1])
    with pytest.raises(InputError):
        row_hashes(3.0)


def test_the_callers_table_is_unchanged() -> None:
    array = np.array([[-0.0, np.nan]])
    before = array.tobytes()
    row_hashes(array)
    frame = table()
    row_hashes(frame)
    assert array.tobytes() == before
    pd.testing.assert_frame_equal(frame, table())


def test_many_records_are_hashed_fast_in_little_memory() -> None:
    X = RNG.normal(size=(50_000, 100))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        row_hashes(X)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5  # 0.08 on a free core
    assert most_memory(row_hashes, X) < 10e6
