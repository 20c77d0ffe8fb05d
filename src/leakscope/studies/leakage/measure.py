"""Membership leakage of a learner: the difference between models trained with and without each of many records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_confidence, check_count, check_number, check_seed, check_share
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.evaluation.membership_experiment import MOST_NOISE
from leakscope.learners import as_learner
from leakscope.studies.inputs import formerly, read_universe
from leakscope.studies.leakage.claims import conclude
from leakscope.studies.leakage.draws import ENDLESS, Jackknife, MeasuredDraws, check_draws, measure
from leakscope.studies.leakage.figures import Checks, Summary, positive, student
from leakscope.studies.leakage.neighbours import beyond_gaussian
from leakscope.studies.leakage.result import Leakage, LeakagePoint
from leakscope.studies.leakage.swaps import Space, SwapTraining
from leakscope.worlds.training import Progress

#: Records of which nearest neighbours check the Gaussian approximation, and which serve as the control.
CHECKED = 20
#: A draw is ill-conditioned with a parameter this many robust deviations from its median: never, for a Gaussian.
FAR = 8.0
#: Directions with less of the variance than this are fixed combinations of the others.
FIXED = 1e-12
#: A parameter whose deviation is this small compared with the largest parameter varies by rounding only.
ROUNDING = 1e-11


@dataclass(frozen=True)
class LeakageSettings:
    """How leakage is measured at every size, regularisation and noise; see `membership_leakage`."""

    records: int | ArrayLike
    draws: int
    space: Space
    seed: int
    shared: bool
    confidence: float
    work: dict[str, Any]
    prior: float | None = None

    def check(self, universe: int, size: int, noise: float) -> None:
        """Check them for a number of records in all, a size and a noise."""
        check_count("size", size, 2)
        check_count("draws", self.draws, 10)
        check_seed(self.seed)
        if size >= universe - 1:
            raise InputError(
                f"size must be at most {universe - 2} of {universe} records, not {size}: otherwise there is only one training set without a given record"
            )
        if self.space not in get_args(Space):
            raise InputError(f"space must be {' or '.join(map(repr, get_args(Space)))}, not {self.space!r}")
        check_number("noise", noise, 0, MOST_NOISE)
        check_confidence(self.confidence)


@formerly("records", "draws", "noise", "space", "seed")
def membership_leakage(
    learner: Any,
    X: Any = None,
    y: Any = None,
    size: int | None = None,
    *,
    records: int | ArrayLike = 200,
    draws: int = 2000,
    noise: float = 0.0,
    space: Space = "parameters",
    seed: int = 0,
    prior: float | None = None,
    shared: bool = True,
    confidence: float = 0.95,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Leakage:
    r"""Measure how much a trained model reveals about the membership of a record [farokhi2020, Definitions 1, 2].

    Parameters
    ----------
    learner
        One of `leakscope.learners`, its name (``"ridge"``, ``"logistic"``, ``"mlp"``), or a scikit-learn estimator. Or a Target, as of any other
        study: its model is trained on members and non-members.
    X, y
        The universe: all records that a training set may be drawn from; or training set and holdout of a model, each as a pair.
    size
        Number n of training records, below the number N of all; by default 30, or the number of a target's members.
    records
        The number of records to measure, chosen at random, or their positions.
    draws
        Training sets for each record and side.
    noise
        Standard deviation of independent Gaussian noise that is added to the release: to every parameter, or in function space to every output. With
        noise, laws without a density, such as those of the outputs of trees, have one.
    space
        ``"parameters"``: the attacker sees the parameters (white box). ``"function"``: the attacker sees the output at the record (black box), which
        never reveals more [Remark 2]; log-odds for classifiers.
    prior
        Probability :math:`\alpha_1` that the record is in the training set; by default n/N. At 0.5 the mutual information is that of the membership
        experiment.
    shared
        Whether the two sides share training sets: see `leakscope.studies.leakage.swaps`. ``False`` follows the paper.
    workers, cluster, cache, progress
        As in `leakscope.worlds.training.retrain`.

    Returns
    -------
    Leakage
        A result with one point.

    Raises
    ------
    InputError
        If the learner can't train on so few records, or the leakage is infinite or can't be measured from so few draws.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X @ [1.0, -1.0] + rng.normal(size=500)
    >>> leakage = membership_leakage("ridge", X, y, size=50, records=20, draws=500)
    >>> leakage.rho_kl.low < 0.1 < leakage.rho_kl.high
    True
    """
    learner, X, y, members = read_universe(learner, X, y)
    work = {"workers": workers, "cluster": cluster, "cache": cache, "progress": progress}
    how = LeakageSettings(records, draws, space, seed, shared, confidence, work, prior)
    point, table, settings = measure_point(learner, X, y, (members or 30) if size is None else size, noise, how)
    return conclude([point], table, settings | {"size": point.size, "l2": point.l2, "noise": point.noise})


def measure_point(
    learner: Any, X: Any, y: Any, size: int, noise: float, how: LeakageSettings
) -> tuple[LeakagePoint, pd.DataFrame, dict[str, Any]]:
    """Give the figures of one setting, the table of its records, and the settings that a sweep does not vary; see `membership_leakage`."""
    ids, space = X.index.to_numpy() if isinstance(X, pd.DataFrame) else None, how.space
    made, X, y = as_learner(learner).prepare(X, y)
    how.check(len(y), size, noise)
    made.check(X, y, size)
    chosen = _chosen(how.records, len(y), how.seed)
    if space == "parameters" and not getattr(made, "identified", True):
        raise InputError(
            f"the parameters of a {made.name} are not Gaussian, because hidden neurons can be exchanged, and their leakage would be "
            'underestimated: set space="function"'
        )
    training = SwapTraining(made, X, y, size, how.draws, how.shared, space, how.seed, **how.work)
    if space == "parameters":
        check_draws(how.draws, training.parameters(), noise > 0)
    share = size / len(y) if how.prior is None else check_share("prior", how.prior)
    parts, coordinates, checks = _measure_all(training, chosen, share, noise)
    summary = Summary(parts, share, len(y), how.confidence)
    l2 = float(made.l2) if hasattr(made, "l2") else None
    setting = {"size": int(size), "l2": l2, "noise": float(noise), "dimensions": coordinates.kept}
    point = summary.point(setting, space, checks)
    table = summary.records(chosen, ids)
    table = table.assign(size=point.size, l2=math.nan if l2 is None else l2, noise=point.noise)
    settings = {
        "learner": made.name, "universe": len(y), "space": space, "records": len(chosen), "draws": how.draws, "shared": how.shared,
        "seed": how.seed, "confidence": how.confidence,
    }  # fmt: skip
    return point, table, settings


def _measure_all(
    training: SwapTraining, chosen: Indices, share: float, noise: float
) -> tuple[list[MeasuredDraws], _Coordinates, Checks]:
    """Train and measure stack by stack; the first stack also sets the coordinates and is checked."""
    parts: list[MeasuredDraws] = []
    coordinates: _Coordinates | None = None
    beyond, far = np.empty((0, 0)), (0, 0)
    for rows, with_record, without in training.pairs(chosen):
        if coordinates is None:  # the first stack shows in which directions parameters vary, and how they are spread
            far = _count_far(without[:CHECKED])
            coordinates = _coordinates(with_record[:CHECKED], without[:CHECKED], noise)
        with_record, without = coordinates.of(with_record, "with"), coordinates.of(without, "without")
        if rows.start == 0 and noise == 0:
            beyond = beyond_gaussian(with_record[:CHECKED], without[:CHECKED], training.seed)
        parts.append(measure(with_record, without, share, paired=training.shared, noise=coordinates.noise))
    assert coordinates is not None
    control = _control(training, chosen[:CHECKED], coordinates)
    fixed = coordinates.map.shape[1] - coordinates.kept
    return parts, coordinates, Checks(beyond, far, control, fixed)


def gaussian_leakage(
    theta_in: ArrayLike, theta_out: ArrayLike, *, paired: bool = False, noise: float = 0.0, confidence: float = 0.95
) -> Estimate:
    """Estimate the symmetric divergence D(p1‖p0) + D(p0‖p1) of one record, in nats, from draws of its two laws taken for Gaussian.

    Parameters
    ----------
    theta_in, theta_out
        Parameters of models trained with and without the record, (draws, parameters).
    paired
        Whether row k of both comes from training sets that differ in this record alone; both then have as many rows.
    noise
        Standard deviation of Gaussian noise that is added to all parameters; it is not sampled.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gaussian_leakage(rng.normal(0.5, 1.0, (2000, 1)), rng.normal(0.0, 1.0, (2000, 1))).n
    4000
    """
    sides = [_read_draws(values, name) for values, name in ((theta_in, "theta_in"), (theta_out, "theta_out"))]
    if sides[0].shape[2] != sides[1].shape[2]:
        raise InputError(
            f"theta_in has {sides[0].shape[2]} parameters and theta_out {sides[1].shape[2]}: give the same"
        )
    if paired and sides[0].shape != sides[1].shape:
        raise InputError("paired draws must be as many on both sides: leave paired out or give pairs")
    check_confidence(confidence)
    check_number("noise", noise, 0, MOST_NOISE)
    coordinates = _coordinates(sides[0], sides[1], noise)
    first, second = coordinates.of(sides[0], "with"), coordinates.of(sides[1], "without")
    found = measure(first, second, 0.5, paired=paired, noise=coordinates.noise).divergence
    low, high = found.interval(student(found.freedom, confidence))
    count = sides[0].shape[1] + sides[1].shape[1]
    return positive(float(found.values[0]), float(low[0]), float(high[0]), confidence, count, "jackknife over draws")


def _control(training: SwapTraining, records: Indices, coordinates: _Coordinates) -> Jackknife | str:
    """The divergence of two laws that are the same, or why it can't be measured."""
    try:
        first, second = (coordinates.of(side) for side in training.control(records))
        return measure(first, second, 0.5, paired=training.shared, noise=coordinates.noise).divergence
    except InputError as error:
        return str(error)


