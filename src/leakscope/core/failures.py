"""Descriptions of exceptions and warnings of third-party code that contain no values of records.

Messages of libraries and user functions contain values (``could not convert string to float: 'Jane Doe'``) and are
copied to the logs of CI systems. Therefore only the class of an exception is shown, with the part of its message that
matches a pattern in `SAFE`, or else with the file and line. ``LEAKSCOPE_DEBUG=1`` shows whole messages and tracebacks.
"""

from __future__ import annotations

import os
import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leakscope.core.errors import InputError

DEBUG = "LEAKSCOPE_DEBUG"
LONGEST = 300

_NAME = r"[A-Za-z_][\w.]{0,80}"
_SHAPE = r"[\[(][\d, x]*[\])]"
#: Beginnings of known messages that contain names of types and arguments, counts and shapes, but no value of a record.
#: The matching part of a message is shown, the rest is not.
SAFE = tuple(
    re.compile(pattern)
    for pattern in (
        # scikit-learn
        rf"X has \d+ features?, but {_NAME} is expecting \d+ features?(?: as input)?",
        rf"Input (?:{_NAME} )?contains (?:NaN|infinity or a value too large for dtype\('\w+'\))",
        rf"This {_NAME} instance is not fitted yet",
        r"The feature names should match those that were passed during fit",
        r"Found unknown categories",
        r"y contains previously unseen labels",
        r"Found array with \d+ (?:sample|feature)\(s\) \(shape=\(\d+,(?: \d+)?\)\) while a minimum of \d+ is required",
        r"Found array with dim \d+",
        r"Found input variables with inconsistent numbers of samples: \[[\d, ]+\]",
        r"Expected \dD array, got (?:\dD|scalar) array instead",
        r"This solver needs samples of at least 2 classes in the data, but the data contains only one class",
        r"The least populated class(?:es)? in y ha(?:s|ve) (?:only \d+|less than \d+) members?",
        r"n_splits=\d+ cannot be greater than the number of (?:members in each class|samples)",
        r"Cannot have number of splits n_splits=\d+ greater than the number of samples: n_samples=\d+",
        r"Expected n_neighbors <= n_samples_fit, but n_neighbors = \d+, n_samples_fit = \d+(?:, n_samples = \d+)?",
        r"Unknown label type: (?:continuous|unknown|binary|multiclass)(?:-multioutput|-indicator)?",
        r"Invalid classes inferred from unique values of `y`",
        r"Requesting 5-fold cross-validation but provided less than 5 examples for at least one class",
        r"Negative values in data",
        rf"The '{_NAME}' parameter of {_NAME} must be",
        rf"X (?:does not have valid feature names, but {_NAME} was fitted with|has feature names, but {_NAME} was fitted without)"
        r" feature names",
        rf"Trying to unpickle estimator {_NAME} from version [\d.]+ when using version [\d.]+",
        r"A column-vector y was passed when a 1d array was expected",
        r"(?:lbfgs|Liblinear|newton-cg|newton-cholesky|sag|saga) failed to converge",
        # numpy, scipy and pandas
        r"could not convert string to (?:float|int|complex)",
        r"Cannot cast object dtype to (?:float|int|uint|bool)\d*",
        r"setting an array element with a sequence",
        r"operands could not be broadcast together with (?:remapped )?shapes(?: \([\d,]*\))+",
        r"shapes \([\d,]*\) and \([\d,]*\) not aligned: \d+ \(dim \d+\) != \d+ \(dim \d+\)",
        r"matmul: Input operand \d+ has a mismatch in its core dimension \d+",
        r"cannot reshape array of size \d+ into shape \([\d,]*\)",
        r"all the input array dimensions except for the concatenation axis must match exactly",
        r"(?:overflow|underflow|invalid value|divide by zero) encountered in \w+",
        r"Singular matrix",
        r"SVD did not converge",
        r"Unable to allocate [\d.]+ [KMGTP]iB for an array with shape \([\d, ]+\)",
        r"ufunc '\w+' not supported for the input types",
        r"Shape of passed values is \(\d+, \d+\), indices imply \(\d+, \d+\)",
        r"(?:division|float division|integer modulo) by zero",
        # pyarrow
        r"Can't unify schema with duplicate field names",
        r"Error creating dataset\. Could not read schema",
        # torch, XGBoost, LightGBM, ONNX Runtime
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x\d+ and \d+x\d+\)",
        r"(?:mat1 and mat2 must have the same dtype|expected m1 and m2 to have the same dtype)",
        r"expected scalar type \w+ but found \w+",
        r"one of the variables needed for gradient computation has been modified by an inplace operation",
        r"Expected all tensors to be on the same device",
        r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) at non-singleton dimension \d+",
        rf"shape '{_SHAPE}' is invalid for input of size \d+",
        r"DataFrame\.dtypes for data must be int, float, bool or category",
        r"pandas dtypes must be int, float or bool",
        r"Must have at least 1 validation dataset for early stopping",
        r"Feature shape mismatch, expected: \d+, got \d+",
        r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+",
        # Python
        rf"No module named '{_NAME}'",
        rf"cannot import name '{_NAME}' from '{_NAME}'",
        rf"'{_NAME}' object (?:is not \w+|has no attribute)",
        rf"(?:{_NAME}\.)?(?:{_NAME}|<lambda>)\(\) (?:missing \d+ required [\w-]+ arguments?: '{_NAME}'"
        rf"|takes (?:from \d+ to )?\d+ positional arguments? but \d+ (?:was|were) given"
        rf"|got an unexpected keyword argument '{_NAME}')",
        rf"Can't get attribute '{_NAME}' on <module '{_NAME}'",
        rf"Can't pickle (?:local object|<function {_NAME})",
        rf"cannot pickle '{_NAME}' object",
        r"pickle data was truncated|Ran out of input|unexpected EOF|File is not a zip file|invalid load key",
    )
)


