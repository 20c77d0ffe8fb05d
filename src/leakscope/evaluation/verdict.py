r"""The verdict of an audit, decided from the intervals and never from values alone.

The strongest of several attacks looks strong by chance alone. Its intervals are therefore corrected for selection among attacks
(`confidences_for_choice`): all intervals behind the verdict are simultaneous at confidence :math:`1 - \alpha` (Bonferroni). Where the
primary attack runs (RMIA, or the residual), its AUC gets :math:`\alpha/2` of the error and its true-positive rates :math:`3\alpha/10`,
divided equally among them; the other attacks share :math:`\alpha/5`, divided equally among all their figures. Where it does not run, or
runs alone, each of the :math:`f` figures (the AUC and the true-positive rates) of :math:`a` attacks gets :math:`\alpha/(af)`.

Where a verdict is *inconclusive*, its ``doubts`` are some of

- ``contradicted_split``: the caller states a random split, and the blind baseline or the never-trained control is above chance;
- ``scores_only``: there are no records, so that a distribution shift can't be ruled out;
- ``no_control``: the attack within a group was not run on a never-trained control;
- ``not_above_control``, ``not_above_blind``: the attack is not significantly better than the control, or the blind baseline;
- ``data_hungry``, ``not_fitted_as_member``, ``shift_explains_fit``: the fit of the members is not that of a model trained on them;
- ``copies_in_holdout``, ``obstacle``, ``sample_size``: no attack is above chance, and a leak is not excluded either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from leakscope.core.estimate import Estimate, largest
from leakscope.core.intervals import difference, normal_quantile, suspicious
from leakscope.evaluation.results import (
    Basis,
    DoubtCode,
    EpsilonClaim,
    ExposedGroup,
    Fit,
    Largest,
    NamedMembers,
    ReleaseRisk,
    Risk,
    Statement,
    SupportCode,
    Verdict,
)

if TYPE_CHECKING:
    from leakscope.attacks.protocol import Attack
    from leakscope.evaluation.risk import Confidence

#: Shares of the error that the AUC of the primary attack gets, and its true-positive rates together.
AUC_SHARE, RATES_SHARE = 0.5, 0.3
#: Share of copies in the holdout from which on they are named before a lack of records.
MUCH_OVERLAP = 0.1


def confidence_for_choice(confidence: float, attacks: int, figures: int) -> float:
    """Give the confidence of each interval so that all are simultaneous.

    Examples
    --------
    >>> round(confidence_for_choice(0.95, attacks=5, figures=2), 4)
    0.995
    """
    return 1 - (1 - confidence) / (attacks * figures)


def confidences_for_choice(confidence: float, attacks: Sequence[Attack], rates: int) -> list[Confidence]:
    """Give the confidence of the intervals of each attack so that all are simultaneous, with true-positive rates at ``rates`` false-positive rates.

    Where the primary attack runs, its AUC gets half of the error and its true-positive rates three tenths. The other attacks share the
    rest: more of them do not widen the intervals of the primary one.

    Examples
    --------
    >>> from leakscope.attacks import loss_threshold, rmia
    >>> found = confidences_for_choice(0.95, [rmia(), loss_threshold("log_loss")], rates=3)
    >>> [(round(one.auc, 4), round(one.rates, 4)) for one in found]
    [(0.975, 0.995), (0.9975, 0.9975)]
    """
    from leakscope.evaluation.risk import Confidence  # late: a saved audit is judged without the attacks

    error, figures = 1 - confidence, 1 + rates
    first = sum(is_primary(attack) for attack in attacks)
    others = len(attacks) - first
    if not first or not others:
        each = confidence_for_choice(confidence, len(attacks), figures)
        return [Confidence(each, each)] * len(attacks)
    rest = 1 - error * (1 - AUC_SHARE - RATES_SHARE) / (others * figures)
    primary = Confidence(1 - error * AUC_SHARE / first, 1 - error * RATES_SHARE / (first * rates))
    return [primary if is_primary(attack) else Confidence(rest, rest) for attack in attacks]


def is_primary(attack: Attack) -> bool:
    """Tell whether an attack is one of those with reference models that get the larger part of the error."""
    from leakscope.attacks import membership_residual, membership_rmia

    return attack.name in (membership_rmia.NAME, membership_residual.NAME)


def choose_strongest(risks: Sequence[Risk] | Sequence[ReleaseRisk]) -> int:
    """Return the position of the strongest attack: the one with the largest lower end of its AUC, if that is above chance.

    Otherwise one whose true-positive rate is significantly above a false-positive rate, if there is one; otherwise the one whose
    interval reaches highest, since that is what is not excluded. The intervals must be simultaneous.
    """
    everyone = range(len(risks))
    best = max(everyone, key=lambda at: risks[at].auc.low)
    if risks[best].auc.low > 0.5:
        return best
    widest = max(everyone, key=lambda at: risks[at].auc.high)
    return max((at for at in everyone if _caught_at(risks[at])), key=lambda at: _lift(risks[at]), default=widest)


def strongest_by_release(risks: Sequence[Risk]) -> tuple[ReleaseRisk, ...]:
    """Return the for each release its strongest attack, in the order of the releases. The intervals must be simultaneous."""
    found = []
    for release in dict.fromkeys(risk.release for risk in risks):
        rivals = [risk for risk in risks if risk.release == release]
        best = rivals[choose_strongest(rivals)]
        figures = {name: getattr(best, name) for name in
                   ("auc", "advantage", "accuracy", "tpr_at_fpr", "blind", "beyond_blind", "beyond_control")}  # fmt: skip
        figures |= {"control_kind": best.control.kind, "control": best.control.auc, "largest": largest_figures(rivals)}
        found.append(ReleaseRisk(release, best.attack, **figures))
    return tuple(found)


def largest_figures(risks: Sequence[Risk]) -> Largest:
    """Return the largest that any of these attacks reaches, figure by figure. The intervals must be simultaneous."""
    rates = risks[0].tpr_at_fpr
    groups = [group.auc for risk in risks for group in risk.by_group]
    return Largest(
        largest([risk.auc for risk in risks]),
        largest([risk.advantage for risk in risks]),
        largest([risk.accuracy for risk in risks]),
        {rate: largest([risk.tpr_at_fpr[rate] for risk in risks]) for rate in rates},
        largest(groups) if groups else None,
    )


def _caught_at(risk: Risk | ReleaseRisk) -> list[float]:
    """False-positive rates at which the true-positive rate is significantly larger."""
    return [fpr for fpr, rate in risk.tpr_at_fpr.items() if rate.low > fpr]


def _lift(risk: Risk | ReleaseRisk) -> float:
    return max(risk.tpr_at_fpr[fpr].low / fpr for fpr in _caught_at(risk))


def judge(strongest: Risk, basis: Basis, named: NamedMembers | None = None) -> Verdict:
    """Decide whether the model leaks, over all records and then within the most exposed group.

    *Leaks* means: an attack that was run distinguishes members from non-members significantly better than chance, over all records or
    within a group, and a random split, the never-trained control or the blind baseline rules out that a distribution shift explains it.

    `_judge_all` has the rule for all records. Where it does not find a leak and some group has an AUC significantly above chance
    (``basis.exposed``), the verdict is *leaks* if that AUC is also significantly above the never-trained control within the group, and
    above the blind baseline within the group where that may be better than chance too. Otherwise it is *inconclusive*: an average that
    shows nothing does not rule out a leak for the group.

    The intervals of groups are corrected for all groups and attacks, apart from those over all records. A leak is claimed from lower
    ends only, so that both families together are wrong with a probability of at most one minus the confidence.

    ``named`` is how many members the strongest attack could name; where the model leaks, the verdict states it.
    """
    found = _judge_all(strongest, basis)
    if found.leaks:
        found = replace(found, support=(*_most_exposed(strongest), *found.support))
    elif basis.exposed is not None:
        found = _judge_group(basis.exposed, found, strongest, basis)
    if found.leaks and named is not None and named.count:
        found = replace(found, support=(*found.support, _named(named, strongest)))
    return found


def _named(named: NamedMembers, strongest: Risk) -> Statement:
    estimates = {"count": _exact(named.count), "share": named.share, "rate": _exact(named.false_discovery_rate)}
    return Statement("named", estimates, strongest.attack, strongest.release)


def _judge_group(group: ExposedGroup, found: Verdict, strongest: Risk, basis: Basis) -> Verdict:
    """The verdict where some group is significantly above chance and all records together show no leak."""
    finding = Statement("group_auc", {"auc": group.auc}, group.attack, group.release, group.column, group.level)
    doubts = _doubts_about_group(group, strongest, basis)
    if not doubts:
        support = [Statement("overall", {"auc": strongest.auc}, strongest.attack, strongest.release)]
        if group.control is not None:
            support.insert(0, _about(group, "control", control=group.control))
        return Verdict("leaks", finding=finding, support=tuple(support))
    if strongest.auc.low > 0.5 or _caught_at(strongest):
        return replace(found, support=(*found.support, finding, doubts[0]))
    doubted = (*doubts, *_obstacles(basis))
    return Verdict("inconclusive", finding=finding, doubts=doubted, support=_support(strongest, basis))


def _about(
    group: ExposedGroup | None,
    code: DoubtCode | SupportCode,
    remedy: Literal["more_records", "matched_holdout"] | None = None,
    **estimates: Estimate,
) -> Statement:
    """A statement about a group, or about all records (None)."""
    column, level = ("", "") if group is None else (group.column, group.level)
    return Statement(code, estimates, column=column, level=level, remedy=remedy)


def _doubts_about_group(group: ExposedGroup, strongest: Risk, basis: Basis) -> list[Statement]:
    """Ways in which the AUC of a group could come from a difference between the two sets of records and not from the model."""
    if randomised(strongest, basis) and (group.blind is None or group.blind.low <= 0.5):
        return []
    if strongest.blind is None:
        return [_about(group, "scores_only")]
    if group.control is None or group.beyond_control is None:
        return [_about(group, "no_control")]
    doubts = []
    if group.beyond_control.low <= 0:
        doubts.append(_about(group, "not_above_control", _remedy(group.control), control=group.control))
    shifted = [blind for blind in (group.blind, strongest.blind) if blind is not None and suspicious(blind)]
    if shifted and group.blind is not None and group.beyond_blind is not None and group.beyond_blind.low <= 0:
        doubts.append(_about(group, "not_above_blind", _remedy(shifted[0]), blind=group.blind))
    return doubts + ([] if basis.fit is None else _doubts_of_fit(basis.fit, strongest))


def _most_exposed(risk: Risk) -> list[Statement]:
    """The group that is significantly more exposed than the rest by the most, if there is one."""
    group = max((one for one in risk.by_group if one.gap.low > 0), key=lambda one: one.gap.low, default=None)
    if group is None:
        return []
    estimates = {"auc": group.auc, "gap": group.gap}
    return [Statement("exposed_group", estimates, risk.attack, risk.release, group.column, group.level)]


def _judge_all(strongest: Risk, basis: Basis) -> Verdict:
    """Decide whether the model leaks, over all records.

    - *claim refuted*: the lower bound on ε is above the claimed ε of differential privacy, and nothing suggests a distribution shift
      between members and non-members.

    - *leaks*: the strongest attack is significantly better than chance, in its AUC or in its true-positive rate at some
      false-positive rate, and one of these rules out that a distribution shift explains it:

      - the caller states that members and non-members were split at random (``random_split``), and neither the blind baseline
        nor the never-trained control contradicts that significantly (where one does, only a true-positive rate can still decide, by
        one of the rules below);
      - in the same figure the attack is significantly better than on the never-trained control; the model fits the members as
        one that was trained on them (``basis.fit``, where reference models were trained); and where the blind baseline may be
        better than chance, neither a larger training set nor noise explains that fit, or (without ``fit``) the attack is significantly
        better than the blind baseline;
      - without a control, the attack is significantly better than the blind baseline.
    - *not detected*: no attack that was run is significantly better than chance, for each of them an AUC above 0.5 + ``margin`` is
      excluded, and there are no ``obstacles``.
    - *inconclusive*: neither.

    The intervals of ``strongest`` are corrected for selection among attacks. Non-members that are members too draw any
    AUC towards one half, in proportion to ``basis.overlap``.
    """
    if basis.claim is not None and basis.claim.refuted and not _may_differ(strongest, basis):
        return Verdict("claim_refuted", finding=_refuted(basis.claim), support=_support(strongest, basis))
    caught, by_auc = _caught_at(strongest), strongest.auc.low > 0.5
    if not by_auc and not caught:
        return _not_beyond_chance(strongest, basis)
    found = Statement("auc", {"auc": strongest.auc}, strongest.attack, strongest.release)
    if by_auc and not _doubts(strongest, basis):
        return Verdict("leaks", finding=found, support=_support(strongest, basis))
    shown = [fpr for fpr in caught if not _doubts(strongest, basis, fpr)]
    if shown or not by_auc:
        fpr = min(shown or caught)
        found = replace(found, code="tpr_at_fpr", estimates={"tpr": strongest.tpr_at_fpr[fpr]}, fpr=fpr)
    if shown:
        return Verdict("leaks", finding=found, support=_support(strongest, basis))
    return Verdict("inconclusive", finding=found, doubts=tuple(_doubts(strongest, basis, found.fpr)))


def randomised(risk: Risk, basis: Basis) -> bool:
    """Tell whether the caller states that chance decided on membership, and neither blind baseline nor control contradict it."""
    return basis.random_split and not _contradiction(risk)


def _may_differ(risk: Risk, basis: Basis) -> bool:
    """Whether there may be a distribution shift, so that a bound on ε need not be about the training."""
    doubtful = risk.blind is not None and suspicious(risk.blind) and not basis.random_split
    return doubtful or bool(_contradiction(risk))


def _refuted(claim: EpsilonClaim) -> Statement:
    assert claim.epsilon is not None
    estimates = {"bound": claim.bound, "claimed": _exact(claim.epsilon), "delta": _exact(claim.delta)}
    return Statement("epsilon", estimates, claim.attack)


def _exact(value: float) -> Estimate:
    return Estimate(value, value, value, kind="exact")


def _contradiction(risk: Risk) -> dict[str, Estimate]:
    """The AUC, by name, of something that can't know who was trained on and is significantly better than chance, if there is one."""
    control = risk.control.auc if risk.control.kind == "never trained" else None
    unaware = {"blind": risk.blind, "control": control}
    above = {name: auc for name, auc in unaware.items() if auc is not None and auc.low > 0.5}
    return dict(list(above.items())[:1])