# --- checking what was asked for --------------------------------------------------------------------------------------


def _chosen(records: int | ArrayLike, universe: int, seed: int) -> Indices:
    if np.ndim(records) == 0:
        count = check_count("records", records, 2)
        if count >= universe:
            return np.arange(universe)
        rng = np.random.default_rng(np.random.SeedSequence((seed, 0x7265636F7264)))
        return np.sort(rng.choice(universe, count, replace=False))
    positions = np.asarray(records)
    if positions.ndim != 1 or positions.dtype.kind not in "iu" or len(positions) < 2:
        raise InputError("records must be a number or a list of two positions or more")
    if positions.min() < 0 or positions.max() >= universe or len(np.unique(positions)) < len(positions):
        raise InputError(f"records must be different whole numbers from 0 to {universe - 1}")
    return positions.astype(np.intp)


def _read_draws(values: ArrayLike, name: str) -> Floats:
    try:
        draws = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers") from None
    if draws.ndim != 2 or not draws.size:
        raise InputError(f"{name} must be an array (draws, parameters), not of shape {draws.shape}")
    if not np.isfinite(draws).all():
        raise InputError(f"{name} has missing or infinite values: remove these draws")
    return draws[None]


# --- coordinates ------------------------------------------------------------------------------------------------------


class _Coordinates(NamedTuple):
    """A linear map of the parameters in which they have variance one: divergence stays the same, rounding errors less.

    The first ``kept`` coordinates vary; in the others, fixed combinations of parameters, no model may differ.
    """

    centre: Floats
    map: Floats
    kept: int
    noise: Floats | None

    def of(self, draws: Floats, side: str | None = None) -> Floats:
        """The coordinates that vary; of a named side, models that vary where no other does are refused."""
        moved = np.asarray((draws - self.centre) @ self.map)
        if side is not None and np.abs(moved[..., self.kept :]).max(initial=0.0) > 10 * math.sqrt(FIXED):
            raise InputError(ENDLESS.format(side))
        return moved[..., : self.kept]


