r"""Query budget: limit the number of record explanations per user.

With q queries and k records per explanation, one user sees at most the share :math:`\min(1, qk/n)` of n training records, for any
attack. This is the only guarantee, and it requires that users can be identified: several users, or one user with several
accounts, add their budgets. What attacks recover below this bound is measured (shokri2019, Fig. 9 and 10, against queries).
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
    "The budget holds for one user: several users, or one user with several accounts, add their budgets. The utility loss of "
    "ordinary users depends on how many queries they make, which was not measured."
)


@dataclass(frozen=True)
class QueryBudget(Tunable):
    """Limit the number of queries for record explanations per user.

    Examples
    --------
    >>> QueryBudget([100]).defend(None, 100).records(RecordRelease(), 1000)[1]
    100
    """

    queries: Any = (100, 1000)

    name: ClassVar[str] = "query-budget"
    setting_name: ClassVar[str] = "queries per user"
    what: ClassVar[str] = "each user gets record explanations for a limited number of queries"
    source: ClassVar[str] = "shokri2019, Fig. 9 and 10, which show the share recovered by the number of queries"
    allowed = whole_numbers("the query budget")
    refuse = staticmethod(refuse_record_explanations)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Return the same release for at most this number of queries."""
        return Defended(records=partial(_limit, int(setting)), notes=(ALONE,))


def _limit(queries: int, release: RecordRelease, budget: int) -> tuple[RecordRelease, int]:
    return release, min(budget, queries)
