"""The comparison of causal and associational models as one tool: ``leakscope.causal.study`` and ``leakscope causal``."""

from leakscope.causal_study.result import CausalStudy, Compared, Noise
from leakscope.causal_study.run import study

__all__ = ["CausalStudy", "Compared", "Noise", "study"]
