r"""One verdict in words, drawn from the intervals and never from the points.

The strongest of several attacks looks strong by chance alone. Its interval pays for the choice: with :math:`a` attacks and
:math:`f` figures each (the AUC and the true-positive rates), every interval behind the verdict is taken at confidence
:math:`1 - \alpha/(af)`, so that all of them hold together at :math:`1 - \alpha` (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from leakscope.attacks import membership_residual, membership_rmia
from leakscope.evidence import Attack
from leakscope.intervals import largest, normal_quantile, suspicious
from leakscope.report.words import safe_text
from leakscope.results import (
    Basis,
    Claim,
    Estimate,
    ExposedGroup,
    Fit,
    GroupRisk,
    Largest,
    ReleaseRisk,
    Risk,
    Verdict,
)
from leakscope.risk import Confidence

#: The attacks with reference models that get the larger part of the error.
PRIMARY = (membership_rmia.NAME, membership_residual.NAME)
#: Shares of the error that the AUC of the primary attack gets, and its true-positive rates together.
AUC_SHARE, RATES_SHARE = 0.5, 0.3
#: The doubt about scores, of which no records are known.
NOTHING_RULES_OUT = (
    "scores do not show whether the two sets of records differ by themselves: say so if they were split at random (random_split, "
    "--random-split)"
)
#: Share of copies in the holdout from which on they are named before a lack of records.
MUCH_OVERLAP = 0.1


def confidence_for_choice(confidence: float, attacks: int, figures: int) -> float:
    """Confidence of each interval so that all hold together.

    Examples
    --------
    >>> round(confidence_for_choice(0.95, attacks=5, figures=2), 4)
    0.995
    """
    return 1 - (1 - confidence) / (attacks * figures)


def confidences_for_choice(confidence: float, attacks: Sequence[Attack], rates: int) -> list[Confidence]:
    """Confidence of the intervals of each attack so that all hold together, with true-positive rates at ``rates`` false-positive rates.

    Where the primary attack runs, its AUC gets half of the error and its true-positive rates three tenths. The other attacks share the
    rest: more of them do not widen the intervals of the primary one.

    Examples
    --------
    >>> from leakscope.attacks import loss_threshold, rmia
    >>> found = confidences_for_choice(0.95, [rmia(), loss_threshold("log_loss")], rates=3)
    >>> [(round(one.auc, 4), round(one.rates, 4)) for one in found]
    [(0.975, 0.995), (0.9975, 0.9975)]
    """
    error, figures = 1 - confidence, 1 + rates
    first = sum(attack.name in PRIMARY for attack in attacks)
    others = len(attacks) - first
    if not first or not others:
        each = confidence_for_choice(confidence, len(attacks), figures)
        return [Confidence(each, each)] * len(attacks)
    rest = 1 - error * (1 - AUC_SHARE - RATES_SHARE) / (others * figures)
    primary = Confidence(1 - error * AUC_SHARE / first, 1 - error * RATES_SHARE / (first * rates))
    return [primary if attack.name in PRIMARY else Confidence(rest, rest) for attack in attacks]


def choose_strongest(risks: Sequence[Risk] | Sequence[ReleaseRisk]) -> int:
    """Position of the attack that surely has the largest AUC: of the largest lower end, if that is above chance.

    Otherwise of one that surely beats chance at a low false-positive rate, if there is one; otherwise of the one whose
    interval reaches highest, since that is what can't be excluded. The intervals must pay for the choice.
    """
    everyone = range(len(risks))
    best = max(everyone, key=lambda at: risks[at].auc.low)
    if risks[best].auc.low > 0.5:
        return best
    widest = max(everyone, key=lambda at: risks[at].auc.high)
    return max((at for at in everyone if _caught_at(risks[at])), key=lambda at: _lift(risks[at]), default=widest)


def strongest_by_release(risks: Sequence[Risk]) -> tuple[ReleaseRisk, ...]:
    """For each release its strongest attack, in the order of the releases. The intervals must pay for the choice."""
    found = []
    for release in dict.fromkeys(risk.release for risk in risks):
        rivals = [risk for risk in risks if risk.release == release]
        best = rivals[choose_strongest(rivals)]
        figures = {name: getattr(best, name) for name in
                   ("auc", "advantage", "accuracy", "tpr_at_fpr", "blind", "beyond_blind", "beyond_control")}  # fmt: skip
        found.append(
            ReleaseRisk(
                release,
                best.attack,
                control_kind=best.control.kind,
                control=best.control.auc,
                largest=largest_figures(rivals),
                **figures,
            )
        )
    return tuple(found)


def largest_figures(risks: Sequence[Risk]) -> Largest:
    """The largest that any of these attacks reaches, figure by figure. The intervals must pay for the choice."""
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
    """False-positive rates at which surely more members than non-members are called members."""
    return [fpr for fpr, rate in risk.tpr_at_fpr.items() if rate.low > fpr]


def _lift(risk: Risk | ReleaseRisk) -> float:
    return max(risk.tpr_at_fpr[fpr].low / fpr for fpr in _caught_at(risk))


def judge(strongest: Risk, basis: Basis) -> Verdict:
    """Leaks, claim refuted, no evidence, or cannot tell, over all records and then within the most exposed group.

    `_judge_all` states the rule for all records. Where it does not find a leak and some group has an AUC significantly above chance
    (``basis.exposed``), the verdict is *leaks* if that AUC is also significantly above the same attack within the group on a model
    that never saw the members, and above the blind baseline within the group where that may beat chance too. Otherwise it is
    *cannot tell*: an average that shows nothing is no all-clear for the group.

    These intervals are corrected for all groups and attacks beside those over all records. A leak is claimed from lower ends only,
    so that both families together are wrong with a probability of at most one minus the confidence.
    """
    found = _judge_all(strongest, basis)
    if found.leaks:
        return replace(found, reasons=(*_most_exposed(strongest), *found.reasons))
    if basis.exposed is None:
        return found
    return _judge_group(basis.exposed, found, strongest, basis)


def _judge_group(group: ExposedGroup, found: Verdict, strongest: Risk, basis: Basis) -> Verdict:
    """The verdict where some group is significantly above chance and all records together show no leak."""
    attack, level = f"{group.attack} on {group.release}", _named(group)
    finding = f"within the group “{level}” members are told from non-members by “{attack}” with AUC {group.auc}"
    doubts = _doubts_about_group(group, strongest, basis)
    if not doubts:
        reasons = [] if group.control is None else [
            f"the same attack within the group on a model that never saw the members reaches AUC {group.control}"
        ]  # fmt: skip
        over_all = f"over all records “{strongest.attack} on {strongest.release}” reaches AUC {strongest.auc}"
        return Verdict("leaks", f"leaks: {finding} (0.5 is chance, 1 is certainty)", (*reasons, over_all))
    if strongest.auc.low > 0.5 or _caught_at(strongest):
        return replace(found, reasons=(*found.reasons, f"{finding}, but {doubts[0]}"))
    sentence = f"cannot tell: no attack beats chance over all records, but {finding}, and {doubts[0]}"
    return Verdict("cannot tell", sentence, (*doubts[1:], *basis.obstacles, *_reasons(strongest, basis)))


def _doubts_about_group(group: ExposedGroup, strongest: Risk, basis: Basis) -> list[str]:
    """Ways in which the AUC of a group could come from a difference between the two sets of records and not from the model."""
    if _randomised(strongest, basis) and (group.blind is None or group.blind.low <= 0.5):
        return []
    if strongest.blind is None:
        return [NOTHING_RULES_OUT]
    if group.control is None or group.beyond_control is None:
        return ["this was not compared with a model that never saw the members"]
    doubts = []
    if group.beyond_control.low <= 0:
        doubts.append(
            f"that is not significantly more than the AUC {group.control} of the same attack within the group on a model that never "
            f"saw the members: {_advice(group.control)}"
        )
    shifted = [blind for blind in (group.blind, strongest.blind) if blind is not None and suspicious(blind)]
    if shifted and group.beyond_blind is not None and group.beyond_blind.low <= 0:
        doubts.append(
            f"that is not significantly more than the AUC {group.blind} of telling the records of the group apart without the model: "
            f"{_advice(shifted[0])}"
        )
    return doubts + ([] if basis.fit is None else _doubts_of_fit(basis.fit, strongest))


def _most_exposed(risk: Risk) -> list[str]:
    """The group that is significantly more exposed than the rest by the most, if there is one."""
    group = max((one for one in risk.by_group if one.gap.low > 0), key=lambda one: one.gap.low, default=None)
    if group is None:
        return []
    return [f"the most exposed group is “{_named(group)}”: AUC {group.auc}, above the rest by {group.gap}"]


def _named(group: GroupRisk | ExposedGroup) -> str:
    return f"{safe_text(group.column, 40)} = {safe_text(group.level, 40)}"


def _judge_all(strongest: Risk, basis: Basis) -> Verdict:
    """Leaks, claim refuted, no evidence, or cannot tell, over all records.

    - *claim refuted*: the model leaks more than the claimed ε of differential privacy allows, and nothing suggests that the two sets
      of records differ by themselves.

    - *leaks*: the strongest attack is significantly better than chance, in its AUC or in its true-positive rate at some
      false-positive rate, and one of these rules out a difference between the two sets of records:

      - the caller states that members and non-members were split at random (``random_split``), and neither the blind baseline
        nor the never-trained control contradicts that significantly;
      - in the same figure the attack is significantly better than on the never-trained control; the model fits the members as
        one that was trained on them (``basis.fit``, where reference models were trained); and where the blind baseline may be
        better than chance, a larger training set does not explain that fit, or (without ``fit``) the attack is significantly
        better than the blind baseline;
      - without a control, the attack is significantly better than the blind baseline.
    - *no evidence*: no attack is significantly better than chance, for every attack an AUC above 0.5 + ``margin`` is
      excluded, and there are no ``obstacles``.
    - *cannot tell*: neither.

    The intervals of ``strongest`` are corrected for the choice among attacks. Non-members that are members too draw any
    AUC towards one half, in proportion to ``basis.overlap``.
    """
    if basis.claim is not None and basis.claim.refuted and not _may_differ(strongest, basis):
        return _refuted(basis.claim, strongest, basis)
    auc, name = strongest.auc, f"{strongest.attack} on {strongest.release}"
    caught = _caught_at(strongest)
    if auc.low <= 0.5 and not caught:
        return _not_beyond_chance(strongest, basis)
    by_auc = f"members are told from non-members by “{name}” with AUC {auc} (0.5 is chance, 1 is certainty)"
    doubts = _doubts(strongest, basis)
    if auc.low > 0.5 and not doubts:
        return Verdict("leaks", f"leaks: {by_auc}", tuple(_reasons(strongest, basis)))
    proven = [fpr for fpr in caught if fpr in strongest.tpr_beyond and strongest.tpr_beyond[fpr].low > 0]
    if _randomised(strongest, basis):
        proven = caught
    elif (basis.fit is not None and _doubts_of_fit(basis.fit, strongest)) or strongest.blind is None:
        proven = []
    at = min(proven or caught, default=0.0)
    by_tpr = f"“{name}” identifies a share {strongest.tpr_at_fpr.get(at)} of members at a false-positive rate of {at:g}"
    if proven:
        return Verdict("leaks", f"leaks: {by_tpr}", tuple(_reasons(strongest, basis)))
    if strongest.blind is not None and auc.low <= 0.5:
        doubts = [_doubt_about_rate(strongest, at)]
    finding = by_auc if auc.low > 0.5 else by_tpr
    return Verdict("cannot tell", f"cannot tell: {finding}, but {doubts[0]}", tuple(doubts[1:]))


def _randomised(risk: Risk, basis: Basis) -> bool:
    """Whether the caller states that chance decided on membership, and neither blind baseline nor control contradict it."""
    return basis.random_split and _contradiction(risk) is None


def _may_differ(risk: Risk, basis: Basis) -> bool:
    """Whether the two sets of records may differ by themselves, so that a bound on ε speaks of that and not of the training."""
    doubtful = risk.blind is not None and suspicious(risk.blind) and not basis.random_split
    return doubtful or _contradiction(risk) is not None


def _refuted(claim: Claim, strongest: Risk, basis: Basis) -> Verdict:
    delta = f", δ = {claim.delta:g}" if claim.delta else ""
    sentence = (
        f"claim refuted: ε is {claim.bound} for the swap of one record, by “{claim.attack}”, where the training is claimed to have "
        f"ε = {claim.epsilon:g}{delta}"
    )
    return Verdict("claim refuted", sentence, tuple(_reasons(strongest, basis)))


def _contradiction(risk: Risk) -> Estimate | None:
    """The AUC of something that can't know who was trained on and is significantly better than chance, if there is one."""
    unaware = [risk.blind, risk.control.auc if risk.control.kind == "never trained" else None]
    return next((auc for auc in unaware if auc is not None and auc.low > 0.5), None)


