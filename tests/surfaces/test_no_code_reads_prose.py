"""No code of studies, defenses, records or reports matches, slices or parses a sentence."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import leakscope

ROOT, TESTS = Path(leakscope.__file__).parent, Path(__file__).parents[1]
PLACES = ("causal", "defenses", "studies", "evaluation", "record", "report", "cli", "core/result.py")
FILES = sorted(
    path for place in PLACES for path in ([ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py"))
)
#: Files that parse or escape user input: BIF files, conditions, times and addresses on the command line, Markdown.
READ_INPUT = {"causal/bif.py", "record/conditions.py", "cli/audit.py", "cli/options.py", "report/renderers/markdown.py"}
#: Fields that hold sentences, and functions that give them.
PROSE = {"sentence", "sentences", "headline", "technical", "reasons", "reason", "paragraphs", "note", "description", "because",
         "said"}  # fmt: skip
MAKERS = {"describe", "technical", "write", "written", "sentence", "in_plain_words", "identified", "in_pairs"}
READING = {"removeprefix", "removesuffix", "startswith", "endswith", "partition", "rpartition", "split", "rsplit", "find", "index",
           "search", "match", "fullmatch", "findall", "finditer"}  # fmt: skip


def reads_prose(source: str) -> list[int]:
    """Lines that look inside a sentence: by a method, a slice, ``in`` or a comparison, or that look for one."""
    tree = ast.parse(source)
    aliases = _aliases(tree)

    def prose(node: ast.AST) -> bool:
        return any(
            (isinstance(one, ast.Attribute) and one.attr in PROSE)
            or (isinstance(one, ast.Name) and one.id in aliases)
            or (isinstance(one, ast.Call) and getattr(one.func, "id", getattr(one.func, "attr", "")) in MAKERS)
            for one in ast.walk(node)
        )

    found = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in READING
            and (prose(node.func.value) or any(map(_is_sentence, node.args)))
        ):
            found.add(node.lineno)
        if isinstance(node, ast.Compare):
            inside = [
                one
                for one, sign in zip([node.left, *node.comparators[:-1]], node.ops, strict=True)
                if isinstance(sign, ast.In | ast.NotIn)
            ]
            if any(map(_is_sentence, inside)) or (inside and any(map(prose, node.comparators))):
                found.add(node.lineno)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and prose(node.value):
            found.add(node.lineno)
    return sorted(found)


def _is_sentence(node: ast.AST) -> bool:
    """Whether a constant is text of several words."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 1


def _aliases(tree: ast.Module) -> set[str]:
    """Names that prose is assigned to, or that run over it."""
    pairs = [(target, node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets]
    pairs += [(node.target, node.iter) for node in ast.walk(tree) if isinstance(node, ast.For | ast.comprehension)]
    return {
        target.id
        for target, value in pairs
        if isinstance(target, ast.Name) and isinstance(value, ast.Attribute) and value.attr in PROSE
    }


@pytest.mark.parametrize(
    "line",
    [
        'verdict.sentence.removeprefix("leaks:")',
        'found = re.search(r"AUC of up to", shown)',
        '"more records" in text',
        'any("nothing to compare" in said for said in findings.reasons)',
        'text = verdict.sentence\nif text.startswith("leaks"): pass',
        "verdict.reasons[0][:5]",
        'write(estimate).split(" [")[0]',
        'describe(caveat).startswith("The")',
    ],
)
def test_code_that_reads_prose_is_found(line: str) -> None:
    assert reads_prose(line)


def test_no_code_reads_prose() -> None:
    """A regular expression reads text: use codes, or name the file in READ_INPUT."""
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in FILES}
    assert {name: lines for name, source in sources.items() if (lines := reads_prose(source))} == {}
    assert {
        name for name, source in sources.items() if re.search(r"^\s*import re$", source, re.MULTILINE)
    } <= READ_INPUT


def matched_sentences(source: str) -> list[int]:
    """Lines of a test that expect words of a sentence from an error or a warning; a test expects the name of what is wrong."""
    patterns = [
        (keyword.value.lineno, text.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("raises", "warns")
        for keyword in node.keywords
        if keyword.arg == "match"
        for text in ast.walk(keyword.value)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]
    return [line for line, text in patterns if re.search(r"[a-z]{2,} [a-z]{2,}", text)]


def test_what_matches_a_sentence_is_found() -> None:
    assert matched_sentences('pytest.raises(E, match="must be a number")\npytest.raises(E, match="confidence")') == [1]


def test_tests_match_names_and_no_sentences() -> None:
    sources = {str(path): path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    assert {path: lines for path, source in sources.items() if (lines := matched_sentences(source))} == {}
