"""The claims of a frontier, decided from the intervals of its explanations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leakscope.core.result import Claim, Outcome
from leakscope.frontier_study.result import ExplanationRisk


def frontier_claims(explanations: Sequence[ExplanationRisk], beside: str, margin: float) -> Iterator[Claim]:
    """Decide which explanations add to the risk of the prediction, which are dominated, and which one to release."""
    for one in explanations:
        adds: Outcome = "yes" if one.adds else "no" if one.advantage.high <= margin else "inconclusive"
        figures = {"extra": one.advantage, "extra_auc": one.auc}
        yield Claim("explanation_adds", {"explanation": one.name, "beside": beside}, adds, figures)
        dominated: Outcome = "inconclusive" if one.dominated_by is None else "yes"
        yield Claim("dominated", {"explanation": one.name}, dominated, {"faithfulness": one.faithfulness.order})
    if (found := _recommended(explanations, margin)) is not None:
        best, instead = found
        subject = {"explanation": best.name, "instead_of": instead.name}
        yield Claim("recommended", dict(subject), "yes", {"faithfulness": best.faithfulness.order})


def _recommended(
    explanations: Sequence[ExplanationRisk], margin: float
) -> tuple[ExplanationRisk, ExplanationRisk] | None:
    """The most faithful explanation within the margin, and the one that adds most of those that add significantly more."""
    within = [one for one in explanations if one.advantage.high <= margin]
    best = max(within, key=lambda one: one.faithfulness.order.value, default=None)
    if best is None or best.faithfulness.order.low <= 0:
        return None
    more = [one for one in explanations if one.adds and one.advantage.low > max(0.0, best.advantage.high)]
    return (best, max(more, key=lambda one: one.advantage.low)) if more else None
