"""Audit of record explanations: train with and without each record, then run every attack on the oracle.

The records that attacks recover are training records, so there are no false positives. The control of the attacks is to look every recovered row up in the
training set (`Reconstructed.wrong`). Membership inference attacks have the controls of `leakscope.evaluation.risk`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.attacks import RECONSTRUCTIONS
from leakscope.attacks.membership_record_explanation import by_group, explains_itself, self_revelation
from leakscope.core import intervals
from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun, plain_settings
from leakscope.core.threads import one_thread
from leakscope.core.versions import stamp
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import Records
from leakscope.evaluation.prepare import FEWEST
from leakscope.evaluation.record_explanation import membership_risks
from leakscope.evaluation.results import Risk
from leakscope.learners.linear import read_records
from leakscope.releases.oracle import MOST_DIGITS, Prior, Recovered
from leakscope.releases.record_explanations.explanation import LeftOut
from leakscope.releases.record_explanations.graph import InfluenceGraph
from leakscope.releases.record_explanations.logistic import LeaveOneOut, leave_one_out
from leakscope.releases.record_explanations.release import RecordRelease, Usefulness, nearest
from leakscope.studies.inputs import Steps, formerly
from leakscope.studies.reconstruct.claims import caveats, claims
from leakscope.studies.reconstruct.reading import check_effort, check_releases, read_groups, read_holdout
from leakscope.studies.reconstruct.result import DefendedRelease, GraphFacts, Reconstructed, ReconstructionAudit
from leakscope.worlds.training import Progress

FEW = f"they need at least {FEWEST} different training records and as many held-out records"
UNUSUAL = "distance to nearest"  # a column of groups that is always there
SELF = (1, 5, 10)  # numbers of records for self-revelation [shokri2019, Fig. 6]
HONEST = 1000  # points at which utility is measured
OTHERS = 1_000_000  # stream of the holdout's split, apart from those of the attacks


@dataclass(frozen=True, eq=False)
class ReconstructionCase:
    """A training set with its models, what an attacker knows, and how much is run."""

    models: LeaveOneOut
    X: Floats
    y: NDArray[Any]
    prior: Prior
    budget: int
    repeats: int
    seed: int
    confidence: float


@formerly(l2="penalty", budget="queries", repeats="runs")
def reconstruct(
    X: Any,
    y: Any,
    *,
    holdout: Any = None,
    release: RecordRelease | None = None,
    penalty: float = 1.0,
    attacks: Sequence[str] | None = None,
    queries: int = 5000,
    groups: pd.DataFrame | None = None,
    ids: Any = None,
    defended: Sequence[RecordRelease] | Literal["usual"] = (),
    precision: Sequence[int] = (),
    runs: int = 3,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> ReconstructionAudit:
    """Train a logistic regression, and measure what record explanations reveal of its training records.

    Parameters
    ----------
    X, y
        The training records, as numbers of similar size such as [0, 1], and their labels, of two classes.
    holdout
        ``(X, y)`` of records from the same population that are not trained on: known to the attacker, and the non-members of the membership inference
        attacks. Without it, attacks that need records are listed as not run.
    release
        What an explanation shows; by default five records with their influences.
    penalty
        Weight λ of λ/2·‖w‖², which is added to the *sum* of log-losses: 1/C in scikit-learn. The ``l2`` of `leakscope.learners` is the
        weight of ‖w‖², which is added to the *mean* loss, so that λ is 2·n·``l2``.
    attacks
        Names from `leakscope.attacks.RECONSTRUCTIONS`, by default all.
    queries
        Number of queries that an attacker may make.
    groups
        Columns of groups to compare, with a row for each training record.
    ids
        Names of the training records in the table of records; by default their position.
    defended
        Other releases to compare with, or ``usual`` for `usual_defenses`: what attacks recover through them, and their utility.
    precision
        Numbers of significant digits: what subspace reduction recovers when influences are rounded to each.
    runs
        Runs of each attack; intervals are over these.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 4))
    >>> y = X[:, 0] + rng.normal(0, 0.3, 60) > 0.5
    >>> found = reconstruct(X, y, attacks=["uniform", "subspace"], queries=100)
    >>> [(one.attack, one.wrong) for one in found.attacks]
    [('static queries (uniform)', 0), ('subspace reduction', 0)]
    """
    names = check_effort(attacks, queries, runs, penalty, seed, confidence)
    release = RecordRelease() if release is None else release
    features, labels, _ = read_records(X, y, "an audit of explanations")
    check_releases(release, defended, precision, features)
    outside, left_out = read_holdout(holdout, features, labels)
    levels = {UNUSUAL: _how_unusual(features)} | dict(read_groups(groups, len(labels)))
    names_of = np.arange(len(labels)) if ids is None else np.asarray(ids)
    if names_of.shape != labels.shape:
        raise InputError(f"ids must be one id for each of the {len(labels)} training records")
    prior = prior_of(features, None if outside is None else outside[0])
    ready, refused = _choose(names, release, prior)
    models = leave_one_out(features, labels, penalty, progress=progress)
    case = ReconstructionCase(models, features, labels, prior, int(queries), int(runs), seed, confidence)
    others = usual_defenses(models, features, release) if defended == "usual" else tuple(defended)
    rounded = {digits: replace(release, digits=digits) for digits in sorted(set(precision))}
    count = Steps("attacking", len(ready) + len(names) * len(others) + len(rounded), progress)
    attacked = {}
    for name in ready:
        attacked[name] = run_attack(case, release, name)
        count()
    ks = [k for k in sorted({*SELF, release.k}) if k <= len(labels)]
    shown = _explained(case, release, max(ks))
    own = {int(k): explains_itself(features, shown, k) for k in ks}
    membership, together = ((), ()) if outside is None else _membership(case, release, *outside, penalty)
    found = ReconstructionAudit(
        release=release.words,
        self_revealing={k: intervals.proportion(int(shown.sum()), len(labels), confidence) for k, shown in own.items()},
        groups=tuple(by_group(own[int(release.k)], levels, confidence)),
        membership=membership,
        attacks=tuple(_summarise(case, name, found, levels) for name, found in attacked.items()),
        not_run=(*refused, *([] if membership else [NotRun(release.words, "membership attacks", FEW)])),
        graph=_graph(shown[:, : release.k]),
        defended=tuple(_defend(case, other, names, count) for other in others),
        precision={
            int(digits): _recovered(case, other, "subspace", count) for digits, other in rounded.items()
        },
        accuracy=None if outside is None else _accuracy(case, *outside),
        settings=plain_settings(_settings(case, release, names, penalty)),
        records=_per_record(own, attacked, names_of),
        **stamp(),
    )  # fmt: skip
    return replace(found, claims=tuple(claims(found, together)), warnings=tuple(caveats(found, left_out)))


def prior_of(features: Floats, outside: Floats | None) -> Prior:
    """Give what an attacker knows: the range of each column over all records, and the records that were not trained on."""
    known = features if outside is None else np.vstack([features, outside])
    return Prior(known.min(axis=0), known.max(axis=0), outside)


def _how_unusual(X: Floats) -> NDArray[Any]:
    """Tell whether a record is in the tenth with the largest distance to the nearest other record: outliers are more exposed."""
    distances = nearest(X, X, skip=1)
    far = distances >= np.quantile(distances, 0.9)
    return np.where(far, "farthest tenth", "others").astype(object)


def _settings(case: ReconstructionCase, release: RecordRelease, names: Sequence[str], penalty: float) -> dict[str, Any]:
    return {
        "model": "logistic regression",
        "records": len(case.y),
        "features": case.X.shape[1],
        "classes": [str(name) for name in case.models.classes],
        "holdout": 0 if case.prior.records is None else len(case.prior.records),
        "penalty": float(penalty),
        "release": asdict(release),
        "attacks": list(names),
        "budget": case.budget,
        "repeats": case.repeats,
        "seed": case.seed,
        "confidence": case.confidence,
        "gradient_norm": case.models.gradient_norm,
    }


def usual_defenses(models: LeftOut, X: Floats, release: RecordRelease) -> tuple[RecordRelease, ...]:
    """Give a release and stricter ones: fewer records, hidden or rounded influences, noise, distant queries refused.

    The standard deviation of the noise is the median of the smallest influence that is shown, and ten times that.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 4))
    >>> loo = leave_one_out(X, X[:, 0] + rng.normal(0, 0.3, 60) > 0.5)
    >>> [other.words for other in usual_defenses(loo, X, RecordRelease())[:3]]
    ['5 records', '1 record', '5 records, influences hidden']
    """
    points = X[:HONEST]
    least = float(np.median(np.abs(release.explanation.explain(models, points).influences[:, -1])))
    fewer = [digits for digits in (6, 3, 1) if release.values and digits < (release.digits or MOST_DIGITS)]
    near = release.near if release.near is not None or len(np.unique(X, axis=0)) < 2 else 0.99
    found = [
        release,
        replace(release, k=1),
        replace(release, values=False, digits=None),
        *(replace(release, digits=digits) for digits in fewer),
        *(replace(release, noise=noise) for noise in (least, 10 * least) if noise > release.noise),
        replace(release, near=near),
        replace(release, k=1, values=False, digits=None, near=near),
    ]
    return tuple(dict.fromkeys(found))


def _choose(names: Sequence[str], release: RecordRelease, prior: Prior) -> tuple[list[str], list[NotRun]]:
    ready, refused = [], []
    for name in names:
        attack = RECONSTRUCTIONS[name]
        reason = attack.refuse(release.values, prior)
        if reason is None:
            ready.append(name)
        else:
            refused.append(NotRun(release.words, attack.name, reason))
    if not ready:
        raise InputError(f"none of the attacks can be run: {refused[0].attack}, {refused[0].reason}")
    return ready, refused


def run_attack(case: ReconstructionCase, release: RecordRelease, name: str) -> list[Recovered]:
    """Run one attack several times, each with an oracle and a generator of its own; the numbers do not depend on other attacks."""
    from joblib import cpu_count

    place = list(RECONSTRUCTIONS).index(name)

    def run(repeat: int) -> Recovered:
        rng = np.random.default_rng(np.random.SeedSequence(case.seed, spawn_key=(place, repeat)))
        oracle = release.oracle(case.models, case.X, case.y, budget=case.budget, seed=int(rng.integers(2**31)))
        return RECONSTRUCTIONS[name].run(oracle, case.prior, rng)

    with one_thread(), ThreadPoolExecutor(cpu_count()) as pool:
        return list(pool.map(run, range(case.repeats)))


def over_runs(values: Any, confidence: float, low: float = 0.0, high: float = np.inf) -> Estimate:
    """Give the mean over runs of an attack with Student's interval, cut to the possible range."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2 or np.ptp(values) == 0:
        value = float(values[0])
        same = f"{len(values)} runs that agree" if len(values) > 1 else "one run, without an interval"
        return Estimate(value, value, value, confidence, n=len(values), method=same)
    found = intervals.mean(values, confidence)
    return Estimate(
        found.value, max(found.low, low), min(found.high, high), confidence, n=len(values), method="runs of the attack"
    )


