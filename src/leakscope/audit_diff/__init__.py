"""Two audits compared: what changed, and whether it is more than noise.

`changes` has the statistics and why they hold, `beyond` tells a change of the model from one of the records, `facts` says what else
differs, and `show` has the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from leakscope.audit_diff.beyond import ADVANTAGE, AUC, Records, compare_release, groups_in_doubt, rate_figure
from leakscope.audit_diff.changes import SHARE, SIGNED, Change, Ends, GroupChange, ReleaseChange, change_of_one
from leakscope.audit_diff.facts import (
    Fact,
    Listed,
    RecordsChange,
    StudyNumber,
    changed,
    changed_sides,
    compare_records,
    compare_studies,
    listed,
    same_data,
    settings_of,
)
from leakscope.errors import InputError
from leakscope.results import Audit, Estimate, Findings, GroupRisk, Risk

__all__ = ["AuditDiff", "diff"]

Kind = Literal["more", "less", "more and less", "may be the data", "no sure change", "not comparable"]


@dataclass(frozen=True)
class AuditDiff:
    """What changed between two audits.

    Parameters
    ----------
    kind
        ``more``: something surely leaks more than before and nothing surely less; ``may be the data``: figures surely moved, but
        nothing shows that the model moved them; and so on.
    sentence
        The same in words.
    not_comparable
        Why no risk was compared; empty where they were.
    old_verdict, new_verdict
        The kinds of the two verdicts.
    releases, groups, performance
        Figures in both audits with their differences. All these intervals hold together at ``confidence``.
    records
        Who is most exposed, where both audits name the same people.
    data
        For each set of records whether it is the same.
    attacks, release_names, group_names, warnings, studies
        What is in one audit only.
    study_numbers, settings, versions
        What else differs, without a test.
    notes
        What limits the comparison.
    comparisons
        How many comparisons the intervals pay for.
    """

    kind: Kind
    sentence: str
    not_comparable: tuple[str, ...]
    old_verdict: str
    new_verdict: str
    releases: tuple[ReleaseChange, ...]
    groups: tuple[GroupChange, ...]
    performance: tuple[Change, ...]
    records: RecordsChange | None
    data: dict[str, bool]
    attacks: Listed
    release_names: Listed
    group_names: Listed
    warnings: Listed
    studies: Listed
    study_numbers: tuple[StudyNumber, ...]
    settings: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    notes: tuple[str, ...]
    confidence: float
    comparisons: int

    @property
    def worse(self) -> bool:
        """Whether something surely got worse: a release leaks more, or a group that is more exposed stands out more."""
        return bool(self.worse_because)

    @property
    def worse_because(self) -> tuple[str, ...]:
        """What surely got worse, in words."""
        from leakscope.audit_diff.show import raised

        return raised(self, "more")

    @property
    def maybe_worse_because(self) -> tuple[str, ...]:
        """What surely rose, while that may be the data."""
        from leakscope.audit_diff.show import raised

        return raised(self, "may be the data")

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, texts and numbers, with the words that the intervals say."""
        from leakscope.audit_diff.show import with_words

        return {
            "worse": self.worse,
            "worse_because": list(self.worse_because),
            "maybe_worse_because": list(self.maybe_worse_because),
            **with_words(self, asdict(self)),
        }

    def __str__(self) -> str:
        from leakscope.audit_diff.show import render_text

        return render_text(self)


def diff(old: Audit, new: Audit) -> AuditDiff:
    """Say what changed between two audits, and whether it is more than noise.

    Compared are the attacks that both audits ran; see `leakscope.audit_diff.changes` for the intervals, and
    `leakscope.audit_diff.beyond` for how a change of the model is told from one of the records. Two audits of the same records are
    taken for independent, which makes intervals wider than they need be.

    Parameters
    ----------
    old, new
        Two audits, such as `leakscope.load` gives.

    Examples
    --------
    >>> from leakscope.auditing import audit
    >>> from leakscope.toys import constant, lookup
    >>> steady, leaky = constant(n=200), lookup(n=200)
    >>> old, new = (audit(toy.model, toy.train, toy.holdout, fit=toy.fit) for toy in (steady, leaky))
    >>> found = diff(old, new)
    >>> found.kind, found.worse
    ('more', True)
    """
    from leakscope.audit_diff.show import sentence

    for side, which in ((old, "old"), (new, "new")):
        if not side.risks:
            raise InputError(f"the {which} audit holds no attack, so that there is nothing to compare: audit again")
    reasons = _why_not_comparable(old, new)
    pairs = [] if reasons else _pairs(old, new)
    level = new.risks[0].auc.confidence
    measured = _performance_pairs(old, new)
    comparisons = _count(pairs) + len(measured)
    together = 1 - (1 - level) / max(1, comparisons)
    studies, numbers = compare_studies(old, new)
    records = Records.of(old, new)
    releases = _releases(pairs, together, records)
    kind: Kind = "not comparable" if reasons else _kind(releases)
    names = [[f"{one.column} = {one.level}" for one in side.strongest.by_group] for side in (old, new)]
    return AuditDiff(
        kind=kind,
        sentence=sentence(kind, reasons, releases, (old.verdict.kind, new.verdict.kind), same_records=records.same),
        not_comparable=tuple(reasons),
        old_verdict=old.verdict.kind,
        new_verdict=new.verdict.kind,
        releases=releases,
        groups=_group_changes(old, new, together, records) if pairs else (),
        performance=tuple(change_of_one(name, one, other, together, ends) for name, one, other, ends in measured),
        records=compare_records(old, new, level),
        data=same_data(old, new),
        attacks=listed(*([f"{risk.attack} on {risk.release}" for risk in side.risks] for side in (old, new))),
        release_names=listed(*([risk.release for risk in side.risks] for side in (old, new))),
        group_names=listed(*names),
        warnings=listed(old.warnings, new.warnings),
        studies=studies,
        study_numbers=numbers,
        settings=changed(settings_of(old), settings_of(new)),
        versions=changed(old.versions, new.versions),
        notes=tuple(_notes(old, new)),
        confidence=level,
        comparisons=comparisons,
    )


