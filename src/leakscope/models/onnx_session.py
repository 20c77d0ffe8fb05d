"""ONNX Runtime sessions: opening from bytes, value types, and generated inputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.extras import import_extra

TYPES = {"float": np.float32, "double": np.float64, "string": str, "bool": np.bool_, "float16": np.float16}


def import_onnxruntime() -> Any:
    """Return the package, or say how to install it."""
    return import_extra("onnxruntime", "reading an ONNX file", "onnx")


def open_session(content: bytes, folder: Path, threads: int = 0) -> Any:
    """Open a session from the bytes of a file, with weights in its folder; with ``threads=0`` onnxruntime chooses."""
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # no log: it would print values of records; errors are raised
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def value_type(kind: str) -> Any:
    """Return the NumPy type of the values in an ONNX tensor.

    Examples
    --------
    >>> value_type("tensor(float)").__name__, value_type("tensor(int64)").__name__
    ('float32', 'int64')
    """
    inner = kind.removeprefix("tensor(").removesuffix(")")
    return TYPES.get(inner) or (np.dtype(inner).type if re.fullmatch(r"u?int\d+", inner) else object)


def classes_of_columns(outputs: list[Any]) -> NDArray[Any] | None:
    """Return the classes of a file with labels and one output per class, or None for another file.

    skl2onnx names these outputs ``i0``, ``i1``, … or ``sno``, ``syes``, … with ``zipmap="columns"``.
    """
    label, *columns = outputs
    names = [node.name for node in columns]
    if len(names) < 2 or any(np.dtype(value_type(node.type)).kind != "f" for node in columns):
        return None
    if label.type == "tensor(string)" and all(name.startswith("s") for name in names):
        return np.array([name[1:] for name in names])
    if label.type == "tensor(int64)" and all(re.fullmatch(r"i-?\d+", name) for name in names):
        return np.array([int(name[1:]) for name in names])
    return None


def generated_input(node: Any, records: int) -> NDArray[Any]:
    """Generate small numbers in the shape and type that an input declares; free dimensions have size 1."""
    shape = [size if isinstance(size, int) and size > 0 else 1 for size in node.shape]
    if shape and not isinstance(node.shape[0], int):
        shape[0] = records
    kind = value_type(node.type)
    values = np.resize(np.array([0, 1, 0, 2, 1]), shape)
    return values.astype(str).astype(object) if kind is str else values.astype(kind)
