"""`load_model`: model files in skops, ONNX or (if the user trusts them) pickle format, and URLs of HTTP endpoints.

Unpickling runs code from the file. The content, not the name, determines the format, so a renamed pickle is recognised.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe
from leakscope.data.records import as_matrix, list_names
from leakscope.models.entry import missing_module
from leakscope.models.model import Task
from leakscope.models.onnx_session import classes_of_columns, import_onnxruntime, open_session, value_type
from leakscope.models.onnx_weights import weight_files
from leakscope.models.remote import is_address, model_at
from leakscope.models.trial import limits_for, try_model
from leakscope.models.trusted import known_types

PICKLE_SUFFIXES = {".pkl", ".pickle", ".joblib"}
TORCH_SUFFIXES = {".pt", ".pth", ".pt2"}
#: First bytes of gzip, bzip2, xz, lzma, lz4 and zlib files, in which joblib compresses its pickles.
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"]\x00\x00", b'\x04"M\x18', b"x\x01", b"x^", b"x\x9c", b"x\xda")

#: Maximum number of types in a message.
MOST_TYPES = 24

Kind = Literal["skops", "onnx", "pickle", "torch", "damaged", "unknown"]


def load_model(path: str | Path, *, trust_pickle: bool = False, trust: Sequence[str] = ()) -> Any:
    """Load a model file without running its code (unless you trust it), or connect to an HTTP endpoint.

    Parameters
    ----------
    path
        A ``.skops`` file, an ``.onnx`` file, a pickle (``.pkl``, ``.pickle``, ``.joblib``), or a URL ``http://…`` or
        ``https://…`` (see `remote.remote_model`; a token in the environment variable ``LEAKSCOPE_TOKEN`` is sent).
    trust_pickle
        Whether to unpickle a pickle. This runs code from the file: use it only for files that you created.
    trust
        Types of other packages in a skops file to trust. Types of scikit-learn, scipy and numpy need no trust, since
        their content is validated.

    Returns
    -------
    object
        A model that `make_target` takes.

    Raises
    ------
    InputError
        If the file does not exist, cannot be read, or would harm this process.

    Notes
    -----
    First, a child process with limits on time and memory loads a skops or ONNX file, checks its structure and predicts a
    few generated records (`models.trial`). The environment variables ``LEAKSCOPE_LOAD_SECONDS`` and
    ``LEAKSCOPE_LOAD_MEMORY`` (GB) set the limits. A pickle that you trust is loaded without these checks.

    Examples
    --------
    >>> import tempfile, skops.io, sklearn.dummy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = sklearn.dummy.DummyClassifier().fit([[0], [1]], ["no", "yes"])
    ...     skops.io.dump(model, f"{folder}/model.skops")
    ...     load_model(f"{folder}/model.skops").predict_proba([[3]])
    array([[0.5, 0.5]])
    """
    if is_address(path):
        return model_at(path)
    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no model file {str(path)!r}: check the path")
    if not path.is_file():
        raise InputError(f"{str(path)!r} is not a file: pass a model file")
    try:
        kind = file_kind(path)
    except OSError as error:
        raise InputError(f"{str(path)!r} can't be read: {describe(error)}") from cause(error)
    match kind:
        case "skops":
            content = _read(path)
            _check_sizes(path, content)
            try_model(path, "skops", content, trust)
            return load_skops(path, content, trust)
        case "onnx":
            import_onnxruntime()
            content = _read(path)
            weight_files(path, content)
            try_model(path, "onnx", content)
            return OnnxModel(path, hashlib.sha256(content).hexdigest())
        case "pickle":
            return _load_pickle(path, trust_pickle)
        case "torch":
            raise InputError(
                f"{str(path)!r} is a torch file, which can't be read safely without the code of its module: load it "
                "with a Python function (model.py:load), or export it with torch.onnx.export and pass the .onnx file"
            )
        case "damaged":
            raise InputError(f"{str(path)!r} is damaged or truncated: save or copy the model file again")
    raise InputError(
        f"{str(path)!r} is not a model file: pass a .skops file, an .onnx file, or a pickle that you trust; load a "
        "model in another format with a Python function (model.py:load), or in Python for leakscope.audit"
    )


def file_kind(path: Path) -> Kind:
    """Return the format of a file by its content, and by its name only if the content is ambiguous."""
    suffix = path.suffix.lower()
    with path.open("rb") as file:
        head = file.read(8)
    if suffix in TORCH_SUFFIXES:
        return "torch"
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            ValueError,
        ):  # zipfile does not support the version or the name
            return "damaged"
        if "schema.json" in names:
            return "skops"
        return "torch" if any(name.endswith("data.pkl") for name in names) else "unknown"
    if head.startswith(b"PK\x03\x04") or not head:
        return "damaged"
    if (head[0] == 0x80 and head[1:2] <= b"\x05") or head.startswith(COMPRESSED) or suffix in PICKLE_SUFFIXES:
        return "pickle"
    return "onnx" if suffix == ".onnx" else "unknown"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{str(path)!r} can't be read: {describe(error)}") from cause(error)


def _check_sizes(path: Path, content: bytes) -> None:
    """Refuse an archive that exceeds the memory for loading; its content is in memory twice, as bytes and as arrays."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile as error:
        raise InputError(f"{str(path)!r} is damaged: save or copy the model file again") from cause(error)
    memory = limits_for(len(content)).memory
    if 2 * size > memory:
        raise InputError(
            f"{str(path)!r} expands from {len(content):,} to {size:,} bytes, and the limit for loading is "
            f"{memory / 2**30:.3g} GB: it may be malicious; if you trust it, set LEAKSCOPE_LOAD_MEMORY to more GB"
        )


