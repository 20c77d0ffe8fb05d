"""Content hashes of data, learners and functions (`fingerprint`) and of single records (`row_hashes`).

`fingerprint` depends on content, never on memory addresses, so that a cache detects changes of its inputs.
`row_hashes` finds equal records in two tables.
"""

import copyreg
import dataclasses
import dis
import hashlib
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.data.containers import is_sparse

BLOCK = 1 << 17  # elements per step: about a megabyte, which fits into the processor cache
MISSING = np.float64(np.nan).view(np.uint64)
GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)
NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean")


def fingerprint(*things: Any, fitted: bool = False, generators: bool = True) -> str:
    """Return the hexadecimal SHA-256 of the content of ``things``.

    Equal content has an equal fingerprint in any process, regardless of the memory order of arrays, the block layout of
    data frames and the order of dictionaries and sets. A function is represented by its byte code, defaults, closure and
    the globals that it reads, a class by its methods, and a definition of an installed package by its name and the
    version of the package.

    Parameters
    ----------
    things
        Arrays, data frames, numbers, strings, containers, dataclasses, estimators, functions, random generators, and
        any other object that can be pickled.
    fitted
        Whether the fitted attributes of scikit-learn estimators are included. By default an estimator is represented
        by its class and its parameters, as for `sklearn.base.clone`.
    generators
        Whether the state of random generators is included. A fitted estimator may refer to numpy's global generator,
        which any draw changes.

    Raises
    ------
    InputError
        If an object has no content to hash: an open file, a lock, a running generator.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(2, 3)
    >>> fingerprint(X) == fingerprint(np.asfortranarray(X))
    True
    >>> fingerprint(X) == fingerprint(X.astype(np.float32))
    False
    """
    digest = _Digest(fitted, generators)
    try:
        for thing in things:
            digest.add(thing)
    except RecursionError:
        raise InputError(_refusal(things[0], "it is nested too deeply")) from None
    return digest.hash.hexdigest()


