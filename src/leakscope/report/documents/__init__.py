"""Documents of results: one module for each kind of result, with the only prose of the package.

A module ``<kind>.py`` has ``make(result, others)``, which gives the `Document` of a result. ``others`` are results that are shown with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from leakscope.core.result import Result
from leakscope.core.wording import name
from leakscope.report.document import Details, Document, KeyFigures, Text

__all__ = ["MAKERS", "caveats", "document"]

Make = Callable[[Any, Sequence[Result]], Document]
#: Functions that make documents, by kind of result; those of the package are found by the name of their module.
MAKERS: dict[str, Make] = {}


def document(result: Result, others: Sequence[Result] = ()) -> Document:
    """Make the document of a result, with one section for each other result.

    Parameters
    ----------
    others
        Results that are shown with it, such as a comparison of defenses with an audit.
    """
    from dataclasses import replace

    made = _maker(result.kind)(result, others)
    return replace(made, blocks=(*made.blocks, *(_section(result, one) for one in others)))


def _maker(kind: str) -> Make:
    found: Make = MAKERS.get(kind) or import_module(f"leakscope.report.documents.{kind}").make
    return found


def _section(main: Result, result: Result) -> Details:
    """Return the document of a result as a section of another one: its answer first, blocks of the page only collapsed."""
    made = _maker(result.kind)(result, ())
    answer = made.answer
    said = [made.question, " ".join((f"{answer.label}.", answer.headline, *answer.sentences))]
    if result.studied != main.studied:
        other = f"not on {name(main.studied)}, and may not hold for it"
        said.append(f"This was measured on {name(result.studied)}, {other}.")
    first = Text(tuple(said))
    shown = [block for block in made.blocks if getattr(block, "brief", False) or isinstance(block, KeyFigures)]
    rest = tuple(block for block in made.blocks if block not in shown)
    more = (Details(f"More about: {made.title}", rest),) if rest else ()
    return Details(made.title, (first, *shown, *more), open=True)
