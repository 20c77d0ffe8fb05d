"""Leakage over sizes, regularisation and noise, beside what an attack achieves: what lowers it, and how far."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leakscope.core.estimate import Estimate
from leakscope.errors import InputError
from leakscope.leakage.measure import membership_leakage
from leakscope.leakage.result import NATS_PER_BIT, Leakage
from leakscope.leakage.swaps import Space
from leakscope.learners import as_learner
from leakscope.results import Study
from leakscope.workers import check_work
from leakscope.worlds import Progress

if TYPE_CHECKING:
    import pandas as pd

    from leakscope.experiment import Experiment

COLUMNS = (
    "size", "l2", "noise", "rho_kl", "rho_kl_low", "rho_kl_high", "rho_kl_median", "rho_kl_worst", "rho_mi", "rho_mi_low",
    "rho_mi_high", "advantage_bound", "attack", "attack_low", "attack_high", "threshold_attack", "threshold_attack_low",
    "threshold_attack_high", "control", "control_low", "control_high", "ill_conditioned", "not_measured",
)  # fmt: skip


#: What a sweep varies, and how its values are called.
NAMES = {"size": "sizes", "l2": "values of l2", "noise": "noise"}


@dataclass(frozen=True)
class Point:
    """One setting: its leakage, the membership experiment [farokhi2020, 6.2] where there is one, and what to doubt."""

    size: int
    l2: float | None
    noise: float
    leakage: Leakage
    experiment: Experiment | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotMeasured:
    """A setting that can't be measured, and why."""

    size: int
    l2: float | None
    noise: float
    reason: str


@dataclass(frozen=True)
class Below:
    """Where leakage falls below a goal as one setting, ``along``, grows and the others stay ``fixed``.

    ``value`` is the first measured one from which on every upper end stays below the goal, None where there is none;
    ``crossing`` where the curve itself crosses it, read between two measured values on logarithmic scales.
    """

    bits: float
    along: str
    fixed: dict[str, float | None]
    value: float | None
    crossing: float | None

    def sentence(self) -> str:
        """The answer in words."""
        shown = {name: value for name, value in self.fixed.items() if value is not None and (name != "noise" or value)}
        at = " at " + ", ".join(f"{name} {value:g}" for name, value in shown.items()) if shown else ""
        if self.value is None:
            return f"below {self.bits:g} bits{at}: not with the {NAMES[self.along]} measured"
        about = f" (the curve crosses near {self.crossing:.3g})" if self.crossing else ""
        return f"below {self.bits:g} bits{at}: from {self.along} {self.value:g} on{about}"