def debugging() -> bool:
    """Return whether ``LEAKSCOPE_DEBUG`` asks for whole messages."""
    return os.environ.get(DEBUG, "") not in ("", "0")


def describe(error: BaseException) -> str:
    """Return the class of an error and the safe part of its message, as the end of a sentence.

    Examples
    --------
    >>> describe(ValueError("could not convert string to float: 'Jane Doe'"))
    'ValueError: could not convert string to float'
    >>> describe(KeyError("Jane Doe"))
    'KeyError'
    """
    if isinstance(error, InputError):  # our own message, which is safe
        return str(error).rstrip(".")
    kind = type(error).__name__
    if debugging():
        return f"{kind}: {message}" if (message := text_of(error).strip().rstrip(".")) else kind
    if text := _safe_part(error):
        return f"{kind}: {text}"
    return f"{kind}{_last_place(error)}"


def text_of(error: BaseException) -> str:
    """Return the message of an error, or an empty string if its ``__str__`` fails."""
    try:
        return str(error)
    except Exception:  # user code may raise anything
        return ""


def _safe_part(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return str(error) if isinstance(error, InputError) else _known_start(text_of(error))


def _known_start(message: str) -> str:
    line = message.strip().partition("\n")[0][:LONGEST]
    matches = (pattern.match(line) for pattern in SAFE)
    return next((found.group() for found in matches if found is not None), "")


def _last_place(error: BaseException) -> str:
    """Return the file, without its folder, and the line that raised an error."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def cause(error: BaseException) -> BaseException | None:
    """Return the cause for ``raise … from``: None unless debugging, because a traceback shows the message of the cause.

    Examples
    --------
    >>> print(cause(KeyError("Jane Doe")))
    None
    """
    return error if debugging() else None


def frames(error: BaseException) -> str:
    """Format the traceback of an error as files, lines and functions, with its class and the safe part of its message.

    Examples
    --------
    >>> try:
    ...     {}["Jane Doe"]
    ... except KeyError as error:
    ...     print(frames(error))
    Traceback (most recent call last):
      File "<doctest leakscope.core.failures.frames[0]>", line 2, in <module>
    KeyError
    """
    if debugging():
        return "".join(traceback.format_exception(error)).rstrip()
    places = traceback.extract_tb(error.__traceback__)
    lines = [f'  File "{place.filename}", line {place.lineno}, in {place.name}' for place in places]
    text = _safe_part(error)
    kind = type(error).__name__
    return "\n".join(["Traceback (most recent call last):", *lines, f"{kind}: {text}" if text else kind])


@contextmanager
def safe_warnings() -> Iterator[None]:
    """Replace the message of each warning by its safe part; the class and the location stay.

    The previous ``warnings.showwarning`` is still called. With ``LEAKSCOPE_DEBUG=1`` warnings are unchanged.
    """
    before = warnings.showwarning
    if debugging() or hasattr(before, "hides_values"):
        yield
        return

    def show(message: Any, category: type[Warning], filename: str, lineno: int, *rest: Any, **more: Any) -> None:
        text = _known_start(str(message)) or "message not shown, because it may contain values of records"
        before(Warning(text), category, filename, lineno, *rest, **more)

    show.hides_values = True  # type: ignore[attr-defined]
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
