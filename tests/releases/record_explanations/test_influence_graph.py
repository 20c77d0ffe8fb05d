"""The influence graph of shokri2019, section 5.2.1, against literal searches."""

import numpy as np
import pytest

from leakscope.core.errors import InputError
from leakscope.releases.record_explanations import graph as module
from leakscope.releases.record_explanations.explanation import RecordExplanation, influences
from leakscope.releases.record_explanations.graph import ORDERS, InfluenceGraph, influence_graph
from leakscope.releases.record_explanations.logistic import leave_one_out


def random_graph(seed, records=60, k=2, hubs=20):
    """Targets among a few hubs for most records, so that there are components of several sizes."""
    rng = np.random.default_rng(seed)
    return InfluenceGraph(
        [rng.choice(hubs if rng.random() < 0.8 else records, k, replace=False) for _ in range(records)]
    )


def closure(graph, start):
    """All records that a path of one edge or more leads to, found one by one."""
    reached, waiting = set(), [start]
    while waiting:
        for target in graph.targets[waiting.pop()].tolist():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


@pytest.mark.parametrize("k", [1, 2, 5])
def test_components_are_the_sets_of_records_that_reach_each_other(k):
    graph = random_graph(k, k=k)
    reached = [closure(graph, start) for start in range(len(graph))]
    for one in range(len(graph)):
        for other in range(len(graph)):
            together = one == other or (other in reached[one] and one in reached[other])
            assert (graph.components[one] == graph.components[other]) == together
    assert graph.component_sizes.tolist() == [
        int(np.sum(graph.components == c)) for c in range(graph.components.max() + 1)
    ]
    assert len(graph.component_sizes) < len(graph)  # at least one component has several records: not an empty test
    first = [int(np.argmax(graph.components == c)) for c in range(len(graph.component_sizes))]
    assert first == sorted(first)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("block", [2**14, 7])
def test_reachable_counts_what_a_search_from_each_record_finds(k, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    graph = random_graph(10 + k, k=k)
    wanted = [len(closure(graph, start)) for start in range(len(graph))]
    assert graph.reachable.tolist() == wanted
    assert len(set(wanted)) > 1


def test_in_degrees_count_every_edge_also_those_to_oneself():
    graph = random_graph(3, k=3)
    assert graph.in_degrees.tolist() == [int(np.sum(graph.targets == record)) for record in range(len(graph))]
    assert graph.in_degrees.sum() == graph.targets.size
    assert InfluenceGraph([[0], [0]]).in_degrees.tolist() == [2, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_reveals_the_same_records_with_the_same_number_of_queries(order):
    graph = random_graph(4, k=3)
    for start in range(len(graph)):
        walk, reached = graph.traversal(start, order, seed=start), closure(graph, start)
        assert walk.revealed[-1] == len(reached) == graph.reachable[start]
        assert walk.queries == len(reached | {start})  # every record that is known is asked about once
        assert walk.revealed[0] == 0
        assert np.all((np.diff(walk.revealed) >= 0) & (np.diff(walk.revealed) <= 3))
        assert walk.revealed[walk.queries_needed] == len(reached) > walk.revealed[walk.queries_needed - 1]


def literal_walk(graph, start, last):
    """Which records are asked about, one after the other: the one that was found first, or last."""
    asked, waiting = [], [start]
    while waiting:
        record = waiting.pop(0)
        asked.append(record)
        new = [target for target in graph.targets[record].tolist() if target not in asked and target not in waiting]
        waiting = new + waiting if last else waiting + new
    return asked


@pytest.mark.parametrize(("order", "last"), [("breadth-first", False), ("depth-first", True)])
def test_the_curve_is_that_of_a_literal_walk(order, last):
    graph = random_graph(5, k=3)
    for start in (0, 17, 59):
        asked = literal_walk(graph, start, last)
        wanted = [
            len({t for record in asked[:count] for t in graph.targets[record].tolist()})
            for count in range(len(asked) + 1)
        ]
        assert graph.traversal(start, order).revealed.tolist() == wanted


def test_a_random_traversal_follows_its_seed():
    graph = random_graph(6, records=200, k=3, hubs=150)
    curves = [graph.traversal(0, "random", seed=seed).revealed.tolist() for seed in (1, 1, 2)]
    assert curves[0] == curves[1] != curves[2]


def literal_greedy(graph, start):
    wanted, known, held, queries = closure(graph, start), set(), {start}, 0
    while known != wanted:
        best = max(sorted(held), key=lambda record: len(set(graph.targets[record].tolist()) - known))
        known |= set(graph.targets[best].tolist())
        held |= known
        queries += 1
    return queries


def test_greedy_is_the_literal_greedy_walk_and_spends_no_more_than_a_blind_one():
    graph = random_graph(8, k=3)
    for start in range(len(graph)):
        assert graph.greedy(start) == literal_greedy(graph, start)
        assert graph.greedy(start) >= -(-int(graph.reachable[start]) // 3)  # a query reveals at most k
    blind = sum(graph.traversal(start).queries for start in range(len(graph)))
    assert sum(graph.greedy(start) for start in range(len(graph))) < blind


@pytest.mark.parametrize("loss", ["likelihood", "log"])
def test_the_targets_are_the_records_of_largest_influence(loss):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(40, 3))
    y = (rng.random(40) < 0.5).astype(int)
    loo = leave_one_out(X, y)
    graph = influence_graph(loo, X, RecordExplanation(4, loss), labels=y)
    sizes = np.abs(influences(loo, X, y, loss))
    assert graph.targets.tolist() == [np.argsort(-row, kind="stable")[:4].tolist() for row in sizes]
    if loss == "likelihood":  # whose absolute value doesn't see the label
        assert np.array_equal(influence_graph(loo, X, RecordExplanation(4)).targets, graph.targets)


def test_the_callers_targets_stay_the_callers():
    targets = np.array([[0, 1], [1, 0]])
    graph = InfluenceGraph(targets)
    targets[0, 0] = 9
    assert graph.targets[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        graph.targets[0, 0] = 1


def test_wrong_input_is_refused():
    for targets in ([0, 1], [[0.5]], np.empty((0, 2), int), [[0], [2]], [[0, 0], [0, 1]]):
        with pytest.raises(InputError, match="targets"):
            InfluenceGraph(targets)
    graph = InfluenceGraph([[0], [0]])
    for walk in (graph.traversal, graph.greedy):
        for start in (-1, 2, 0.5, True):
            with pytest.raises(InputError, match="start"):
                walk(start)
    with pytest.raises(InputError, match="order"):
        graph.traversal(0, "sideways")
    loo = leave_one_out([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    with pytest.raises(InputError, match="4"):
        influence_graph(loo, [[0.0]], RecordExplanation(1))
