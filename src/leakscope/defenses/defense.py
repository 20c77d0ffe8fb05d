"""The `Defense` protocol: settings, a source, and how one setting changes training, outputs or explanations.

A defense does not train: it returns a learner (`Defended.learner`), so that `compare` trains all versions, their
controls and their reference models in one place. `apply` returns the defended target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from leakscope.bounds.guarantee import Guarantee
from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.core.lazy import former_name
from leakscope.models.model import Model
from leakscope.models.target import Target, TrainingRecipe, training_key

if TYPE_CHECKING:
    from leakscope.releases.record_explanations.release import RecordRelease

#: A change of the released outputs: (n, k) probabilities, or (n,) values, to the same shape.
Answers = Callable[[Floats], Floats]
Setting = float | int | str


@dataclass(frozen=True, eq=False)
class Defended:
    """One setting of a defense, ready for training and queries.

    Parameters
    ----------
    learner
        How the defended model is trained; None if training is unchanged.
    answers
        The change of the model's outputs; None if they are unchanged.
    keeps_labels
        Whether ``answers`` keeps the predicted class for every possible record.
    explanation
        Maps the name of an explanation to the name of the defended one; None if explanations are unchanged.
    records
        Maps a release of record explanations and a user's query budget to the defended ones; None if they are unchanged.
    guarantee
        The proven guarantee; None if there is none.
    notes
        Notes on this setting for the reader, one sentence each.
    """

    learner: TrainingRecipe | None = None
    answers: Answers | None = None
    keeps_labels: bool = False
    explanation: Callable[[str], str] | None = None
    records: Callable[[RecordRelease, int], tuple[RecordRelease, int]] | None = None
    guarantee: Guarantee | None = None
    notes: tuple[str, ...] = ()


@runtime_checkable
class Defense(Protocol):
    """The interface that `compare` uses; each defense is a frozen dataclass in its own file."""

    name: ClassVar[str]
    #: Name of the setting, with its unit.
    setting_name: ClassVar[str]
    #: What it does, in a sentence for lay readers.
    what: ClassVar[str]
    source: ClassVar[str]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings to compare."""
        ...

    def refuse(self, target: Target) -> str | None:
        """Return why the defense cannot be applied to the target, as the end of a sentence, or None if it can."""
        ...

    def defend(self, target: Target, setting: Setting) -> Defended:
        """Return how the target is trained or queried with this setting."""
        ...


def apply(defense: Defense, target: Target, setting: Setting, *, seed: int = 0) -> Target:
    """Return the defended target, retrained on the same members if the defense changes training.

    Examples
    --------
    >>> from leakscope.defenses import Rounding
    >>> from leakscope.toys import lookup
    >>> from leakscope.models.target import make_target
    >>> toy = lookup(n=100)
    >>> target = make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> apply(Rounding([1]), target, 1).model.predict(target.members.X[:1])
    array([[0., 1.]])
    """
    if reason := defense.refuse(target):
        raise InputError(f"defense {defense.name!r} cannot be applied to this model: {reason}")
    made = defense.defend(target, setting)
    model, learner = target.model, target.learner
    if made.learner is not None:
        learner = made.learner
        weights = (
            {"sample_weight": target.members.weights}
            if learner.takes_weights and target.members.weights is not None
            else {}
        )
        model = learner.fit(target.members.X, target.members.y, np.random.default_rng(seed), **weights)
    for change in (made.answers, say_labels if gives_labels_only(target) and model.gives_probabilities else None):
        if change is not None:
            model = with_answers(model, change)
            learner = learner and replace(learner, fit=partial(_fit, learner, change))
    return replace(target, model=model, learner=learner)


def gives_labels_only(target: Target) -> bool:
    """Whether the audited model outputs classes without probabilities; its defended versions then do too."""
    return target.model.task == "classification" and not target.model.gives_probabilities


def say_labels(answers: Floats) -> Floats:
    """Return 1 for the most probable class and 0 for the others."""
    return np.asarray(np.eye(answers.shape[1])[answers.argmax(axis=1)])


def with_answers(model: Model, answers: Answers) -> Model:
    """Return the model with its outputs changed before release."""
    return replace(model, predict=partial(_answer, model.predict, answers))


def _answer(predict: Callable[[Any], Floats], answers: Answers, X: Any) -> Floats:
    return answers(predict(X))


def _fit(
    learner: TrainingRecipe, answers: Answers, X: Any, y: NDArray[Any], rng: np.random.Generator, **weights: Any
) -> Model:
    return with_answers(learner.fit(X, y, rng, **weights), answers)


def make_learner(name: str, fit: Any, *, takes_weights: bool = False) -> TrainingRecipe:
    """A learner from a picklable ``fit(X, y, rng) -> Model``; equal recipes have equal keys, which a cache relies on.

    ``X`` are records as in the target, ``y`` codes of classes or values, and the model must have the target's classes.
    """
    # Fitted parts, such as an encoding, are part of the recipe.
    return TrainingRecipe(name, fit, training_key(fit, fitted=True), takes_weights)


class Allowed(NamedTuple):
    """Name of a setting in errors, the test of its values, and the end of the error message."""

    what: str
    check: Callable[[Any], bool]
    must: str


def whole_numbers(what: str, least: int = 1, most: int | None = None) -> Allowed:
    """Allow whole numbers within limits.

    Examples
    --------
    >>> whole_numbers("digits", 0, 15).must
    'a whole number from 0 to 15'
    """
    end = "on" if most is None else f"to {most}"
    within = partial(_is_whole, least, np.inf if most is None else most)
    return Allowed(what, within, f"a whole number from {least} {end}")


def _is_whole(least: int, most: float, value: Any) -> bool:
    return bool(least <= value <= most and value == int(value))


class Tunable:
    """A defense whose first field holds one or more settings, which are checked at construction."""

    allowed: ClassVar[Allowed]
    knob = former_name("knob", "setting_name")

    def __post_init__(self) -> None:
        _ = self.settings

    @property
    def settings(self) -> tuple[Any, ...]:
        """The settings to compare, each once."""
        values = next(iter(vars(self).values()))
        return read_settings(values, *self.allowed)

    def refuse(self, target: Target) -> str | None:  # noqa: ARG002
        """Accept every target."""
        return None


def read_settings(values: Any, what: str, check: Callable[[Any], bool], must: str) -> tuple[Any, ...]:
    """Return one or more settings as a tuple, checked and without duplicates; ``must`` ends the error message.

    Examples
    --------
    >>> read_settings(0.5, "λ", lambda value: value > 0, "above 0")
    (0.5,)
    >>> read_settings([0.5, -1], "λ", lambda value: value > 0, "above 0")
    Traceback (most recent call last):
    leakscope.core.errors.InputError: λ must be above 0, not -1
    """
    given = (values,) if np.ndim(values) == 0 else tuple(values)
    if not given:
        raise InputError(f"{what} is empty: pass at least one value")
    for value in given:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool) and np.isfinite(value)
        if not (number and check(value)):
            raise InputError(f"{what} must be {must}, not {value!r}")
    return tuple(dict.fromkeys(value.item() if isinstance(value, np.generic) else value for value in given))
