"""Descriptions of third-party errors contain no values of records, and name the record and column."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

from leakscope.core import failures
from leakscope.models.bisection import FailingCell, failing_cell

NUMBER = 86753.0914


@pytest.fixture(autouse=True)
def _not_debugging(monkeypatch):
    monkeypatch.delenv(failures.DEBUG, raising=False)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "X has 3 features, but LogisticRegression is expecting 4 features as input.",
            "is expecting 4 features as input",
        ),
        ("Input X contains NaN.\nLogisticRegression does not accept", "Input X contains NaN"),
        ("could not convert string to float: 'Jane Doe'", "could not convert string to float"),
        ("Found unknown categories ['Jane Doe'] in column 0 during transform", "Found unknown categories"),
        ("y contains previously unseen labels: 'Jane Doe'", "y contains previously unseen labels"),
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", "(2x3 and 4x5)"),
    ],
)
def test_known_messages_are_shown_as_far_as_they_are_safe(message, shown):
    said = failures.describe(ValueError(message))
    assert said.endswith(shown)
    assert "Jane" not in said


def test_other_messages_are_not_shown():
    for message in ("Jane Doe", "row: Input X contains NaN Jane", "No such Jane", "x" * 5_000_000):
        assert failures.describe(ValueError(message)) == "ValueError"
    assert failures.describe(FileNotFoundError(2, "Jane")) == "FileNotFoundError: No such file or directory"


def test_warnings_show_their_kind_and_place():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with failures.safe_warnings(), failures.safe_warnings():
            warnings.warn("strange record Jane Doe", UserWarning, stacklevel=1)
            warnings.warn("overflow encountered in exp: Jane", RuntimeWarning, stacklevel=1)
        warnings.warn("as it is", UserWarning, stacklevel=1)
    assert [warning.category for warning in seen] == [UserWarning, RuntimeWarning, UserWarning]
    assert "Jane" not in str(seen[0].message)
    assert [str(warning.message) for warning in seen[1:]] == ["overflow encountered in exp", "as it is"]


# --- finding the cell -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 1, 500, 998, 999])
@pytest.mark.parametrize("column", [0, 17, 29])
def test_the_failing_cell_is_found_in_few_calls(row, column):
    calls = []

    def predict(X):
        calls.append(len(X))
        if (X == NUMBER).any():
            raise ValueError(NUMBER)

    X = np.zeros((1000, 30))
    X[row:, column] = NUMBER
    X[999, column] = NUMBER if row == 999 else 0.0
    assert failing_cell(predict, X) == FailingCell(row, column)
    assert len(calls) <= 20
    assert sum(calls) <= 1100


def test_no_cell_is_named_where_all_records_fail_or_no_single_one_does():
    def always(X):  # noqa: ARG001
        raise ValueError

    def crowd(X):
        if len(X) > 3:
            raise ValueError

    assert failing_cell(always, np.zeros((50, 2))) is None
    assert failing_cell(crowd, np.zeros((50, 2))) is None


# --- causes -----------------------------------------------------------------------------------------------------------

#: Inputs of these modules are options, policies, networks and public data sets, not records.
NO_RECORDS = ("auditing.py", "policy.py", "bif.py", "datasets", "papers")
#: Messages of the operating system or the interpreter, which contain no values of records.
HARMLESS = {"OSError", "ImportError"}


def test_no_exception_is_chained_to_one_that_may_hold_values():
    """A traceback shows the message of the cause, so the cause must be None or come from `failures.cause`."""
    root = Path(failures.__file__).parents[1]
    wrong = []
    for path in root.rglob("*.py"):
        if set(NO_RECORDS) & {path.name, path.parent.name}:
            continue
        for handler in ast.walk(ast.parse(path.read_text())):
            if isinstance(handler, ast.ExceptHandler) and ast.unparse(handler.type or ast.Constant("")) not in HARMLESS:
                wrong += [
                    f"{path}:{one.lineno}" for one in ast.walk(handler) if isinstance(one, ast.Raise) and chains(one)
                ]
    assert not wrong


def chains(statement):
    if statement.exc is None:
        return False
    cause = statement.cause
    is_none = isinstance(cause, ast.Constant) and cause.value is None
    return not is_none and not (isinstance(cause, ast.Call) and ast.unparse(cause.func) == "cause")
