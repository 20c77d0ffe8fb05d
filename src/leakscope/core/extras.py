"""Imports of optional packages: a package that is missing is reported with the command that installs it."""

from importlib import import_module
from typing import Any

from leakscope.core.errors import MissingExtraError


def import_extra(package: str, purpose: str, extra: str) -> Any:
    """Import an optional package of one of Leakscope's extras.

    Examples
    --------
    >>> import_extra("no_such_package", "a Dask cluster", "cluster")
    Traceback (most recent call last):
    leakscope.core.errors.MissingExtraError: a Dask cluster needs an optional package: run pip install 'leakscope[cluster]'
    """
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtraError(purpose, extra) from None


def import_torch(purpose: str = "a neural network") -> Any:
    """Import torch; ``purpose`` is what the error message says needs it."""
    return import_extra("torch", purpose, "torch")
