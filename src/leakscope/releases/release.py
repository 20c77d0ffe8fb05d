r"""Releases: outputs of a model that are made available, as arrays with one row per record.

With :math:`p_c(x)` the model's probability of class :math:`c` and :math:`f(x)` its predicted value:

===================== =======================================================================
``labels``            the predicted class :math:`\arg\max_c p_c(x)`, as its code
``probabilities``     :math:`p_1(x), …, p_k(x)`
``predictions``       :math:`f(x)` (regression)
``log_loss``          :math:`-\ln p_y(x)`, probabilities held above 2.2e-16
``likelihood_loss``   :math:`1 - p_y(x)`, the loss of shokri2019, section 5.2
``squared_error``     :math:`(y - f(x))^2`; for classes :math:`\sum_c (p_c(x) - 1[y=c])^2`
``label_stability``   share of the record and eight slightly changed copies of it for which the predicted class is y
``boundary_distance`` distance to the nearest point found with another predicted class; 0 if the class is not y
===================== =======================================================================

The losses follow from released probabilities or values and a record's label. The stability (`leakscope.releases.label_stability`) follows
from predicted labels, the true label and queries of changed copies. So does the distance (`leakscope.releases.boundary_distance`), with 200
queries per record.

A feature explanation is a release too, named by its method and settings (`feature_explanations.settings`):
``gradient``, ``smoothgrad:sigma=0.1:samples=20``. It has one column per feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Floats, Labels
from leakscope.core.errors import InputError
from leakscope.data.records import take_rows
from leakscope.models.predicting import BLOCK, predict_in_blocks
from leakscope.models.target import Model, Records

Progress = Callable[[str, int, int], None]
#: Records at a time if explanations are computed, which may take seconds per thousand.
EXPLAINED = 2048
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Block:
    """Some records, and the model's answers to them: queried once for all releases."""

    model: Model
    X: Any
    y: Labels
    answers: Floats | None = field(default=None)

    @cached_property
    def outputs(self) -> Floats:
        return self.model.predict(self.X) if self.answers is None else self.answers

    @property
    def likelihood(self) -> Floats:
        return np.take_along_axis(self.outputs, np.asarray(self.y, dtype=np.intp)[:, None], axis=1)


@dataclass(frozen=True)
class Release:
    """A named view of a model's answers, ``release(model, X, y) -> array (n, d)``.

    Examples
    --------
    >>> from leakscope.toys import constant_model
    >>> RELEASES["likelihood_loss"](constant_model(classes=4), np.zeros((2, 1)), np.array([0, 3]))
    array([[0.75],
           [0.75]])
    """

    name: str
    observe: Callable[[Block], Floats]
    tasks: tuple[str, ...] = ("classification",)
    needs_probabilities: bool = True
    why_not: Callable[[Model], str | None] | None = None

    def __call__(self, model: Model, X: Any, y: NDArray[Any]) -> Floats:
        return self.observe(Block(model, X, y))

    def refuse(self, model: Model) -> str | None:
        """Return why such a model can't give this release, or None if it can."""
        if model.task not in self.tasks:
            return f"{self.name} is a release of {' and '.join(self.tasks)} models, not of {model.task}"
        if self.needs_probabilities and model.task == "classification" and not model.gives_probabilities:
            needs = "" if self.name == "probabilities" else f"{self.name} needs probabilities, and "
            return f"{needs}this model gives labels only"
        return self.why_not(model) if self.why_not is not None else None


def _labels(block: Block) -> Floats:
    return np.asarray(block.outputs.argmax(axis=1)[:, None], dtype=np.float64)


def _squared_error(block: Block) -> Floats:
    if block.model.task == "regression":
        return np.asarray((block.outputs - block.y)[:, None] ** 2, dtype=np.float64)
    likelihood = block.likelihood
    return np.asarray((block.outputs**2).sum(axis=1, keepdims=True) - likelihood**2 + (1 - likelihood) ** 2)


def _label_stability(block: Block) -> Floats:
    from leakscope.releases.label_stability import label_stability

    return label_stability(block.model, block.X, block.y, block.outputs.argmax(axis=1))[:, None]


def _boundary_distance(block: Block) -> Floats:
    from leakscope.releases.boundary_distance import boundary_distance

    return boundary_distance(block.model, block.X, block.y, block.outputs.argmax(axis=1))[:, None]


