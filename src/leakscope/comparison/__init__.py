"""The comparison: the model as it is and defended versions of it, what each buys and what it costs."""

from leakscope.comparison.result import Comparison, Recommendation, Version
from leakscope.comparison.run import compare

__all__ = ["Comparison", "Recommendation", "Version", "compare"]
