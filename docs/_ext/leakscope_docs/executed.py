"""A directive that runs a block of Python when the documentation is built, and shows code, output and picture.

A block prints what is to be seen, and may leave a picture in a variable ``picture``, as SVG text or as a figure of matplotlib; the option
``alt`` says in words what it shows. Blocks know nothing of each other. What a block gave is kept under `_made/executed/`, by a digest of the
block and of the whole package, so that a change to either runs it again. A block that fails is an error of the build.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import traceback
import warnings
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PACKAGE = Path(__file__).parents[3] / "src" / "leakscope"


def setup(app: Sphinx) -> None:
    # Blocks train in this process: a worker process that earlier blocks used can fail to load torch.
    os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")
    app.add_directive("executed", Executed)


@dataclass(frozen=True)
class Outcome:
    """What a block printed, and the picture it left."""

    output: str
    picture: str


class Executed(SphinxDirective):
    """``{executed}``: run the block, show it, what it prints and what it draws."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """The nodes: the code, its output, its picture."""
        code = "\n".join(self.content)
        self.env.note_reread()  # which is quick where nothing has changed
        name = digest(code)
        folder = Path(self.env.srcdir) / "_made" / "executed"
        try:
            outcome = kept(folder / f"{name}.json", code)
        except Exception:
            raise self.error(f"the block failed:\n{_own_lines(traceback.format_exc())}") from None
        shown: list[nodes.Node] = [nodes.literal_block(code, code, language="python")]
        if outcome.output:
            shown.append(nodes.literal_block(outcome.output, outcome.output, language="none", classes=["output"]))
        if outcome.picture:
            if "alt" not in self.options:
                raise self.error("a picture needs the option alt: what it shows, in words")
            (folder / f"{name}.svg").write_text(outcome.picture, encoding="utf-8")
            shown.append(nodes.image(uri=f"/_made/executed/{name}.svg", alt=self.options["alt"]))
        for node in shown:
            self.set_source_info(node)
        return shown


def kept(path: Path, code: str) -> Outcome:
    """The outcome of a block: the one that is kept, or else a new one, which is kept."""
    if path.exists():
        return Outcome(**json.loads(path.read_text(encoding="utf-8")))
    outcome = execute(code)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(outcome)), encoding="utf-8")
    return outcome


def execute(code: str) -> Outcome:
    """Run a block in an empty folder of its own.

    >>> execute("print(1 + 1)")
    Outcome(output='2', picture='')
    """
    names: dict[str, Any] = {"__name__": "__executed__"}
    printed, before = io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.filterwarnings("error", ".*next version", FutureWarning)  # pages use no former names and forms
        os.chdir(folder)
        try:
            exec(compile(code, "<executed>", "exec"), names)
        finally:
            os.chdir(before)
    return Outcome(printed.getvalue().rstrip(), _as_svg(names.get("picture", "")))


def _as_svg(picture: Any) -> str:
    """Give a figure of matplotlib as SVG text, the same at every build; text as it is."""
    if not hasattr(picture, "savefig"):
        return str(picture)
    import matplotlib as mpl

    drawn = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "leakscope"}):
        picture.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def digest(code: str) -> str:
    """A name for what the block gives, as long as neither it nor the package changes."""
    return hashlib.sha256((package_digest() + code).encode()).hexdigest()[:16]


@cache
def package_digest() -> str:
    """A digest of the source of the package."""
    parts = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        parts.update(path.read_bytes())
    return parts.hexdigest()


def _own_lines(trace: str) -> str:
    """The trace without the lines of the directive itself."""
    lines = trace.splitlines()
    first = next((n for n, line in enumerate(lines) if '"<executed>"' in line), 0)
    return "\n".join(lines[first:])
