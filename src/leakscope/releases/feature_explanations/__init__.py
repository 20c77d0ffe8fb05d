"""Feature explanations: gradients and related methods, for every model that can be differentiated."""

from leakscope.releases.feature_explanations.compute import explain, explain_model, refusal
from leakscope.releases.feature_explanations.settings import METHODS, FeatureExplanation, parse

__all__ = ["METHODS", "FeatureExplanation", "explain", "explain_model", "parse", "refusal", "scikit_networks"]
