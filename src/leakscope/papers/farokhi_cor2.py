r"""[farokhi2020, Theorem 4 and Corollary 2]: how fast leakage falls with noise, and what differential privacy then buys.

Theorem 4 says :math:`\rho(\theta + tw) = \rho(\theta) - O(t)` for noise of standard deviation t, and from it Corollary 2 that
(ε, δ)-differential privacy takes :math:`O(\log^{1/2}(1/\delta)/\epsilon)` off. The proof uses de Bruijn's identity with t as
the standard deviation; the identity is in the *variance*. So the fall begins as t², and Corollary 2's order becomes
:math:`O(\log(1/\delta)/\epsilon^2)`. Two parts of the table:

*slope*: small noise, the fall :math:`\rho(0) - \rho(t)` on the same draws, and its slope on logarithmic axes.
*privacy*: the noise that makes ridge regression (ε, δ)-private, by Proposition 1 for ε < 1, where it holds, and by the
analytic Gaussian mechanism from there on; leakage and advantage beside :math:`(e^\epsilon - 1 + 2\delta)/(e^\epsilon + 1)`,
the advantage that (ε, δ) allows. The sensitivity is that bound which strong convexity gives, over all training sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from leakscope import plots
from leakscope.core.estimate import Estimate
from leakscope.errors import InputError
from leakscope.papers.farokhi import COLUMNS, READING, Case, Effort, Point, adult, measure
from leakscope.papers.reproduction import Cell, Reproduction, ends
from leakscope.papers.trends import describe, shown, slope, trend
from leakscope.worlds import Progress

ID = "farokhi-cor2"
TITLE = "Noise and privacy: how fast the leakage of ridge regression falls"
PAPER = {
    "source": "Farokhi and Kaafar 2020, Theorem 4 and Corollary 2",
    "statement": (
        "Leakage falls with the noise's standard deviation t as O(t), and under (ε, δ)-differential privacy as "
        "O(log^(1/2)(1/δ)/ε)."
    ),
    "numbers": "The paper has no experiment for it; the order is compared.",
}
FULL = {
    "deviations": (1e-4, 2e-4, 5e-4, 1e-3, 2e-3),
    "epsilons": (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 200.0),
    "size": 30,
    "l2": 1.0,
    "delta": 1e-5,
    "records": 200,
    "draws": 2000,
    "models": 200,
}
FALL = ("fall", "fall_low", "fall_high")
QUICK = FULL | {"deviations": (1e-4, 5e-4, 2e-3), "epsilons": (0.5, 10.0), "records": 50, "draws": 400, "models": 40}


class Guarantee(NamedTuple):
    """The noise that makes a release private, and the advantage that this privacy allows."""

    epsilon: float
    delta: float
    sensitivity: float
    mechanism: Literal["analytic", "classic"]
    ceiling: float
    noise: float


def run(
    deviations: Sequence[float],
    epsilons: Sequence[float],
    size: int,
    l2: float,
    delta: float,
    records: int,
    draws: int,
    models: int,
    seed: int = 0,
    progress: Progress | None = None,
    workers: int | None = None,
    cache: str | Path | None = None,
) -> Reproduction:
    """Measure the fall at small noise and the leakage at the noise of each ε."""
    from leakscope.learners import Ridge
    from leakscope.sensitivity import sensitivity

    X, y = adult()
    ridge, effort = Ridge(l2=l2, intercept=False), Effort(records, draws, models)
    reach = sensitivity(ridge, X, y, size, method="bound").value
    guarantees = [_guarantee(epsilon, delta, reach) for epsilon in epsilons]
    noises = [0.0, *deviations, *(guarantee.noise for guarantee in guarantees)]
    points = []
    for number, noise in enumerate(noises, start=1):
        case = Case(noise, ridge, size, noise)
        points.append(measure(case, X, y, effort, seed=seed, progress=progress, workers=workers, cache=cache))
        if progress is not None:
            progress(ID, number, len(noises))
    if any(point.leakage is None for point in points):
        raise InputError(next(point.note for point in points if point.leakage is None))
    bare, small, private = points[0], points[1 : len(deviations) + 1], points[len(deviations) + 1 :]
    falls = [_fall(bare, point) for point in small]
    verdict = _verdict(deviations, falls, guarantees, private)
    return Reproduction(
        id=ID,
        title=TITLE,
        settings={
            "reading": READING, "learner": "ridge regression", "l2": l2, "features": 5, "size": size, "delta": delta,
            "deviations": list(deviations), "epsilons": list(epsilons), **effort._asdict(), "seed": seed,
        },
        columns=["part", "σ", "ε", "δ", "sensitivity", "mechanism", "ceiling", *FALL, *COLUMNS],
        rows=[
            ["no noise", 0.0, *[None] * 8, *bare.cells()],
            *_rows("slope", deviations, [[*[None] * 5, *ends(fall)] for fall in falls], small),
            *_rows("privacy", noises[-len(epsilons) :], [[*given[:5], *ends(None)] for given in guarantees], private),
        ],
        paper=PAPER,
        verdict=verdict,
        svg=_figure(deviations, falls, verdict),
    )  # fmt: skip


def _guarantee(epsilon: float, delta: float, reach: float) -> Guarantee:
    from leakscope.bounds import advantage_from_epsilon, gaussian_noise

    way: Literal["analytic", "classic"] = "classic" if epsilon < 1 else "analytic"
    noise = gaussian_noise(epsilon, delta, reach, method=way)
    return Guarantee(epsilon, delta, reach, way, float(advantage_from_epsilon(epsilon, delta)), float(noise))


def _rows(
    part: str, noises: Sequence[float], middle: Sequence[Sequence[Cell]], points: Sequence[Point]
) -> list[list[Cell]]:
    parts = zip(noises, middle, points, strict=True)
    return [[part, noise, *cells, *point.cells()] for noise, cells, point in parts]


def _fall(before: Point, after: Point) -> Estimate:
    """Mean over records of how much less each leaks with noise; both were measured on the same draws."""
    from leakscope.intervals import mean

    less = before.leakage.records["kl"].to_numpy() - after.leakage.records["kl"].to_numpy()
    return mean(np.asarray(less, np.float64), 0.95)


def _verdict(
    deviations: Sequence[float], falls: Sequence[Estimate], guarantees: Sequence[Guarantee], private: Sequence[Point]
) -> str:
    """The order of the fall, whether leakage falls with stronger privacy, and whether adversaries keep below its ceiling."""
    order = slope(deviations, falls)
    if order is None:
        words = ["the order of the fall could not be measured"]
    elif order.low > 1.5:
        words = [
            f"differs in the order: the fall of the leakage begins as t to the power {shown(order)}, not as t: the variance "
            "counts, and under (ε, δ) the order is log(1/δ)/ε²"
        ]
    else:
        words = [f"agrees in the order: the fall of the leakage begins as t to the power {shown(order)}"]
    pairs = list(zip(guarantees, private, strict=True))
    series = [(f"ε = {given.epsilon:g}", point.leakage.rho_kl) for given, point in pairs]
    agrees = trend([value for _, value in series]) == "rises"
    words.append(f"{'agrees' if agrees else 'differs'} in the direction: {describe('leakage', series)}")
    above = [
        given for given, point in pairs if any(found.low > given.ceiling for found in point.adversaries() if found)
    ]
    where = ", ".join(f"{given.epsilon:g}" for given in above)
    words.append(f"an adversary is above the ceiling at ε = {where}" if above else "no adversary is above its ceiling")
    return "; ".join(words)


def _figure(deviations: Sequence[float], falls: Sequence[Estimate], verdict: str) -> str:
    """The fall against the noise, beside lines of slope 1 and 2 through its first point."""
    first = falls[0].value
    guides = {
        f"{name} through the first point": [(at, _exact(first * (at / deviations[0]) ** power)) for at in deviations]
        for name, power in (("as t, as printed,", 1), ("as t², the variance,", 2))
    }
    return plots.lines(
        TITLE,
        verdict,
        {"fall of the leakage": list(zip(deviations, falls, strict=True)), **guides},
        x_label="Standard deviation of the noise t",
        y_label="ρ(0) − ρ(t), nats",
    )


def _exact(value: float) -> Estimate:
    return Estimate(value, value, value, kind="exact")