def _why_not_comparable(old: Audit, new: Audit) -> list[str]:
    """Differences after which a change of a figure would say nothing of the model."""
    said = []
    if old.target.task != new.target.task:
        said.append(f"the old audit is one of {old.target.task}, the new one of {new.target.task}")
    elif not _pairs(old, new):
        said.append("no attack was run on the same release in both")
    if old.risks[0].auc.confidence != new.risks[0].auc.confidence:
        said.append(f"confidence was {old.risks[0].auc.confidence:g} and is {new.risks[0].auc.confidence:g}")
    if old.settings.get("margin") != new.settings.get("margin"):
        said.append(f"the margin of the verdict was {old.settings.get('margin')} and is {new.settings.get('margin')}")
    return said


def _pairs(old: Audit, new: Audit) -> list[tuple[Risk, Risk]]:
    """The same attack on the same release in both audits, at the confidence of one attack."""
    before = {(risk.release, risk.attack): risk for risk in old.risks}
    return [(before[risk.release, risk.attack], risk) for risk in new.risks if (risk.release, risk.attack) in before]


def _count(pairs: Sequence[tuple[Risk, Risk]]) -> int:
    """All that may be compared: any attack may turn out to be the one that is shown, with all figures and all groups."""
    return sum(2 + len(_rates([pair])) + len(_groups_in_both(*pair)) for pair in pairs)


def _rates(pairs: Sequence[tuple[Risk, Risk]]) -> list[float]:
    """False-positive rates that both samples carry."""
    rates = dict.fromkeys(rate for _, risk in pairs for rate in risk.tpr_at_fpr)
    return [
        rate
        for rate in rates
        if all(rate in risk.tpr_at_fpr and risk.tpr_at_fpr[rate].kind == "estimate" for pair in pairs for risk in pair)
    ]


def _releases(pairs: Sequence[tuple[Risk, Risk]], confidence: float, records: Records) -> tuple[ReleaseChange, ...]:
    return tuple(
        _release(release, [pair for pair in pairs if pair[1].release == release], confidence, records)
        for release in dict.fromkeys(new.release for _, new in pairs)
    )


def _release(release: str, pairs: Sequence[tuple[Risk, Risk]], confidence: float, records: Records) -> ReleaseChange:
    rates = _rates(pairs)
    figures = [AUC, ADVANTAGE, *map(rate_figure, rates)]
    changes, beyond, doubt = compare_release(pairs, figures, confidence, records)
    before, after = (max((pair[side] for pair in pairs), key=lambda risk: risk.auc.low).attack for side in (0, 1))
    left_out = tuple(rate for rate in pairs[0][1].tpr_at_fpr if rate not in rates)
    return ReleaseChange(release, before, after, changes, left_out, beyond, doubt)


def _groups_in_both(old: Risk, new: Risk) -> list[tuple[GroupRisk, GroupRisk]]:
    before = {(group.column, group.level): group for group in old.by_group}
    return [
        (before[group.column, group.level], group) for group in new.by_group if (group.column, group.level) in before
    ]


def _group_changes(old: Audit, new: Audit, confidence: float, records: Records) -> tuple[GroupChange, ...]:
    """Groups of both audits under the strongest attack of the new one; none where the old audit did not run it."""
    strongest = (new.strongest.release, new.strongest.attack)
    found = [pair for pair in _pairs(old, new) if (pair[1].release, pair[1].attack) == strongest]
    changes = []
    for one, other in (both for pair in found for both in _groups_in_both(*pair)):
        gap = change_of_one("gap", one.gap, other.gap, confidence, SIGNED)
        doubt = gap.direction != 0 and groups_in_doubt(found, confidence, records)
        changes.append(GroupChange(one.column, one.level, replace(gap, in_doubt=doubt)))
    return tuple(changes)


def _performance_pairs(old: Findings, new: Findings) -> list[tuple[str, Estimate, Estimate, Ends | None]]:
    """Name, old, new and ends of the scale."""
    before, after = old.target.performance, new.target.performance
    if before is None or after is None or before.metric != after.metric:
        return []
    ends = SHARE if after.metric == "accuracy" else None
    return [
        (f"{after.metric} on training records", before.train, after.train, ends),
        (f"{after.metric} on held-out records", before.holdout, after.holdout, ends),
    ]


def _kind(releases: Sequence[ReleaseChange]) -> Kind:
    words = {change.word for release in releases for change in release.changes}
    if {"more", "less"} <= words:
        return "more and less"
    kinds: tuple[Kind, ...] = ("more", "less", "may be the data")
    return next((kind for kind in kinds if kind in words), "no sure change")


def _notes(old: Audit, new: Audit) -> list[str]:
    said = []
    same = same_data(old, new)
    if same and all(same.values()):
        said.append(
            "Both audits judged the same records, so intervals are wider than need be: a small change may be real and go unseen."
        )
    if changed_sides(old, new):
        said.append(
            "Records changed sides between training and holdout: intervals may be too narrow, by a factor of 1.4 at most."
        )
    return said
