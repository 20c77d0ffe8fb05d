"""Defenses of record explanations: the share of the training set that attacks recover, release by release.

As in `leakscope.studies.reconstruct`, a logistic regression of two classes is trained with and without each record, on the records as
numbers in [0, 1], and the attacker queries explanations. Every attack is run on every release, and the largest share counts
(`record_rivals` has the intervals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from leakscope.core.errors import InputError
from leakscope.core.estimate import largest
from leakscope.core.result import Caveat, NotRun, plain_settings
from leakscope.defenses import Defended
from leakscope.defenses.fewer_records import refuse_record_explanations
from leakscope.evaluation.dominance import exact
from leakscope.evaluation.settings import Settings
from leakscope.learners.linear import read_records
from leakscope.models.encoding import make_encoding
from leakscope.models.target import Records, Target
from leakscope.releases.record_explanations.logistic import leave_one_out
from leakscope.releases.record_explanations.release import RecordRelease
from leakscope.studies.compare.plan import Limits, Planned
from leakscope.studies.compare.record_rivals import RivalReleases
from leakscope.studies.compare.result import AS_IT_IS, Recommendation, RecordComparison, RecordVersion
from leakscope.studies.reconstruct.reading import check_releases, read_holdout
from leakscope.studies.reconstruct.run import ReconstructionCase, prior_of
from leakscope.worlds.training import Progress

#: Training records, and held-out records that the attacker has, at most: models without each of them are trained.
MOST = 1000
#: Queries of one user where no defense allows fewer.
BUDGET = 2000
REPEATS = 5
PENALTY = 1.0
STREAM = 8_000_000  # of the drawing of records, apart from those of the attacks


def read_release(given: Any, target: Target, asked: Sequence[Planned]) -> RecordRelease | None:
    """The release that is compared, or None; a defense of a release that is not there is refused."""
    if given is None or given is False:
        if asked:
            raise InputError(
                f"{asked[0].defense} is a defense of record explanations: state that these are released with "
                "record_explanations=True (--record-explanations)"
            )
        return None
    release = RecordRelease() if given is True else given
    if not isinstance(release, RecordRelease):
        raise InputError(f"record_explanations must be True or a leakscope RecordRelease, not a {type(given).__name__}")
    if reason := refuse_record_explanations(target):
        raise InputError(f"what record explanations reveal can't be measured for this model: {reason}")
    return release


def compare_records(
    target: Target,
    planned: Sequence[Planned],
    release: RecordRelease,
    settings: Settings,
    limits: Limits,
    progress: Progress | None = None,
) -> RecordComparison:
    """Attack record explanations as they are and as each defense makes them.

    Parameters
    ----------
    planned
        Settings of defenses of record explanations.
    release
        What is released as it is.
    settings, limits, progress
        See `compare`; of the settings, confidence and seed are used.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> target = ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> found = compare_records(target, (), RecordRelease(k=1), Settings(), Limits(0.01, 0.05))
    >>> [(version.name, version.release, version.budget) for version in found.versions]
    [('as it is', '1 record', 2000)]
    """
    case, warnings, recorded = _make_case(target, release, settings.seed, settings.confidence)
    versions = [Planned(AS_IT_IS, "", "", "", "explanations as they are, without any defense", "", Defended())]
    releases, left_out = [(release, BUDGET)], []
    for version in planned:
        changed = releases[0] if version.made.records is None else version.made.records(*releases[0])
        if changed == releases[0]:
            left_out.append(NotRun("", version.name, "it changes nothing of the release as it is"))
        else:
            versions.append(version)
            releases.append(changed)
    rivals = RivalReleases(case, releases, limits)
    left_out += rivals.attack(progress)
    pairs = zip(rivals.dominating(significantly=False), rivals.dominating(significantly=True), strict=True)
    found = [_version(rivals, versions, at, *pair) for at, pair in enumerate(pairs)]
    recorded |= {"release": asdict(release), **asdict(limits)}
    recorded |= {"confidence of each": rivals.each}
    decided = _recommend(found, rivals)
    return RecordComparison(tuple(found), tuple(left_out), decided, tuple(warnings), plain_settings(recorded))


def _make_case(
    target: Target, release: RecordRelease, seed: int, confidence: float
) -> tuple[ReconstructionCase, list[Caveat], dict[str, Any]]:
    """The records as numbers in [0, 1], models of them without each, and what the attacker knows."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    encoding = make_encoding(target)
    members, others = (_some(records, rng) for records in (target.members, target.nonmembers))
    X, y, _ = read_records(encoding(members.X), members.y, "an audit of record explanations")
    low, spread = X.min(axis=0), np.ptp(X, axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    X = (X - low) / scale
    check_releases(release, (), (), X)
    outside, equal = read_holdout(((encoding(others.X) - low) / scale, others.y), X, y)
    prior = prior_of(X, None if outside is None else outside[0])
    case = ReconstructionCase(leave_one_out(X, y, PENALTY), X, y, prior, BUDGET, REPEATS, seed, confidence)
    warnings = [Caveat("record_explanations_of_another_model")]
    if len(members) < len(target.members):
        values = {"records": len(members), "training_records": len(target.members)}
        warnings.append(Caveat("sampled_record_explanations", dict(values)))
    settings = {
        "records": len(y),
        "of training records": len(target.members),
        "features": X.shape[1],
        "holdout": 0 if outside is None else len(outside[1]),
        "left out of holdout": equal,
        "penalty": PENALTY,
        "budget": BUDGET,
        "repeats": REPEATS,
        "seed": seed,
        "confidence": confidence,
    }
    return case, warnings, settings


def _some(records: Records, rng: np.random.Generator) -> Records:
    return records if len(records) <= MOST else records.take(np.sort(rng.permutation(len(records))[:MOST]))


def _version(
    rivals: RivalReleases, versions: Sequence[Planned], at: int, dominating: int | None, significantly: int | None
) -> RecordVersion:
    planned, (release, budget), shares = versions[at], rivals.releases[at], rivals.shares[at]
    useful = rivals.useful[at]
    return RecordVersion(
        **planned.about,
        release=release.words,
        budget=budget,
        strongest=max(shares, key=lambda name: shares[name].value),
        share=largest(list(shares.values())),
        shares=shares,
        ceiling=exact(rivals.ceiling(at)),
        change=None if at == 0 else rivals.risk_change(at, 0),
        answered=useful.answered,
        found=useful.found,
        best=useful.best,
        error=useful.error,
        dominated_by=None if dominating is None else versions[dominating].name,
        significantly_dominated_by=None if significantly is None else versions[significantly].name,
        notes=planned.made.notes,
    )


def _recommend(found: Sequence[RecordVersion], rivals: RivalReleases) -> Recommendation:
    """Decide what to do."""
    if found[0].share.high <= 0:
        return Recommendation("nothing_to_lower")
    lower = [at for at, version in enumerate(found) if version.change is not None and version.change.high < 0]
    if not lower:
        return Recommendation("not_lowered")
    within = [at for at in lower if rivals.within(rivals.gains(at, 0))]
    least = found[min(within or lower, key=lambda at: found[at].share.high)].name
    return Recommendation("use", least, least) if within else Recommendation("utility_limit", candidate=least)
