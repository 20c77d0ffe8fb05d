"""What an attacker holds, and what an attacker answers.

Evidence never holds the truth that the attack is to guess: membership is known for *other* records only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Labels
from leakscope.core.errors import InputError
from leakscope.core.result import NotRun
from leakscope.models.target import Model


def take_records(values: Floats, rows: NDArray[np.intp]) -> Floats:
    """Rows of a table at these positions, with the columns in one piece where they are so in the table."""
    if values.ndim == 2 and values.flags.f_contiguous and not values.flags.c_contiguous:
        return values.T.take(rows, axis=1).T
    return values.take(rows, axis=0)


@dataclass(frozen=True)
class Known:
    """Records whose membership the attacker knows: what the release shows of them, their labels, and who is a member."""

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
    """The release at the records in question, and at other records whose membership the attacker knows.

    ``observed`` has one row per record. ``labels`` holds the true labels (codes of classes, or values) for attacks that
    say they use them, otherwise None. ``second`` is a second release, for attacks that say they read one.
    """

    observed: Floats
    labels: Labels | None
    known: Known
    second: Floats | None = None

    def __len__(self) -> int:
        return len(self.observed)


@dataclass(frozen=True)
class Guesses:
    """One answer per record. A higher ``score`` means more surely a member, everywhere.

    ``says_member`` is the attack's own decision: 1 or 0, or the probability with which a randomised attack says "member".
    """

    score: Floats
    says_member: Floats


@dataclass(frozen=True)
class Attack:
    """An attack on membership: evidence in, guesses out.

    Parameters
    ----------
    name, release
        What it is called and which release it reads; together they name a row of the audit.
    source
        Where it was published, with the number of the definition.
    guess
        ``guess(evidence, rng) -> Guesses``.
    uses_labels
        Whether the attacker must know the records' true labels.
    fixed_scale
        Whether a record's score does not depend on the records that the attacker knows. All scores can then be compared,
        which makes intervals narrower; the scores of a fitted attack only within a fold.
    second
        A second release that the attack reads, such as the prediction that an explanation comes with; or several, whose columns
        stand side by side in the evidence.
    guess_many
        ``guess_many(evidences, rng) -> list of Guesses``, for an attack that is quicker on several at once. It draws from
        the generator as ``guess`` on one after the other does, so that the answers are the same.
    """

    name: str
    release: str
    source: str
    guess: Callable[[Evidence, np.random.Generator], Guesses]
    uses_labels: bool = False
    fixed_scale: bool = False
    second: str | tuple[str, ...] | None = None
    guess_many: Callable[[Sequence[Evidence], np.random.Generator], list[Guesses]] | None = None

    def guess_all(self, evidences: Iterable[Evidence], rng: np.random.Generator) -> list[Guesses]:
        """Guess about several evidences: at once where the attack can, else one at a time, so that only one is in memory."""
        if self.guess_many is not None:
            return self.guess_many(list(evidences), rng)
        answers = []
        for evidence in evidences:
            answers.append(self.guess(evidence, rng))
            del evidence  # before the next one is made
        return answers

    @property
    def releases(self) -> tuple[str, ...]:
        """All that it reads."""
        return (self.release, *self._seconds)

    @property
    def uses_references(self) -> bool:
        """Whether it reads reference models."""
        from leakscope.attacks.references import from_references

        return any(from_references(name) for name in self._seconds)

    def second_in(self, shown: Mapping[str, Floats]) -> Floats | None:
        """The columns of all that it reads in addition to its release; None where it reads nothing else."""
        parts = [shown[name] for name in self._seconds]
        return None if not parts else parts[0] if len(parts) == 1 else np.hstack(parts)

    @property
    def _seconds(self) -> tuple[str, ...]:
        return (self.second,) if isinstance(self.second, str) else self.second or ()

    def reads(self, *releases: str) -> Attack:
        """The attack itself, if what it reads is one of these releases; otherwise an error."""
        if self.release not in releases:
            raise InputError(f"“{self.name}” reads {' or '.join(releases)}, not {self.release!r}")
        return self

    def refuse(self, model: Model) -> NotRun | None:
        """Why this attack can't run against such a model, or None if it can; asked before anything is trained."""
        from leakscope.attacks.references import from_references
        from leakscope.releases.release import find_release

        read = [name for name in self.releases if not from_references(name)]
        reasons = [reason for name in read if (reason := find_release(name).refuse(model))]
        return NotRun(self.release, self.name, reasons[0]) if reasons else None