def _doubts(risk: Risk, basis: Basis, fpr: float | None = None) -> list[Statement]:
    """Ways in which the AUC, or the true-positive rate at ``fpr``, could come from a distribution shift and not from the model."""
    if randomised(risk, basis):
        return []
    doubts = _not_above_rivals(risk, basis) if fpr is None else _rate_not_above_rivals(risk, fpr)
    doubts += [] if basis.fit is None else _doubts_of_fit(basis.fit, risk)
    if risk.blind is None:
        # A control that was trained on fewer records shows less of a shift than the target does.
        doubts.insert(0, _about(None, "scores_only"))
    if basis.random_split and (fpr is None or doubts):
        # A rate may still be significantly above that of the control and of the blind baseline.
        doubts.insert(0, Statement("contradicted_split", _contradiction(risk)))
    return doubts


def _not_above_rivals(risk: Risk, basis: Basis) -> list[Statement]:
    """Doubts where the AUC is not significantly above the never-trained control or the blind baseline."""
    has_control = risk.control.kind == "never trained"
    doubts = []
    if has_control and risk.beyond_control.low <= 0:
        doubts.append(_about(None, "not_above_control", _remedy(risk.control.auc), control=risk.control.auc))
    if basis.fit is not None or risk.blind is None or risk.beyond_blind is None:
        return doubts
    if (not has_control or suspicious(risk.blind)) and risk.beyond_blind.low <= 0:
        doubts.append(_about(None, "not_above_blind", _remedy(risk.blind), blind=risk.blind))
    return doubts


