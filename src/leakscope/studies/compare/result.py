"""The result of a comparison of defenses, as frozen data. No feature value is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from leakscope.bounds.guarantee import Guarantee
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.lazy import former_name
from leakscope.core.result import Caveat, NotRun, Outcome, Result
from leakscope.evaluation.dominance import negated
from leakscope.evaluation.results import Largest, Verdict

AS_IT_IS = "as it is"
Better = Literal["more", "less"]


class _PairedChange:
    """What `MetricChange` and `GroupUtility` have in common."""

    better: Better
    change: Estimate

    @property
    def gain(self) -> Estimate:
        """The change so that more is better."""
        return self.change if self.better == "more" else negated(self.change)


@dataclass(frozen=True)
class MetricChange(_PairedChange):
    """One metric of a version on held-out records, and its paired change from the model as it is."""

    metric: str
    better: Better
    value: Estimate
    change: Estimate


@dataclass(frozen=True)
class GroupUtility(_PairedChange):
    """The main metric of a version in one group of held-out records, its paired change, and the risk of the group.

    ``auc`` is that of the version's strongest attack among the members and non-members of the group; None where these are too
    few.
    """

    column: str
    level: str
    records: int
    metric: str
    better: Better
    value: Estimate
    change: Estimate
    auc: Estimate | None = None


@dataclass(frozen=True)
class AttackOnVersion:
    """One attack on a version, and its control.

    ``knows`` states how the attack is adapted to the defense, beyond fitting on what the version releases: by ``references``, models trained with the
    defense, or by ``labels`` of changed copies of a record, for which masked confidences do not matter.
    """

    attack: str
    release: str
    auc: Estimate
    tpr_at_fpr: dict[float, Estimate]
    control: Estimate
    knows: Literal["", "references", "labels"] = ""


@dataclass(frozen=True)
class Described:
    """Which version of a model, or of a release, it is."""

    name: str
    defense: str
    setting_name: str
    setting: float | int | str
    what: str
    source: str
    knob = former_name("knob", "setting_name")


@dataclass(frozen=True)
class Version(Described):
    """One version of the model: as it is, or with one setting of one defense.

    Parameters
    ----------
    name, defense, setting_name, setting, what, source
        Which it is; ``what`` describes the defense for lay readers.
    changes
        What the defense changes: ``training``, ``answers``, ``explanations``, or ``nothing``.
    risk
        The largest that any attack reaches, figure by figure. The intervals of all versions are simultaneous.
    strongest, control, control_kind
        The attack with the largest AUC, and its AUC on the control.
    attacks
        All attacks that were run.
    risk_change
        Change of the largest AUC from the model as it is, paired on the same records: below 0 is less risk. The intervals of all pairs of
        versions are simultaneous. None for the model as it is.
    utility, groups
        Metrics on held-out records by name, the main one first, and the main one by group.
    faithfulness
        For each released explanation, how faithful it is: how much better its order of features is than a random one
        (`explanations.faithfulness`), and the paired change.
    retrained
        The main metric over models trained in the same way on other draws of records, of half of the members and of as many
        as there are, each on records that it did not see. None without such models.
    guarantee
        What is proven of it, or None.
    epsilon
        What the attacks show that ε is at least, for the swap of one record.
    guarantee_status
        ``none``: nothing is guaranteed. ``not refuted`` by these attacks. ``refuted``. ``in doubt``: the attacks show more than the guarantee allows,
        but a distribution shift may explain it.
    dominated_by, significantly_dominated_by
        The version that dominates it in risk and in everything else that is compared (`evaluation.dominance`); None if there is none.
    pareto_optimal
        Whether no version dominates it, by values, in the AUC and the main metric.
    """

    changes: Literal["training", "answers", "explanations", "nothing"]
    risk: Largest
    strongest: str
    control: Estimate
    control_kind: Literal["never trained", "permuted"]
    attacks: tuple[AttackOnVersion, ...]
    risk_change: Estimate | None
    utility: dict[str, MetricChange]
    groups: tuple[GroupUtility, ...]
    faithfulness: tuple[MetricChange, ...]
    retrained: Estimate | None
    guarantee: Guarantee | None
    epsilon: Estimate
    guarantee_status: Literal["none", "not refuted", "refuted", "in doubt"]
    notes: tuple[str, ...]
    dominated_by: str | None = None
    significantly_dominated_by: str | None = None
    pareto_optimal: bool = True

    @property
    def attacked_by_references(self) -> bool:
        """Whether the attacks that know the defense best were run: those with reference models trained with it."""
        return any(attacked.knows == "references" for attacked in self.attacks)

    @property
    def main(self) -> MetricChange:
        """The main metric: accuracy, or the mean squared error."""
        return next(iter(self.utility.values()))


@dataclass(frozen=True)
class Recommendation:
    """What to do, decided from intervals.

    Parameters
    ----------
    kind
        ``use``: ``version`` significantly lowers the risk, and its loss of utility is significantly within the limit.
        ``utility_limit``: versions significantly lower the risk, none of them significantly within the limit. ``not_lowered``: none significantly
        lowers it. ``nothing_to_lower``: no attack is significantly above chance on the model as it is. ``inconclusive``: a distribution shift or
        an obstacle may explain what attacks find (``doubt``). ``untested``: versions significantly lower what attacks find, but the attacks
        with reference models trained with the defense were not run.
    version
        The recommended version; only where ``kind`` is ``use``.
    candidate
        The version to look at: the recommended one; under ``utility_limit`` the one that loses least by its value; where it is ``untested`` the one
        with the least risk.
    doubt
        Why it is ``inconclusive``.
    """

    kind: Literal["use", "utility_limit", "not_lowered", "nothing_to_lower", "inconclusive", "untested"]
    version: str | None = None
    candidate: str | None = None
    doubt: Caveat | None = None


@dataclass(frozen=True)
class RecordVersion(Described):
    """One release of record explanations: as it is, or with one setting of one defense.

    Parameters
    ----------
    name, defense, setting_name, setting, what, source, notes
        Which it is.
    release, budget
        What is released, and how many queries of one user are answered.
    strongest, share, shares
        The attack that recovers most, the largest share of the training records that any attack recovers, and that of each
        attack. The intervals of all releases and attacks are simultaneous.
    ceiling
        What no attack of one user can exceed: queries times records shown, as a share of the training records.
    change
        Change of the largest share from the release as it is; below 0 is less risk. None for the release as it is.
    answered, found, best, error
        What ordinary users still get: the share of their queries that are answered, the share of the ``best`` most influential records that is shown, and
        the relative error of the influences; None where these are hidden.
    dominated_by, significantly_dominated_by
        The release that dominates it in risk and usefulness; None if there is none.
    """

    release: str
    budget: int
    strongest: str
    share: Estimate
    shares: dict[str, Estimate]
    ceiling: Estimate
    change: Estimate | None
    answered: Estimate
    found: Estimate
    best: int
    error: Estimate | None
    dominated_by: str | None
    significantly_dominated_by: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class RecordComparison:
    """Releases of record explanations: the release as it is comes first.

    Parameters
    ----------
    not_run
        Settings that change nothing of this release, and attacks that can't be run on it.
    recommendation
        What to do, decided from intervals.
    warnings
        What limits the result.
    settings
        How all was measured.
    """

    versions: tuple[RecordVersion, ...]
    not_run: tuple[NotRun, ...]
    recommendation: Recommendation
    warnings: tuple[Caveat, ...]
    settings: dict[str, Any]

    @property
    def as_it_is(self) -> RecordVersion:
        """The release without any defense."""
        return self.versions[0]

    def __getitem__(self, name: str) -> RecordVersion:
        return next(version for version in self.versions if version.name == name)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison(Result):
    """The model as it is and defended versions of it: risk, utility, and what to do.

    Parameters
    ----------
    compared
        The versions; the model as it is comes first.
    verdict
        Whether the model as it is leaks, by the rule of an audit.
    recommendation
        What to do, decided from intervals.
    utility_limit, faithfulness_limit
        What a recommended version may lose of the main metric, and of the faithfulness of explanations.
    record_explanations
        What record explanations reveal, as they are and defended; None where none are released.
    """

    kind: ClassVar[str] = "comparison"
    schema_version: ClassVar[int] = 2
    table: ClassVar[str] = "compared"
    codes: ClassVar[Mapping[str, Outcome | None]] = {
        "leak": "yes",
        "recommended": None,
        "risk_lowered": "no",
        "utility_lost": None,
        "utility_kept": None,
        "group_utility_lost": None,
        "dominated": None,
        "guarantee_refuted": "yes",
    }
    possible_figures: ClassVar[tuple[str, ...]] = ("epsilon",)

    compared: tuple[Version, ...]
    verdict: Verdict
    recommendation: Recommendation
    utility_limit: float
    faithfulness_limit: float
    record_explanations: RecordComparison | None = None

    @property
    def as_it_is(self) -> Version:
        """The model without any defense."""
        return self.compared[0]

    @property
    def refuted(self) -> tuple[Version, ...]:
        """The versions whose guarantee is refuted."""
        return tuple(version for version in self.compared if version.guarantee_status == "refuted")

    def __getitem__(self, name: str) -> Version:
        found = next((version for version in self.compared if version.name == name), None)
        if found is None:
            names = ", ".join(version.name for version in self.compared)
            raise InputError(f"there is no version {str(name)[:40]!r}: there are {names}")
        return found
