"""The result of a frontier: faithfulness and extra membership risk of each explanation, and its claims. It holds no value of a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from leakscope.core.estimate import Estimate
from leakscope.core.lazy import former_name
from leakscope.core.result import Claim, Outcome, Result
from leakscope.releases.feature_explanations.faithfulness import Faithfulness


@dataclass(frozen=True)
class ExplanationRisk:
    """One form of explanation: how faithful it is, and what it adds to the risk of the prediction.

    Parameters
    ----------
    name
        The explanation with its settings.
    faithfulness
        See `explanations.faithfulness`; ``faithfulness.order`` is the axis of the frontier.
    advantage, auc
        Membership advantage, and AUC, that an attacker gains over the prediction alone (`results.Extra`). These intervals are simultaneous for all
        explanations.
    control, beyond_control
        The gain in AUC on models that never saw the members, and ``auc`` beyond it; None without such models.
    pareto_optimal
        Whether no other explanation is at least as good on both axes and better on one, by the values alone. An extra advantage below 0 counts as 0, since
        an attacker can ignore the explanation.
    dominated_by
        An explanation that is significantly better on one axis, and worse by at most the tolerance on the other (`evaluation.dominance`); None if there is none.
    """

    name: str
    faithfulness: Faithfulness
    advantage: Estimate
    auc: Estimate
    control: Estimate | None
    beyond_control: Estimate | None
    pareto_optimal: bool
    dominated_by: str | None

    @property
    def method(self) -> str:
        """The method without its settings."""
        return self.name.partition(":")[0]

    @property
    def adds(self) -> bool:
        """Whether the extra advantage is significant, and the gain also exceeds that on the never-trained control where there is one."""
        return self.advantage.low > 0 and (self.beyond_control is None or self.beyond_control.low > 0)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Frontier(Result):
    """Faithfulness against extra membership risk, for explanations of one model.

    Claims, for each explanation:

    - ``explanation_adds``: the extra advantage is significant, and the gain also exceeds that on the never-trained control; ``no`` if an extra advantage
      above the tolerance is excluded.
    - ``dominated``: another explanation dominates it significantly.

    And at most one ``recommended``: the most faithful explanation whose extra advantage is at most the tolerance, if another one adds significantly more.

    Parameters
    ----------
    explanations
        Every explanation that could be measured; those that the model does not support are in ``not_run``.
    prediction
        The prediction that is released in any case.
    random_order
        ``faithfulness.order`` of random values: 0 up to chance.
    features
        Features of a record.
    scored, judged
        Records that faithfulness was measured on, and members, and as many non-members, that the attacks were judged on.
    """

    kind: ClassVar[str] = "frontier"
    schema_version: ClassVar[int] = 2
    codes = {"explanation_adds": "yes", "dominated": None, "recommended": None}  # noqa: RUF012
    table = "explanations"

    explanations: tuple[ExplanationRisk, ...]
    prediction: str
    random_order: Estimate
    features: int
    scored: int
    judged: int
    beside = former_name("beside", "prediction")

    @property
    def best(self) -> tuple[ExplanationRisk, ...]:
        """The Pareto-optimal explanations by value, the most faithful first."""
        kept = [one for one in self.explanations if one.pareto_optimal]
        return tuple(sorted(kept, key=lambda one: -one.faithfulness.order.value))


def frontier_claims(explanations: Sequence[ExplanationRisk], prediction: str, tolerance: float) -> Iterator[Claim]:
    """Decide which explanations add to the risk of the prediction, which are dominated, and which one to release."""
    for one in explanations:
        adds: Outcome = "yes" if one.adds else "no" if one.advantage.high <= tolerance else "inconclusive"
        figures = {"extra": one.advantage, "extra_auc": one.auc}
        yield Claim("explanation_adds", {"explanation": one.name, "prediction": prediction}, adds, figures)
        dominated: Outcome = "inconclusive" if one.dominated_by is None else "yes"
        yield Claim("dominated", {"explanation": one.name}, dominated, {"faithfulness": one.faithfulness.order})
    if (found := _recommended(explanations, tolerance)) is not None:
        best, instead = found
        subject = {"explanation": best.name, "instead_of": instead.name}
        yield Claim("recommended", dict(subject), "yes", {"faithfulness": best.faithfulness.order})


def _recommended(
    explanations: Sequence[ExplanationRisk], tolerance: float
) -> tuple[ExplanationRisk, ExplanationRisk] | None:
    """The most faithful explanation within the tolerance, and the one that adds most of those that add significantly more."""
    within = [one for one in explanations if one.advantage.high <= tolerance]
    best = max(within, key=lambda one: one.faithfulness.order.value, default=None)
    if best is None or best.faithfulness.order.low <= 0:
        return None
    more = [one for one in explanations if one.adds and one.advantage.low > max(0.0, best.advantage.high)]
    return (best, max(more, key=lambda one: one.advantage.low)) if more else None
