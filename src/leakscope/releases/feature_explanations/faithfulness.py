r"""Faithfulness of released feature explanations to the model: deletion, insertion and infidelity.

An explanation is read as one contribution :math:`a_i` of each feature to the output F of the predicted class. Methods that
give contributions are used unchanged. Derivatives (``gradient``, ``smoothgrad``) are multiplied by :math:`x_i - b_i`, b
the baseline: anyone with an explanation of their own record can do the same. Faithfulness is measured after rounding,
noise and all other post-processing.

With :math:`x_S` the record whose features outside of S are set to the baseline, and features in the order of falling
:math:`a_i`, equal ones at random:

=============== ======================================================================================================
``insertion``   area under :math:`k/d \mapsto F(x_S)`, S the first k features: high for a faithful explanation
``deletion``    area under :math:`k/d \mapsto F(x_S)`, S all but the first k features: low for a faithful one
``order``       (insertion − deletion) / scale
``infidelity``  :math:`E_I (\sum_{i\in I} a_i - F(x) + F(x_{\bar I}))^2` over random sets I of features
``unexplained`` the same for :math:`\beta a`, each record with its best :math:`\beta`, as a share of :math:`E_I (F(x) - F(x_{\bar I}))^2`
=============== ======================================================================================================

[Petsiuk et al. 2018 for deletion and insertion; Yeh et al. 2019, Definition 2.1 for infidelity and β]. The order is by
signed values: a feature with evidence against the class comes last, which for an additive F gives the largest area.

In a random order, the sets that deletion and insertion keep have the same distribution, so that ``order`` is 0 on average:
it measures how much better than a random order an explanation is. The scale is 1 for probabilities, so that 1 is the
maximum, and otherwise the standard deviation of F over the records. Deletion, insertion and order use the model's
probability for every method and are therefore comparable. Infidelity uses the output that the method explains, in its units
squared. It depends on the size of the values, so that normalised or rounded explanations score badly. ``unexplained`` does
not, and has no unit: 0 is best, 1 is no better than no explanation.

I contains each feature with a probability that is drawn from [0, 1] for each set, so that all numbers of features are
equally likely. Sets and records are the same for all explanations, so that comparisons are paired. Values equal those of
``captum.metrics.infidelity``, which would run the network again for each explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_confidence, check_count, check_number, check_seed
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.data.records import take_rows
from leakscope.models.model import Model, Outputs, Task
from leakscope.releases.feature_explanations.compute import (
    as_model,
    explain_model,
    explained_records,
    find_view,
    refusal,
)
from leakscope.releases.feature_explanations.linear import LinearView
from leakscope.releases.feature_explanations.settings import LARGEST, FeatureExplanation, Output, parse

Function = Callable[[NDArray[Any]], Floats]
DERIVATIVES = ("gradient", "smoothgrad")
#: Numbers that the model gets at a time.
NUMBERS = 1 << 22


@dataclass(frozen=True)
class Faithfulness:
    """Faithfulness of an explanation; the module has the definitions."""

    order: Estimate
    deletion: Estimate
    insertion: Estimate
    infidelity: Estimate
    unexplained: Estimate


@dataclass(frozen=True, eq=False)
class RecordScores:
    """The figures of each record: ``left`` is the infidelity at the record's best β, ``change`` that of no explanation."""

    deletion: Floats
    insertion: Floats
    infidelity: Floats
    left: Floats
    change: Floats
    scale: float

    @property
    def order(self) -> Floats:
        """How much better than a random order."""
        return (self.insertion - self.deletion) / self.scale

    def summary(self, confidence: float = 0.95) -> Faithfulness:
        """Return the means over the records."""
        order, deletion, insertion, infidelity = (
            intervals.mean(values, confidence)
            for values in (self.order, self.deletion, self.insertion, self.infidelity)
        )
        return Faithfulness(order, deletion, insertion, infidelity, ratio(self.left, self.change, confidence))


