"""Versions of Python and of the packages that determine results; recorded in results and in cache keys."""

from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from platform import python_version
from typing import Any

PACKAGES = ("leakscope", "numpy", "scipy", "scikit-learn", "pandas", "joblib", "torch")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages in `PACKAGES`.

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
    """Return the fields of a result for its creation time and package versions."""
    return {"versions": versions(), "created": datetime.now(UTC).isoformat(timespec="seconds")}
