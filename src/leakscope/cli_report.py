"""The command ``leakscope report``, and what it shares with ``leakscope diff``: writing text to a file or to the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakscope.errors import InputError

if TYPE_CHECKING:
    from leakscope.results import Audit

FORMATS = ("html", "md", "json")
Folder = Annotated[Path, typer.Argument(help="Folder of a saved audit.")]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        help="Folder that compare, leakage, reconstruct, frontier, causal or attributes wrote; kept in audit.json; may be repeated.",
    ),
]
OutFile = Annotated[Path | None, typer.Option("--out", help="File to write to.", dir_okay=True)]


def report(
    folder: Folder,
    beside: With = None,
    form: Annotated[str, typer.Option("--format", help="html, md or json.")] = "html",
    out: OutFile = None,
) -> None:
    """Make the report anew from a saved audit: no model, no data. HTML goes to report.html, the rest to the terminal."""
    from leakscope.storage import check_writable, load, write_all
    from leakscope.study import load_study

    check_format(form, FORMATS)
    audit = load(folder)
    studies = [load_study(place) for place in beside or ()]
    audit = audit.with_studies(*studies)
    if studies:
        check_writable(folder)
    if out is not None:
        check_file(out, folder)
    content = _render(audit, form)
    if studies:
        audit.save(folder)
        names = ", ".join(str(place) for place in beside or ())
        print(f"kept in {folder / 'audit.json'}: {names}", file=sys.stderr)
    if form == "html" and out is None:
        write_all(folder, {"report.html": content.encode()})
        print(f"report: {folder / 'report.html'}")
    else:
        put(content, out)


def _render(audit: Audit, form: str) -> str:
    if form == "html":
        from leakscope.report.html import render

        return render(audit)
    if form == "md":
        from leakscope.report.markdown import render as render_markdown

        return render_markdown(audit)
    from leakscope.report.summary import summarize

    return as_json(summarize(audit))


def as_json(document: Any) -> str:
    """JSON that any reader takes: what is not finite is null."""
    from leakscope.report.plain import finite

    return json.dumps(finite(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def check_format(form: str, known: tuple[str, ...]) -> None:
    if form not in known:
        raise InputError(f"--format must be {', '.join(known[:-1])} or {known[-1]}, not {form}")


def check_file(out: Path, *audits: Path) -> None:
    """Refuse, before anything is written, a file that can't be written, or that is part of a saved audit."""
    from leakscope.storage import check_writable

    if out.is_dir():
        raise InputError(f"--out names a file, and {out} is a folder")
    for folder in audits:
        if out.resolve() in ((folder / name).resolve() for name in ("audit.json", "records.csv")):
            raise InputError(f"--out would overwrite {out}, which is part of the audit: name another file")
    check_writable(out.parent)


def put(content: str, out: Path | None) -> None:
    """Write to a file, all of it or nothing, and say where; without a file, print."""
    from leakscope.storage import write_all

    if out is None:
        sys.stdout.write(content)
        return
    write_all(out.parent, {out.name: content.encode()})
    print(f"written: {out}")