def _rate_not_above_rivals(risk: Risk, fpr: float) -> list[Statement]:
    """The same for the true-positive rate at a false-positive rate; ``tpr_beyond`` is about the nearest rival."""
    if fpr in risk.tpr_beyond and risk.tpr_beyond[fpr].low > 0:
        return []
    control = risk.control.tpr_at_fpr.get(fpr) if risk.control.kind == "never trained" else None
    if control is not None and (risk.blind is None or difference(risk.tpr_at_fpr[fpr], control).low <= 0):
        return [Statement("not_above_control", {"control": control}, fpr=fpr)]
    return [] if risk.blind is None else [Statement("not_above_blind", fpr=fpr)]


def _doubts_of_fit(fit: Fit, risk: Risk) -> list[Statement]:
    """Ways in which the model does not fit the members as one that was trained on them; the non-members play no part here."""
    doubts = []
    if fit.data_hungry:
        doubts.append(_about(None, "data_hungry", curve=fit.curve, gap=fit.gap))
    if fit.gap.low <= 0 or fit.mid.low <= 0:
        doubts.append(_about(None, "not_fitted_as_member", mid=fit.mid, gap=fit.gap))
    # mid is about half of gap in a trained model: above gap, the model fits the members better than models trained on them do.
    explained = fit.size.low <= 0 or fit.mid.value > fit.gap.value
    if risk.blind is not None and suspicious(risk.blind) and explained:
        doubts.append(_about(None, "shift_explains_fit", _remedy(risk.blind), blind=risk.blind, size=fit.size))
    return doubts


