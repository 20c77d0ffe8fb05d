r"""A budget of questions: explanations by records are given for at most so many questions of one asker.

With q questions and k records in each answer one asker sees at most :math:`\min(1, qk/n)` of n training records, whatever the
attack. That is all that is proven, and it rests on telling askers apart: several who join forces, or one with several accounts,
add their budgets up. How little is seen below that ceiling is measured (shokri2019, Fig. 9 and 10, against queries).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, read_settings
from leakscope.defenses.fewer_records import is_count, refuse_record_explanations
from leakscope.reconstruction.release import RecordRelease
from leakscope.target import Target

ALONE = (
    "A budget holds for one asker: several who join forces, or one who opens several accounts, add theirs up. What honest users "
    "lose depends on how much they ask, which was not measured."
)


@dataclass(frozen=True)
class QueryBudget:
    """One asker gets explanations for at most so many questions.

    Examples
    --------
    >>> QueryBudget([100]).defend(None, 100).records(RecordRelease(), 1000)[1]
    100
    """

    queries: Any = (100, 1000)

    name: ClassVar[str] = "query-budget"
    knob: ClassVar[str] = "questions of one asker"
    what: ClassVar[str] = "one asker gets explanations for so many questions and no more"
    source: ClassVar[str] = "shokri2019, Fig. 9 and 10, which show what falls by the number of queries"

    def __post_init__(self) -> None:
        _ = self.settings

    @property
    def settings(self) -> tuple[int, ...]:
        """Numbers of questions."""
        return read_settings(self.queries, "the budget of questions", is_count, "a whole number from 1 on")

    def refuse(self, target: Target) -> str | None:
        """Explanations by records are measured on two classes."""
        return refuse_record_explanations(target)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The same release for no more than so many questions."""
        return Defended(records=_Budget(int(setting)), notes=(ALONE,))


@dataclass(frozen=True)
class _Budget:
    queries: int

    def __call__(self, release: RecordRelease, budget: int) -> tuple[RecordRelease, int]:
        return release, min(budget, self.queries)
