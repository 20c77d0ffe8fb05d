r"""[farokhi2020, Theorem 4 and Corollary 2]: how fast leakage falls with noise, and what differential privacy then changes.

Theorem 4 says :math:`\rho(\theta + tw) = \rho(\theta) - O(t)` for noise of standard deviation t, and from it Corollary 2 that
(ε, δ)-differential privacy takes :math:`O(\log^{1/2}(1/\delta)/\epsilon)` off. The proof uses de Bruijn's identity with t as
the standard deviation; the identity is in the *variance*. So the fall begins as t², and Corollary 2's order becomes
:math:`O(\log(1/\delta)/\epsilon^2)`. Two parts of the table:

*slope*: small noise, the fall :math:`\rho(0) - \rho(t)` on the same draws, and its slope on logarithmic axes.
*privacy*: the noise that makes ridge regression (ε, δ)-private, by Proposition 1 for ε < 1, where it holds, and by the
analytic Gaussian mechanism from there on; leakage and advantage next to :math:`(e^\epsilon - 1 + 2\delta)/(e^\epsilon + 1)`,
the advantage that (ε, δ) allows. The sensitivity is that bound which strong convexity gives, over all training sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import mean
from leakscope.core.result import Claim
from leakscope.papers import farokhi, panels
from leakscope.papers.farokhi import COLUMNS, READING, SweepCase, SweepEffort, SweepPoint, adult, measure
from leakscope.papers.reproduction import Cell, Reproduction, Work, exact, statement
from leakscope.papers.trends import follows, slope

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
FULL = farokhi.FULL | {
    "deviations": (1e-4, 2e-4, 5e-4, 1e-3, 2e-3),
    "epsilons": (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 200.0),
    "size": 30,
    "l2": 1.0,
    "delta": 1e-5,
}
QUICK = FULL | farokhi.QUICK | {"deviations": (1e-4, 5e-4, 2e-3), "epsilons": (0.5, 10.0)}

BETWEEN = 1.5  # a power above counts as 2, below as 1
VARIANCE = "The fall begins with the variance t² of the noise. Under (ε, δ) its order is then log(1/δ)/ε²."


class PrivateNoise(NamedTuple):
    """The noise that makes a release private, and the advantage that this privacy allows."""

    epsilon: float
    delta: float
    sensitivity: float
    mechanism: Literal["analytic", "classic"]
    ceiling: float
    noise: float


def run(
    work: Work, deviations: Sequence[float], epsilons: Sequence[float], size: int, l2: float, delta: float, **sizes: Any
) -> Reproduction:
    """Measure the fall at small noise and the leakage at the noise of each ε."""
    from leakscope.bounds.sensitivity import sensitivity
    from leakscope.learners import Ridge

    ridge, effort = Ridge(l2=l2, intercept=False), SweepEffort(**sizes)
    reach = sensitivity(ridge, *adult(), size, method="bound").value
    guarantees = [_guarantee(epsilon, delta, reach) for epsilon in epsilons]
    noises = [0.0, *deviations, *(guarantee.noise for guarantee in guarantees)]
    points = measure(work, [SweepCase(noise, ridge, size, noise) for noise in noises], effort)
    if any(point.leakage is None for point in points):
        raise InputError(next(point.note for point in points if point.leakage is None))
    bare, small, private = points[0], points[1 : len(deviations) + 1], points[len(deviations) + 1 :]
    # how much less each record leaks with noise: both were measured on the same draws
    leaks, *less = (point.leakage.records["kl"].to_numpy(float) for point in (bare, *small))
    falls = [mean(leaks - left) for left in less]
    order = slope(deviations, falls)
    return work.result(
        settings={
            "reading": READING, "learner": "ridge regression", "features": 5, **work.settings, **effort._asdict(),
        },
        columns=["part", "σ", "ε", "δ", "sensitivity", "mechanism", "ceiling", "fall", *COLUMNS],
        rows=[
            ["no noise", 0.0, *[None] * 6, *bare.cells()],
            *_rows("slope", deviations, [[*[None] * 5, fall] for fall in falls], small),
            *_rows("privacy", noises[-len(epsilons) :], [[*given[:5], None] for given in guarantees], private),
        ],
        statements=_statements(order, guarantees, private),
        notes=[VARIANCE] if order is not None and order.low > BETWEEN else [],
        panels=[_figure(deviations, falls)],
    )  # fmt: skip


def _guarantee(epsilon: float, delta: float, reach: float) -> PrivateNoise:
    from leakscope.bounds import advantage_from_epsilon, gaussian_noise

    way: Literal["analytic", "classic"] = "classic" if epsilon < 1 else "analytic"
    noise = gaussian_noise(epsilon, delta, reach, method=way)
    return PrivateNoise(epsilon, delta, reach, way, float(advantage_from_epsilon(epsilon, delta)), float(noise))


def _rows(
    part: str, noises: Sequence[float], middle: Sequence[Sequence[Cell]], points: Sequence[SweepPoint]
) -> list[list[Cell]]:
    parts = zip(noises, middle, points, strict=True)
    return [[part, noise, *cells, *point.cells()] for noise, cells, point in parts]


def _statements(
    order: Estimate | None, guarantees: Sequence[PrivateNoise], private: Sequence[SweepPoint]
) -> list[Claim]:
    """The order of the fall, whether leakage falls with stronger privacy, and whether attacks stay below its ceiling."""
    pairs = list(zip(guarantees, private, strict=True))
    series = [(f"ε = {given.epsilon:g}", point.leakage.rho_kl) for given, point in pairs]
    above = {
        f"ε = {given.epsilon:g}": found
        for given, point in pairs
        for found in point.attacks()
        if found is not None and found.low > given.ceiling
    }
    as_printed = None if order is None or order.low <= BETWEEN <= order.high else order.high < BETWEEN
    return [
        statement("the fall of the leakage begins as t", as_printed, {"power of t": order}),
        follows("leakage with growing ε", "rises", series),
        statement("no attack exceeds the advantage that (ε, δ) allows", not above, above),
    ]


def _figure(deviations: Sequence[float], falls: Sequence[Estimate]) -> panels.Panel:
    """The fall against the noise, with lines of slope 1 and 2 through its first point."""
    first = falls[0].value
    guides = {
        f"{name} through the first point": [(at, exact(first * (at / deviations[0]) ** power)) for at in deviations]
        for name, power in (("as t, as printed,", 1), ("as t², the variance,", 2))
    }
    return panels.lines(
        TITLE,
        ("Standard deviation of the noise t", "ρ(0) − ρ(t), nats"),
        {"fall of the leakage": list(zip(deviations, falls, strict=True)), **guides},
        log="xy",
    )
