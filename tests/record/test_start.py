"""A saved result is gated and compared without the packages that make results and reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from samples import sample_audit

HEAVY = ("jinja2", "markupsafe", "matplotlib", "pandas", "rich", "scipy", "sklearn", "torch")
CODE = """
import sys
from leakscope.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert stop.code in (0, 1), stop.code
print(sorted({name.partition(".")[0] for name in sys.modules} & set(%r)))
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    for kind in ("leaks", "not_detected"):
        sample_audit(kind).save(folder / kind)  # type: ignore[arg-type]
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("gate", "leaks", "--fail-if", "auc > 0.6"),
        ("gate", "leaks", "--fail-if", "verdict = leaks", "--json", "--junit", "gate.xml"),
        ("diff", "leaks", "not_detected"),
        ("diff", "leaks", "not_detected", "--json", "--fail-if-worse"),
        ("diff", "leaks", "not_detected", "--format", "md"),
    ],
    ids=" ".join,
)
def test_gate_and_diff_import_nothing_heavy(words: tuple[str, ...], saved: Path) -> None:
    line = [sys.executable, "-c", CODE % (HEAVY,), *words]
    done = subprocess.run(line, cwd=saved, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
