"""The documentation: links lead somewhere, commands exist, examples are there, and the tables that the code makes are complete.

The site itself is built by ``make docs``, where a warning is an error.
"""

import doctest
import inspect
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer

import leakscope
from leakscope.attacks import ATTRIBUTE_ATTACKS, RECONSTRUCTIONS, REGISTRY
from leakscope.cli.main import app
from leakscope.cli.options import FORMER
from leakscope.releases.feature_explanations import METHODS
from leakscope.releases.release import RELEASES
from leakscope.report.glossary import TERMS

ROOT = Path(__file__).parents[2]
DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "leakscope"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(path for path in sorted(DOCS.rglob("*.md")) if not {"_made", "_build"} & set(path.relative_to(DOCS).parts)),
]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}

#: Public names without an example of their own, and why.
NO_EXAMPLE = {
    "Comparison": "plain data that `compare` gives, whose example shows it",
    **dict.fromkeys(("Audit", "Verdict"), "plain data that `audit` gives, whose example shows it"),
    "Target": "`make_target` makes it",
    "InputError": "it is what others raise",
}


@pytest.fixture(scope="module")
def made():
    """The modules that make pages from the code."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install 'leakscope[docs]'")
    pytest.importorskip("torch")
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        names = ("executed", "mathml", "matrix", "modules", "schema", "statements")
        return SimpleNamespace(**{name: import_module(f"leakscope_docs.{name}") for name in names})
    finally:
        sys.path.remove(str(DOCS / "_ext"))


# --- links and commands -------------------------------------------------------------------------------------------------


def without_code(text):
    """Markdown without blocks of code and code in lines."""
    text = re.sub(r"^(```+|~~~+).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """What a link may point to within a page."""
    headings = re.findall(
        r"^#+\s+(.*)$", re.sub(r"^(```+).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def leads_somewhere(page, target):
    """Whether a link of a page leads to a file, and to a heading in it if it names one."""
    name, _, anchor = target.partition("#")
    path = page.parent / name if name else page
    if not path.exists() or not anchor:
        return path.exists()
    there = path.read_text(encoding="utf-8")
    return "_made/" in there or anchor in anchors(there)  # some headings of such a page are made when it is built


def test_links_and_pictures_lead_somewhere():
    found = [(page, target) for page in PAGES for target in re.findall(r"\]\(([^)\s]+)\)", without_code(TEXTS[page]))]
    found += [(page, name) for page in PAGES for name in re.findall(r"^```\{image\} (\S+)", TEXTS[page], re.MULTILINE)]
    here = [(page, target) for page, target in found if not re.match(r"[a-z]+:", target)]
    assert [(page.name, target) for page, target in here if not leads_somewhere(page, target)] == []


def commands():
    """Every command with the options that it takes."""
    found = {}

    def walk(command, words):
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        found[" ".join(words)] = options | {"--help"}
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, [*words, name])

    walk(typer.main.get_command(app), [])
    return found


COMMANDS = commands()
EVERY_OPTION = set().union(*COMMANDS.values())
#: Options of other programs that the pages name.
OPTION = re.compile(r"--[a-z][\w-]*")
FOREIGN = {"--requirement", "--constraint", "--extra-index-url", "--upload-file"}


def unknown_options(words):
    """Options of a command line that its command does not have; prose that begins with the name has no option."""
    name, inner = words.split()[0].rstrip(".,:;"), " ".join(words.split()[:2])
    known = COMMANDS.get(inner, COMMANDS.get(name, set()))
    return [option for option in re.findall(r"(?<=\s)--[a-z][\w-]*", words.split(" && ")[0]) if option not in known]


def test_commands_and_options_exist():
    found = []
    for page, text in TEXTS.items():
        lines = re.findall(r"(?<![\w./-])leakscope ([a-z][^`\n|]*)", re.sub(r"\\\n\s*", " ", text))
        found += [(page.name, words, option) for words in lines for option in unknown_options(words)]
        former = set().union(*FORMER.values()) if page.name == "CHANGELOG.md" else set()
        named = [option for code in re.findall(r"`((?:…\s)?--[a-z][^`\n]*)`", text) for option in OPTION.findall(code)]
        found += [(page.name, option) for option in named if option not in EVERY_OPTION | FOREIGN | former]
    assert found == []


def test_modules_and_files_exist():
    """Dotted names and files of the package; decisions and the changelog also name what is gone."""
    found, places = [], (ROOT, SOURCE, SOURCE / "report", DOCS)
    for page, text in TEXTS.items():
        if page.name == "CHANGELOG.md" or page.parent.name == "decisions":
            continue
        names = set(re.findall(r"(?<![\w./-])leakscope(?:\.[A-Za-z_]\w*)+", text))
        files = set(re.findall(r"`((?:[\w.-]+/)+[\w-]+\.(?:py|md))`", text))
        found += [(page.name, name) for name in names if not resolves(name)]
        found += [(page.name, name) for name in files if not any((folder / name).exists() for folder in places)]
    assert found == []


def resolves(name):
    """Whether a dotted name leads to a module, or to an attribute of one."""
    value = leakscope
    for part in name.split(".")[1:]:
        if not hasattr(value, part):
            if not (inspect.ismodule(value) and find_spec(f"{value.__name__}.{part}")):
                return False
            import_module(f"{value.__name__}.{part}")
        value = getattr(value, part)
    return True


def test_every_command_is_in_the_documentation():
    together = "\n".join(TEXTS.values())
    assert [name for name in COMMANDS if name and f"leakscope {name}" not in together] == []


# --- examples -----------------------------------------------------------------------------------------------------------


def has_example(name):
    """Whether the docstring of a public name, or one of what a public module offers, has an example."""
    value = getattr(leakscope, name)
    names = getattr(value, "__all__", dir(value)) if inspect.ismodule(value) else []
    offered = [
        one for one in (getattr(value, inner) for inner in names) if inspect.isroutine(one) or inspect.isclass(one)
    ]
    return any(">>>" in (one.__doc__ or "") for one in (value, *offered))


def test_public_names_have_an_example():
    assert [name for name in leakscope.__all__ if not getattr(leakscope, name).__doc__] == []
    assert {name for name in leakscope.__all__ if not has_example(name)} == set(NO_EXAMPLE)


def test_every_public_name_is_described_in_the_reference(made):
    described = {f"leakscope.{page.module}": made.modules.describe(page, "#") for page in made.modules.pages()}
    for name in leakscope.__all__:
        value = getattr(leakscope, name)
        if inspect.ismodule(value):
            assert value.__name__ in described, name
        else:
            members = re.search(r":members:(.*)", described[value.__module__])
            assert members, name
            assert not members[1] or name in members[1].split(", ") or f" {name}" == members[1], name


# --- the matrix ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def matrix(made):
    return made.matrix.matrix_parts()


def test_the_matrix_has_every_attack(matrix):
    membership = matrix["parts/matrix-membership.txt"]
    for name, attack in ((name, factory()) for name, factory in REGISTRY.items()):
        assert re.search(rf"`{re.escape(attack.name)} <[\w.]+>` \| `{name}` \| `{attack.release}`", membership), name
    for name, attack in RECONSTRUCTIONS.items():
        assert f"`{attack.name} <" in matrix["parts/matrix-reconstruction.txt"], name
    for name, attack in ATTRIBUTE_ATTACKS.items():
        assert f"`{attack.name} <" in matrix["parts/matrix-attributes.txt"], name


def test_every_file_of_an_attack_is_in_the_matrix(matrix):
    together = "\n".join(matrix.values())
    files = (SOURCE / "attacks").glob("[a-z]*_*.py")
    missing = [path.stem for path in files if f"<leakscope.attacks.{path.stem}>" not in together]
    assert missing == []


def test_the_matrix_has_every_release(matrix):
    rows = matrix["parts/matrix-releases.txt"]
    assert [name for name in (*RELEASES, *METHODS) if f"| `{name}` |" not in rows] == []


def test_costs_are_counted_as_they_are(made):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    X, y = np.arange(6.0)[:, None], np.arange(6) % 2
    with made.matrix.counted_fits() as fits:
        DecisionTreeClassifier().fit(X, y)
        make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, y)  # a fit within a fit is one
    DecisionTreeClassifier().fit(X, y)
    assert fits.count == 2


# --- statements ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[farokhi2020, Thm 1, corrected]", ["Theorem 1"]),
        ("(tople2020, Def. 7; Yeom et al. 2018, Adversary 1)", ["Definition 7", "Adversary 1"]),
        ("[tople2020, Defs. 1 and 2]", ["Definition 1", "Definition 2"]),
        ("[farokhi2020, Definitions 1, 2].", ["Definition 1", "Definition 2"]),
        ("(tople2020, proof of\nTheorem 5)", ["Theorem 5"]),
        ("Theorems 3 and 4 of tople2020: worlds", ["Theorem 3", "Theorem 4"]),
        ("shokri2019, section 4.3.3 (1), Fig. 2", ["Section 4.3.3", "Figure 2"]),
        ("[shokri2019, Algorithm 1 and 5.2.1]", ["Algorithm 1", "Section 5.2.1"]),
        ("[shokri2019, 5.2.1, 5.3.3]", ["Section 5.2.1", "Section 5.3.3"]),
        ("[shokri2019, Lemma F.2, corrected]", ["Lemma F.2"]),
        ("[shokri2019, B.4]", ["Appendix B.4"]),
        ("[farokhi2020, Figures 1-3]", ["Figure 1", "Figure 2", "Figure 3"]),
        ("[tople2020, Thm 5, Eq. 7]", ["Theorem 5", "Equation 7"]),
        ("as farokhi2020 does: 2 models", []),
    ],
)
def test_tags_are_read(made, text, found):
    assert [str(statement) for _, statement in made.statements.read_tags(text)] == found


def test_every_claim_that_the_code_names_has_a_test_that_names_it(made):
    assert [(claim.paper, str(claim)) for claim in made.statements.untested()] == []


def test_known_statements_are_in_the_table(made):
    farokhi, shokri, tople, _ = made.statements.statement_tables().split("\n## ")
    assert re.search(r"Theorem 1 \|.*<leakscope.bounds.any_attack>.*test_bounds.py", farokhi)
    assert re.search(
        r"Theorem 5.1 \|.*<leakscope.attacks.reconstruction_subspace>.*test_reconstruction_subspace.py", shokri
    )
    assert re.search(
        r"Definition 7 \|.*<leakscope.attacks.membership_bounded_loss>.*test_membership_bounded_loss.py", tople
    )


def test_a_tag_belongs_to_what_it_stands_in(made):
    tests = made.statements.citations("tests")
    theorem = made.statements.Statement("tople2020", "Theorem", "1")
    named = {place.name for place in tests[theorem] if place.path.endswith("test_generalisation.py")}
    assert "test_where_y_is_a_function_of_its_causes_the_bound_is_eq_4_and_is_met" in named
    assert not any("lemma_1" in name for name in named)


# --- the other parts ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("made")
def test_the_glossary_page_has_every_term():
    page = import_module("leakscope_docs").glossary_part()
    assert [term for term, meaning in TERMS.items() if f"\n{term}\n  {meaning}\n" not in page] == []


def test_the_schema_page_has_every_field(made):
    page = made.schema.schema_part()
    for kind, schema in made.schema.schemas().items():
        for name, part in schema["$defs"].items():
            assert f"\n## {name}\n" in page
            assert all(f"| `{field}` |" in page for field in part["properties"])
        assert set(made.schema.PLAIN) <= set(schema["properties"])
        heading = made.schema.RESULT.format(kind)
        (record,) = [part for part in f"\n{page}".split("\n## ") if part.startswith(f"{heading}\n")]
        assert [line for line in record.splitlines() if line.endswith("|  |")] == []  # every field has a meaning


def test_a_block_is_run_once_and_again_when_it_changes(made, tmp_path, monkeypatch):
    runs = []
    monkeypatch.setattr(
        made.executed, "execute", lambda code: runs.append(code) or made.executed.Outcome("out", "<svg/>")
    )
    for code in ("print(1)", "print(1)", "print(2)"):
        outcome = made.executed.kept(tmp_path / f"{made.executed.digest(code)}.json", code)
        assert outcome == made.executed.Outcome("out", "<svg/>")
    assert runs == ["print(1)", "print(2)"]


def test_a_block_shows_what_it_prints_and_draws(made):
    outcome = made.executed.execute("open('here.txt', 'w').close()\nprint('seen')\npicture = '<svg></svg>'")
    assert outcome == made.executed.Outcome("seen", "<svg></svg>")
    assert not Path("here.txt").exists()
    with pytest.raises(ZeroDivisionError):
        made.executed.execute("1 / 0")


def test_formulas_are_drawn_without_a_script(made):
    drawn = made.mathml._formula(r"\tfrac12\sqrt{J}, …, p_k", None, as_block=False)
    assert drawn.startswith("<math")
    assert "<msqrt>" in drawn
    assert "<script" not in drawn


@pytest.mark.parametrize("name", ["executed", "schema", "statements"])
def test_examples_of_the_documentation_tools_run(made, name):
    found = doctest.testmod(getattr(made, name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0
