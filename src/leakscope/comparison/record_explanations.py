"""What defenses of explanations by records buy: the share of the training set that attacks recover, release by release.

As in `leakscope.reconstruction`, a logistic regression of two classes is trained with and without each record, on the records as
numbers in [0, 1], and an outsider asks for explanations. Every attack is run against every release, and the largest share counts
(`record_rivals` has the intervals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from leakscope.comparison.plan import Planned
from leakscope.comparison.record_rivals import Rivals
from leakscope.comparison.result import AS_IT_IS, Recommendation
from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun
from leakscope.defenses import Defended
from leakscope.defenses.encoding import make_encoding
from leakscope.defenses.fewer_records import refuse_record_explanations
from leakscope.errors import InputError
from leakscope.influence.logistic import leave_one_out
from leakscope.intervals import largest
from leakscope.learners.linear import read_records
from leakscope.reconstruction.reading import check_releases, read_holdout
from leakscope.reconstruction.release import RecordRelease, Usefulness
from leakscope.reconstruction.run import Case, prior_of
from leakscope.report.words import safe_text
from leakscope.target import Records, Target
from leakscope.worlds import Progress

#: Training records, and held-out records that the attacker has, at most: models without each of them are trained.
MOST = 1000
#: Questions of one asker where no defense says fewer.
BUDGET = 2000
REPEATS = 5
L2 = 1.0
STREAM = 8_000_000  # of the drawing of records, apart from those of the attacks


@dataclass(frozen=True)
class RecordVersion:
    """One release of explanations by records: as it is, or with one setting of one defense.

    Parameters
    ----------
    name, defense, knob, setting, what, source, notes
        Which it is.
    release, budget
        What an explanation shows, in words, and how many questions of one asker are answered.
    strongest, share, shares
        The attack that recovers most, the largest share of the training records that any attack recovers, and that of each
        attack; the intervals of all releases and attacks hold together.
    ceiling
        What no attack of one asker can pass: questions times records shown, as a share of the training records.
    change
        Change of the largest share from the release as it is; below 0 is less risk. None for the release as it is.
    usefulness
        What honest users still get.
    beaten_by, surely_beaten_by
        A release that is better by points in risk and usefulness, and one that surely is; None if there is none.
    """

    name: str
    defense: str
    knob: str
    setting: float | int | str
    what: str
    source: str
    release: str
    budget: int
    strongest: str
    share: Estimate
    shares: dict[str, Estimate]
    ceiling: float
    change: Estimate | None
    usefulness: Usefulness
    beaten_by: str | None
    surely_beaten_by: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RecordComparison:
    """Releases of explanations by records: the release as it is comes first.

    Parameters
    ----------
    not_run
        Settings that change nothing of this release, and attacks that can't be run on it.
    recommendation
        What the intervals allow to say.
    warnings
        What could mislead.
    settings
        How all was measured.
    """

    versions: tuple[RecordVersion, ...]
    not_run: tuple[NotRun, ...]
    recommendation: Recommendation
    warnings: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def as_it_is(self) -> RecordVersion:
        """The release without any defense."""
        return self.versions[0]

    def __getitem__(self, name: str) -> RecordVersion:
        return next(version for version in self.versions if version.name == name)

    def __repr__(self) -> str:
        return f"<RecordComparison of {len(self.versions)} releases: {self.recommendation.kind}>"

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON takes it."""
        return {
            "recommendation": asdict(self.recommendation),
            "versions": [asdict(version) for version in self.versions],
            "not_run": [asdict(item) for item in self.not_run],
            "warnings": list(self.warnings),
            "settings": self.settings,
        }


def read_release(given: Any, target: Target, asked: Sequence[Planned]) -> RecordRelease | None:
    """The release that is compared, or None where none is; a defense of one that isn't there is refused."""
    if given is None or given is False:
        if asked:
            raise InputError(
                f"{asked[0].defense} is a defense of explanations by records: say that these are released with "
                "record_explanations=True (--record-explanations)"
            )
        return None
    release = RecordRelease() if given is True else given
    if not isinstance(release, RecordRelease):
        raise InputError(f"record_explanations is True or a leakscope RecordRelease, not a {type(given).__name__}")
    if reason := refuse_record_explanations(target):
        raise InputError(f"what explanations by records give away can't be measured for this model: {reason}")
    return release


