"""The command ``leakscope diff``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli.options import GATE_FAILED, Json
from leakscope.cli.report import FORMATS, OutFile, check_file, check_format, put, render
from leakscope.core.errors import InputError

if TYPE_CHECKING:
    from leakscope.studies.diff import Diff


def diff(
    old: Annotated[Path, typer.Argument(help="Folder of the older result.")],
    new: Annotated[Path, typer.Argument(help="Folder of the newer result.")],
    form: Annotated[str | None, typer.Option("--format", help="text, md, html, json or csv.")] = None,
    out: OutFile = None,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse", help="Exit 1 if a risk increased significantly, 2 if this can't be determined."
        ),
    ] = False,
    as_data: Json = False,
) -> None:
    """Compare two saved results: what changed, and whether the change is significant."""
    from leakscope.record.storage import load
    from leakscope.studies.diff import diff as compare

    if as_data and form not in (None, "json"):
        raise InputError(f"--json and --format {form} contradict each other: pass one of them")
    form = "json" if as_data else form or "text"
    check_format(form, FORMATS)
    if out is not None:
        check_file(out, old, new)
    found = compare(load(old), load(new))
    if fail_if_worse and found.not_comparable:
        raise InputError(f"can't determine whether it is worse: {_reasons(found)}")
    put(f"{found}\n" if form == "text" and out is None else render(found, form), out)
    if fail_if_worse and found.worse:
        print(f"leakscope: worse: {_named(found, 'risk_increased')}", file=sys.stderr)
        raise typer.Exit(GATE_FAILED)
    if fail_if_worse and found.maybe_worse:
        named = _named(found, "increase_not_attributable")
        raise InputError(
            f"can't determine whether it is worse: a distribution shift may explain the increase ({named})"
        )


def _named(found: Diff, code: str) -> str:
    """What increased, by name."""
    claims = [claim for claim in found.claims if claim.code == code and claim.outcome == "yes"]
    return "; ".join(", ".join(map(str, claim.subject.values())) for claim in claims)


def _reasons(found: Diff) -> str:
    return "; ".join(caveat.code.replace("_", " ") for caveat in found.not_comparable)
