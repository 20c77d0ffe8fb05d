"""One run of a reproduction: what every module of this package needs to measure and to give its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from leakscope.core.threads import one_thread
from leakscope.papers.reproduction import Reproduction
from leakscope.worlds import Progress, run_tasks

Job = TypeVar("Job")
Answer = TypeVar("Answer")


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
