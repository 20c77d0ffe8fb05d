"""The quality-privacy frontier of explanations: which say most about the model for what they give away of its training set."""

from leakscope.frontier_study.result import Frontier, Setting
from leakscope.frontier_study.run import frontier
from leakscope.frontier_study.usual import usual_settings

__all__ = ["Frontier", "Setting", "frontier", "usual_settings"]
