"""What a comparison of causal and associational models claims, from intervals.

Both models are evaluated on the same records, so that the interval of a difference of two figures (`intervals.difference`) is
conservative. The causal model is compared with the one on all columns for P and P*, and with every other one for P.
"""

from __future__ import annotations

from collections.abc import Iterator

from leakscope.core import intervals
from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim, Outcome
from leakscope.studies.causal.result import SAME, SHIFTED, CausalStudy


def decide(found: CausalStudy) -> tuple[Claim, ...]:
    """Give all claims of a study; the first one is about the causal model as a whole."""
    compared = list(_leaks_less(found))
    return (
        Claim("causal_leaks_less", {}, _overall([claim.outcome for claim in compared if claim.subject["than"] == found.models[1].name])),
        *compared,
        *_under_shift(found),
        *_utilities(found),
        *_noise(found),
        *_attributes(found),
    )  # fmt: skip


def _above(difference: Estimate) -> Outcome:
    return "yes" if difference.low > 0 else "no" if difference.high < 0 else "inconclusive"


def _overall(outcomes: list[Outcome]) -> Outcome:
    """Significant for one distribution at least, and for none the other way round."""
    decided = set(outcomes) - {"inconclusive"}
    return decided.pop() if len(decided) == 1 else "inconclusive"


def _leaks_less(found: CausalStudy) -> Iterator[Claim]:
    causal = found.models[0].name
    pairs = [
        (found.models[1].name, SAME),
        (found.models[1].name, SHIFTED),
        *((one.name, SAME) for one in found.models[2:]),
    ]
    for other, law in pairs:
        ours, theirs = found.strongest(causal, law), found.strongest(other, law)
        if ours is not None and theirs is not None:
            gap = intervals.difference(theirs.excess_auc, ours.excess_auc)
            # A diff compares the first figure, which must grow with the risk.
            figures = {"causal": ours.excess_auc, "other": theirs.excess_auc, "difference": gap}
            yield Claim("causal_leaks_less", {"than": other, "law": law}, _above(gap), figures)


def _under_shift(found: CausalStudy) -> Iterator[Claim]:
    for model in found.models[:2]:
        same, shifted = (found.strongest(model.name, law) for law in (SAME, SHIFTED))
        if same is not None and shifted is not None:
            gap = intervals.difference(shifted.excess_auc, same.excess_auc)
            yield Claim("shift_increases_leak", {"model": model.name}, _above(gap), {"difference": gap})
    name = found.models[1].name
    # The attack that is right most often, be it by membership or by distinguishing P from P*.
    accurate = max(found.found(name, SHIFTED), key=lambda one: one.accuracy.value, default=None)
    if accurate is not None:
        figures = {"control_accuracy": accurate.control_accuracy, "blind_accuracy": found.blind[SHIFTED].accuracy}
        outcome: Outcome = "yes" if accurate.control_accuracy.low > 0.5 else "inconclusive"
        yield Claim("shift_explains_accuracy", {"model": name}, outcome, figures)


def _utilities(found: CausalStudy) -> Iterator[Claim]:
    causal, everything = found.models[:2]
    for law in (SAME, SHIFTED):
        ours, theirs = causal.utility(law), everything.utility(law)
        if ours is not None and theirs is not None:
            gap = intervals.difference(ours, theirs)
            figures = {"difference": gap, "causal": ours, "other": theirs}
            yield Claim("causal_predicts_better", {"than": everything.name, "law": law}, _above(gap), figures)


def _noise(found: CausalStudy) -> Iterator[Claim]:
    if found.noise is not None:
        ratio = found.noise.ratio
        outcome: Outcome = "yes" if ratio.high < 1 else "no" if ratio.low > 1 else "inconclusive"
        yield Claim("causal_needs_less_noise", {}, outcome, {"ratio": ratio})


def _attributes(found: CausalStudy) -> Iterator[Claim]:
    for one in found.attributes:
        outcome: Outcome = "yes" if one.gain.low > 0 or one.gain_auc.low > 0 else "inconclusive"
        figures = {"gain": one.gain, "gain_auc": one.gain_auc}
        yield Claim("helps_to_infer", {"column": one.column, "model": one.model}, outcome, figures)
