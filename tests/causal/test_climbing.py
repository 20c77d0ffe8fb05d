"""Hill climbing: scores by hand and by pgmpy, the path of a literal climber, tops of hills, and what data can't orient."""

import math
from collections import Counter

import numpy as np
import pytest
from pgmpy_reference import as_pgmpy

from leakscope.causal.climbing import LEAST_GAIN, WEIGHTS, _Families, bic, climb, learned_parents, parent_confidence
from leakscope.causal.named import NETWORKS, load_network
from leakscope.causal.network import Network, compelled_arcs, topological_order
from leakscope.causal.sampling import draw
from leakscope.core.errors import InputError


def literal_score(codes, parents, levels, weight):
    """The definition in the module's docstring, row by row."""
    names = list(parents)
    total = 0.0
    for column, (_, of) in enumerate(parents.items()):
        others = [names.index(parent) for parent in of]
        family = Counter(tuple(row[[*others, column]].tolist()) for row in codes)
        given = Counter(tuple(row[others].tolist()) for row in codes)
        total += sum(count * math.log(count / given[cell[:-1]]) for cell, count in family.items())
        total -= weight * math.prod(levels[other] for other in others) * (levels[column] - 1)
    return total


def neighbours(parents):
    """All graphs one change away: arcs added, removed, turned, in the order in which ties are broken."""
    arcs = {(parent, child) for child, of in parents.items() for parent in of}
    found = [[], [], []]
    for a in parents:
        for b in parents:
            if a != b and (a, b) not in arcs and (b, a) not in arcs:
                found[0].append(arcs | {(a, b)})
            if (a, b) in arcs:
                found[1].append(arcs - {(a, b)})
                found[2].append(arcs - {(a, b)} | {(b, a)})
    for changed in (*found[0], *found[1], *found[2]):
        graph = {name: tuple(a for a in parents if (a, name) in changed) for name in parents}
        try:
            topological_order(graph)
        except InputError:
            continue
        yield graph


def literal_climb(codes, names, levels, weight):
    here = dict.fromkeys(names, ())
    height = literal_score(codes, here, levels, weight)
    while True:
        options = [
            (round(literal_score(codes, graph, levels, weight) - height, 6), graph) for graph in neighbours(here)
        ]
        gain, best = max(options, key=lambda option: option[0])  # the first of those that tie
        if gain < LEAST_GAIN:
            return here
        here, height = best, height + gain


def chain(n, seed=0):
    """Chain a → b → c with 3 levels each: a copy with probability 0.7, else another at random."""
    copies = np.full((3, 3), 0.15) + 0.55 * np.eye(3)
    levels = dict.fromkeys("abc", ("0", "1", "2"))
    tables = {"a": np.full((1, 3), 1 / 3), "b": copies, "c": copies}
    return draw(Network("chain", levels, {"b": ("a",), "c": ("b",)}, tables), n, seed)


def noisy(seed, n, d=4):
    """A few variables of 2 and 3 levels that depend on each other, for comparisons with literal code."""
    rng = np.random.default_rng(seed)
    levels = [2 + k % 2 for k in range(d)]
    codes = np.zeros((n, d), np.uint8)
    for column, size in enumerate(levels):
        mixed = codes[:, :column] @ rng.integers(0, 3, column) + (rng.random(n) < 0.4) * rng.integers(0, size, n)
        codes[:, column] = mixed % size
    return codes, [f"v{k}" for k in range(d)], levels


# --- scores -----------------------------------------------------------------------------------------------------------


def test_bic_is_the_literal_sum():
    codes, names, levels = noisy(0, 200)
    parents = {"v0": (), "v1": ("v0",), "v2": ("v0", "v3"), "v3": ("v1",)}
    assert list(parents) == names
    assert bic(codes, parents, levels) == pytest.approx(
        literal_score(codes, parents, levels, math.log(200) / 2), rel=1e-12
    )


def test_bic_is_pgmpys():
    child = load_network("child")
    codes = draw(child, 1000, seed=1)
    with as_pgmpy(child, codes) as (model, records):
        from pgmpy.estimators import BIC

        theirs = BIC(**records).score(model)
    assert bic(codes, child.parents, child.sizes) == pytest.approx(theirs, rel=1e-10)


