"""Ridge regression: fast solutions equal a literal loop of least squares, and are identical in every run."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from leakscope.core.errors import InputError
from leakscope.learners import Ridge, least_squares

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)


def universe(records: int, columns: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(records, columns))
    return X, X @ rng.normal(size=columns) + rng.normal(size=records)


def draw(records: int, size: int, draws: int, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    drawn = np.array([rng.choice(records, size + 1, replace=False) for _ in range(draws)])
    return drawn[:, :size], drawn[:, size]


def literal(X: Any, y: Any, drawn: Any, l2: float) -> Any:
    """Least squares by singular values on the records, with the penalty as p further rows √(nλ) I."""
    drawn, count = list(drawn), X.shape[1]
    rows = np.vstack([X[drawn], np.sqrt(len(drawn) * l2) * np.eye(count)])
    return np.linalg.lstsq(rows, np.append(y[drawn], np.zeros(count)), rcond=None)[0]


def literal_swap(record: int, drawn: Any, spare: int) -> tuple[list[int], list[int]]:
    """The two training sets of the definition, with and without the record."""
    members = list(drawn)
    if record in members:
        return members, [spare if member == record else member for member in members]
    return [*members[:-1], record], members


def relative(found: Any, truth: Any) -> float:
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


# Condition² of the worst of these sets times 2e-16 stays under 1e-8, which is what the module promises at least.
CASES = [  # records, size, columns, l2, intercept
    (200, 10, 5, 0.0, False),
    (200, 10, 5, 0.0, True),
    (12, 6, 5, 0.0, False),  # most pairs have the record in the set, and every base is nearly singular
    (12, 5, 5, 0.0, False),  # as many records as parameters: no set has a solution without its last record
    (40, 30, 8, 0.3, True),
    (200, 10, 14, 1e-6, False),  # fewer records than parameters, hardly any penalty
    (20, 10, 14, 1e-6, True),
    (200, 15, 14, 1e-9, False),
    (30, 2, 1, 0.0, False),
    (30, 1, 1, 0.0, False),  # the set without its last record is empty
    (30, 1, 3, 0.1, True),
    (60, 40, 3, 1e6, True),
]


@pytest.mark.parametrize(("records", "size", "columns", "l2", "intercept"), CASES)
def test_swaps_are_what_a_loop_over_the_sets_gives(
    records: int, size: int, columns: int, l2: float, intercept: bool
) -> None:
    learner, X, y = Ridge(l2, intercept).prepare(*universe(records, columns))
    sets, spare = draw(records, size, 30)
    asked = np.random.default_rng(2).permutation(records)[:12]
    with_record, without = learner.fit_swaps(X, y, sets, spare)(asked)
    assert with_record.shape == without.shape == (len(asked), len(sets), X.shape[1])
    for row, record in enumerate(asked):
        for number, drawn in enumerate(sets):
            member, other = literal_swap(record, drawn, spare[number])
            assert relative(with_record[row, number], literal(X, y, member, l2)) < 1e-8
            assert relative(without[row, number], literal(X, y, other, l2)) < 1e-8


def exact(X: Any, y: Any, l2: Fraction) -> Any:
    """Solve (X Xᵀ + nλI) a = y in fractions, θ = Xᵀa: no rounding at all."""
    rows = [[Fraction(float(value)) for value in row] for row in X]
    size = len(rows)
    table = [[sum(a * b for a, b in zip(one, two, strict=True)) for two in rows] for one in rows]
    for place in range(size):
        table[place][place] += size * l2
        table[place].append(Fraction(float(y[place])))
    for pivot in range(size):
        table[pivot] = [value / table[pivot][pivot] for value in table[pivot]]
        for place in range(size):
            if place != pivot:
                factor = table[place][pivot]
                table[place] = [a - factor * b for a, b in zip(table[place], table[pivot], strict=True)]
    weights = [row[-1] for row in table]
    return np.array([float(sum(w * row[c] for w, row in zip(weights, rows, strict=True))) for c in range(X.shape[1])])


def test_ill_conditioned_swaps_against_exact_arithmetic() -> None:
    # n = 10, p = 14, λ = 1e-6: the penalised records have condition κ of about 3000. The normal equations would lose
    # κ² ε = 2e-9; the QR factor and the whitened addition lose some κ ε.
    l2 = 1e-6
    learner, X, y = Ridge(l2, intercept=False).prepare(*universe(60, 14))
    sets, spare = draw(60, 10, 3)
    with_record, without = learner.fit_swaps(X, y, sets, spare)(np.arange(3))
    for number, drawn in enumerate(sets):
        condition = np.linalg.cond(np.vstack([X[drawn], np.sqrt(10 * l2) * np.eye(14)]))
        for found, members in zip(
            (with_record[number, number], without[number, number]),
            literal_swap(number, drawn, spare[number]),
            strict=True,
        ):
            assert relative(found, exact(X[members], y[members], Fraction(l2))) < 100 * condition * EPS


def test_fit_and_fit_many_are_what_the_loop_gives() -> None:
    for l2 in (0.0, 1e-3):
        learner, X, y = Ridge(l2).prepare(*universe(80, 4))
        sets = [RNG.choice(80, size, replace=False) for size in (20, 9, 20, 80, 9, 20)]
        many = learner.fit_many(X, y, sets, [])
        for drawn, theta in zip(sets, many, strict=True):
            assert relative(theta, literal(X, y, drawn, l2)) < 1e-12
            assert np.array_equal(theta, learner.fit(X[drawn], y[drawn], RNG))
            errors = y[drawn] - X[drawn] @ theta
            assert np.abs(X[drawn].T @ errors / len(drawn) - l2 * theta).max() < 1e-13  # half the gradient of Eq. 1
            assert np.array_equal(learner.losses(theta, X[drawn], y[drawn]), errors**2)
            assert np.array_equal(learner.outputs(theta, X[drawn])[:, 0], X[drawn] @ theta)
            assert np.array_equal(learner.parameters(learner.from_parameters(theta)), theta)


def test_units_of_the_columns_do_not_matter() -> None:
    # Powers of two change no mantissa, so that scaled columns give exactly scaled parameters.
    X, y = universe(50, 4)
    units = 2.0 ** np.array([-40, 0, 13, 60])
    sets, spare = draw(50, 12, 20)
    plain, scaled = (
        Ridge(intercept=False).fit_swaps(features, y, sets, spare)(np.arange(20)) for features in (X, X * units)
    )
    for one, other in zip(plain, scaled, strict=True):
        assert np.abs(other * units / one - 1).max() < 1e-9


@pytest.mark.parametrize("size", [5, 6, 30])
def test_the_numbers_depend_on_neither_company_nor_threads(size: int) -> None:
    learner, X, y = Ridge(intercept=False).prepare(*universe(60, 5))
    sets, spare = draw(60, size, 50)
    asked = np.arange(45)
    with threadpool_limits(1):
        whole = learner.fit_swaps(X, y, sets, spare)(asked)
    again = learner.fit_swaps(X, y, sets, spare)
    parts = [again(asked[start : start + 7]) for start in range(0, 45, 7)]
    fewer = learner.fit_swaps(X, y, sets[11:12], spare[11:12])(asked)
    for side in (0, 1):
        assert np.array_equal(np.concatenate([part[side] for part in parts]), whole[side])
        assert np.array_equal(fewer[side], whole[side][:, 11:12])


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, X, y = Ridge().prepare(*universe(60, 5))
    sets, spare = draw(60, 20, 50)
    whole = learner.fit_swaps(X, y, sets, spare)(np.arange(40))
    many = learner.fit_many(X, y, list(sets), [])
    monkeypatch.setattr(least_squares, "BLOCK", 1)
    assert all(map(np.array_equal, whole, learner.fit_swaps(X, y, sets, spare)(np.arange(40))))
    assert np.array_equal(many, learner.fit_many(X, y, list(sets), []))


def test_a_record_in_no_set_leaves_them_as_they_are() -> None:
    learner, X, y = Ridge(0.1).prepare(*universe(40, 3))
    sets, spare = draw(30, 8, 10)
    _, without = learner.fit_swaps(X, y, sets, spare)(np.array([35, 39]))
    assert np.abs(without - np.array(learner.fit_many(X, y, list(sets), []))).max() < 1e-13
    none = learner.fit_swaps(X, y, sets, spare)(np.array([], dtype=int))
    assert [side.shape for side in none] == [(0, 10, 4)] * 2


def test_sets_without_a_unique_solution_are_counted() -> None:
    X = np.column_stack([np.arange(20.0), np.arange(20.0) == 3])  # only record 3 determines the second column
    learner, X, y = Ridge().prepare(X, np.arange(20.0))
    learner.check(X, y, 5)
    without, with_it = np.array([0, 1, 2, 4, 5]), np.array([0, 1, 2, 3, 5])
    with pytest.raises(InputError, match=r"^2\b.*\b3\b.*l2"):
        learner.fit_many(X, y, [without, with_it, without[:4]], [])
    with pytest.raises(InputError, match=r"^1\b.*\b2\b"):
        learner.fit_swaps(X, y, np.array([without, with_it]), np.array([7, 7]))
    # Record 3 comes last, so that the set has a solution, and only it has one in its place.
    swapped = learner.fit_swaps(X, y, np.array([[0, 1, 2, 5, 3]]), np.array([7]))
    with pytest.raises(InputError, match=r"^2\b.*\b3\b"):
        swapped([3, 6, 8])
    with pytest.raises(InputError, match=r"^1\b.*\b1\b"):
        swapped([3])  # without it there is none
    heavier, X, y = Ridge(1e-8).prepare(X[:, :2], y)
    assert np.isfinite(heavier.fit_many(X, y, [without], [])[0]).all()
    hardly, X, y = Ridge(1e-30).prepare(np.column_stack([y, 3 * y]), y)
    with pytest.raises(InputError, match=r"l2.*1e-30"):
        hardly.fit_many(X, y, [without], [])


def test_equal_records_are_found_whatever_their_rounding() -> None:
    # Copies of two records in three columns: the normal equations may look regular by rounding alone.
    rng = np.random.default_rng(3)
    for _ in range(50):
        X = np.repeat(rng.normal(size=(2, 3)) * 10.0 ** rng.integers(-3, 4, 3), 10, axis=0)
        with pytest.raises(InputError, match=r"^1\b.*\b1\b"):
            Ridge(intercept=False).fit(X, rng.normal(size=20), rng)


def test_check_names_what_stands_in_the_way() -> None:
    X, y = universe(50, 2)
    frame = pd.DataFrame({"age": X[:, 0], "born": 2000 - X[:, 0], "hours": X[:, 1], "constant": 7.0})
    learner, table, labels = Ridge().prepare(frame, y)
    with pytest.raises(InputError, match=r"'(age|born)'.*'constant'.*l2"):
        learner.check(table, labels, 20)
    with pytest.raises(InputError, match=r"^4\b.*\b5\b.*l2"):
        learner.check(table, labels, 4)
    Ridge(1e-9).prepare(frame, y)[0].check(table, labels, 1)
    learner, table, labels = Ridge(intercept=False).prepare(frame[["age", "constant"]], y)
    learner.check(table, labels, 2)
    for size in (0, -1, 51, 2.5, True):
        with pytest.raises(InputError, match=rf"{size}\b"):
            learner.check(table, labels, size)  # type: ignore[arg-type]


X, Y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
BAD_RECORDS: list[tuple[Any, Any, str]] = [
    ([[1.0, np.nan], [2.0, 3.0]], [1, 2], r"missing.*\b1\b"),
    ([[1.0, np.inf], [2.0, 3.0]], [1, 2], r"infinite.*\b1\b"),
    (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), [1, 2], "'b'"),
    (np.array([["1", "2"]]), [1], "<U1"),
    (np.array([[1, 2]], dtype=object), [1], "object"),
    (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), [1, 2], "missing.*'a'"),
    (X[0], Y[:2], r"\(2,\)"),
    (X[None], Y[:1], r"\(1,.3,.2\)"),
    (X, Y[:2], r"\b3\b.*\b2\b"),
    (X[:0], Y[:0], r"\b0\b.*\b2\b"),
    (X[:, :0], Y, r"\b3\b.*\b0\b"),
    (X, ["a", "b", "c"], "labels"),
    (X, [1.0, np.nan, 2.0], "1.*labels"),
    (X, X, r"labels.*\(3,.2\)"),
    (X * 1e150, Y, r"features.*5e\+150"),
    (X, Y * 1e150, r"labels.*2e\+150"),
]


@pytest.mark.parametrize(("features", "labels", "named"), BAD_RECORDS)
def test_bad_records_are_refused_by_name(features: Any, labels: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        Ridge().prepare(features, labels)


def test_bad_settings_and_sets_are_refused_by_name() -> None:
    for l2 in (-1.0, np.nan, np.inf, "1", None, True):
        with pytest.raises(InputError, match="l2"):
            Ridge(l2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="intercept"):
        Ridge(intercept=1)  # type: ignore[arg-type]
    learner, X, y = Ridge(0.1).prepare(*universe(20, 2))
    for sets, spare, named in [
        ([[0, 1]], [1], "spare"),
        ([[0, 20]], [1], r"\b19\b"),
        ([[0, -1]], [1], r"\b19\b"),
        ([[0, 1]], [2, 3], r"\(D,.n\)"),
        ([0, 1], [2, 3], r"\(D,.n\)"),
        ([[0.0, 1.0]], [2], "sets"),
    ]:
        with pytest.raises(InputError, match=named):
            learner.fit_swaps(X, y, np.array(sets), np.array(spare))
    swapped = learner.fit_swaps(X, y, np.array([[0, 1]]), np.array([2]))
    for asked, named in (([0, 0], "records"), ([[0]], "records"), ([0.5], "records"), ([20], r"\b19\b")):
        with pytest.raises(InputError, match=named):
            swapped(asked)


def test_the_callers_arrays_stay_as_they_were() -> None:
    X, y = universe(30, 3)
    sets, spare = draw(30, 5, 10)
    copies = [array.copy() for array in (X, y, sets, spare)]
    learner, table, labels = Ridge(1e-6, intercept=False).prepare(X, y)
    learner.fit_swaps(table, labels, sets, spare)(np.arange(30))
    learner.fit_many(table, labels, list(sets), [])
    table[:], labels[:] = 0.0, 0.0
    assert all(map(np.array_equal, (X, y, sets, spare), copies))