def _summarise(
    case: ReconstructionCase, name: str, runs: Sequence[Recovered], groups: Mapping[str, NDArray[Any]]
) -> Reconstructed:
    n = len(case.y)
    last = max(1, *(run.queries for run in runs))
    steps = [digit * 10**power for power in range(len(str(last))) for digit in (1, 2, 5)]
    grid = np.array([*(step for step in steps if step < last), last])
    shares = np.array([run.after(grid) / n for run in runs])
    fell = np.zeros(n, bool)
    fell[runs[0].records] = True
    return Reconstructed(
        attack=RECONSTRUCTIONS[name].name,
        source=RECONSTRUCTIONS[name].source,
        records=over_runs([len(run) for run in runs], case.confidence, high=n),
        share=over_runs([len(run) / n for run in runs], case.confidence, high=1.0),
        queries=over_runs([run.queries for run in runs], case.confidence, high=case.budget),
        wrong=sum(_wrong(case, run) for run in runs),
        curve=tuple((int(at), over_runs(shares[:, place], case.confidence, high=1.0)) for place, at in enumerate(grid)),
        by_group=tuple(by_group(fell, groups, case.confidence)),
        why=str(runs[-1].notes.get("why", "")),
    )


def _wrong(case: ReconstructionCase, run: Recovered) -> int:
    """Count recovered rows that differ from the training record of that id."""
    same = (case.X[run.records] == run.rows).all(axis=1) & (case.y[run.records] == run.labels)
    return int(len(run) - same.sum())


