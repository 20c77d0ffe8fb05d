"""Leave-one-out models by retraining, for any learner.

All models use the same random numbers, so that they differ only by the record: a network starts from the same weights
each time. The order of mini-batches is random too, and the same random numbers order a set without one record
differently. A network should therefore train on all records in every step, with ``batch`` at least the number of
records. Otherwise the order changes its predictions too: in an experiment with batches of 32 out of 150 records by a
third of the effect of a record, and with batches of 150 by 10⁻⁵ of it, which is rounding.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from leakscope.core.arrays import Floats, Indices
from leakscope.core.errors import InputError
from leakscope.learners import Learner, as_learner
from leakscope.learners.linear import read_records
from leakscope.releases.record_explanations.linear_models import read_columns
from leakscope.releases.record_explanations.logistic import first_of_equals, two_classes
from leakscope.worlds.training import TrainingSets, retrain


@dataclass(frozen=True, eq=False)
class Retrained:
    """The model of all records, and for each record the model trained without it; a `LeftOut`.

    Parameters
    ----------
    learner
        The learner that trained the models, prepared for the data.
    models
        The models, one for each set of equal records; ``models[place[i]]`` was trained without record i.
    full
        The model of all records.
    classes
        The two labels, in sorted order; probabilities are those of the second.
    """

    learner: Learner
    models: tuple[Any, ...]
    full: Any
    place: Indices
    classes: tuple[Any, Any]
    _anchors: Floats = field(repr=False)  # a record of each class

    def __len__(self) -> int:
        return len(self.place)

    def probabilities(self, points: Any) -> Floats:
        """Return the probability of the second class (points,), by the model of all records."""
        return self._probabilities(self.full, self._prepared(points))

    def probabilities_without(self, points: Any) -> Floats:
        """Return the probability of the second class (points, n): column i by the model trained without record i."""
        prepared = self._prepared(points)
        found = np.empty((len(prepared), len(self.models)))
        for column, model in enumerate(self.models):
            found[:, column] = self._probabilities(model, prepared)
        return found[:, self.place]

    def _probabilities(self, model: Any, prepared: Any) -> Floats:
        return np.asarray(expit(self.learner.outputs(model, prepared)[:, 0]))

    def _prepared(self, points: Any) -> Any:
        """Points in the form of the models: learners read records with labels of both classes."""
        table = read_columns(points, self._anchors.shape[1])
        labels = np.zeros(len(table) + 2, np.intp)
        labels[1] = 1
        return self.learner.prepare(np.concatenate([self._anchors, table]), labels)[1][2:]


def retrain_without_each(learner: Any, X: Any, y: Any, *, seed: int = 0, **how: Any) -> Retrained:
    """Train a classifier on all records, and again without each.

    Parameters
    ----------
    learner
        A learner of `leakscope.learners`, its name, or a scikit-learn classifier. For an ``MLP``, set ``batch`` to at
        least the number of records: see the module.
    X, y
        The training records and their labels, of two classes.
    seed
        Seed of the training; the same for all models.
    how
        ``workers``, ``cluster``, ``cache`` and ``progress`` of `leakscope.worlds.training.retrain`. A cache is for learners
        whose models are arrays of parameters.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import RecordExplanation
    >>> from leakscope.learners import Logistic
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), ["no", "yes", "no", "yes"]
    >>> models = retrain_without_each(Logistic(l2=0.1), X, y)
    >>> RecordExplanation(k=1).explain(models, [[3.0]]).records
    array([[3]])
    """
    trainer = as_learner(learner)
    if trainer.task != "classification":
        raise InputError(f"{trainer.name} is trained for regression: record explanations need a classifier")
    features, labels, _ = read_records(X, y, trainer.name)
    classes, codes = two_classes(labels)
    ready, table, targets = trainer.prepare(features, codes)
    first = first_of_equals(features, codes)
    distinct, place = np.unique(first, return_inverse=True)
    ready.check(table, targets, len(codes) - 1)
    sets = TrainingSets(len(codes), len(distinct) + 1, partial(_all_but, len(codes), distinct), _one_stream)
    from_parameters = getattr(ready, "from_parameters", None)
    if from_parameters is None and how.get("cache") is not None:
        raise InputError(
            f"models of {ready.name} are no arrays of parameters, so that they can't be kept: leave cache out"
        )
    observe = _packed if from_parameters is None else partial(_parameters, ready)
    seen = retrain(ready, table, targets, sets, observe, seed=seed, **how)
    # Pickles are written by this call and stored nowhere, so that unpickling is safe.
    read = from_parameters or (lambda packed: pickle.loads(packed.tobytes()))
    models = [read(observed["model"]) for observed in seen]
    return Retrained(
        learner=ready,
        models=tuple(models[:-1]),
        full=models[-1],
        place=place.astype(np.intp),
        classes=classes,
        _anchors=features[[int(np.argmax(codes == 0)), int(np.argmax(codes == 1))]],
    )


def _all_but(records: int, left_out: Indices, number: int) -> Indices:
    """All records but one; in the last world all."""
    everyone = np.arange(records, dtype=np.intp)
    return everyone if number == len(left_out) else np.delete(everyone, left_out[number])


def _one_stream(number: int) -> int:  # noqa: ARG001
    return 0


def _parameters(learner: Any, model: Any, number: int, indices: Indices) -> dict[str, Floats]:  # noqa: ARG001
    return {"model": learner.parameters(model)}


def _packed(model: Any, number: int, indices: Indices) -> dict[str, NDArray[np.uint8]]:  # noqa: ARG001
    """The whole model as numbers, which is what is kept of a world."""
    import cloudpickle  # type: ignore[import-untyped]

    return {"model": np.frombuffer(cloudpickle.dumps(model), np.uint8)}