def _remedy(rival: Estimate) -> Literal["more_records", "matched_holdout"]:
    return "matched_holdout" if suspicious(rival) else "more_records"


def _obstacles(basis: Basis) -> list[Statement]:
    return [Statement("obstacle", obstacle=caveat) for caveat in basis.obstacles]


def _support(risk: Risk, basis: Basis) -> tuple[Statement, ...]:
    never = risk.control.kind == "never trained"
    name: SupportCode = "control" if never else "permuted"
    stated = [Statement(name, {name: risk.control.auc})]
    if risk.blind is not None:
        stated.append(_about(None, "blind", blind=risk.blind))
    if basis.random_split:
        stated.append(_about(None, "random_split"))
    if (claim := basis.claim) is not None and not _may_differ(risk, basis):
        stated.append(_about(None, "epsilon_bound", bound=claim.bound, delta=_exact(claim.delta)))
    return tuple(stated)


def _not_beyond_chance(strongest: Risk, basis: Basis) -> Verdict:
    """The strongest is then the risk whose interval reaches highest: what it does not exclude is not excluded."""
    auc, margin, overlap = strongest.auc, basis.margin, basis.overlap
    finding = Statement("not_detected", {"auc": auc}, strongest.attack, strongest.release)
    support = _support(strongest, basis)
    if obstacles := _obstacles(basis):
        return Verdict("inconclusive", finding=finding, doubts=tuple(obstacles), support=support)
    high = min(1.0, 0.5 + (auc.high - 0.5) / (1 - overlap)) if overlap < 1 else 1.0
    if high <= 0.5 + margin:
        return Verdict("not_detected", finding=finding, support=support, not_excluded=high)
    undecided = Verdict("inconclusive", finding=finding, support=support, not_excluded=high)
    if auc.high <= 0.5 + margin or overlap >= MUCH_OVERLAP:
        return replace(undecided, doubts=(_about(None, "copies_in_holdout", share=_exact(overlap)),))
    needed = records_needed(margin, auc.confidence)
    return replace(undecided, doubts=(_about(None, "sample_size", "more_records"),), records_needed=needed)


def records_needed(margin: float, confidence: float) -> int:
    """Return Non-members, and as many members, from which an AUC above 0.5 + margin can be excluded where there is no leak.

    Near chance the AUC of a fitted attack, judged in two halves of n against n records, has variance 1/(3n) at most. Half
    of the margin is for the interval, half for where the point may fall.

    Examples
    --------
    >>> records_needed(0.05, 0.95)
    2100
    """
    exact = normal_quantile(confidence) ** 2 / (3 * (margin / 2) ** 2)
    step = int(10 ** max(0, math.floor(math.log10(exact)) - 1))
    return math.ceil(exact / step) * step
