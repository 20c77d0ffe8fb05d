"""Rounded influences: an explanation by records shows how much each record matters to a few significant digits only.

Attacks that compute with influences (shokri2019, Algorithm 1) lose the precision that they need: on Adult, Algorithm 1 wants
three digits (docs/explanations.md). Attacks that only look at *which* records are shown never needed them, and records are
ranked before anything is rounded, so that these attacks lose nothing. The paper does not propose this; nothing is proven.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from leakscope.defenses.defense import Defended, Tunable, whole_numbers
from leakscope.defenses.fewer_records import refuse_record_explanations
from leakscope.models.target import Target
from leakscope.releases.oracle import MOST_DIGITS
from leakscope.releases.record_explanations.release import RecordRelease


@dataclass(frozen=True)
class RoundedInfluences(Tunable):
    """Influences in explanations by records are rounded to so many significant digits.

    Examples
    --------
    >>> RoundedInfluences([1]).defend(None, 1).records(RecordRelease(k=5), 1000)[0].words
    '5 records, influence to 1 digit'
    """

    digits: Any = (3, 1)

    name: ClassVar[str] = "round-influences"
    knob: ClassVar[str] = "significant digits"
    what: ClassVar[str] = "the influences of the records that an explanation shows are rounded"
    source: ClassVar[str] = "against shokri2019, Algorithm 1; measured in docs/explanations.md"
    allowed = whole_numbers("digits", 1, MOST_DIGITS)
    refuse = staticmethod(refuse_record_explanations)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """The same release with no more than so many digits."""
        return Defended(records=partial(_round, int(setting)))


def _round(digits: int, release: RecordRelease, budget: int) -> tuple[RecordRelease, int]:
    if not release.values or (release.digits is not None and release.digits <= digits):
        return release, budget
    return replace(release, digits=digits), budget
