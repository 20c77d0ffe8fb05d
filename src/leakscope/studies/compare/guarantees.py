"""Guaranteed ε, and the lower bound that the attacks show: a bound above the guarantee refutes it. And whether the model as it is leaks.

The bound is that of an audit (`evaluation.claims`), for the swap of one record. Under a distribution shift it is about the shift and not about the
training: the never-trained control and the blind baseline check this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from leakscope.bounds.guarantee import Guarantee
from leakscope.core.arrays import Booleans
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import auc, suspicious
from leakscope.core.result import Caveat
from leakscope.evaluation.results import Basis, Verdict
from leakscope.evaluation.risk import assess_groups, most_exposed_group
from leakscope.evaluation.verdict import judge
from leakscope.studies.compare.attacking import ComparisonCase, VersionOutcome
from leakscope.studies.one_run_bound import bound_epsilon


def smallest_epsilon(
    case: ComparisonCase, outcome: VersionOutcome, alone: Booleans, delta: float, confidence: float
) -> Estimate:
    """Give the lower bound on ε for the swap of one record, as in an audit."""
    attacks = [trial.attack for trial in outcome.trials]
    found = bound_epsilon(attacks, outcome.trials.__getitem__, case.sample, alone, (0.0, delta), confidence)
    if found is None:
        return Estimate(0.0, 0.0, 0.0, confidence, "lower bound", n=0, method="every record occurs more than once")
    return found.bound


def hold_claim(
    case: ComparisonCase, outcome: VersionOutcome, alone: Booleans, claim: Guarantee | None, confidence: float
) -> tuple[Estimate, Literal["none", "not refuted", "refuted", "in doubt"]]:
    """The lower bound on ε, and whether it refutes a guarantee."""
    if claim is None:
        found = smallest_epsilon(case, outcome, alone, 0.0, confidence)
        if found.value > 0 and differ_anyway(case, outcome):
            method = "there may be a distribution shift between members and non-members, so that nothing is shown"
            return replace(found, value=0.0, low=0.0, high=0.0, method=method), "none"
        return found, "none"
    epsilon, delta = claim.for_swaps()
    found = smallest_epsilon(case, outcome, alone, delta, confidence)
    if found.value <= epsilon:
        return found, "not refuted"
    return found, "in doubt" if differ_anyway(case, outcome) else "refuted"


def differ_anyway(case: ComparisonCase, outcome: VersionOutcome, *, significantly: bool = False) -> bool:
    """Whether there may be a distribution shift, or ``significantly`` is one, so that an attack needs no leak."""
    assert case.blind is not None
    blind = auc(case.blind.ranking, case.together)
    controls = [risk.control.auc for risk in outcome.careful if risk.control.kind == "never trained"]
    return (blind.low > 0.5 if significantly else suspicious(blind)) or any(control.low > 0.5 for control in controls)


def does_it_leak(case: ComparisonCase, outcome: VersionOutcome, basis: Basis) -> tuple[bool, Verdict, Caveat | None]:
    """Whether an attack is significantly above chance, the verdict, and what else than the model may explain that or a change of it.

    As in an audit, one group above chance is enough, and the classes of the label are groups.
    """
    best = outcome.careful[outcome.strongest]
    by_group = [
        replace(risk, by_group=assess_groups(trial.target, case.groups, [risk.auc.confidence])[0])
        for risk, trial in zip(outcome.careful, outcome.trials, strict=True)
    ]
    exposed = most_exposed_group(by_group, outcome.trials.__getitem__, case.blind, case.groups)
    verdict = judge(best, replace(basis, fit=outcome.fit, exposed=exposed))
    detected = verdict.leaks or best.auc.low > 0.5
    if basis.obstacles and not detected:
        return detected, verdict, basis.obstacles[0]
    if verdict.kind == "inconclusive" and (detected or exposed is not None):
        return detected, verdict, Caveat("leak_inconclusive")
    if detected and differ_anyway(case, outcome, significantly=True):
        values = {"blind": best.blind, "control": best.control.auc, "control_kind": best.control.kind}
        return True, verdict, Caveat("shift_between_sets", dict(values))
    return detected, verdict, None
