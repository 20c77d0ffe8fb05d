"""Rounded influences: round the influences in a record explanation to a few significant digits.

Attacks that compute with influences (shokri2019, Algorithm 1) lose the precision that they need: on Adult, Algorithm 1 needs
three digits (docs/explanations.md). Attacks that use only *which* records are shown are unaffected, because records are ranked
before rounding. The paper does not propose this defense; there is no guarantee.
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
    """Round the influences in record explanations to a number of significant digits.

    Examples
    --------
    >>> RoundedInfluences([1]).defend(None, 1).records(RecordRelease(k=5), 1000)[0].words
    '5 records, influence to 1 digit'
    """

    digits: Any = (3, 1)

    name: ClassVar[str] = "round-influences"
    setting_name: ClassVar[str] = "significant digits"
    what: ClassVar[str] = "the influences in a record explanation are rounded"
    source: ClassVar[str] = "against shokri2019, Algorithm 1; measured in docs/explanations.md"
    allowed = whole_numbers("digits", 1, MOST_DIGITS)
    refuse = staticmethod(refuse_record_explanations)

    def defend(self, target: Target, setting: Any) -> Defended:  # noqa: ARG002
        """Return the same release with at most this number of digits."""
        return Defended(records=partial(_round, int(setting)))


def _round(digits: int, release: RecordRelease, budget: int) -> tuple[RecordRelease, int]:
    if not release.values or (release.digits is not None and release.digits <= digits):
        return release, budget
    return replace(release, digits=digits), budget
