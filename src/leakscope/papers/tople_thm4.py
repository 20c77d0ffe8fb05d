r"""[tople2020, Theorem 4]: does a vote of causal teachers cost less privacy than one of associational teachers?

Teachers that share no record answer queries by :math:`\arg\max_k\{n_k + \mathrm{Lap}(2/\gamma)\}`; the data-dependent ε of
`leakscope.bounds.pate` is small where they agree. The records come from P alone, or from a mixture of P and laws with the same
:math:`P(Y \mid X_C)` and all other tables redrawn, as the theorem says; queries come from the same law. Four ensembles: the table
of Y given its parents; multinomial logistic regression on the parents, which separates the choice of columns from the kind of model;
the same on all columns; and a small network on all columns. Every column is one of zeros and ones for each level.

Two more separate causality from having few parameters: logistic regression on **as many variables that are no causes**, and the table
of **no columns**, whose teachers vote for the most frequent class: ε measures agreement, and a model without information can
have the least.

A student learns from the noisy labels of one γ, and is judged on fresh records of the same law and of a new P*. Intervals are
over draws of all data, and ε is compared draw by draw. Akt and XrayReport are leaves of their networks; Erk has the child Akt,
which an associational teacher can use and a causal one can not. The data-dependent ε is for this comparison only: it depends on the
votes, so it must not be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.papers import panels
from leakscope.papers.reproduction import Cell, Reproduction, Work, statement
from leakscope.papers.tople_thm3 import NETWORKS, geometric, not_above, sides

ID = "tople-thm4"
TITLE = "Votes of teachers: privacy cost of causal and associational ensembles"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, Theorem 4",
    "statement": (
        "On data from a mixture of laws with the same Pr(Y|X_C), the privacy budget of the noisy vote of causal teachers is "
        "lower than that of associational teachers."
    ),
    "numbers": "The paper has no experiment for it; the direction is compared.",
}
FULL = {
    "networks": tuple(NETWORKS),
    "laws": ("P", "mixture"),
    "teachers": (50, 200),
    "gammas": (0.05, 0.1, 0.2, 0.5),
    "gamma": 0.2,
    "records": 20_000,
    "queries": 500,
    "environments": 5,
    "steps": 300,
    "draws": 8,
}
QUICK = FULL | {
    "networks": ("Sachs/Akt", "Sachs/Erk"),
    "laws": ("mixture",),
    "teachers": (20,),
    "gammas": (0.2, 0.5),
    "records": 2000,
    "queries": 100,
    "steps": 60,
    "draws": 3,
}
DELTA = 1e-5
TEST = 5000  # fresh records of each law that a student is judged on
CAUSAL, ON_CAUSES, ON_ALL, NETWORK, ON_OTHERS, NOTHING = ENSEMBLES = (
    "table of the causes", "logistic on the causes", "logistic on all", "network on all", "logistic on others",
    "table of nothing",
)  # fmt: skip


class VoteSetting(NamedTuple):
    """What one draw is made of."""

    network: str
    law: str
    teachers: int


class VoteEffort(NamedTuple):
    """Sizes that all settings share."""

    gammas: tuple[float, ...]
    gamma: float
    records: int
    queries: int
    environments: int
    steps: int


class VoteCosts(NamedTuple):
    """What the draws of one setting gave: ε (draws, ensembles, γ), and the other figures (draws, ensembles)."""

    epsilon: Floats
    independent: Floats
    agreement: Floats
    accuracy: Floats
    shifted: Floats

    def ratio(self, first: str, second: str, place: int, confidence: float = 0.95) -> Estimate:
        """Give the geometric mean over draws of one ensemble's ε over another's, at one γ."""
        one, other = (self.epsilon[:, ENSEMBLES.index(name), place] for name in (first, second))
        return geometric(one / other, confidence)


def run(
    work: Work, networks: Sequence[str], laws: Sequence[str], teachers: Sequence[int], draws: int, **sizes: Any
) -> Reproduction:
    """Train the ensembles on every draw, and count what their votes cost."""
    settings = [VoteSetting(network, law, count) for network in networks for law in laws for count in teachers]
    effort = VoteEffort(**sizes)
    found = _measure(work, settings, effort, draws)
    measured = ("epsilon", "causal/this", "agreement", "accuracy", "accuracy_shifted")
    return work.result(
        settings={**work.settings, "delta": DELTA, "test": TEST},
        columns=["network", "law", "teachers", "ensemble", "gamma", "epsilon_independent", *measured],
        rows=[row for setting, cell in zip(settings, found, strict=True) for row in _rows(setting, cell, effort)],
        **_decide(settings, found, effort),
        panels=[_figure(settings, found, effort)],
    )  # fmt: skip


# --- data -------------------------------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """Codes of all variables: records, queries, and fresh records of the same law and of a new P*."""

    network: Any
    label: str
    records: NDArray[np.uint8]
    queries: NDArray[np.uint8]
    fresh: NDArray[np.uint8]
    shifted: NDArray[np.uint8]


def _draw(setting: VoteSetting, effort: VoteEffort, seed: np.random.SeedSequence) -> Drawn:
    from leakscope.causal import draw, load_network, redraw

    label = setting.network.partition("/")[2]
    network = load_network(NETWORKS[setting.network])
    tables, rows, order, last = seed.spawn(4)
    others = [redraw(network, [label], child) for child in tables.spawn(effort.environments)]
    networks = [network] if setting.law == "P" else [network, *others[:-1]]
    sizes = (effort.records, effort.queries, TEST)
    each = -(-sum(sizes) // len(networks))
    codes = np.concatenate(
        [draw(one, each, child) for one, child in zip(networks, rows.spawn(len(networks)), strict=True)]
    )
    codes = codes[np.random.default_rng(order).permutation(len(codes))[: sum(sizes)]]
    records, queries, fresh = np.split(codes, np.cumsum(sizes)[:-1])
    return Drawn(network, label, records, queries, fresh, draw(others[-1], TEST, last))


def _tables(drawn: Drawn, ensemble: str) -> tuple[Any, list[tuple[NDArray[Any], NDArray[Any]]]]:
    """The columns an ensemble uses, and (X, y) of records, queries, fresh and shifted records."""
    from leakscope.causal import CausalTable, one_hot

    network, label = drawn.network, drawn.network.place[drawn.label]
    parents = network.parents[drawn.label]
    rest = tuple(name for name in network.names if name != drawn.label and name not in parents)
    names = {ON_ALL: (*parents, *rest), NETWORK: (*parents, *rest), ON_OTHERS: rest[-len(parents) :]}.get(
        ensemble, parents
    )
    columns, levels = [network.place[name] for name in names], [len(network.levels[name]) for name in names]
    coded = ensemble in (CAUSAL, NOTHING)
    pairs = [
        (codes[:, columns] if coded else one_hot(codes[:, columns], levels), codes[:, label])
        for codes in (drawn.records, drawn.queries, drawn.fresh, drawn.shifted)
    ]
    return CausalTable(tuple(range(len(columns))) if ensemble == CAUSAL else (), tuple(levels)), pairs


# --- measuring --------------------------------------------------------------------------------------------------------


def _measure(work: Work, settings: Sequence[VoteSetting], effort: VoteEffort, draws: int) -> list[VoteCosts]:
    seed = work.seed
    answers = work.each(
        [(setting, number) for setting in settings for number in range(draws)],
        lambda job: _one_draw(job[0], effort, job[1], seed),
        cost=lambda job: job[0].teachers,
    )
    return [
        VoteCosts(
            *(np.array([[one[part] for one in draw] for draw in answers[start : start + draws]]) for part in range(5))
        )
        for start in range(0, len(answers), draws)
    ]


def _one_draw(setting: VoteSetting, effort: VoteEffort, number: int, seed: int) -> list[list[Floats]]:
    """For every ensemble: ε by γ, ε whatever the votes by γ, agreement, and the student's two accuracies."""
    place = (seed, list(NETWORKS).index(setting.network), ("P", "mixture").index(setting.law), number)
    drawn = _draw(setting, effort, np.random.SeedSequence(place))  # the same for any number of teachers
    return [_ensemble(drawn, name, setting.teachers, effort, number) for name in ENSEMBLES]


