"""The frontier of explanations: faithfulness against what they add to the membership risk of the prediction."""

from leakscope.studies.frontier.result import ExplanationRisk, Frontier
from leakscope.studies.frontier.run import frontier, usual_settings

__all__ = ["ExplanationRisk", "Frontier", "frontier", "usual_settings"]
