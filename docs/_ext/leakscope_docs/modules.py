"""A page for each method, made from its module's docstring, and lists of the public names."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "leakscope"


@dataclass(frozen=True)
class Group:
    """Modules below one heading, each on a page of its own or all on one page."""

    heading: str
    sentence: str
    patterns: tuple[str, ...]
    on_one_page: bool = False

    @property
    def document(self) -> str:
        return "groups/" + re.sub(r"\W+", "-", self.heading.lower())


#: A module stands below the first heading that names it.
GROUPS = (
    Group(
        "Attacks on membership",
        "Methods that infer whether a record was in the training set.",
        ("attacks.membership_*", "evaluation.membership_experiment"),
    ),
    Group(
        "Attacks on records and columns",
        "Methods that reconstruct training records or infer sensitive columns.",
        ("attacks.reconstruction_*", "attacks.attribute_*", "studies.attributes*", "releases.oracle"),
    ),
    Group(
        "Releases and explanations",
        "Outputs that are made available, and their post-processing.",
        (
            *("releases.release", "releases.feature_explanations.settings", "releases.feature_explanations*"),
            *("releases.record_explanations.release", "releases.record_explanations.explanation"),
        ),
    ),
    Group(
        "Bounds and defenses",
        "What no attack can exceed, defenses, and the comparison of both.",
        ("bounds", "bounds.*", "defenses", "defenses.*", "studies.compare*"),
    ),
    Group("Leakage of parameters", "Information that the parameters carry about one record.", ("studies.leakage*",)),
    Group(
        "Influence of a record",
        "Exact and approximate influence, and reconstruction from record explanations.",
        ("releases.record_explanations*", "studies.reconstruct*"),
    ),
    Group(
        "Causal models",
        "Bayesian networks, shifted distributions, and models on the causes of the label.",
        ("causal", "causal.*", "studies.causal*"),
    ),
    Group(
        "Faithfulness and risk of explanations",
        "How faithful explanations are, and what they add to the risk.",
        ("studies.frontier*", "evaluation.explanation_gain"),
    ),
    Group(
        "Learners",
        "Models that train on thousands of subsets of the records, and the designs of these subsets.",
        ("learners*", "worlds", "worlds.training"),
    ),
    Group(
        "The audit, step by step",
        "From a fitted model to a verdict.",
        (
            *("studies.audit", "models.target", "models.adapters", "models.model", "data.records", "models.files"),
            *("attacks.protocol", "attacks", "evaluation.crossfit", "evaluation*", "attacks.selection"),
            *("studies.scores", "models.remote", "*"),
        ),
        on_one_page=True,
    ),
    Group(
        "Statistics",
        "Confidence intervals, rankings, and toy models whose leakage is known.",
        ("core.ranking", "evaluation.groups", "core.intervals", "toys", "selfcheck"),
        on_one_page=True,
    ),
    Group(
        "Results and reports",
        "The result of a study: saved, loaded, gated, compared and rendered.",
        (
            *("core.result", "core.estimate", "core.wording", "core.*", "evaluation.results", "record.storage"),
            *("record.gate", "record.conditions", "record.policy", "record.*", "studies.diff*", "models.provenance"),
            *("report", "report.document", "report.documents", "report.documents.*", "report.charts.model"),
            "report.glossary",
        ),
        on_one_page=True,
    ),
    Group("Data", "Tables, and named data sets.", ("data.datasets*", "data.tables"), on_one_page=True),
    Group(
        "Figures of the papers",
        "Figures, tables and theorems that `leakscope reproduce` reproduces.",
        ("papers*",),
        on_one_page=True,
    ),
)

#: Commands (`leakscope --help` is their documentation), and parts that only the package itself uses.
WITHOUT_PAGE = (
    "cli*",
    "__main__",
    "demo",
    "core.versions",
    "data.fingerprints",
    "worlds.workers",
    "report.renderers*",
    "report.charts",
    "report.charts.[!m]*",
    "report.charts.marks",
    "*.reading",
)


@dataclass(frozen=True)
class Page:
    """One module: where it stands, and its docstring."""

    module: str
    path: Path
    docstring: str

    @property
    def title(self) -> str:
        words = self.module.rsplit(".", 1)[-1].replace("_", " ")
        return words[:1].upper() + words[1:]

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return first_sentence(self.docstring)


def first_sentence(docstring: str) -> str:
    """The first sentence, in one line, as Markdown; cross references and formulas become plain code."""
    paragraph = " ".join(inspect.cleandoc(docstring).split("\n\n")[0].split())
    sentence = re.split(r"(?<=[a-z\])`0-9]{2})\.(?=\s+[A-Z\[])", paragraph)[0].rstrip(".:")
    sentence = re.sub(r":math:`([^`]*)`", r"{math}`\1`", sentence)
    sentence = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", sentence).replace("``", "`")
    return re.sub(r"(?<![`\\])\*(?!\*)", r"\\*", sentence)


def pages() -> list[Page]:
    """Every module that has a page, in the order of its name."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        if not module or any(fnmatch(module, pattern) for pattern in WITHOUT_PAGE):
            continue
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found.append(Page(module, path, docstring))
    return found


