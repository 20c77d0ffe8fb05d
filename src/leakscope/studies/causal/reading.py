"""What a comparison is asked about: data, source of the causes and shift, checked and made a `CausalProblem`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leakscope.causal.bif import read_bif
from leakscope.causal.encoding import MISSING, encode
from leakscope.causal.named import NETWORKS, load_network
from leakscope.causal.network import Network
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.data.records import list_names
from leakscope.models.model import Task
from leakscope.studies.causal.result import Choice, Source
from leakscope.studies.causal.scenarios import CausalProblem, from_environments, from_graph, from_parents, without

#: Shifts of a graph by name; a number is noise on all tables but the label's.
SHIFTS = ("random", "parents", "children", "all")
#: Shifted distributions.
DRAWS = 5
#: Records of each part that is sampled from a graph.
ROWS = 30_000

#: The problem, how the causes were chosen from environments, and other choices to try.
Read = tuple[CausalProblem, Choice | None, dict[str, tuple[int, ...]]]


@dataclass(frozen=True)
class CausalQuestion:
    """What is compared: the options of the study with the same names, checked."""

    label: str
    graph: Any = None
    causes: Sequence[str] | None = None
    environments: str | None = None
    drop: Sequence[str] = ()
    shift: str | float = "random"
    draws: int | None = None
    rows: int | None = None
    task: Task | None = None

    def __post_init__(self) -> None:
        check_count("draws", self.worlds)
        check_count("rows", ROWS if self.rows is None else self.rows, 120)
        if not isinstance(self.label, str) or not self.label:
            raise InputError("label must name the column to predict")
        if isinstance(self.shift, str) and self.shift not in SHIFTS:
            raise InputError(f"shift must be {', '.join(SHIFTS)}, or a number for noise, not {self.shift!r}")
        if self.task not in (None, "classification", "regression"):
            raise InputError(f"task must be classification or regression, not {self.task!r}")
        given = [name for name in ("graph", "causes", "environments") if getattr(self, name) is not None]
        if len(given) != 1:
            what = "none is given" if not given else f"{' and '.join(given)} are given"
            raise InputError(f"state the source of the causes by one of graph, causes and environments: {what}")
        if not isinstance(self.graph, Network | str | Path | None):
            raise InputError(f"graph must be a Network, its name or a BIF file, not a {type(self.graph).__name__}")
        if not isinstance(self.environments, str | None):
            raise InputError(f"environments must be the name of a column, not a {type(self.environments).__name__}")
        object.__setattr__(self, "drop", read_names(self.drop, "drop"))
        if self.causes is not None:
            object.__setattr__(self, "causes", read_names(self.causes, "causes"))
        if self.label in self.drop:
            raise InputError(f"{self.label!r} is the label and can't be dropped")

    @property
    def worlds(self) -> int:
        """Number of shifted distributions that are drawn."""
        return DRAWS if self.draws is None else self.draws

    @property
    def graph_name(self) -> str | None:
        """Name of the graph or of its file, without the folder."""
        if self.graph is None or isinstance(self.graph, Network):
            return getattr(self.graph, "name", None)
        return Path(self.graph).name


def read_problem(data: Any, question: CausalQuestion, confidence: float, seeds: np.random.SeedSequence) -> Read:
    """Read the data, draw the scenarios, and learn the causes where there are environments."""
    table, rows = _table(data), question.rows
    if question.graph is not None:
        return _from_graph(table, question, seeds), None, {}
    if table is None:
        raise InputError("without a graph there must be data: pass a DataFrame of records")
    if rows is not None:
        raise InputError("rows is for samples of a graph: leave it out")
    table = without(table, question.drop)
    if question.causes is None:
        return _from_environments(table, question, confidence, seeds)
    encoded, shift = encode(table, question.label, task=question.task), question.shift
    found = from_parents(encoded, question.label, question.causes, shift=shift, draws=question.worlds, seeds=seeds)
    return found, None, {}


def _from_graph(data: pd.DataFrame | None, question: CausalQuestion, seeds: np.random.SeedSequence) -> CausalProblem:
    graph, drop = question.graph, list(question.drop)
    if question.task == "regression":
        raise InputError("task must be classification with a graph, whose variables are levels")
    if data is not None and question.rows is not None:
        raise InputError("rows is for samples of the graph, and data are given: leave one of them out")
    if isinstance(graph, Network):
        network = graph
    else:
        network = load_network(str(graph)) if str(graph).lower() in NETWORKS else read_bif(graph)
    if data is not None:  # the graph needs its own variables, also those that no model sees
        data = without(data, [name for name in drop if name not in network.levels])
        drop = [name for name in drop if name in network.levels]
    rows = ROWS if question.rows is None else question.rows
    sampled = rows if data is None else data
    return from_graph(network, question.label, sampled, shift=(question.shift, question.worlds), seeds=seeds, drop=drop)


def _from_environments(
    data: pd.DataFrame, question: CausalQuestion, confidence: float, seeds: np.random.SeedSequence
) -> Read:
    from leakscope.causal.invariance import alternatives, invariant_features

    if question.shift != "random" or question.draws is not None:
        raise InputError("environments are the shifted distributions: leave shift and draws out")
    label, column, task = question.label, str(question.environments), question.task

    if column not in data.columns or column == label:
        raise InputError(
            f"there is no column {list_names([column])} of environments besides the label: name one of the data"
        )
    if data[column].isna().any():
        raise InputError(f"the environment {column} is missing in {int(data[column].isna().sum())} records: fill it in")
    table = data.drop(columns=[column])
    encoded = encode(table, label, task=task)
    texts = [name for name in table.columns if table[name].dtype.kind not in "biuf" and table[name].isna().any()]
    table = table.assign(**{name: table[name].astype("object").where(table[name].notna(), MISSING) for name in texts})
    found = invariant_features(
        table.drop(columns=[label]), table[label], data[column].to_numpy(), confidence=confidence,
        seed=int(seeds.generate_state(1)[0]),
    )  # fmt: skip
    others = {name: encoded.columns(list(map(str, of)), name) for name, of in alternatives(found).items()}
    causes = others.pop("chosen")
    if not causes:
        raise InputError(
            f"these environments identify no cause of {label}: {len(found.accepted)} of {found.tested} sets of columns are invariant; "
            "name them with causes"
        )
    others.pop("all features", None)
    choice = Choice(
        significant=tuple(map(str, found.features)),
        suggested=tuple(map(str, found.plausible or ())),
        p_values={str(name): float(value) for name, value in found.p_values.items()},
        accepted=len(found.accepted),
        tested=found.tested,
        environments=len(found.environments),
        alike=found.alike,
    )
    environment = data[column].astype("str").to_numpy()
    source: Source = "invariant" if found.features else "suggested"
    return from_environments(encoded, label, causes, environment, source, seeds), choice, others


def read_names(values: Any, what: str) -> list[str]:
    """Names of columns as texts."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"{what} must be a list of names: pass [{values!r}]")
    return [str(value) for value in values]


def _table(data: Any) -> pd.DataFrame | None:
    """The data with texts for names."""
    if data is None:
        return None
    if not isinstance(data, pd.DataFrame):
        raise InputError(f"data must be a DataFrame, not a {type(data).__name__}")
    table = data.set_axis([str(name) for name in data.columns], axis=1)
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()].tolist()
        raise InputError(f"the data have the column {list_names(twice)} twice: rename one of them")
    return table
