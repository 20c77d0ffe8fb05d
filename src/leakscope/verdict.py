r"""One verdict in words, drawn from the intervals and never from the points.

The strongest of several attacks looks strong by chance alone. Its interval pays for the choice: with :math:`a` attacks and
:math:`f` figures each (the AUC and the true-positive rates), every interval behind the verdict is taken at confidence
:math:`1 - \alpha/(af)`, so that all of them hold together at :math:`1 - \alpha` (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakscope.intervals import normal_quantile
from leakscope.results import Risk, Verdict


def confidence_for_choice(confidence: float, attacks: int, figures: int) -> float:
    """Confidence of each interval so that all hold together.

    Examples
    --------
    >>> round(confidence_for_choice(0.95, attacks=5, figures=2), 4)
    0.995
    """
    return 1 - (1 - confidence) / (attacks * figures)


def choose_strongest(risks: Sequence[Risk]) -> int:
    """Position of the attack that surely has the largest AUC: of the largest lower end.

    If none beats chance, of one that does so at a low false-positive rate. The risks must come with intervals that pay for
    the choice.
    """
    best = max(range(len(risks)), key=lambda at: risks[at].auc.low)
    if risks[best].auc.low > 0.5:
        return best
    return max((at for at in range(len(risks)) if _caught_at(risks[at])), key=lambda at: _lift(risks[at]), default=best)


def _caught_at(risk: Risk) -> list[float]:
    """False-positive rates at which surely more members than non-members are called members."""
    return [fpr for fpr, rate in risk.tpr_at_fpr.items() if rate.low > fpr]


def _lift(risk: Risk) -> float:
    return max(risk.tpr_at_fpr[fpr].low / fpr for fpr in _caught_at(risk))


def judge(risks: Sequence[Risk], best: int, plain: Risk, margin: float) -> Verdict:
    """Leaks, no evidence, or cannot tell.

    - *leaks*: the strongest attack beats chance, and where the blind baseline or the never-trained control beats chance
      too, it beats that.
    - *no evidence*: it does not beat chance, and for every attack an AUC above 0.5 + ``margin`` is excluded.
    - *cannot tell*: neither.

    ``risks`` have intervals that pay for the choice of ``best``; ``plain`` is the chosen one without, whose narrower
    intervals make the baseline and the control easier to suspect.
    """
    strongest = risks[best]
    auc, name = strongest.auc, f"{strongest.attack} on {strongest.release}"
    caught = _caught_at(strongest)
    if auc.low <= 0.5 and not caught:
        return _not_beyond_chance(strongest, max(risks, key=lambda risk: risk.auc.high), margin)
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
    doubts = []
    advice = "use a holdout drawn like the training data"
    if plain.blind.low > 0.5 and (risk.beyond_blind.low <= 0 or risk.auc.low <= 0.5):
        doubts.append(f"the records alone, without the model, already tell them apart with AUC {plain.blind}: {advice}")
    if plain.control.auc.low > 0.5 and (risk.beyond_control.low <= 0 or risk.auc.low <= 0.5):
        kind = _control_words(plain)
        doubts.append(f"the same attack on {kind} already reaches AUC {plain.control.auc}: {advice}")
    return doubts


def _control_words(risk: Risk) -> str:
    return "a model that never saw the members" if risk.control.kind == "never trained" else "shuffled memberships"


def _reasons(risk: Risk) -> list[str]:
    return [
        f"the same attack on {_control_words(risk)} reaches AUC {risk.control.auc}",
        f"the records alone, without the model, reach AUC {risk.blind}",
    ]


def _not_beyond_chance(strongest: Risk, widest: Risk, margin: float) -> Verdict:
    """``widest`` is the risk whose interval reaches highest: what it does not exclude is not excluded."""
    high = widest.auc.high
    if high <= 0.5 + margin:
        sentence = (
            f"no evidence of leakage beyond chance: the strongest attack reaches AUC {strongest.auc}, and for every attack "
            f"an AUC above {high:.3f} is excluded"
        )
        return Verdict("no evidence", sentence, tuple(_reasons(strongest)))
    needed = records_needed(margin, widest.auc.confidence)
    sentence = (
        f"cannot tell: no attack beats chance (the strongest reaches AUC {strongest.auc}), but an AUC of up to {high:.2f} is "
        f"not excluded; more records are needed, about {needed:,} held out and as many trained on"
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
