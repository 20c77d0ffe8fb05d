r"""PATE: train a student on public records that teachers of disjoint training records label by a noisy vote.

The training records are divided at random among M teachers, each trained by the model's own learner. T public records get the
label :math:`\arg\max_k\{n_k + \mathrm{Lap}(2/\gamma)\}` of the votes :math:`n_k`, and the student is trained by the same learner on
these records and labels only (Papernot et al. 2017; [tople2020, Thm 4] for the noise). `leakscope.bounds.pate` has the proof: a
swapped record changes one teacher, so an answer is (γ, 0)-private. All T answers are (ε, δ)-private for any votes, and γ is the
largest that keeps the requested ε (`leakscope.bounds.pate.gamma_for`). The student is a function of the answers and as private as
they are. The smaller, data-dependent ε is private itself and not used here.

Records are assigned to teachers by position and at random, never by label: with a stratified division, a swap could move many
records to other teachers, and the proof would not hold. A teacher whose records have one class votes for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.bounds.guarantee import Guarantee
from leakscope.bounds.pate import count_votes, gamma_for, noisy_winners
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count, check_share
from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import read_features, take_rows
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.defenses.retraining import NO_LEARNER, same_form
from leakscope.models.model import Model
from leakscope.models.target import Target, TrainingRecipe

WHERE = "the public records"
RESTS_ON = (
    "the public records are public and were not chosen by means of the training records, the classes are public, each "
    "teacher is trained on its own records only, and the seed is secret"
)


@dataclass(frozen=True, eq=False)
class PATE(Tunable):
    """Train a student on the noisy votes of teachers.

    Parameters
    ----------
    epsilon
        One or more ε of all the teachers' answers together.
    teachers
        Number of teachers: with more of them, noise matters less, but each learns from fewer records.
    queries
        Largest number of public records to label: with more, the student learns more, but each label gets more noise.
    delta
        Failure probability of the guarantee.
    public
        Records with public features that are not in the training set: a table or array like the training records, or a pair
        (X, y) whose labels are not used.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.defenses import apply
    >>> from leakscope.models.target import make_target
    >>> rng = np.random.default_rng(0)
    >>> X, public = rng.normal(size=(1000, 2)), rng.normal(size=(300, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> target = make_target(LogisticRegression().fit(X, y), (X, y), (X + 1, y))
    >>> student = apply(PATE(8.0, public=public), target, 8.0).model
    >>> bool((student.predict(X).argmax(axis=1) == y).mean() > 0.9)
    True
    """

    epsilon: Any = (1.0, 4.0, 8.0)
    teachers: int = 50
    queries: int = 100
    delta: float = 1e-5
    public: Any = field(default=None, repr=False)

    name: ClassVar[str] = "pate"
    setting_name: ClassVar[str] = "ε"
    what: ClassVar[str] = (
        "a student model is trained on public records, labelled by a noisy vote of models trained on disjoint records"
    )
    source: ClassVar[str] = "Papernot et al. 2017"
    allowed = Allowed("epsilon", lambda value: value > 0, "above 0")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("teachers", self.teachers, least=2)
        check_count("queries", self.queries)
        check_share("delta", self.delta)

    def refuse(self, target: Target) -> str | None:
        """Refuse targets without classes, a learner, enough records per teacher, or public records."""
        if target.model.task != "classification":
            return "it is a regression model, and teachers vote for classes"
        if target.learner is None:
            return NO_LEARNER
        if len(target.members) < 2 * self.teachers:
            most = len(target.members) // 2
            return f"{self.teachers} teachers are too many for {len(target.members)} records: pass at most {most}"
        if self.public is None:
            return "it needs public records for the teachers to label: pass public= (--public public.csv)"
        try:
            _read_public(self.public, target.members.X)
        except InputError as error:
            return str(error)
        return None

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train the student, with a guarantee for the swap of one training record."""
        if target.learner is None or target.model.classes is None:
            raise InputError(f"{self.name}: {NO_LEARNER}")
        public = _read_public(self.public, target.members.X)
        asked = min(int(self.queries), len(public))
        gamma = gamma_for(float(setting), asked, self.delta)
        classes, gives_probabilities = target.model.classes, target.model.gives_probabilities
        fit = PateFit(target.learner, public, classes, gives_probabilities, int(self.teachers), asked, gamma)
        guarantee = Guarantee(
            float(setting),
            float(self.delta),
            neighbours="swap",
            covers="parameters",
            rests_on=RESTS_ON,
            source="Papernot et al. 2017, Theorem 2",
        )
        private, said = _overlap(target, public)
        notes = (f"{self.teachers} teachers labelled {asked} public records, each with noise Lap({2 / gamma:.3g})",)
        return Defended(
            make_learner(f"{target.learner.name}, PATE", fit),
            guarantee=None if private else guarantee,
            notes=(*notes, *said),
        )


@dataclass(frozen=True, eq=False)
class PateFit:
    """Train teachers, let them vote on some of the public records, and train the student."""

    learner: TrainingRecipe
    public: Any
    classes: NDArray[Any]
    gives_probabilities: bool
    teachers: int
    queries: int
    gamma: float

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        choice, noise, study, rest = rng.spawn(4)
        chosen = np.sort(choice.choice(len(self.public), self.queries, replace=False))
        queries = take_rows(self.public, chosen)
        labels = noisy_winners(self.votes(X, y, queries, rest), self.gamma, noise)
        if (labels == labels[0]).all():
            predict = partial(_certain, int(labels[0]), len(self.classes))
            return Model("student of one label", "classification", self.classes, self.gives_probabilities, predict)
        return self.learner.fit(queries, labels.astype(np.int64), study)

    def votes(self, X: Any, y: NDArray[Any], queries: Any, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the private votes for each class, (queries, classes)."""
        deal, *own = rng.spawn(1 + self.teachers)
        order = deal.permutation(len(y))
        said = [self._vote(X, y, np.sort(order[k :: self.teachers]), queries, own[k]) for k in range(self.teachers)]
        return count_votes(np.stack(said), len(self.classes))

    def _vote(
        self, X: Any, y: NDArray[Any], rows: NDArray[np.intp], queries: Any, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the votes of a teacher that is trained on these records."""
        labels = y[rows]
        if not len(labels) or (labels == labels[0]).all():
            # A teacher without records votes for the first class, which reveals nothing.
            return np.full(len(queries), labels[0] if len(labels) else 0, dtype=np.int64)
        teacher = self.learner.fit(take_rows(X, rows), labels, rng)
        try:
            said: NDArray[np.int64] = teacher.predict(queries).argmax(axis=1)
        except Exception as error:
            raise InputError(
                f"a teacher trained on {len(rows)} records cannot predict the public records: {describe(error)} (pass fewer "
                "teachers, or let the encoders of the pipeline ignore unknown categories)"
            ) from cause(error)
        return said


def _certain(label: int, classes: int, X: Any) -> Floats:
    """Return the outputs of a student that learned one label."""
    return np.tile(np.eye(classes)[label], (len(X), 1))


def _read_public(public: Any, X: Any) -> Any:
    """Return the public records with the columns of the training records."""
    table = read_features(public[0] if isinstance(public, tuple) else public, WHERE)
    table = same_form(X, table, f"{WHERE} (public=)")
    if not len(table):
        raise InputError("public= is empty: pass records without labels (--public public.csv)")
    return table


def _overlap(target: Target, public: Any) -> tuple[bool, tuple[str, ...]]:
    """Return whether public records are training records, which voids the guarantee, and notes on audited records."""
    hashes = row_hashes(public)
    trained, held = (int(np.isin(hashes, row_hashes(side.X)).sum()) for side in (target.members, target.nonmembers))
    notes = []
    if trained:
        notes.append(
            f"{trained:,} of {len(public):,} public records equal a training record, so that there is no guarantee: pass public "
            "records that are not in the training set"
        )
    if held:
        notes.append(
            f"{held:,} of {len(public):,} public records equal a held-out record, so that the figures of this defense are biased"
        )
    return trained > 0, tuple(notes)
