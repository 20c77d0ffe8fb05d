r"""[tople2020, Lemma 1 and Theorem 3]: is a model of the causes less sensitive, and so more private at equal Laplace noise?

With Laplace noise of one scale on the parameters, :math:`\varepsilon_c/\varepsilon_a = \Delta F_c/\Delta F_a`, the ratio of the
sensitivities in absolute distance. They are measured for one strongly convex family, ridge or logistic regression with a
penalty, on the causes of Y, on all features, and on **as many other columns** as there are for the causes: what these do
differently from all features is due to the number of parameters, not to causality.

The causes of a network's label are one column for each configuration, so that the family holds the best predictor f and the
features of the causal model are among those of the other one, as Theorem 1 asks. The label is whether Y has its most frequent
level. All four labels of the paper are leaves of their networks, so that the best model of all features is causal anyway;
Sachs/Erk, with the child Akt, is not. In two sets of Gaussian variables Y has causes, children and independent columns, and in
one of them a child is nearly a copy of Y, where Lemma 1 fails (see `leakscope.causal.generalisation`).

*sampled*: the largest move over random swaps, a lower bound of the sensitivity; *exact*: all training sets of a few records.
Each round has fresh records, and intervals are over rounds. The table also has the proven bounds, which give the guarantee.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.papers import panels
from leakscope.papers.reproduction import Cell, Reproduction, Work, statement

ID = "tople-thm3"
TITLE = "Noise for privacy: models of the causes against models of all features"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, Lemma 1 and Theorem 3",
    "statement": (
        "For a strongly convex loss and sufficiently large n the sensitivity of a causal learner is at most that of an "
        "associational one, and at equal Laplace noise ε_c ≤ ε_a."
    ),
    "numbers": "The paper has no experiment for it; the direction is compared.",
}
NETWORKS = {"Child/XrayReport": "child", "Sachs/Akt": "sachs", "Sachs/Erk": "sachs"}
GAUSSIAN = ("Gaussian", "Gaussian with a sharp child")
FULL = {
    "sources": (*GAUSSIAN, *NETWORKS), "sizes": (50, 200, 1000), "penalties": (0.001, 0.03, 1.0), "swaps": 100,
    "rounds": 20, "few": 12,
}  # fmt: skip
QUICK = {
    "sources": ("Gaussian with a sharp child", "Sachs/Akt"), "sizes": (50, 200), "penalties": (0.03,), "swaps": 20,
    "rounds": 5, "few": 8,
}  # fmt: skip
SETS = ("causes", "all", "others")


class MoveCase(NamedTuple):
    """One row of the table."""

    part: Literal["exact", "sampled"]
    data: str
    learner: str
    size: int
    l2: float


class Sensitivities(NamedTuple):
    """Sensitivities and bounds by set of features, (rounds, 3), and the number of parameters of each set."""

    moves: Floats
    bounds: Floats
    parameters: tuple[int, ...]

    def ratio(self, first: int, second: int, of: str = "moves", confidence: float = 0.95) -> Estimate:
        """Give the ratio of one set's values to another's."""
        values = getattr(self, of)
        return geometric(values[:, first] / values[:, second], confidence)


def run(
    work: Work, sources: Sequence[str], sizes: Sequence[int], penalties: Sequence[float], **effort: int
) -> Reproduction:
    """Measure the sensitivities of the three sets of features in every setting."""
    few, seed = effort["few"], work.seed
    settings = [
        *(MoveCase("exact", data, "ridge", few // 2, l2) for data in sources if data in GAUSSIAN for l2 in penalties),
        *(
            MoveCase("sampled", data, learner, size, l2)
            for data in sources
            for learner in (("ridge",) if data in GAUSSIAN else ("ridge", "logistic"))
            for size in sizes
            for l2 in penalties
        ),
    ]
    found = work.each(
        settings, lambda setting: _cell(setting, **effort, seed=seed), cost=lambda one: one.size * len(one.learner)
    )
    return work.result(
        settings={
            "sources": sources, "sizes": sizes, "l2": penalties, **effort, "norm": 1,
            "universe": "twice the training records, fresh in each round",
        },
        columns=["part", "data", "learner", "size", "l2", *(f"parameters_{name}" for name in SETS), *SETS, "causes/all",
                 "others/all", "bounds", "root_of_parameters"],
        rows=list(map(_row, settings, found)),
        statements=_statements(settings, found),
        notes=_notes(settings, found),
        panels=[_figure(settings, found)],
    )  # fmt: skip


# --- data -------------------------------------------------------------------------------------------------------------


def _records(data: str, n: int, seed: np.random.SeedSequence) -> tuple[Floats, Floats, NDArray[Any]]:
    """Columns of the causes, all other columns, and labels."""
    if data in GAUSSIAN:
        rng = np.random.default_rng(seed)
        causes, bystanders = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
        y = causes.sum(axis=1) + rng.normal(size=n)
        noise = np.array([0.05 if data == GAUSSIAN[1] else 1.0, 1.0, 1.0])
        return causes, np.hstack([y[:, None] + noise * rng.normal(size=(n, 3)), bystanders]), y
    from leakscope.causal import draw, load_network, one_hot

    network, label = load_network(NETWORKS[data]), data.partition("/")[2]
    codes = draw(network, n, seed)
    often = int(np.bincount(draw(network, 20_000, 0)[:, network.place[label]]).argmax())
    given = one_hot(network.configurations(codes, label)[:, None], [len(network.tables[label])])
    rest = [name for name in network.names if name != label and name not in network.parents[label]]
    others = one_hot(codes[:, [network.place[name] for name in rest]], [len(network.levels[name]) for name in rest])
    y = (codes[:, network.place[label]] == often).astype(np.intp)
    return given.astype(np.float64), others.astype(np.float64), y


def _features(causes: Floats, others: Floats, rng: np.random.Generator) -> list[Floats]:
    """Columns of the three sets."""
    chosen = np.sort(rng.choice(others.shape[1], min(causes.shape[1], others.shape[1]), replace=False))
    return [causes, np.hstack([causes, others]), others[:, chosen]]


# --- measuring --------------------------------------------------------------------------------------------------------


def _cell(setting: MoveCase, swaps: int, rounds: int, few: int, seed: int) -> Sensitivities:
    """All rounds of one setting; the records of a round are the same for every penalty and learner."""
    from leakscope.bounds.sensitivity import sensitivity
    from leakscope.learners import Logistic, Ridge

    learner: Any = (Ridge if setting.learner == "ridge" else Logistic)(l2=setting.l2)
    records = few if setting.part == "exact" else 2 * setting.size
    moves, bounds = np.empty((rounds, 3)), np.empty((rounds, 3))
    place = (seed, [*GAUSSIAN, *NETWORKS].index(setting.data), records)
    for number in range(rounds):
        drawn, chosen = np.random.SeedSequence(place, spawn_key=(number,)).spawn(2)
        causes, others, y = _records(setting.data, records, drawn)
        tables = _features(causes, others, np.random.default_rng(chosen))
        for column, table in enumerate(tables):
            given = partial(sensitivity, learner, table, y, setting.size, norm=1, swaps=swaps, seed=number, workers=1)
            moves[number, column] = given(method=setting.part).value
            bounds[number, column] = given(method="bound").value
    return Sensitivities(moves, bounds, tuple(table.shape[1] + 1 for table in tables))  # with the intercept


def _row(setting: MoveCase, cell: Sensitivities) -> list[Cell]:
    sensitivities = [geometric(cell.moves[:, column]) for column in range(3)]
    ratios = [cell.ratio(0, 1), cell.ratio(2, 1), cell.ratio(0, 1, "bounds")]
    root = float(np.sqrt(cell.parameters[0] / cell.parameters[1]))
    return [*setting, *cell.parameters, *sensitivities, *ratios, root]


def geometric(values: Floats, confidence: float = 0.95) -> Estimate:
    """Give the geometric mean over rounds."""
    from leakscope.core.intervals import mean

    found = mean(np.log(values), confidence)
    value, low, high = map(float, np.exp([found.value, found.low, found.high]))
    return Estimate(value, min(low, value), max(high, value), confidence, n=found.n, method="Student, of logarithms")


def _ratios(found: Sequence[Sensitivities], first: int, second: int, of: str = "moves") -> list[Estimate]:
    """Ratios in all settings, with simultaneous intervals."""
    return [cell.ratio(first, second, of, 1 - 0.05 / len(found)) for cell in found]


def _statements(settings: Sequence[MoveCase], found: Sequence[Sensitivities]) -> list[Claim]:
    """Whether ε_c ≤ ε_a: refuted by one setting in which it is significantly above."""
    places = [f"{at.data}, {at.learner}, n = {at.size}, l2 = {at.l2:g}" for at in settings]
    holds, least, most = not_above(dict(zip(places, _ratios(found, 0, 1), strict=True)))
    ends = [("largest", most), ("smallest", least)]
    told = {f"{end} ratio, {place}": ratio for end, ratios in ends for place, ratio in ratios.items()}
    return [statement("ε of the causal learner is not above that of the associational one", holds, told)]


def not_above(ratios: Mapping[str, Estimate]) -> tuple[bool | None, dict[str, Estimate], dict[str, Estimate]]:
    """Decide whether all ratios are at most 1, and give the one farthest below 1 and the one farthest above.

    One that is significantly above refutes it, and it is inconclusive if none is significantly below.
    """
    less, more = ([list(ratios.items())[number] for number in side] for side in sides(list(ratios.values())))
    least = sorted(less, key=lambda pair: pair[1].high)[:1]
    most = sorted(more, key=lambda pair: -pair[1].low)[:1]
    return False if more else True if less else None, dict(least), dict(most)


def _notes(settings: Sequence[MoveCase], found: Sequence[Sensitivities]) -> list[str]:
    less, more = sides(_ratios(found, 0, 1))
    notes = [f"ε_c is significantly below ε_a in {len(less)} of {len(found)} settings, and above in {len(more)}."]
    if more:
        largest = max(setting.size for setting in settings)
        still = sum(settings[number].size == largest for number in more)
        names = sorted({settings[number].data for number in more})
        notes.append(f"It is above in {', '.join(names)}; {still} of these settings have the largest n, {largest:,}.")
    bounds, _ = sides(_ratios(found, 0, 1, "bounds"))
    few, _ = sides(_ratios(found, 2, 1))
    fewer, greater = sides(_ratios(found, 0, 2))
    return [
        *notes,
        f"By the proven bounds, which grow with the number of parameters, it is below in {len(bounds)} settings.",
        f"The same number of columns that are no causes is below all features in {len(few)} settings.",
        f"The causes are below the same number of other columns in {len(fewer)} settings, and above in {len(greater)}.",
    ]


def sides(ratios: Sequence[Estimate]) -> tuple[list[int], list[int]]:
    """Give the positions of the ratios that are significantly below 1, and of those above."""
    below = [number for number, ratio in enumerate(ratios) if ratio.high < 1]
    return below, [number for number, ratio in enumerate(ratios) if ratio.low > 1]


def _figure(settings: Sequence[MoveCase], found: Sequence[Sensitivities]) -> panels.Panel:
    """The ratio against the training records, for ridge regression at the middle penalty."""
    penalties = sorted({setting.l2 for setting in settings})
    middle = penalties[len(penalties) // 2]
    series: dict[str, list[tuple[float, Estimate | None]]] = {}
    for setting, cell in zip(settings, found, strict=True):
        if setting.part == "sampled" and setting.learner == "ridge" and setting.l2 == middle:
            series.setdefault(setting.data, []).append((setting.size, cell.ratio(0, 1)))
    return panels.lines(
        TITLE,
        (f"Training records (ridge regression, l2 = {middle:g})", "ε of the causes / ε of all features"),
        series,
        log="xy",
        goal=(1.0, "equal"),
    )
