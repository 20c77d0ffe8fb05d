"""The schemas of `result.json` as tables: fields, types, and what the classes of results say of them."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

RESULT = "Result of kind {}"
#: Fields that every result has.
PLAIN = {
    "kind": "The kind of result.",
    "claims": "What the study decided.",
    "warnings": "What limits the result, as codes with values.",
    "not_run": "What was left out, and why.",
    "settings": "All that the numbers depend on: seed, confidence, releases, and so on.",
    "fingerprints": "SHA-256 over the content of features and labels, by set; of the model; of the code of leakscope.",
    "versions": "Versions of the packages that the numbers depend on.",
    "seconds": "Time spent by step.",
    "created": "When the result was made.",
    "command": "The command line that made it; empty where it was made from Python.",
    "schema_version": "It rises when a reader of an older version would misunderstand.",
}

SCHEMAS = Path(__file__).parents[2] / "schema"


def schema_part() -> str:
    """Describe the results, then every part that they are made of, as Markdown."""
    results, parts = [], {}
    for kind, schema in schemas().items():
        results.append(_describe(RESULT.format(kind), schema, schema["$defs"]))
        parts |= {name: _describe(name, schema["$defs"][name], schema["$defs"]) for name in _in_order(schema)}
    return "\n".join([*results, *parts.values()])


def schemas() -> dict[str, dict[str, Any]]:
    """Give the schema of every kind; a part that another kind defines differently is named after its own kind."""
    read = {path.name.split(".")[0]: path.read_text(encoding="utf-8") for path in sorted(SCHEMAS.glob("*.schema.json"))}
    definitions: dict[str, list[Any]] = {}
    for text in read.values():
        for name, part in json.loads(text)["$defs"].items():
            definitions.setdefault(name, []).append(part)
    shared = [name for name, found in definitions.items() if any(part != found[0] for part in found)]
    for kind in read:
        for name in shared:
            read[kind] = re.sub(rf'"(#/\$defs/)?{name}"(?=[,:}}\s])', rf'"\g<1>{name} of {kind}"', read[kind])
    return {kind: json.loads(text) for kind, text in read.items()}


def _in_order(schema: dict[str, Any]) -> list[str]:
    """Give the names of the parts in the order in which a reader meets them."""
    found: list[str] = []
    waiting = [schema]
    while waiting:
        text = json.dumps({"properties": waiting.pop(0).get("properties", {})})
        for name in re.findall(r'"#/\$defs/([^"]+)"', text):
            if name not in found:
                found.append(name)
                waiting.append(schema["$defs"][name])
    return found


def _describe(name: str, part: dict[str, Any], kinds: dict[str, Any]) -> str:
    lead, meanings = read_docstring(part.get("description", ""))
    rows = []
    for field, kind in part["properties"].items():
        needed = field in part.get("required", ())
        common = PLAIN.get(field, "") if "schema_version" in part["properties"] else ""
        meaning = as_markdown(kind.get("description", "")) or meanings.get(field) or common or _by_type(kind, kinds)
        rows.append(f"| `{field}` | {_type(kind)}{'' if needed else _otherwise(kind)} | {meaning} |")
    return f"## {name}\n\n{lead}\n\n| Field | Type | Meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _by_type(kind: dict[str, Any], kinds: dict[str, Any]) -> str:
    """What is said of a part where it stands in another: its first sentence. Estimates are everywhere, and need none."""
    inner = kind.get("items", kind)
    name = next((other["$ref"] for other in (inner, *inner.get("anyOf", ())) if "$ref" in other), "").rsplit("/", 1)[-1]
    if name in ("", "Estimate"):
        return ""
    sentence = read_docstring(kinds[name].get("description", ""))[0].split("\n\n")[0].replace("\n", " ")
    return f"For each: {sentence[:1].lower()}{sentence[1:]}" if kind.get("type") == "array" else sentence


def read_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    r"""What a numpy-style docstring says of the whole, and of each field.

    >>> read_docstring("A number.\n\nParameters\n----------\nlow, high\n    The ends.")
    ('A number.', {'low': 'The ends.', 'high': 'The ends.'})
    """
    text = inspect.cleandoc(docstring)
    lead, _, rest = text.partition("\nParameters\n----------\n")
    lead, rest = lead.split("\nExamples\n")[0], rest.split("\nExamples\n")[0]
    meanings = {}
    for names, meaning in re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?|\n)+)", rest, re.MULTILINE):
        for name in names.split(", "):
            meanings[name] = as_markdown(" ".join(meaning.split()))
    return as_markdown(lead.strip()), meanings


def as_markdown(text: str) -> str:
    """Code in double backticks, and nothing that would end a cell of a table."""
    return text.replace("``", "`").replace("|", "\\|")


def _type(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower().replace(' ', '-')})"
    if "anyOf" in kind:
        return " or ".join(_type(other) for other in kind["anyOf"])
    if "enum" in kind:
        return ", ".join(f"`{json.dumps(value)}`" for value in kind["enum"])
    if "const" in kind:
        return f"`{json.dumps(kind['const'])}`"
    if kind.get("type") == "array":
        return f"list of {_type(kind['items'])}" if "items" in kind else "list"
    if kind.get("type") == "object":
        values = kind.get("additionalProperties")
        return f"object: name to {_type(values)}" if isinstance(values, dict) and values else "object"
    return str(kind.get("type", "anything"))


def _otherwise(kind: dict[str, Any]) -> str:
    return (
        f"; if missing, `{json.dumps(kind['default'], ensure_ascii=False)}`"
        if "default" in kind
        else ", may be missing"
    )
