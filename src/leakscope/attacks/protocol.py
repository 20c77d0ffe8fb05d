"""The types of membership inference attacks: evidence, scores, and the attack itself.

Evidence never contains the membership of the judged records, only that of *other* records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Labels
from leakscope.core.errors import InputError
from leakscope.core.lazy import former_names
from leakscope.core.result import NotRun
from leakscope.models.target import Model


def take_records(values: Floats, rows: NDArray[np.intp]) -> Floats:
    """Return the rows of a table at these positions, with contiguous columns if the table has them."""
    if values.ndim == 2 and values.flags.f_contiguous and not values.flags.c_contiguous:
        return values.T.take(rows, axis=1).T
    return values.take(rows, axis=0)


@dataclass(frozen=True)
class Known:
    """Records whose membership the attacker knows: released values, labels, and membership."""

    observed: Floats
    labels: Labels | None
    member: NDArray[np.bool_]
    second: Floats | None = None

    def take(self, rows: NDArray[np.bool_]) -> Known:
        at = np.flatnonzero(rows)
        labels = None if self.labels is None else self.labels[at]
        second = None if self.second is None else take_records(self.second, at)
        return Known(take_records(self.observed, at), labels, self.member[at], second)


@dataclass(frozen=True)
class Evidence:
    """The released values of the judged records, and of other records whose membership the attacker knows.

    ``observed`` has one row per record. ``labels`` holds the true labels (codes of classes, or values) if the attack
    uses them, otherwise None. ``second`` holds a second release if the attack reads one.
    """

    observed: Floats
    labels: Labels | None
    known: Known
    second: Floats | None = None

    def __len__(self) -> int:
        return len(self.observed)


@dataclass(frozen=True)
class Scores:
    """One score and one decision per record. A higher ``score`` always means more likely a member.

    ``says_member`` is the attack's own decision: 1 or 0, or the probability with which a randomised attack says "member".
    """

    score: Floats
    says_member: Floats


@dataclass(frozen=True)
class Attack:
    """A membership inference attack: it maps evidence to scores and decisions.

    Parameters
    ----------
    name, release
        Its name and the release that it reads; together they identify a row of the audit.
    source
        Where it was published, with the number of the definition.
    guess
        ``guess(evidence, rng) -> Scores``.
    uses_labels
        Whether the attacker must know the records' true labels.
    fixed_scale
        Whether a record's score does not depend on the known records. All scores can then be compared, which makes
        intervals narrower. Scores of a fitted attack can be compared within a fold only.
    second
        A second release that the attack reads, such as the prediction that is released with an explanation, or several, whose
        columns are joined in the evidence.
    guess_many
        ``guess_many(evidences, rng) -> list of Scores``, for an attack that is faster on several at once. It must draw
        from the generator as successive calls of ``guess`` do, so that the results are equal.
    """

    name: str
    release: str
    source: str
    guess: Callable[[Evidence, np.random.Generator], Scores]
    uses_labels: bool = False
    fixed_scale: bool = False
    second: str | tuple[str, ...] | None = None
    guess_many: Callable[[Sequence[Evidence], np.random.Generator], list[Scores]] | None = None

    def guess_all(self, evidences: Iterable[Evidence], rng: np.random.Generator) -> list[Scores]:
        """Run the attack on several evidences: at once if it can, otherwise one at a time with one in memory."""
        if self.guess_many is not None:
            return self.guess_many(list(evidences), rng)
        answers = []
        for evidence in evidences:
            answers.append(self.guess(evidence, rng))
            del evidence  # before the next one is made
        return answers

    @property
    def releases(self) -> tuple[str, ...]:
        """All releases that it reads."""
        return (self.release, *self._seconds)

    @property
    def uses_references(self) -> bool:
        """Whether it reads reference models."""
        from leakscope.attacks.references import from_references

        return any(from_references(name) for name in self._seconds)

    def second_in(self, shown: Mapping[str, Floats]) -> Floats | None:
        """Return the columns of its second releases, or None if it reads one release only."""
        parts = [shown[name] for name in self._seconds]
        return None if not parts else parts[0] if len(parts) == 1 else np.hstack(parts)

    @property
    def _seconds(self) -> tuple[str, ...]:
        return (self.second,) if isinstance(self.second, str) else self.second or ()

    def reads(self, *releases: str) -> Attack:
        """Return the attack if it reads one of these releases, otherwise raise an error."""
        if self.release not in releases:
            raise InputError(f"“{self.name}” reads {' or '.join(releases)}, not {self.release!r}")
        return self

    def refuse(self, model: Model) -> NotRun | None:
        """Return why this attack can't run against such a model, or None. It is called before anything is trained."""
        from leakscope.attacks.references import from_references
        from leakscope.releases.release import find_release

        read = [name for name in self.releases if not from_references(name)]
        reasons = [reason for name in read if (reason := find_release(name).refuse(model))]
        return NotRun(self.release, self.name, reasons[0]) if reasons else None


__getattr__ = former_names(__name__, {"Guesses": "Scores"})