@dataclass(frozen=True, eq=False)
class Sweep:
    """Leakage at several settings."""

    points: tuple[Point, ...]
    not_measured: tuple[NotMeasured, ...]
    settings: dict[str, Any]

    def below(self, bits: float, measure: str = "rho_kl", along: str = "size") -> tuple[Below, ...]:
        """How many records, how much regularisation or how much noise it takes until leakage is below ``bits`` bits.

        Parameters
        ----------
        measure
            ``"rho_kl"``, the symmetric divergence, or ``"rho_mi"``, the mutual information.
        along
            ``"size"``, ``"l2"`` or ``"noise"``: what is to grow. There is one answer for each combination of the others.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(400, 2))
        >>> found = sweep("ridge", X, X[:, 0] + rng.normal(size=400), sizes=(20, 80), records=10, draws=300, models=0)
        >>> found.below(bits=0.1)[0].value
        80
        """
        check_goal(bits)
        if measure not in ("rho_kl", "rho_mi"):
            raise InputError(f"measure must be 'rho_kl' or 'rho_mi', not {measure!r}")
        if along not in NAMES:
            raise InputError(f"along must be {', '.join(map(repr, NAMES))}, not {along!r}")
        others = [name for name in NAMES if name != along]
        curves: dict[tuple[float | None, ...], list[tuple[float, Estimate]]] = {}
        for point in self.points:
            fixed = tuple(getattr(point, name) for name in others)
            curves.setdefault(fixed, []).append((getattr(point, along), getattr(point.leakage, measure)))
        goal = bits * NATS_PER_BIT
        return tuple(
            Below(bits, along, dict(zip(others, fixed, strict=True)), *_crossing(sorted(curve, key=_place), goal))
            for fixed, curve in sorted(curves.items(), key=lambda item: [value or 0.0 for value in item[0]])
        )

    def table(self) -> pd.DataFrame:
        """One row per setting, measured or not."""
        import pandas as pd

        rows = [_row(point) for point in self.points]
        rows += [_refused(item) for item in self.not_measured]
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        return table.sort_values(["l2", "noise", "size"], ignore_index=True)

    def records(self) -> pd.DataFrame:
        """The measured records of every setting, by id."""
        import pandas as pd

        parts = [
            point.leakage.per_record.assign(size=point.size, l2=point.l2, noise=point.noise) for point in self.points
        ]
        return pd.concat(parts, ignore_index=True)

    def save(self, folder: str | Path) -> None:
        """Write ``leakage.json``, ``leakage.csv``, ``records.csv``, ``leakage.svg`` and ``study.json``, all of them or none."""
        from leakscope.leakage.show import draw
        from leakscope.storage import inert, write_all
        from leakscope.study import FILE, study_to_json

        records = self.records()
        content = {
            "records.csv": records.assign(id=inert(records["id"])).to_csv(index=False, lineterminator="\n").encode(),
            "leakage.csv": self.table().to_csv(index=False, lineterminator="\n").encode(),
            "leakage.svg": draw(self).encode(),
            FILE: study_to_json(self.study()),
            "leakage.json": json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False).encode(),
        }
        write_all(Path(folder), content)

    def study(self, size: int | None = None) -> Study:
        """What a reader of an audit needs of this (`Audit.with_studies`), at the largest size measured or at another."""
        from leakscope.leakage.telling import tell

        return tell(self, size)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the records, as plain data."""
        points = [
            {
                **{name: _plain(getattr(point, name)) for name in (*NAMES, "warnings")},
                "leakage": {name: _plain(value) for name, value in vars(point.leakage).items() if name != "per_record"},
                "experiment": None if point.experiment is None else _plain(point.experiment),
            }
            for point in self.points
        ]
        return {
            "settings": _plain(self.settings),
            "points": points,
            "not_measured": [_plain(item) for item in self.not_measured],
        }

    def __str__(self) -> str:
        from leakscope.leakage.show import describe

        return describe(self)


def sweep(
    learner: Any,
    X: Any,
    y: Any,
    sizes: Iterable[int] = (30, 100, 300, 1000),
    l2: Iterable[float] | None = None,
    noise: Iterable[float] = (0.0,),
    records: int | ArrayLike = 200,
    draws: int = 2000,
    space: Space = "parameters",
    seed: int = 0,
    *,
    models: int = 100,
    shared: bool = True,
    confidence: float = 0.95,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Measure leakage at every combination of size, regularisation and noise.

    Parameters
    ----------
    l2
        Values of the learner's own ``l2``; by default the one it has.
    models
        Models of the membership experiment at each setting [farokhi2020, 6.2], with a threshold that comes from other
        models, so that the bound covers it; 0 leaves the experiment out, and so does noise in function space.
    learner, X, y, records, draws, space, seed, shared, confidence, workers, cluster, cache
        As in `membership_leakage`. All settings use the same records and seed.
    progress
        Called with ``("settings", done, total)`` after each, and with the progress of the training within it.

    Raises
    ------
    InputError
        If nothing can be measured. A setting that can't be (fewer records than parameters, say) is listed with its reason.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> found = sweep("ridge", X, X[:, 0] + rng.normal(size=300), sizes=(2, 50), records=10, draws=200, models=0)
    >>> [point.size for point in found.points], [item.size for item in found.not_measured]
    ([50], [2])
    """
    made = as_learner(learner)
    check_work(workers, cluster, cache)
    if isinstance(models, bool) or not isinstance(models, int | np.integer) or models < 0 or models == 1:
        raise InputError(f"models is 0 for no experiment, or 2 or more, not {models!r}")
    weights = _values("l2", [getattr(made, "l2", None)] if l2 is None else l2, made)
    spreads, counts = _values("noise", noise), _values("sizes", sizes)
    settings = [(size, weight, spread) for weight in weights for spread in spreads for size in counts]
    points: list[Point] = []
    refused: list[NotMeasured] = []
    work: dict[str, Any] = {"seed": seed, "confidence": confidence, "workers": workers, "cluster": cluster}
    work |= {"cache": cache, "progress": progress}
    for done, (size, weight, spread) in enumerate(settings, start=1):
        one = made if l2 is None else replace(made, l2=weight)  # type: ignore[type-var]
        try:
            leakage = membership_leakage(one, X, y, size, records, draws, spread, space, shared=shared, **work)
            # the experiment adds noise to parameters; in function space it is the outputs that are noisy
            trained = models if space == "parameters" or not spread else 0
            points.append(Point(size, weight, spread, leakage, *_experiment(one, X, y, size, trained, leakage, work)))
        except InputError as error:
            refused.append(NotMeasured(size, weight, spread, str(error)))
        if progress is not None:
            progress("settings", done, len(settings))
    if not points:
        raise InputError(refused[0].reason)
    own = ("size", "noise", "l2", "prior", "dimensions", "learner")
    shared_settings = {name: value for name, value in points[0].leakage.settings.items() if name not in own}
    name = points[-1].leakage.settings["learner"]
    return Sweep(tuple(points), tuple(refused), {"learner": name, **shared_settings, "models": models})


