"""[shokri2019, Figure 1, section 4.3.3]: accuracy of five attackers against the degree of overfitting.

All see the predicted label. In addition they have the gradient (∇c), the gradient and the true label (∇c; l), the prediction
vector (c), or the gradient and the prediction vector (∇c; c), each with the network of appendix A; the fifth has the loss
and a threshold that is best on the records it knows.

A control shuffles the memberships before the attack on ∇c; c: its accuracy is chance. The curve is called straight where
the interval of a parabola's bend, fitted to the points by their intervals, holds zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakscope.attacks import Attack, Evidence, Scores, explanation_network
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import normal_quantile
from leakscope.core.result import Claim
from leakscope.papers import shokri_curves
from leakscope.papers.reproduction import Reproduction, Work, statement
from leakscope.papers.shokri_curves import CONTROL, NO_NUMBERS, Answers, GapGroup, attack_figure
from leakscope.papers.shokri_targets import OverfitData, accuracy, gain
from leakscope.papers.trends import Trend, every, trend

ID = "shokri-fig1"
TITLE = "Accuracy of membership attacks by overfitting, with gradients, predictions and the loss"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, section 4.3.3 and Figure 1",
    "statement": (
        "4.1: the accuracy of all attacks grows with the degree of overfitting, linearly. 4.2: attacks by the loss are best; on "
        "the hospital data the true label with the gradient is all that does better than a random guess. 4.3: the gradient adds nothing "
        "significant to the prediction vector."
    ),
    "numbers": NO_NUMBERS + " Hospital does not pass a gap of 0.1; Adult has next to none and is left out.",
}
FULL = shokri_curves.FULL | {
    "keys": ("purchase100", "texas100", "cifar100", "diabetes130"), "judged": 2505, "large_judged": 2000, "epochs": 30,
}  # fmt: skip
QUICK = shokri_curves.QUICK | {"judged": 200, "large_judged": 200, "epochs": 2}

_HOLDS: dict[Trend, bool | None] = {"rises": True, "shows no change": None, "falls": False, "goes both ways": False}
LOSS, BOTH, PREDICTION = "loss", "∇c; c", "c"
SCENARIOS = ("∇c", "∇c; l", PREDICTION, BOTH, LOSS)


def run(work: Work, gaps: Sequence[float], judged: int, large_judged: int, epochs: int, **drawn: Any) -> Reproduction:
    """Attack every target with what each attacker has."""
    return attack_figure(
        work, gaps, scenarios(epochs), BOTH, drawn,
        columns={
            "loss_better": lambda name, answers: gain(answers[LOSS], answers[name]) if name != LOSS else None,
            "over_c": lambda name, answers: gain(answers[BOTH], answers[PREDICTION]) if name == BOTH else None,
            "control": lambda name, answers: accuracy(answers[CONTROL]) if name == BOTH else None,
        },
        findings=_findings, judged=judged, large_judged=large_judged, attack_epochs=epochs,
    )  # fmt: skip


def scenarios(epochs: int) -> dict[str, Attack]:
    """Give the five attacks by the names of the paper."""
    return {
        "∇c": explanation_network("gradient", epochs=epochs),
        "∇c; l": explanation_network("gradient", true_label=True, epochs=epochs),
        PREDICTION: explanation_network("probabilities", epochs=epochs),
        BOTH: explanation_network("gradient", prediction=True, epochs=epochs),
        LOSS: Attack("fitted loss threshold", "log_loss", "shokri2019, section 4.2", _by_loss, fixed_scale=True),
    }


def _by_loss(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
    """The threshold of the loss with the most right answers on the known records."""
    loss, known = evidence.observed[:, 0], evidence.known
    order = np.argsort(known.observed[:, 0], kind="stable")
    values, member = known.observed[order, 0], known.member[order]
    last = np.append(values[1:] != values[:-1], True)  # equal losses can't be told apart
    right = np.where(last, np.cumsum(np.where(member, 1, -1)), -len(member))
    return Scores(-loss, (loss <= values[np.argmax(right)]).astype(np.float64))


def _findings(source: OverfitData, targets: dict[float, GapGroup]) -> list[Claim]:
    name, most = source.name, max(targets)
    answers = targets[most].answers
    points = {attack: accuracy(answers[attack]) for attack in SCENARIOS}
    above_chance = {attack for attack, point in points.items() if point.low > 0.5}
    over = gain(answers[BOTH], answers[PREDICTION])
    # of the attackers that see no label none is above chance; inconclusive where no attacker is
    holds = "∇c; l" in above_chance and not above_chance & {"∇c", PREDICTION, BOTH} if above_chance else None
    only_with_labels = [statement(f"4.2 on {name}: only with labels", holds, points)]
    return [
        *(_growth(name, targets) if len(targets) > 1 else []),
        _loss_is_best(name, most, answers),
        # inconclusive where neither is above chance
        statement(
            f"4.3 on {name}: the gradient adds nothing",
            False if over.low > 0 else True if {PREDICTION, BOTH} & above_chance else None,
            {f"∇c; c minus c, gap {most:g}": over},
        ),
        *(only_with_labels if source.key == "diabetes130" else []),
    ]


def _growth(name: str, targets: dict[float, GapGroup]) -> list[Claim]:
    """Observation 4.1: the accuracy of every attack rises with the gap; and are the curves that rise straight?"""
    series = {attack: [accuracy(group.answers[attack]) for group in targets.values()] for attack in SCENARIOS}
    ways = {attack: trend(points) for attack, points in series.items()}
    ends = {
        f"{attack}, gap {gap:g}": series[attack][place]
        for attack in SCENARIOS
        for gap, place in ((min(targets), 0), (max(targets), -1))
    }
    findings = [statement(f"4.1 on {name}: accuracy rises", every(_HOLDS[way] for way in ways.values()), ends)]
    bends = {attack: curvature(list(targets), series[attack]) for attack in SCENARIOS if ways[attack] == "rises"}
    told = {attack: bend for attack, bend in bends.items() if bend is not None}
    if told:
        straight = all(bend.low <= 0 <= bend.high for bend in told.values())
        findings.append(
            statement(f"4.1 on {name}: linearly", straight, {f"{attack}, bend": bend for attack, bend in told.items()})
        )
    return findings


def curvature(x: Sequence[float], points: Sequence[Estimate]) -> Estimate | None:
    """Give the factor of x² in the parabola fitted by weighted least squares; None for fewer than four points.

    The points are taken as independent, each with the standard error that its 95 % interval shows.

    Examples
    --------
    >>> curvature([0, 1, 2, 3], [Estimate(at**2, at**2 - 0.1, at**2 + 0.1) for at in range(4)])
    1.00 [0.95, 1.05]
    """
    if len(points) < 4:
        return None
    z = normal_quantile(0.95)
    deviations = np.array([(point.high - point.low) / (2 * z) for point in points])
    values = np.array([point.value for point in points])
    factors, covariance = np.polyfit(np.asarray(x, float), values, 2, w=1 / deviations, cov="unscaled")
    value, half = float(factors[0]), z * float(np.sqrt(covariance[0, 0]))
    return Estimate(value, value - half, value + half, method="weighted least squares")


def _loss_is_best(name: str, gap: float, answers: Answers) -> Claim:
    """Observation 4.2: some are significantly worse than the loss, and none is better; inconclusive if none differs."""
    behind = {attack: gain(answers[LOSS], answers[attack]) for attack in SCENARIOS if attack != LOSS}
    worse = [attack for attack, by in behind.items() if by.low > 0]
    above = [attack for attack, by in behind.items() if by.high < 0]
    holds = False if above else True if worse else None
    return statement(
        f"4.2 on {name}: the loss is best",
        holds,
        {f"loss minus {attack}, gap {gap:g}": by for attack, by in behind.items()},
    )
