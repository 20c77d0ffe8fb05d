r"""Advantage of the bounded-loss attack over the worst shifted distribution and by the number of training records.

The attack (the paper's bounded-loss adversary) predicts "member" with probability 1 − loss/B [tople2020, Def. 7]. Its advantage
against non-members of a distribution Q is :math:`(L_Q(h, y) - L_S(h, y))/B`. Two statements of the paper, and where they fail:

**Theorems 2 and 5.** A causal model fitted to a small sample can have a large error where an associational one has a small one.
Take the absolute loss, :math:`P(Y = 1)` = 0.9 where :math:`x_C = 1` and 0.5 where :math:`x_C = 0`, and a sample of one record
(1, y = 0) and nine with :math:`x_C = 0`, five of them y = 0. Of f = 1 and g = 1 − x_C the second fits better, 0.5 against 0.6.
A third model that predicts 0.4 or 0.6, by a feature that equals y in P, has the loss 0.4. Its worst case is 0.6, an advantage
of 0.2; that of g is 0.9, an advantage of 0.4. Both minimise the loss, g over :math:`H_C`, the third over
:math:`H_A \supset H_C`. The theorems do hold for full tables
of relative frequencies and the Brier loss, since the rows of the associational table average to those of the causal one.

**Corollary 2.** The advantage against P converges to 0 as n grows. That against P* does not, even for f itself: it converges to
:math:`(L_{P^*}(f, y) - L_P(f, y))/B`, which is 0 only if all :math:`x_C` are equally hard. `advantage_by_size` gives both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.causal.generalisation import read_losses
from leakscope.core.arrays import Indices
from leakscope.core.checks import check_count, check_share
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import mean
from leakscope.data.records import take_rows
from leakscope.learners import Learner, as_learner
from leakscope.worlds.training import Progress, TrainingSets, retrain

#: Number of records and a seed to records and labels.
World = Callable[[int, int], tuple[Any, Any]]

MOST_CONFIGURATIONS = 2**22


def worst_case_advantage(
    training: Any, losses: Any, probabilities: Any, *, causes: Any = None, bound: float = 1.0
) -> Estimate:
    r"""Return the largest advantage of the bounded-loss attack over all distributions P* [tople2020, Thm 5, Eq. 7].

    P* keeps :math:`P(Y \mid X_C)` and is otherwise arbitrary: it chooses :math:`x_C`, and for each label the worst
    of the other features, which may be children of Y. The largest expected loss is

    .. math:: \max_{x_C} \sum_y P(y \mid x_C) \max_{x_A} L(h(x_C, x_A), y),

    and the advantage is its difference from the mean loss of the training set, divided by the bound. It is exact for the given
    candidates; the paper's :math:`\max_{x'} L_{x'}(h, y)` over records with their labels is larger than for any P* if Y is
    random.

    Parameters
    ----------
    training
        Losses of the training records.
    losses
        (candidates, labels): the loss of each candidate record if it had that label, from 0 to ``bound``.
    probabilities
        (candidates, labels): the probability of the label given the causes of that candidate.
    causes
        Number of the configuration of the causes of each candidate, by default different for each. Candidates may be all
        configurations of discrete features (`all_configurations`) or any finite set.

    Examples
    --------
    A fair coin: a model that always predicts "heads" is wrong half of the time under every P*:

    >>> worst_case_advantage([0.5], [[0.0, 1.0]], [[0.5, 0.5]])
    0.00

    A model that uses a copy of the coin is always right under P; P* may invert every copy:

    >>> worst_case_advantage([0.0], [[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]], causes=[0, 0])
    1.00
    """
    own = read_losses(training, "the training set")
    if not (math.isfinite(bound) and bound > 0):
        raise InputError(f"bound must be a number above 0, not {bound!r}")
    table, weights = np.asarray(losses, np.float64), np.asarray(probabilities, np.float64)
    if table.ndim != 2 or table.shape != weights.shape or not table.size:
        raise InputError(
            f"losses {table.shape} and probabilities {weights.shape} must have one shape, (candidates, labels)"
        )
    if not all(values.min() >= 0 and values.max() <= bound * (1 + 1e-9) for values in (own, table)):
        raise InputError(f"losses must be from 0 to the bound {bound:g}: rescale or clip them")
    if weights.min() < 0 or (np.abs(weights.sum(axis=1) - 1) > 1e-6).any():
        raise InputError("probabilities must sum to 1 for each candidate")
    group = np.arange(len(table)) if causes is None else np.asarray(causes)
    if group.shape != (len(table),):
        raise InputError(f"causes has {group.size} entries for {len(table)} candidates: pass one for each")
    names, place = np.unique(group, return_inverse=True)
    worst, given = np.zeros((len(names), table.shape[1])), np.zeros((len(names), table.shape[1]))
    np.maximum.at(worst, place, table)
    given[place] = weights
    if (np.abs(given[place] - weights) > 1e-6).any():
        raise InputError("probabilities must be equal for candidates with the same causes")
    value = (float((given * worst).sum(axis=1).max()) - float(own.mean())) / bound
    return Estimate(
        value, value, value, 1.0, "exact", n=len(table), method=f"the worst distribution over {len(table):,} candidates"
    )


def all_configurations(levels: Sequence[int]) -> NDArray[np.intp]:
    """Return every combination of codes of discrete features, (combinations, features), the last one fastest.

    Examples
    --------
    >>> all_configurations([2, 3]).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    if math.prod(levels) > MOST_CONFIGURATIONS:
        raise InputError(
            f"levels {', '.join(map(str, levels))} have more than {MOST_CONFIGURATIONS:,} combinations: pass fewer features"
        )
    return np.indices(tuple(levels), dtype=np.intp).reshape(len(levels), -1).T


class SizeAdvantage(NamedTuple):
    """Advantages of the bounded-loss attack at one training set size; ``shift`` is their difference."""

    size: int
    against_p: Estimate
    against_pstar: Estimate
    shift: Estimate


def advantage_by_size(
    learner: Any,
    world: World,
    shifted: World,
    sizes: Sequence[int],
    *,
    repeats: int = 20,
    test: int = 5000,
    seed: int = 0,
    confidence: float = 0.95,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> list[SizeAdvantage]:
    r"""Measure how the advantage of the bounded-loss attack falls with the number of training records [tople2020, Cor. 2].

    The loss is 1 − p(y | x), bounded by 1, so that the advantage against a distribution Q is :math:`L_Q - L_S` [tople2020, Def. 7
    and the proof of Thm 5]. ``against_p`` is due to membership and converges to 0. ``against_pstar`` adds ``shift``
    :math:`= L_{P^*} - L_P`, which the never-trained control has too, and which does not vanish with more records.

    Parameters
    ----------
    learner
        A classifier: see `leakscope.learners`.
    world, shifted
        ``world(n, seed)`` returns n records (X, y) of P, ``shifted`` of P*.
    repeats
        Number of training sets of each size, each with new test records; intervals are over these.
    test
        Number of test records of each distribution for every training set.
    seed, workers, cluster, cache, progress
        See `leakscope.worlds.training.retrain`.

    Examples
    --------
    >>> from leakscope.learners import Logistic
    >>> def world(n, seed, spread=1.0):
    ...     rng = np.random.default_rng(seed)
    ...     X = rng.normal(scale=spread, size=(n, 3))
    ...     return X, rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> few, many = advantage_by_size(Logistic(l2=1e-3), world, lambda n, s: world(n, s, 0.1), [20, 2000], test=1000)
    >>> bool(few.against_p.low > many.against_p.high and many.against_p.high < 0.01 and many.shift.low > 0.1)
    True
    """
    made = as_learner(learner)
    if made.task != "classification":
        raise InputError(f"learner {made.name!r} is a regression model, whose loss has no bound: pass a classifier")
    check_count("repeats", repeats, least=2)
    check_count("test", test)
    check_share("confidence", confidence)
    if not sizes or min(sizes) < 1:
        raise InputError(f"sizes must be 1 or more, not {', '.join(map(str, sizes)) or 'none'}")
    found = []
    for size in map(int, sizes):
        source = np.random.SeedSequence((seed, size))
        drawn = [
            part(count, int(number))
            for child in source.spawn(repeats)
            for part, count, number in zip(
                (world, world, shifted), (size, test, test), child.generate_state(3), strict=True
            )
        ]
        ready, X, y = made.prepare(*(np.concatenate([np.asarray(pair[side]) for pair in drawn]) for side in (0, 1)))
        seen = retrain(
            ready, X, y, TrainingSets(len(X), repeats, partial(_first, size, size + 2 * test)), partial(_gains, ready, (X, y), test),
            seed=int(source.generate_state(1)[0]), workers=workers, cluster=cluster, cache=cache, progress=progress,
        )  # fmt: skip
        p, pstar = np.array([one["gains"] for one in seen]).T
        found.append(SizeAdvantage(size, *(mean(values, confidence) for values in (p, pstar, pstar - p))))
    return found


def _first(size: int, width: int, number: int) -> Indices:
    """The training set, which is followed by its test records of P and of P*."""
    return np.arange(number * width, number * width + size)


def _gains(
    learner: Learner,
    data: tuple[Any, NDArray[Any]],
    test: int,
    model: Any,
    number: int,  # noqa: ARG001
    indices: Indices,
) -> dict[str, Any]:
    """Return L_P − L_S and L_P* − L_S of one model."""
    rows = np.arange(indices[0], indices[-1] + 1 + 2 * test)
    losses = -np.expm1(
        -learner.losses(model, *(take_rows(values, rows) for values in data))
    )  # 1 − p(y | x) from the log-loss
    own, p, pstar = (part.mean() for part in np.split(losses, [len(indices), len(indices) + test]))
    return {"gains": [p - own, pstar - own]}
