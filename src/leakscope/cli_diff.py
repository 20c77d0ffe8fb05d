"""The command ``leakscope diff``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli_gate import GATE_FAILED
from leakscope.cli_report import OutFile, as_json, check_file, check_format, put
from leakscope.cli_shared import Json
from leakscope.errors import InputError

FORMATS = ("text", "md", "json")


def diff(
    old: Annotated[Path, typer.Argument(help="Folder of the older audit.")],
    new: Annotated[Path, typer.Argument(help="Folder of the newer audit.")],
    form: Annotated[str | None, typer.Option("--format", help="text, md or json.")] = None,
    out: OutFile = None,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse",
            help="Exit 1 if something surely leaks more or a group surely stands out more, 2 if that can't be said.",
        ),
    ] = False,
    as_data: Json = False,
) -> None:
    """Say what changed between two saved audits, and whether it is more than noise."""
    from leakscope.audit_diff import diff as compare
    from leakscope.audit_diff.show import render_markdown
    from leakscope.storage import load

    if as_data and form not in (None, "json"):
        raise InputError(f"--json and --format {form} contradict each other: say one of them")
    form = "json" if as_data else form or "text"
    check_format(form, FORMATS)
    if out is not None:
        _check_out(out, old, new)
    found = compare(load(old), load(new))
    if fail_if_worse and found.not_comparable:
        raise InputError(f"can't say whether it is worse: {'; '.join(found.not_comparable)}")
    match form:
        case "json":
            put(as_json(found.as_dict()), out)
        case "md":
            put(render_markdown(found), out)
        case _:
            put(f"{found}\n", out)
    if fail_if_worse and found.worse:
        print(f"leakscope: worse: {'; '.join(found.worse_because)}", file=sys.stderr)
        raise typer.Exit(GATE_FAILED)
    if fail_if_worse and found.maybe_worse_because:
        raise InputError(
            f"can't say whether it is worse: numbers rose, but the records may differ: {found.maybe_worse_because[0]}"
        )


def _check_out(out: Path, old: Path, new: Path) -> None:
    """Refuse a file that belongs to an audit, be it one of these two or another."""
    from leakscope.storage import FILES

    check_file(out, old, new)
    for place in (out.resolve(), out.parent.resolve() / out.name):
        if place.name in FILES and (place.parent / "audit.json").is_file():
            raise InputError(f"--out would overwrite {out}, which is part of an audit: name another file")
