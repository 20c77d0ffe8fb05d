"""The worked examples: every page of docs/examples is run as a reader would, and says what really comes out."""

import ast
import contextlib
import importlib.util
import io
import re
import shlex
from pathlib import Path

import pytest
from commands import assert_same_output

from leakscope.cli.main import main

FOLDER = Path(__file__).parents[2] / "docs" / "examples"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "index.md")
MOST_LINES = 30
#: First line of a block that is a file; it is written to the current folder, too.
FILE = re.compile(r"# (\w+\.py)\n")
BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Pages whose libraries don't give the same bits on every processor (matrix products, torch): printed decimal numbers may
#: differ by this much. Everything else, and every word and whole number everywhere, is compared exactly.
TOLERANCE = {
    "text-pipeline": 0.03,
    "sample-weights": 0.03,
    "torch-image": 0.05,
    "torch-tabular": 0.05,
    "python-code": 0.05,
    "opacus": 0.05,
    "onnx-file": 0.03,
}


def code_lines(page):
    """Lines of Python code on a page; comments and blank lines don't count."""
    lines = [line.strip() for kind, block in BLOCK.findall(page) if kind == "python" for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def imported_packages(page):
    """Packages that the code on a page imports."""
    tree = ast.parse("\n".join(block for kind, block in BLOCK.findall(page) if kind == "python"))
    found = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    found |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in found}


def files_of(page):
    """Names of the files that blocks on a page are."""
    return [file[1] for kind, block in BLOCK.findall(page) if kind == "python" and (file := FILE.match(block))]


def run_page(page, tolerance=0.0):
    """Run a page top to bottom in the current folder; an assertion fails where the page says otherwise."""
    namespace = {"__name__": "__main__"}
    printed = ""
    for kind, block in BLOCK.findall(page):
        if kind == "text":
            assert_same_output(printed, block, tolerance)
            printed = ""
        assert not printed, f"the page doesn't show in a text block what its code prints: {printed}"
        if kind == "python" and (file := FILE.match(block)):
            Path(file[1]).write_text(block, encoding="utf-8")
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, "<example>", "exec"), namespace)
            printed = out.getvalue()
        if kind == "console":
            for command, code in commands(block):
                assert exit_code(command) == code, f"{command} does not end with exit code {code}"
    assert not printed, f"the page doesn't show in a text block what its code prints: {printed}"


def commands(block):
    """Each `$ leakscope …` line and the exit code that `$ echo $?` after it shows, 0 where it isn't asked."""
    found = []
    lines = iter(block.replace("\\\n", " ").splitlines())
    for line in lines:
        if line.strip() == "$ echo $?":
            found[-1] = (found[-1][0], int(next(lines)))
        elif line.startswith("$ leakscope "):
            found.append((line.removeprefix("$ leakscope "), 0))
        else:
            assert not line.startswith("$"), f"only leakscope is run here, not {line}"
    return found


def exit_code(command):
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as end:
        main(shlex.split(command))
    return end.value.code


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_runs_and_says_what_comes_out(path, tmp_path, monkeypatch):
    page = path.read_text(encoding="utf-8")
    for package in imported_packages(page) - {Path(file).stem for file in files_of(page)}:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run_page(page, TOLERANCE.get(path.stem, 0.0))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_is_short_and_shows_its_output(path):
    page = path.read_text(encoding="utf-8")
    assert 0 < len(code_lines(page)) <= MOST_LINES
    assert "```text\n" in page
    assert page.count("```") == 2 * len(BLOCK.findall(page)), (
        "a fenced block that isn't python, text or console is not run"
    )


def test_index_names_every_page_once():
    linked = re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "index.md").read_text(encoding="utf-8"))
    assert sorted(linked) == [path.name for path in PAGES]


GOOD = """
```python
print("auc", 0.71)
```

```text
auc 0.71
```

```console
$ leakscope --version
$ leakscope audit missing.onnx --train a.csv --holdout b.csv \\
    --label y
$ echo $?
2
```
"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("0.71\n```\n\n```console", "0.72\n```\n\n```console"),
        ("auc 0.71\n", "area 0.71\n"),
        ('print("auc", 0.71)', "undefined"),
        ('print("auc", 0.71)', 'import warnings; warnings.warn("old"); print("auc", 0.71)'),
        ("```text\nauc 0.71\n```", ""),
        ("\n2\n", "\n0\n"),
        ("$ echo $?\n2\n", ""),
    ],
)
def test_a_broken_page_fails(right, wrong, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_page(GOOD)
    assert right in GOOD
    with pytest.raises((AssertionError, NameError, UserWarning)):
        run_page(GOOD.replace(right, wrong))
    capsys.readouterr()


def test_numbers_may_differ_by_the_tolerance_and_words_may_not():
    assert_same_output("auc 0.71 [0.66, 0.75]\n", "auc 0.70 [0.66, 0.75]\n", tolerance=0.02)
    for other in ("auc 0.74 [0.66, 0.75]", "auc 0.71 [0.66, 0.75] or so", "auc 0.71"):
        with pytest.raises(AssertionError):
            assert_same_output("auc 0.71 [0.66, 0.75]\n", other, tolerance=0.02)