def _ensemble(drawn: Drawn, name: str, teachers: int, effort: VoteEffort, number: int) -> list[Any]:
    from leakscope.bounds.pate import epsilons, pate, student
    from leakscope.learners import MLP

    table, [records, queries, fresh, shifted] = _tables(drawn, name)
    widths = (32,) if name == NETWORK else ()
    network = MLP(widths, "relu", steps=effort.steps, batch=64, rate=0.02, task="classification")
    learner = table if name in (CAUSAL, NOTHING) else network
    found = pate(learner, *records, queries[0], teachers, effort.gamma, delta=DELTA, seed=number, workers=1)
    costs = [epsilons(found.votes, gamma, DELTA) for gamma in effort.gammas]
    model = student(learner, queries[0], found.labels, seed=number)
    right = [
        float(np.mean(np.asarray(model.classes)[model.predict(X).argmax(axis=1)] == y)) for X, y in (fresh, shifted)
    ]
    dependent, independent = (np.array([cost[side].value for cost in costs]) for side in (0, 1))
    return [dependent, independent, found.agreement.value, *right]


def _rows(setting: VoteSetting, cell: VoteCosts, effort: VoteEffort) -> list[list[Cell]]:
    from leakscope.core.intervals import mean

    rows: list[list[Cell]] = []
    for column, name in enumerate(ENSEMBLES):
        for place, gamma in enumerate(effort.gammas):
            own = gamma == effort.gamma
            parts = [
                mean(cell.epsilon[:, column, place]),
                None if name == CAUSAL else cell.ratio(CAUSAL, name, place),
                mean(cell.agreement[:, column]),
                mean(cell.accuracy[:, column]) if own else None,
                mean(cell.shifted[:, column]) if own else None,
            ]
            independent = float(cell.independent[0, column, place])
            rows.append([*setting, name, gamma, independent, *parts])
    return rows


