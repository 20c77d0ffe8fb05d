r"""Whether a change is one of the model, or may be one of the records.

An attack distinguishes members from the non-members that an audit was given. If these come from another population, every figure changes while
the model stays the same. An outcome therefore requires more than a figure that changed significantly.

**Each audit has a rival**: the AUC where there is no leak. It is that of the never-trained control; 1/2 where a random split is stated (``random split``);
or, without either, that of the blind baseline. The blind baseline is a rival next to the control too, where it is significantly off chance. Without a
rival in both audits nothing is claimed. Where both state a random split, there is nothing to doubt.

**Rule.** With an AUC :math:`\theta` and its rival :math:`c`, a figure of a release has *increased* only if

1. the figure increased significantly, and
2. :math:`\theta - c` increased significantly, and
3. where a rival is significantly off chance and the records differ between the audits, :math:`\theta` increased significantly by more than
   :math:`2(|c_{old} - \tfrac{1}{2}| + |c_{new} - \tfrac{1}{2}|)`;

*decreased* is defined in the same way. Any other significant change has the outcome ``shift_possible``. Condition 2 detects shifts that are too small to
be seen in a control. It would suffice if a shift moved :math:`\theta` and :math:`c` by the same amount, which it does not. Let scores be shifted by
:math:`d` for members and by :math:`t` for the holdout, and let :math:`F`, the distribution of the difference of two scores, be symmetric and unimodal.
The shift then moves the AUC from :math:`F(d)` to :math:`F(d - t)` and the control from 1/2 to :math:`F(-t)`, and

.. math:: F(d) - F(d - t) \le F(t/2) - F(-t/2) = 2\,(F(t/2) - \tfrac{1}{2}) \le 2\,(F(t) - \tfrac{1}{2}):

at most twice as far, and nearly so with large :math:`d` and :math:`t`. This gives condition 3. Where the records are the same, there is no shift between
the audits, and the first two conditions suffice.

**Why the AUC decides for all figures.** At a low false-positive rate a shift and a leak amplify each other: the true-positive rate of both exceeds the sum
of their effects, so that the rate beyond that of the control increases under a shift. A leak that increased at low false-positive rates only is therefore
claimed only where both audits state a random split.

**No further multiplicity correction.** If the AUC beyond the rival did not increase, a false *increased* for any figure of a release requires a false
interval of :math:`\theta - c`; otherwise one of that figure. Each has the confidence of one comparison, and requiring both can only remove outcomes (an
intersection-union test, Berger 1982). Target and control are measured on the same records and are positively correlated, so that the interval of their
difference is too wide, never too narrow.

**Groups** have no rival in a saved audit: a change of a gap is claimed where both audits state a random split, or where the records are the same and no
rival is significantly off chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from leakscope.core.estimate import Estimate
from leakscope.core.intervals import difference
from leakscope.core.result import Caveat
from leakscope.evaluation.results import Audit, Risk
from leakscope.studies.diff.changes import SHARE, SIGNED, Change, Ends, at_confidence, change_of_strongest
from leakscope.studies.diff.facts import same_data

#: The most that a shift of the records moves an AUC, in units of what it moves its control.
MOST = 2.0
CONTROL, BLIND = "beyond_control", "beyond_blind"
Pair = tuple[Risk, Risk]


@dataclass(frozen=True)
class Figure:
    """A figure of a risk, the ends of its scale, and how much longer its interval is in a comparison."""

    name: str
    of: Callable[[Risk], Estimate]
    ends: Ends = SHARE
    widen: float = 1.0

    def compare(self, pairs: Sequence[Pair], confidence: float) -> Change:
        found = [(self.of(old), self.of(new)) for old, new in pairs]
        return change_of_strongest(self.name, found, confidence, self.ends, self.widen)


AUC = Figure("auc", lambda risk: risk.auc)
ADVANTAGE = Figure("advantage", lambda risk: risk.advantage, SIGNED, math.sqrt(2))


def rate_figure(rate: float) -> Figure:
    """The share of members found at a false-positive rate."""
    return Figure(f"tpr_at_fpr[{rate:g}]", lambda risk: risk.tpr_at_fpr[rate])


@dataclass(frozen=True)
class ComparedRecords:
    """What two audits know of their records: whether they are the same, and in which audit chance split them."""

    same: bool
    split: tuple[bool, bool]

    @classmethod
    def of(cls, old: Audit, new: Audit) -> ComparedRecords:
        same = same_data(old, new)
        split = (old.settings.get("random split") is True, new.settings.get("random split") is True)
        return cls(bool(same.get("training records") and same.get("held-out records")), split)


def control_of(risk: Risk, split: bool) -> Estimate | None:
    """The AUC of the never-trained control, or chance where that split the records; None without either."""
    if risk.control.kind == "never trained":
        return risk.control.auc
    return Estimate(0.5, 0.5, 0.5, kind="exact") if split else None


def compare_release(
    pairs: Sequence[Pair], figures: Sequence[Figure], confidence: float, records: ComparedRecords
) -> tuple[tuple[Change, ...], tuple[Change, ...], Caveat | None]:
    """The figures of a release, its AUC beyond each rival, and why something that moved may be the data.

    The AUC is the first of ``figures``.
    """
    raw = [figure.compare(pairs, confidence) for figure in figures]
    if split_by_chance(pairs, records):
        return tuple(raw), (), None
    names = rivals(pairs, confidence, records)
    beyond = [_beyond(name, pairs, confidence, records) for name in names]
    reach = _reach(names, pairs, confidence, records)
    directions = {change.direction for change in beyond}
    proven = [direction for direction in (-1, 1) if directions == {direction} and _passes(raw[0], direction, reach)]
    changes = [replace(change, in_doubt=change.direction not in (0, *proven)) for change in raw]
    doubtful = any(change.in_doubt for change in changes)
    return tuple(changes), tuple(beyond), _reason(names, pairs, records, beyond) if doubtful else None


def split_by_chance(pairs: Sequence[Pair], records: ComparedRecords) -> bool:
    """Whether chance split the records of both audits, and no control was given that could say otherwise."""
    return all(records.split) and all(risk.control.kind != "never trained" for pair in pairs for risk in pair)


def groups_in_doubt(pairs: Sequence[Pair], confidence: float, records: ComparedRecords) -> bool:
    """Whether the gap of a group may have changed because of other records."""
    known = records.same and bool(rivals(pairs, confidence, records)) and not any_off(pairs, confidence, records)
    return not (known or split_by_chance(pairs, records))


def rivals(pairs: Sequence[Pair], confidence: float, records: ComparedRecords) -> list[str]:
    """Which rivals both audits have."""
    everyone = [(risk, records.split[side]) for pair in pairs for side, risk in enumerate(pair)]
    found = [CONTROL] if all(control_of(risk, split) is not None for risk, split in everyone) else []
    blind = [risk.blind for risk, _ in everyone if risk.blind is not None]
    if len(blind) == len(everyone) and (not found or any(_is_off(auc, confidence) for auc in blind)):
        found.append(BLIND)
    return found


def _beyond(name: str, pairs: Sequence[Pair], confidence: float, records: ComparedRecords) -> Change:
    """The largest AUC of any attack beyond its rival, in both audits."""

    def gain(risk: Risk, split: bool) -> Estimate:
        if name == BLIND:
            assert risk.beyond_blind is not None
            return at_confidence(risk.beyond_blind, confidence, None)
        control = control_of(risk, split)
        assert control is not None
        return difference(at_confidence(risk.auc, confidence), at_confidence(control, confidence), confidence)

    found = [(gain(old, records.split[0]), gain(new, records.split[1])) for old, new in pairs]
    return change_of_strongest(name, found, confidence, SIGNED)


def _aucs(name: str, pairs: Sequence[Pair], side: int, records: ComparedRecords) -> list[Estimate]:
    """The AUC of the rival of each attack in one of the audits."""
    found = [pair[side].blind if name == BLIND else control_of(pair[side], records.split[side]) for pair in pairs]
    return [auc for auc in found if auc is not None]


def _is_off(auc: Estimate, confidence: float) -> bool:
    stretched = at_confidence(auc, confidence)
    return not stretched.low <= 0.5 <= stretched.high


def any_off(pairs: Sequence[Pair], confidence: float, records: ComparedRecords) -> bool:
    """Whether some rival is significantly off chance."""
    return any(
        _is_off(auc, confidence)
        for name in rivals(pairs, confidence, records)
        for side in (0, 1)
        for auc in _aucs(name, pairs, side, records)
    )


def _reach(names: Sequence[str], pairs: Sequence[Pair], confidence: float, records: ComparedRecords) -> float:
    """How far the AUC may have changed because of other records, as far as rivals show it; 0 where none is significantly off chance."""
    if records.same or not any_off(pairs, confidence, records):
        return 0.0
    sides = [[_aucs(name, pairs, side, records) for side in (0, 1)] for name in names]
    return MOST * max(sum(max(abs(auc.value - 0.5) for auc in side) for side in both) for both in sides)


def _passes(auc: Change, direction: int, reach: float) -> bool:
    """Whether the AUC changed significantly in this direction, by more than the records can explain."""
    if not reach:
        return True
    return auc.difference.low > reach if direction > 0 else auc.difference.high < -reach


def _reason(names: Sequence[str], pairs: Sequence[Pair], records: ComparedRecords, beyond: Sequence[Change]) -> Caveat:
    """Why a change may be one of the records: no rival in both audits, or not significantly beyond one."""
    if not names:
        return Caveat("no_rival")
    unsure = [name for name, change in zip(names, beyond, strict=True) if not change.direction]
    shown = {name: [_of_strongest(name, pairs, side, records) for side in (0, 1)] for name in names}
    name = max(unsure or names, key=lambda one: max(abs(auc - 0.5) for auc in shown[one]))
    old, new = shown[name]
    return Caveat("not_beyond_rival", {"rival": name, "old": old, "new": new})


def _of_strongest(name: str, pairs: Sequence[Pair], side: int, records: ComparedRecords) -> float:
    """The rival's AUC of the attack that is strongest in one of the audits."""
    best = max(range(len(pairs)), key=lambda at: pairs[at][side].auc.low)
    return _aucs(name, pairs, side, records)[best].value
