r"""A budget of questions: explanations by records are given for at most so many questions of one asker.

With q questions and k records in each answer one asker sees at most :math:`\min(1, qk/n)` of n training records, whatever the
attack. That is all that is proven, and it rests on telling askers apart: several who join forces, or one with several accounts,
add their budgets up. How little is seen below that ceiling is measured (shokri2019, Fig. 9 and 10, against queries).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.defenses.fewer_records import refuse_record_explanations
from leakscope.models.target import Target
from leakscope.releases.record_explanations.release import RecordRelease

ALONE = (
    "A budget holds for one asker: several who join forces, or one who opens several accounts, add theirs up. What honest users "
    "lose depends on how much they ask, which was not measured."
)


@dataclass(frozen=True)
class QueryBudget(Tunable):
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
    allowed = whole_numbers("the budget of questions")
    refuse = staticmethod(refuse_record_explanations)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The same release for no more than so many questions."""
        return Defended(records=partial(_limit, int(setting)), notes=(ALONE,))


def _limit(queries: int, release: RecordRelease, budget: int) -> tuple[RecordRelease, int]:
    return release, min(budget, queries)
