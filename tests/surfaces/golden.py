"""The golden text of every kind of document: ``make golden`` writes it, `test_golden` compares it.

The golden text is the Markdown of the sample of that kind without what differs from run to run. Read the difference before you commit it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from leakscope.report.renderers.markdown import render
from surfaces.samples import KINDS

FOLDER = Path(__file__).parent / "golden"
NUMBER = re.compile(r"[−+-]?\d[\d,]*(?:\.\d+)?")


def golden_text(kind: str) -> str:
    """Give the Markdown of the sample of a kind."""
    result = replace(KINDS[kind](), versions={}, fingerprints={}, seconds={}, created="")
    if kind == "diff":
        result = replace(result, changed_versions=(), studied_models=("old", "new"))
    return render(result)


def write() -> None:
    """Write the golden text of every kind, and remove those of other kinds."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.stem not in KINDS:
            path.unlink()
    for kind in KINDS:
        (FOLDER / f"{kind}.md").write_text(golden_text(kind), encoding="utf-8")


if __name__ == "__main__":
    write()