def _doubts(risk: Risk, basis: Basis) -> list[str]:
    """Ways in which the AUC could come from a difference between the two sets of records and not from the model."""
    if _randomised(risk, basis):
        return []
    has_control = risk.control.kind == "never trained"
    doubts = []
    if basis.random_split:
        doubts.append(
            "the records contradict the statement that they were split at random: without a model that was trained on the members "
            f"they are told apart with AUC {_contradiction(risk)}"
        )
    if risk.blind is None:
        # A control that was trained on fewer records shows less of a shift than the target does.
        doubts.append(NOTHING_RULES_OUT)
    if has_control and risk.beyond_control.low <= 0:
        doubts.append(
            f"that is not surely more than the AUC {risk.control.auc} of the same attack on a model that never saw the "
            f"members: {_advice(risk.control.auc)}"
        )
    if basis.fit is not None:
        return doubts + _doubts_of_fit(basis.fit, risk)
    if (
        risk.blind is not None
        and risk.beyond_blind is not None
        and (not has_control or suspicious(risk.blind))
        and risk.beyond_blind.low <= 0
    ):
        doubts.append(
            f"that is not surely more than the AUC {risk.blind} of telling the records apart without the model: "
            f"{_advice(risk.blind)}"
        )
    return doubts


def _doubts_of_fit(fit: Fit, risk: Risk) -> list[str]:
    """Ways in which the model does not fit the members as one that was trained on them; the non-members play no part here."""
    doubts = []
    if fit.data_hungry:
        doubts.append(
            f"models of this kind improve more by more records (log-likelihood {fit.curve}) than by training on a record "
            f"({fit.gap}), so that smaller models are no control for it: train on more records, or say so if members and held-out "
            "records come from one random split (random_split, --random-split)"
        )
    if fit.gap.low <= 0 or fit.mid.low <= 0:
        doubts.append(
            f"the model does not fit the members significantly better than midway between models with and without them ({fit.mid} "
            f"of log-likelihood, where training on a record gives {fit.gap}): check that these records were trained on"
        )
    if risk.blind is not None and suspicious(risk.blind) and fit.size.low <= 0:
        doubts.append(
            f"members and non-members differ without the model (AUC {risk.blind}), and a larger training set could explain how the "
            f"model fits the members ({fit.size} beyond it): {_advice(risk.blind)}"
        )
    return doubts


