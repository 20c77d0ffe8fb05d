"""What the figures of farokhi2020 have in common: the data, one measurement, and a sweep over a setting.

The paper leaves open what our reading fills in, and `READING` says so in every reproduction:

* The columns of Adult are standardised before the principal components are taken; without that the first component is
  ``fnlwgt`` alone.
* The model is M(x; θ) = xᵀθ with as many parameters as features, so there is no intercept, and θ is fitted to the label,
  0 or 1, by least squares. An intercept is one parameter more: in Figure 1 it takes the leakage at n = 10 from 4.5 to 9.9
  nats, and from n = 30 on it changes it by less than the intervals.
* The threshold adversary is the one of Yeom et al. 2018, section 6: "member" where the loss is at most the mean training
  loss. That mean is more than the parameters show, so the bound of Theorem 1 does not hold for it. It does for the same
  adversary with the mean training loss of other models, ``fixed_threshold``, and for the likelihood ratio of the
  parameters, ``attack``, which is the test that comes closest to the bound.
* The boxes show the paper's advantage of each model, 2P − 1 without its sign, which chance alone lifts above zero where
  few members are counted. Trends and bounds are about its mean with the sign kept, ``advantage_mean``.

A quarter of the labels are 1. In 6 of 100 training sets of ten records none has label 1, and least squares gives θ = 0 for
any λ. A law with such an atom is not Gaussian, and its divergence from a law without it is infinite: at n = 10 the leakage is
that of the Gaussian approximation, as in the paper, and ``note`` states that values repeat.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.wording import write
from leakscope.papers.panels import Curve, Panel
from leakscope.papers.reproduction import Cell, Reproduction, Work
from leakscope.papers.trends import Series, follows, slope, trend
from leakscope.report.documents.caveats import describe

READING = (
    "Adult as integer codes, standardised, principal components; label 0 or 1 by least squares; no intercept (the paper "
    "counts as many parameters as features)"
)
NO_NUMBERS = "The extracted text of the paper has no numbers of its figures: trends are compared."
#: How much is drawn and trained for each point: see `SweepEffort`.
FULL = {"records": 200, "draws": 2000, "models": 200}
QUICK = {"records": 50, "draws": 400, "models": 40}

COLUMNS = [
    "leakage", "leakage_median", "rho_mi", "bound",
    "attack", "advantage_least", "advantage_quartile_1", "advantage_median",
    "advantage_quartile_3", "advantage_most", "advantage_mean",
    "fixed_threshold", "ill_conditioned", "note",
]  # fmt: skip


class SweepCase(NamedTuple):
    """One point of a sweep: ``place`` on the axis, and what is trained and released there."""

    place: float
    learner: Any
    size: int
    noise: float = 0.0
    features: int = 5


class SweepAxis(NamedTuple):
    """What varies, in words whose last one is the name of the column, the trend that the paper states, and a power law.

    With ``power_law`` the slope of the leakage on logarithmic axes is noted.
    """

    words: str
    expected: Literal["falls", "rises"] = "falls"
    power_law: bool = False

    @property
    def symbol(self) -> str:
        return self.words.split()[-1]


class SweepEffort(NamedTuple):
    """How much is drawn and trained for each point, and where the leakage is measured."""

    records: int
    draws: int
    models: int
    space: Literal["parameters", "function"] = "parameters"

    @property
    def seen(self) -> str:
        """Name what the adversary of the leakage sees."""
        return "parameters" if self.space == "parameters" else "output at the record"


class SweepPoint(NamedTuple):
    """What was measured at one point; what could not be is None, and ``note`` says why."""

    leakage: Any = None
    experiment: Any = None
    fixed: Estimate | None = None
    note: str = ""

    def box(self) -> tuple[float, ...] | None:
        """Give minimum, quartiles and maximum of the advantage over models, as the paper defines it: 2P − 1 without its sign."""
        if self.experiment is None:
            return None
        sizes = np.abs(self.experiment.advantages)
        return float(sizes.min()), *self.experiment.quartiles(), float(sizes.max())

    def attacks(self) -> list[Estimate | None]:
        """Give the advantage of each adversary of the paper: likelihood ratio, threshold, fixed threshold."""
        found = (getattr(self.leakage, "attack", None), getattr(self.experiment, "advantage", None))
        return [*found, self.fixed]

    def cells(self) -> list[Cell]:
        """Give the row of `COLUMNS`."""
        leakage, experiment = self.leakage, self.experiment
        found = [getattr(leakage, name, None) for name in ("rho_kl", "rho_kl_median", "rho_mi", "advantage_bound")]
        rho, median, mutual, bound = found
        return [
            rho, median, mutual, bound and bound.value,
            getattr(leakage, "attack", None), *(self.box() or [None] * 5),
            getattr(experiment, "advantage", None), self.fixed,
            leakage and leakage.point.ill_conditioned.value, self.note or None,
        ]  # fmt: skip


def adult(features: int = 5) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Load Adult as [farokhi2020, 6.1] prepares it: integer codes and their first principal components."""
    from leakscope.data import datasets

    data = datasets.load("adult", preparation="codes", components=features)
    return np.asarray(data.X, np.float64), data.y


