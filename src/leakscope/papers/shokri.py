"""What the reproductions of shokri2019, section 5, have in common: the data, one training set with all its models, and
how a number is compared with the paper's.

The paper leaves open what our reading fills in, and `READING` says so in every reproduction:

* The weight of the penalty is not stated. Ours is penalty = 1, scikit-learn's default; for the hospital data also less,
  with which more of the paper's numbers come out.
* Adult and the hospital data are one-hot, numbers scaled to [0, 1] by the whole set, hospital classes balanced; 2,000
  training records are drawn from all of it, and as many of the remaining records are the holdout.
* The third set of the paper, Inception-v3 features of dogs and fish, is used where its two files are in the mirror folder
  or the cache. Where they are not, raw pixels of CIFAR-100 stand in, fish against large carnivores: it has more columns
  than records too, but nothing else in common, and its numbers are not compared with the paper's.

Intervals over draws are Student's, for the mean over training sets that are drawn from one data set. Draws of 2,000 from
48,842 share one record in twenty-four; draws of 1,600 from 2,000 pictures share four in five, and their interval says
only how much the draw matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import mean, proportion
from leakscope.papers.reproduction import Cell, Work
from leakscope.releases.oracle import Prior
from leakscope.releases.record_explanations import LeaveOneOut, RecordExplanation, leave_one_out

Key = Literal["adult", "hospital", "pictures"]
Answer = TypeVar("Answer")

KEYS: tuple[Key, ...] = ("adult", "hospital", "pictures")
READING = (
    "logistic regression, sum of log-losses + penalty/2·|w|², every model solved exactly; the paper does not state its "
    "regularisation; one-hot columns in [0, 1]; influence by the loss 1 − likelihood"
)
CLOSE = 3.0  # points of a hundred within which a share counts as the paper's, which is given in whole points

#: [shokri2019, Table 2]: percent of the data, and percent that is revealed for k = 1, 5, 10.
TABLE_2: dict[Key, dict[str, tuple[float, float, float, float]]] = {
    "adult": {
        "whole set": (100, 10, 21, 28),
        "age 10-20": (5, 0, 1, 1),
        "White": (86, 10, 21, 28),
        "Black": (10, 9, 16, 19),
        "Amer-Indian-Eskimo": (1, 8, 23, 32),
        "Other": (0.8, 16, 32, 43),
        "Asian-Pac-Islander": (3, 21, 40, 48),
    },
    "hospital": {
        "whole set": (100, 33, 63, 75),
        "age 0-10": (0.2, 61, 100, 100),
        "age 10-20": (0.7, 23, 62, 95),
        "Caucasian": (75, 32, 62, 74),
        "AfricanAmerican": (19, 36, 66, 78),
        "Hispanic": (2, 40, 61, 77),
        "Other": (1.5, 30, 60, 79),
        "Asian": (0.6, 33, 70, 95),
    },
    "pictures": {"whole set": (100, 16, 24, 28)},
}
LEVELS = (1, 5, 10)  # the k of the paper's tables
#: Settings that the figures and tables of section 5 share.
FULL = {"size": 2000, "draws": 10, "picture_draws": 3, "hospital_weights": (1.0, 0.1, 0.01)}
QUICK = {"size": 200, "draws": 2, "picture_draws": 2, "hospital_weights": (1.0,)}
_FISH = {
    1: "aquarium fish", 32: "flatfish", 67: "ray", 73: "shark", 91: "trout",
    3: "bear", 42: "leopard", 43: "lion", 88: "tiger", 97: "wolf",
}  # fmt: skip


class InfluenceData(NamedTuple):
    """A data set of the paper, or its substitute."""

    key: Key
    name: str
    X: Floats
    y: NDArray[np.int64]
    groups: dict[str, Booleans]
    size: int
    stands_in: str = ""


class InfluenceCase(NamedTuple):
    """A data set with a weight of the penalty, and how often how many training records are drawn."""

    source: InfluenceData
    penalty: float
    draws: int
    size: int

    @property
    def name(self) -> str:
        return self.source.name + ("" if self.penalty == 1 else f", penalty = {self.penalty:g}")

    @property
    def is_paper(self) -> bool:
        """Whether the paper has numbers for it: its data set, and as many records."""
        return not self.source.stands_in and self.size == self.source.size

    def row(self, *cells: Cell, note: str | None = None) -> list[Cell]:
        """Give a row of `columns`."""
        return [self.source.name, self.penalty, *cells, self.size, self.draws, note or self.source.stands_in or None]

    def stated(self, place: int, group: str = "whole set") -> float | None:
        """Give what Table 2 states for a group: percent revealed for k = 1, 5, 10 (places 0, 1, 2); None if nothing."""
        row = TABLE_2[self.source.key].get(group) if self.is_paper else None
        return None if row is None else row[place + 1]


class Study(NamedTuple):
    """One draw: training records with their places in the set, all models, and records that were not trained on."""

    case: InfluenceCase
    rows: Indices
    X: Floats
    y: NDArray[np.int64]
    loo: LeaveOneOut
    holdout: Floats
    draw: int


def load(key: Key) -> InfluenceData:
    """Load one of the three sets."""
    from leakscope.data import datasets

    if key == "pictures":
        return _pictures()
    name = "adult" if key == "adult" else "diabetes130"
    data = datasets.load(name, preparation="one-hot")
    groups = {"whole set": np.ones(len(data), bool)}
    for group in list(TABLE_2[key])[1:]:
        column, level = ("age", f"[{group[4:]})") if group.startswith("age ") else ("race", group)
        groups[group] = np.asarray(data.groups[column] == level)
    X, y = np.asarray(data.X, np.float64), np.asarray(data.y, np.int64)
    return InfluenceData(key, "Adult" if key == "adult" else "Hospital", X, y, groups, 2000, data.stands_in)


def _pictures() -> InfluenceData:
    """Dog against fish where its files are, otherwise fish against large carnivores."""
    from leakscope.data import datasets

    if datasets.available("dogfish"):
        data = datasets.load("dogfish")
        X, whole = np.asarray(data.X, np.float64), {"whole set": np.ones(len(data), bool)}
        return InfluenceData("pictures", "Dog vs. Fish", X, data.y, whole, 1800, data.stands_in)
    name = "cifar100_20k" if datasets.available("cifar100_20k") else "cifar100"
    data = datasets.load(name)
    superclass = data.groups["superclass"].to_numpy(str)
    rows = np.flatnonzero(np.isin(superclass, ["fish", "large_carnivores"]))
    fine = data.y[rows]
    groups = {"whole set": np.ones(len(rows), bool)} | {word: fine == code for code, word in _FISH.items()}
    return InfluenceData(
        key="pictures",
        name="Fish vs. Carnivores",
        X=np.asarray(data.X)[rows].reshape(len(rows), -1) / 255.0,
        y=(superclass[rows] == "fish").astype(np.int64),
        groups=groups,
        size=1600,
        stands_in=f"{name}, raw pixels of fish and large carnivores, in the place of Dog vs. Fish (Inception-v3 features)",
    )


def cases(
    size: int, draws: int, picture_draws: int, hospital_weights: Sequence[float], keys: Sequence[Key] = KEYS
) -> list[InfluenceCase]:
    """Give the sets with the weights of the penalty, with at most as many records as in the paper."""
    found = []
    for source in map(load, keys):
        weights = hospital_weights if source.key == "hospital" else (1.0,)
        times = picture_draws if source.key == "pictures" else draws
        found += [InfluenceCase(source, weight, times, min(size, source.size)) for weight in weights]
    return found


def study(case: InfluenceCase, draw: int, seed: int) -> Study:
    """Draw training records, and train on all of them and without each; cases of one set share their draws."""
    source = case.source
    rng = np.random.default_rng([seed, KEYS.index(source.key), draw])
    order = rng.permutation(len(source.y))
    rows, others = order[: case.size], order[case.size : 2 * case.size]
    X, y = source.X[rows], source.y[rows]
    return Study(case, rows, X, y, leave_one_out(X, y, case.penalty), source.X[others], draw)


def over_draws(work: Work, found: Sequence[InfluenceCase], measure: Callable[[Study], Answer]) -> list[list[Answer]]:
    """Apply ``measure`` to every draw of every case."""
    seed = work.seed
    answers = iter(
        work.each(
            [(case, draw) for case in found for draw in range(case.draws)],
            lambda job: measure(study(*job, seed)),
            cost=lambda job: job[0].size ** 2 * job[0].source.X.shape[1],
        )
    )
    return [[next(answers) for _ in range(case.draws)] for case in found]


def prior(drawn: Study) -> Prior:
    """Give what the paper's attackers know at most: the range of each column, and records that were not trained on."""
    source = drawn.case.source
    return Prior(source.X.min(axis=0), source.X.max(axis=0), drawn.holdout)


