"""The reproductions use public names only."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import leakscope.papers


def public_names(module: str) -> set[str]:
    """Names in ``__all__`` of a package; of a module that the ``__all__`` of its package lists, all names without underscore."""
    loaded, (package, _, leaf) = import_module(module), module.rpartition(".")
    if hasattr(loaded, "__path__"):
        return set(loaded.__all__)
    return {name for name in vars(loaded) if name[0] != "_"} if leaf in public_names(package) else set()


@pytest.mark.parametrize(
    "path", sorted(Path(leakscope.papers.__file__).parent.glob("*.py")), ids=lambda path: path.stem
)
def test_a_reproduction_imports_public_names_only(path):
    for node in ast.walk(ast.parse(path.read_text())):
        assert not isinstance(node, ast.Import) or not any(name.name.startswith("leakscope") for name in node.names)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("leakscope") and "papers" not in node.module:
            assert {name.name for name in node.names} <= public_names(node.module), node.module
