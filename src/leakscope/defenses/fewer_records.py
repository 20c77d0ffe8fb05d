"""Fewer records: an explanation by records shows at most so many of the training records.

An explanation with k records gives away up to k training records for each question (shokri2019, section 5; Fig. 6 and 9 have
k = 1, 5 and 10). Showing fewer slows every attack, and takes the same part of the explanation from honest users. It proves
nothing beyond the ceiling that one asker sees at most k records for each question.
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
    """Why explanations by records can't be measured for a target, as the end of a sentence, or None where they can."""
    model = target.model
    if model.task != "classification" or model.classes is None or len(model.classes) != 2:
        return "explanations by records are measured on a logistic regression of two classes, and it has not two"
    if np.bincount(target.members.y, minlength=2).min() < 2:
        return "explanations by records need at least two training records of each class"
    return None


@dataclass(frozen=True)
class FewerRecords(Tunable):
    """Explanations by records show at most so many.

    Examples
    --------
    >>> FewerRecords([1]).defend(None, 1).records(RecordRelease(k=5), 1000)[0].words
    '1 record'
    """

    counts: Any = (1, 3)

    name: ClassVar[str] = "fewer-records"
    knob: ClassVar[str] = "records shown"
    what: ClassVar[str] = "an explanation shows fewer of the training records"
    source: ClassVar[str] = "shokri2019, Fig. 6 and 9, which vary the number of records"
    allowed = whole_numbers("the number of records shown")
    refuse = staticmethod(refuse_record_explanations)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The same release with no more than so many records."""
        return Defended(records=partial(_fewer, int(setting)))


def _fewer(count: int, release: RecordRelease, budget: int) -> tuple[RecordRelease, int]:
    return replace(release, k=min(release.k, count)), budget
