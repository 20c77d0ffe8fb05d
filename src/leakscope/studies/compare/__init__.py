"""The comparison of defenses: risk and utility of the model as it is and of defended versions of it."""

from typing import TYPE_CHECKING, Any

from leakscope.studies.compare.result import Comparison, Recommendation, Version

if TYPE_CHECKING:
    from leakscope.studies.compare.run import compare

__all__ = ["Comparison", "Recommendation", "Version", "compare"]


def __getattr__(name: str) -> Any:
    """Import `compare` when it is first used: a saved comparison is read without it."""
    if name != "compare":
        raise AttributeError(f"module 'leakscope.studies.compare' has no attribute {name!r}")
    from leakscope.studies.compare.run import compare

    return compare