class _Digest:
    """A SHA-256 to which objects are added with a tag and a length, so that adjacent objects stay separate."""

    def __init__(self, fitted: bool, generators: bool) -> None:
        self.hash = hashlib.sha256()
        self.fitted, self.generators = fitted, generators
        self.entered = 0
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []

    def text(self, tag: str, content: str | bytes = b"") -> None:
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        self.hash.update(f"{tag}:{len(data)}:".encode())
        self.hash.update(data)

    def add(self, thing: Any) -> None:
        """Add one object; an object that contains itself is represented by its number."""
        if self.add_plain(thing):
            return
        if id(thing) in self.seen:
            self.text("again", str(self.seen[id(thing)]))
            return
        self.entered += 1
        self.seen[id(thing)] = self.entered
        self.add_compound(thing)
        if isinstance(thing, FunctionType | type):
            self.kept.append(thing)  # code refers to other code many times; each piece is added once
        else:
            del self.seen[id(thing)]

    def add_plain(self, thing: Any) -> bool:
        """Add an object that contains no others, and return whether it was one."""
        kind = type(thing)
        if thing is None or thing is Ellipsis or thing is NotImplemented:
            self.text("constant", str(thing))
        elif kind is bool or kind is int or kind is complex:
            self.text(kind.__name__, str(thing))
        elif kind is float:
            self.text("float", struct.pack("<d", thing) if thing == thing else b"nan")
        elif kind is str or kind is bytes or kind is bytearray:
            self.text(kind.__name__, thing)
        elif isinstance(thing, ModuleType):
            self.add_module(thing)
        elif not self.generators and isinstance(thing, GENERATORS):
            self.text("generator", kind.__name__)
        elif isinstance(thing, np.dtype):
            self.text("dtype", str(thing.descr) if thing.names else thing.str)
        else:
            return False
        return True

    def add_module(self, module: ModuleType) -> None:
        self.text("module", f"{module.__name__} {_version(module.__name__)}")
        file = getattr(module, "__file__", None)
        if file is not None and not _is_installed(module.__name__):
            self.text("source", Path(file).read_bytes())

    def add_compound(self, thing: Any) -> None:
        kind = type(thing)
        if kind is list or kind is tuple:
            self.add_all(kind.__name__, thing)
        elif kind is dict:
            self.add_dict(thing)
        elif kind is set or kind is frozenset:
            self.text(kind.__name__, "".join(sorted(map(self.alone, thing))))
        elif kind is np.ndarray or kind is np.memmap or isinstance(thing, np.generic):
            self.add_array(np.asarray(thing))
        elif isinstance(thing, pd.DataFrame | pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
            self.add_pandas(thing)
        elif is_sparse(thing):
            cells = thing.tocoo()  # flags that scipy sets later are not content
            self.add_all(
                "sparse", (thing.format, thing.shape, cells.data, *(at.astype(np.int64) for at in cells.coords))
            )
        elif isinstance(thing, CodeType):
            self.add_code(thing)
        elif isinstance(thing, FunctionType):
            self.add_function(thing)
        elif isinstance(thing, MethodType):
            self.add_all("method", (thing.__func__, thing.__self__))
        elif isinstance(thing, type):
            self.add_class(thing)
        else:
            self.add_object(thing)

    def alone(self, thing: Any) -> str:
        return fingerprint(thing, fitted=self.fitted, generators=self.generators)

    def add_all(self, tag: str, things: Any) -> None:
        self.text(tag, str(len(things)))
        for thing in things:
            self.add(thing)

    def add_dict(self, thing: dict[Any, Any]) -> None:
        self.text("dict", str(len(thing)))
        for key in sorted(thing, key=self.alone):
            self.add(key)
            self.add(thing[key])

    def add_array(self, array: NDArray[Any]) -> None:
        self.add(array.dtype)
        self.text("array", str(array.shape))
        if array.dtype.names is not None:  # padding bytes are not content: trees of scikit-learn leave them unset
            for name in array.dtype.names:
                self.add_array(array[name])
            return
        if array.dtype.hasobject:
            for item in array.flat:
                self.add(item)
            return
        if array.dtype.kind in "mM":
            array = array.view(np.int64)
        flags = ["external_loop", "buffered", "zerosize_ok"]
        for block in np.nditer(array, flags, order="C", buffersize=BLOCK):  # type: ignore[call-overload]
            self.hash.update(np.ascontiguousarray(block).view(np.uint8).data)

    def add_pandas(self, thing: Any) -> None:
        if isinstance(thing, pd.DataFrame):
            self.text("frame", str(thing.shape))
            self.add(thing.columns)
            self.add(thing.index)
            for position in range(thing.shape[1]):
                self.add_column(thing.iloc[:, position])
        elif isinstance(thing, pd.Series):
            self.text("series", str(len(thing)))
            self.add(thing.name)
            self.add(thing.index)
            self.add_column(thing)
        elif isinstance(thing, pd.MultiIndex):
            self.add_all("levels", [thing.get_level_values(level) for level in range(thing.nlevels)])
        else:
            self.add(getattr(thing, "name", None))
            self.add_column(pd.Series(thing))

    def add_column(self, column: "pd.Series[Any]") -> None:
        if isinstance(column.dtype, np.dtype):
            values = column.to_numpy()
            if column.dtype.hasobject and all(type(value) is str for value in values):
                self.add_strings(values)
            else:
                self.add_array(values)
            return
        self.text("column", str(column.dtype))
        if isinstance(column.dtype, pd.CategoricalDtype):
            self.add_all("categories", [column.dtype.ordered, list(column.dtype.categories)])
        codes, levels = pd.factorize(column)
        self.add_array(codes.astype(np.int64))
        self.add_all("levels", list(levels))

    def add_strings(self, values: NDArray[np.object_]) -> None:
        self.text("strings", str(len(values)))
        for start in range(0, len(values), BLOCK):
            encoded = [value.encode("utf-8", "surrogatepass") for value in values[start : start + BLOCK]]
            self.hash.update(np.fromiter(map(len, encoded), np.int64, len(encoded)).tobytes())
            self.hash.update(b"".join(encoded))

    def add_code(self, code: CodeType) -> None:
        self.add_all("code", (code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_exceptiontable))

    def add_function(self, function: FunctionType) -> None:
        self.text("function", f"{function.__module__} {function.__qualname__}")
        if _is_installed(function.__module__) and "<locals>" not in function.__qualname__:
            self.text("version", _version(function.__module__))
            return
        self.add(function.__code__)
        self.add_all("defaults", (function.__defaults__, function.__kwdefaults__))
        self.add_all("closure", [_cell_content(cell) for cell in function.__closure__ or ()])
        names = sorted(set(_global_names(function.__code__)) & function.__globals__.keys())
        for name in names:
            self.text("global", name)
            self.add(function.__globals__[name])

    def add_class(self, kind: type) -> None:
        self.text("class", f"{kind.__module__} {kind.__qualname__}")
        if _is_installed(kind.__module__) and "<locals>" not in kind.__qualname__:
            self.text("version", _version(kind.__module__))
            return
        self.add_all("bases", kind.__bases__)
        for name, value in sorted(vars(kind).items()):
            for part in _class_parts(name, value):
                self.text("member", name)
                self.add(part)

    def add_object(self, thing: Any) -> None:
        if hasattr(thing, "get_params") and not self.fitted:
            self.add_estimator(thing)
        elif dataclasses.is_dataclass(thing):
            values = {field.name: getattr(thing, field.name, None) for field in dataclasses.fields(thing)}
            self.add_all("dataclass", (type(thing), values))
        elif "torch" in sys.modules and isinstance(thing, sys.modules["torch"].Tensor):
            self.add_tensor(thing)
        else:
            self.add_reduced(thing)

    def add_estimator(self, estimator: Any) -> None:
        clone = getattr(type(estimator), "__sklearn_clone__", None)
        if clone is None or clone.__module__ == "sklearn.base":
            self.add_all("estimator", (type(estimator), estimator.get_params(deep=False)))
        else:  # has its own way of cloning: a frozen estimator keeps its fitted attributes
            self.text("frozen", fingerprint(estimator, fitted=True, generators=self.generators))

    def add_tensor(self, tensor: Any) -> None:
        torch = sys.modules["torch"]
        content = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        self.add_all("tensor", (str(tensor.dtype), tuple(tensor.shape), tensor.requires_grad, content))

    def add_reduced(self, thing: Any) -> None:
        """Add an object as pickle describes it: its constructor, the arguments and the state."""
        try:
            describe: Callable[[Any], Any] | None = copyreg.dispatch_table.get(type(thing))
            reduced = describe(thing) if describe else thing.__reduce_ex__(4)
        except Exception:
            raise InputError(_refusal(thing, "it has no content to hash")) from None
        if isinstance(reduced, str):
            self.add_named(thing, reduced)
            return
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        self.add_all("object", (make, arguments, state, list(items or ()), dict(pairs or ())))

    def add_named(self, thing: Any, name: str) -> None:
        """Add an object that pickle finds by name: a builtin, a constant, or a cached function with its code."""
        module = getattr(thing, "__module__", None) or type(thing).__module__
        self.text("name", f"{module} {name} {_version(module)}")
        self.add(getattr(thing, "__wrapped__", None) if not _is_installed(module) else None)


def _refusal(thing: Any, reason: str) -> str:
    kind = type(thing)
    name = f"{kind.__module__}.{kind.__qualname__}"
    return f"can't fingerprint an object of type {name} because {reason}: give the learner a `key`"


@cache
def _is_installed(module: str | None) -> bool:
    """Return whether a module belongs to Python, Leakscope or an installed package, and so has a version."""
    root = (module or "").partition(".")[0]
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is None or root in ("__main__", "leakscope"):
        return root in sys.builtin_module_names or root == "leakscope"
    folders = {"site-packages", "dist-packages"}
    return Path(file).is_relative_to(sysconfig.get_path("stdlib")) or not folders.isdisjoint(Path(file).parts)


def _version(module: str) -> str:
    return str(getattr(sys.modules.get(module.partition(".")[0]), "__version__", ""))


def _cell_content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has not been set yet
        return None


def _global_names(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _class_parts(name: str, value: Any) -> list[Any]:
    """List the methods and attributes of a class that determine its behaviour."""
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    if isinstance(value, property):
        return [part for part in (value.fget, value.fset) if part is not None]
    if isinstance(value, FunctionType):
        return [value]
    if isinstance(value, cached_property):
        return [value.func]
    is_bookkeeping = name.startswith("__") or name == "_abc_impl" or hasattr(value, "__objclass__")
    return [] if is_bookkeeping else [value]


def row_hashes(X: Any, y: Any = None) -> NDArray[np.uint64]:
    """Return one 64-bit hash per record: equal records have equal hashes in any table.

    Numbers are compared by value: 1, 1.0 and True are equal, and so are -0.0 and 0.0. Missing values are equal to each
    other. Columns are identified by position. Memory beyond the result and one column is constant.

    Parameters
    ----------
    X
        Data frame, sparse matrix, or array of any number of dimensions; the first axis runs over the records.
    y
        One label per record, which becomes part of the record.

    Examples
    --------
    >>> import pandas as pd
    >>> train = pd.DataFrame({"age": [30, 41], "job": ["cook", "judge"]})
    >>> holdout = pd.DataFrame({"age": [41.0, None], "job": ["judge", "cook"]})
    >>> [bool(same) for same in row_hashes(train)[1] == row_hashes(holdout)]
    [True, False]
    """
    if not isinstance(X, pd.DataFrame) and not is_sparse(X):
        X = np.asarray(X)
        if X.ndim == 0:
            raise InputError("X must be a table or an array with one row per record, not a single value")
        if X.dtype.kind not in "biuf":
            X = pd.DataFrame(X.reshape(len(X), -1))
    if y is not None and len(y) != len(X):
        raise InputError(f"X has {len(X)} records but y has {len(y)} labels: pass one label per record")
    hash_rows = _hash_frame if isinstance(X, pd.DataFrame) else _hash_sparse if is_sparse(X) else _hash_array
    sums = hash_rows(X)
    if y is not None:
        sums += row_hashes(pd.DataFrame(y))
    return _mix(sums)


def _hash_array(array: NDArray[Any]) -> NDArray[np.uint64]:
    """Sum the mixed cells of each row, each multiplied by the odd key of its column."""
    width = int(np.prod(array.shape[1:]))
    keys = _column_keys(width)
    sums = np.zeros(len(array), np.uint64)
    step = max(1, BLOCK // max(1, width))
    for start in range(0, len(array), step):
        block = array[start : start + step]
        sums[start : start + step] = _mix(_number_bits(block.reshape(len(block), width))) @ keys
    return sums


def _hash_sparse(X: Any) -> NDArray[np.uint64]:
    """Sum the mixed cells as `_hash_array` does: cells that are zero add nothing."""
    total = np.zeros(X.nnz + 1, np.uint64)
    np.cumsum(_mix(_number_bits(X.data)) * _column_keys(X.shape[1])[X.indices], out=total[1:])  # modulo 2**64
    return np.asarray(total[X.indptr[1:]] - total[X.indptr[:-1]])


def _hash_frame(frame: pd.DataFrame) -> NDArray[np.uint64]:
    sums = np.zeros(len(frame), np.uint64)
    for position, key in enumerate(_column_keys(frame.shape[1])):
        sums += _mix(hash_column(frame.iloc[:, position])) * key
    return sums


def hash_column(column: "pd.Series[Any]") -> NDArray[np.uint64]:
    """Return 64 bits per cell: the bits of a number, or the pandas hash of another value."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        levels = np.append(hash_column(pd.Series(dtype.categories)), MISSING)
        return levels[column.cat.codes.to_numpy()]
    if dtype == np.dtype(object) and pd.api.types.infer_dtype(column, skipna=True) in NUMBERS:
        column = column.astype(np.float64) if column.isna().any() else column.infer_objects()
    missing = column.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        bits = _number_bits(_plain_numbers(column))
    elif pd.api.types.is_datetime64_any_dtype(column.dtype):
        moments = column.dt.tz_convert(None) if column.dt.tz is not None else column
        bits = moments.to_numpy("datetime64[us]").view(np.uint64)  # one unit for all
    else:
        bits = _hash_objects(column.to_numpy(dtype=object))
    return np.where(missing, MISSING, bits)


def _hash_objects(cells: NDArray[np.object_]) -> NDArray[np.uint64]:
    try:
        return pd.util.hash_array(cells)
    except TypeError:  # cells that are lists or dictionaries
        return pd.util.hash_array(np.array([str(cell) for cell in cells], object))


def _plain_numbers(column: "pd.Series[Any]") -> NDArray[Any]:
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    return column.to_numpy(dtype=getattr(column.dtype, "numpy_dtype", np.dtype(float)), na_value=0)


def _number_bits(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the bits of each number as a float, combined with the remainder of a large integer."""
    floats = numbers.astype(np.float64)
    floats += 0.0  # -0.0 becomes 0.0
    if numbers.dtype.kind == "f":
        floats[np.isnan(floats)] = np.nan
    bits = floats.view(np.uint64)
    if numbers.dtype.kind in "iu" and numbers.dtype.itemsize == 8 and np.abs(floats).max(initial=0) > 2.0**53:
        upper = (numbers >> 32).astype(np.float64) * 2.0**32
        beyond = (upper - floats) + (numbers & 0xFFFFFFFF).astype(np.float64)
        bits = bits + beyond.astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return bits


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix all 64 bits (the finaliser of SplitMix64)."""
    mixed = bits ^ (bits >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _column_keys(count: int) -> NDArray[np.uint64]:
    return _mix(np.arange(1, count + 1, dtype=np.uint64)) | np.uint64(1)