def test_families_that_are_not_counted_score_below_the_variable_alone():
    """And so are in no best graph: few rows, where most families are left out."""
    codes, _, levels = noisy(3, 25, d=5)
    levels = [size + 3 for size in levels]  # levels that never occur cost what those that do cost
    weight = WEIGHTS["bic"](25)
    families = _Families(codes, levels, weight)
    left_out = 0
    for child in range(5):
        others = [column for column in range(5) if column != child]
        alone = literal_family(codes, child, (), levels, weight)
        for parent in others:
            gains = families.gains(child, np.array([parent]))
            for joined in set(others) - {parent}:
                score = literal_family(codes, child, (parent, joined), levels, weight)
                if gains[joined] == -np.inf:
                    left_out += 1
                    assert score < alone
                else:
                    before = literal_family(codes, child, (parent,), levels, weight)
                    assert gains[joined] == pytest.approx(score - before, abs=1e-9)
            assert gains[child] == -np.inf
    assert left_out > 5


def literal_family(codes, child, parents, levels, weight):
    kept = [*parents, child]
    graph = {str(column): () for column in parents} | {str(child): tuple(map(str, parents))}
    whole = literal_score(codes[:, kept], graph, [levels[column] for column in kept], weight)
    graph[str(child)] = ()
    bare = literal_score(codes[:, kept], graph, [levels[column] for column in kept], weight)
    size, n = levels[child], len(codes)
    counts = np.bincount(codes[:, child])
    alone = sum(count * math.log(count / n) for count in counts if count) - weight * (size - 1)
    return whole - bare + alone


# --- climbing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "score"), [(0, "bic"), (1, "bic"), (2, "bic"), (0, "aic"), (1, "aic")])
def test_it_goes_the_way_of_a_literal_climber(seed, score):
    codes, names, levels = noisy(seed, 150)
    assert climb(codes, names, levels, score=score) == literal_climb(codes, names, levels, WEIGHTS[score](150))


@pytest.mark.parametrize("patience", [0, 5])
def test_no_single_change_of_the_answer_gains(patience):
    sachs = load_network("sachs")
    codes = draw(sachs, 1000, seed=2)
    found = climb(codes, sachs.names, sachs.sizes, patience=patience)
    height = bic(codes, found, sachs.sizes)
    assert topological_order(found)
    assert max(bic(codes, graph, sachs.sizes) for graph in neighbours(found)) < height + 2 * LEAST_GAIN


def test_patience_never_lowers_the_score_and_here_leaves_a_lower_hill():
    sachs = load_network("sachs")
    codes = draw(sachs, 10_000, seed=1)
    plain, patient = (climb(codes, sachs.names, sachs.sizes, patience=patience) for patience in (0, 10))
    assert bic(codes, patient, sachs.sizes) > bic(codes, plain, sachs.sizes) + 1
    assert bic(codes, patient, sachs.sizes) >= bic(codes, sachs.parents, sachs.sizes) - LEAST_GAIN


def test_more_orders_never_lower_the_score_and_are_the_same_for_the_same_seed():
    child = load_network("child")
    codes = draw(child, 3000, seed=1)
    found = [climb(codes, child.names, child.sizes, orders=orders, seed=2) for orders in (1, 2, 4, 4)]
    heights = [bic(codes, graph, child.sizes) for graph in found]
    assert heights[0] <= heights[1] <= heights[2]
    assert heights[0] < heights[2]
    assert found[2] == found[3]


def test_a_collider_is_oriented_whatever_the_order_of_columns_with_patience():
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 3, (2, 4000))
    columns = {"a": a, "b": b, "sum": (a + b + (rng.random(4000) < 0.2)) % 3}
    for order in (("a", "b", "sum"), ("sum", "b", "a"), ("b", "sum", "a")):
        codes = np.column_stack([columns[name] for name in order])
        found = climb(codes, order, [3, 3, 3], patience=5)
        assert {name: set(of) for name, of in found.items()} == {"a": set(), "b": set(), "sum": {"a", "b"}}


