"""The command ``leakscope report``, and what it shares with ``leakscope diff``: writing text to a file or to the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakscope.cli.options import OUTPUT, With
from leakscope.core.errors import InputError

if TYPE_CHECKING:
    from leakscope.core.result import Result

FORMATS = ("html", "md", "text", "json", "csv")
OutFile = Annotated[Path | None, typer.Option("--out", help="File to write to.", dir_okay=True, rich_help_panel=OUTPUT)]


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a saved result.")],
    include: With = None,
    form: Annotated[str, typer.Option("--format", help="html, md, text, json or csv.")] = "html",
    out: OutFile = None,
) -> None:
    """Render a saved result, without model or data. HTML is written to report.html, the rest to the terminal."""
    from leakscope.record.files import write_all
    from leakscope.record.storage import load

    check_format(form, FORMATS)
    result, others = load(folder), [load(place) for place in include or ()]
    if out is not None:
        check_file(out, folder)
    content = render(result, form, others)
    if form == "html" and out is None:
        write_all(folder, {"report.html": content.encode()})
        print(f"report: {folder / 'report.html'}")
    else:
        put(content, out)


def render(result: Result, form: str, others: Sequence[Result] = ()) -> str:
    """Give a result in one of the formats."""
    match form:
        case "html":
            from leakscope.report.renderers import html

            return html.render(result, others)
        case "md":
            from leakscope.report.renderers import markdown

            return markdown.render(result, others)
        case "text":
            from leakscope.report.renderers import text

            return text.render(result, others, full=True) + "\n"
        case "csv":
            return result.to_csv()
    return as_json(result.as_dict())


def as_json(document: Any) -> str:
    """Give a document as JSON."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def check_format(form: str, known: tuple[str, ...]) -> None:
    """Refuse an unknown format."""
    if form not in known:
        raise InputError(f"--format must be {', '.join(known[:-1])} or {known[-1]}, not {form}")


def check_file(out: Path, *folders: Path) -> None:
    """Refuse, before anything is written, a file that can't be written, or that is part of a saved result."""
    from leakscope.record.files import check_writable
    from leakscope.record.storage import FILE, FILES

    if out.is_dir():
        raise InputError(f"--out names a file, and {out} is a folder")
    kept = [name for name in FILES if name != "report.html"]
    for folder in folders:
        if out.resolve() in ((folder / name).resolve() for name in kept):
            raise InputError(f"--out would overwrite {out}, which is part of the result: name another file")
    for place in (out.resolve(), out.parent.resolve() / out.name):
        if place.name in kept and (place.parent / FILE).is_file():
            raise InputError(f"--out would overwrite {out}, which is part of a saved result: name another file")
    check_writable(out.parent)


def put(content: str, out: Path | None) -> None:
    """Write to a file, all of it or nothing, and say where; without a file, print."""
    from leakscope.record.files import write_all

    if out is None:
        sys.stdout.write(content)
        return
    write_all(out.parent, {out.name: content.encode()})
    print(f"written: {out}")
