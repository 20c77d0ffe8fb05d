"""[tople2020, Table 2]: Sachs/Akt with true parents, with one and two wrong ones, and the network.

The paper does not say which non-causal features it added, nor whether its predictions are of P or P*. All single columns and
all pairs are tried, and both laws. A row "mean of" is the mean over additions of one size, least and most the extreme
additions, each a mean over draws. The attack is that against P*, on 60K training records as in Figure 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from leakscope.core.estimate import Estimate
from leakscope.core.intervals import difference
from leakscope.core.wording import write
from leakscope.papers import panels, tople
from leakscope.papers.reproduction import Cell, Reproduction, Work, compare
from leakscope.papers.tople import NETWORK, SORTED, TABLE, Attempt, Budget, DrawFound, DrawPlan, Draws, Sampled
from leakscope.papers.tople_findings import separation, within

ID = "tople-tab2"
TITLE = "Sachs/Akt: attack and prediction accuracy with wrong parents"
#: Group of models to the attack and prediction accuracy of the paper, in percent.
STATED = {"true parents": (50.0, 79.0), "one more": (52.0, 75.0), "two more": (61.0, 68.8), "network": (76.0, 73.0)}
PAPER = {
    "source": "Tople, Sharma and Nori 2020, Table 2",
    "statement": "Attack accuracy rises with the number of wrong parents and is highest on the network.",
    "numbers": "; ".join(f"{name}: attack {one:g} %, prediction {two:g} %" for name, (one, two) in STATED.items()),
}
FULL = tople.FULL | {"additions": (1, 2)}
QUICK = tople.QUICK | {"additions": (1,)}

CLOSE = 5.0  # points
ON_SHIFTED = Attempt("P*", SORTED)
ADDED = {0: "true parents", 1: "one more", 2: "two more"}
FIGURES = ("attack", "control", "excess", "on P", "on P*")
COLUMNS = ["group", "model", *FIGURES, "least", "most", "attack_paper", "prediction_paper", "draws"]


def run(work: Work, size: int, additions: Sequence[int], draws: int, **effort: int) -> Reproduction:
    """Count the tables with all additions, train the network, and attack all."""
    names = _names(additions)
    models = [name for group in names.values() for name in group]

    def kinds(drawn: Sampled, effort: Budget) -> list[object]:
        tables = [drawn.table(extra, _name(drawn.columns, extra)) for extra in _extras(drawn, additions)]
        return [*tables, drawn.network(effort.steps)]

    steps = Budget(**effort)
    plan = DrawPlan("sachs", size, kinds, dict.fromkeys(models, (ON_SHIFTED,)))
    (point,) = tople.over_draws(work, [plan], draws, steps)
    means = {group: {figure: _mean(point, of, figure) for figure in FIGURES} for group, of in names.items()}
    return work.result(
        settings={"reading": tople.READING, "network": "sachs", **work.settings, **steps._asdict()},
        columns=COLUMNS,
        rows=_rows(point, names, means),
        statements=[within("attack rises from group to group", _steps(point, names), low=0.0)],
        compared=[
            compare(f"{said}, {group} (%)", means[group][figure], STATED[group][place], CLOSE)
            for figure, said, place in (
                ("attack", "attack", 0), ("on P", "prediction on P", 1), ("on P*", "prediction on P*", 1),
            )
            for group in means
        ],
        notes=_notes(point, names, means),
        panels=[_figure(means)],
    )  # fmt: skip


def _extras(drawn: Sampled, additions: Sequence[int]) -> list[tuple[int, ...]]:
    others = [column for column in range(len(drawn.columns)) if column not in drawn.parents]
    return [extra for count in (0, *additions) for extra in combinations(others, count)]


def _name(columns: Sequence[str], extra: Sequence[int]) -> str:
    return f"with {' and '.join(columns[column] for column in extra)}" if extra else TABLE


def _names(additions: Sequence[int]) -> dict[str, list[str]]:
    """Group to the names of its models."""
    drawn = tople.draw_data("sachs", 10, [], draw=0, seed=0)
    groups: dict[str, list[str]] = {}
    for extra in _extras(drawn, additions):
        groups.setdefault(ADDED[len(extra)], []).append(_name(drawn.columns, extra))
    return {**groups, "network": [NETWORK]}


def _mean(point: Draws, models: Sequence[str], figure: str) -> Estimate:
    """Mean over models and draws, in percent; models of one draw share their records, and count as one."""
    least = -100.0 if figure == "excess" else 0.0
    return point.over_draws(lambda answer: _over_models(answer, models, figure, 100), least, 100.0)


def _over_models(answer: DrawFound, models: Sequence[str], figure: str, times: float = 1) -> Estimate:
    """Mean over models of what one draw gave."""
    law = figure.removeprefix("on ")
    values = [
        answer.found[model, ON_SHIFTED][figure] if law == figure else answer.accuracy[model, law] for model in models
    ]
    return Estimate(
        *(times * sum(getattr(value, end) for value in values) / len(values) for end in ("value", "low", "high"))
    )


def _rows(point: Draws, names: dict[str, list[str]], means: dict[str, dict[str, Estimate]]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for group, models in names.items():
        singles = {model: [_mean(point, [model], figure) for figure in FIGURES] for model in models}
        attacks = [values[0].value for values in singles.values()]
        name = models[0] if len(models) == 1 else f"mean of {len(models)}"
        cells = [means[group][figure] for figure in FIGURES]
        rows.append([group, name, *cells, min(attacks), max(attacks), *STATED[group], len(point.answers)])
        if len(models) > 1:
            rows += [[group, model, *values, *[None] * 4, len(point.answers)] for model, values in singles.items()]
    return rows


def _steps(point: Draws, names: dict[str, list[str]]) -> list[tuple[str, Estimate]]:
    """How much larger the attack accuracy is on each group than on the one before."""

    def step(before: str, after: str) -> Estimate:
        ours, theirs = names[after], names[before]
        return point.over_draws(
            lambda answer: difference(_over_models(answer, ours, "attack"), _over_models(answer, theirs, "attack"))
        )

    return [(f"{after} minus {before}", step(before, after)) for before, after in pairwise(names)]


def _notes(point: Draws, names: dict[str, list[str]], means: dict[str, dict[str, Estimate]]) -> list[str]:
    """Which additions come closest to the paper, and what of the attack is membership."""
    notes = []
    for group, models in names.items():
        if len(models) > 1:
            attacks = {model: _mean(point, [model], "attack").value for model in models}
            best = min(attacks, key=lambda model: abs(attacks[model] - STATED[group][0]))
            notes.append(
                f"{group}: attacks from {min(attacks.values()):.0f} to {max(attacks.values()):.0f} %; closest to the paper is "
                f"{best} ({attacks[best]:.0f} %)."
            )
    excess = ", ".join(f"{group} {write(means[group]['excess'])}" for group in names)
    return [
        *notes,
        f"Excess over the never-trained control, in points: {excess}. The rest of every attack reflects the shift.",
        separation(point, NETWORK, ON_SHIFTED, "Sachs"),
    ]


def _figure(means: dict[str, dict[str, Estimate]]) -> panels.Panel:
    ours = {name: [means[group][name] for group in means] for name in ("attack", "control", "on P", "on P*")}
    stated = {name: [STATED[group][name != "attack"] for group in means] for name in ours if name != "control"}
    x_label = "Columns of the table, or network"
    return panels.bars(TITLE, (x_label, "Percent"), list(means), ours, paper=stated)
