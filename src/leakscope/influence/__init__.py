"""What a training record changes: models trained without it, the influence of its removal, explanations by records."""

from leakscope.influence.explanation import Explanation, LeftOut, RecordExplanation, influences, most_influential
from leakscope.influence.logistic import LeaveOneOut, leave_one_out

__all__ = [
    "Explanation", "LeaveOneOut", "LeftOut", "RecordExplanation", "influences", "leave_one_out", "most_influential",
]  # fmt: skip
