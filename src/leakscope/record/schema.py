"""The JSON schema of every kind of result, and validation against it."""

from __future__ import annotations

import inspect
import json
from dataclasses import MISSING
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from leakscope.core.errors import InputError
from leakscope.core.result import KINDS, Result, content_fields
from leakscope.record.files import write_all

if TYPE_CHECKING:
    from pydantic import BaseModel

#: The field that holds the digest of all others.
DIGEST = "content_sha256"
#: Kind of result to the module that defines it, imported when such a result is read.
MODULES = {
    "attributes": "leakscope.studies.attributes.result",
    "audit": "leakscope.evaluation.results",
    "causal": "leakscope.studies.causal.result",
    "comparison": "leakscope.studies.compare.result",
    "diff": "leakscope.studies.diff",
    "frontier": "leakscope.studies.frontier.result",
    "leakage": "leakscope.studies.leakage.result",
    "reconstruction": "leakscope.studies.reconstruct.result",
    "reproduction": "leakscope.papers.reproduction",
}


def class_of(kind: object) -> type[Result]:
    """Return the class of a kind of result."""
    if kind in MODULES and kind not in KINDS:
        import_module(MODULES[str(kind)])
    if kind not in KINDS:
        known = ", ".join(sorted({*MODULES, *KINDS}))
        raise InputError(f"unknown kind of result {str(kind)[:40]!r}: known are {known}")
    return KINDS[str(kind)]


_MODELS: dict[type[Result], type[BaseModel]] = {}


def model_of(kind: type[Result]) -> type[BaseModel]:
    """Return the validator of a kind of result, made from the types of its fields."""
    if kind not in _MODELS:
        _MODELS[kind] = _make_model(kind)
    return _MODELS[kind]


def _make_model(kind: type[Result]) -> type[BaseModel]:
    from pydantic import ConfigDict, create_model

    hints = get_type_hints(kind, localns={"pd": _Pandas})
    parts: dict[str, Any] = {}
    for item in content_fields(kind):
        default: Any = ... if item.default is MISSING else item.default
        if item.default_factory is not MISSING:
            default = item.default_factory()
        parts[item.name] = (hints[item.name], default)
    config = ConfigDict(extra="forbid")
    return create_model(kind.__name__, __config__=config, __doc__=inspect.getdoc(kind), **parts)


def validate(kind: type[Result], document: dict[str, Any]) -> dict[str, Any]:
    """Validate the content of a result and return its fields, or raise an error for the first problem.

    Examples
    --------
    >>> from leakscope.core.result import Claim
    >>> validate(Result, {"claims": [{"code": "leak", "outcome": "no"}]})["claims"]
    (Claim(code='leak', subject={}, outcome='no', estimates={}),)
    >>> validate(Result, {"claims": [{"code": "leak", "outcome": "perhaps"}]})
    Traceback (most recent call last):
    leakscope.core.errors.InputError: claims.0.outcome: Input should be 'yes', 'no' or 'inconclusive'
    """
    from pydantic import ValidationError

    try:
        found = model_of(kind).model_validate(document)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))[:120]
        raise InputError(f"{where}: {problem['msg'][:120]}") from None
    return {item.name: getattr(found, item.name) for item in content_fields(kind)}


class _Pandas:
    """Replaces the module in the types of fields, so that a result without records is read without pandas."""

    DataFrame = object


def json_schema(kind: type[Result]) -> dict[str, Any]:
    """Return the JSON schema of ``result.json`` of a kind of result."""
    schema = model_of(kind).model_json_schema()
    head = {
        "kind": {"const": kind.kind},
        "schema_version": {"const": kind.schema_version},
        DIGEST: {"type": "string", "description": "SHA-256 of all other fields as JSON with sorted keys, no spaces and only ASCII characters"},
        "records": {
            "anyOf": [{"type": "null"}, {"type": "object"}],
            "description": "SHA-256 of records.csv and the types of its columns; null without records",
        },
    }  # fmt: skip
    schema["properties"] = head | schema["properties"]
    schema["required"] = sorted(schema["properties"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"Leakscope {kind.kind}"}


def write_schemas(folder: str | Path) -> None:
    """Write ``<kind>.schema.json`` for every kind of result of this package, and remove those of other kinds."""
    content = {f"{kind}.schema.json": json.dumps(json_schema(class_of(kind)), indent=2) + "\n" for kind in MODULES}
    for path in Path(folder).glob("*.schema.json"):
        if path.name not in content:
            path.unlink()
    write_all(Path(folder), {name: text.encode() for name, text in content.items()})
