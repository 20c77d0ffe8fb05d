r"""Which statement of a paper is implemented where, and tested where: read from the tags in code and tests.

A tag names a paper and statements: ``[farokhi2020, Thm 1, corrected]``, ``shokri2019, sections 5.2.1 and 5.3.3``,
``Theorems 3 and 4 of tople2020``. Kinds are brought to one spelling; a number without a kind has the kind before it, or
is a section. A tag belongs to the function or class that it stands in. In a test file, a tag in a comment between
functions belongs to all tests down to the next such comment, and one in the file's docstring to the file.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from leakscope.papers import reproductions

ROOT = Path(__file__).parents[3]
#: What `leakscope reproduce` makes, by name.
REPRODUCED = reproductions()

PAPERS = {
    "farokhi2020": "F. Farokhi and M. A. Kaafar, *Modelling and Quantifying Membership Information Leakage in Machine "
    "Learning*, 2020",
    "shokri2019": "R. Shokri, M. Strobel and Y. Zick, *On the Privacy Risks of Model Explanations*, 2019 (AIES 2021)",
    "tople2020": "S. Tople, A. Sharma and A. Nori, *Alleviating Privacy Attacks via Causal Learning*, ICML 2020",
    "yeom2018": "S. Yeom, I. Giacomelli, M. Fredrikson and S. Jha, *Privacy Risk in Machine Learning: Analyzing the "
    "Connection to Overfitting*, CSF 2018",
}

#: Kinds of statements as they are printed here, and how tags may spell them.
KINDS = {
    "Theorem": r"Theorems?|Thms?\.?",
    "Corollary": r"Corollar(?:y|ies)|Cors?\.?",
    "Proposition": r"Propositions?|Props?\.?",
    "Lemma": r"Lemmas?",
    "Definition": r"Definitions?|Defs?\.?",
    "Remark": r"Remarks?",
    "Observation": r"Observations?",
    "Algorithm": r"Algorithms?",
    "Adversary": r"Adversar(?:y|ies)",
    "Experiment": r"Experiments?",
    "Equation": r"Equations?|Eqs?\.?",
    "Figure": r"Figures?|Figs?\.?",
    "Table": r"Tables?",
    "Appendix": r"[Aa]ppendi(?:x|ces)",
    "Section": r"[Ss]ections?",
}
#: What is claimed, as against where it is shown: these need a test.
CLAIMS = ("Theorem", "Corollary", "Proposition", "Lemma", "Definition")

_NUMBER = r"(?:[A-G]\.)?\d+(?:\.\d+)*[a-c]?\b|[A-G](?:\.\d+)?\b"
_KIND = "|".join(f"(?P<{kind}>{spelling})" for kind, spelling in KINDS.items())
_PLAIN = re.sub(r"\(\?P<\w+>", "(?:", _KIND)
_GAP = r"(?:\s|\#)+"
_ITEM = rf"(?:(?:the{_GAP})?(?:proof|end){_GAP}of{_GAP})?(?:(?:{_PLAIN}){_GAP})?(?:{_NUMBER})(?:\s\(\d\))?"
_JOIN = rf"(?:,{_GAP}and{_GAP}|,{_GAP}|{_GAP}and{_GAP}|[-–])"
_PAPER = r"(?P<paper>farokhi2020|shokri2019|tople2020|Yeom{gap}et{gap}al\.{gap}\(?2018)".replace("{gap}", _GAP)
_AFTER = re.compile(rf"{_PAPER}(?P<items>(?:{_JOIN}{_ITEM})+)")
_BEFORE = re.compile(rf"(?P<items>(?:{_PLAIN}){_GAP}(?:{_NUMBER})(?:{_JOIN}{_ITEM})*){_GAP}of{_GAP}{_PAPER}")
_PARTS = re.compile(rf"(?:(?:{_KIND}){_GAP})?(?<![\d.(])(?P<number>{_NUMBER})(?:[-–](?P<last>\d+))?")


@dataclass(frozen=True, order=True)
class Statement:
    """A statement of a paper, such as Theorem 1 of farokhi2020."""

    paper: str
    kind: str
    number: str

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def place(self) -> tuple[str, int, list[tuple[int, str]]]:
        """Where it stands in a table: by paper, kind and number."""
        parts = [(int(part), "") if part.isdigit() else (0, part) for part in re.findall(r"\d+|[A-Za-z]+", self.number)]
        return self.paper, list(KINDS).index(self.kind), parts


@dataclass(frozen=True, order=True)
class Citation:
    """A place in the code that names a statement."""

    path: str
    line: int
    name: str

    @property
    def module(self) -> str:
        """The module, as it is imported."""
        parts = Path(self.path).relative_to("src").with_suffix("").parts
        return ".".join(part for part in parts if part != "__init__")


def read_tags(text: str) -> Iterator[tuple[int, Statement]]:
    """Every statement that a text names, with the position of the tag.

    >>> [str(statement) for _, statement in read_tags("as in [tople2020, Defs. 1 and 2], Theorem 3 of farokhi2020")]
    ['Definition 1', 'Definition 2', 'Theorem 3']
    """
    tags = [*_AFTER.finditer(text), *_BEFORE.finditer(text)]
    for tag in sorted(tags, key=lambda tag: tag.start()):
        paper = "yeom2018" if tag["paper"].startswith("Yeom") else tag["paper"]
        kind = "Section"
        for part in _PARTS.finditer(tag["items"]):
            named = next((name for name in KINDS if part[name]), None)
            kind = named or _kind_of(part["number"], kind)
            last = int(part["last"] or 0)
            numbers = [str(n) for n in range(int(part["number"]), last + 1)] if last else [part["number"]]
            yield from ((tag.start(), Statement(paper, kind, number)) for number in numbers)


def _kind_of(number: str, before: str) -> str:
    """The kind of a number that stands without one: "Algorithm 1 and 5.2.1", "appendix A", "B.4"."""
    if before != "Section" and (number.isdigit() or number[-1].isalpha()):
        return before
    return "Appendix" if number[0].isalpha() else "Section"


@cache
def citations(folder: str) -> dict[Statement, list[Citation]]:
    """Every statement that the Python files of a folder name, with the places."""
    found: dict[Statement, set[Citation]] = defaultdict(set)
    paths = (ROOT / folder).rglob("test_*.py" if folder == "tests" else "*.py")
    for path in sorted(path for path in paths if path.name != "test_docs.py"):  # which tests the reading of tags
        text = path.read_text(encoding="utf-8")
        scopes = _Scopes(text)
        for position, statement in read_tags(text):
            line = text.count("\n", 0, position) + 1
            for name in scopes.names(line):
                found[statement].add(Citation(str(path.relative_to(ROOT)), line, name))
    return {statement: sorted(places) for statement, places in found.items()}


class _Scopes:
    """The functions and classes of a file, to tell what a line belongs to."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        self.spans = [
            (
                min([node.lineno, *(mark.lineno for mark in node.decorator_list)]),
                node.end_lineno or node.lineno,
                node.name,
            )
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        self.docstring_ends = (tree.body[0].end_lineno or 1) if ast.get_docstring(tree) is not None else 0
        self.headings = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith("# ---")]

    def names(self, line: int) -> list[str]:
        """What the line belongs to: functions or classes; an empty name for the whole file."""
        inside = [name for first, last, name in self.spans if first <= line <= last]
        if inside:
            return inside
        if line not in self.headings:
            return [""]
        end = next((heading for heading in self.headings if heading > line), 10**9)
        return [name for first, _, name in self.spans if line < first < end and name.startswith("test_")] or [""]


