"""What a training record changes: models trained without it, the influence of its removal, explanations by records."""

from leakscope.influence.explanation import Explanation, LeftOut, RecordExplanation, influences, most_influential
from leakscope.influence.graph import InfluenceGraph, Traversal, influence_graph
from leakscope.influence.logistic import LeaveOneOut, leave_one_out
from leakscope.influence.revelation import Tangents, revealable, revealing_points, tangents
from leakscope.influence.revelation import case as revealing_case

__all__ = [
    "Explanation", "InfluenceGraph", "LeaveOneOut", "LeftOut", "RecordExplanation", "Tangents", "Traversal",
    "influence_graph", "influences", "leave_one_out", "most_influential", "revealable", "revealing_case",
    "revealing_points", "tangents",
]  # fmt: skip
