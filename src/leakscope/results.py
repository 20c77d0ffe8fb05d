"""What leaves the package: numbers with intervals, risks, and the audit as one frozen, versioned record.

Nothing in here computes a risk. The classes are plain data, so that a report, a gate or a comparison reads the record and
never the model. No class holds a feature value of a training record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

SCHEMA_VERSION = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval: no bare float leaves the package.

    Parameters
    ----------
    value, low, high
        The point and the two ends of the interval at ``confidence``.
    kind
        ``exact`` (low = value = high), ``estimate``, ``lower bound`` (value = low) or ``upper bound`` (value = high).
    unit
        Empty for a pure number, otherwise its unit, such as ``bits``.
    n
        How many records the number rests on.
    method
        How the interval was made, and what it would take to make it tighter.

    Examples
    --------
    >>> Estimate(0.61, 0.58, 0.64)
    0.61 [0.58, 0.64]
    >>> Estimate(0.05, 0.0, 0.05, kind="upper bound")
    at most 0.05
    """

    value: float
    low: float
    high: float
    confidence: float = 0.95
    kind: Literal["exact", "estimate", "lower bound", "upper bound"] = "estimate"
    unit: str = ""
    n: int | None = None
    method: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.low <= self.value <= self.high):
            raise ValueError(f"an estimate needs low <= value <= high, not {self.low}, {self.value}, {self.high}")

    def __repr__(self) -> str:
        width = self.high - self.low
        if max(abs(self.value), abs(self.low), abs(self.high)) >= 1e6:
            value, low, high = (f"{number:.4g}" for number in (self.value, self.low, self.high))
            return self._words(value, low, high)
        digits = 2 if width <= 0 or not math.isfinite(width) else min(6, max(2, math.floor(-math.log10(width)) + 1))
        # Adding zero to what was rounded turns -0.00 into 0.00.
        value, low, high = (f"{round(number, digits) + 0.0:.{digits}f}" for number in (self.value, self.low, self.high))
        return self._words(value, low, high)

    def _words(self, value: str, low: str, high: str) -> str:
        unit = f" {self.unit}" if self.unit else ""
        match self.kind:
            case "exact":
                return f"{value}{unit}"
            case "lower bound":
                return f"at least {value}{unit}"
            case "upper bound":
                return f"at most {value}{unit}"
        return f"{value} [{low}, {high}]{unit}"


@dataclass(frozen=True)
class Control:
    """The same attack where there is nothing to find: its AUC must be 0.5 up to chance and the data's own differences.

    ``never trained``: the model is retrained without the records called members.
    ``permuted``: the true memberships are shuffled.
    """

    kind: Literal["never trained", "permuted"]
    auc: Estimate
    advantage: Estimate
    tpr_at_fpr: dict[float, Estimate]


@dataclass(frozen=True)
class GroupRisk:
    """One level of one group column: its members told from its non-members.

    ``gap`` is the group's AUC minus the AUC of everybody else. All intervals hold for all groups of the audit at once. The classes of
    the label, or its deciles in a regression, are always groups: the column ``class``, or ``label``.
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
    Below the rates that the sample carries they are 0 and 1.
    """

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Histogram:
    """How many judged members and non-members have an exposure score between ``edges[k]`` and ``edges[k + 1]``."""

    edges: tuple[float, ...]
    members: tuple[int, ...]
    nonmembers: tuple[int, ...]


