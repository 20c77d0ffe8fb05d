"""A made-up audit, built from the result classes alone, for tests of everything that reads a record."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, NotRun
from leakscope.evaluation.audit_claims import audit_claims
from leakscope.evaluation.crossfit import Sample, cross_guess, scale_of
from leakscope.evaluation.exposed_records import most_exposed
from leakscope.evaluation.results import (
    Audit,
    AuditedModel,
    Basis,
    Bound,
    Control,
    ControlModels,
    ExposedGroup,
    ExposedRecord,
    GroupRisk,
    Histogram,
    Overlap,
    Performance,
    Risk,
    Roc,
    Verdict,
)
from leakscope.evaluation.risk import Judged
from leakscope.evaluation.verdict import choose_strongest, judge, largest_figures, strongest_by_release
from leakscope.models.provenance import CODE, code_digest
from leakscope.record.schema import DIGEST
from leakscope.record.storage import content_digest

Floats = NDArray[np.float64]

JUDGED = 4000
RATES = (0.1, 0.01, 0.001)
# (release, attack, distance between the mean scores of members and non-members in standard deviations)
ATTACKS = (
    ("labels", "learned: logistic regression", 0.12),
    ("probabilities", "learned: logistic regression", 0.42),
    ("probabilities", "learned: tree", 0.33),
    ("log_loss", "loss threshold", 0.55),
    ("log_loss", "likelihood ratio", 0.48),
    ("log_loss", "bounded loss", 0.36),
)
MARGIN = 0.05
#: Confidence of the interval of the strongest of six attacks with four figures each.
CHOSEN = 1 - 0.05 / 24


def sample_audit(
    kind: Literal["leaks", "not_detected", "inconclusive"] = "leaks", *, groups: bool = True, retrained: bool = True
) -> Audit:
    """An audit of a model of incomes, with ``kind`` of verdict; the same one at every call."""
    strength = 1.0 if kind == "leaks" else 0.0
    half = 0.05 if kind == "inconclusive" else 0.0125
    risks = tuple(
        sample_risk(release, attack, shift * strength, seed, half=half, groups=groups, retrained=retrained)
        for seed, (release, attack, shift) in enumerate(ATTACKS)
    )
    careful = [replace(risk, auc=_for_choice(risk.auc)) for risk in risks]
    best = careful[choose_strongest(careful)]
    records, basis = _records(strength), Basis(MARGIN, exposed=_exposed_group(careful))
    verdict = judge(best, basis)
    assert verdict.kind == kind, verdict
    audit = Audit(
        verdict=verdict,
        basis=basis,
        strongest=replace(best, roc=_band(best.roc)),
        risks=risks,
        not_run=(NotRun("probabilities", "learned: MLP", "left out by the settings: attacks=quick"),),
        warnings=(
            Caveat("copies_in_holdout", {"records": 52, "removed": False}),
            Caveat("pooled_groups", {"column": "race", "groups": 2, "smallest": 30}),
        ),
        target=_audited(retrained),
        overlap=Overlap(52, tuple(str(number) for number in range(100, 152)), removed=False),
        settings={"seed": 0, "folds": 5, "rates": list(RATES), "groups": ["race", "sex"], "remove_overlap": False,
                  "margin": MARGIN, "confidence": 0.95, "confidence after the choice": CHOSEN},
        fingerprints={"train": "9f2c" * 16, "holdout": "71ab" * 16, "model file": "c0de" * 16, CODE: code_digest()},
        versions={"leakscope": "0.1.0", "python": "3.12.3", "numpy": "2.4.1", "scikit-learn": "1.9.0"},
        seconds={"predicting": 1.31, "retraining": 22.4, "attacking": 3.72},
        created="2026-01-15T10:30:00+00:00",
        by_release=strongest_by_release(careful),
        largest=largest_figures(careful),
        exposed=most_exposed(records),
        records=records,
    )  # fmt: skip
    return with_claims(audit)


def with_claims(audit: Audit, **changes: Any) -> Audit:
    """The audit with some fields changed, and the claims that follow."""
    changed = replace(audit, **changes)
    return replace(changed, claims=audit_claims(changed))


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object], *, sealed: bool = True) -> None:
    """Change the document of a saved result; ``sealed`` with the digest that its new content has."""
    path = folder / "result.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document | {DIGEST: content_digest(document)} if sealed else document))


def sample_risk(
    release: str,
    attack: str,
    shift: float,
    seed: int = 0,
    *,
    half: float = 0.0125,
    groups: bool = True,
    retrained: bool = True,
) -> Risk:
    """One attack whose scores are normal, with members ``shift`` standard deviations above non-members."""
    rng = np.random.default_rng(seed)
    members, nonmembers = rng.normal(shift, 1, JUDGED), rng.normal(0, 1, JUDGED)
    auc = _auc(members, nonmembers)
    threshold = shift / 2
    advantage = float(np.mean(members > threshold) - np.mean(nonmembers > threshold))
    permuted = _control("permuted", 0.499)
    control = _control("never trained", 0.507) if retrained else permuted
    blind = around(0.512, 0.013)
    return Risk(
        release=release,
        attack=attack,
        source="yeom2018, Adversary 2",
        auc=around(auc, half, method="DeLong, logit scale"),
        advantage=around(advantage, 0.022, method="Newcombe"),
        accuracy=around((1 + advantage) / 2, 0.011, method="Wilson, threshold cross-fitted"),
        tpr_at_fpr={rate: _tpr(members, nonmembers, rate) for rate in RATES},
        control=control,
        permuted=permuted,
        blind=blind,
        beyond_blind=around(auc - blind.value, 1.4 * half, method="paired DeLong"),
        beyond_control=around(auc - control.auc.value, 1.4 * half, method="independent samples"),
        tpr_beyond={0.1: around(0.1, 0.02)},
        by_group=_groups(auc, 1.0 if shift else 0.2) if groups else (),
        roc=_roc(members, nonmembers),
        histogram=_histogram(members, nonmembers),
    )


def draw(members: int, nonmembers: int, rng: np.random.Generator) -> Sample:
    """A sample of records that are all different."""
    return Sample.draw(
        np.arange(members, dtype=np.uint64), np.arange(members, members + nonmembers, dtype=np.uint64), rng
    )


def ask_known(attack: Attack, observed: Floats, labels: Any = None, second: Any = None) -> Scores:
    """Guesses about records that the attacker knows too, for attacks that are not fitted to them."""
    known = Known(observed, labels, np.arange(len(observed)) % 2 == 0, second)
    return attack.guess(Evidence(observed, labels, known, second), np.random.default_rng(0))


def scaled_explanations(member: NDArray[np.bool_], features: int, ratio: float, rng: np.random.Generator) -> Floats:
    """Explanations φ = s·g with g standard normal, s = 1 for members and s = ratio for others."""
    return rng.normal(size=(len(member), features)) * np.where(member, 1.0, ratio)[:, None]


def cross_judge(
    attack: Attack, observed: Floats, member: Any, *, labels: Any = None, second: Any = None, half: Any = None
) -> Judged:
    """The attack on each half of the records while it knows the memberships in the other."""
    labels = np.zeros(len(member), int) if labels is None else labels
    half = np.arange(len(member)) % 2 if half is None else half
    guesses, _ = cross_guess(attack, observed, labels, member, half, np.random.default_rng(0), second=second)
    return Judged(guesses, member, scale_of(attack, half))


def with_names(audit: Audit, name: str) -> Audit:
    """The same audit with ``name`` wherever a user's own words can stand."""
    risk = replace(
        audit.strongest,
        release=name,
        attack=name,
        source=name,
        by_group=tuple(replace(group, column=name, level=name) for group in audit.strongest.by_group),
    )
    plain = next(one for one in audit.risks if one.attack == audit.strongest.attack)
    return with_claims(
        audit,
        verdict=_verdict_with_names(audit.verdict, name),
        strongest=risk,
        risks=(replace(risk, auc=plain.auc), *audit.risks),
        not_run=(NotRun(name, name, name),),
        warnings=(
            Caveat("not_cloneable", {"model": name, "error": name}),
            Caveat("no_groups_to_compare", {"column": name}),
        ),
        target=replace(audit.target, model=name),
        overlap=Overlap(1, (name,)),
        settings=audit.settings | {name: name, "groups": [name]},
        fingerprints={name: name},
        versions={name: name},
        seconds={name: 1.0},
        created=name,
        by_release=(*strongest_by_release([risk]), *audit.by_release),
        exposed=(ExposedRecord(name, 0.5, 1),),
        bounds=(Bound(Estimate(0.5, 0.0, 0.5, kind="upper bound"), name),),
        command=name,
        # As objects: texts of Arrow can't hold half a surrogate pair.
        records=pd.DataFrame({"id": pd.Series([name], dtype=object), "score": [0.5], "rank": [1]}),
    )


