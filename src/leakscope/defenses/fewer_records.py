"""Fewer records: limit the number of training records in a record explanation.

An explanation with k records reveals up to k training records per query (shokri2019, section 5; Fig. 6 and 9 have k = 1, 5
and 10). Showing fewer slows every attack, and removes the same part of the explanation for ordinary users. The only guarantee
is that one user sees at most k records per query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.models.target import Target
from leakscope.releases.record_explanations.release import RecordRelease


def refuse_record_explanations(target: Target) -> str | None:
    """Return why record explanations cannot be measured for a target, as the end of a sentence, or None if they can."""
    model = target.model
    if model.task != "classification" or model.classes is None or len(model.classes) != 2:
        return "record explanations are measured on a logistic regression with two classes, and it does not have two"
    if np.bincount(target.members.y, minlength=2).min() < 2:
        return "record explanations need at least two training records of each class"
    return None


@dataclass(frozen=True)
class FewerRecords(Tunable):
    """Limit the number of records in record explanations.

    Examples
    --------
    >>> FewerRecords([1]).defend(None, 1).records(RecordRelease(k=5), 1000)[0].words
    '1 record'
    """

    counts: Any = (1, 3)

    name: ClassVar[str] = "fewer-records"
    setting_name: ClassVar[str] = "records shown"
    what: ClassVar[str] = "a record explanation shows fewer training records"
    source: ClassVar[str] = "shokri2019, Fig. 6 and 9, which vary the number of records"
    allowed = whole_numbers("the number of records shown")
    refuse = staticmethod(refuse_record_explanations)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Return the same release with at most this number of records."""
        return Defended(records=partial(_fewer, int(setting)))


def _fewer(count: int, release: RecordRelease, budget: int) -> tuple[RecordRelease, int]:
    return replace(release, k=min(release.k, count)), budget
