r"""Private aggregation of teacher ensembles (PATE): noisy votes of models trained on disjoint records (Papernot et al. 2017).

The records are divided at random among M teachers. A query x gets :math:`n_k(x)` votes for class k, and its label is

.. math:: \arg\max_k\,\{n_k(x) + \mathrm{Lap}(2/\gamma)\}

[tople2020, Thm 4]. Swapping one record changes one teacher and so two counts by one. Hence an answer is
(γ, 0)-differentially private. Let :math:`g = \gamma/2`: the noise is Lap(1/g), and Papernot et al. write γ for this g. With
:math:`\alpha(l)` the log-moment of order l of the privacy loss, the answers to T queries are (ε, δ)-private for

.. math:: \varepsilon = \min_l \Bigl(\sum_{t \le T}\alpha_t(l) + \log(1/\delta)\Bigr)\Big/ l,

*for any data* with :math:`\alpha(l) \le 2g^2 l(l + 1)` (their Theorem 2) or :math:`2gl`, and by simple composition
:math:`T\gamma`. *For these votes* ε is smaller if teachers agree. The noise changes the winner j* with probability at most
(their Lemma 4)

.. math:: q = \sum_{j \ne j^*} \frac{2 + g(n_{j^*} - n_j)}{4\exp(g(n_{j^*} - n_j))},

and if :math:`q < (e^{2g} - 1)/(e^{4g} - 1)` (their Theorem 3)

.. math:: \alpha(l) \le \log\Bigl((1 - q)\Bigl(\frac{1 - q}{1 - e^{2g}q}\Bigr)^l + q\,e^{2gl}\Bigr).

**The data-dependent ε is a function of the private votes.** It can reveal records itself. Do not publish it without adding
noise (Papernot et al. 2018). Use it to compare ensembles, as Theorem 4 does. It need not increase with γ: less noise changes
fewer winners, and q falls faster than :math:`e^{2gl}` rises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_count, check_number, check_seed, check_share
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import mean, proportion
from leakscope.data.records import read_features, read_labels, stack_rows, take_rows
from leakscope.learners import Learner, as_learner
from leakscope.models.model import Model, to_probabilities
from leakscope.worlds.training import Progress, TrainingSets, design_generator, retrain

Counts = NDArray[np.int64]

#: Orders of moments that are tried; any subset gives a valid ε.
ORDERS = (*range(1, 65), *(2**power for power in range(7, 15)))
NOISE = 0x70617465  # separates the noise of the votes from other draws with the same seed


@dataclass(frozen=True, eq=False)
class Pate:
    """Labels by a noisy vote and their privacy cost.

    Only ``labels`` and ``epsilon_independent`` may be released; the votes and figures computed from them are private.

    Parameters
    ----------
    labels
        The noisy labels of the queries.
    votes
        (queries, classes): the number of teachers that voted for each class.
    classes
        The labels in the order of the columns of ``votes``.
    gamma, delta
        One answer is (γ, 0)-private; all answers together are (ε, δ)-private.
    epsilon
        Data-dependent ε, for these votes: see the module.
    epsilon_independent
        ε for any votes: the smaller of the moments accountant's and of simple composition.
    agreement
        Mean over queries of the share of teachers that vote for the winner.
    changed
        Share of the queries whose label the noise changed.
    """

    labels: NDArray[Any] = field(repr=False)
    votes: Counts = field(repr=False)
    classes: NDArray[Any]
    gamma: float
    delta: float
    epsilon: Estimate
    epsilon_independent: Estimate
    agreement: Estimate
    changed: Estimate


def pate(
    learner: Any,
    X: Any,
    y: Any,
    queries: Any,
    teachers: int,
    gamma: float,
    *,
    delta: float = 1e-5,
    seed: int = 0,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Pate:
    """Label public queries by a noisy vote of teachers that are trained on disjoint records.

    Parameters
    ----------
    learner
        Learner of the teachers: a classifier of `leakscope.learners`, its name, or a scikit-learn classifier.
    X, y
        The private records.
    queries
        Public records, with the columns of ``X``.
    teachers
        Number of teachers, from 2 to the number of records; parts differ by one record at most.
    gamma
        Privacy of one answer; the noise is Lap(2/γ).
    delta
        Failure probability of the guarantee over all queries.
    seed
        Seed of the division, the training and the noise. Anyone who knows it can remove the noise: keep it secret for a release.
    workers, cache, progress
        See `leakscope.worlds.training.retrain`.

    Examples
    --------
    >>> from leakscope.learners import Logistic
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> found = pate(Logistic(l2=0.01), X, y, [[2.0, 0.0], [-2.0, 0.0]], teachers=100, gamma=0.2)
    >>> found.labels, found.votes
    (array(['up', 'down'], dtype='<U4'), array([[  0, 100], [100,   0]]))
    """
    made = as_learner(learner)
    if made.task != "classification":
        raise InputError(f"learner {made.name!r} is a regression model: pass a classifier")
    labels = read_labels(y, "the data")
    ready, records, codes, asked = _prepare(made, X, labels, queries)
    check_count("teachers", teachers, least=2, most=len(codes))
    _check_privacy(gamma, delta)
    check_seed(seed)
    ready.check(records, codes, len(codes) // teachers)
    order = design_generator(seed, 0).permutation(len(codes)).astype(np.intp, copy=False)
    sets = TrainingSets(len(codes), teachers, partial(_part, order, teachers))
    observe = partial(_vote, ready, asked)
    seen = retrain(ready, records, codes, sets, observe, seed=seed, workers=workers, cache=cache, progress=progress)
    classes = np.unique(labels)
    votes = count_votes(np.stack([teacher["votes"] for teacher in seen]), len(classes))
    rng = np.random.default_rng(np.random.SeedSequence((seed, NOISE)))
    noisy, plain = noisy_winners(votes, gamma, rng), votes.argmax(axis=1)
    spent, independent = epsilons(votes, gamma, delta)
    return Pate(
        labels=classes[noisy],
        votes=votes,
        classes=classes,
        gamma=gamma,
        delta=delta,
        epsilon=spent,
        epsilon_independent=independent,
        agreement=_agreement(votes),
        changed=proportion(int((noisy != plain).sum()), len(plain)),
    )


def student(learner: Any, queries: Any, labels: Any, *, seed: int = 0) -> Model:
    """Train a model on public queries and their noisy labels; it is as private as the labels.

    If all labels are the same, the student predicts that label for every record.

    Parameters
    ----------
    learner
        A classifier: see `leakscope.learners`.
    queries, labels
        The queries that `pate` labelled, and its ``labels``.

    Examples
    --------
    >>> from leakscope.learners import Logistic
    >>> model = student(Logistic(l2=0.01), [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.classes[model.predict(np.array([[0.5], [2.5]])).argmax(axis=1)]
    array(['no', 'yes'], dtype='<U3')
    """
    made = as_learner(learner)
    if made.task != "classification":
        raise InputError(f"learner {made.name!r} is a regression model: pass a classifier")
    check_seed(seed)
    features, said = read_features(queries, "the queries"), read_labels(labels, "the queries")
    classes, first = np.unique(said, return_index=True)
    if len(classes) == 1:
        return Model("student, one label", "classification", classes, True, _certain)
    ready, table, codes = made.prepare(features, said)
    model = ready.fit(table, codes, np.random.default_rng(np.random.SeedSequence(seed)))
    predict = _StudentOutputs(ready, model, take_rows(features, first), classes)
    return Model(f"student, {ready.name}", "classification", classes, True, predict)


# --- privacy accounting -----------------------------------------------------------------------------------------------


def epsilons(votes: Any, gamma: float, delta: float) -> tuple[Estimate, Estimate]:
    """Return the data-dependent ε of a table of votes, and the data-independent ε of the same number of queries.

    Examples
    --------
    Ten queries on which 100 teachers agree have a small ε; ten on which they are divided have the data-independent ε:

    >>> epsilons(np.tile([100, 0], (10, 1)), gamma=0.2, delta=1e-5)
    (at most 0.366, at most 2)
    >>> epsilons(np.tile([50, 50], (10, 1)), gamma=0.2, delta=1e-5)
    (at most 2, at most 2)
    """
    table = np.asarray(votes)
    if table.ndim != 2 or not len(table) or table.shape[1] < 2 or table.dtype.kind not in "iu" or table.min() < 0:
        raise InputError(
            "votes must be a table of counts, one row per query and one column per class, with at least two classes"
        )
    _check_privacy(gamma, delta)
    log_q = log_overturned(table, gamma)
    charge = math.log(1 / delta)
    simple = len(table) * gamma
    moments = min((len(table) * float(_independent(order, gamma)) + charge) / order for order in ORDERS)
    independent = min(simple, moments)
    dependent = min((float(log_moments(log_q, order, gamma).sum()) + charge) / order for order in ORDERS)
    return (
        _at_most(
            min(dependent, independent), len(table), "moments accountant, data-dependent: do not publish without noise"
        ),
        _at_most(independent, len(table), "moments accountant" if moments < simple else "simple composition"),
    )


def gamma_for(epsilon: float, queries: int, delta: float) -> float:
    r"""Return the largest γ at which this number of queries has at most the given ε, for any votes.

    The data-independent ε of the module is a minimum of terms that increase with γ. It is at most ε if one of them is, up to

    .. math:: \gamma = \max\Bigl\{\frac{\varepsilon}{T},\
              \max_l \sqrt{\frac{2(\varepsilon - \log(1/\delta)/l)_+}{T(l + 1)}}\Bigr\}.

    Examples
    --------
    >>> gamma = gamma_for(4.0, queries=100, delta=1e-5)
    >>> round(gamma, 3), epsilons(np.tile([1, 0], (100, 1)), gamma, 1e-5)[1]
    (0.077, at most 4)
    """
    _check_privacy(epsilon, delta, "epsilon")
    check_count("queries", queries)
    spare = ((2 * (epsilon - math.log(1 / delta) / order) / (queries * (order + 1))) for order in ORDERS)
    most = max(epsilon / queries, *(math.sqrt(max(0.0, square)) for square in spare))
    return most * (1 - 1e-12)  # so that rounding never exceeds ε


def _at_most(epsilon: float, queries: int, method: str) -> Estimate:
    return Estimate(epsilon, 0.0, epsilon, 1.0, "upper bound", n=queries, method=method)


def log_overturned(votes: Any, gamma: float) -> Floats:
    """Return the logarithm of the bound q on the probability that noise changes the winner (Papernot et al. 2017, Lemma 4).

    Examples
    --------
    >>> np.exp(log_overturned(np.array([[5, 5], [10, 0]]), gamma=2.0))  # 2/4, and 12/(4 e^10)
    array([5.00000000e-01, 1.36199789e-04])
    """
    counts = np.sort(np.asarray(votes, np.float64), axis=1)
    gaps = gamma / 2 * (counts[:, -1:] - counts[:, :-1])
    return np.asarray(special.logsumexp(np.log(2 + gaps) - math.log(4) - gaps, axis=1))


def log_moments(log_q: Floats, order: float, gamma: float) -> Floats:
    """Bound the log-moment of one order for each query by the smallest of the module's three bounds.

    Examples
    --------
    >>> log_moments(np.log([0.5, 1e-9]), order=2, gamma=0.2).round(9)
    array([1.2e-01, 1.0e-09])
    """
    g = gamma / 2
    general = np.full(log_q.shape, float(_independent(order, gamma)))
    # (e^2g − 1)/(e^4g − 1) = 1/(e^2g + 1), which does not overflow
    sure = log_q < -np.logaddexp(0.0, 2 * g)
    log_own = log_q[sure]
    stays = (order + 1) * np.log1p(-np.exp(log_own)) - order * np.log1p(-np.exp(log_own + 2 * g))
    general[sure] = np.minimum(general[sure], np.maximum(np.logaddexp(stays, log_own + 2 * g * order), 0.0))
    return general


def _independent(order: float, gamma: float) -> float:
    """Return the smaller of 2g²l(l + 1) and 2gl, with 2g = γ."""
    return min(gamma**2 * order * (order + 1) / 2, gamma * order)


# --- teachers ---------------------------------------------------------------------------------------------------------


def count_votes(said: NDArray[np.integer], classes: int) -> Counts:
    """Count the votes (teachers, queries) for each class, (queries, classes).

    Examples
    --------
    >>> count_votes(np.array([[0, 1], [0, 2], [1, 2]]), classes=3)
    array([[2, 1, 0], [0, 1, 2]])
    """
    votes = np.zeros((said.shape[1], classes), np.int64)
    for teacher in said:
        votes[np.arange(said.shape[1]), teacher] += 1
    return votes


def noisy_winners(votes: Counts, gamma: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the class with the most votes per query after noise Lap(2/γ) on every count: (γ, 0)-private per query.

    Examples
    --------
    >>> noisy_winners(np.array([[90, 10], [0, 100]]), gamma=1.0, rng=np.random.default_rng(0))
    array([0, 1])
    """
    winners: NDArray[np.intp] = (votes + rng.laplace(scale=2 / gamma, size=votes.shape)).argmax(axis=1)
    return winners


def _prepare(learner: Learner, X: Any, labels: NDArray[Any], queries: Any) -> tuple[Learner, Any, NDArray[Any], Any]:
    """Prepare records and queries for the learner; it reads records with labels, so queries get an arbitrary label."""
    features, asked = read_features(X, "the data"), read_features(queries, "the queries")
    if not len(asked):
        raise InputError("queries is empty: pass public records to label")
    if np.shape(features)[1:] != np.shape(asked)[1:]:
        raise InputError(f"X has shape {np.shape(features)} and queries {np.shape(asked)}: pass the same columns")
    if len(features) != len(labels) or not len(labels):
        raise InputError(f"X has {len(features)} records and y {len(labels)} labels: pass one label per record")
    ready, table, codes = learner.prepare(_stack(features, asked), np.append(labels, np.repeat(labels[:1], len(asked))))
    rows = np.arange(len(table))
    return ready, take_rows(table, rows[: len(labels)]), codes[: len(labels)], take_rows(table, rows[len(labels) :])


def _stack(first: Any, second: Any) -> Any:
    if isinstance(first, pd.DataFrame) != isinstance(second, pd.DataFrame):
        raise InputError("X and queries must both be tables with named columns, or both arrays")
    if isinstance(first, pd.DataFrame) and list(first.columns) != list(second.columns):
        raise InputError("X and queries have different columns: pass the same columns in the same order")
    return stack_rows(first, second)


def _part(order: Indices, teachers: int, number: int) -> Indices:
    """Records of one teacher: every so-many-th of a random order."""
    return np.sort(order[number::teachers])


def _vote(learner: Any, asked: Any, model: Any, number: int, indices: Indices) -> dict[str, Any]:  # noqa: ARG001
    return {"votes": _probabilities(learner, model, asked).argmax(axis=1)}


def _probabilities(learner: Any, model: Any, table: Any) -> Floats:
    outputs = learner.outputs(model, table)
    return to_probabilities(np.column_stack([np.zeros(len(outputs)), outputs]), "logits")


def _certain(X: Any) -> Floats:
    return np.ones((len(X), 1))


@dataclass(frozen=True, eq=False)
class _StudentOutputs:
    """A student's predictions; ``anchors`` holds a record of each class, since learners read records with their labels."""

    learner: Learner
    model: Any
    anchors: Any
    classes: NDArray[Any]

    def __call__(self, X: Any) -> Floats:
        labels = np.append(self.classes, np.repeat(self.classes[:1], len(X)))
        _, table, _ = self.learner.prepare(_stack(self.anchors, read_features(X, "the data")), labels)
        return _probabilities(self.learner, self.model, take_rows(table, np.arange(len(self.classes), len(labels))))


def _agreement(votes: Counts) -> Estimate:
    """Estimate the mean share of the winner; the interval is at least as wide as rare unseen queries require."""
    found = mean(votes.max(axis=1) / votes[0].sum())
    unseen = -math.log((1 - found.confidence) / 2) / len(votes)
    low, high = min(found.low, found.value - unseen), max(found.high, found.value + unseen)
    return Estimate(found.value, max(low, 0.0), max(found.value, min(high, 1.0)), n=found.n, method=found.method)


def _check_privacy(gamma: Any, delta: Any, name: str = "gamma") -> None:
    check_number(name, gamma, least=0, open_ends=True)
    check_share("delta", delta)
