"""Saving an audit and loading it again, equal to the last bit.

``audit.json`` holds the findings (schema: ``docs/audit.schema.json``), ``records.csv`` the table of training records by id.
A reader that finds ``audit.json`` finds a complete audit: it is written last, and it holds the digests of ``records.csv`` and of
its own content. Loading checks both, and that the verdict follows from the numbers (see `integrity`).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leakscope.errors import InputError, write_error
from leakscope.failures import cause, describe
from leakscope.integrity import DIGEST, check_consistent, check_content, content_digest
from leakscope.results import SCHEMA_VERSION, Audit, Findings

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FILES = ("records.csv", "report.html", "audit.json")
#: Files with one row per record, of all commands.
PER_RECORD = ("records.csv",)
#: Columns of it with real numbers; versions 1 and 2 have scores only.
MEASURED = ("score", "low", "high", "p_value", "loss")
#: Versions of the record that can be read: what a later version added is empty in a record of an earlier one. Version 3 added the
#: digest and the basis of the verdict; the gate refuses records without them.
READABLE = (1, 2, SCHEMA_VERSION)
#: What a spreadsheet takes for the start of a formula; the apostrophe is escaped too, so that reading can undo it.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def save(audit: Audit, folder: Path) -> None:
    """Write ``records.csv``, ``report.html`` and ``audit.json``; on failure none of them is left half-written."""
    from leakscope.report.html import render

    table = records_to_csv(audit.records)
    content = {
        "records.csv": table,
        "report.html": render(audit).encode(),
        "audit.json": findings_to_json(audit.findings, hashlib.sha256(table).hexdigest(), _id_type(audit.records)),
    }
    write_all(folder, content)


def write_all(folder: Path, content: dict[str, bytes]) -> None:
    """Write files into a folder, in this order, each by renaming a finished copy."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if blocked := [name for name in content if (folder / name).is_dir()]:
            raise InputError(f"can't write to {folder}: {blocked[0]} is a folder there")
        with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as scratch:
            for name, data in content.items():
                _write(Path(scratch) / name, data)
            for name in content:
                os.replace(Path(scratch) / name, folder / name)
    except OSError as error:
        raise write_error(str(folder), error) from None


def _write(path: Path, data: bytes) -> None:
    """Write a new file; one with a row per record is for its owner's eyes, as the cache is."""
    mode = 0o600 if path.name in PER_RECORD else 0o666
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)


def check_writable(folder: Path) -> None:
    """Refuse a folder that can't be written to before hours of work are spent on what should go there."""
    if blocked := [name for name in FILES if (folder / name).is_dir()]:
        raise InputError(f"can't write to {folder}: {blocked[0]} is a folder there")
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise InputError(f"can't write to {folder}: {there} is not a folder")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise write_error(str(folder), error) from None


def load(folder: str | Path) -> Audit:
    """Load an audit saved by ``result.save(folder)``; a newer, broken or edited one fails in one sentence.

    Examples
    --------
    >>> load("no/such/folder")
    Traceback (most recent call last):
    leakscope.errors.InputError: no audit in no/such/folder: it has no audit.json
    """
    folder = Path(folder)
    path = folder / "audit.json"
    if not path.is_file():
        raise InputError(f"no audit in {folder}: it has no audit.json")
    document = _read_document(path)
    version = document.pop("schema_version")
    if version < 3:  # an edited record must not get past the checks by naming a version that has none
        document.pop("basis", None)
        if isinstance(document.get("target"), dict):
            document["target"].pop("shadow_models", None)
    digest, id_type = document.pop("records_sha256", None), document.pop("records_id_type", None)
    try:
        findings = _adapter().validate_python(document)
    except ValueError as error:
        raise InputError(f"{path} is not a whole audit: {_first_problem(error)}") from cause(error)
    try:
        table = (folder / "records.csv").read_bytes()
    except OSError as error:
        raise InputError(f"{folder / 'records.csv'} can't be read: an audit needs it beside audit.json") from error
    if hashlib.sha256(table).hexdigest() != digest:
        raise InputError(
            f"{folder / 'records.csv'} is not the one that {path} was saved with: restore both or audit again"
        )
    parts = {item.name: getattr(findings, item.name) for item in fields(Findings)}
    try:
        records = records_from_csv(table, str(id_type))
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path} is not a whole audit: its records can't be read ({describe(error)})") from cause(
            error
        )
    from leakscope.report.html import render
    from leakscope.risk import most_exposed

    if version == 1:  # which has them in the table only
        parts["exposed"] = most_exposed(records)
    audit = Audit(**parts, records=records)
    check_consistent(audit, path)
    try:
        render(audit)
    except Exception as error:  # whatever was changed by hand: what can't be shown is not an audit
        raise InputError(f"{path} is not a whole audit: it can't be shown ({describe(error)})") from cause(error)
    return audit


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes(), parse_constant=_not_a_number, object_pairs_hook=_without_repeats)
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path} is broken: it can't be read as JSON ({error})") from cause(error)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if type(version) is not int or abs(version) > 10**6:
        raise InputError(f"{path} is not an audit: it has no schema_version")
    if version not in READABLE:
        raise InputError(
            f"{path} has schema version {version} and this leakscope reads version {SCHEMA_VERSION}: "
            + ("upgrade leakscope" if version > SCHEMA_VERSION else "audit again")
        )
    if version >= 3:
        check_content(document, path)
    return {name: value for name, value in document.items() if name != DIGEST}