def test_a_chain_is_found_but_its_direction_is_the_order_of_columns():
    codes = chain(2000)
    assert climb(codes, "abc", [3, 3, 3]) == {"a": (), "b": ("a",), "c": ("b",)}
    assert climb(codes[:, ::-1], "cba", [3, 3, 3]) == {"c": (), "b": ("c",), "a": ("b",)}
    assert compelled_arcs({"a": (), "b": ("a",), "c": ("b",)}) == set()


def test_order_of_rows_names_of_levels_and_layout_do_not_matter_and_nothing_is_edited():
    codes, names, levels = noisy(6, 300)
    kept = codes.copy()
    found = climb(codes, names, levels)
    rng = np.random.default_rng(0)
    assert climb(rng.permutation(codes), names, levels) == found
    assert climb((np.array(levels) - 1 - codes).astype(np.int64), names, levels) == found
    assert climb(np.asfortranarray(codes), names, levels) == found
    np.testing.assert_array_equal(codes, kept)


def test_limits_and_knowledge_from_outside_hold():
    codes, names, levels = noisy(7, 2000)
    free = climb(codes, names, levels)
    assert max(map(len, free.values())) > 1
    assert max(map(len, climb(codes, names, levels, most_parents=1).values())) == 1
    child = next(name for name in names if free[name])
    parent = free[child][0]
    assert parent not in climb(codes, names, levels, forbidden=[(parent, child)])[child]
    apart = climb(codes, names, levels, forbidden=[(parent, child), (child, parent)])
    assert parent not in apart[child]
    assert child not in apart[parent]
    assert child in climb(codes, names, levels, required=[(child, parent)])[parent]
    assert climb(codes, names, levels, start=free) == free


def test_a_start_with_families_too_large_for_the_data_is_climbed_out_of():
    codes, names, levels = noisy(8, 20, d=6)
    found = climb(codes, names, levels, start={"v5": tuple(names[:5])})
    assert len(found["v5"]) < 5


def test_progress_counts_the_changes():
    codes, names, levels = noisy(9, 300)
    calls = []
    found = climb(codes, names, levels, progress=lambda *call: calls.append(call))
    assert [call[1] for call in calls] == list(range(1, len(calls) + 1))
    assert len(calls) >= sum(map(len, found.values()))


# --- the parents of a label -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
def test_a_label_known_to_have_no_children_gets_its_true_parents(name):
    """[tople2020, section 4.1]: "a simple hill-climbing algorithm outputs the true causal parents"."""
    network, label = load_network(name), NETWORKS[name].label
    codes = draw(network, 20_000, seed=1)
    found = learned_parents(codes, network.names, network.sizes, label, no_children=True)
    assert set(found) == set(network.parents[label])


def test_data_orient_the_arcs_into_the_label_for_two_of_the_four_networks():
    """Of Sachs they orient no arc at all: climbing that finds Akt's parents owes it to the order of columns."""
    oriented = {}
    for name, known in NETWORKS.items():
        network = load_network(name)
        arcs = compelled_arcs(network.parents)
        oriented[name] = all((parent, known.label) in arcs for parent in network.parents[known.label])
    assert oriented == {"child": True, "alarm": True, "sachs": False, "water": False}
    assert compelled_arcs(load_network("sachs").parents) == set()


def test_confidence_is_the_share_of_resamples():
    codes = chain(400)
    shares = parent_confidence(codes, "abc", [3, 3, 3], "b", resamples=8, seed=1)
    assert list(shares) == ["a", "c"]
    assert (shares["a"].parent.value, shares["a"].neighbour.value) == (1.0, 1.0)
    rng = np.random.default_rng(1)
    children = ["b" in climb(codes[rng.integers(0, 400, 400)], "abc", [3, 3, 3])["c"] for _ in range(8)]
    assert shares["c"].parent.value + np.mean(children) == pytest.approx(shares["c"].neighbour.value)
    assert shares["a"].parent.low == pytest.approx(0.025 ** (1 / 8))  # Clopper and Pearson with 8 of 8
