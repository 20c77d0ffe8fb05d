"""Subspace reduction and the traversal of the graph together recover more than either alone, at equal budgets."""

import numpy as np
import pytest
from rare_categories import rare_categories

from leakscope.attacks.reconstruction_combined import combined
from leakscope.attacks.reconstruction_subspace import subspace_reduction
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Collector, Oracle, OracleAnswer, Prior
from leakscope.releases.record_explanations import RecordExplanation, leave_one_out


def people(n, seed):
    return rare_categories(n, seed, levels=(2, 5, 7, 6, 9, 12), numbers=2, shift=-1.0)


def traverse(oracle, prior, rng):
    """Breadth first over the influence graph, from random points one after the other."""
    found, queried = Collector(oracle), 0
    try:
        while True:
            found.query(prior.uniform(1, rng))
            while queried < len(found):
                queried += 1
                found.query(found.row(found.records[queried - 1])[None])
    except BudgetSpent:
        return found.recovered()


def gains_over_each(budget):
    """How many more records than by subspace reduction and by the traversal: means and their errors over four worlds."""
    gains = []
    for seed in range(100, 104):
        X, y = people(500, seed)
        models, prior = leave_one_out(X, y), Prior.box(X.shape[1])
        counts = []
        for attack in (combined().run, subspace_reduction().run, traverse):
            oracle = Oracle.of(models, X, y, RecordExplanation(5), budget=budget)
            found = attack(oracle, prior, np.random.default_rng(seed))
            assert found.queries <= budget
            counts.append(len(found))
        gains.append(counts[0] - np.array(counts[1:]))
    return np.mean(gains, axis=0), np.std(gains, axis=0, ddof=1) / np.sqrt(len(gains))


STUDENT = 3.18  # 97.5 % quantile with 3 degrees of freedom


def test_more_records_than_either_alone():
    gain, error = gains_over_each(1200)
    assert (gain > STUDENT * error).all()


def test_with_few_queries_it_is_the_traversal():
    """As long as the traversal itself still finds records there is little to gain over it, and nothing is lost."""
    gain, error = gains_over_each(400)
    assert gain[0] > STUDENT * error[0]
    assert gain[1] > -STUDENT * error[1]


def test_without_a_budget_it_ends_with_algorithm_1():
    X, y = people(100, 0)
    oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(2))
    found = combined().run(oracle, Prior.box(X.shape[1]), np.random.default_rng(0))
    assert found.notes["descents"] == 1
    assert found.notes["why"] != BudgetSpent.why
    np.testing.assert_array_equal(found.rows, X[found.records])
    np.testing.assert_array_equal(found.labels, y[found.records])


def test_every_revealed_row_is_queried_once_of_a_bare_oracle():
    X, y = people(60, 1)
    models, asked = leave_one_out(X, y), []

    def answer(points):
        asked.append(points.copy())
        shown = RecordExplanation(2).explain(models, points)
        ids = np.unique(shown.records)
        return OracleAnswer(shown.probabilities, shown.records + 9, shown.influences, ids + 9, X[ids], y[ids])

    oracle = Oracle(answer, X.shape[1], 2)
    found = combined().run(oracle, Prior.box(X.shape[1]), np.random.default_rng(0))
    assert found.queries == oracle.queries == sum(map(len, asked))
    points = np.concatenate(asked)
    for row in np.unique(found.rows, axis=0):
        copies = (found.rows == row).all(axis=1).sum()
        assert (points == row).all(axis=1).sum() == copies


def test_wrong_settings_are_one_sentence():
    with pytest.raises(InputError, match="dimensions"):
        combined(dimensions=2.5)
