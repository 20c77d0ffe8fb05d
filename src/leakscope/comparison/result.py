"""What a comparison leaves: plain data, files and a few lines of text. No feature value is in it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun
from leakscope.defenses.defense import Guarantee
from leakscope.errors import InputError
from leakscope.results import Largest, Study

if TYPE_CHECKING:
    from leakscope.comparison.record_explanations import RecordComparison

AS_IT_IS = "as it is"
#: What an attack knows of a defense that it has reference models of.
REFERENCES_KNOW = "reference models trained with the defense"


@dataclass(frozen=True)
class Measured:
    """One metric of a version on held-out records, and its paired change from the model as it is."""

    metric: str
    better: Literal["more", "less"]
    value: Estimate
    change: Estimate

    @property
    def gain(self) -> Estimate:
        """The change so that more is better."""
        if self.better == "more":
            return self.change
        change = self.change
        return Estimate(-change.value, -change.high, -change.low, change.confidence, n=change.n, method=change.method)


@dataclass(frozen=True)
class GroupPrice:
    """The first metric of a version in one group of held-out records, its paired change, and the risk of the group.

    ``auc`` is that of the version's strongest attack among the members and non-members of the group; None where these are too
    few.
    """

    column: str
    level: str
    records: int
    metric: str
    value: Estimate
    change: Estimate
    auc: Estimate | None = None


@dataclass(frozen=True)
class Attacked:
    """One attack on a version: its AUC, that of the same attack where there is nothing to find, and what it knows."""

    attack: str
    release: str
    auc: Estimate
    tpr_at_fpr: dict[float, Estimate]
    control: Estimate
    knows: str = ""


@dataclass(frozen=True)
class Version:
    """One version of the model: as it is, or with one setting of one defense.

    Parameters
    ----------
    name, defense, knob, setting, what, source
        Which it is; ``what`` says what the defense does in plain words.
    changes
        What the defense changes: ``training``, ``answers``, ``explanations``, or ``nothing``.
    risk
        The largest that any attack reaches, figure by figure; the intervals of all versions hold together.
    strongest, control, control_kind
        The attack with the largest AUC, and its AUC on the control.
    attacks
        All attacks that were run.
    lowered
        Change of the largest AUC from the model as it is, paired on the same records: below 0 is less risk. All pairs of
        versions hold together. None for the model as it is.
    utility, groups
        What it costs.
    faithfulness
        For each released explanation, how faithful it is: how much better its order of features is than a random one
        (`explanations.faithfulness`), and the paired change.
    retrained
        The first metric over models trained in the same way on other draws of records, of half of the members and of as many
        as there are, each on records that it did not see: how much a single training says. None without such models.
    guarantee
        What is proven of it, or None.
    epsilon
        What the attacks show that ε is at least, for the swap of one record.
    promise
        ``none`` was made, ``holds`` as far as these attacks tell, is ``broken``, or ``in doubt`` because members and others
        differ by themselves.
    beaten_by, surely_beaten_by
        A version that is better by points, in risk and in everything that is compared (`comparison.choosing`), and one that
        surely is; None if there is none.
    """

    name: str
    defense: str
    knob: str
    setting: float | int | str
    what: str
    source: str
    changes: Literal["training", "answers", "explanations", "nothing"]
    risk: Largest
    strongest: str
    control: Estimate
    control_kind: Literal["never trained", "permuted"]
    attacks: tuple[Attacked, ...]
    lowered: Estimate | None
    utility: tuple[Measured, ...]
    groups: tuple[GroupPrice, ...]
    faithfulness: tuple[Measured, ...]
    retrained: Estimate | None
    guarantee: Guarantee | None
    epsilon: Estimate
    promise: Literal["none", "holds", "broken", "in doubt"]
    beaten_by: str | None
    surely_beaten_by: str | None
    notes: tuple[str, ...]

    @property
    def attacked_by_references(self) -> bool:
        """Whether the attacks that know the defense best were run: those with reference models trained with it."""
        return any(attacked.knows == REFERENCES_KNOW for attacked in self.attacks)

    @property
    def main(self) -> Measured:
        """The first metric: accuracy, or the mean squared error."""
        return self.utility[0]


@dataclass(frozen=True)
class Recommendation:
    """What to do, in words, drawn from intervals.

    ``use``: ``version`` surely lowers the risk at no more than the price that was allowed. ``at a price``: some versions surely
    lower the risk, none of them surely within that price. ``no sure gain``: none surely lowers it. ``nothing to lower``: no
    attack beats chance on the model as it is. ``cannot tell``: what attacks find on the model as it is may come from a
    difference between the two sets of records and not from the model. ``untested``: some versions surely lower what the attacks
    that were run find, but the attack that knows a defense best was not run on them.
    """

    kind: Literal["use", "at a price", "no sure gain", "nothing to lower", "inconclusive", "untested"]
    version: str | None
    sentence: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """The model as it is and defended versions of it: what each buys and what it costs.

    Parameters
    ----------
    versions
        The model as it is comes first.
    not_run
        Defenses that this model can't have, and why.
    recommendation
        What the intervals allow to say.
    warnings
        What could mislead.
    run
        How all was measured.
    record_explanations
        What explanations by records give away, as they are and defended; None where none are released.
    """

    versions: tuple[Version, ...]
    not_run: tuple[NotRun, ...]
    recommendation: Recommendation
    warnings: tuple[str, ...]
    run: dict[str, Any]
    record_explanations: RecordComparison | None = None

    @property
    def as_it_is(self) -> Version:
        """The model without any defense."""
        return self.versions[0]

    @property
    def best(self) -> tuple[Version, ...]:
        """The versions that nothing beats by points: the frontier of risk against utility, the least risk first."""
        kept = [version for version in self.versions if version.beaten_by is None]
        return tuple(sorted(kept, key=lambda version: version.risk.auc.value))

    @property
    def broken(self) -> tuple[Version, ...]:
        """The versions whose guarantee an attack has shown to be broken."""
        return tuple(version for version in self.versions if version.promise == "broken")

    def __getitem__(self, name: str) -> Version:
        found = next((version for version in self.versions if version.name == name), None)
        if found is None:
            names = ", ".join(version.name for version in self.versions)
            raise InputError(f"there is no version {str(name)[:40]!r}: there are {names}")
        return found

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.versions)} versions of {self.run['model']}: {self.recommendation.kind}>"

    def __str__(self) -> str:
        from leakscope.comparison.show import describe

        return describe(self)

    def study(self) -> Study:
        """What a reader of an audit needs of this: see `Audit.with_studies`."""
        from leakscope.comparison.telling import tell

        return tell(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON takes it."""
        return {
            "recommendation": asdict(self.recommendation),
            "frontier": [version.name for version in self.best],
            "versions": [_plain(asdict(version)) for version in self.versions],
            "not_run": [asdict(item) for item in self.not_run],
            "warnings": list(self.warnings),
            "run": self.run,
            "record_explanations": None if self.record_explanations is None else self.record_explanations.as_dict(),
        }

    def to_csv(self) -> str:
        """One row for each version."""
        rates = sorted(self.as_it_is.risk.tpr_at_fpr, reverse=True)
        metrics = [measured.metric for measured in self.as_it_is.utility]
        ends = ("value", "low", "high")
        names = ["auc", *(f"tpr at {rate:g}" for rate in rates), "change of auc"]
        names += [name for metric in metrics for name in (metric, f"change of {metric}")]
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(
            ["version", "defense", "setting", *(f"{name} {end}" for name in names for end in ends),
             "epsilon claimed", "delta", "epsilon at least", "promise", "beaten by", "surely beaten by"]
        )  # fmt: skip
        for version in self.versions:
            shown: list[Estimate | None] = [version.risk.auc, *(version.risk.tpr_at_fpr[rate] for rate in rates)]
            shown += [version.lowered, *(one for price in version.utility for one in (price.value, price.change))]
            cells = [getattr(one, end) if one is not None else "" for one in shown for end in ends]
            claim = version.guarantee
            table.writerow(
                [version.name, version.defense, version.setting, *cells, "" if claim is None else claim.epsilon,
                 "" if claim is None else claim.delta, version.epsilon.value, version.promise,
                 version.beaten_by or "", version.surely_beaten_by or ""]
            )  # fmt: skip
        return text.getvalue()

    def save(self, folder: str | Path) -> None:
        """Write ``compare.json``, ``compare.csv``, ``compare.html`` and ``study.json`` into a folder, all of them or none."""
        from leakscope.comparison.page import render
        from leakscope.storage import write_all
        from leakscope.study import FILE, study_to_json

        document = json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        content = {
            "compare.json": document.encode(),
            "compare.csv": self.to_csv().encode(),
            "compare.html": render(self).encode(),
            FILE: study_to_json(self.study()),
        }
        write_all(Path(folder), content)


def _plain(value: Any) -> Any:
    """Rates as texts where they are keys, as JSON has it."""
    if isinstance(value, dict):
        return {f"{key:g}" if isinstance(key, float) else key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
