"""Which versions are compared: what each defense makes of the target, before anything is trained."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any, Literal

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.core.failures import describe
from leakscope.core.result import NotRun
from leakscope.defenses import DEFENSES, Defended, Defense, find
from leakscope.defenses.defense import gives_labels_only, say_labels
from leakscope.models.target import Target, TrainingRecipe
from leakscope.studies.compare.result import AS_IT_IS, Described


@dataclass(frozen=True)
class Limits:
    """How much utility a recommended version may lose, and how much worse in AUC a version may be than one that it dominates."""

    utility_loss: float
    tolerance: float


@dataclass(frozen=True, eq=False)
class Planned(Described):
    """One version before it is trained."""

    made: Defended

    @property
    def changes(self) -> Literal["training", "answers", "explanations", "nothing"]:
        """What the defense changes."""
        if self.made.learner is not None:
            return "training"
        if self.made.answers is not None:
            return "answers"
        return "nothing" if self.made.explanation is None else "explanations"

    @property
    def about(self) -> dict[str, Any]:
        """Which version it is, as results state it."""
        return {field.name: getattr(self, field.name) for field in fields(Described)}

    @property
    def answers_stay(self) -> bool:
        """Whether every answer stays what it is."""
        return self.made.learner is None and self.made.answers is None

    @property
    def labels_stay(self) -> bool:
        """Whether every predicted class stays what it is, by construction."""
        return self.made.learner is None and (self.made.answers is None or self.made.keeps_labels)

    def shown(self, target: Target, answers: Floats) -> Floats:
        """The release of a model's outputs: no more than the audited model releases, as the defense changes it."""
        changed = answers if self.made.answers is None else self.made.answers(answers)
        return say_labels(changed) if gives_labels_only(target) else changed

    def show(self, target: Target) -> Callable[[Floats], Floats]:
        """The release of a model's outputs, as a function of them."""
        return partial(self.shown, target)

    def learner(self, target: Target) -> TrainingRecipe | None:
        """What trains it, and its controls and reference models: versions with the same learner share them."""
        return target.learner if self.made.learner is None else self.made.learner


def plan(target: Target, defenses: Sequence[Defense]) -> tuple[list[Planned], list[NotRun]]:
    """The target as it is, every setting of every defense, and the defenses that it can't have with the reason."""
    planned = [Planned(AS_IT_IS, "", "", "", "the model as it is, without any defense", "", Defended())]
    refused = []
    for defense in defenses:
        try:
            reason = defense.refuse(target)
            made = [] if reason else [(setting, defense.defend(target, setting)) for setting in defense.settings]
        except (InputError, ValueError, TypeError) as error:
            reason = describe(error)
        if reason:
            refused.append(NotRun("", defense.name, reason.rstrip(".")))
            continue
        about = _variant(defense) if [other.name for other in defenses].count(defense.name) > 1 else ""
        for setting, version in made:
            alone = isinstance(setting, str) and len(defense.settings) == 1
            name = f"{defense.name}{'' if alone else f' {_shown(setting)}'}{about}"
            planned.append(
                Planned(name, defense.name, defense.setting_name, setting, defense.what, defense.source, version)
            )
    names = [version.name for version in planned]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"the version “{twice[0]}” is given twice: give it once")
    if len(planned) == 1:
        raise InputError(
            f"this model can have none of these defenses: {refused[0].attack} can't be used, {refused[0].reason}"
        )
    return planned, refused


def _shown(setting: float | int | str) -> str:
    """The shortest text of a setting."""
    if isinstance(setting, str):
        return setting
    return f"{setting:g}" if float(f"{setting:g}") == setting else repr(setting)


def _variant(defense: Any) -> str:
    """Name the fields by which a defense differs from others of its name: plain ones without their default, except the settings."""
    items = fields(defense)[1:] if is_dataclass(defense) else ()
    own = [(item.name, getattr(defense, item.name), item.default) for item in items]
    changed = [(name, value) for name, value, usual in own if isinstance(value, int | float | str) and value != usual]
    return "".join(f", {name}={value}" for name, value in changed)


def read_defenses(defenses: Any) -> list[Defense]:
    """Defenses from themselves or their short names.

    Examples
    --------
    >>> read_defenses(["round"])
    [Rounding(digits=(3, 1))]
    """
    given = [defenses] if isinstance(defenses, str | Defense) or hasattr(defenses, "knob") else list(defenses)
    if not given:
        raise InputError(f"name at least one defense: {', '.join(DEFENSES)}")
    return [_read(one) for one in given]


def _read(one: Any) -> Defense:
    if isinstance(one, str):
        name = one.strip()
        if name not in DEFENSES:
            raise InputError(f"there is no defense {name[:40]!r}: choose from {', '.join(DEFENSES)}")
        one = find(name)
    if isinstance(one, type):
        try:
            one = one()
        except TypeError:
            raise InputError(f"{one.__name__} needs settings: pass {one.__name__}(…) from Python") from None
    if not hasattr(one, "setting_name") and isinstance(getattr(one, "knob", None), str):
        warnings.warn("write setting_name: the next version of defenses has no knob", FutureWarning, stacklevel=6)
        type(one).setting_name = one.knob
    if not isinstance(one, Defense):
        raise InputError(f"a {type(one).__name__} is not a defense: pass those of leakscope.defenses, or their names")
    return one
