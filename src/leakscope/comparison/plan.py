"""Which versions are compared: what each defense makes of the target, asked before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from leakscope.comparison.result import AS_IT_IS
from leakscope.defenses import DEFENSES, Defended, Defense, find
from leakscope.errors import InputError, MissingExtraError
from leakscope.results import NotRun
from leakscope.target import Learner, Target


@dataclass(frozen=True, eq=False)
class Planned:
    """One version before it is trained."""

    name: str
    defense: str
    knob: str
    setting: float | int | str
    what: str
    source: str
    made: Defended

    @property
    def changes(self) -> Literal["training", "answers", "explanations", "nothing"]:
        """What the defense changes."""
        if self.made.learner is not None:
            return "training"
        if self.made.answers is not None:
            return "answers"
        return "nothing" if self.made.explanation is None else "explanations"

    def learner(self, target: Target) -> Learner | None:
        """What trains it, and its controls and shadow models: versions with the same learner share them."""
        return target.learner if self.made.learner is None else self.made.learner


def plan(target: Target, defenses: Sequence[Defense]) -> tuple[list[Planned], list[NotRun]]:
    """The target as it is, every setting of every defense, and the defenses that it can't have with the reason."""
    planned = [Planned(AS_IT_IS, "", "", "", "the model as it is, without any defense", "", Defended())]
    refused = []
    for defense in defenses:
        try:
            reason = defense.refuse(target) or _untrained(target, defense)
        except MissingExtraError as error:
            reason = str(error)
        if reason:
            refused.append(NotRun("", defense.name, reason.rstrip(".")))
            continue
        for setting in defense.settings:
            shown = f"{setting:g}" if isinstance(setting, int | float) else str(setting)
            alone = isinstance(setting, str) and len(defense.settings) == 1
            name = defense.name if alone else f"{defense.name} {shown}"
            made = defense.defend(target, setting)
            planned.append(Planned(name, defense.name, defense.knob, setting, defense.what, defense.source, made))
    _check_names(planned)
    if len(planned) == 1:
        raise InputError(
            f"this model can have none of these defenses: {refused[0].attack} can't be used, {refused[0].reason}"
        )
    return planned, refused


def _untrained(target: Target, defense: Defense) -> str | None:
    """Defenses that train need the training set only; those that train the model again need its learner too."""
    needs = getattr(defense, "needs_learner", False)
    return "it can't be trained again: pass fit= to make_target" if needs and target.learner is None else None


def _check_names(planned: Sequence[Planned]) -> None:
    names = [version.name for version in planned]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"the version “{twice[0]}” is asked for twice: once is enough")


def read_defenses(defenses: Any) -> list[Defense]:
    """Defenses from themselves or their short names.

    Examples
    --------
    >>> read_defenses(["round"])
    [Rounding(digits=(3, 1))]
    """
    given = [defenses] if isinstance(defenses, str | Defense) else list(defenses)
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
    if not isinstance(one, Defense):
        raise InputError(f"a {type(one).__name__} is not a defense: pass those of leakscope.defenses, or their names")
    return one
