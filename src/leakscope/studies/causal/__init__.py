"""The comparison of causal and associational models as one tool: ``leakscope.causal.study`` and ``leakscope causal``."""

from leakscope.studies.causal.result import CausalStudy, Compared, Noise
from leakscope.studies.causal.run import study

__all__ = ["CausalStudy", "Compared", "Noise", "study"]