@dataclass(frozen=True)
class Risk:
    """What one attack learns from one release, with its controls and its blind baseline.

    Parameters
    ----------
    auc
        Probability that a random member gets a higher score than a random non-member (ties count one half).
    advantage
        True-positive rate minus false-positive rate at the attack's own threshold.
    accuracy
        Share of right guesses, members and non-members in equal numbers, at the best threshold; the threshold is
        chosen on other records than those it is judged on.
    tpr_at_fpr
        True-positive rate at each false-positive rate; only an upper bound where the sample can't carry more.
    control, permuted
        ``control`` is the never-trained world where the model can be retrained and otherwise equals ``permuted``.
    blind
        AUC of telling members from non-members by the records alone, without any model; None where only scores are known.
    beyond_blind
        ``auc`` minus ``blind``, paired on the same records.
    beyond_control
        ``auc`` minus the AUC of ``control``.
    tpr_beyond
        ``tpr_at_fpr`` minus that of the never-trained control, or of the blind baseline where there is no such control or
        where that baseline may beat chance; for the rates that the sample can carry.
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

    @property
    def group_gap(self) -> Estimate | None:
        """The largest gap of any group to the rest, or None without groups."""
        return max((group.gap for group in self.by_group), key=lambda gap: gap.value, default=None)


@dataclass(frozen=True)
class Largest:
    """The largest that any of several attacks reaches, figure by figure; gates look at these.

    Each lies between the largest low and the largest high end of intervals that hold together, so that no attack that was run
    is overlooked, be it strong by its AUC or at a low false-positive rate only. ``group_auc`` is the largest AUC of any group, with an
    interval that also holds for all groups at once; None without groups.
    """

    auc: Estimate
    advantage: Estimate
    accuracy: Estimate
    tpr_at_fpr: dict[float, Estimate]
    group_auc: Estimate | None = None


@dataclass(frozen=True)
class ReleaseRisk:
    """The strongest attack on one release. The intervals of all releases of an audit hold together.

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

    @property
    def beats_chance(self) -> bool:
        """Whether the attack is significantly above chance, by its AUC or at a low false-positive rate."""
        return self.auc.low > 0.5 or any(tpr.low > rate for rate, tpr in self.tpr_at_fpr.items())


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
class Named:
    """How many judged members the strongest attack could name at a false-discovery rate; see `evaluation.exposure`.

    ``false`` is how many non-members, of as many as there are members, it names with them; ``share`` is ``count`` as a share.
    """

    count: int
    false: int
    share: Estimate
    false_discovery_rate: float


@dataclass(frozen=True)
class Procedure:
    """What the training procedure leaks: mean AUC over ``models`` reference models attacked as targets, with its spread."""

    auc: Estimate
    models: int


@dataclass(frozen=True)
class Bound:
    """What no attack can pass: at most this advantage (true-positive rate minus false-positive rate) from anything released.

    Parameters
    ----------
    why, source
        What it rests on and when it holds; the statement behind it.
    epsilon, delta
        The differential privacy that it follows from, where it does.
    contradicted
        Whether an attack of the audit shows significantly more: then the promise does not hold, and nothing may rest on it.
    """

    advantage: Estimate
    why: str
    source: str
    epsilon: float | None = None
    delta: float = 0.0
    contradicted: bool = False

    def most_found(self, rate: float) -> float:
        r"""The most that any attack finds at a false-positive rate: TPR <= FPR + advantage, and under (ε, δ) <= e^ε FPR + δ.

        Examples
        --------
        >>> promise = Bound(Estimate(0.46, 0, 0.46, kind="upper bound"), "promised", "", epsilon=1.0)
        >>> round(promise.most_found(0.1), 3), round(promise.most_found(0.5), 3)
        (0.272, 0.96)
        """
        by_ratio = 1.0 if self.epsilon is None else math.exp(min(self.epsilon, 50.0)) * rate + self.delta
        return min(1.0, rate + self.advantage.high, by_ratio)


@dataclass(frozen=True)
class Point:
    """One point of a figure. ``label`` names it; ``across`` is its place with an interval, where that was measured too."""

    x: float
    y: Estimate
    label: str = ""
    across: Estimate | None = None