def measure_faithfulness(
    model: Any,
    X: Any,
    explanations: Sequence[FeatureExplanation | str],
    *,
    baseline: float = 0.0,
    records: int = 300,
    steps: int = 20,
    samples: int = 50,
    outputs: Outputs | None = None,
    task: Task | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Faithfulness]:
    """Measure the faithfulness of explanations to the model [Petsiuk et al. 2018; Yeh et al. 2019, Definition 2.1].

    Parameters
    ----------
    model, outputs, task
        See `explain`.
    X
        Held-out records; ``records`` of them are drawn.
    explanations
        Explanations or their names; they are measured as released, after rounding and other post-processing.
    baseline
        Value of a removed feature.
    steps, samples
        Points of the curves, and sets of features of the infidelity.

    Returns
    -------
    dict
        Name of each explanation to its :class:`Faithfulness`; intervals are over the records.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = LinearRegression().fit(X, X @ [3.0, 2.0, 1.0])
    >>> found = measure_faithfulness(model, X, ["gradient_x_input", "gradient_x_input:normalised"])
    >>> found["gradient_x_input"].infidelity.value < 1e-12, found["gradient_x_input:normalised"].unexplained.value < 1e-12
    (True, True)
    """
    check_seed(seed)
    check_confidence(confidence)
    chosen = [parse(one) if isinstance(one, str) else one for one in explanations]
    adapted = as_model(model, X, outputs, task)
    bench = Bench(adapted, X, baseline=baseline, records=records, steps=steps, samples=samples, seed=seed)
    return {how.name: bench.score(bench.explain(how), how.explains).summary(confidence) for how in chosen}


