"""Verdicts of the default audit on models that leak little: "not_detected" never, and "leaks" where RMIA is significant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sklearn.base import clone
from sklearn.neural_network import MLPClassifier

from benchmarks.measure import Line
from benchmarks.race.targets import BOOSTING, FOREST, LOGISTIC, Target, adult, audit, digits, risk_of
from leakscope.evaluation.results import Audit

#: Models that leak and for which "not_detected" is wrong, each with `LEAKING_SEEDS` splits.
LEAKING = {
    "Adult forest, leaves of 20": Target(clone(FOREST).set_params(min_samples_leaf=20), adult, 5000),
    "Adult logistic, 5,000": Target(LOGISTIC, adult, 5000),
    "Adult logistic, 2,500": Target(LOGISTIC, adult, 2500),
    "Adult HistGB, 30 trees": Target(clone(BOOSTING).set_params(early_stopping=False, max_iter=30), adult, 5000),
}
NETWORK = MLPClassifier((64,), max_iter=100, random_state=0)
#: Small samples, each with `SMALL_SEEDS` splits.
SMALL = {
    "Adult logistic, 500": Target(LOGISTIC, adult, 500),
    "Adult MLP, 500": Target(NETWORK, adult, 500),
    "digits logistic, 898": Target(LOGISTIC, digits, 898),
    "digits MLP, 898": Target(NETWORK, digits, 898),
}
LEAKING_SEEDS, SMALL_SEEDS = range(4), range(5)
SMALLEST_SHARE = 0.8


def run(full: bool) -> Iterator[Line]:  # noqa: ARG001
    wrong, count = 0, 0
    for name, target in LEAKING.items():
        found = [_audit(target, seed) for seed in LEAKING_SEEDS]
        kinds = Counter(one.verdict.kind for one in found)
        wrong, count = wrong + kinds["not_detected"], count + len(found)
        yield Line(f'{name}: "not_detected"', kinds["not_detected"], None, "runs", _detail(found, kinds))
    yield Line(f'"not_detected" on models that leak, of {count}', wrong, 0, "runs")
    leaks, significant = 0, 0
    for name, target in SMALL.items():
        found = [_audit(target, seed) for seed in SMALL_SEEDS]
        clear = [one for one in found if _significant(one)]
        kinds = Counter(one.verdict.kind for one in clear)
        leaks, significant = leaks + kinds["leaks"], significant + len(clear)
        what = f'{name}: "leaks", of {len(clear)} where RMIA is significant'
        yield Line(what, kinds["leaks"], None, "runs", _detail(clear, kinds))
    share = leaks / significant if significant else 1.0
    yield Line(
        f'share of "leaks" where RMIA is significant, of {significant}', share, SMALLEST_SHARE, "", at_least=True
    )


def _audit(target: Target, seed: int) -> Audit:
    return audit(target.learner, *target.split(seed), seed=seed)[0]


def _significant(found: Audit) -> bool:
    return risk_of(found, "RMIA").auc.low > 0.5


def _detail(found: list[Audit], kinds: Counter[str]) -> str:
    """The verdicts, the AUC of RMIA, how often it is significant, and why the verdict is not "leaks"."""
    auc = [risk_of(one, "RMIA").auc.value for one in found] or [float("nan")]
    why = Counter(_doubt(one) for one in found if not one.verdict.leaks)
    parts = [
        ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())),
        f"RMIA {min(auc):.3f} to {max(auc):.3f}, significant in {sum(map(_significant, found))}",
        *(f"{count} x {doubt}" for doubt, count in why.items()),
    ]
    return f"[{'; '.join(parts)}]"


def _doubt(found: Audit) -> str:
    """The first doubt of a verdict that is not "leaks"."""
    return found.verdict.doubts[0].code if found.verdict.doubts else found.verdict.kind
