"""shokri2019, section 5.3.1: static queries, of points drawn as the attacker's knowledge allows."""

import numpy as np
import pytest

from leakscope.attacks.reconstruction_static import CHUNK, KINDS, static_queries
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Oracle, OracleAnswer, Prior


class Listener:
    """An oracle that reveals nothing and keeps the points."""

    def __init__(self, features, budget=None):
        self.points = []
        self.oracle = Oracle(self.answer, features, 1, budget)

    def answer(self, points):
        self.points.append(points.copy())
        m = len(points)
        return OracleAnswer(np.full(m, np.nan), np.full((m, 1), -1), None, np.empty(0, int), points[:0], np.empty(0))

    @property
    def asked(self):
        return np.concatenate(self.points)


def correlated(rng, count):
    """Two columns of which the second is always twice the first."""
    first = rng.choice([0.0, 1.0, 2.0], count, p=[0.5, 0.3, 0.2])
    return np.column_stack([first, 2 * first])


def test_uniform_points_fill_the_ranges():
    listener, n = Listener(2), 20_000
    prior = Prior(np.array([0.0, -3.0]), np.array([1.0, 5.0]))
    static_queries("uniform", n).run(listener.oracle, prior, np.random.default_rng(0))
    asked = listener.asked
    assert asked.shape == (n, 2)
    # A mean of n uniform numbers of width h has the deviation h/√(12n): four of these.
    assert np.all(np.abs(asked.mean(axis=0) - [0.5, 1.0]) < 4 * np.array([1.0, 8.0]) / np.sqrt(12 * n))
    assert np.all((asked >= [0, -3]) & (asked <= [1, 5]))
    assert abs(np.corrcoef(asked.T)[0, 1]) < 4 / np.sqrt(n)


def test_marginal_points_have_each_columns_distribution_and_no_relation_between_columns():
    rng, listener, n = np.random.default_rng(1), Listener(2), 20_000
    records = correlated(rng, 500)
    static_queries("marginal", n).run(listener.oracle, Prior(np.zeros(2), np.full(2, 4.0), records), rng)
    asked = listener.asked
    for column in (0, 1):
        for level in np.unique(records[:, column]):
            share = np.mean(records[:, column] == level)
            assert abs(np.mean(asked[:, column] == level) - share) < 4 * np.sqrt(share * (1 - share) / n)
    assert abs(np.corrcoef(asked.T)[0, 1]) < 4 / np.sqrt(n)  # the records' own is 1


@pytest.mark.parametrize("have", [30, CHUNK, 2 * CHUNK + 1])
def test_records_are_asked_about_once_each_until_they_run_out(have):
    listener = Listener(1)
    records = np.arange(have, dtype=float)[:, None]
    prior = Prior(np.zeros(1), np.ones(1), records)
    found = static_queries("records", 2 * have).run(listener.oracle, prior, np.random.default_rng(2))
    assert sorted(listener.asked.ravel().tolist()) == list(range(have))
    assert listener.asked.ravel().tolist() != list(range(have))
    assert found.queries == have
    assert max(map(len, listener.points)) <= CHUNK


@pytest.mark.parametrize("kind", KINDS)
def test_queries_and_budget_are_kept(kind):
    prior = Prior(np.zeros(2), np.ones(2), np.random.default_rng(3).random((900, 2)))
    for queries, budget, spent in ((700, None, 700), (700, 600, 600), (5, 600, 5)):
        listener = Listener(2, budget)
        found = static_queries(kind, queries).run(listener.oracle, prior, np.random.default_rng(0))
        assert len(listener.asked) == found.queries == listener.oracle.queries == spent
        assert (found.notes["why"] == BudgetSpent.why) == (spent == budget)


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="kind"):
        static_queries("clever")
    for queries in (0, 2.5, True):
        with pytest.raises(InputError, match="queries"):
            static_queries("uniform", queries)
    for kind in ("marginal", "records"):
        assert static_queries(kind).uses_records
        for prior in (Prior.box(2), Prior(np.zeros(2), np.ones(2), np.empty((0, 2)))):
            with pytest.raises(InputError, match=f"{kind}.*prior"):
                static_queries(kind).run(Listener(2).oracle, prior, np.random.default_rng(0))
    assert not static_queries("uniform").uses_records
