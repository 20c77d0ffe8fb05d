"""Atomic writing of files, and checks that a folder is writable."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from leakscope.core.errors import InputError, write_error

#: Files with one row per record, of all studies, which only their owner may read.
PER_RECORD = ("records.csv",)


def write_all(folder: Path, content: dict[str, bytes]) -> None:
    """Write files to a folder in this order, each by renaming a complete copy."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_folders(folder, content)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as scratch:
            for name, data in content.items():
                _write(Path(scratch) / name, data)
            for name in content:
                os.replace(Path(scratch) / name, folder / name)
    except OSError as error:
        raise write_error(str(folder), error) from None


def check_writable(folder: Path, names: tuple[str, ...] = ()) -> None:
    """Raise an error, before a long computation, if the folder is not writable."""
    _refuse_folders(folder, names)
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise InputError(f"cannot write to {folder}: {there} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise write_error(str(folder), error) from None


def _refuse_folders(folder: Path, names: dict[str, bytes] | tuple[str, ...]) -> None:
    if blocked := [name for name in names if (folder / name).is_dir()]:
        raise InputError(f"cannot write to {folder}: it contains a folder named {blocked[0]}")


def _write(path: Path, data: bytes) -> None:
    mode = 0o600 if path.name in PER_RECORD else 0o666
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