def _decide(settings: Sequence[VoteSetting], found: Sequence[VoteCosts], effort: VoteEffort) -> dict[str, Any]:
    """Where the causal ensemble costs less or more, by simultaneous intervals, and what controls do."""
    places = [
        (setting, cell, place)
        for setting, cell in zip(settings, found, strict=True)
        for place in range(len(effort.gammas))
    ]
    at_once = 1 - 0.05 / (2 * len(places))

    def ratios(first: str, second: str) -> list[Estimate]:
        return [cell.ratio(first, second, place, at_once) for _, cell, place in places]

    compared = {
        f"{setting.network}, {setting.law}, {setting.teachers} teachers, γ = {effort.gammas[place]:g}, {name}": ratio
        for name in (ON_ALL, NETWORK)
        for (setting, _, place), ratio in zip(places, ratios(CAUSAL, name), strict=True)
    }
    less, more = sides(list(compared.values()))
    holds, least, most = not_above(compared)
    said = "ε of the causal ensemble is not above that of an associational one"
    pairs = ((ON_CAUSES, ON_ALL), (ON_OTHERS, ON_ALL), (NOTHING, CAUSAL))
    (lower, higher), (few, _), (blank, _) = (sides(ratios(*pair)) for pair in pairs)
    return {
        "statements": [statement(said, holds, least | most)],
        "notes": [
            f"ε of the causal ensemble is significantly below that of an associational one in {len(less)} of {len(compared)} comparisons, and "
            f"above in {len(more)}.",
            f"With logistic regression for both, the causes are below all columns in {len(lower)} of {len(places)} and above in "
            f"{len(higher)}.",
            f"The same number of variables that are no causes is below all columns in {len(few)}.",
            f"A table of no columns, which does not depend on x, is below the causal table in {len(blank)} of {len(places)}.",
        ],
    }


def _figure(settings: Sequence[VoteSetting], found: Sequence[VoteCosts], effort: VoteEffort) -> panels.Panel:
    """ε of the four ensembles at the student's γ, or at the last one."""
    from leakscope.core.intervals import mean

    place = effort.gammas.index(effort.gamma) if effort.gamma in effort.gammas else len(effort.gammas) - 1
    return panels.bars(
        TITLE,
        ("Network, law of the records, number of teachers", f"Data-dependent ε at γ = {effort.gammas[place]:g}"),
        [f"{setting.network}, {setting.law}, {setting.teachers}" for setting in settings],
        {name: [mean(cell.epsilon[:, column, place]) for cell in found] for column, name in enumerate(ENSEMBLES)},
    )