@dataclass(frozen=True)
class Series:
    """Points under one name: a line, or the points of one colour."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Figure:
    """A picture as numbers.

    ``marked`` names the points of a scatter that nothing beats; ``chance`` is where guessing stands on the vertical axis; with
    ``from_zero`` both axes reach zero.
    """

    title: str
    description: str
    kind: Literal["lines", "scatter"]
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    logarithmic_x: bool = False
    logarithmic_y: bool = False
    marked: tuple[str, ...] = ()
    chance: float | None = None
    from_zero: bool = True


@dataclass(frozen=True)
class Number:
    """A named number, and in ``note`` what it means to somebody who has not read the papers."""

    name: str
    estimate: Estimate
    note: str = ""


@dataclass(frozen=True)
class Study:
    """Another measurement beside the attacks of an audit, ready for a report: what `study.make_study` makes of a result.

    Parameters
    ----------
    kind
        Which command made it: ``leakage``, ``reconstruction``, ``frontier``, ``causal``, ``attributes`` or ``comparison``.
    release
        What is released: ``parameters``, ``record explanations``, …
    question, answer
        In plain words; the answer is drawn from intervals.
    numbers, figures
        What was found.
    bound
        What no attack on this release, or on anything computed from it, can pass; None where nothing is known.
    advice
        What the measured comparisons say would lower the risk, the most useful first.
    """

    kind: Literal["leakage", "reconstruction", "frontier", "causal", "attributes", "comparison"]
    release: str
    question: str
    answer: str
    numbers: tuple[Number, ...] = ()
    figures: tuple[Figure, ...] = ()
    bound: Bound | None = None
    advice: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def measured(self) -> str:
        """The model, learner or models that it was measured on, as far as it says so."""
        name = next((self.settings[key] for key in ("model", "learner", "models") if self.settings.get(key)), "")
        return " and ".join(map(str, name)) if isinstance(name, list | tuple) else str(name)

    @property
    def key(self) -> tuple[str, str, str]:
        """The same for two studies of one thing."""
        return self.kind, self.release, self.measured


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
    """One statement of a verdict, as data; `verdict_text` has the sentences.

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
    text
        What an ``obstacle`` is, in words.
    """

    code: FindingCode | DoubtCode | SupportCode
    estimates: dict[str, Estimate] = field(default_factory=dict)
    attack: str = ""
    release: str = ""
    column: str = ""
    level: str = ""
    fpr: float | None = None
    remedy: Literal["more_records", "matched_holdout"] | None = None
    text: str = ""


@dataclass(frozen=True)
class Verdict:
    """The answer. It is drawn from the intervals, never from the points; `verdict.judge` has the rule.

    Parameters
    ----------
    kind
        The answer.
    sentence, reasons
        The same in words, for people: made from the other fields, and never read by code.
    finding
        What was found. None in a record of version 1 or 2, which has words only.
    doubts
        What keeps the finding from deciding, the most important first; not empty where the verdict is ``cannot tell``.
    support
        What else the verdict rests on: controls, the blind baseline, statements of the caller, exposed groups.
    not_excluded
        The largest AUC that is not excluded for any attack, where none is significantly above chance.
    records_needed
        Held-out records, and as many training records, that could exclude an AUC above 0.5 + margin, where the sample is too small.
    """

    kind: Literal["leaks", "claim refuted", "no evidence", "cannot tell"]
    sentence: str = ""
    reasons: tuple[str, ...] = ()
    finding: Statement | None = None
    doubts: tuple[Statement, ...] = ()
    support: tuple[Statement, ...] = ()
    not_excluded: float | None = None
    records_needed: int | None = None

    @property
    def leaks(self) -> bool:
        """Whether the model leaks: also where it leaks more than a privacy claim allows."""
        return self.kind in ("leaks", "claim refuted")


@dataclass(frozen=True)
class Claim:
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
    """How models that had the members, and models that did not, fit them: see `evaluation.references`."""

    gap: Estimate
    curve: Estimate
    mid: Estimate
    size: Estimate

    @property
    def data_hungry(self) -> bool:
        """Whether more records improve the fit by more than training on a record does: smaller controls can't stand for it."""
        return self.curve.value > self.gap.value


@dataclass(frozen=True)
class ExposedGroup:
    """The group with the largest significant AUC under any attack, and what else could explain it.

    Parameters
    ----------
    auc
        Corrected for the choice among all groups and attacks; the other intervals have the same confidence.
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
        "No evidence" excludes an AUC above 0.5 + ``margin``.
    overlap
        Share of the judged non-members that are members too.
    random_split
        Whether members and non-members were split at random, as stated by the caller.
    obstacles
        Problems with the data or the model that rule out "no evidence", one sentence each.
    fit
        How reference models fit the members, where there are any.
    claim
        What was claimed of differential privacy, or a lower bound on ε where the caller states a random split.
    exposed
        The group with the largest AUC that is significantly above chance, if there is one.
    """

    margin: float
    overlap: float = 0.0
    random_split: bool = False
    obstacles: tuple[str, ...] = ()
    fit: Fit | None = None
    claim: Claim | None = None
    exposed: ExposedGroup | None = None


@dataclass(frozen=True)
class NotRun:
    """A release and attack that the audit left out, and why: nothing is skipped in silence."""

    release: str
    attack: str
    reason: str