RELEASES: dict[str, Release] = {
    release.name: release
    for release in (
        Release("labels", _labels, needs_probabilities=False),
        Release("probabilities", lambda block: block.outputs),
        Release("predictions", lambda block: block.outputs[:, None], tasks=("regression",)),
        Release("log_loss", lambda block: -np.log(np.maximum(block.likelihood, SMALLEST_PROBABILITY))),
        Release("likelihood_loss", lambda block: 1 - block.likelihood),
        Release("squared_error", _squared_error, tasks=("classification", "regression")),
        Release("label_stability", _label_stability, needs_probabilities=False),
        Release("boundary_distance", _boundary_distance, needs_probabilities=False),
    )
}


def needs_model(name: str) -> bool:
    """Return whether a release needs more than the model's answers to the records themselves."""
    return name not in RELEASES or name in ("label_stability", "boundary_distance")


#: Releases with one column that is smaller, the better the model fits the record.
LOSSES = ("log_loss", "likelihood_loss", "squared_error")


def find_release(name: str) -> Release:
    """Find a release by name: one of `RELEASES`, or a feature explanation.

    Examples
    --------
    >>> find_release("gradient:top=5").name
    'gradient:top=5'
    """
    if name in RELEASES:
        return RELEASES[name]
    from leakscope.releases.feature_explanations import METHODS, explain_model, parse, refusal

    if name.split(":")[0] not in METHODS:
        raise InputError(f"there is no release {name[:40]!r}: choose from {', '.join([*RELEASES, *METHODS])}")
    how = parse(name)

    def explained(block: Block) -> Floats:
        values = explain_model(block.model, block.X, how)
        return values.reshape(len(values), -1)  # type: ignore[return-value]  # float32, as networks compute

    def why_not(model: Model) -> str | None:
        return refusal(model, how)

    return Release(how.name, explained, ("classification", "regression"), needs_probabilities=False, why_not=why_not)


def stack(parts: Sequence[Floats]) -> Floats:
    """Stack the released values of several models; missing columns are filled with zeros.

    Pipelines that are trained on other records can encode them in other columns.

    Examples
    --------
    >>> stack([np.ones((1, 3)), np.ones((1, 2))])
    array([[1., 1., 1.],
           [1., 1., 0.]])
    """
    widest = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, widest - part.shape[1]))) for part in parts])


def from_answers(model: Model, y: Labels, answers: Floats, releases: Iterable[str]) -> dict[str, Floats]:
    """Return the releases that follow from a model's answers: (n, classes), or (n,) for a regression.

    Examples
    --------
    >>> from leakscope.toys import constant_model
    >>> answers = np.array([[0.25, 0.75]])
    >>> from_answers(constant_model(classes=2), np.array([1]), answers, ["labels", "likelihood_loss"])
    {'labels': array([[1.]]), 'likelihood_loss': array([[0.25]])}
    """
    block = Block(model, None, y, answers)
    return {name: _finite(name, RELEASES[name], block) for name in releases}


def _finite(name: str, release: Release, block: Block) -> Floats:
    with np.errstate(over="ignore"):
        shown = release.observe(block)
    if not np.isfinite(shown).all():
        raise InputError(f"{name} overflows on these records: rescale the labels or check the model")
    return shown


def observe(
    model: Model,
    records: Records,
    releases: Iterable[str],
    progress: Progress | None = None,
    kept: Mapping[str, Callable[[Floats], Floats]] | None = None,
) -> dict[str, Floats]:
    """Compute every named release for every record. The model is queried once per block of records.

    ``kept`` maps some releases to the function of their values that is kept, one row per record.

    Examples
    --------
    >>> from leakscope.toys import constant_model
    >>> from leakscope.models.target import Records
    >>> records = Records(np.zeros((3, 1)), np.array([0, 1, 1]), np.arange(3), {})
    >>> observe(constant_model(classes=2), records, ["labels", "likelihood_loss"])["likelihood_loss"].ravel()
    array([0.5, 0.5, 0.5])
    """
    chosen = {name: find_release(name) for name in releases}
    observed: dict[str, Floats] = {}
    explains = any(name not in RELEASES for name in chosen)
    reads_records = any(needs_model(name) for name in chosen)
    size = EXPLAINED if explains else BLOCK
    for rows, answers in predict_in_blocks(model, records.X, size, progress, places=records.places):
        block = Block(model, take_rows(records.X, rows) if reads_records else None, records.y[rows], answers)
        for name, release in chosen.items():
            part = _finite(name, release, block)
            if kept is not None and name in kept:
                part = kept[name](part)
            if name not in observed:
                observed[name] = np.empty((len(records), part.shape[1]), part.dtype)
            observed[name][rows] = part
    return observed
