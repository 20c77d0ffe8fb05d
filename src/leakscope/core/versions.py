"""Versions of what the numbers rest on: recorded with every audit, and part of every key in the cache."""

from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from platform import python_version
from typing import Any

PACKAGES = ("leakscope", "numpy", "scipy", "scikit-learn", "pandas", "joblib", "torch")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that are installed, whether they are in use or not.

    Examples
    --------
    >>> sorted(versions())[:3]
    ['joblib', 'leakscope', 'numpy']
    """
    return dict(_installed())


@cache
def _installed() -> dict[str, str]:
    """The same, read once: reading it takes as long as training a small model."""
    found = {"python": python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def stamp() -> dict[str, Any]:
    """Give the fields of a result that state when and with which versions it was made."""
    return {"versions": versions(), "created": datetime.now(UTC).isoformat(timespec="seconds")}
