r"""One verdict in words, drawn from the intervals and never from the points.

The strongest of several attacks looks strong by chance alone. Its interval pays for the choice: with :math:`a` attacks and
:math:`f` figures each (the AUC and the true-positive rates), every interval behind the verdict is taken at confidence
:math:`1 - \alpha/(af)`, so that all of them hold together at :math:`1 - \alpha` (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakscope.intervals import normal_quantile
from leakscope.results import Estimate, Risk, Verdict


def confidence_for_choice(confidence: float, attacks: int, figures: int) -> float:
    """Confidence of each interval so that all hold together.

    Examples
    --------
    >>> round(confidence_for_choice(0.95, attacks=5, figures=2), 4)
    0.995
    """
    return 1 - (1 - confidence) / (attacks * figures)


def choose_strongest(risks: Sequence[Risk]) -> int:
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


def _caught_at(risk: Risk) -> list[float]:
    """False-positive rates at which surely more members than non-members are called members."""
    return [fpr for fpr, rate in risk.tpr_at_fpr.items() if rate.low > fpr]


def _lift(risk: Risk) -> float:
    return max(risk.tpr_at_fpr[fpr].low / fpr for fpr in _caught_at(risk))


def judge(strongest: Risk, plain: Risk, margin: float) -> Verdict:
    """Leaks, no evidence, or cannot tell.

    - *leaks*: the strongest attack surely beats chance, and it surely beats the same attack on a model that never saw the
      members; where there is no such control it surely beats the blind baseline, and where the blind baseline beats
      chance it surely beats that in any case.
    - *no evidence*: no attack surely beats chance, and for every attack an AUC above 0.5 + ``margin`` is excluded.
    - *cannot tell*: neither.

    ``strongest`` has intervals that pay for the choice; ``plain`` is the same risk without, whose narrower intervals make
    the baseline easier to suspect.
    """
    auc, name = strongest.auc, f"{strongest.attack} on {strongest.release}"
    caught = _caught_at(strongest)
    if auc.low <= 0.5 and not caught:
        return _not_beyond_chance(strongest, margin)
    if auc.low > 0.5:
        finding = f"members are told from non-members by “{name}” with AUC {auc} (0.5 is chance, 1 is certainty)"
    else:
        rate = strongest.tpr_at_fpr[min(caught)]
        finding = f"“{name}” identifies a share {rate} of members at a false-positive rate of {min(caught):g}"
    doubts = _doubts(strongest, plain)
    if doubts:
        return Verdict("cannot tell", f"cannot tell: {finding}, but {doubts[0]}", tuple(doubts))
    return Verdict("leaks", f"leaks: {finding}", tuple(_reasons(strongest)))


def _doubts(risk: Risk, plain: Risk) -> list[str]:
    """Ways in which the finding could be a difference between the two sets of records and not a leak of the model."""
    by_auc = risk.auc.low > 0.5
    beyond_rival = any(risk.tpr_beyond[fpr].low > 0 for fpr in _caught_at(risk) if fpr in risk.tpr_beyond)
    has_control = risk.control.kind == "never trained"
    doubts = []
    if has_control and not (risk.beyond_control.low > 0 if by_auc else beyond_rival):
        doubts.append(
            f"that is not surely more than the AUC {plain.control.auc} of the same attack on a model that never saw the "
            f"members: {_advice(plain.control.auc)}"
        )
    if has_control and plain.blind.low <= 0.5:
        return doubts
    if not (risk.beyond_blind.low > 0 if by_auc else beyond_rival and not has_control):
        doubts.append(
            f"that is not surely more than the AUC {plain.blind} of telling the records apart without the model: "
            f"{_advice(plain.blind)}"
        )
    return doubts


def _advice(rival: Estimate) -> str:
    return "use a holdout drawn like the training data" if rival.low > 0.5 else "more records are needed"


def _reasons(risk: Risk) -> list[str]:
    kind = "a model that never saw the members" if risk.control.kind == "never trained" else "shuffled memberships"
    return [
        f"the same attack on {kind} reaches AUC {risk.control.auc}",
        f"the records alone, without the model, reach AUC {risk.blind}",
    ]


def _not_beyond_chance(strongest: Risk, margin: float) -> Verdict:
    """The strongest is then the risk whose interval reaches highest: what it does not exclude is not excluded."""
    auc = strongest.auc
    if auc.high <= 0.5 + margin:
        sentence = (
            f"no evidence of leakage beyond chance: no attack beats chance, and an AUC above {auc.high:.3f} is excluded "
            f"for all of them"
        )
        return Verdict("no evidence", sentence, tuple(_reasons(strongest)))
    needed = records_needed(margin, auc.confidence)
    sentence = (
        f"cannot tell: no attack beats chance, but an AUC of up to {auc.high:.2f} is not excluded; more records are needed, "
        f"about {needed:,} held out and as many trained on"
    )
    return Verdict("cannot tell", sentence, tuple(_reasons(strongest)))


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
