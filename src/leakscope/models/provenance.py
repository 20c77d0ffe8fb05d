"""Digests of the audited model and of the package code, and the check of a model file against a saved result.

A result contains one of these in its ``fingerprints``:

- ``model file``: SHA-256 of the model file (``sha256sum`` prints the same), including external weight files of an ONNX
  model.
- ``model parameters``: fingerprint of the fitted attributes of a model that was passed in Python or that Python code
  returned (``model.py:load``). It is ``none`` for
  functions and endpoints, whose parameters cannot be read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from leakscope.core.errors import InputError

if TYPE_CHECKING:
    from leakscope.core.result import Result

MODEL_FILE, MODEL_PARAMETERS, CODE, NONE = "model file", "model parameters", "leakscope code", "none"


def file_digest(path: str | Path) -> str | None:
    """Return the hexadecimal SHA-256 of a model file, or None if it is not a file, such as a URL.

    The digest includes external weight files of an ONNX model.

    Examples
    --------
    >>> file_digest("https://models.example/predict") is None
    True
    """
    if not os.path.isfile(path):  # Path.is_file raises for URLs longer than a file name
        return None
    path = Path(path)
    try:
        digests = [_sha256(part) for part in _files(path)]
    except OSError as error:
        raise InputError(f"{str(path)!r} can't be read: {error.strerror or error}") from error
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(path: Path) -> list[Path]:
    """Return the files of a model: its own, and the external weight files of an ONNX model."""
    from leakscope.models.files import file_kind
    from leakscope.models.onnx_weights import weight_files

    return [path, *(weight_files(path, path.read_bytes()) if file_kind(path) == "onnx" else ())]


def load_with_digest(
    path: str | Path, *, trust_pickle: bool = False, trust: Sequence[str] = ()
) -> tuple[Any, str | None]:
    """Load a model as `load_model` does, with the digest of its file; refuse a file that changes meanwhile."""
    from leakscope.models.files import load_model

    before = _state(path)
    model = load_model(path, trust_pickle=trust_pickle, trust=trust)
    digest = file_digest(path)  # after the file was tried in a child process
    if _state(path) != before:
        raise InputError(f"{str(path)!r} changed while it was read: wait until it is written, and try again")
    return model, digest


def _state(path: str | Path) -> list[tuple[int, ...]] | None:
    """Return file attributes that change if a file of the model is written or replaced."""
    try:
        found = [part.stat() for part in _files(Path(path))]
    except (OSError, ValueError):
        return None
    return [(state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in found]


def model_fingerprint(model: Any, digest: str | None = None) -> dict[str, str]:
    """Return the fingerprint of a model for a result: the digest of its file, or else of its fitted attributes.

    Examples
    --------
    >>> model_fingerprint(lambda X: X)
    {'model parameters': 'none'}
    """
    from leakscope.models.files import OnnxModel

    if digest is None and isinstance(model, OnnxModel):
        digest = file_digest(model.path)
    if digest is not None:
        return {MODEL_FILE: digest}
    return {MODEL_PARAMETERS: _parameters(model)}


def _parameters(model: Any) -> str:
    from leakscope.data.fingerprints import fingerprint
    from leakscope.models.adapters import without_sample_gradients
    from leakscope.models.model import Model
    from leakscope.models.remote import RemoteModel

    if isinstance(model, FunctionType | BuiltinFunctionType | MethodType | partial | RemoteModel | Model):
        return NONE
    try:
        return fingerprint(without_sample_gradients(model), fitted=True, generators=False)
    except Exception:  # user objects may raise anything; the audit is valid without this digest
        return NONE


@cache
def code_digest() -> str:
    """Return the SHA-256 of the version and the source files of this package.

    Examples
    --------
    >>> len(code_digest())
    64
    """
    from leakscope import __version__

    folder, digest = Path(__file__).parents[1], hashlib.sha256(__version__.encode())
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def check_model(result: Result, path: str | Path, *, trust_pickle: bool = False, trust: Sequence[str] = ()) -> None:
    """Refuse a model file other than the one that was audited.

    A result of ``leakscope audit`` is compared by the bytes of the file. A result that was created in Python is compared
    by the fitted attributes of the model, and so is one of a model that Python code returns (``model.py:load``, whose code
    is run); the file is then loaded with ``trust_pickle`` and ``trust`` as in `load_model`.
    """
    from leakscope.models.entry import entry_point, load_entry_point
    from leakscope.models.files import load_model

    recorded, shown = result.fingerprints, repr(str(path))
    entry = entry_point(path)
    if MODEL_FILE in recorded:
        if entry is not None:
            raise InputError(
                f"the result has the digest of a model file, and {shown} is Python code: pass the audited file"
            )
        if (found := file_digest(path)) is None:
            raise InputError(f"there is no model file {shown}: pass the audited file")
        if found != recorded[MODEL_FILE]:
            raise InputError(f"{shown} is not the model file that was audited: {_two(found, recorded[MODEL_FILE])}")
        return
    if (expected := recorded.get(MODEL_PARAMETERS, NONE)) == NONE:
        raise InputError(f"the result has no model digest to compare {shown} with: run leakscope audit on the file")
    model = load_model(path, trust_pickle=trust_pickle, trust=trust) if entry is None else load_entry_point(entry)[0]
    found = _parameters(model)
    if found != expected:
        raise InputError(
            f"{shown} is not the model that was audited in Python, or its format does not keep every parameter: "
            f"{_two(found, expected)}"
        )


def _two(found: str, expected: str) -> str:
    return f"its digest is {found[:16]}…, and the result has {expected[:16]}…; audit this file, or pass the audited one"