def untested() -> list[Statement]:
    """Claims that the code names and no test does."""
    tested = citations("tests")
    return sorted(
        (statement for statement in citations("src") if statement.kind in CLAIMS and statement not in tested),
        key=lambda statement: statement.place,
    )


def statement_tables() -> str:
    """One table for each paper, as Markdown."""
    code, tests = citations("src"), citations("tests")
    parts = []
    for paper, title in PAPERS.items():
        rows = [
            f"| {statement} | {_code(code.get(statement, []))} | {_tests(tests.get(statement, []), code.get(statement, []))} |"
            for statement in sorted({*code, *tests}, key=lambda statement: statement.place)
            if statement.paper == paper
        ]
        head = "| Statement | Where the code names it | Where a test names it |\n|---|---|---|\n"
        parts.append(f"## {paper}\n\n{title}.\n\n{head}" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _code(places: list[Citation]) -> str:
    if not places:
        return "not named in the code"
    cells = {}
    for place in places:
        module = place.module
        shown = module.removeprefix("leakscope.") + (f": {place.name}" if place.name else "")
        cells.setdefault(shown, f"{{py:mod}}`{shown} <{module}>` (line {place.line})")
    return "<br>".join(cells.values())


def _tests(places: list[Citation], code: list[Citation]) -> str:
    by_file: dict[str, list[str]] = defaultdict(list)
    for place in places:
        by_file[place.path.removeprefix("tests/")].append(place.name)
    cells = [f"`{path}`{_functions(names)}" for path, names in by_file.items()]
    made_anew = sorted(
        {name for place in code if (name := place.module.rsplit(".", 1)[-1].replace("_", "-")) in REPRODUCED}
    )
    cells += [
        f"`leakscope reproduce {name}`, which `papers/test_reproduce.py` runs on little data" for name in made_anew
    ]
    return "<br>".join(cells) or "**no test names it**"


def _functions(names: list[str]) -> str:
    named = [f"`{name}`" for name in dict.fromkeys(names) if name]
    return ": " + ", ".join(named) if named else ""
