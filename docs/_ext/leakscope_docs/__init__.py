"""The parts of the documentation that are made from the code, at every build."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd
from sphinx.application import Sphinx

from leakscope.attacks.protocol import Attack
from leakscope.evaluation import verdict
from leakscope.evaluation.risk import Confidence
from leakscope.report.glossary import TERMS
from leakscope_docs import executed, mathml, modules, schema, statements


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls: formulas, executed blocks, and pages that are written before any is read."""
    vars(verdict).update(Attack=Attack, Confidence=Confidence)  # there for type checkers only; signatures link to them
    mathml.setup(app)
    executed.setup(app)
    app.connect("autodoc-before-process-signature", resolve_inherited_fields)
    app.connect("builder-inited", lambda app: write(folder := Path(app.srcdir) / "_made", made(folder)))
    return {"parallel_read_safe": False, "version": "1"}


def resolve_inherited_fields(_: Sphinx, method: Any, __: bool) -> None:
    """Resolve the annotations of a dataclass whose base is in another module.

    Sphinx resolves them by the names of one module, and otherwise shows plain names, which may belong to several classes.
    """
    name, _, last = getattr(method, "__qualname__", "").rpartition(".")
    owner = getattr(method, "__globals__", {}).get(name) if last == "__init__" else None
    bases = owner.__mro__[1:] if isinstance(owner, type) else ()
    if any(is_dataclass(base) and base.__module__ != owner.__module__ for base in bases):
        hints = get_type_hints(owner, localns={"pd": pd})
        method.__annotations__ |= {field: hints[field] for field in method.__annotations__ if field in hints}


def made(folder: Path) -> dict[str, str]:
    """File name below `docs/_made/` to its text."""
    return {
        **modules.method_pages(),
        **matrix_parts(folder / "executed"),
        "parts/api.txt": modules.api_part(),
        "parts/folders.txt": modules.folder_map(),
        "parts/glossary.txt": glossary_part(),
        "parts/schema.txt": schema.schema_part(),
        "parts/statements.txt": statements.statement_tables(),
    }


def glossary_part() -> str:
    """The terms of the package's glossary in alphabetical order, each with an anchor of its own."""
    terms = sorted(TERMS.items(), key=lambda pair: pair[0].casefold())
    return "```{glossary}\n" + "\n".join(f"{term}\n  {meaning}\n" for term, meaning in terms) + "```\n"


def matrix_parts(folder: Path) -> dict[str, str]:
    """The matrix, which is counted anew when the package changes."""
    counting = (Path(__file__).parent / "matrix.py").read_text(encoding="utf-8")
    path = folder / f"matrix-{executed.digest(counting)}.json"
    if not path.exists():
        from leakscope_docs import matrix

        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(matrix.matrix_parts()), encoding="utf-8")
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(folder: Path, files: dict[str, str]) -> None:
    """Write what has changed, so that a second build reads only that; take away pages of what is gone."""
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in folder.rglob("*.md"):
        if str(path.relative_to(folder)) not in files:
            path.unlink()
