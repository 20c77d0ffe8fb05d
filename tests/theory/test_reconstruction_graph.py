"""shokri2019, sections 5.2.1 and 5.3.3: the traversal reveals what the influence graph lets it reach, and no more."""

import numpy as np
import pytest

from leakscope.attacks.reconstruction_graph import graph_traversal
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Oracle, Prior
from leakscope.releases.record_explanations.explanation import RecordExplanation
from leakscope.releases.record_explanations.graph import ORDERS, influence_graph
from leakscope.releases.record_explanations.logistic import leave_one_out

K = 3


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    X = rng.random((150, 8))
    y = (rng.random(150) < 1 / (1 + np.exp(-6 * (X[:, 0] - X[:, 1])))).astype(int)
    loo = leave_one_out(X[:100], y[:100])
    return X[:100], y[:100], X[100:], loo


def oracle_of(world, **options):
    X, y, _, loo = world
    return Oracle.of(loo, X, y, RecordExplanation(K), **options)


def run(world, seed, order="breadth-first", *, budget=None, records=True, **settings):
    prior = Prior(np.zeros(8), np.ones(8), world[2] if records else None)
    return graph_traversal(order, **settings).run(oracle_of(world, budget=budget), prior, np.random.default_rng(seed))


def start_of(world, seed):
    """The first point that an attack with this seed asks about."""
    return world[2][np.random.default_rng(seed).permutation(len(world[2]))[0]]


@pytest.mark.parametrize("order", ORDERS)
def test_one_start_reveals_what_its_explanation_reaches_in_the_graph(order, world):
    X, _, _, loo = world
    graph = influence_graph(loo, X, RecordExplanation(K))
    for seed in range(5):
        found = run(world, seed, order, restarts=False)
        waiting = RecordExplanation(K).explain(loo, start_of(world, seed)[None]).records[0].tolist()
        reached = set(waiting)
        while waiting:
            new = set(graph.targets[waiting.pop()].tolist()) - reached
            reached |= new
            waiting += new
        assert set(found.records.tolist()) == reached
        assert found.queries == 1 + len(reached)  # the start, and each revealed record once
        assert np.array_equal(found.rows, X[found.records])


@pytest.mark.parametrize("order", ORDERS)
def test_restarts_reveal_all_that_the_priors_records_lead_to_in_any_order(order, world):
    X, _, own, loo = world
    found = run(world, 1, order, patience=10**6)
    graph = influence_graph(loo, X, RecordExplanation(K))
    reached = set(RecordExplanation(K).explain(loo, own).records.ravel().tolist())
    while (more := reached | set(graph.targets[sorted(reached)].ravel().tolist())) != reached:
        reached = more
    assert set(found.records.tolist()) == reached
    assert found.notes["starts"] == len(own)
    assert found.queries == len(own) + len(reached)


def test_breadth_first_in_batches_is_breadth_first_one_by_one(world):
    X, _, _, loo = world
    found = run(world, 3, restarts=False)
    explain = RecordExplanation(K).explain
    order, at, asked = [], [], 0
    queue = [start_of(world, 3)]
    while asked < len(queue):
        for record in explain(loo, queue[asked][None]).records[0].tolist():
            if record not in order:
                order.append(record)
                at.append(asked + 1)
                queue.append(X[record])
        asked += 1
    assert found.records.tolist() == order
    assert found.at.tolist() == at


def test_depth_first_asks_about_the_latest_and_most_influential(world):
    X, _, _, loo = world
    found = run(world, 3, "depth-first", restarts=False)
    order, stack = [], [start_of(world, 3)]
    while stack:
        shown = RecordExplanation(K).explain(loo, stack.pop()[None]).records[0].tolist()
        new = [record for record in shown if record not in order]
        order += new
        stack += [X[record] for record in reversed(new)]
    assert found.records.tolist() == order


@pytest.mark.parametrize("order", ORDERS)
def test_the_budget_is_kept_and_the_attack_ends_without_one(order, world):
    for budget in (1, 7, 30):
        found = run(world, 4, order, budget=budget)
        assert found.queries == budget
        assert found.at.max() <= budget
        assert found.notes["why"] == BudgetSpent.why
    found = run(world, 4, order, patience=5, records=False)
    assert "5" in found.notes["why"]
    assert len(found) >= K


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="order"):
        graph_traversal("sideways")
    for patience in (0, 1.5, True):
        with pytest.raises(InputError, match="patience"):
            graph_traversal(patience=patience)
