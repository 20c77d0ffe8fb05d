"""What a frontier leaves: plain data, files and a few lines of text. No feature value is in it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun
from leakscope.explanations.faithfulness import Faithfulness
from leakscope.results import Audit, Study


@dataclass(frozen=True)
class Setting:
    """One way to explain, how faithful it is, and what it adds to what the prediction gives away.

    Parameters
    ----------
    name
        The explanation with its settings.
    faithfulness
        See `explanations.faithfulness`; ``faithfulness.order`` is the axis of the frontier.
    advantage, auc
        Membership advantage, and AUC, that an attacker gains over the prediction alone (`results.Extra`).
    control
        ``auc`` on models that never saw the members: 0 up to chance; None without such models.
    beaten_by, surely_beaten_by
        A setting that is better by points, and one that surely is (`dominance`); None if there is none. An extra advantage
        below 0 counts as 0, since an attacker can leave the explanation aside.
    """

    name: str
    faithfulness: Faithfulness
    advantage: Estimate
    auc: Estimate
    control: Estimate | None
    beaten_by: str | None
    surely_beaten_by: str | None

    @property
    def method(self) -> str:
        """The method without its settings."""
        return self.name.partition(":")[0]


@dataclass(frozen=True, eq=False)
class Frontier:
    """The quality-privacy frontier of explanations of one model.

    Parameters
    ----------
    settings
        Every way to explain that could be measured.
    not_run
        Those that this model can't be explained by, and why.
    beside
        The prediction that the attacker has in any case.
    random_order
        ``faithfulness.order`` of values drawn at random: 0 up to chance.
    run
        How all was measured.
    audit
        The audit that the leakage comes from.
    """

    settings: tuple[Setting, ...]
    not_run: tuple[NotRun, ...]
    beside: str
    random_order: Estimate
    run: dict[str, Any]
    audit: Audit

    @property
    def best(self) -> tuple[Setting, ...]:
        """The settings that nothing beats by points, the most faithful first."""
        kept = [setting for setting in self.settings if setting.beaten_by is None]
        return tuple(sorted(kept, key=lambda setting: -setting.faithfulness.order.value))

    def __repr__(self) -> str:
        names = ", ".join(setting.name for setting in self.best)
        return f"<Frontier of {len(self.settings)} explanations of {self.run['model']}: nothing beats {names}>"

    def __str__(self) -> str:
        from leakscope.frontier_study.show import describe

        return describe(self)

    def study(self) -> Study:
        """What a reader of an audit needs of this: see `Audit.with_studies`."""
        from leakscope.frontier_study.telling import tell

        return tell(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the audit, as JSON takes it."""
        return {
            "best": [setting.name for setting in self.best],
            "settings": [asdict(setting) for setting in self.settings],
            "not_run": [asdict(item) for item in self.not_run],
            "beside": self.beside,
            "random_order": asdict(self.random_order),
            "run": self.run,
        }

    def to_csv(self) -> str:
        """One row for each setting; every figure with the ends of its interval."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        figures = ("faithfulness", "deletion", "insertion", "infidelity", "unexplained", "extra_advantage", "extra_auc",
                   "control_auc")  # fmt: skip
        ends = [f"{figure}{end}" for figure in figures for end in ("", "_low", "_high")]
        writer.writerow(["setting", *ends, "beaten_by", "surely_beaten_by"])
        for setting in self.settings:
            kept = setting.faithfulness
            values = (kept.order, kept.deletion, kept.insertion, kept.infidelity, kept.unexplained, setting.advantage,
                      setting.auc, setting.control)  # fmt: skip
            cells = [(one.value, one.low, one.high) if one is not None else ("", "", "") for one in values]
            numbers = [number for cell in cells for number in cell]
            writer.writerow([setting.name, *numbers, setting.beaten_by or "", setting.surely_beaten_by or ""])
        return text.getvalue()

    def save(self, folder: str | Path) -> None:
        """Write frontier.csv, frontier.svg, frontier.json and study.json: all of them or none."""
        from leakscope.frontier_study.show import draw
        from leakscope.storage import write_all
        from leakscope.study import FILE, study_to_json

        content = {
            "frontier.csv": self.to_csv().encode(),
            "frontier.svg": draw(self).encode(),
            FILE: study_to_json(self.study()),
            "frontier.json": json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False).encode(),
        }
        write_all(Path(folder), content)
