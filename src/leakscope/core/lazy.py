"""Names that are imported when they are first used, and names of the last version."""

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package; ``homes`` maps a name to its module (``".x"`` is relative).

    Examples
    --------
    >>> find, _ = lazy_names("leakscope.core", {"Estimate": ".estimate"})
    >>> find("Estimate").__name__
    'Estimate'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted({*vars(sys.modules[package]), *homes})


def former_name(old: str, new: str) -> Any:
    """Return a property that gives another attribute of an object under its name of the last version, with a warning.

    Examples
    --------
    >>> class Named:
    ...     size, length = 3, former_name("length", "size")
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     Named().length
    3
    >>> str(said[0].message)
    'write .size: the next version has no .length'
    """

    def read(self: Any) -> Any:
        warnings.warn(f"write .{new}: the next version has no .{old}", FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(read)


def former_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return ``__getattr__`` for a module that still gives names of the last version, each with the new one, with a warning."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"write {module}.{names[name]}: the next version has no {name}", FutureWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find
