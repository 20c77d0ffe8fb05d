"""ONNX sessions: how one is opened from the bytes of a file, and which arrays it takes."""

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
    """Open a session from the bytes of a file, with weights in its folder; 0 ``threads``: onnxruntime chooses."""
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # errors are raised; the log shows values of records on standard error
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def value_type(kind: str) -> Any:
    """Type of the values in an ONNX tensor.

    Examples
    --------
    >>> value_type("tensor(float)").__name__, value_type("tensor(int64)").__name__
    ('float32', 'int64')
    """
    inner = kind.removeprefix("tensor(").removesuffix(")")
    return TYPES.get(inner) or (np.dtype(inner).type if re.fullmatch(r"u?int\d+", inner) else object)


def generated_input(node: Any, records: int) -> NDArray[Any]:
    """Zeros, ones and other small numbers in the shape and type that an input declares; free sizes are 1."""
    shape = [size if isinstance(size, int) and size > 0 else 1 for size in node.shape]
    if shape and not isinstance(node.shape[0], int):
        shape[0] = records
    kind = value_type(node.type)
    values = np.resize(np.array([0, 1, 0, 2, 1]), shape)
    return values.astype(str).astype(object) if kind is str else values.astype(kind)