def _membership(
    case: ReconstructionCase, release: RecordRelease, X: Floats, y: NDArray[Any], penalty: float
) -> tuple[tuple[Risk, ...], tuple[Risk, ...]]:
    """Run membership inference attacks: their risks, and the same with simultaneous intervals.

    Half of the holdout trains the models that never saw the members, if it has enough records.
    """
    order = np.random.default_rng(np.random.SeedSequence(case.seed, spawn_key=(OTHERS,))).permutation(len(y))
    outside, other = order[: len(y) // 2][: len(case.y)], order[len(y) // 2 :][: len(case.y)]
    if not _can_train(y[other]) or release.k > len(other):
        outside, other = order[: len(case.y)], order[:0]
    if min(len(np.unique(row_hashes(rows))) for rows in (case.X, X[outside])) < FEWEST:
        return (), ()
    control = leave_one_out(X[other], y[other], penalty) if len(other) else None
    members, nonmembers = (
        Records(rows, (labels == case.models.classes[1]).astype(np.int64), np.arange(len(labels)))
        for rows, labels in ((case.X, case.y), (X[outside], y[outside]))
    )

    def risks(confidence: float) -> tuple[Risk, ...]:
        return membership_risks(
            release.oracle(case.models, case.X, case.y, seed=case.seed),
            members,
            nonmembers,
            never_trained=None if control is None else release.oracle(control, X[other], y[other], seed=case.seed),
            attacks=None if release.values else (self_revelation(),),
            confidence=confidence,
            seed=case.seed,
        )

    found = risks(case.confidence)
    return found, found if len(found) == 1 else risks(1 - (1 - case.confidence) / len(found))


def _can_train(labels: NDArray[Any]) -> bool:
    """Whether models without each of these records can be trained: two records of two classes."""
    counts = np.unique(labels, return_counts=True)[1]
    return len(counts) == 2 and counts.min() >= 2


def _explained(case: ReconstructionCase, release: RecordRelease, k: int) -> Indices:
    """The records (n, k) that explain each training record, as released: with its noise, if there is any."""
    oracle = replace(release, k=k, near=None).oracle(case.models, case.X, case.y, seed=case.seed)
    return oracle.query(case.X).records


def _graph(targets: Indices) -> GraphFacts:
    graph = InfluenceGraph(targets)
    sizes, degrees, mean = graph.component_sizes, graph.in_degrees, float(graph.reachable.mean())
    return GraphFacts(
        components=len(sizes),
        single_components=int((sizes == 1).sum()),
        largest_component=int(sizes.max()),
        largest_in_degree=int(degrees.max()),
        in_degree_zero=int((degrees == 0).sum()),
        reachable=Estimate(mean, mean, mean, kind="exact", n=len(graph), method="every start"),
    )


def _defend(case: ReconstructionCase, release: RecordRelease, names: Sequence[str], count: Steps) -> DefendedRelease:
    """Measure what attacks recover through another release, and its utility."""
    shares = {}
    for name in names:
        if RECONSTRUCTIONS[name].refuse(release.values, case.prior) is None:
            shares[RECONSTRUCTIONS[name].name] = _recovered(case, release, name, count)
        else:
            count()
    strongest = max(shares, key=lambda name: shares[name].value) if shares else ""
    useful = usefulness_of(case, release, case.confidence)
    return DefendedRelease(release.words, strongest, shares.get(strongest), shares, useful)


def usefulness_of(case: ReconstructionCase, release: RecordRelease, confidence: float) -> Usefulness:
    """Measure the utility for users who ask about held-out records, or about training records where there are no others."""
    honest = case.X if case.prior.records is None else case.prior.records
    points = honest[np.random.default_rng(case.seed).permutation(len(honest))[:HONEST]]
    return release.usefulness(
        case.models, case.X, case.y, points, trained=case.prior.records is None, seed=case.seed, confidence=confidence
    )


def _recovered(case: ReconstructionCase, release: RecordRelease, name: str, count: Steps) -> Estimate:
    """Measure the share that one attack recovers."""
    found = [len(run) / len(case.y) for run in run_attack(case, release, name)]
    count()
    return over_runs(found, case.confidence, high=1.0)


def _accuracy(case: ReconstructionCase, X: Floats, y: NDArray[Any]) -> Estimate:
    right = (case.models.probabilities(X) >= 0.5) == (y == case.models.classes[1])
    return intervals.proportion(int(right.sum()), len(y), case.confidence)


def _per_record(
    own: Mapping[int, Booleans], runs: Mapping[str, Sequence[Recovered]], ids: NDArray[Any]
) -> pd.DataFrame:
    count = len(ids)
    smallest = np.zeros(count, dtype=int)
    for k in sorted(own, reverse=True):
        smallest[own[k]] = k
    columns: dict[str, Any] = {
        "record": np.arange(count),
        "id": ids if ids.dtype.kind in "iu" else ids.astype("str"),
        "self_revealed_at": smallest,
    }
    for name, found in runs.items():
        fell = np.zeros(count)
        for run in found:
            fell[run.records] += 1 / len(found)
        columns[name] = fell.round(6)
    return pd.DataFrame(columns)
