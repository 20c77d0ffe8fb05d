"""Record explanations: models trained without each record, the influence of its removal, and explanations by influence."""

from leakscope.releases.record_explanations.approximate import first_order, one_step
from leakscope.releases.record_explanations.explanation import (
    Explanation,
    LeftOut,
    RecordExplanation,
    influences,
    most_influential,
)
from leakscope.releases.record_explanations.functions import influence_functions
from leakscope.releases.record_explanations.graph import InfluenceGraph, Traversal, influence_graph
from leakscope.releases.record_explanations.logistic import LeaveOneOut, leave_one_out
from leakscope.releases.record_explanations.rank_agreement import Agreement, agreement
from leakscope.releases.record_explanations.retrained import Retrained, retrain_without_each
from leakscope.releases.record_explanations.revelation import Tangents, revealable, revealing_points, tangents
from leakscope.releases.record_explanations.revelation import case as revealing_case
from leakscope.releases.record_explanations.ridge import LeaveOneOutRidge, leave_one_out_ridge

__all__ = [
    "Agreement", "Explanation", "InfluenceGraph", "LeaveOneOut", "LeaveOneOutRidge", "LeftOut", "RecordExplanation",
    "Retrained", "Tangents", "Traversal", "agreement", "first_order", "influence_functions", "influence_graph",
    "influences", "leave_one_out", "leave_one_out_ridge", "most_influential", "one_step", "retrain_without_each",
    "revealable", "revealing_case", "revealing_points", "tangents",
]  # fmt: skip
