"""shokri2019, end of section 5: driving the influence of found records to zero, on networks trained without each record."""

from functools import cache

import numpy as np
import pytest
from rare_categories import rare_categories
from scipy.special import expit

from leakscope.attacks.reconstruction_zeroing import IDLE, zero_found_influences
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Oracle, OracleAnswer, Prior
from leakscope.releases.record_explanations import RecordExplanation, leave_one_out


class Networks:
    """tanh networks trained by gradient descent from the same weights, with weight decay: on all, and without each."""

    def __init__(self, X, y, seed, hidden=6, steps=400, rate=0.3, decay=3.0):
        n, d = X.shape
        rng = np.random.default_rng(seed)
        start = (
            rng.normal(0, d**-0.5, (d, hidden)),
            np.zeros((1, hidden)),
            rng.normal(0, 0.4, (hidden, 1)),
            np.zeros((1, 1)),
        )
        self.weights = [np.repeat(part[None], n + 1, axis=0) for part in start]
        keep = np.ones((n + 1, n, 1))
        keep[np.arange(n), np.arange(n)] = 0
        momenta = [np.zeros_like(part) for part in self.weights]
        for _ in range(steps):
            into, shift, out, _ = self.weights
            inner = np.tanh(X @ into + shift)
            error = keep * (self._probabilities(X, slice(None))[..., None] - y[:, None]) / n
            back = error @ out.transpose(0, 2, 1) * (1 - inner**2)
            gradients = (
                X.T @ back,
                back.sum(1, keepdims=True),
                inner.transpose(0, 2, 1) @ error,
                error.sum(1, keepdims=True),
            )
            for part, gradient, momentum in zip(self.weights, gradients, momenta, strict=True):
                momentum *= 0.9
                momentum += gradient + decay / n * part
                part -= rate * momentum

    def __len__(self):
        return len(self.weights[0]) - 1

    def _probabilities(self, points, models):
        into, shift, out, last = (part[models] for part in self.weights)
        return expit(np.tanh(points @ into + shift) @ out + last)[..., 0]

    def probabilities(self, points):
        return self._probabilities(points, slice(-1, None))[0]

    def probabilities_without(self, points):
        return self._probabilities(points, slice(0, -1)).T.copy()


def categories(n, seed):
    return rare_categories(n, seed, levels=(2, 3, 4, 5, 6, 4), numbers=3)


def uniform(oracle, budget, seed):
    points = Prior.box(oracle.features).uniform(budget, np.random.default_rng(seed))
    return len(oracle.query(points).shown)


@cache
def trained(seed):
    X, y = categories(60, seed)
    return X, y, Networks(X, y, seed)


@pytest.mark.parametrize("k", [1, 3])
def test_it_recovers_more_from_networks_than_uniform_queries_do(k):
    budget, gains = 500, []
    for seed in range(100, 105):
        X, y, networks = trained(seed)
        oracles = [Oracle.of(networks, X, y, RecordExplanation(k), budget=budget) for _ in range(2)]
        found = zero_found_influences().run(oracles[0], Prior.box(X.shape[1]), np.random.default_rng(seed))
        assert found.queries == budget
        gains.append(len(found) - uniform(oracles[1], budget, seed))
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) > 2.78 * error  # Student's t with 4 degrees of freedom, 95 %


def test_a_bare_oracle_of_either_sign():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 12)), rng.integers(0, 2, 60)
    models, asked = leave_one_out(X, y), []

    def oracle(sign):
        def answer(points):
            asked.append(points.copy())
            shown = RecordExplanation(1).explain(models, points)
            ids = np.unique(shown.records)
            return OracleAnswer(
                shown.probabilities, shown.records, sign * shown.influences, ids, np.zeros((len(ids), 12)), ids
            )

        return Oracle(answer, 12, 1, budget=300)

    prior = Prior.box(12)
    one, other = (zero_found_influences().run(oracle(sign), prior, np.random.default_rng(1)) for sign in (1.0, -1.0))
    assert one.records.tolist() == other.records.tolist()
    assert one.at.tolist() == other.at.tolist()
    points = np.concatenate(asked)
    assert points.min() >= 0.0
    assert points.max() <= 1.0


def test_margins_refusals_and_ends():
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 3)), rng.integers(0, 2, 30)
    models = leave_one_out(X, y)
    outside = []

    def refuse(points):
        outside.append((points < 0).any() or (points > 1).any())
        return (points < 0.2).any(axis=1)

    oracle = Oracle.of(models, X, y, RecordExplanation(2), budget=200, refuse=refuse)
    found = zero_found_influences(margin=0.5).run(oracle, Prior.box(3), rng)
    assert found.notes["why"] == BudgetSpent.why
    assert len(found) > 0
    assert any(outside)
    flat = Prior(np.zeros(3), np.array([1.0, 1.0, 0.0]))  # a feature of one value only
    oracle = Oracle.of(models, X, y, RecordExplanation(2), budget=200, refuse=lambda points: points[:, 2] != 0)
    assert len(zero_found_influences().run(oracle, flat, rng)) > 0
    free = zero_found_influences().run(Oracle.of(models, X, y, RecordExplanation(2)), Prior.box(3), rng)
    assert str(IDLE) in free.notes["why"]


def test_wrong_settings_are_one_sentence():
    with pytest.raises(InputError, match="margin"):
        zero_found_influences(margin=-1.0)
    rng = np.random.default_rng(0)
    X, y = rng.random((10, 2)), rng.integers(0, 2, 10)
    silent = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(1), values=False)
    with pytest.raises(InputError, match="influences"):
        zero_found_influences().run(silent, Prior.box(2), rng)
