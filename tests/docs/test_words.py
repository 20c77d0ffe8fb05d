"""Words that user-facing text does not use, since one thing has one term: pages, reports, help, docstrings and messages."""

import ast
import re
from pathlib import Path

import pytest
import typer

from leakscope.cli.main import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "leakscope"
#: What is not written, and what is written instead. Plain English words ("others", "the rest", "try") only in the senses meant.
WORDS = {
    r"insiders?|outsiders?|strangers?|people never trained on|(members? \w+|from) others": "member, non-member",
    r"(than|from|against|and) the rest|drawn alike": "holdout, all other records",
    r"adversar(y|ies)(?! \d)|(a|an|each|every|one|best|right|wrong) (try|guess)|guesses": "attack, attacker",
    r"shadows?|worlds?|beside": "reference model",
    r"nothing to find": "never-trained control",
    r"records alone|attackers? without a model": "blind baseline",
    r"leaves? the building|(handed|hands?|handing) out": "release",
    r"explanations? by (features?|records?)": "feature explanation, record explanation",
    r"how exposed (somebody|someone|a person)": "exposure",
    r"picks the right one": "AUC",
    r"false alarms?": "false-positive rate",
    r"prices?|who pays": "utility loss",
    r"beats?|beaten": "dominated, Pareto-optimal",
    r"pays? for the choice|holds? together": "simultaneous intervals, multiplicity correction",
    r"surely|(?<!make )sure|more than chance": "significant",
    r"so many": "sample size, the number of",
    r"differ by themselves": "distribution shift",
    r"anew": "reproduce, again",
}
#: Code in a page, but for lists.
INDENTED = re.compile(r"^ {4}(?! *[-*\d]).*$", re.MULTILINE)
BANNED = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in WORDS), re.IGNORECASE)
#: Phrases that may stand, and why.
EXCEPTIONS = {
    "accepts one false alarm per 100 non-members": "`questions.md` describes the lay summary",
    "how often the strongest attack picks the right one": "`questions.md` describes the lay summary",
}
#: Files with terms of a paper (shadow model, adversary, guess of a pair), or "one level against the rest".
NOT_CHECKED = {
    *("attacks/membership_lira.py", "bounds/epsilon.py", "causal/advantages.py", "papers/farokhi.py"),
    *(f"studies/attributes/{name}.py" for name in ("__init__", "measures", "result")),
}
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in ("changelog", "decisions")),
    *sorted((ROOT / "docs" / "examples").glob("*.md")),
]


def found(text):
    """Banned words in a text, each with its context; code, names and exceptions are left out."""
    text = re.sub(r"^ *(```+|~~~+).*?^ *\1|^\s*(>>>|\.\.\.).*?(\n\s*\n|\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
    text = " ".join(re.sub(r"``.*?``|`[^`]*`|--[\w-]+|\[[a-z]+\d{4}[^]]*\]|\"\w+\"|\w+[=_.]\w+", "", text).split())
    for phrase in EXCEPTIONS:
        text = text.replace(phrase, "")
    return [text[max(0, match.start() - 40) : match.end() + 20] for match in BANNED.finditer(text)]


def written(path):
    """Docstrings of what is public in a module, and the text of its error messages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and not getattr(node, "name", "").startswith(
            "_"
        ):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("InputError", "ResourceError")):
            parts = (
                part.value for argument in node.args for part in ast.walk(argument) if isinstance(part, ast.Constant)
            )
            yield "".join(part for part in parts if isinstance(part, str))


def helps(command, words):
    """Every command by name, with its help and that of its options."""
    texts = [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
    yield words, "\n\n".join(texts)
    for name, inner in getattr(command, "commands", {}).items():
        yield from helps(inner, f"{words} {name}")


def test_pages_help_docstrings_and_messages_use_the_terms():
    texts = [(page.name, re.sub(INDENTED, "", page.read_text(encoding="utf-8"))) for page in PAGES]
    texts += helps(typer.main.get_command(app), "leakscope")
    names = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")} - NOT_CHECKED
    texts += [(name, text) for name in sorted(names) for text in written(SOURCE / name)]
    assert [(place, phrase) for place, text in texts for phrase in found(text)] == []


def test_exceptions_and_files_exist():
    together = " ".join(" ".join(page.read_text(encoding="utf-8").split()) for page in PAGES)
    assert [phrase for phrase in EXCEPTIONS if phrase not in together] == []
    assert [name for name in NOT_CHECKED if not (SOURCE / name).exists()] == []


@pytest.mark.parametrize("text", ["It beats all.", "An adversary\nknows.", "More than chance", "Members from others."])
def test_a_word_is_found_and_code_is_not(text):
    assert len(found(text)) == 1
    assert found(f"`{text}` Yeom's Adversary 1, world_size, --price, make sure\n\n>>> beside = 1\nworlds\n") == []
