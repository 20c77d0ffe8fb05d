"""The frontier of explanations: faithfulness against what they add to the membership risk of the prediction."""

from leakscope.frontier_study.result import ExplanationRisk, Frontier
from leakscope.frontier_study.run import frontier, usual_settings

__all__ = ["ExplanationRisk", "Frontier", "frontier", "usual_settings"]
