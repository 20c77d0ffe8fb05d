"""The result of an audit: risks, verdict and their basis, as frozen dataclasses.

This module computes no risk. No class holds a feature value of a training record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from leakscope.core.estimate import Estimate
from leakscope.core.lazy import former_name
from leakscope.core.result import Caveat, Outcome, Result


@dataclass(frozen=True)
class Control:
    """The same attack on a control: without a distribution shift its AUC is 0.5 up to chance.

    ``never trained``: the model is retrained without the records called members.
    ``permuted``: the true memberships are shuffled.
    """

    kind: Literal["never trained", "permuted"]
    auc: Estimate
    advantage: Estimate
    tpr_at_fpr: dict[float, Estimate]


@dataclass(frozen=True)
class GroupRisk:
    """The risk within one level of one group column.

    ``gap`` is the AUC within the group minus the AUC of all other records. The intervals are simultaneous over all groups of the audit. The
    classes of the label, or its deciles in a regression, are always groups: the column ``class``, or ``label``.
    """

    column: str
    level: str
    members: int
    nonmembers: int
    auc: Estimate
    advantage: Estimate
    gap: Estimate


@dataclass(frozen=True)
class Roc:
    """Points of the receiver operating characteristic, thinned for drawing; both run from 0 to 1.

    ``low`` and ``high`` are the ends of the interval of each ``tpr``, for the strongest attack; elsewhere they are empty.
    At rates that the sample does not support they are 0 and 1.
    """

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Histogram:
    """How many judged members and non-members have a score between ``edges[k]`` and ``edges[k + 1]``."""

    edges: tuple[float, ...]
    members: tuple[int, ...]
    nonmembers: tuple[int, ...]


class _AttackStrength:
    """What `Risk` and `ReleaseRisk` have in common."""

    auc: Estimate
    tpr_at_fpr: dict[float, Estimate]

    @property
    def beats_chance(self) -> bool:
        """Whether the attack is significantly above chance, by its AUC or at a low false-positive rate."""
        return self.auc.low > 0.5 or any(tpr.low > rate for rate, tpr in self.tpr_at_fpr.items())


@dataclass(frozen=True)
class Risk(_AttackStrength):
    """The risk of one release under one attack, with its controls and its blind baseline.

    Parameters
    ----------
    auc
        Probability that a random member gets a higher score than a random non-member (ties count one half).
    advantage
        True-positive rate minus false-positive rate at the attack's own threshold.
    accuracy
        Share of records classified correctly, with equally many members and non-members, at the best threshold, which is chosen on other records.
    tpr_at_fpr
        True-positive rate at each false-positive rate; an upper bound where the sample does not support an estimate.
    control, permuted
        ``control`` is the never-trained control where the model can be retrained, otherwise it equals ``permuted``.
    blind
        AUC of the blind baseline; None where only scores are known.
    beyond_blind
        ``auc`` minus ``blind``, paired on the same records.
    beyond_control
        ``auc`` minus the AUC of ``control``.
    tpr_beyond
        ``tpr_at_fpr`` minus that of the never-trained control, or of the blind baseline where there is no such control or
        where that baseline may be above chance; for the rates that the sample supports.
    """

    release: str
    attack: str
    source: str
    auc: Estimate
    advantage: Estimate
    accuracy: Estimate
    tpr_at_fpr: dict[float, Estimate]
    control: Control
    permuted: Control
    blind: Estimate | None
    beyond_blind: Estimate | None
    beyond_control: Estimate
    tpr_beyond: dict[float, Estimate]
    by_group: tuple[GroupRisk, ...]
    roc: Roc
    histogram: Histogram


@dataclass(frozen=True)
class Largest:
    """The largest value of each figure over several attacks; gate conditions compare these.

    Each lies between the largest low and the largest high end of simultaneous intervals, so that an attack that is strong at a low
    false-positive rate only is not overlooked. ``group_auc`` is the largest AUC of any group, with an interval that is simultaneous over all
    groups; None without groups.
    """

    auc: Estimate
    advantage: Estimate
    accuracy: Estimate
    tpr_at_fpr: dict[float, Estimate]
    group_auc: Estimate | None = None


@dataclass(frozen=True)
class ReleaseRisk(_AttackStrength):
    """The strongest attack on one release. The intervals are simultaneous over all releases of an audit.

    The figures are those of `Risk`; ``control`` is the AUC of the same attack on its control, and ``largest`` the largest
    figures over all attacks on the release.
    """

    release: str
    attack: str
    auc: Estimate
    advantage: Estimate
    accuracy: Estimate
    tpr_at_fpr: dict[float, Estimate]
    control_kind: Literal["never trained", "permuted"]
    control: Estimate
    blind: Estimate | None
    beyond_blind: Estimate | None
    beyond_control: Estimate
    largest: Largest


@dataclass(frozen=True)
class ExposedRecord:
    """One of the most exposed training records, by id only; see `Audit` for ``score`` and ``rank``.

    ``shared`` is how many records have this rank.
    """

    id: str
    score: float
    rank: int
    shared: int = 1


@dataclass(frozen=True)
class NamedMembers:
    """How many judged members the strongest attack could name at a false-discovery rate; see `evaluation.exposure`.

    ``false`` is how many non-members, of as many as there are members, it names with them; ``share`` is ``count`` as a share.
    """

    count: int
    false: int
    share: Estimate
    false_discovery_rate: float


@dataclass(frozen=True)
class Procedure:
    """Leakage of the training procedure: mean AUC over ``models`` reference models attacked as targets, with its spread."""

    auc: Estimate
    models: int


@dataclass(frozen=True)
class Bound:
    """What no attack can exceed: the advantage (true-positive rate minus false-positive rate) that any release allows at most.

    Parameters
    ----------
    source
        The statement behind it.
    epsilon, delta
        The differential privacy that it follows from, where it does.
    contradicted
        Whether an attack of the audit refutes the claim, so that the bound does not hold.
    """

    advantage: Estimate
    source: str
    epsilon: float | None = None
    delta: float = 0.0
    contradicted: bool = False

    def most_found(self, rate: float) -> float:
        r"""Give the largest true-positive rate of any attack at a false-positive rate: TPR <= FPR + advantage, and under (ε, δ) <= e^ε FPR + δ.

        Examples
        --------
        >>> promise = Bound(Estimate(0.46, 0, 0.46, kind="upper bound"), "", epsilon=1.0)
        >>> round(promise.most_found(0.1), 3), round(promise.most_found(0.5), 3)
        (0.272, 0.96)
        """
        by_ratio = 1.0 if self.epsilon is None else math.exp(min(self.epsilon, 50.0)) * rate + self.delta
        return min(1.0, rate + self.advantage.high, by_ratio)


#: What an attack found.
FindingCode = Literal["auc", "tpr_at_fpr", "group_auc", "epsilon", "not_detected"]
#: What keeps a finding from deciding the question.
DoubtCode = Literal[
    "contradicted_split",
    "scores_only",
    "no_control",
    "not_above_control",
    "not_above_blind",
    "data_hungry",
    "not_fitted_as_member",
    "shift_explains_fit",
    "copies_in_holdout",
    "obstacle",
    "sample_size",
]
#: What else a reader needs to judge a verdict.
SupportCode = Literal[
    "control", "permuted", "blind", "random_split", "epsilon_bound", "exposed_group", "named", "overall"
]


@dataclass(frozen=True)
class Statement:
    """One statement of a verdict, as data; `leakscope.report.documents.verdict` has the sentences.

    Parameters
    ----------
    code
        What is stated. Of a finding: ``auc``, ``tpr_at_fpr`` and ``group_auc`` are significantly above chance; ``epsilon`` is a lower
        bound above the claim; ``not_detected`` means that no attack is significantly above chance. `verdict` has the doubts.
    estimates
        The numbers behind it by name: ``auc``, ``tpr``, ``control``, ``blind``, ``bound``, …
    attack, release
        The attack that it is about, where it is about one.
    column, level
        The group that it is about; empty for all records.
    fpr
        The false-positive rate that it is about; None for the AUC.
    remedy
        What would resolve a doubt: more records, or a holdout from the same population as the training data; None elsewhere.
    obstacle
        What an ``obstacle`` is.
    """

    code: FindingCode | DoubtCode | SupportCode
    estimates: dict[str, Estimate] = field(default_factory=dict)
    attack: str = ""
    release: str = ""
    column: str = ""
    level: str = ""
    fpr: float | None = None
    remedy: Literal["more_records", "matched_holdout"] | None = None
    obstacle: Caveat | None = None


VerdictKind = Literal["leaks", "claim_refuted", "not_detected", "inconclusive"]


@dataclass(frozen=True)
class Verdict:
    """The answer. It is decided from the intervals, never from values alone; `verdict.judge` has the rule.

    Parameters
    ----------
    kind
        The answer.
    finding
        What was found. None in an audit of schema version 1 or 2.
    doubts
        What keeps the finding from deciding, the most important first; not empty where the verdict is ``inconclusive``.
    support
        What else the verdict rests on: controls, the blind baseline, statements of the caller, exposed groups.
    not_excluded
        The largest AUC that is not excluded for any attack, where none is significantly above chance.
    records_needed
        Held-out records, and as many training records, that could exclude an AUC above 0.5 + margin, where the sample is too small.
    """

    kind: VerdictKind
    finding: Statement | None = None
    doubts: tuple[Statement, ...] = ()
    support: tuple[Statement, ...] = ()
    not_excluded: float | None = None
    records_needed: int | None = None

    @property
    def leaks(self) -> bool:
        """Whether the model leaks: also where it leaks more than a privacy claim allows."""
        return self.kind in ("leaks", "claim_refuted")


@dataclass(frozen=True)
class EpsilonClaim:
    """A lower bound on ε from this model, and the ε that its training is claimed to have, both for the swap of one record.

    ``epsilon`` is None where nothing was claimed. ``bound`` is for ``delta``, by the attack named in ``attack``. It holds where members
    and non-members were split at random (`claimed_epsilon`).
    """

    epsilon: float | None
    delta: float
    bound: Estimate
    attack: str

    @property
    def refuted(self) -> bool:
        """Whether the bound is above the claim."""
        return self.epsilon is not None and self.bound.value > self.epsilon


@dataclass(frozen=True)
class Fit:
    """Fit of the members under models with and without them: see `evaluation.references`."""

    gap: Estimate
    curve: Estimate
    mid: Estimate
    size: Estimate

    @property
    def data_hungry(self) -> bool:
        """Whether more records improve the fit by more than training on a record does, so that smaller models are no control."""
        return self.curve.value > self.gap.value


@dataclass(frozen=True)
class ExposedGroup:
    """The group with the largest significant AUC under any attack, and what else could explain it.

    Parameters
    ----------
    auc
        Corrected for selection among all groups and attacks; the other intervals have the same confidence.
    control, beyond_control
        AUC of the same attack within the group on a model that never saw the members, and how far ``auc`` exceeds it; None without
        such a control.
    blind, beyond_blind
        The same for the blind baseline; None where only scores are known.
    """

    release: str
    attack: str
    column: str
    level: str
    members: int
    nonmembers: int
    auc: Estimate
    control: Estimate | None = None
    beyond_control: Estimate | None = None
    blind: Estimate | None = None
    beyond_blind: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Basis:
    """What the verdict depends on besides the strongest attack (see `verdict.judge`).

    Parameters
    ----------
    margin
        "Not detected" excludes an AUC above 0.5 + ``margin``.
    overlap
        Share of the judged non-members that are members too.
    random_split
        Whether members and non-members were split at random, as stated by the caller.
    obstacles
        Problems with the data or the model that rule out "not detected".
    fit
        Fit of the members under reference models, if there are any.
    claim
        The claimed differential privacy, or a lower bound on ε if the caller states a random split.
    exposed
        The group with the largest AUC that is significantly above chance, if there is one.
    """

    margin: float
    overlap: float = 0.0
    random_split: bool = False
    obstacles: tuple[Caveat, ...] = ()
    fit: Fit | None = None
    claim: EpsilonClaim | None = None
    exposed: ExposedGroup | None = None


@dataclass(frozen=True)
class Performance:
    """The utility of the model: ``metric`` on the training records and on held-out records."""

    metric: Literal["accuracy", "mean squared error"]
    train: Estimate
    holdout: Estimate


@dataclass(frozen=True)
class ControlModels:
    """The retrained models behind the never-trained control: each was trained on at least ``records`` records."""

    models: int
    records: int
    holdout: Estimate


@dataclass(frozen=True)
class Extra:
    """What an explanation reveals in addition to the prediction; see `evaluation.explanation_gain`.

    Parameters
    ----------
    release, prediction
        The explanation, and the prediction that it is released with.
    auc, advantage
        Gain of the attack on both over the attack on the prediction alone, on the same records. The intervals are simultaneous over the extras of
        one audit.
    without, together
        AUC of the two attacks.
    control
        ``auc`` on the never-trained control: 0 up to chance. None without such a control.
    beyond_control
        ``auc`` minus ``control``.
    """

    release: str
    prediction: str
    auc: Estimate
    advantage: Estimate
    without: Estimate
    together: Estimate
    control: Estimate | None
    beyond_control: Estimate | None
    beside = former_name("beside", "prediction")

    @property
    def adds(self) -> bool:
        """Whether the explanation adds significantly, also beyond the control."""
        return self.auc.low > 0 and (self.beyond_control is None or self.beyond_control.low > 0)


@dataclass(frozen=True)
class AuditedModel:
    """What was audited. ``judged`` is the number of members, and of non-members, that the risks are estimated from.

    The task ``scores`` means that only scores were provided, so that features and performance are unknown.
    """

    model: str
    task: Literal["classification", "regression", "scores"]
    classes: int | None
    features: int | None
    members: int
    nonmembers: int
    judged: int
    performance: Performance | None
    control_models: ControlModels | None


@dataclass(frozen=True)
class Overlap:
    """Training records that are in the holdout too, by id (the first thousand), and the estimated share of near copies."""

    count: int
    ids: tuple[str, ...] = ()
    removed: bool = False
    near: Estimate | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit(Result):
    """What an audit of a model, or of scores, found.

    Parameters
    ----------
    verdict, basis
        The answer, and what it depends on besides the strongest attack. ``basis`` is None in an audit of an older version.
    strongest, risks, by_release, largest
        The strongest attack with simultaneous intervals, every attack with intervals of its own, the strongest on each release, and the largest
        figures of any attack.
    target, overlap
        What was audited, and which training records are in the holdout too.
    extras
        What each explanation adds to the prediction.
    exposed, named
        The most exposed records by id, and how many members an attacker could name.
    bounds
        What no attack can exceed, by claimed differential privacy.
    procedure
        What the training procedure leaks, over reference models.
    records
        One row per training record: ``id``, ``score``, ``low``, ``high``, ``rank``, ``p_value``, and for audits of a model ``loss``, ``label`` (the
        class, or the decile in a regression) and ``group: …`` for each column of groups. ``score`` is the exposure in [0, 1]: with reference models,
        one minus the mean likelihood of the record's label under models of which half had it; otherwise one minus ``p_value``. ``rank`` 1 is the most
        exposed record; equal scores share a rank. ``p_value`` is the membership evidence of this model: the share of non-members that score at least
        as high under the strongest attack, nan where the record was not judged. ``low`` and ``high`` are the ends of the interval of ``score``, nan
        with fewer than four references and for records that were not judged. See `evaluation.exposure`.
    """

    kind: ClassVar[str] = "audit"
    schema_version: ClassVar[int] = 5
    codes: ClassVar[Mapping[str, Outcome | None]] = {
        "leak": "yes",
        "group_leak": "yes",
        "group_gap": "yes",
        "explanation_adds": "yes",
        "claim_refuted": "yes",
        "bounded": None,
        "shift": None,
        "beyond_blind": None,
        "overfitted": None,
        "labels_reveal_less": None,
    }
    possible_figures = ("group_gap", "largest_group.auc", "extra", "bound", "blind", "beyond_blind", "overfitting")
    table = "risks"

    verdict: Verdict
    strongest: Risk
    risks: tuple[Risk, ...]
    target: AuditedModel
    overlap: Overlap
    extras: tuple[Extra, ...] = ()
    by_release: tuple[ReleaseRisk, ...] = ()
    largest: Largest | None = None
    exposed: tuple[ExposedRecord, ...] = ()
    bounds: tuple[Bound, ...] = ()
    basis: Basis | None = None
    named: NamedMembers | None = None
    procedure: Procedure | None = None

    @property
    def bound(self) -> Bound | None:
        """The smallest of the claimed bounds for this model."""
        return min(self.bounds, key=lambda bound: bound.advantage.high, default=None)

    @property
    def studied(self) -> str:
        """Name of the audited model."""
        return self.target.model

    def __repr__(self) -> str:
        return f"<Audit of {self.target.model}: {self.verdict.kind}; strongest attack AUC {self.strongest.auc}>"
