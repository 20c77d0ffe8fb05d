"""One run of a reproduction, and its result: the numbers, what the paper states, and whether the intervals support it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, Claim, Outcome, Result, plain
from leakscope.core.threads import one_thread
from leakscope.papers.panels import Panel
from leakscope.worlds import Progress, run_tasks

if TYPE_CHECKING:
    import pandas as pd

Cell = Estimate | str | int | float | None
Job = TypeVar("Job")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class PaperNumber:
    """A number of the paper next to ours.

    It agrees if it lies in our interval or is at most ``tolerance`` away from our value.
    """

    name: str
    paper: float
    ours: Estimate
    tolerance: float
    agrees: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reproduction(Result):
    """A figure, table or statement of a paper, measured again.

    Parameters
    ----------
    id, title
        Short name, such as ``farokhi-fig1``, and what the figure, table or statement shows.
    rows
        The table: column to cell; a cell that could not be measured is None.
    compared
        Numbers of the paper next to ours.
    paper
        What the paper states: ``source``, ``statement`` and ``numbers``.
    notes
        What else was found, and what differs from the paper, in words.
    panels
        What the figures show.
    synthetic
        The data sets that were generated and not real; empty if none.
    """

    kind = "reproduction"
    table = "rows"
    codes: ClassVar[Mapping[str, Outcome | None]] = {"reproduced": None, "shows_membership": "yes"}

    id: str
    title: str
    paper: dict[str, str]
    rows: tuple[dict[str, Cell], ...]
    compared: tuple[PaperNumber, ...] = ()
    notes: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    synthetic: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        columns: Sequence[str],
        rows: Iterable[Sequence[Cell]],
        settings: Mapping[str, Any],
        statements: Sequence[Claim] = (),
        compared: Sequence[PaperNumber] = (),
        panels: Sequence[Panel] = (),
        notes: Sequence[str] = (),
        **given: Any,
    ) -> Reproduction:
        """Make a reproduction: every statement and every number of the paper becomes a claim."""
        compared = [replace(pair, ours=pair.ours.finite()) for pair in compared]
        numbers = [
            statement(pair.name, pair.agrees, {"ours": pair.ours, "paper": exact(pair.paper)}) for pair in compared
        ]
        claims = [*statements, *numbers]
        outcomes = [claim.outcome for claim in claims if claim.code == "reproduced"]
        return cls(
            claims=(Claim("reproduced", {}, overall(outcomes)), *claims),
            rows=tuple(dict(zip(columns, map(_cell, row), strict=True)) for row in rows),
            settings=plain(dict(settings)),
            compared=tuple(compared),
            panels=tuple(panel.finite() for panel in panels),
            notes=tuple(notes),
            **given,
        )

    def on_synthetic(self, names: Sequence[str]) -> Reproduction:
        """Give the same numbers, marked as measured on generated data: they decide no statement of the paper."""
        return replace(
            self,
            claims=tuple(replace(claim, outcome="inconclusive") for claim in self.claims),
            warnings=(*self.warnings, Caveat("synthetic_data", {"data": list(names)})),
            settings=self.settings | {"synthetic": list(names)},
            rows=tuple(row | {"origin": "synthetic"} for row in self.rows),
            synthetic=tuple(names),
        )

    @property
    def studied(self) -> str:
        """Name of the reproduction."""
        return self.id

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Give a table as a data frame; see `Result.to_frame`."""
        import pandas as pd

        if table not in (None, "rows"):
            return super().to_frame(table)
        wide = {name for row in self.rows for name, cell in row.items() if isinstance(cell, Estimate)}
        return pd.DataFrame([_flat(row, wide) for row in self.rows])


@dataclass(frozen=True)
class Work:
    """The module of a reproduction with its settings, and how it is run: see `leakscope.papers.reproduce`."""

    module: Any
    settings: Mapping[str, Any]
    seed: int = 0
    progress: Progress | None = None
    workers: int | None = None
    cache: str | Path | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"progress": None}  # other processes can't call it

    def run(self) -> Reproduction:
        """Run the module."""
        found: Reproduction = self.module.run(self, **self.settings)
        return found

    def tell(self, done: int, total: int) -> None:
        """Report progress under the id of the module."""
        if self.progress is not None:
            self.progress(self.module.ID, done, total)

    def each(
        self, jobs: Sequence[Job], measure: Callable[[Job], Answer], cost: Callable[[Job], float] = lambda _: 0.0
    ) -> list[Answer]:
        """Apply ``measure`` to every job and give the answers in order; the costliest start first.

        The first tasks decide whether to start processes, and no long task is left for the end.
        """

        def one(task: range) -> Answer:
            with one_thread():
                return measure(jobs[task.start])

        order = sorted(range(len(jobs)), key=lambda number: -cost(jobs[number]))
        answers: dict[int, Answer] = {}
        for task, answer in run_tasks(one, [range(number, number + 1) for number in order], self.workers):
            answers[task.start] = answer
            self.tell(len(answers), len(jobs))
        return [answers[number] for number in range(len(jobs))]

    def result(self, settings: Mapping[str, Any], **given: Any) -> Reproduction:
        """Give the reproduction of the module; ``given`` is what `Reproduction.of` takes."""
        module = {"id": self.module.ID, "title": self.module.TITLE, "paper": self.module.PAPER}
        return Reproduction.of(settings={**settings, "seed": self.seed}, **module | given)


def _flat(row: Mapping[str, Cell], wide: set[str]) -> dict[str, Any]:
    """Give a row in which an estimate takes three columns, as does what is missing there."""
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        ends = (cell.value, cell.low, cell.high) if isinstance(cell, Estimate) else (cell, None, None)
        cells |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True)) if name in wide else {name: cell}
    return cells


def statement(name: str, holds: bool | None, estimates: Mapping[str, Estimate | None] | None = None) -> Claim:
    """Give the claim that a statement of the paper holds; None where the intervals do not decide it.

    Examples
    --------
    >>> statement("leakage falls", None).outcome
    'inconclusive'
    """
    outcome: Outcome = "inconclusive" if holds is None else "yes" if holds else "no"
    found = {key: value.finite() for key, value in (estimates or {}).items() if value is not None}
    return Claim("reproduced", {"statement": name}, outcome, found)


def overall(outcomes: Sequence[Outcome]) -> Outcome:
    """Give ``yes`` if all statements hold, ``no`` if one does not, otherwise ``inconclusive``."""
    if "no" in outcomes:
        return "no"
    return "yes" if outcomes and all(outcome == "yes" for outcome in outcomes) else "inconclusive"


def compare(name: str, ours: Estimate, paper: float, tolerance: float) -> PaperNumber:
    """Compare a number of ours with the paper's.

    Examples
    --------
    >>> compare("k = 1", Estimate(10, 9, 11), 12, tolerance=3).agrees, compare("k = 5", Estimate(40, 39, 41), 21, 3).agrees
    (True, False)
    >>> compare("k = 10", Estimate(10, -10, 30), 29, tolerance=3).agrees  # in the interval
    True
    """
    agrees = ours.low <= paper <= ours.high or abs(ours.value - paper) <= tolerance
    return PaperNumber(name, float(paper), ours, float(tolerance), bool(agrees))


def exact(value: float) -> Estimate:
    """Give a number that was not estimated."""
    return Estimate(float(value), float(value), float(value), kind="exact")


def _cell(cell: Any) -> Cell:
    if isinstance(cell, Estimate):
        return cell.finite()
    found: Cell = cell.item() if isinstance(cell, np.generic) else cell
    return found if not isinstance(found, float) or np.isfinite(found) else None
