"""Networks: graph, tables, probabilities, and the four of [tople2020, Table 1] by name."""

from itertools import combinations, product

import numpy as np
import pytest

from leakscope.causal import NETWORKS, Network, compelled_arcs, load_network
from leakscope.causal.network import configurations, topological_order
from leakscope.core.errors import InputError

# a → c ← b, c → d → f, e → d
ARCS = {"d": ("c", "e"), "a": (), "b": (), "c": ("a", "b"), "e": (), "f": ("d",)}


def made(parents=ARCS, sizes=None, seed=0):
    """A network with random tables."""
    rng = np.random.default_rng(seed)
    sizes = sizes or {name: 2 + place % 2 for place, name in enumerate(parents)}
    tables = {}
    for name, of in parents.items():
        table = rng.random((int(np.prod([sizes[parent] for parent in of])), sizes[name]))
        tables[name] = table / table.sum(axis=1, keepdims=True)
    return Network("made", {name: tuple(f"level {k}" for k in range(sizes[name])) for name in parents}, parents, tables)


def test_order_puts_parents_first_and_keeps_the_columns():
    network = made()
    assert network.names == ("d", "a", "b", "c", "e", "f")
    assert network.order == ("a", "b", "e", "c", "d", "f")


def test_children_and_markov_blanket_by_hand():
    network = made()
    assert network.children("c") == ("d",)
    assert network.children("f") == ()
    assert network.markov_blanket("a") == ("b", "c")
    assert network.markov_blanket("c") == ("d", "a", "b", "e")
    assert network.markov_blanket("d") == ("c", "e", "f")
    assert network.markov_blanket("f") == ("d",)


def test_counts_of_arcs_and_parameters_by_hand():
    network = made()  # levels: d 2, a 3, b 2, c 3, e 2, f 3
    assert network.arcs == 5
    assert network.free_parameters == 3 * 2 * 1 + 2 + 1 + 3 * 2 * 2 + 1 + 2 * 2


def test_configurations_are_those_of_ravel_multi_index():
    rng = np.random.default_rng(0)
    sizes = (3, 2, 5)
    codes = np.column_stack([rng.integers(0, size, 200) for size in sizes]).astype(np.uint8)
    np.testing.assert_array_equal(configurations(codes, [0, 1, 2], sizes), np.ravel_multi_index(codes.T, sizes))
    np.testing.assert_array_equal(configurations(codes, [2, 0], [5, 3]), np.ravel_multi_index(codes.T[[2, 0]], (5, 3)))


def test_probabilities_of_all_rows_are_the_products_of_tables_and_sum_to_one():
    network = made()
    rows = np.array(list(product(*(range(len(of)) for of in network.levels.values()))), np.uint8)
    logs = network.log_probability(rows)
    for row, log in zip(rows[::17], logs[::17], strict=True):
        value = dict(zip(network.names, row, strict=True))
        literal = 1.0
        for name in network.names:
            shape = [len(network.levels[parent]) for parent in network.parents[name]]
            table = network.tables[name].reshape(*shape, -1)
            literal *= table[(*(value[parent] for parent in network.parents[name]), value[name])]
        assert np.exp(log) == pytest.approx(literal, rel=1e-13)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)


def test_a_row_that_cannot_occur_has_log_probability_minus_infinity():
    network = Network("sure", {"x": ("a", "b")}, {}, {"x": np.array([[1.0, 0.0]])})
    assert network.log_probability(np.array([[0], [1]])).tolist() == [0.0, -np.inf]


def test_replaced_tables_leave_the_network_and_the_other_tables():
    network = made()
    table = np.full_like(network.tables["c"], 1 / 3)
    other = network.replace_tables({"c": table})
    assert (other.tables["c"] == table).all()
    assert not (network.tables["c"] == table).any()
    for name in set(network.names) - {"c"}:
        np.testing.assert_array_equal(other.tables[name], network.tables[name])


def test_tables_are_copies_and_stay_the_same_to_the_last_bit():
    given = {"x": np.array([[0.3333333, 0.6666666]])}
    network = Network("x", {"x": ("a", "b")}, {}, given)
    assert given["x"].tolist() == [[0.3333333, 0.6666666]]
    assert network.tables["x"].sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_array_equal(network.replace_tables({}).tables["x"], network.tables["x"])


# --- what data can orient ---------------------------------------------------------------------------------------------


def graphs(names):
    """All directed acyclic graphs over some names."""
    pairs = list(combinations(names, 2))
    for kinds in product((None, 0, 1), repeat=len(pairs)):
        arcs = {(pair[kind], pair[1 - kind]) for pair, kind in zip(pairs, kinds, strict=True) if kind is not None}
        parents = {name: tuple(a for a, b in sorted(arcs) if b == name) for name in names}
        try:
            topological_order(parents)
        except InputError:
            continue
        yield parents, arcs


def test_compelled_arcs_are_those_that_all_equivalent_graphs_share():
    """Verma and Pearl 1990: equivalent graphs are those of the same adjacencies and colliders. All 543 of 4 variables."""
    classes: dict[tuple, list] = {}
    for parents, arcs in graphs("abcd"):
        adjacent = frozenset(frozenset(arc) for arc in arcs)
        colliders = frozenset(
            (frozenset(pair), child)
            for child, of in parents.items()
            for pair in combinations(of, 2)
            if frozenset(pair) not in adjacent
        )
        classes.setdefault((adjacent, colliders), []).append((parents, arcs))
    assert sum(map(len, classes.values())) == 543
    assert len(classes) == 185  # Gillispie and Perlman 2002, Table 1
    for members in classes.values():
        shared = set.intersection(*(arcs for _, arcs in members))
        assert all(compelled_arcs(parents) == shared for parents, _ in members)


# --- the four by name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
def test_named_networks_have_the_counts_of_the_paper_and_labels_without_children(name):
    network, known = load_network(name.title()), NETWORKS[name]
    assert (len(network.names), network.arcs, network.free_parameters) == (known.nodes, known.arcs, known.parameters)
    assert network.children(known.label) == ()
