"""Migration of results that older versions wrote.

Fields that were renamed are listed in `_RENAMED`. Versions 1 to 3 of the audit schema were saved as ``audit.json``. Their verdicts and warnings are sentences, which are kept as caveats; fields of later
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
_PREDICTION, _SETTING, _UTILITY_LOSS = {"beside": "prediction"}, {"knob": "setting_name"}, {"price": "utility_loss"}


#: By kind and the last version with the former names: the objects whose fields were renamed, with both names. A ``*`` stands for every item.
_RENAMED: dict[tuple[str, int], dict[str, dict[str, str]]] = {
    ("audit", 4): {"claims/*/subject": _PREDICTION, "extras/*": _PREDICTION},
    ("comparison", 1): {
        "compared/*": _SETTING,
        "record_explanations/settings": _UTILITY_LOSS,
        "record_explanations/versions/*": _SETTING,
        "settings": _UTILITY_LOSS | {"explanations": "releases"},
    },
    ("diff", 1): {"claim_changes/*/subject": _PREDICTION, "claims/*/subject": _PREDICTION},
    ("frontier", 1): {
        "": _PREDICTION,
        "claims/*/subject": _PREDICTION,
        "settings": _PREDICTION | {"explanations": "releases", "margin": "tolerance"},
    },
}


def migrate(kind: type[Result], version: int, document: dict[str, Any]) -> dict[str, Any]:
    """Convert a document of an older version of ``result.json`` to the newest one."""
    for older in range(version, kind.schema_version):
        if (kind.kind, older) not in _RENAMED:
            raise InputError(f"schema version {older} of kind {kind.kind!r} cannot be read: run the study again")
        for path, names in _RENAMED[kind.kind, older].items():
            document = _rename(document, path.split("/") if path else [], names)
    return document


def _rename(value: Any, path: list[str], names: dict[str, str]) -> Any:
    """Give a copy with the fields of the objects at a path renamed; what is not there is left to the validation."""
    if path and isinstance(value, list) and path[0] == "*":
        return [_rename(one, path[1:], names) for one in value]
    if not isinstance(value, dict):
        return value
    if path:
        return {name: _rename(one, path[1:], names) if name == path[0] else one for name, one in value.items()}
    return {names.get(name, name): one for name, one in value.items()}


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
        kind = class_of("audit")
        parts = validate(kind, migrate(kind, NEWEST_OLD + 1, _renewed(document, version)))
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
