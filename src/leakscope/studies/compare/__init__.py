"""The comparison of defenses: risk and utility of the model as it is and of defended versions of it."""

from typing import TYPE_CHECKING

from leakscope.core.lazy import lazy_names
from leakscope.studies.compare.result import Comparison, Recommendation, Version

if TYPE_CHECKING:
    from leakscope.studies.compare.run import compare

__all__ = ["Comparison", "Recommendation", "Version", "compare"]
#: Imported when it is first used: a saved comparison is read without it.
__getattr__, __dir__ = lazy_names(__name__, {"compare": ".run"})