def load_skops(path: Path, content: bytes, trust: Sequence[str]) -> Any:
    """Load the model from the bytes of a skops file; the path is used in messages."""
    import skops.io

    try:
        trusted = [*known_types(content), *trust]
        try:
            return skops.io.loads(content, trusted=trusted)
        except skops.io.exceptions.UntrustedTypesFoundException:
            refused = sorted(set(skops.io.get_untrusted_types(data=content)) - set(trusted))
    except MemoryError:
        raise
    except ModuleNotFoundError as error:
        raise InputError(f"{str(path)!r} can't be loaded: {missing_module(error)}") from cause(error)
    except Exception as error:
        raise InputError(f"{str(path)!r} can't be read as a skops file: {describe(error)}") from cause(error)
    # Only Python names of usual length are suggested; others come from a crafted file.
    usual = [name for name in refused if re.fullmatch(r"[\w.]{1,120}", name)][:MOST_TYPES]
    others = sorted(set(refused) - set(usual))
    raise InputError(
        f"{str(path)!r} contains types whose content can't be validated"
        + (f": {list_names(others, most=12)}" if others else "")
        + (
            f"; if you trust them, add {' '.join(f'--trust {name}' for name in usual)} (in Python trust=[...])"
            if usual
            else ""
        )
    )


def _load_pickle(path: Path, trust_pickle: bool) -> Any:
    if not trust_pickle:
        raise InputError(
            f"{str(path)!r} looks like a pickle, which can run any code: save a scikit-learn model with "
            'skops.io.dump(model, "model.skops") and pass that file, or pass --trust-pickle (in Python '
            "trust_pickle=True) if you created the pickle"
        )
    import joblib

    try:
        return joblib.load(path)
    except ModuleNotFoundError as error:
        raise InputError(f"{str(path)!r} can't be unpickled: {missing_module(error)}") from cause(error)
    except Exception as error:
        raise InputError(f"{str(path)!r} can't be unpickled: {describe(error)}") from cause(error)


class OnnxModel:
    """An ONNX file as a callable from records to probabilities or values.

    Its input is one matrix of numbers, or one input per column of a DataFrame. The label output of a classifier is
    ignored. ``classes`` is known after the first prediction if the file contains them.
    """

    def __init__(self, path: Path, digest: str) -> None:
        self.path, self.digest = path, digest
        self.__name__ = path.name
        self.classes: NDArray[Any] | None = None
        content = _read(path)
        if hashlib.sha256(content).hexdigest() != digest:
            raise InputError(f"{str(path)!r} was changed while it was in use: run the command again")
        try:
            self.session = open_session(content, path.parent)
        except Exception as error:
            raise InputError(f"{str(path)!r} can't be read as an ONNX file: {describe(error)}") from cause(error)
        self.inputs = self.session.get_inputs()
        if any(node.shape and isinstance(node.shape[0], int) for node in self.inputs):
            raise InputError(f"{str(path)!r} takes a fixed number of records: export it with a dynamic first axis")
        self.outputs, self.task = self._choose_outputs()

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxModel, (self.path, self.digest)

    def _choose_outputs(self) -> tuple[list[str], Task | None]:
        """Return the names of the outputs to read, and the task if the outputs determine it."""
        outputs = self.session.get_outputs()
        if (classes := classes_of_columns(outputs)) is not None:
            self.classes = classes
            return [node.name for node in outputs[1:]], "classification"
        maps = [node for node in outputs if node.type.startswith("seq(map")]
        numbers = maps or [node for node in outputs if np.dtype(value_type(node.type)).kind == "f"]
        if len(numbers) != 1:
            names = list_names(node.name for node in outputs)
            raise InputError(
                f"{str(self.path)!r} has the outputs {names}: export one output of probabilities or values"
            )
        return [numbers[0].name], "classification" if len(outputs) > 1 or maps else None

    def __call__(self, X: Any) -> NDArray[Any]:
        answers, *more = self.session.run(self.outputs, self._feed(X))
        if more:
            return np.column_stack([np.asarray(answers), *more])
        if not isinstance(answers, list):
            return np.asarray(answers)
        self.classes = np.array(list(answers[0]))
        return np.array([list(answer.values()) for answer in answers])

    def _feed(self, X: Any) -> dict[str, NDArray[Any]]:
        if len(self.inputs) == 1:
            node = self.inputs[0]
            return {node.name: self._convert(as_matrix(X), node)}
        if not isinstance(X, pd.DataFrame):
            raise InputError(f"{self.path.name} takes named columns: pass DataFrames")
        # Exporters replace characters in names, such as "work_class" for "work class".
        columns = {_plain_name(name): name for name in X.columns} | {str(name): name for name in X.columns}
        places = {node.name: columns.get(node.name, columns.get(_plain_name(node.name))) for node in self.inputs}
        if lacking := [name for name, column in places.items() if column is None]:
            raise InputError(f"the data lack columns that the model was trained on: {list_names(lacking)}")
        return {node.name: self._convert(as_matrix(X[[places[node.name]]]), node) for node in self.inputs}

    def _convert(self, table: NDArray[Any], node: Any) -> NDArray[Any]:
        dtype = value_type(node.type)
        if np.dtype(dtype).kind != "f" and pd.isna(table).any():
            raise InputError(f"{self.path.name} can't take missing values in {list_names([node.name])}: fill them in")
        if dtype is str:
            return table.astype(str).astype(object)
        width = node.shape[1] if len(node.shape) == 2 else None
        if isinstance(width, int) and table.shape[1:] != (width,):
            raise InputError(f"{self.path.name} takes {width} columns, not shape {table.shape}: pass the same columns")
        return np.ascontiguousarray(table, dtype=dtype)


def _plain_name(name: Any) -> str:
    return re.sub(r"\W", "_", str(name))
