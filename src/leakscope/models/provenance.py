"""What an audit is of: digests of the model and of the code that audited it, and the check of a model file against them.

A record holds one of these in its ``fingerprints``:

- ``model file``: SHA-256 of the bytes of the file that the model was read from (``sha256sum`` prints the same). The weights that
  an ONNX file keeps in other files count too.
- ``model parameters``: where the model was passed in Python, the fingerprint of what it has learned. It is ``none`` for
  functions and for endpoints, whose content can't be read.
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
    """Give the SHA-256 of a model file in hexadecimal, or None for what is no file, such as an address.

    With an ONNX file that keeps weights in other files, the digest covers these files too.

    Examples
    --------
    >>> file_digest("https://models.example/predict") is None
    True
    """
    if not os.path.isfile(path):  # a Path raises where an address is too long for a name
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
    """Files that a model is made of: its own, and those of the weights that an ONNX file names."""
    from leakscope.models.files import file_kind
    from leakscope.models.onnx_weights import weight_files

    return [path, *(weight_files(path, path.read_bytes()) if file_kind(path) == "onnx" else ())]


def load_with_digest(
    path: str | Path, *, trust_pickle: bool = False, trust: Sequence[str] = ()
) -> tuple[Any, str | None]:
    """Load a model as `load_model` does, with the digest of its file; a file that changes meanwhile is refused."""
    from leakscope.models.files import load_model

    before = _state(path)
    model = load_model(path, trust_pickle=trust_pickle, trust=trust)
    digest = file_digest(path)  # after the file was tried in a child process
    if _state(path) != before:
        raise InputError(f"{str(path)!r} changed while it was read: wait until it is written, and start again")
    return model, digest


def _state(path: str | Path) -> list[tuple[int, ...]] | None:
    """What changes if a file of the model is written or replaced."""
    try:
        found = [part.stat() for part in _files(Path(path))]
    except (OSError, ValueError):
        return None
    return [(state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in found]


def model_fingerprint(model: Any, digest: str | None = None) -> dict[str, str]:
    """Give what a record says of the identity of a model: the digest of its file, or else of what it has learned.

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
    from leakscope.models.model import Model
    from leakscope.models.remote import RemoteModel

    if isinstance(model, FunctionType | BuiltinFunctionType | MethodType | partial | RemoteModel | Model):
        return NONE
    try:
        return fingerprint(model, fitted=True, generators=False)
    except Exception:  # whatever an object from outside does: the audit is sound without this digest
        return NONE


@cache
def code_digest() -> str:
    """Give the SHA-256 of the version and the source files of this package: another commit or an edited file differs.

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

    A record of ``leakscope audit`` is compared by the bytes of the file. A record that was made in Python is compared by what the
    model in the file has learned; the file is then loaded, and ``trust_pickle`` and ``trust`` are those of `load_model`.
    """
    from leakscope.models.files import load_model

    recorded, shown = result.fingerprints, repr(str(path))
    if MODEL_FILE in recorded:
        if (found := file_digest(path)) is None:
            raise InputError(f"there is no model file {shown}: name the file that was audited")
        if found != recorded[MODEL_FILE]:
            raise InputError(f"{shown} is not the model file that was audited: {_two(found, recorded[MODEL_FILE])}")
        return
    if (expected := recorded.get(MODEL_PARAMETERS, NONE)) == NONE:
        raise InputError(
            f"the record has no digest of a model, so that {shown} can't be compared: audit the file with leakscope audit"
        )
    found = _parameters(load_model(path, trust_pickle=trust_pickle, trust=trust))
    if found != expected:
        raise InputError(
            f"{shown} does not hold the model that was audited in Python, or its format does not keep every parameter: "
            f"{_two(found, expected)}"
        )


def _two(found: str, expected: str) -> str:
    return f"its digest is {found[:16]}…, and the record has {expected[:16]}…; audit this file, or name the audited one"
