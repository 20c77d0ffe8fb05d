"""Claimed ε beside what the attacks show: a lower bound above the claim means that the guarantee is broken.

The bound is that of an audit (`evaluation.claims`), for the swap of one record. Where the blind baseline or the never-trained control
suggests a distribution shift, the bound need not be about the training.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakscope.comparison.attacking import Case, Outcome
from leakscope.defenses.defense import Guarantee
from leakscope.evaluation.claims import bound_epsilon
from leakscope.intervals import auc, suspicious
from leakscope.results import Basis, Estimate
from leakscope.risk import assess_groups, most_exposed_group
from leakscope.verdict import judge
from leakscope.verdict_text import headline


def smallest_epsilon(
    case: Case, outcome: Outcome, alone: NDArray[np.bool_], delta: float, confidence: float
) -> Estimate:
    """The lower bound on ε for the swap of one record, as in an audit."""
    found = bound_epsilon(outcome.trials, case.sample, alone, None, delta, confidence)
    if found is None:
        return Estimate(0.0, 0.0, 0.0, confidence, "lower bound", n=0, method="no record stands in the data once")
    return found.bound


def hold_claim(
    case: Case, outcome: Outcome, alone: NDArray[np.bool_], claim: Guarantee | None, confidence: float
) -> tuple[Estimate, Literal["none", "holds", "broken", "in doubt"]]:
    """The lower bound on ε, and what it makes of a claim."""
    if claim is None:
        found = smallest_epsilon(case, outcome, alone, 0.0, confidence)
        if found.value > 0 and differ_anyway(case, outcome):
            method = "there may be a distribution shift between members and non-members, so that nothing is shown"
            return replace(found, value=0.0, low=0.0, high=0.0, method=method), "none"
        return found, "none"
    epsilon, delta = claim.for_swaps()
    found = smallest_epsilon(case, outcome, alone, delta, confidence)
    if found.value <= epsilon:
        return found, "holds"
    return found, "in doubt" if differ_anyway(case, outcome) else "broken"


def differ_anyway(case: Case, outcome: Outcome, *, significantly: bool = False) -> bool:
    """Whether there may be a distribution shift, or ``significantly`` is one, so that an attack needs no leak."""
    assert case.blind is not None
    blind = auc(case.blind.ranking, case.together)
    controls = [risk.control.auc for risk in outcome.careful if risk.control.kind == "never trained"]
    return (blind.low > 0.5 if significantly else suspicious(blind)) or any(control.low > 0.5 for control in controls)


def does_it_leak(case: Case, outcome: Outcome, basis: Basis) -> tuple[bool, str]:
    """Whether an attack is significantly above chance, and why that, or a change of it, need not come from the model; else no reason.

    As in an audit, one group above chance is enough, and the classes of the label are groups.
    """
    best = outcome.careful[outcome.strongest]
    by_group = [
        replace(risk, by_group=assess_groups(trial.target, case.groups, [risk.auc.confidence])[0])
        for risk, trial in zip(outcome.careful, outcome.trials, strict=True)
    ]
    exposed = most_exposed_group(by_group, outcome.trials, case.blind, case.groups)
    verdict = judge(best, replace(basis, fit=outcome.fit, exposed=exposed))
    beats = verdict.kind == "leaks" or best.auc.low > 0.5
    if verdict.kind == "cannot tell" and (beats or exposed is not None):
        return beats, headline(verdict)
    if beats and differ_anyway(case, outcome, significantly=True):
        control = "never-trained control" if best.control.kind == "never trained" else "permuted control"
        return True, (
            f"there is a distribution shift between members and held-out records (AUC {best.blind} of the blind baseline, AUC "
            f"{best.control.auc} of the {control}), so that a change of the risk need not be a change of what the model "
            "gives away: use a holdout from the same population as the training data"
        )
    return beats, ""