def check_goal(bits: float) -> None:
    """Refuse what is not a number of bits above zero."""
    if not (isinstance(bits, int | float | np.number) and math.isfinite(bits) and bits > 0):
        raise InputError(f"a goal is a number of bits above 0, not {bits!r}")


def _values(name: str, values: Any, learner: Any = None) -> list[Any]:
    listed = list(values) if isinstance(values, Iterable) else [values]
    if not listed:
        raise InputError(f"{name} is empty: give one value or more")
    if name == "l2" and listed != [None] and not (is_dataclass(learner) and hasattr(learner, "l2")):
        raise InputError(f"{learner.name} has no l2 of its own to sweep over: leave l2 out and set it in the learner")
    return list(dict.fromkeys(listed))


def _experiment(
    learner: Any, X: Any, y: Any, size: int, models: int, leakage: Leakage, work: dict[str, Any]
) -> tuple[Experiment | None, tuple[str, ...]]:
    """The membership experiment beside a leakage, and all there is to doubt about the two."""
    if not models:
        return None, leakage.warnings
    from leakscope.experiment import membership_experiment

    try:
        found = membership_experiment(
            learner, X, y, size, models, leakage.settings["noise"], adversary="fixed threshold", **work
        )
    except InputError as error:
        return None, (*leakage.warnings, f"no threshold attack: {error}")
    doubts = list(leakage.warnings)
    if found.advantage.low > leakage.advantage_bound.value:
        doubts.append(
            f"the threshold adversary achieves {found.advantage}, more than the bound {leakage.advantage_bound.value:.3g} "
            "for Gaussian laws: the laws are not Gaussian, and the bound does not hold"
        )
    return found, tuple(doubts)


def _place(point: tuple[float, Estimate]) -> float:
    return point[0]


def _crossing(curve: list[tuple[float, Estimate]], goal: float) -> tuple[float | None, float | None]:
    value = None
    for place, estimate in reversed(curve):
        if estimate.high >= goal:
            break
        value = place
    for (left, first), (right, second) in reversed(list(pairwise(curve))):
        if left > 0 and first.value >= goal > second.value > 0:
            way = math.log(first.value / goal) / math.log(first.value / second.value)
            return value, float(math.exp(math.log(left) + way * math.log(right / left)))
    return value, None


def _row(point: Point) -> dict[str, Any]:
    found = point.leakage
    row: dict[str, Any] = {"size": point.size, "l2": point.l2, "noise": point.noise}
    estimates = {"rho_kl": found.rho_kl, "rho_mi": found.rho_mi, "attack": found.attack}
    if point.experiment is not None:
        estimates["threshold_attack"] = point.experiment.advantage
    if found.control is not None:
        estimates["control"] = found.control
    for name, estimate in estimates.items():
        row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return row | {
        "rho_kl_median": found.rho_kl_median.value,
        "rho_kl_worst": found.rho_kl_worst.value,
        "advantage_bound": found.advantage_bound.value,
        "ill_conditioned": found.ill_conditioned.value,
    }


def _refused(item: NotMeasured) -> dict[str, Any]:
    return {"size": item.size, "l2": item.l2, "noise": item.noise, "not_measured": item.reason}


def _plain(value: Any) -> Any:
    """Data as JSON has it; infinity, which it lacks, is the text ``inf``."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(item) for name, item in asdict(value).items()}
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return "inf" if isinstance(value, float) and math.isinf(value) else value