def _doubt_about_rate(risk: Risk, fpr: float) -> str:
    """The same for the share of members found at a false-positive rate."""
    if risk.control.kind == "never trained":
        share = risk.control.tpr_at_fpr[fpr]
        return (
            f"that is not surely more than the share {share} that the same attack finds on a model that never saw them"
        )
    return "that is not surely more than the records alone, without the model, give away"


def _advice(rival: Estimate) -> str:
    return "use a holdout drawn like the training data" if suspicious(rival) else "more records are needed"


def _reasons(risk: Risk, basis: Basis) -> list[str]:
    kind = "a model that never saw the members" if risk.control.kind == "never trained" else "shuffled memberships"
    said = [f"the same attack on {kind} reaches AUC {risk.control.auc}"]
    if risk.blind is not None:
        said.append(f"the blind baseline, which sees the records and not the model, reaches AUC {risk.blind}")
    if basis.random_split:
        said.append("that members and non-members were split at random is a statement of the caller")
    if basis.claim is not None and not _may_differ(risk, basis):
        said.append(
            f"the attacks show that ε is {basis.claim.bound} for the swap of one record (δ = {basis.claim.delta:g})"
        )
    return said


def _not_beyond_chance(strongest: Risk, basis: Basis) -> Verdict:
    """The strongest is then the risk whose interval reaches highest: what it does not exclude is not excluded."""
    auc, margin, overlap = strongest.auc, basis.margin, basis.overlap
    reasons = tuple(_reasons(strongest, basis))
    if basis.obstacles:
        first, *more = basis.obstacles
        return Verdict("cannot tell", f"cannot tell: no attack beats chance, but {first}", (*more, *reasons))
    high = min(1.0, 0.5 + (auc.high - 0.5) / (1 - overlap)) if overlap < 1 else 1.0
    if high <= 0.5 + margin:
        sentence = (
            f"no evidence of leakage beyond chance: no attack beats chance, and an AUC above {high:.3f} is excluded "
            f"for all of them"
        )
        return Verdict("no evidence", sentence, reasons)
    if auc.high <= 0.5 + margin or overlap >= MUCH_OVERLAP:
        sentence = (
            f"cannot tell: no attack beats chance, but {100 * overlap:.0f} % of the judged held-out records are copies or near "
            "copies of training records: remove them (drop_overlap, --drop-overlap, removes the exact copies)"
        )
        return Verdict("cannot tell", sentence, reasons)
    needed = records_needed(margin, auc.confidence)
    sentence = (
        f"cannot tell: no attack beats chance, but an AUC of up to {high:.2f} is not excluded; more records are needed, "
        f"about {needed:,} held out and as many trained on"
    )
    return Verdict("cannot tell", sentence, reasons)


def records_needed(margin: float, confidence: float) -> int:
    """Non-members, and as many members, from which an AUC above 0.5 + margin can be excluded where there is no leak.

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
