"""The result of a comparison of two results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from leakscope.core.result import Caveat, Outcome, Result, Scalar
from leakscope.studies.diff.changes import Change, ChangeOutcome, GroupChange, ReleaseChange
from leakscope.studies.diff.facts import ExposureChange, Fact, Listed

DiffOutcome = Literal[
    "increased", "decreased", "increased_and_decreased", "shift_possible", "not_significant", "not_comparable"
]


@dataclass(frozen=True)
class ClaimChange:
    """A claim in two results: its outcomes, and the change of its measure, where both have one.

    ``risky`` tells whether a larger measure is a larger risk; it says nothing of a risk otherwise.
    """

    code: str
    subject: dict[str, Scalar]
    old_outcome: Outcome
    new_outcome: Outcome
    change: Change | None
    risky: bool = True

    @property
    def risk(self) -> ChangeOutcome | None:
        """Whether the risk increased or decreased; None where the claim is about no risk, or has no measure in both results."""
        return None if self.change is None or not self.risky else self.change.outcome


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Diff(Result):
    """What changed between two results of one kind.

    Parameters
    ----------
    of, studied_models
        The kind of the two results, and the names of what they studied.
    outcome
        ``increased``: some risk is significantly larger than before and none significantly smaller; ``shift_possible``: figures changed significantly,
        but a change of the records may be the reason; and so on.
    not_comparable
        Why no risk was compared; empty where they were.
    old_outcomes, new_outcomes
        Outcomes of the claims about the model as a whole.
    releases, groups, performance, claim_changes
        Figures in both results with their differences. All these intervals are simultaneous at ``confidence``. Audits have the first three, other
        results the last.
    exposure
        Who is most exposed, where both audits name the same records.
    data
        For each set of records whether it is the same.
    attacks, release_names, group_names, claim_names, caveats
        What is in one result only.
    changed_settings, changed_versions
        What else differs, without a test.
    confidence, comparisons
        The confidence of all intervals together, and the number of comparisons that they are corrected for.
    """

    kind: ClassVar[str] = "diff"
    schema_version: ClassVar[int] = 2
    codes = {"risk_increased": "yes", "increase_not_attributable": None}  # noqa: RUF012
    table = "claims"

    of: str
    studied_models: tuple[str, str] = ("", "")
    outcome: DiffOutcome = "not_significant"
    not_comparable: tuple[Caveat, ...] = ()
    old_outcomes: dict[str, Outcome] = field(default_factory=dict)
    new_outcomes: dict[str, Outcome] = field(default_factory=dict)
    releases: tuple[ReleaseChange, ...] = ()
    groups: tuple[GroupChange, ...] = ()
    performance: tuple[Change, ...] = ()
    claim_changes: tuple[ClaimChange, ...] = ()
    exposure: ExposureChange | None = None
    data: dict[str, bool] = field(default_factory=dict)
    attacks: Listed = field(default_factory=Listed)
    release_names: Listed = field(default_factory=Listed)
    group_names: Listed = field(default_factory=Listed)
    claim_names: Listed = field(default_factory=Listed)
    caveats: Listed = field(default_factory=Listed)
    changed_settings: tuple[Fact, ...] = ()
    changed_versions: tuple[Fact, ...] = ()
    confidence: float = 0.95
    comparisons: int = 0

    @property
    def worse(self) -> bool:
        """Whether some risk increased significantly, and the model is the reason."""
        return any(claim.code == "risk_increased" and claim.outcome == "yes" for claim in self.claims)

    @property
    def maybe_worse(self) -> bool:
        """Whether some risk increased significantly, and a change of the records may be the reason."""
        return any(claim.code == "increase_not_attributable" for claim in self.claims)

    @property
    def studied(self) -> str:
        """The model of the newer result."""
        return self.studied_models[1]
