"""The result of the gate as JUnit XML for CI systems: one test case per condition."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from leakscope.core.errors import InputError
from leakscope.core.result import Result
from leakscope.core.wording import SENTENCE_LENGTH, name
from leakscope.record.conditions import Judgement
from leakscope.record.files import check_writable, write_all
from leakscope.record.gate import GateResult
from leakscope.record.storage import FILES

#: Largest length of a line of the gate.
LONGEST = 6 * SENTENCE_LENGTH


def junit_xml(result: GateResult, studied: Result) -> bytes:
    """Return a test suite: a failed condition is a failure; an uncertain one is a failure, or skipped if accepted.

    Names go through `core.wording.name`, which removes characters that XML does not allow.

    Examples
    --------
    >>> import leakscope as ls
    >>> from leakscope.record.gate import gate
    >>> toy = ls.toys.lookup(n=300)
    >>> found = ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> b'failures="1"' in junit_xml(gate(found, "verdict = leaks"), found)
    True
    """
    failures = sum(result.fails(one) for one in result.conditions)
    skipped = sum(one.outcome == "uncertain" for one in result.conditions) if result.on_uncertain == "pass" else 0
    counts = {"tests": str(len(result.conditions)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", {"name": "leakscope", **counts})
    suite = ElementTree.SubElement(root, "testsuite", root.attrib | {"time": "0"})
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in _properties(result, studied).items():
        ElementTree.SubElement(properties, "property", {"name": key, "value": _text(value)})
    for judgement in result.conditions:
        _add_case(suite, result, judgement, _text(studied.studied))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def check_junit(path: Path) -> None:
    """Raise an error, before any work, if the file is not writable or is part of a saved result."""
    if path.is_dir():
        raise InputError(f"cannot write to {path}: it is a folder; name a file with --junit")
    if path.name in FILES:
        what = f"--junit would overwrite {path.name} of a saved result"
        raise InputError(f"{what}: choose another name, such as gate.xml")
    check_writable(path.parent)


def write_junit(path: Path, result: GateResult, studied: Result) -> None:
    """Write the test suite by renaming a complete copy."""
    write_all(path.parent, {path.name: junit_xml(result, studied)})


def _properties(result: GateResult, studied: Result) -> dict[str, object]:
    return {
        "kind": studied.kind,
        "seed": studied.settings.get("seed", "unknown"),
        "version": studied.versions.get("leakscope", "unknown"),
        "created": studied.created,
        **{claim.code: claim.outcome for claim in studied.claims if not claim.subject},
        "on_uncertain": result.on_uncertain,
        "outcome": result.outcome,
    }


def _add_case(suite: ElementTree.Element, result: GateResult, judgement: Judgement, model: str) -> None:
    attributes = {"classname": model, "name": _text(judgement.condition), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    line = _text(result.line(judgement))
    if result.fails(judgement):
        ElementTree.SubElement(case, "failure", {"message": line, "type": judgement.outcome}).text = line
    elif judgement.outcome == "uncertain":
        ElementTree.SubElement(case, "skipped", {"message": line})
    else:
        ElementTree.SubElement(case, "system-out").text = line


def _text(value: object) -> str:
    return name(value, LONGEST)
