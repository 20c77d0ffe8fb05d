"""The gate as JUnit XML, which every CI shows: one test case per condition."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from leakscope.conditions import Judgement
from leakscope.errors import InputError
from leakscope.gating import GateResult
from leakscope.report.words import SENTENCE_LENGTH, safe_text
from leakscope.results import Findings
from leakscope.storage import FILES, check_writable, write_all

#: Room for a line of the gate, whose parts are sentences.
LONGEST = 6 * SENTENCE_LENGTH


def junit_xml(result: GateResult, audit: Findings) -> bytes:
    """A test suite: a failed condition is a failure; an uncertain one a failure, or skipped where it is let through.

    Names go through `safe_text`, which leaves no character that XML can't hold.

    Examples
    --------
    >>> import leakscope as ls
    >>> from leakscope.gating import gate
    >>> toy = ls.toys.lookup(n=300)
    >>> found = ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> b'failures="1"' in junit_xml(gate(found, "verdict = leaks"), found)
    True
    """
    failures = sum(result.fails(one) for one in result.conditions)
    skipped = sum(one.outcome == "uncertain" for one in result.conditions) if result.on_uncertain == "pass" else 0
    counts = {"tests": str(len(result.conditions)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", {"name": "leakscope", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "leakscope", **counts, "time": "0"})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(result, audit).items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _text(value)})
    for judgement in result.conditions:
        _add_case(suite, result, judgement, _text(audit.target.model))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def check_junit(path: Path) -> None:
    """Refuse, before any work, a file that can't be written or that is part of an audit."""
    if path.is_dir():
        raise InputError(f"can't write to {path}: it is a folder, and --junit names a file")
    if path.name in FILES:
        raise InputError(f"--junit would overwrite {path.name} of an audit: choose another name, such as gate.xml")
    check_writable(path.parent)


def write_junit(path: Path, result: GateResult, audit: Findings) -> None:
    """Write the test suite by renaming a finished copy."""
    write_all(path.parent, {path.name: junit_xml(result, audit)})


def _properties(result: GateResult, audit: Findings) -> dict[str, object]:
    return {
        "seed": audit.settings.get("seed", "unknown"),
        "version": audit.versions.get("leakscope", "unknown"),
        "created": audit.created,
        "verdict": audit.verdict.kind,
        "on_uncertain": result.on_uncertain,
        "outcome": result.outcome,
    }


def _add_case(suite: ElementTree.Element, result: GateResult, judgement: Judgement, model: str) -> None:
    name = {"classname": model, "name": _text(judgement.condition), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", name)
    line = _text(result.line(judgement))
    if result.fails(judgement):
        ElementTree.SubElement(case, "failure", {"message": line, "type": judgement.outcome}).text = line
    elif judgement.outcome == "uncertain":
        ElementTree.SubElement(case, "skipped", {"message": line})
    else:
        ElementTree.SubElement(case, "system-out").text = line


def _text(value: object) -> str:
    return safe_text(value, LONGEST)