class Bench:
    """Records whose features are removed in the same way for all explanations; see `measure_faithfulness`."""

    def __init__(
        self,
        model: Model,
        X: Any,
        *,
        baseline: float = 0.0,
        records: int = 300,
        steps: int = 20,
        samples: int = 50,
        seed: int = 0,
    ) -> None:
        for name, number in (("records", records), ("steps", steps), ("samples", samples)):
            check_count(name, number, least=2)
        check_number("baseline", baseline, -LARGEST, LARGEST)
        if len(X) < 2:
            raise InputError(f"faithfulness needs at least two held-out records, not {len(X)}: pass more")
        rng = np.random.default_rng(seed)
        self.model, self.baseline = model, float(baseline)
        self.drawn = take_rows(X, np.sort(rng.permutation(len(X))[:records]))
        self.columns = explained_records(model, self.drawn)
        self.flat: Floats = self.columns.reshape(len(self.columns), -1).astype(np.float64)
        features = self.flat.shape[1]
        self.counts = curve_counts(features, steps)
        self.ties = rng.random(self.flat.shape, dtype=np.float32)
        self.packed = np.empty((len(self.flat), samples, -(-features // 8)), np.uint8)
        for row in self.packed:
            share = rng.random((samples, 1), dtype=np.float32)
            row[:] = np.packbits(rng.random((samples, features), dtype=np.float32) < share, axis=1)
        self.shown: Output = "logit" if refusal(model, FeatureExplanation("gradient")) else "probability"
        self.code = output_of(model, self.shown)(self.columns).argmax(axis=1)
        self._answers: dict[Output, _ExplainedOutput] = {}
        bounded = model.task == "classification" and self.shown == "probability"
        self.scale = 1.0 if bounded else float(np.std(self._told(self.shown).whole)) or 1.0

    def explain(self, how: FeatureExplanation) -> Floats:
        """Return the contributions of the features to the output that the explanation states."""
        values = explain_model(self.model, self.drawn, how).reshape(self.flat.shape).astype(np.float64)
        return values * (self.flat - self.baseline) if how.method in DERIVATIVES else values

    def score(self, contributions: Floats, explains: Output) -> RecordScores:
        """Return the figures of an explanation of these records, given by the contributions of their features."""
        deletion, insertion = self._areas(contributions)
        changes = self._told(explains).changes
        said = np.empty_like(changes)
        for rows, sets in self._sets():
            said[rows] = (sets @ contributions[rows, :, None])[:, :, 0]
        square, product, change = (said**2).mean(axis=1), (said * changes).mean(axis=1), (changes**2).mean(axis=1)
        left = change - np.divide(product**2, square, out=np.zeros_like(square), where=square > 0)
        infidelity = ((said - changes) ** 2).mean(axis=1)
        return RecordScores(deletion, insertion, infidelity, np.maximum(left, 0.0), change, self.scale)

    def _areas(self, contributions: Floats) -> tuple[Floats, Floats]:
        """Areas under the output while features are removed, and while they are added."""
        order = np.lexsort((self.ties, -contributions), axis=-1)
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(order.shape[1])[None], axis=1)
        inner = self.counts[1:-1, None]
        told = self._told(self.shown)
        inside = np.empty((len(order), 2 * len(inner)))
        for rows in self._blocks(2 * len(inner)):
            first = place[rows, None] < inner
            inside[rows] = self._evaluate(told.function, np.concatenate([~first, first], axis=1), rows)
        going, coming = inside[:, : len(inner)], inside[:, len(inner) :]
        whole, empty, share = told.whole[:, None], told.empty[:, None], self.counts / order.shape[1]
        deletion = np.trapezoid(np.hstack([whole, going, empty]), share, axis=1)
        return deletion, np.trapezoid(np.hstack([empty, coming, whole]), share, axis=1)

    def _told(self, output: Output) -> _ExplainedOutput:
        """Outputs for these records with all features, with none, and without each random set."""
        if output not in self._answers:
            function = output_of(self.model, output)
            rows = np.arange(len(self.flat))
            whole = function(self.columns)[rows, self.code]
            empty = function(np.full_like(self.columns[:1], self.baseline))[0, self.code]
            changes = np.empty(self.packed.shape[:2])
            for part, sets in self._sets():
                changes[part] = whole[part, None] - self._evaluate(function, ~sets, part)
            self._answers[output] = _ExplainedOutput(function, whole, empty, changes)
        return self._answers[output]

    def _evaluate(self, function: Function, kept: NDArray[np.bool_], rows: slice) -> Floats:
        """The output for the class of each record when only these of its features are kept, (rows, sets)."""
        points = np.where(kept, self.flat[rows, None], self.baseline).astype(self.columns.dtype)
        shown = function(points.reshape(-1, *self.columns.shape[1:])).reshape(*kept.shape[:2], -1)
        own: Floats = np.take_along_axis(shown, self.code[rows, None, None], axis=2)[:, :, 0]
        return own

    def _sets(self) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
        for rows in self._blocks(self.packed.shape[1]):
            yield rows, np.unpackbits(self.packed[rows], axis=2, count=self.flat.shape[1]).astype(bool)

    def _blocks(self, width: int) -> Iterator[slice]:
        step = max(1, NUMBERS // (max(1, width) * self.flat.shape[1]))
        for start in range(0, len(self.flat), step):
            yield slice(start, min(start + step, len(self.flat)))


@dataclass(frozen=True)
class _ExplainedOutput:
    """One output: its function, its value for the class of each record and at the baseline, and the change by each set."""

    function: Function
    whole: Floats
    empty: Floats
    changes: Floats


def output_of(model: Model, output: Output) -> Function:
    """Return the outputs that explanations of a model explain, as a function of the columns that are explained.

    Examples
    --------
    >>> from leakscope.models.adapters import estimator_model
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = estimator_model(LogisticRegression().fit([[-1.0], [1.0]], [0, 1]))
    >>> output_of(model, "logit")(np.zeros((1, 1))), output_of(model, "probability")(np.zeros((1, 1)))
    (array([[0., 0.]]), array([[0.5, 0.5]]))
    """
    how = FeatureExplanation("gradient", output=output)
    view: Any = find_view(model, how)
    if isinstance(view, LinearView):

        def told(X: NDArray[Any]) -> Floats:
            scores: Floats = X @ view.weights.T + view.bias
            return scores if output == "logit" or view.link == "values" else view.probabilities(scores)

        return told
    import torch

    from leakscope.models.adapters import TorchCall

    call = TorchCall(view.module)
    return lambda X: view.head(torch.from_numpy(call(X)), how).numpy()


def curve_counts(features: int, steps: int) -> NDArray[np.intp]:
    """Return about ``steps`` + 1 numbers of features from 0 to all, and with each number its complement.

    With the complements, a random order is exactly as good for deletion as for insertion.

    Examples
    --------
    >>> curve_counts(3, 20), curve_counts(10, 4)
    (array([0, 1, 2, 3]), array([ 0,  2,  5,  8, 10]))
    """
    if features <= steps:
        return np.arange(features + 1)
    lower = np.floor(np.arange(steps // 2 + 1) * (features / steps)).astype(np.intp)
    return np.union1d(lower, features - lower)


def ratio(above: Floats, below: Floats, confidence: float = 0.95) -> Estimate:
    """Return the ratio of two means over the same records, with the interval of the delta method.

    Examples
    --------
    >>> ratio(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])).value
    0.5
    """
    total = float(np.mean(below))
    if total == 0:
        return Estimate(0.0, 0.0, 0.0, confidence, n=len(below), method="nothing changes the output")
    value = float(np.mean(above)) / total
    off = intervals.mean((above - value * below) / total, confidence)
    return Estimate(value, max(0.0, value + off.low), value + off.high, confidence, n=off.n, method="delta method")