@dataclass(frozen=True)
class Performance:
    """How well the model does its job: ``metric`` on the training records and on held-out records."""

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
    """What an explanation gives away once the prediction is out; see `extra`.

    Parameters
    ----------
    release, beside
        The explanation, and the prediction that it comes with.
    auc, advantage
        What the attack on both gains over the attack on the prediction alone, on the same records. All intervals of the
        extras of one audit hold together.
    without, together
        AUC of the two attacks.
    control
        ``auc`` where a model never saw the members: 0 up to chance. None without such a control.
    beyond_control
        ``auc`` minus ``control``.
    """

    release: str
    beside: str
    auc: Estimate
    advantage: Estimate
    without: Estimate
    together: Estimate
    control: Estimate | None
    beyond_control: Estimate | None

    @property
    def adds(self) -> bool:
        """Whether the explanation surely adds something, also beyond the control."""
        return self.auc.low > 0 and (self.beyond_control is None or self.beyond_control.low > 0)


@dataclass(frozen=True)
class AuditedModel:
    """What was audited. ``judged`` is the number of members, and of non-members, that the risks rest on.

    The task ``scores`` means that no model was seen, only scores: then nothing is known of features and performance.
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
    """Training records that stand in the holdout too, named by id (the first thousand)."""

    count: int
    ids: tuple[str, ...] = ()
    removed: bool = False
    near: Estimate | None = None


@dataclass(frozen=True)
class Findings:
    """Everything an audit knows except the per-record table: what ``audit.json`` holds."""

    verdict: Verdict
    strongest: Risk
    risks: tuple[Risk, ...]
    not_run: tuple[NotRun, ...]
    warnings: tuple[str, ...]
    target: AuditedModel
    overlap: Overlap
    settings: dict[str, Any]
    fingerprints: dict[str, str]
    versions: dict[str, str]
    seconds: dict[str, float]
    created: str
    extras: tuple[Extra, ...] = ()
    by_release: tuple[ReleaseRisk, ...] = ()
    largest: Largest | None = None
    exposed: tuple[ExposedRecord, ...] = ()
    bounds: tuple[Bound, ...] = ()
    studies: tuple[Study, ...] = ()
    command: str = ""
    basis: Basis | None = None
    named: Named | None = None
    procedure: Procedure | None = None
    schema_version: int = SCHEMA_VERSION

    @property
    def bound(self) -> Bound | None:
        """The tightest of the bounds that were promised for this model; what a study found holds for what it measured."""
        return min(self.bounds, key=lambda bound: bound.advantage.high, default=None)


@dataclass(frozen=True, eq=False)
class Audit(Findings):
    """An audit: the findings and one row per training record.

    Its columns are ``id``, ``score``, ``low``, ``high``, ``rank``, ``p_value``, and for audits of a model ``loss``, ``label`` (the
    class, or the decile of a regression) and ``group: …`` for each column of groups. ``score`` is the exposure in [0, 1]: with reference
    models, one minus the mean likelihood of the record's label under models of which half had it; otherwise one minus ``p_value``. ``rank`` 1 is the most exposed record; equal scores share a rank. ``p_value`` is the
    membership evidence of this model: the share of non-members that score at least as high under the strongest attack, nan where the
    record was not judged. ``low`` and ``high`` are the ends of the interval of ``score``, nan with fewer than four references and for
    records that were not judged. See `evaluation.exposure`.
    """

    records: pd.DataFrame = field(kw_only=True)

    @property
    def findings(self) -> Findings:
        """The part that ``audit.json`` holds."""
        return Findings(**{item.name: getattr(self, item.name) for item in fields(Findings)})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Audit):
            return NotImplemented
        return self.findings == other.findings and self.records.equals(other.records)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from leakscope.report.text import render

        return render(self)

    def __repr__(self) -> str:
        return f"<Audit of {self.target.model}: {self.verdict.kind}; strongest attack AUC {self.strongest.auc}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from leakscope.report.html import render_fragment

        return render_fragment(self)

    def __rich__(self) -> RenderableType:
        """What Rich shows: the answer in colour, and the releases in a table."""
        from leakscope.report.terminal import render

        return render(self)

    def with_studies(self, *results: Any) -> Audit:
        """The audit with other measurements beside it: of leakage, reconstruction, frontier, causal, attributes, compare.

        A study takes the place of one of the same kind, release and model that is there already.
        """
        from leakscope.study import attach

        return attach(self, results)

    def save(self, folder: str | Path) -> None:
        """Write ``audit.json``, ``records.csv`` and ``report.html`` into a folder, all of them or none."""
        from leakscope.storage import save

        save(self, Path(folder))