def measure(work: Work, cases: Sequence[SweepCase], effort: SweepEffort) -> list[SweepPoint]:
    """Measure leakage and membership experiment at every point; raise an error where no point can be measured."""
    X, y = adult(max(case.features for case in cases))
    points = []
    for number, case in enumerate(cases, start=1):
        points.append(_measure(work, case, np.ascontiguousarray(X[:, : case.features]), y, effort))
        work.tell(number, len(cases))
    if all(point.leakage is None and point.experiment is None for point in points):
        raise InputError(points[0].note)
    return points


def _measure(work: Work, case: SweepCase, X: NDArray[np.float64], y: NDArray[Any], effort: SweepEffort) -> SweepPoint:
    """Measure one point. An input error becomes a note: other points may be measured."""
    from leakscope.evaluation.membership_experiment import membership_experiment
    from leakscope.studies.leakage import membership_leakage

    shared: dict[str, Any] = {"size": case.size, "noise": case.noise, "seed": work.seed, "progress": work.progress}
    shared |= {"workers": work.workers, "cache": work.cache}
    sizes: dict[str, Any] = {"records": effort.records, "draws": effort.draws, "space": effort.space}
    leakage = experiment = fixed = None
    notes: list[str] = []
    try:
        leakage = membership_leakage(case.learner, X, y, **sizes, **shared)
        notes += map(describe, leakage.warnings)
    except InputError as refusal:
        notes.append(str(refusal))
    try:
        # The models are trained once for both adversaries.
        with tempfile.TemporaryDirectory() if work.cache is None else nullcontext(work.cache) as folder:
            shared |= {"models": effort.models, "cache": folder}
            experiment = membership_experiment(case.learner, X, y, **shared)
            fixed = membership_experiment(case.learner, X, y, attack="fixed threshold", **shared).advantage
    except InputError as refusal:
        notes.append(str(refusal))
    return SweepPoint(leakage, experiment, fixed, "; ".join(dict.fromkeys(notes)))


def sweep(
    work: Work, axis: SweepAxis, cases: Sequence[SweepCase], effort: SweepEffort, about: Mapping[str, Any]
) -> Reproduction:
    """Measure every case, and decide trends; ``about`` are settings of the figure besides those of ``work``."""
    points = measure(work, cases, effort)
    series = _series(cases, points, axis.symbol)
    return work.result(
        settings={"reading": READING, **about, **work.settings, **effort._asdict()},
        columns=[axis.symbol, *COLUMNS],
        rows=[[case.place, *point.cells()] for case, point in zip(cases, points, strict=True)],
        statements=[follows(name, axis.expected, series[name]) for name in ("leakage", "advantage")],
        notes=_notes(cases, points, series, axis.power_law),
        panels=_figures([f"{case.place:g}" for case in cases], points, axis.words, effort),
    )


def _series(cases: Sequence[SweepCase], points: Sequence[SweepPoint], symbol: str) -> dict[str, Series]:
    """Leakage, its median over records, and advantage, each with the places where it was measured."""
    known = [(f"{symbol} = {case.place:g}", point) for case, point in zip(cases, points, strict=True)]
    measured = [(name, point.leakage) for name, point in known if point.leakage is not None]
    return {
        "leakage": [(name, result.rho_kl) for name, result in measured],
        "median leakage": [(name, result.rho_kl_median) for name, result in measured],
        "advantage": [(name, point.experiment.advantage) for name, point in known if point.experiment is not None],
    }


def _notes(
    cases: Sequence[SweepCase], points: Sequence[SweepPoint], series: dict[str, Series], power_law: bool
) -> list[str]:
    """The slope of the leakage, and the trend of the median record if it is another one."""
    places = [case.place for case, point in zip(cases, points, strict=True) if point.leakage is not None]
    steepness = slope(places, [value for _, value in series["leakage"]]) if power_law else None
    notes = [] if steepness is None else [f"On logarithmic axes the leakage has slope {write(steepness)}."]
    ways = [trend([point for _, point in series[name]]) for name in ("leakage", "median leakage")]
    return [*notes, f"The leakage of the median record {ways[1]}."] if ways[0] != ways[1] else notes


def _figures(names: Sequence[str], points: Sequence[SweepPoint], axis: str, effort: SweepEffort) -> list[Panel]:
    """Boxes of the advantage with its bound, and the leakage."""
    leakages, boxes = [point.leakage for point in points], tuple(point.box() for point in points)
    curves = (
        Curve("Threshold adversary, |advantage| by model", (None,) * len(names), form="boxes", boxes=boxes),
        Curve("Bound on the mean advantage from ρ_KL", tuple(one and one.advantage_bound.value for one in leakages)),
        Curve(f"Likelihood ratio of the {effort.seen}", tuple(one and one.attack for one in leakages), form="points"),
    )
    leakage = Curve("Leakage ρ_KL", tuple(one and one.rho_kl for one in leakages))
    return [
        Panel("Advantage", axis, "Advantage", curves, tuple(names)),
        Panel("Leakage", axis, "Leakage ρ_KL (nats)", (leakage,), tuple(names), log_y=True),
    ]
