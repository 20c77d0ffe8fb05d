"""Migration of results that older versions wrote.

Versions 1 to 3 of the audit schema were saved as ``audit.json``. Their verdicts and warnings are sentences, which are kept as caveats; fields of later
versions are empty. An audit of version 1 or 2 has no basis of its verdict, so that it has no claims and the gate refuses it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.core.result import Result
from leakscope.record.schema import class_of, validate
from leakscope.record.storage import check_consistent, check_version, read_json, read_records

OLD_FILE = "audit.json"
NEWEST_OLD = 3
_VERDICTS = {"claim refuted": "claim_refuted", "no evidence": "not_detected", "cannot tell": "inconclusive"}
_NUMBERS = ("score", "low", "high", "p_value", "loss")


def migrate(kind: type[Result], version: int, document: dict[str, Any]) -> dict[str, Any]:
    """Convert a document of an older version of ``result.json`` to the newest one."""
    if version != kind.schema_version:
        raise InputError(f"schema version {version} of kind {kind.kind!r} cannot be read: run the study again")
    return document


def read_old(folder: Path) -> Result:
    """Read an audit of schema version 1, 2 or 3."""
    from leakscope.evaluation.audit_claims import audit_claims
    from leakscope.evaluation.exposed_records import most_exposed
    from leakscope.evaluation.results import Audit

    path = folder / OLD_FILE
    document = read_json(path, digest=False)
    version = document.pop("schema_version", None)
    check_version(path, version, NEWEST_OLD)
    if version == NEWEST_OLD:
        document = {key: value for key, value in read_json(path).items() if key != "schema_version"}
    stated = _records(folder, document)
    try:
        parts = validate(class_of("audit"), _renewed(document, version))
    except InputError as error:
        raise InputError(f"{path} is not a complete audit: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path} is not a complete audit: {type(error).__name__}") from None
    audit = Audit(**parts, records=read_records(folder, stated))
    if version == 1 and audit.records is not None:  # version 1 has them in the table only
        audit = replace(audit, exposed=most_exposed(audit.records))
    audit = replace(audit, claims=audit_claims(audit))
    check_consistent(audit, path)
    return audit


def _records(folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    """Return the types of the columns of ``records.csv``, which older versions did not store."""
    kind = document.pop("records_id_type", "text")
    try:
        with (folder / "records.csv").open(encoding="utf-8") as file:
            names = [column.strip('"') for column in file.readline().strip().split(",")]
    except (OSError, UnicodeError) as error:
        raise InputError(f"{folder / 'records.csv'} cannot be read: restore it") from cause(error)
    types = {"id": kind, "rank": "int64"} | dict.fromkeys(_NUMBERS, "float64")
    return {"sha256": document.pop("records_sha256", ""), "columns": {one: types.get(one, "text") for one in names}}


def _renewed(document: dict[str, Any], version: int) -> dict[str, Any]:
    new = {key: value for key, value in document.items() if key != "studies"}
    if version < NEWEST_OLD:  # an edited file must not avoid the checks by stating a version without them
        new["basis"] = None
        new["target"] = {key: value for key, value in new["target"].items() if key != "shadow_models"}
    verdict = dict(new["verdict"])
    said = [verdict.pop("sentence", ""), *verdict.pop("reasons", ())]
    verdict["kind"] = _VERDICTS.get(verdict["kind"], verdict["kind"])
    for part in ("doubts", "support"):
        verdict[part] = [_statement(one) for one in verdict.get(part, ())]
    verdict["finding"] = None if verdict.get("finding") is None else _statement(verdict["finding"])
    stated = [*new.get("warnings", ()), *(said if verdict["finding"] is None else ())]
    new["warnings"] = [_caveat(text) for text in stated if text]
    if new.get("basis"):
        new["basis"] = new["basis"] | {"obstacles": [_caveat(text) for text in new["basis"]["obstacles"]]}
    new["bounds"] = [{key: value for key, value in bound.items() if key != "why"} for bound in new.get("bounds", ())]
    return new | {"verdict": verdict}


def _statement(statement: dict[str, Any]) -> dict[str, Any]:
    text = statement.get("text")
    return {key: value for key, value in statement.items() if key != "text"} | (
        {"obstacle": _caveat(text)} if text else {}
    )


def _caveat(text: str) -> dict[str, Any]:
    return {"code": "stated_by_older_version", "values": {"text": text}}
