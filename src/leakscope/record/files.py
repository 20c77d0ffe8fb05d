"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from leakscope.core.errors import InputError, write_error

#: Files with one row per record, of all studies: for the eyes of their owner.
PER_RECORD = ("records.csv",)


def write_all(folder: Path, content: dict[str, bytes]) -> None:
    """Write files into a folder, in this order, each by renaming a finished copy."""
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
    """Refuse a folder that can't be written to before hours of work are spent on what should go there."""
    _refuse_folders(folder, names)
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise InputError(f"can't write to {folder}: {there} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise write_error(str(folder), error) from None


def _refuse_folders(folder: Path, names: dict[str, bytes] | tuple[str, ...]) -> None:
    if blocked := [name for name in names if (folder / name).is_dir()]:
        raise InputError(f"can't write to {folder}: {blocked[0]} is a folder there")


def _write(path: Path, data: bytes) -> None:
    mode = 0o600 if path.name in PER_RECORD else 0o666
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