def own_rank(drawn: Study) -> Indices:
    """Give the position of each training record in its own explanation, from 0; the largest k if it is not shown."""
    most = min(max(LEVELS), len(drawn.loo))
    records = RecordExplanation(k=most).explain(drawn.loo, drawn.X).records
    own = records == np.arange(len(records))[:, None]
    return np.where(own.any(axis=1), own.argmax(axis=1), max(LEVELS)).astype(np.intp)


def revealed(drawn: Study) -> list[int]:
    """Give how many records are among the first k of their own explanation, for each k."""
    place = own_rank(drawn)
    return [int(np.sum(place < k)) for k in LEVELS]


def shares(case: InfluenceCase, counts: Sequence[Sequence[int]]) -> list[Estimate]:
    """Give the means over draws of what `revealed` counted, as shares in percent."""
    return [mean_share([count / case.size for count in column]) for column in zip(*counts, strict=True)]


def columns(*names: str) -> list[str]:
    """Give the columns of a table by case: `InfluenceCase.row`."""
    return ["data", "penalty", *names, "size", "draws", "note"]


def settings(found: Sequence[InfluenceCase], **more: Any) -> dict[str, Any]:
    """Give all that the numbers depend on."""
    stands_in = [case.source.stands_in for case in found if case.source.stands_in]
    return {
        "reading": READING,
        "stands_in": stands_in[0] if stands_in else "none: all data sets are those of the paper",
        "cases": [
            {"data": case.source.name, "penalty": case.penalty, "size": case.size, "draws": case.draws}
            for case in found
        ],
        **more,
    }


