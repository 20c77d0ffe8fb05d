"""The command ``leakscope selfcheck``."""

from __future__ import annotations

import json

import typer

from leakscope.cli.options import GATE_FAILED, Json, Seed, progress_bars


def selfcheck(seed: Seed = 0, as_json: Json = False) -> None:
    """Audit models whose leakage is known, and check that this installation measures it correctly."""
    from leakscope.selfcheck import run

    with progress_bars() as progress:
        checks = run(seed, progress)
    right = all(check.passed for check in checks)
    if as_json:
        print(json.dumps({"passed": right, "checks": [check.as_dict() for check in checks]}, indent=1))
    else:
        for check in checks:
            print(check)
        print(
            "passed: this installation measures known leakage correctly"
            if right
            else "FAILED: do not use this installation"
        )
    if not right:
        raise typer.Exit(GATE_FAILED)