def _coordinates(with_record: Floats, without: Floats, noise: float) -> _Coordinates:
    centre = without.mean(axis=(0, 1))
    largest = max(float(np.abs(side).max()) for side in (with_record, without))
    if not math.isfinite(largest):
        raise InputError("some models have parameters that are not finite: the training diverged")
    largest = largest or 1.0
    covariance = sum(_covariance(side / largest) for side in (with_record, without)) / 2
    variance = np.diag(covariance)
    if noise:
        scaled = np.diag(1 / np.hypot(largest * np.sqrt(variance), noise))
        return _Coordinates(centre, scaled, len(centre), noise * scaled)
    # what never varies but by rounding is measured in units of that, so that a model in which it does stands out
    unit = np.where(np.sqrt(variance) > ROUNDING, np.sqrt(variance), 1e6 * ROUNDING)
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = int((values > FIXED * max(values[0], 1.0)).sum())
    if not kept:
        raise InputError(
            "all models are equal, so there is no leakage to measure: check X and y, or theta_in, theta_out"
        )
    spread = np.concatenate([np.sqrt(values[:kept]), np.ones(len(values) - kept)])
    return _Coordinates(centre, vectors / unit[:, None] / spread / largest, kept, None)


def _covariance(draws: Floats) -> Floats:
    """Covariance within records, pooled over them."""
    moved = draws - draws.mean(axis=1, keepdims=True)
    pooled: Floats = np.einsum("rdp,rdq->pq", moved, moved) / (moved.shape[0] * max(1, moved.shape[1] - 1))
    return pooled


def _count_far(draws: Floats) -> tuple[int, int]:
    """Draws with a parameter far from its median, out of how many; the records of a stack share most of their draws."""
    median = np.median(draws, axis=1, keepdims=True)
    deviation = 1.4826 * np.median(np.abs(draws - median), axis=1, keepdims=True)
    far = (np.abs(draws - median) > FAR * deviation + 1e-300).any(axis=2)
    return round(float(far.mean()) * draws.shape[1]), draws.shape[1]
