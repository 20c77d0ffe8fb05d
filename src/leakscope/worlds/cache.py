"""Cache folder for observations of trained models and for finished reproductions of papers.

There is one file per task. Its name is the fingerprint of everything that determines its content. The file contains a
NumPy archive (or JSON), followed by a 32-byte digest: BLAKE2b over name and content, keyed with a random secret of the
folder (``.secret``, readable by its owner only). If the digest does not match, because the file was damaged, edited,
renamed or copied from another folder, the models are trained again. Values are not checked for finiteness, because
losses may be infinite.

The digest does not protect against programs of the owner or an administrator, who can read the secret. Files are not
encrypted. A folder that other users can write to is refused; its parent folders are not checked.
"""

import contextlib
import hashlib
import hmac
import io
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.errors import InputError, write_error

Observations = dict[str, NDArray[Any]]

SECRET = ".secret"
SECRET_BYTES = 32
DIGEST_BYTES = 32
ENTRY, PART = ".npz", ".part"
#: Temporary files of this version and of earlier ones, which used the names of the entry and the process.
TEMPORARY = re.compile(rf"(\.\w+|[0-9a-f]{{64}}\.\d+){re.escape(PART)}")
STALE = 3600.0  # seconds; an older temporary file belongs to a run that was killed


def check_folder(folder: Path) -> None:
    """Refuse a cache folder that is a file or that other users can write to.

    Examples
    --------
    >>> check_folder(Path(__file__))
    Traceback (most recent call last):
    leakscope.core.errors.InputError: can't use ...cache.py as the cache folder: it is a file
    """
    try:
        found = folder.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"can't use {folder} as the cache folder: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise InputError(f"can't use {folder} as the cache folder: it is a file")
    if not hasattr(os, "geteuid"):  # Windows has no owner and mode bits
        return
    if found.st_uid != os.geteuid():
        raise InputError(f"can't use {folder} as the cache folder: it belongs to another user; choose a new folder")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(
            f"can't use {folder} as the cache folder: other users can write to it; choose a new folder or run "
            f"chmod go-w {str(folder)!r}"
        )


@dataclass(frozen=True)
class Cache:
    """A checked cache folder and its secret; `open_cache` creates it."""

    folder: Path
    secret: bytes

    def load(self, key: str, count: int) -> list[Observations] | None:
        """Return the observations under ``key`` of ``count`` training sets, or None if there are none."""
        packed = self.read(f"{key}{ENTRY}")
        if packed is None:
            return None
        try:
            found = _unpack(packed)
        except Exception:  # another version of this package wrote another format under the same key
            return None
        return found if len(found) == count else None

    def store(self, key: str, observations: Sequence[Observations]) -> None:
        """Write one entry atomically."""
        self.write(f"{key}{ENTRY}", _pack(observations))

    def read(self, name: str) -> bytes | None:
        """Return the content of a file that `write` created, or None if it is missing or was changed."""
        try:
            data = _read(self.folder / name)
        except OSError:  # missing, a symbolic link, or not readable
            return None
        content, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        return content if hmac.compare_digest(digest, self._digest(name, content)) else None

    def write(self, name: str, content: bytes) -> None:
        """Write a file and its digest atomically."""
        try:
            _write(self.folder / name, content + self._digest(name, content))
        except OSError as error:
            raise write_error(f"the cache folder {self.folder}", error) from None

    def _digest(self, name: str, content: bytes) -> bytes:
        digest = hashlib.blake2b(key=self.secret, digest_size=DIGEST_BYTES)
        digest.update(f"{name}:".encode())
        digest.update(content)
        return digest.digest()


def open_cache(folder: Path) -> Cache:
    """Create or check a cache folder, remove temporary files of killed runs, and read the secret.

    Raises
    ------
    InputError
        If the folder cannot be created or written to, or other users can write to it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = open_cache(Path(folder))
    ...     cache.store("a1", [{"loss": np.array([0.5, np.inf])}])
    ...     cache.load("a1", count=1), cache.load("b2", count=1)
    ([{'loss': array([0.5, inf])}], None)
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"can't use {folder} as the cache folder: {error.strerror}") from None
    check_folder(folder)
    _remove_stale(folder)
    if (secret := _read_secret(folder)) is None:
        try:
            is_new = not os.path.lexists(folder / SECRET)  # otherwise it is damaged
            _write(folder / SECRET, secrets.token_bytes(SECRET_BYTES), put=_add if is_new else os.replace)
        except OSError as error:
            raise write_error(f"the cache folder {folder}", error) from None
        secret = _read_secret(folder)
    if secret is None:
        raise InputError(f"can't use {folder} as the cache folder: its file {SECRET!r} can't be read back")
    return Cache(folder, secret)


def _read_secret(folder: Path) -> bytes | None:
    try:
        secret = _read(folder / SECRET)
    except OSError:
        return None
    return secret if len(secret) == SECRET_BYTES else None


def _remove_stale(folder: Path) -> None:
    """Remove the temporary files of runs that were killed."""
    for path in folder.glob(f"*{PART}"):
        if TEMPORARY.fullmatch(path.name) is None:
            continue
        with contextlib.suppress(OSError):  # another run removed it
            if time.time() - path.lstat().st_mtime > STALE:
                path.unlink()


def _read(path: Path) -> bytes:
    """Read a regular file of this user; refuse symbolic links, pipes, devices and files of other users."""
    # O_NONBLOCK: opening a named pipe must not block
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
            raise PermissionError(f"{path} is not a regular file of this user")
        return file.read()


def _write(path: Path, data: bytes, put: Callable[[Path, Path], None] = os.replace) -> None:
    """Write to a temporary file and rename it, so that a killed run leaves no incomplete file."""
    part = path.with_name(f".{secrets.token_hex(16)}{PART}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            file.write(data)
        put(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _add(part: Path, path: Path) -> None:
    """Rename a file unless it exists: two runs that start at the same time must use the same secret."""
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        part.replace(path)
        return
    part.unlink()


def _pack(observations: Sequence[Observations]) -> bytes:
    names = np.frombuffer(json.dumps([list(observed) for observed in observations]).encode(), np.uint8)
    arrays = {
        f"{number}.{position}": array
        for number, observed in enumerate(observations)
        for position, array in enumerate(observed.values())
    }
    file = io.BytesIO()
    np.savez(file, names=names, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _unpack(packed: bytes) -> list[Observations]:
    with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
        names = json.loads(stored["names"].tobytes())
        return [
            {name: stored[f"{number}.{position}"] for position, name in enumerate(order)}
            for number, order in enumerate(names)
        ]