def grouped() -> list[tuple[Group, list[Page]]]:
    """The pages below their headings. The last steps of the audit take what no other heading names."""
    left = pages()
    groups = []
    for group in sorted(GROUPS, key=lambda group: "*" in group.patterns):
        order = {page.module: _place(page, group) for page in left}
        chosen = sorted((page for page in left if order[page.module] >= 0), key=lambda page: order[page.module])
        left = [page for page in left if page not in chosen]
        groups.append((group, chosen))
    return sorted(groups, key=lambda pair: GROUPS.index(pair[0]))


def _place(page: Page, group: Group) -> int:
    return next((n for n, pattern in enumerate(group.patterns) if fnmatch(page.module, pattern)), -1)


def method_pages() -> dict[str, str]:
    """File name below `_made/` to the text of the page, for every method and every group of methods."""
    made: dict[str, str] = {}
    for group, chosen in grouped():
        if group.on_one_page:
            made[f"{group.document}.md"] = _heading(group) + "\n".join(describe(page, "##") for page in chosen)
            continue
        rows = "\n".join(f"- {{doc}}`{page.title} </_made/methods/{page.module}>`: {page.summary}" for page in chosen)
        listed = "\n".join(f"/_made/methods/{page.module}" for page in chosen)
        made[f"{group.document}.md"] = f"{_heading(group)}{rows}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
        made |= {f"methods/{page.module}.md": describe(page, "#") for page in chosen}
    listed = "\n".join(f"/_made/{group.document}" for group in GROUPS)
    made["parts/methods.txt"] = f"```{{toctree}}\n:maxdepth: 2\n\n{listed}\n```\n"
    return made


def _heading(group: Group) -> str:
    return f"# {group.heading}\n\n{group.sentence}\n\n"


def describe(page: Page, marks: str) -> str:
    """The module's docstring, then what it offers with examples."""
    offers = ""
    members = ":no-members:" if page.module.startswith("papers.") else ":members:"
    if page.path.name == "__init__.py":
        module = import_module(f"leakscope.{page.module}")
        own = [
            name for name, value in vars(module).items() if _is_described(value) and value.__module__ == module.__name__
        ]
        members = f":members: {', '.join(own)}" if own else ":no-members:"
        names = public_names(module)
        offers = f"\n**It offers**\n\n{name_list(names)}" if names else ""
    return (
        f"{marks} {page.title}\n\n`{page.path.relative_to(ROOT)}`\n\n"
        f"```{{eval-rst}}\n.. automodule:: leakscope.{page.module}\n   {members}\n   :ignore-module-all:\n```\n{offers}"
    )


def _is_described(value: Any) -> bool:
    """Whether the reference describes it: functions and classes with a docstring."""
    return (inspect.isclass(value) or inspect.isfunction(value)) and bool(value.__doc__)


def public_names(module: ModuleType) -> list[tuple[str, Any]]:
    """The names that a package offers, with what they are."""
    names = getattr(module, "__all__", ())
    return [(n, getattr(module, n) if hasattr(module, n) else import_module(f"{module.__name__}.{n}")) for n in names]


def name_list(names: Iterable[tuple[str, Any]]) -> str:
    """A list of names with links to where they are described, and the first sentence of each description."""
    return "\n".join(f"- {link(name, value)}{_says(value)}" for name, value in names) + "\n"


def link(name: str, value: Any) -> str:
    """A link to the description of a name; a plain name where there is none, as for constants."""
    if isinstance(value, ModuleType):
        return f"{{py:mod}}`{name} <{value.__name__}>`"
    home = getattr(value, "__module__", "") or ""
    if not (_is_described(value) and home.startswith("leakscope")):
        return f"`{name}`"
    return f"{{py:obj}}`{name} <{home}.{value.__qualname__}>`"


def _says(value: Any) -> str:
    return f": {first_sentence(value.__doc__)}" if isinstance(value, ModuleType) or _is_described(value) else ""


def api_part() -> str:
    """All public names of `leakscope`, functions and classes first, then modules with what each offers."""
    import leakscope

    names = public_names(leakscope)
    modules = [(name, value) for name, value in names if isinstance(value, ModuleType)]
    functions = [(name, value) for name, value in names if inspect.isfunction(value)]
    classes = [(name, value) for name, value in names if inspect.isclass(value)]
    parts = [
        "## Functions\n\n" + name_list(functions),
        "## Classes\n\n" + name_list(classes),
        "## Modules\n\n" + name_list(modules),
    ]
    return "\n".join(parts)


def folder_map() -> str:
    """The packages in the order of the layers, and the modules of each with the first sentence of their docstrings."""
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][
        0
    ]
    order = [name.strip() for layer in reversed(layers["layers"]) for name in layer.split(":")]
    packages = [name for name in order if (SOURCE / name).is_dir()]
    rows = [f"| `{name}/` | {_summary(SOURCE / name / '__init__.py')} |" for name in packages]
    parts = ["| package | content |\n|---|---|\n" + "\n".join(rows)]
    for name in packages:
        paths = sorted((SOURCE / name).rglob("*.py"))
        listed = [
            f"- `{path.relative_to(SOURCE / name)}`: {_summary(path)}" for path in paths if path.stem != "__init__"
        ]
        parts.append(f"### {name}\n\n" + "\n".join(listed))
    return "\n\n".join(parts) + "\n"


def _summary(path: Path) -> str:
    return first_sentence(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
