"""The reproductions use public names only."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import leakscope.papers

MODULES = sorted(Path(leakscope.papers.__file__).parent.glob("*.py"))


def is_public(module: str) -> bool:
    """A package with ``__all__`` is public; another module is if the ``__all__`` of its package names it."""
    package, _, leaf = module.rpartition(".")
    if hasattr(import_module(module), "__path__"):
        return hasattr(import_module(module), "__all__")
    return is_public(package) and leaf in import_module(package).__all__


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_reproduction_imports_public_names_only(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not [name.name for name in node.names if name.name.startswith("leakscope")]
        elif isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "leakscope":
            if node.module.startswith("leakscope.papers"):
                continue
            assert is_public(node.module), node.module
            module = import_module(node.module)
            public = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
            assert {name.name for name in node.names} <= set(public), node.module
