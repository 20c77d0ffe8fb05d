"""What every defense is: a knob, a source, and how one setting of it changes training, answers or explanations.

A defense never trains by itself: it says how to train (`Defended.learner`), so that `compare` trains all versions, their
controls and their shadow models in one place. `apply` is the short way from a target to the defended target.
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
from leakscope.models.model import Model
from leakscope.models.target import Target, TrainingRecipe

if TYPE_CHECKING:
    from leakscope.releases.record_explanations.release import RecordRelease

#: What is done to the model's answers before they leave: (n, k) probabilities, or (n,) values, to the same shape.
Answers = Callable[[Floats], Floats]
Setting = float | int | str


@dataclass(frozen=True, eq=False)
class Defended:
    """One setting of a defense, ready to be trained and asked.

    Parameters
    ----------
    learner
        How the defended model is trained; None where training stays as it is.
    answers
        What is done to the model's answers; None where they leave as they are.
    keeps_labels
        Whether ``answers`` keeps the class that a classifier names, for every record that may come.
    explanation
        From the name of an explanation to the name of the defended one; None where explanations stay as they are.
    records
        From explanations by records, and how many of them one asker gets, to the defended ones; None where they stay.
    guarantee
        What is proven; None where nothing is.
    notes
        What a reader has to know of this setting, one sentence each.
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
    """What `compare` asks of a defense; each is a frozen dataclass in a file of its own."""

    name: ClassVar[str]
    #: What the setting is called, with its unit.
    knob: ClassVar[str]
    #: What it does, in a sentence that a lay reader understands.
    what: ClassVar[str]
    source: ClassVar[str]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings to compare."""
        ...

    def refuse(self, target: Target) -> str | None:
        """Why such a target can't be defended so, as the end of a sentence, or None if it can."""
        ...

    def defend(self, target: Target, setting: Setting) -> Defended:
        """How the target is trained or asked with this setting."""
        ...


def apply(defense: Defense, target: Target, setting: Setting, *, seed: int = 0) -> Target:
    """The defended target: trained anew on the same members where the defense changes training, its answers changed.

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
        raise InputError(f"{defense.name} can't defend this model: {reason}")
    made = defense.defend(target, setting)
    model, learner = target.model, target.learner
    if made.learner is not None:
        learner = made.learner
        model = learner.fit(target.members.X, target.members.y, np.random.default_rng(seed))
    answers = [made.answers] if made.answers is not None else []
    if gives_labels_only(target) and model.gives_probabilities:
        answers.append(say_labels)
    for change in answers:
        model = with_answers(model, change)
        learner = None if learner is None else TrainingRecipe(learner.name, partial(_fit, learner, change), learner.key)
    return replace(target, model=model, learner=learner)


def gives_labels_only(target: Target) -> bool:
    """Whether the audited model says classes and no probabilities: its defended versions then say no more."""
    return target.model.task == "classification" and not target.model.gives_probabilities


def say_labels(answers: Floats) -> Floats:
    """1 for the most probable class, 0 for the others."""
    return np.asarray(np.eye(answers.shape[1])[answers.argmax(axis=1)])


def with_answers(model: Model, answers: Answers) -> Model:
    """The model with its answers changed before they are released."""
    return replace(model, predict=partial(_answer, model.predict, answers))


def _answer(predict: Callable[[Any], Floats], answers: Answers, X: Any) -> Floats:
    return answers(predict(X))


def _fit(learner: TrainingRecipe, answers: Answers, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
    return with_answers(learner.fit(X, y, rng), answers)


def make_learner(name: str, fit: Any) -> TrainingRecipe:
    """A learner from a picklable ``fit(X, y, rng) -> Model``; equal recipes have equal keys, which a cache relies on.

    ``X`` are records as the target holds them, ``y`` codes of classes or values, and the model must have the target's classes.
    """
    from uuid import uuid4

    from leakscope.data.fingerprints import fingerprint

    try:
        key = fingerprint(fit, fitted=True)  # what was fitted before, such as an encoding, is part of the recipe
    except InputError:
        key = uuid4().hex  # never the same twice, so that a cache never answers for another learner
    return TrainingRecipe(name, fit, key)


class Allowed(NamedTuple):
    """What a setting is called in an error, which values it may have, and the end of the sentence about others."""

    what: str
    check: Callable[[Any], bool]
    must: str


def whole_numbers(what: str, least: int = 1, most: int | None = None) -> Allowed:
    """Whole numbers within limits as the allowed values.

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
    """A defense whose first field holds its settings, one or several; they are checked when it is made."""

    allowed: ClassVar[Allowed]

    def __post_init__(self) -> None:
        _ = self.settings

    @property
    def settings(self) -> tuple[Any, ...]:
        """The settings to compare, each once."""
        values = next(iter(vars(self).values()))
        return read_settings(values, *self.allowed)

    def refuse(self, target: Target) -> str | None:  # noqa: ARG002
        """None: any target can be defended so."""
        return None


def read_settings(values: Any, what: str, check: Callable[[Any], bool], must: str) -> tuple[Any, ...]:
    """One setting or several as a tuple, each checked and each once; ``must`` ends the sentence of an error.

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
        raise InputError(f"name at least one {what}")
    for value in given:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool) and np.isfinite(value)
        if not (number and check(value)):
            raise InputError(f"{what} must be {must}, not {value!r}")
    return tuple(dict.fromkeys(value.item() if isinstance(value, np.generic) else value for value in given))