def _verdict_with_names(verdict: Verdict, name: str) -> Verdict:
    assert verdict.finding is not None
    return replace(
        verdict,
        finding=replace(verdict.finding, attack=name, release=name),
        support=tuple(replace(one, attack=name, release=name, column=name, level=name) for one in verdict.support),
    )


def around(value: float, half: float, *, n: int = 2 * JUDGED, method: str = "DeLong") -> Estimate:
    """An estimate with a symmetric interval."""
    return Estimate(value, value - half, value + half, n=n, method=method)


def _band(roc: Roc) -> Roc:
    """The curve with a band of some width around it."""
    low, high = (tuple(min(1.0, factor * tpr) for tpr in roc.tpr) for factor in (0.8, 1.2))
    return replace(roc, low=low, high=high)


def _for_choice(auc: Estimate) -> Estimate:
    """The interval of the best of six attacks, with four figures each, pays for the choice."""
    wider = 1.57 * (auc.high - auc.value)
    return replace(auc, low=auc.value - wider, high=auc.value + wider, confidence=CHOSEN)


def _auc(members: Floats, nonmembers: Floats) -> float:
    below = np.searchsorted(np.sort(nonmembers), members)
    return float(below.mean() / len(nonmembers))


def _tpr(members: Floats, nonmembers: Floats, rate: float) -> Estimate:
    tpr = float(np.mean(members > np.quantile(nonmembers, 1 - rate)))
    half = 1.96 * float(np.sqrt(tpr * (1 - tpr) / len(members) + rate / len(nonmembers)))
    if rate * len(nonmembers) < 10:
        needed = f"upper bound: false-positive rate {rate:g} needs {round(10 / rate):,} non-members, not {JUDGED:,}"
        return Estimate(tpr + half, 0.0, tpr + half, kind="upper bound", n=len(members), method=needed)
    return Estimate(tpr, max(0.0, tpr - half), tpr + half, n=len(members), method="Clopper-Pearson")