def compare_records(
    target: Target,
    planned: Sequence[Planned],
    release: RecordRelease,
    *,
    price: float,
    margin: float,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> RecordComparison:
    """Attack explanations by records as they are and as each defense makes them.

    Parameters
    ----------
    planned
        Settings of defenses of explanations by records.
    release
        What is released as it is.
    price, margin, confidence, seed, progress
        See `compare`.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> target = ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> found = compare_records(target, (), RecordRelease(k=1), price=0.01, margin=0.05)
    >>> [(version.name, version.release, version.budget) for version in found.versions]
    [('as it is', '1 record', 2000)]
    """
    case, warnings, settings = _make_case(target, release, seed, confidence)
    versions = [Planned(AS_IT_IS, "", "", "", "explanations as they are, without any defense", "", Defended())]
    releases, left_out = [(release, BUDGET)], []
    for version in planned:
        changed = releases[0] if version.made.records is None else version.made.records(*releases[0])
        if changed == releases[0]:
            left_out.append(NotRun("", version.name, "it changes nothing of the release as it is"))
        else:
            versions.append(version)
            releases.append(changed)
    rivals = Rivals(case, releases, price, margin)
    left_out += rivals.attack(progress)
    found = [_version(rivals, versions, at) for at in range(len(versions))]
    settings |= {"release": asdict(release), "price": price, "margin": margin, "confidence of each": rivals.each}
    return RecordComparison(tuple(found), tuple(left_out), _recommend(found, rivals), tuple(warnings), settings)


def _make_case(
    target: Target, release: RecordRelease, seed: int, confidence: float
) -> tuple[Case, list[str], dict[str, Any]]:
    """The records as numbers in [0, 1], models of them without each, and what the attacker knows."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    encoding = make_encoding(target)
    members, others = (_some(records, rng) for records in (target.members, target.nonmembers))
    X, y, _ = read_records(encoding(members.X), members.y, "an audit of explanations by records")
    low, spread = X.min(axis=0), np.ptp(X, axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    X = (X - low) / scale
    check_releases(release, (), (), X)
    outside, equal = read_holdout(((encoding(others.X) - low) / scale, others.y), X, y)
    prior = prior_of(X, None if outside is None else outside[0])
    case = Case(leave_one_out(X, y, L2), X, y, prior, BUDGET, REPEATS, seed, confidence)
    warnings = [
        "explanations by records are those of a logistic regression trained on the records as numbers, not of the compared model"
    ]
    if len(members) < len(target.members):
        warnings.append(
            f"explanations by records are measured on {len(members):,} of the {len(target.members):,} training records, drawn at "
            "random: the share that is recovered of all of them can differ"
        )
    settings = {
        "records": len(y),
        "of training records": len(target.members),
        "features": X.shape[1],
        "holdout": 0 if outside is None else len(outside[1]),
        "left out of holdout": equal,
        "l2": L2,
        "budget": BUDGET,
        "repeats": REPEATS,
        "seed": seed,
        "confidence": confidence,
    }
    return case, warnings, settings


def _some(records: Records, rng: np.random.Generator) -> Records:
    return records if len(records) <= MOST else records.take(np.sort(rng.permutation(len(records))[:MOST]))


def _version(rivals: Rivals, versions: Sequence[Planned], at: int) -> RecordVersion:
    planned, (release, budget), shares = versions[at], rivals.releases[at], rivals.shares[at]
    beaten, surely = (rivals.beaten(at, surely=surely) for surely in (False, True))
    return RecordVersion(
        name=planned.name,
        defense=planned.defense,
        knob=planned.knob,
        setting=planned.setting,
        what=planned.what,
        source=planned.source,
        release=release.words,
        budget=budget,
        strongest=max(shares, key=lambda name: shares[name].value),
        share=largest(list(shares.values())),
        shares=shares,
        ceiling=rivals.ceiling(at),
        change=None if at == 0 else rivals.risk_change(at, 0),
        usefulness=rivals.useful[at],
        beaten_by=None if beaten is None else versions[beaten].name,
        surely_beaten_by=None if surely is None else versions[surely].name,
        notes=planned.made.notes,
    )


def _recommend(found: Sequence[RecordVersion], rivals: Rivals) -> Recommendation:
    """What the intervals allow to say."""
    before = found[0]
    if before.share.high <= 0:
        return Recommendation("nothing to lower", None, "No attack recovers a training record from these explanations.")
    sure = [at for at, version in enumerate(found) if version.change is not None and version.change.high < 0]
    if not sure:
        tried = (
            "None of these releases of explanations by records"
            if len(found) > 1
            else "No other release was tried, so none"
        )
        return Recommendation(
            "no sure gain",
            None,
            f"{tried} surely lowers the share of the training records that attacks recover, {before.share} as it is.",
        )
    cheap = [at for at in sure if rivals.cheap(rivals.gains(at, 0))]
    least = min(cheap or sure, key=lambda at: found[at].share.high)
    version = found[least]
    changed = f"the share of the training records that attacks recover changes by {version.change} to {version.share}"
    if not cheap:
        return Recommendation(
            "at a price",
            None,
            f"Attacks on explanations by records can be made to recover less, but no release that surely does so surely keeps these "
            f"as useful, within {rivals.price:g}. Most by “{safe_text(version.name)}”: {changed}, and honest users find "
            f"{version.usefulness.found} of the {version.usefulness.best} best records.",
        )
    asked = f", if honest users ask no more than {version.budget:,} questions" if version.budget < before.budget else ""
    return Recommendation(
        "use",
        version.name,
        f"For explanations by records use “{safe_text(version.name)}”{asked}: {changed}, and each explanation surely stays as useful "
        f"as it is, within {rivals.price:g}.",
    )
