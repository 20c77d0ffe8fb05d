"""Self-check of an installation: audits of toys whose leakage is known in closed form."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from leakscope.evaluation.results import Audit
from leakscope.learners import Ridge
from leakscope.releases.oracle import Oracle
from leakscope.releases.record_explanations import RecordExplanation, leave_one_out, tangents
from leakscope.releases.release import Progress
from leakscope.studies.audit import audit
from leakscope.studies.leakage import membership_leakage
from leakscope.toys import TOYS, Toy, population_mean

#: About twenty intervals are compared with true values: at this confidence, one run in 500 fails by chance.
CONFIDENCE = 0.9999
#: Enough records for the verdict ``not_detected`` at that confidence.
RECORDS = 5000


@dataclass(frozen=True)
class Check:
    """One comparison of a measured value with the true one."""

    world: str
    what: str
    truth: str
    measured: str
    passed: bool

    def __str__(self) -> str:
        sign = "ok    " if self.passed else "FAILED"
        return f"{sign} {self.world:20} {self.what:46} true {self.truth:12} measured {self.measured}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def run(seed: int = 0, progress: Progress | None = None) -> list[Check]:
    """Audit every toy, measure the leakage of a mean and of explanations, and compare them with the true values."""
    checks = []
    for done, make in enumerate(TOYS, start=1):
        toy = make(RECORDS, seed=seed)
        result = audit(toy.model, toy.train, toy.holdout, fit=toy.fit, confidence=CONFIDENCE, seed=seed, workers=1)
        checks += compare(toy, result)
        if progress is not None:
            progress("checking", done, len(TOYS))
    return [*checks, *_leakage(seed), *_explanations()]


def compare(toy: Toy, result: Audit) -> list[Check]:
    """Compare the audit of a toy with its true values."""
    risks = {(risk.release, risk.attack): risk for risk in result.risks}
    checks = [Check(toy.name, "verdict", toy.verdict, result.verdict.kind, result.verdict.kind == toy.verdict)]
    for figure, truths in (("auc", toy.auc), ("advantage", toy.advantage)):
        for key, truth in truths.items():
            measured = getattr(risks[key], figure)
            what = f"{figure} of {key[1]} on {key[0]}"
            # If the true value is an extreme of its range, an end of the interval may differ from it by rounding.
            passed = measured.low - 1e-12 <= truth <= measured.high + 1e-12
            checks.append(Check(toy.name, what, f"{truth:.4f}", str(measured), passed))
    return [*checks, *_controls(toy, result)]


def _leakage(seed: int) -> list[Check]:
    """Compare the leakage of a model that is a mean with its true value."""
    world = population_mean(seed=seed)
    found = membership_leakage(
        Ridge(intercept=False), world.X, world.y, world.size, records=100, draws=500, seed=seed, confidence=CONFIDENCE
    )
    truth = float(world.divergence.mean())
    held = found.rho_kl.low <= truth <= found.rho_kl.high
    bounded = found.attack.low <= found.advantage_bound.value
    return [
        Check("population mean", "leakage rho_KL of the parameters", f"{truth:.4f}", str(found.rho_kl), held),
        Check("population mean", "advantage within the bound", str(found.advantage_bound), str(found.attack), bounded),
    ]


def _explanations() -> list[Check]:
    """Check leave-one-out models with a known solution, and data all of whose records explanations reveal."""
    # Four records at each of two points: without one, two of the other three at its point are 0 and one is 1.
    X, y = np.repeat([[0.0], [1.0]], 4, axis=0), np.array([0, 0, 0, 1, 0, 1, 1, 1])
    loo = leave_one_out(X, y, penalty=1e-9)  # nearly unpenalised: each model predicts the share of 1 at each point
    odds = float(loo.intercept[0])
    found = tangents(RECORDS)
    oracle = Oracle.of(found.models, found.points[:, None], np.zeros(RECORDS, int), RecordExplanation(k=1))
    fell = len(np.unique(oracle.query(found.points[:, None]).records))
    exact = Check(
        "two places", "log-odds without a record", f"{-math.log(2):.6f}", f"{odds:.6f}", abs(odds + math.log(2)) < 1e-6
    )
    return [exact, Check("tangents", "records that explanations reveal", str(RECORDS), str(fell), fell == RECORDS)]


def _controls(toy: Toy, result: Audit) -> list[Check]:
    """Return one line per kind of control: the attack that is farthest from chance."""
    checks = []
    for kind in dict.fromkeys(risk.control.kind for risk in result.risks) | {"permuted": None}:
        controls = [risk.permuted if kind == "permuted" else risk.control for risk in result.risks]
        worst = max(controls, key=lambda control: abs(control.auc.value - 0.5)).auc
        passed = all(control.auc.low <= 0.5 <= control.auc.high for control in controls)
        checks.append(
            Check(toy.name, f"auc of {kind} controls, farthest of {len(controls)}", "0.5000", str(worst), passed)
        )
    return checks