def _control(kind: Literal["never trained", "permuted"], auc: float) -> Control:
    return Control(
        kind, around(auc, 0.0127), around(2 * (auc - 0.5), 0.022), {rate: around(rate, rate / 4) for rate in RATES}
    )


def _exposed_group(risks: list[Risk]) -> ExposedGroup | None:
    """The group with the largest lower end, if that is above chance."""
    risk, group = max(
        ((risk, group) for risk in risks for group in risk.by_group),
        key=lambda pair: pair[1].auc.low,
        default=(risks[0], None),
    )
    if group is None or group.auc.low <= 0.5:
        return None
    sizes = group.members, group.nonmembers
    return ExposedGroup(risk.release, risk.attack, group.column, group.level, *sizes, group.auc)


def _groups(auc: float, spread: float = 1.0) -> tuple[GroupRisk, ...]:
    rows = (
        ("race", "White", 3412, 3405, -0.012, 0.022),
        ("race", "Black", 384, 391, 0.072, 0.055),
        ("race", "Asian-Pac-Islander", 121, 118, 0.031, 0.095),
        ("race", "(small groups)", 83, 86, 0.018, 0.115),
        ("sex", "Male", 2701, 2688, -0.009, 0.025),
        ("sex", "Female", 1299, 1312, 0.009, 0.025),
    )
    return tuple(
        GroupRisk(
            column=column,
            level=level,
            members=members,
            nonmembers=nonmembers,
            auc=around(auc + gap, 0.8 * half, n=members + nonmembers),
            advantage=around(1.4 * (auc + gap - 0.5), half, n=members + nonmembers),
            gap=around(gap, half, n=members + nonmembers, method="DeLong, Bonferroni over 6 groups"),
        )
        for column, level, members, nonmembers, apart, half in rows
        for gap in [spread * apart]
    )


def _roc(members: Floats, nonmembers: Floats) -> Roc:
    fpr = np.unique(np.concatenate([[0.0], np.geomspace(1 / len(nonmembers), 1, 120)]))
    thresholds = np.quantile(nonmembers, 1 - fpr)
    tpr = np.array([np.mean(members > threshold) for threshold in thresholds])
    tpr[-1] = 1.0
    return Roc(tuple(fpr.tolist()), tuple(tpr.tolist()))


def _histogram(members: Floats, nonmembers: Floats) -> Histogram:
    edges = np.linspace(0, 1, 21)
    ordered = np.sort(nonmembers)
    counts = [
        np.histogram(np.searchsorted(ordered, scores) / len(ordered), edges)[0].tolist()
        for scores in (members, nonmembers)
    ]
    return Histogram(tuple(edges.tolist()), tuple(counts[0]), tuple(counts[1]))


def _audited(retrained: bool) -> AuditedModel:
    performance = Performance("accuracy", around(0.962, 0.002), around(0.851, 0.006))
    return AuditedModel(
        model="Pipeline(ColumnTransformer, RandomForestClassifier)", task="classification", classes=2, features=14,
        members=30_162, nonmembers=15_060, judged=JUDGED, performance=performance,
        control_models=ControlModels(2, 15_081, performance.holdout) if retrained else None,
    )  # fmt: skip


def _records(strength: float) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    count = 30_162
    members, nonmembers = rng.normal(0.55 * strength, 1, count), np.sort(rng.normal(0, 1, JUDGED))
    frame = pd.DataFrame({"id": np.arange(count).astype(str), "score": np.searchsorted(nonmembers, members) / JUDGED})
    frame["rank"] = frame["score"].rank(ascending=False, method="min").astype("int64")
    return frame
