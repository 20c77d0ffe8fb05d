"""What a comparison of causal and other models leaves: plain data, files and a few lines of text. No record is in it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from leakscope.causal.membership import Blind, Membership
from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun
from leakscope.results import Study

#: The two laws of outsiders: the same as the training data's, and shifted ones.
SAME, SHIFTED = "P", "P*"


@dataclass(frozen=True)
class Compared:
    """One kind of model: how well it predicts, and what it gives away.

    Parameters
    ----------
    name
        Kind of model and columns it uses.
    columns
        The columns.
    training, test, shifted
        Utility on its training sample, on others of P, and on P* (mean over shifted laws): share of right labels, or
        1 - squared error / variance of the label.
    in_distribution, out_of_distribution
        Generalisation errors IDE and ODE [tople2020, Defs. 1 and 2] of a loss in [0, 1]: half the sum of squared errors of
        the probabilities; None for a regression.
    membership
        ``"P"`` and ``"P*"`` to what each attack found; intervals hold for all attacks at once.
    unseen
        Share of records of P* whose configuration no training record had; 0 but for tables.
    """

    name: str
    columns: tuple[str, ...]
    training: Estimate
    test: Estimate
    shifted: Estimate | None
    in_distribution: Estimate | None
    out_of_distribution: Estimate | None
    membership: dict[str, tuple[Membership, ...]]
    unseen: float = 0.0

    def strongest(self, law: str) -> Membership | None:
        """The attack with the largest excess AUC over the control; None where none was run."""
        return max(self.membership.get(law, ()), key=lambda found: found.excess_auc.value, default=None)

    def loudest(self, law: str) -> Membership | None:
        """The attack that is right most often, be it by membership or by telling P from P*; None where none was run."""
        return max(self.membership.get(law, ()), key=lambda found: found.accuracy.value, default=None)


@dataclass(frozen=True)
class Noise:
    """L1 sensitivity of least squares with a penalty, on the causes and on all columns [tople2020, Lemma 1, Theorem 3].

    ``ratio`` is ε of the causal learner over ε of the other at equal Laplace noise, which is the ratio of sensitivities, as
    far as ``swaps`` of one record at random among ``size`` tell; both sensitivities are lower bounds.
    """

    causal: Estimate
    associational: Estimate
    ratio: Estimate
    size: int
    l2: float
    swaps: int


@dataclass(frozen=True)
class Attribute:
    """What the answers of one kind of model add to guessing one sensitive column (`leakscope.attribute`).

    ``baseline`` is the advantage of an attacker who has the other columns and the label but no model, ``advantage`` that of
    the strongest attack with the model, and ``gain`` their difference.
    """

    column: str
    model: str
    is_cause: bool
    baseline: Estimate
    attack: str
    advantage: Estimate
    gain: Estimate
    gain_auc: Estimate


@dataclass(frozen=True, eq=False)
class CausalStudy:
    """Causal and associational models side by side; ``str()`` says it in words, ``save`` writes files.

    Parameters
    ----------
    label, causes
        What is predicted, and the columns that cause it.
    how
        Where the causes come from.
    models
        The causal model first, then one that uses all columns, then others.
    blind
        ``"P"`` and ``"P*"`` to what an attacker does who never asks a model.
    noise
        What differential privacy needs for both; None where it was not measured.
    attributes
        What an attacker who wants the value of a sensitive column gains by the answers of each model.
    invariance
        The choice of causes from environments in words; empty where the causes were given.
    not_run
        Attacks that could not be run, and why.
    run
        How all was measured.
    notes
        What a reader should know.
    """

    label: str
    causes: tuple[str, ...]
    how: str
    models: tuple[Compared, ...]
    blind: dict[str, Blind]
    noise: Noise | None
    attributes: tuple[Attribute, ...]
    invariance: str
    not_run: tuple[NotRun, ...]
    run: dict[str, Any]
    notes: tuple[str, ...]

    def model(self, name: str) -> Compared:
        """One of the models by name."""
        return next(model for model in self.models if model.name == name)

    def __repr__(self) -> str:
        return f"<CausalStudy of {self.label}: {len(self.models)} kinds of model on causes {', '.join(self.causes)}>"

    def __str__(self) -> str:
        from leakscope.causal_study.show import describe

        return describe(self)

    def study(self) -> Study:
        """What a reader of an audit needs of this: see `Audit.with_studies`."""
        from leakscope.causal_study.telling import tell

        return tell(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON takes it."""
        return {
            "label": self.label,
            "causes": list(self.causes),
            "how": self.how,
            "models": [asdict(model) for model in self.models],
            "blind": {law: asdict(found) for law, found in self.blind.items()},
            "noise": None if self.noise is None else asdict(_finite_ends(self.noise)),
            "attributes": [asdict(one) for one in self.attributes],
            "invariance": self.invariance,
            "not_run": [asdict(item) for item in self.not_run],
            "run": self.run,
            "notes": list(self.notes),
        }

    def to_csv(self) -> str:
        """One row for each model, law and attack; every figure with the ends of its interval."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        figures = ("accuracy", "auc", "control_accuracy", "control_auc", "excess_accuracy", "excess_auc")
        ends = [f"{figure}{end}" for figure in figures for end in ("", "_low", "_high")]
        writer.writerow(["model", "law", "utility", "utility_low", "utility_high", "attack", "release", *ends])
        for model in self.models:
            for law, tried in model.membership.items():
                utility = model.test if law == SAME else model.shifted
                shown = ["", "", ""] if utility is None else [utility.value, utility.low, utility.high]
                for found in tried:
                    values = [getattr(found, figure) for figure in figures]
                    numbers = [number for one in values for number in (one.value, one.low, one.high)]
                    writer.writerow([model.name, law, *shown, found.attack, found.release, *numbers])
        return text.getvalue()

    def save(self, folder: str | Path) -> None:
        """Write causal.csv, causal.svg, causal.json and study.json: all of them or none."""
        from leakscope.causal_study.show import draw
        from leakscope.storage import write_all
        from leakscope.study import FILE, study_to_json

        content = {
            "causal.csv": self.to_csv().encode(),
            "causal.svg": draw(self).encode(),
            FILE: study_to_json(self.study()),
            "causal.json": json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False).encode(),
        }
        write_all(Path(folder), content)


def _finite_ends(noise: Noise) -> Noise:
    """A lower bound has no upper end, which JSON can't say: it repeats the value there."""
    kept = [replace(one, high=one.value) for one in (noise.causal, noise.associational)]
    return replace(noise, causal=kept[0], associational=kept[1])
