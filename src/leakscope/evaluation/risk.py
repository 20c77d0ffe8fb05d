"""Risk of an attack from its scores: AUC, advantage and TPR at low FPR with intervals, overall and by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.attacks.protocol import Attack, Scores
from leakscope.core import intervals
from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.checks import check_confidence, check_share
from leakscope.core.estimate import Estimate
from leakscope.core.ranking import (
    Ordered,
    Ranking,
    Scale,
    ScoreSplit,
    best_threshold,
    count_below,
    numbers_in,
    order_scores,
    placed,
    split,
)
from leakscope.data.small_groups import NOT_SHOWN
from leakscope.evaluation.groups import GroupColumn, group_risks
from leakscope.evaluation.results import Control, ExposedGroup, GroupRisk, Histogram, Risk, Roc

FALSE_POSITIVE_RATES = (0.1, 0.01, 0.001)


class Confidence(NamedTuple):
    """Confidence of the AUC and related figures, and of each true-positive rate."""

    auc: float
    rates: float


@dataclass(frozen=True)
class Figures:
    """The four figures of one set of scores; their definitions are in :class:`~leakscope.evaluation.results.Risk`."""

    auc: Estimate
    advantage: Estimate
    accuracy: Estimate
    tpr_at_fpr: dict[float, Estimate]


def score(
    scores: Floats,
    member: Booleans,
    *,
    scale: Scale | None = None,
    says_member: Floats | None = None,
    confidence: float = 0.95,
    fprs: tuple[float, ...] = FALSE_POSITIVE_RATES,
) -> Figures:
    """Return the figures with intervals from scores (higher: more likely a member) and the true memberships.

    ``scale`` states which scores can be compared; by default all. Without ``says_member`` the advantage is taken at the
    threshold that is best on other records.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = np.repeat([True, False], 1000)
    >>> figures = score(rng.normal(member, 1.0), member)
    >>> figures.auc
    0.75 [0.72, 0.78]
    """
    check_confidence(confidence)
    for fpr in fprs:
        check_share("each of fprs", fpr)
    parts = split(scores, member, scale)
    told = [_best_threshold_decisions(part) for part in parts]
    says = told if says_member is None else split(says_member, member, scale)
    return _figures(Ranking.of(parts), told, says, [Confidence(confidence, confidence)], fprs)[0]


def _figures(
    ranking: Ranking,
    told: Sequence[ScoreSplit],
    says: Sequence[ScoreSplit],
    confidences: Sequence[Confidence],
    fprs: tuple[float, ...],
) -> list[Figures]:
    """Figures at each confidence from the sorted scores, the decisions at the best threshold, and the attack's own decisions."""
    # Two halves that choose thresholds for each other depend on each other, and so do strata of one block.
    dependent = 2 * max(np.bincount(ranking.blocks))
    records = sum(part.size for part in told)
    right = sum(np.sum(part.members) + len(part.nonmembers) - np.sum(part.nonmembers) for part in told)
    shared = zip(confidences, *_common(ranking, says, confidences, fprs), strict=True)
    return [
        Figures(
            auc,
            advantage,
            intervals.proportion(round(float(right)), records, one.auc, independent=-(-records // dependent)),
            tprs,
        )
        for one, auc, advantage, tprs in shared
    ]


def _common(
    ranking: Ranking, says: Sequence[ScoreSplit], confidences: Sequence[Confidence], fprs: tuple[float, ...]
) -> tuple[list[Estimate], list[Estimate], list[dict[float, Estimate]]]:
    """AUC, advantage and true-positive rates of an attack or of a control, at each confidence."""
    return (
        [intervals.auc(ranking, one.auc) for one in confidences],
        intervals.mean_differences(says, [one.auc for one in confidences]),
        intervals.tprs_at_confidences(ranking, fprs, [one.rates for one in confidences]),
    )


def _best_threshold_decisions(part: ScoreSplit) -> ScoreSplit:
    """Decisions if each half of the records uses the threshold that is best on the other half."""
    says = ScoreSplit(np.empty(len(part.members)), np.empty(len(part.nonmembers)), part.block)
    for half in (0, 1):
        threshold = best_threshold(part.members[1 - half :: 2], part.nonmembers[1 - half :: 2])
        says.members[half::2] = part.members[half::2] >= threshold
        says.nonmembers[half::2] = part.nonmembers[half::2] >= threshold
    return says


def exposure(scores: Floats, stratum: Indices, nonmember_scores: Floats, nonmember_stratum: Indices) -> Floats:
    """Return one minus the conformal p-value of each record: the share of non-members with at least its score.

    For non-members, the p-value is at most u with probability at most u. Scores are compared within a stratum.

    Examples
    --------
    >>> one = np.zeros(9, int)
    >>> exposure(np.array([9.0, 0.0]), one[:2], np.arange(1.0, 10.0), one)
    array([0.8, 0. ])
    """
    shown = np.zeros(len(scores))
    for number in numbers_in(stratum):
        rows, ordered = stratum == number, np.sort(nonmember_scores[nonmember_stratum == number])
        at_least = len(ordered) - np.searchsorted(ordered, scores[rows], side="left")
        shown[rows] = 1 - (1 + at_least) / (len(ordered) + 1)
    return shown


@dataclass(frozen=True)
class Judged:
    """Scores and decisions of records with known membership, and which scores can be compared."""

    attack_scores: Scores
    member: Booleans
    scale: Scale

    def take(self, rows: Booleans) -> Judged:
        guesses = Scores(self.attack_scores.score[rows], self.attack_scores.says_member[rows])
        return Judged(guesses, self.member[rows], self.scale.take(rows))

    @cached_property
    def scores(self) -> list[ScoreSplit]:
        return split(self.attack_scores.score, self.member, self.scale)

    @cached_property
    def ordered(self) -> list[Ordered]:
        """The records by score: sorted once, and used for every figure."""
        return order_scores(self.attack_scores.score, self.member, self.scale)

    @cached_property
    def ranking(self) -> Ranking:
        return Ranking.in_order(self.attack_scores.score, self.ordered)

    @cached_property
    def placed(self) -> Floats:
        """Placement of each record (`ranking.Stratum`)."""
        return placed(self.ordered)

    def placed_within(self, scale: Scale) -> Floats:
        """The same where other records can be compared."""
        if np.array_equal(scale.stratum, self.scale.stratum):
            return self.placed
        if len(self.ordered) == 1:
            return placed(self.ordered[0].within(scale))
        return placed(order_scores(self.attack_scores.score, self.member, scale))

    def beyond(self, blind: Judged) -> Callable[[float], Estimate]:
        """AUC beyond that of the blind baseline on the same records, compared where those of the baseline can be."""
        changes = self.placed_within(blind.scale) - blind.placed
        return intervals.mean_change(split(changes, self.member, blind.scale))

    @cached_property
    def told(self) -> list[ScoreSplit]:
        return [_best_threshold_decisions(part) for part in self.scores]

    @cached_property
    def says(self) -> list[ScoreSplit]:
        return split(self.attack_scores.says_member, self.member, self.scale)


@dataclass(frozen=True)
class JudgedAttack:
    """The scores of one attack: on the target, with permuted memberships, and on the control if any.

    ``permuted`` is None after the assessment, and if a control makes it unnecessary.
    """

    attack: Attack
    target: Judged
    permuted: Judged | None
    control: Judged | None


def assess(
    trial: JudgedAttack,
    blind: Judged | None,
    groups: Mapping[str, NDArray[Any]] | Sequence[GroupColumn],
    *,
    confidences: Sequence[float | Confidence],
    fprs: tuple[float, ...] = FALSE_POSITIVE_RATES,
) -> list[Risk]:
    """Return the risk of one release under one attack, with its controls and the blind baseline, at each confidence.

    ``blind`` is None if only the released values are known. A plain number is the confidence of all intervals. If memberships
    were not permuted, ``permuted`` of the risk is its control. Groups are columns of levels, or the `group_columns` of these.
    """
    judged = trial.target
    both = [one if isinstance(one, Confidence) else Confidence(one, one) for one in confidences]
    by_group = assess_groups(judged, groups, [one.auc for one in both])
    beyond_blind = None if blind is None else judged.beyond(blind)
    beyond_control, unseen_model = None, None
    if trial.control is not None:
        unseen_model = replace(trial.control)  # what is cached in the copy goes with it
        beyond_control = _beyond_control(judged, unseen_model)
    controls = _controls("never trained", unseen_model, both, fprs)
    del unseen_model
    shuffled = _controls("permuted", None if trial.permuted is None else replace(trial.permuted), both, fprs)
    curve, bars = roc(judged.ranking), histogram(judged)
    found = _figures(judged.ranking, judged.told, judged.says, both, fprs)
    risks = []
    for (confidence, rates), of_groups, unseen, of_shuffled, figures in zip(
        both, by_group, controls, shuffled, found, strict=True
    ):
        permuted = unseen if of_shuffled is None else of_shuffled
        assert permuted is not None
        control = permuted if unseen is None else unseen
        blind_auc = None if blind is None else intervals.auc(blind.ranking, confidence)
        rivals = [] if unseen is None else [unseen.tpr_at_fpr]
        if blind is not None and blind_auc is not None and (not rivals or intervals.suspicious(blind_auc)):
            rivals.append(intervals.tprs_at_fprs(blind.ranking, fprs, rates))
        risks.append(
            Risk(
                release=trial.attack.release,
                attack=trial.attack.name,
                source=trial.attack.source,
                auc=figures.auc,
                advantage=figures.advantage,
                accuracy=figures.accuracy,
                tpr_at_fpr=figures.tpr_at_fpr,
                control=control,
                permuted=permuted,
                blind=blind_auc,
                beyond_blind=None if beyond_blind is None else beyond_blind(confidence),
                beyond_control=intervals.difference(figures.auc, control.auc)
                if beyond_control is None
                else beyond_control(confidence),
                tpr_beyond=_tpr_beyond(figures.tpr_at_fpr, rivals),
                by_group=of_groups,
                roc=curve,
                histogram=bars,
            )
        )
    return risks


def _beyond_control(target: Judged, control: Judged) -> Callable[[float], Estimate]:
    return intervals.auc_beyond_control((target.ranking, target.ordered), (control.ranking, control.ordered))


def _tpr_beyond(ours: Mapping[float, Estimate], rivals: Sequence[Mapping[float, Estimate]]) -> dict[float, Estimate]:
    """Smallest difference of a rate to those of the rivals, if there are any and the sample supports the rates."""
    if not rivals:
        return {}
    carried = [fpr for fpr in ours if all(rates[fpr].kind == "estimate" for rates in (ours, *rivals))]
    return {
        fpr: min((intervals.difference(ours[fpr], theirs[fpr]) for theirs in rivals), key=lambda beyond: beyond.low)
        for fpr in carried
    }


def _controls(
    kind: Literal["permuted", "never trained"],
    judged: Judged | None,
    confidences: Sequence[Confidence],
    fprs: tuple[float, ...],
) -> list[Control | None]:
    """Figures of a control at each confidence; None for each where there is no control."""
    if judged is None:
        return [None] * len(confidences)
    figures = zip(*_common(judged.ranking, judged.says, confidences, fprs), strict=True)
    return [Control(kind, auc, advantage, tprs) for auc, advantage, tprs in figures]


def group_columns(groups: Mapping[str, NDArray[Any]]) -> list[GroupColumn]:
    """Return the groups as codes, without the records that belong to no reported group.

    Examples
    --------
    >>> group_columns({"sex": np.array(["m", "f", "m"], object)})
    [GroupColumn(name='sex', levels=['f', 'm'], codes=array([1, 0, 1]))]
    """
    columns = []
    for column, levels in groups.items():
        codes, names = pd.factorize(levels, sort=True)
        shown = names != NOT_SHOWN
        places = np.where(shown, np.cumsum(shown) - 1, -1)
        columns.append(GroupColumn(column, names[shown].tolist(), places[codes]))
    return columns


def assess_groups(
    judged: Judged, groups: Mapping[str, NDArray[Any]] | Sequence[GroupColumn], confidences: Sequence[float]
) -> list[tuple[GroupRisk, ...]]:
    """Return each group's risk and its gap to its complement, at each confidence; see `groups`."""
    if not groups:
        return [()] * len(confidences)
    columns = group_columns(groups) if isinstance(groups, Mapping) else groups
    return group_risks(judged.ordered, judged.attack_scores.says_member, columns, confidences)


def most_exposed_group(
    risks: Sequence[Risk],
    trial_of: Callable[[int], JudgedAttack],
    blind: Judged | None,
    groups: Mapping[str, NDArray[Any]],
) -> ExposedGroup | None:
    """Return the group with the largest lower end of its AUC under any attack, if that is above chance.

    ``trial_of`` returns the judged attack at a position in ``risks``, whose intervals must be simultaneous.
    """
    found = [(at, group) for at, risk in enumerate(risks) for group in risk.by_group]
    at, group = max(found, key=lambda one: one[1].auc.low, default=(0, None))
    if group is None or group.auc.low <= 0.5:
        return None
    risk, trial = risks[at], trial_of(at)
    rows, confidence = groups[group.column] == group.level, group.auc.confidence
    rivals: dict[str, Estimate] = {}
    if trial.control is not None:
        unseen = trial.control.take(rows)
        rivals["control"] = intervals.auc(unseen.ranking, confidence)
        rivals["beyond_control"] = _beyond_control(trial.target.take(rows), unseen)(confidence)
    if blind is not None:
        own, theirs = trial.target.take(rows), blind.take(rows)
        rivals["blind"] = intervals.auc(theirs.ranking, confidence)
        rivals["beyond_blind"] = own.beyond(theirs)(confidence)
    return ExposedGroup(
        risk.release, risk.attack, group.column, group.level, group.members, group.nonmembers, group.auc, **rivals
    )


def roc(ranking: Ranking, points: int = 120) -> Roc:
    """Return the curve at log-spaced false-positive rates, down to one false positive in each stratum."""
    most = max(len(part.nonmembers) for part in ranking.strata)
    fpr = np.concatenate([[0], np.unique(np.round(np.geomspace(1, most, points)).astype(int))]) / most
    tpr = np.zeros(len(fpr))
    for part in ranking.strata:
        tpr += len(part.members) * part.rates(fpr * len(part.nonmembers))
    return Roc(tuple(fpr.tolist()), tuple((tpr / ranking.members).tolist()))


def with_band(curve: Roc, ranking: Ranking, confidence: float) -> Roc:
    """Return the curve with a pointwise interval of each of its points.

    Examples
    --------
    >>> member = np.repeat([True, False], 100)
    >>> ranking = Ranking.of(split(np.arange(200.0)[::-1], member, None))
    >>> shown = with_band(roc(ranking), ranking, 0.95)
    >>> len(shown.low) == len(shown.fpr), all(low <= tpr <= high for low, tpr, high in zip(shown.low, shown.tpr, shown.high))
    (True, True)
    """
    inner = [rate for rate in curve.fpr if 0 < rate < 1]
    found = intervals.tprs_at_fprs(ranking, inner, confidence)
    least = found[inner[0]].high if inner else 1.0
    ends = {0.0: (0.0, least), 1.0: (1.0, 1.0)} | {rate: (tpr.low, tpr.high) for rate, tpr in found.items()}
    pairs = [(min(ends[rate][0], tpr), max(ends[rate][1], tpr)) for rate, tpr in zip(curve.fpr, curve.tpr, strict=True)]
    return Roc(curve.fpr, curve.tpr, tuple(low for low, _ in pairs), tuple(high for _, high in pairs))


def histogram(judged: Judged, bins: int = 20) -> Histogram:
    """Return the histogram of exposure for judged members and non-members: without a leak both are flat."""
    edges, counts = np.linspace(0, 1, bins + 1), np.zeros((2, bins), np.intp)
    for part in judged.ranking.strata:
        ordered = part.nonmembers
        for side, scores in enumerate((part.members, ordered)):
            at_least = len(ordered) - count_below(ordered, scores)
            counts[side] += np.histogram(1 - (1 + at_least) / (len(ordered) + 1), edges)[0]
    inside, outside = counts.tolist()
    return Histogram(tuple(edges.tolist()), tuple(inside), tuple(outside))
