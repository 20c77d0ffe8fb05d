"""External weight files of ONNX models, found by parsing the protobuf messages of the model file.

A search for a byte pattern would miss names in another valid encoding. Only messages that contain the key are parsed,
so the time does not grow with the size of the weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from leakscope.core.errors import InputError
from leakscope.data.records import list_names

KEY = b"location"
#: For each ONNX message type, the fields that lead to tensors: field number to message type.
FIELDS = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor"},
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}


def weight_files(path: Path, content: bytes) -> list[Path]:
    """Return the weight files that an ONNX file refers to, without duplicates, sorted by name.

    Raises
    ------
    InputError
        If a file is missing or outside the folder of the ONNX file, or the content is not an ONNX file.

    Examples
    --------
    >>> weight_files(Path("model.onnx"), b"")
    []
    """
    try:
        names = sorted(set(_locations(content)))
    except (IndexError, ValueError):
        raise InputError(f"{str(path)!r} can't be read as an ONNX file: it is damaged or of another format") from None
    files = []
    for name in names:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            raise InputError(f"{str(path)!r} refers to weights outside its folder: {list_names([name])}")
        if "\0" in name or not os.path.isfile(path.parent / place):
            raise InputError(f"{str(path)!r} needs the weight file {list_names([name])}: put it into the same folder")
        files.append(path.parent / place)
    return files


def _locations(content: bytes) -> Iterator[str]:
    """Yield the values of all entries with the key."""
    waiting = [(0, len(content), "model")]
    while waiting:
        start, end, kind = waiting.pop()
        if content.find(KEY, start, end) < 0:
            continue
        if kind == "entry":
            texts = {number: content[first:last] for number, first, last in _fields(content, start, end)}
            if texts.get(1) == KEY:
                yield texts.get(2, b"").decode()
            continue
        inner = FIELDS[kind]
        waiting += [
            (first, last, inner[number]) for number, first, last in _fields(content, start, end) if number in inner
        ]


def _fields(content: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of each length-delimited field of a message; skip numeric fields."""
    while at < end:
        tag, at = _varint(content, at)
        if tag & 7 == 2:
            length, at = _varint(content, at)
            if at + length > end:
                raise ValueError("a field is longer than its message")
            yield tag >> 3, at, at + length
            at += length
        elif tag & 7 == 0:
            _, at = _varint(content, at)
        elif tag & 7 in (1, 5):
            at += 8 if tag & 7 == 1 else 4
        else:
            raise ValueError("a field has an unknown type")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Read a varint; return it and the position after it.

    Examples
    --------
    >>> _varint(bytes([0b10101100, 0b10]), 0)
    (300, 2)
    """
    value = shift = 0
    while True:
        byte = content[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a number is too long")
