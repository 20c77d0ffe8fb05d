"""Saving and loading of results, equal to the last bit.

A folder holds ``result.json`` (schema: ``docs/schema/<kind>.schema.json``), ``report.html``, ``table.csv`` and, if there are records,
``records.csv``. If ``result.json`` exists, the result is complete: it is written last, and it holds the digests of ``records.csv`` and of
its own content. Loading checks both, validates the content by its schema, and checks that the numbers are consistent (`check_consistent`).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe
from leakscope.core.result import Result, content_fields
from leakscope.record.files import write_all
from leakscope.record.schema import DIGEST, class_of, validate
from leakscope.record.tables import SavedTable, column_types, frame_to_csv

FILE = "result.json"
FILES = ("records.csv", "table.csv", "report.html", FILE)


def save(result: Result, folder: Path, page: str) -> None:
    """Write a result with its page; on failure no file is left incomplete."""
    content = {"table.csv": result.to_csv().encode(), "report.html": page.encode()}
    records = None
    if result.records is not None:
        table = frame_to_csv(result.records).encode()
        content = {"records.csv": table} | content
        records = {"sha256": hashlib.sha256(table).hexdigest(), "columns": column_types(result.records)}
    write_all(folder, content | {FILE: _to_json(result.as_dict() | {"records": records})})


def _to_json(document: dict[str, Any]) -> bytes:
    document = json.loads(json.dumps(document, allow_nan=False))  # numbers and keys as a reader loads them
    document[DIGEST] = content_digest(document)
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode()


def content_digest(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a JSON document without its digest, in canonical form: keys sorted, no spaces, ASCII.

    Examples
    --------
    >>> content_digest({"b": 1, "a": 2}) == content_digest({"a": 2, "b": 1, DIGEST: "any"})
    True
    """
    content = {name: value for name, value in document.items() if name != DIGEST}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def load(folder: str | Path) -> Result:
    """Load a result that ``result.save(folder)`` wrote; raise an error if it is newer, damaged or edited.

    Examples
    --------
    >>> load("no/such/folder")
    Traceback (most recent call last):
    leakscope.core.errors.InputError: no result in no/such/folder: it has no result.json
    """
    from leakscope.record.migration import OLD_FILE, migrate, read_old

    folder = Path(folder)
    path = folder / FILE
    if not path.is_file():
        if (folder / OLD_FILE).is_file():
            return read_old(folder)
        raise InputError(f"no result in {folder}: it has no {FILE}")
    document = read_json(path)
    kind, version = class_of(document.pop("kind", None)), document.pop("schema_version", None)
    check_version(path, version, kind.schema_version)
    document = migrate(kind, version, document)
    frame = read_records(folder, document.pop("records", None))
    try:
        if missing := [item.name for item in content_fields(kind) if item.name not in document]:
            raise ValueError(f"{missing[0]}: it is missing")
        result = kind(**validate(kind, document), records=frame)
    except ValueError as error:
        raise InputError(f"{path} is not a complete result: {error}") from None
    check_consistent(result, path)
    return result


def check_consistent(result: Result, path: Path) -> None:
    """Raise an error for an audit with inconsistent numbers."""
    from leakscope.evaluation.results import Audit
    from leakscope.record.audit_consistency import contradictions

    if not isinstance(result, Audit):
        return
    try:
        problem = next(contradictions(result), None)
    except (ArithmeticError, LookupError, ValueError) as error:
        problem = f"its numbers cannot be checked ({type(error).__name__})"
    if problem is not None:
        raise InputError(
            f"{path} was edited, or is of another version: {problem}; restore the file, or run the study again"
        )


def check_version(path: Path, version: object, newest: int) -> None:
    """Raise an error for a version that this package cannot read."""
    if type(version) is not int or version < 1 or version > 10**6:
        raise InputError(f"{path} is not a result of leakscope: it has no schema_version")
    if version > newest:
        raise InputError(f"{path} has schema version {version}, this leakscope reads up to {newest}: upgrade leakscope")


def read_json(path: Path, *, digest: bool = True) -> dict[str, Any]:
    """Read a JSON object, check its digest, and return it without the digest."""
    try:
        document = json.loads(path.read_bytes(), parse_constant=_not_a_number, object_pairs_hook=_without_repeats)
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path} is damaged: it cannot be read as JSON ({error})") from cause(error)
    if not isinstance(document, dict):
        raise InputError(f"{path} is not a result of leakscope")
    if digest and document.get(DIGEST) != content_digest(document):
        what = "was edited after it was saved" if DIGEST in document else "has no digest of its content"
        raise InputError(f"{path} {what}: restore the file that leakscope wrote, or run the study again")
    return {name: value for name, value in document.items() if name != DIGEST}


def _not_a_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raise an error for a name that occurs twice in an object, because readers may disagree on its value."""
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a name occurs twice in an object")
    return found


def read_records(folder: Path, stated: Any) -> Any:
    """Return ``records.csv`` as a `SavedTable`, or raise an error if it is not the file saved with the result."""
    if stated is None:
        return None
    path = folder / "records.csv"
    try:
        table = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: restore it, because the result needs it") from cause(error)
    try:
        if hashlib.sha256(table).hexdigest() != stated["sha256"]:
            raise InputError(f"{path} is not the file saved with the result: restore both, or run the study again")
        return SavedTable(table, {str(name): str(kind) for name, kind in stated["columns"].items()})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read ({describe(error)})") from cause(error)
