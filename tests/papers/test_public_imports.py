"""The reproductions use public names only."""

import ast
from importlib import import_module
from pathlib import Path

import leakscope.papers


def public_names(module: str) -> set[str]:
    """Names in ``__all__`` of a package; of a module that the ``__all__`` of its package lists, all names without underscore."""
    loaded, (package, _, leaf) = import_module(module), module.rpartition(".")
    if hasattr(loaded, "__path__"):
        return set(loaded.__all__)
    return {name for name in vars(loaded) if name[0] != "_"} if leaf in public_names(package) else set()


def test_a_reproduction_imports_public_names_only():
    found = []
    for path in Path(leakscope.papers.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = {name.name for name in getattr(node, "names", ())}
            if isinstance(node, ast.Import):
                found += [(path.stem, name) for name in names if name.startswith("leakscope")]
            if isinstance(node, ast.ImportFrom) and node.module.startswith("leakscope") and "papers" not in node.module:
                found += [(path.stem, node.module, name) for name in names - public_names(node.module)]
    assert found == []
