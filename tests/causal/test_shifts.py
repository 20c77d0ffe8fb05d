"""Other worlds: which tables stay, and what the others become."""

import numpy as np
import pytest
from scipy.special import bdtrc

from leakscope.causal import NETWORKS, Network, intervene, load_network, perturb, redraw


def moved(before, after):
    """Variables whose tables differ."""
    return [name for name in before.names if (before.tables[name] != after.tables[name]).any()]


@pytest.mark.parametrize("name", NETWORKS)
def test_redrawing_keeps_the_label_and_changes_every_number_of_the_rest(name):
    network, label = load_network(name), NETWORKS[name].label
    shifted = redraw(network, [label], seed=1)
    assert shifted.parents == network.parents
    assert shifted.levels == network.levels
    np.testing.assert_array_equal(shifted.tables[label], network.tables[label])
    for variable in set(network.names) - {label}:
        table = shifted.tables[variable]
        assert (table != network.tables[variable]).all()
        assert (table > 0).all()
        np.testing.assert_allclose(table.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_a_redrawn_pair_has_the_law_of_a_uniform_over_a_sum():
    """U/(U + V) ≤ 1/4 iff U ≤ V/3, which has probability 1/6."""
    names = [f"p{k}" for k in range(12)]
    levels = dict.fromkeys((*names, "y"), ("no", "yes"))
    tables = {name: np.full((1, 2), 0.5) for name in names} | {"y": np.full((4096, 2), 0.5)}
    drawn = redraw(Network("wide", levels, {"y": tuple(names)}, tables), [], seed=2).tables["y"][:, 0]
    below = int((drawn <= 0.25).sum())
    assert bdtrc(below - 1, 4096, 1 / 6) > 5e-7
    assert bdtrc(4096 - below - 1, 4096, 5 / 6) > 5e-7


def test_no_noise_is_the_same_network_and_endless_noise_a_redrawn_one():
    child = load_network("child")
    assert moved(child, perturb(child, [], 0.0)) == []
    far, redrawn = perturb(child, ["XrayReport"], 1e9, seed=3), redraw(child, ["XrayReport"], seed=3)
    for name in child.names:
        np.testing.assert_allclose(far.tables[name], redrawn.tables[name], rtol=0, atol=1e-7)


def test_distance_grows_with_the_noise_by_its_closed_form():
    """With D the sum of a row's draws, the row is (1 - w) p + w q, w = noise·D/(1 + noise·D), and q the redrawn row."""
    child = load_network("child")
    q = redraw(child, ["XrayReport"], seed=4)
    unit = perturb(child, ["XrayReport"], 1.0, seed=4)

    def distance(other, name):
        return np.abs(other.tables[name] - child.tables[name]).sum(axis=1) / 2

    last = dict.fromkeys(child.names, 0.0)
    for noise in (0.1, 0.5, 1.0, 2.0):
        world = perturb(child, ["XrayReport"], noise, seed=4)
        assert moved(child, world) == [name for name in child.names if name != "XrayReport"]
        for name in moved(child, world):
            share = distance(unit, name) / distance(q, name)  # D/(1 + D)
            total = share / (1 - share)
            found = distance(world, name)
            expected = noise * total / (1 + noise * total) * distance(q, name)
            np.testing.assert_allclose(found, expected, rtol=1e-9)
            assert (found > last[name]).all()
            last[name] = found


def test_interventions_move_the_tables_that_they_name():
    alarm = load_network("alarm")
    label = "CATECHOL"
    assert moved(alarm, intervene(alarm, "parents", label)) == [n for n in alarm.names if n in alarm.parents[label]]
    assert moved(alarm, intervene(alarm, "children", label)) == ["HR"]
    assert moved(alarm, intervene(alarm, "all", label)) == [name for name in alarm.names if name != label]
    assert moved(alarm, intervene(alarm, ["BP", "HR"], label)) == ["HR", "BP"]
    assert moved(alarm, intervene(alarm, "children", "BP")) == []


def test_a_table_gets_the_same_draw_whatever_else_is_exchanged():
    sachs = load_network("sachs")
    one, whole = intervene(sachs, ["Raf"], "Akt", seed=5), redraw(sachs, ["Akt"], seed=5)
    np.testing.assert_array_equal(one.tables["Raf"], whole.tables["Raf"])
    assert moved(whole, redraw(sachs, "Akt", seed=5)) == []
    assert moved(whole, redraw(sachs, ["Akt"], seed=6)) == [name for name in sachs.names if name != "Akt"]