def mean_share(parts: Sequence[float]) -> Estimate:
    """Give the mean over draws of shares, in percent, with Student's interval kept inside 0 and 100."""
    found = mean(100 * np.asarray(parts, np.float64))
    return Estimate(found.value, max(0.0, found.low), min(100.0, found.high), n=found.n, method="Student, over draws")


def mean_count(counts: Sequence[float], most: float = np.inf) -> Estimate:
    """Give the mean over draws of counts, with Student's interval within 0 and ``most``; for one draw it is unbounded."""
    found = mean(np.asarray(counts, np.float64))
    high = min(found.high, most) if len(counts) > 1 else found.high
    return Estimate(found.value, max(0.0, found.low), high, n=found.n, method="Student, over draws")


def pooled_share(hits: Sequence[int], sizes: Sequence[int], distinct: int) -> Estimate | None:
    """Give the share of hits over all draws, in percent; None if there is no trial.

    The interval is that of Clopper and Pearson for fewer trials than there were. A record that is drawn several times
    counts once: ``distinct`` is their number. Records of one draw share a model: where shares vary more between draws
    than by chance, the number of trials is divided by that much (the design effect of a ratio, never below 1).

    Examples
    --------
    >>> pooled_share([0, 0], [15, 15], distinct=30)
    0.0 [0.0, 11.6]
    >>> pooled_share([60, 20], [100, 100], distinct=200)  # far apart: as if there were 6 records
    40.0 [4.3, 88.2]
    """
    trials, found = np.asarray(sizes, np.float64), np.asarray(hits, np.float64)
    if not trials.sum():
        return None
    share = found.sum() / trials.sum()
    effect = 1.0
    if len(trials) > 1 and 0 < share < 1:
        between = len(trials) / (len(trials) - 1) * float(np.sum((found - share * trials) ** 2))
        effect = max(1.0, between / (share * (1 - share) * trials.sum()))
    independent = max(1, int(min(distinct, trials.sum()) / effect))
    part = proportion(int(found.sum()), int(trials.sum()), independent=independent)
    return Estimate(100 * part.value, 100 * part.low, 100 * part.high, n=part.n, method="Clopper-Pearson, by draw")


def nearest_weight(
    found: Sequence[InfluenceCase], ours: Sequence[Sequence[Estimate]], paper: Sequence[Sequence[float]]
) -> list[str]:
    """State which weight of the penalty comes nearest to the paper's hospital data; nothing with fewer than two.

    For each case there are our numbers, and those that the paper states, none if it states none.
    """
    apart: dict[float, tuple[float, str]] = {}
    for case, values, stated in zip(found, ours, paper, strict=True):
        if case.source.key == "hospital" and stated:
            miss = max(abs(value.value - number) for value, number in zip(values, stated, strict=True))
            apart[case.penalty] = (miss, "/".join(f"{value.value:.0f}" for value in values))
    if len(apart) < 2:
        return []
    nearest = min(apart, key=apart.__getitem__)
    given = ", ".join(f"penalty = {weight:g} gives {numbers}" for weight, (_, numbers) in apart.items())
    return [
        f"The paper does not state its regularisation. For the hospital data, {given}; penalty = {nearest:g} comes nearest, "
        f"at most {apart[nearest][0]:.1f} from the paper."
    ]
