r"""Distillation: train the model on the predictions of teachers that were not trained on the same record.

The training set is divided into k parts. Teacher j is trained like the audited model on all parts but part j, and predicts
part j. The student is trained like the audited model, with the teachers' predictions in place of the labels: its output
for a record then depends less on that record's label. With teacher predictions :math:`q_i(c)` the student minimises

.. math:: \sum_i \sum_c q_i(c)\,\text{loss}(M(x_i; \theta), c)

if its estimator accepts weights (each record appears once per class, with weight :math:`q_i(c)`), and otherwise learns
from labels drawn from :math:`q_i`. In a regression the teachers' values are the labels.

This is knowledge cross-distillation (Chourasia et al. 2022) without the term for the true labels. SELENA (Tang et al. 2022)
is similar: it averages several teachers that exclude the record; here one teacher excludes it. An estimator that counts
records, for example in the smallest size of a leaf, counts each copy. Distillation gives no guarantee, and attacks that
know of it can still find members (Jagielski et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.data.records import take_rows
from leakscope.defenses.defense import Defended, Tunable, make_learner, whole_numbers
from leakscope.defenses.retraining import NO_LEARNER, NOTHING_PROVEN, learner_of
from leakscope.models.model import Model
from leakscope.models.target import EstimatorFit, Target, TrainingRecipe

DRAWN = "the estimator accepts no sample weights, so labels are drawn from the teachers' probabilities"


@dataclass(frozen=True)
class Distillation(Tunable):
    """Label every record by a model that was not trained on it.

    Parameters
    ----------
    parts
        One or more numbers of parts, from 2; there is one teacher per part.

    Examples
    --------
    >>> Distillation(3).settings
    (3,)
    """

    parts: Any = (2, 5)

    name: ClassVar[str] = "distillation"
    setting_name: ClassVar[str] = "parts"
    what: ClassVar[str] = "the model learns the predictions of models that were not trained on the record"
    source: ClassVar[str] = "Chourasia et al. 2022; Tang et al. 2022"
    allowed = whole_numbers("the number of parts", 2)

    def refuse(self, target: Target) -> str | None:
        """Refuse targets that cannot be retrained."""
        return NO_LEARNER if target.learner is None else None

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train teachers, then the student."""
        learner = learner_of(self, target)
        classes = 0 if target.model.classes is None else len(target.model.classes)
        weighted = classes > 0 and isinstance(learner.fit, EstimatorFit) and learner.takes_weights
        notes = (DRAWN, NOTHING_PROVEN) if classes and not weighted else (NOTHING_PROVEN,)
        fit = partial(_fit, learner, int(setting), classes, weighted)
        return Defended(make_learner(learner.name, fit), notes=notes)


def _fit(
    learner: TrainingRecipe, parts: int, classes: int, weighted: bool, X: Any, y: NDArray[Any], rng: np.random.Generator
) -> Model:
    if len(y) <= parts:
        raise InputError(f"parts is {parts}, too many for {len(y)} training records: pass fewer parts")
    taught = teach(learner, X, y, deal(y, parts, classes > 0, rng), rng)
    if not classes:
        return learner.fit(X, taught, rng)
    if not weighted:
        return learner.fit(X, draw(taught, rng), rng)
    rows = np.repeat(np.arange(len(y)), classes)
    codes = np.tile(np.arange(classes), len(y))
    return learner.fit(take_rows(X, rows), codes, rng, sample_weight=taught.ravel())


def deal(y: NDArray[Any], parts: int, classification: bool, rng: np.random.Generator) -> NDArray[np.intp]:
    """Assign each record to a part at random, stratified by class in a classification.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 0, 1, 1])
    >>> part = deal(y, 2, True, np.random.default_rng(0))
    >>> np.bincount(part[y == 0]), np.bincount(part[y == 1])
    (array([2, 2]), array([1, 1]))
    """
    order = rng.permutation(len(y))
    if classification:
        order = order[np.argsort(y[order], kind="stable")]
    part = np.empty(len(y), dtype=np.intp)
    part[order] = np.arange(len(y)) % parts
    return part


def teach(learner: TrainingRecipe, X: Any, y: NDArray[Any], part: NDArray[np.intp], rng: np.random.Generator) -> Floats:
    """For each record the answer of a model that was trained on the other parts: probabilities (n, k) or values (n,)."""
    answers = []
    for place in range(int(part.max()) + 1):
        own = part == place
        answers.append(learner.fit(take_rows(X, ~own), y[~own], rng).predict(take_rows(X, own)))
    dealt = np.concatenate(answers)
    taught = np.empty_like(dealt)
    taught[np.argsort(part, kind="stable")] = dealt
    return taught


def draw(probabilities: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one class for each row with the row's probabilities."""
    below = rng.random((len(probabilities), 1)) < np.cumsum(probabilities, axis=1)
    below[:, -1] = True  # the sum may be below 1 by rounding
    codes: NDArray[np.int64] = np.argmax(below, axis=1).astype(np.int64)
    return codes