def _not_a_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that stands twice in an object: another reader may take the value that this one drops."""
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _first_problem(error: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc']))[:120]}: {problem['msg'][:120]}"


def _adapter() -> TypeAdapter[Findings]:
    from pydantic import TypeAdapter

    return TypeAdapter(Findings)


def findings_to_dict(findings: Findings) -> dict[str, Any]:
    """The findings as plain lists, dicts, texts and numbers."""
    return dict(_adapter().dump_python(findings, mode="json"))


def findings_to_json(findings: Findings, digest: str, id_type: str) -> bytes:
    document = findings_to_dict(findings) | {"records_sha256": digest, "records_id_type": id_type}
    document = json.loads(json.dumps(document, allow_nan=False))  # keys as texts, as a reader finds them
    document[DIGEST] = content_digest(document)
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode()


def json_schema() -> dict[str, Any]:
    """The schema of ``audit.json``, made from the classes in ``results.py``."""
    schema = _adapter().json_schema()
    text = {
        "records_sha256": "sha256 of records.csv",
        "records_id_type": "dtype of the ids in records.csv",
        DIGEST: "sha256 of all other fields as JSON with sorted keys, no spaces and only ASCII characters",
    }
    schema["properties"] |= {name: {"type": "string", "description": what} for name, what in text.items()}
    schema["required"] = sorted([*schema["required"], *text, "schema_version"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Leakscope audit"}


# --- the table of records -------------------------------------------------------------------------------------------


def _id_type(records: pd.DataFrame) -> str:
    kind = records["id"].dtype.kind
    return str(records["id"].dtype) if kind in "iu" else "text"


def records_to_csv(records: pd.DataFrame) -> bytes:
    """CSV in which no id, label or group can act as a formula: a text that could gets an apostrophe before it."""
    shown = records.assign(
        **{name: inert(records[name]) for name in records.columns if records[name].dtype.kind not in "iuf"}
    )
    return shown.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).encode()


def inert(ids: pd.Series[Any]) -> pd.Series[Any]:
    """Ids of which no spreadsheet makes a formula."""
    if ids.dtype.kind in "iu":
        return ids
    return ids.astype(str).map(lambda text: f"'{text}" if text.startswith(FORMULA_STARTS) else text)


def records_from_csv(table: bytes, id_type: str) -> pd.DataFrame:
    r"""The table that :func:`records_to_csv` wrote.

    Examples
    --------
    >>> table = pd.DataFrame({"id": ["=1+1", "ann"], "score": [0.5, 0.25], "rank": [1, 2]})
    >>> records_to_csv(table).decode().splitlines()[1]
    '"\'=1+1",0.5,1'
    >>> records_from_csv(records_to_csv(table), "text").equals(table)
    True
    """
    read = pd.read_csv(io.BytesIO(table), dtype="str", keep_default_na=False, na_filter=False)
    for name in read.columns:
        if name in MEASURED:  # every bit, as pandas does not promise
            read[name] = np.array([text or "nan" for text in read[name]], dtype=np.float64)
        elif name == "rank" or (name == "id" and id_type != "text"):
            read[name] = read[name].astype(np.dtype("int64" if name == "rank" else id_type))
        else:
            read[name] = read[name].map(lambda text: text[1:] if text.startswith("'") else text).astype("str")
    return read
