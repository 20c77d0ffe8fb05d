"""Samples: the law of the tables and of pgmpy, a literal loop, prefixes; codes and frames; tables by counting."""

import numpy as np
import pandas as pd
import pytest
from pgmpy_reference import as_pgmpy, table_of
from scipy.special import chdtri

from leakscope.causal import NETWORKS, Network, draw, fit_table, fit_tables, load_network, redraw, to_codes, to_frame
from leakscope.causal.counting import BLOCK, count_table
from leakscope.causal.sampling import CHUNK

#: Chance that a right sampler fails a test, over all its comparisons.
LEVEL = 1e-6


def garden():
    return Network(
        "garden",
        {"wet": ("no", "yes"), "rain": ("no", "some", "much"), "hose": ("off", "on")},
        {"wet": ("rain", "hose"), "rain": (), "hose": ("rain",)},
        {
            "rain": np.array([[0.0, 0.7, 0.3]]),
            "hose": np.array([[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]),
            "wet": np.array([[1.0, 0.0], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9], [0.0, 1.0], [0.5, 0.5]]),
        },
    )


def counts_of(network, codes, name):
    return count_table(codes, network.place[name], [network.place[of] for of in network.parents[name]], network.sizes)


def distance(counts, table):
    """Chi-square of counts given their row totals against a table, and degrees of freedom.

    Rows where a positive level is expected less than five times are left out: they are chosen by their totals alone, given
    which the counts are multinomial.
    """
    expected = counts.sum(axis=1, keepdims=True) * table
    rows = np.where(table > 0, expected, np.inf).min(axis=1) >= 5
    positive = table[rows] > 0
    square = ((counts - expected)[rows][positive] ** 2 / expected[rows][positive]).sum()
    return square, int((positive.sum(axis=1) - 1).sum())


@pytest.mark.parametrize("name", NETWORKS)
def test_each_family_has_the_law_of_its_table(name):
    """Family by family given the parents: together that is the joint law."""
    network = load_network(name)
    codes = draw(network, 150_000, seed=3)
    for variable, table in network.tables.items():
        counts = counts_of(network, codes, variable)
        assert counts[table == 0].sum() == 0
        square, freedom = distance(counts, table)
        if freedom:
            assert square < chdtri(freedom, LEVEL / len(network.names)), variable
    assert np.isfinite(network.log_probability(codes)).all()


@pytest.mark.parametrize("name", ["child", "sachs"])
def test_the_label_given_its_parents_keeps_its_law_in_a_shifted_world(name):
    """And another variable does not, so that the comparison can tell."""
    network, label = load_network(name), NETWORKS[name].label
    codes = draw(redraw(network, [label], seed=7), 100_000, seed=8)
    for variable, least, most in ((label, 0, 1), (network.parents[label][0], 10, np.inf)):
        square, freedom = distance(counts_of(network, codes, variable), network.tables[variable])
        assert least < square / chdtri(freedom, LEVEL) < most


def test_a_literal_loop_draws_the_same_rows_bit_for_bit():
    """Row by row: the first level whose rounded cumulative probability is above the uniform number."""
    network, n = garden(), CHUNK + 500
    ends: dict[str, list[list[int]]] = {name: [] for name in network.names}
    for name, table in network.tables.items():
        for row in table:
            cumulative = np.cumsum(row)
            cumulative[np.flatnonzero(row)[-1] :] = 1.0
            ends[name].append([round(float(up_to) * 2**31) for up_to in cumulative])
    rows = []
    for child in np.random.SeedSequence(7).spawn(2):
        generator = np.random.PCG64(child)
        uniform = {}
        for name in network.order:
            raw = [int(number) for number in generator.random_raw(CHUNK // 2)]
            uniform[name] = [half >> 1 for number in raw for half in (number & 0xFFFFFFFF, number >> 32)]
        for row in range(min(CHUNK, n - len(rows))):
            value: dict[str, int] = {}
            for name in network.order:
                number = 0
                for parent in network.parents[name]:
                    number = number * len(network.levels[parent]) + value[parent]
                value[name] = next(level for level, end in enumerate(ends[name][number]) if end > uniform[name][row])
            rows.append([value[name] for name in network.names])
    np.testing.assert_array_equal(draw(network, n, seed=7), np.array(rows))


def test_rows_do_not_depend_on_how_many_are_drawn():
    network = load_network("sachs")
    whole = draw(network, 2 * CHUNK + 100, seed=1)
    for n in (1, 999, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK):
        np.testing.assert_array_equal(draw(network, n, seed=1), whole[:n])
    assert whole.dtype == np.uint8
    assert whole.flags.f_contiguous


def test_seeds_and_seed_sequences():
    network = garden()
    sequence = np.random.SeedSequence(9)
    first = draw(network, 300, sequence)
    np.testing.assert_array_equal(first, draw(network, 300, sequence))  # drawing does not use the sequence up
    np.testing.assert_array_equal(first, draw(network, 300, 9))
    assert (first != draw(network, 300, sequence.spawn(1)[0])).any()
    assert (first != draw(network, 300, 10)).any()


def test_many_levels_and_parents_with_one_level():
    """256 levels fill a byte; a parent of one level has no say."""
    names = tuple(map(str, range(256)))
    tables = {"one": np.ones((1, 1)), "many": np.full((1, 256), 1 / 256), "copy": np.eye(256)}
    parents = {"copy": ("one", "many")}
    codes = draw(Network("wide", {"copy": names, "many": names, "one": ("x",)}, parents, tables), 50_000)
    np.testing.assert_array_equal(codes[:, 0], codes[:, 1])
    assert set(codes[:, 1]) == set(range(256))
    assert not codes[:, 2].any()


def test_probabilities_below_the_grid_are_rounded_and_zero_at_either_end_never_occurs():
    table = np.array([[0.0, 2.0**-40, 1 - 2.0**-40, 0.0]])
    codes = draw(Network("edge", {"x": tuple("abcd")}, {}, {"x": table}), 100_000)
    assert set(codes[:, 0]) == {2}


# --- frames -----------------------------------------------------------------------------------------------------------


def test_frames_there_and_back_in_any_order_of_columns():
    network = load_network("child")
    codes = draw(network, 500)
    frame = to_frame(network, codes)
    assert frame["Disease"].tolist() == [network.levels["Disease"][code] for code in codes[:, network.place["Disease"]]]
    np.testing.assert_array_equal(to_codes(network, frame[sorted(frame.columns)].astype("str")), codes)


def test_numbers_are_read_as_texts():
    network = Network("die", {"x": ("1", "2")}, {}, {"x": np.array([[0.5, 0.5]])})
    assert to_codes(network, pd.DataFrame({"x": [2, 1, 2]})).ravel().tolist() == [1, 0, 1]


# --- counting ---------------------------------------------------------------------------------------------------------


def test_counted_tables_are_those_of_pgmpy():
    child = load_network("child")
    codes = draw(child, 2000, seed=2)
    with as_pgmpy(child, codes) as (model, records):
        from pgmpy.estimators import MaximumLikelihoodEstimator

        cpds = MaximumLikelihoodEstimator(model, **records).get_parameters(n_jobs=1)
    fitted = fit_tables(child, codes)
    for cpd in cpds:
        np.testing.assert_allclose(fitted.tables[cpd.variable], table_of(cpd, child), rtol=0, atol=1e-14)


def test_counts_are_those_of_a_loop_and_unseen_configurations_get_equal_shares():
    codes = np.array([[0, 1, 0], [0, 1, 1], [0, 1, 1], [1, 0, 2]], np.uint8)
    counts = np.zeros((2, 2, 3), int)
    for a, b, c in codes:
        counts[a, b, c] += 1
    np.testing.assert_array_equal(count_table(codes, 2, [0, 1], [2, 2, 3]), counts.reshape(4, 3))
    third = 1 / 3
    np.testing.assert_array_equal(
        fit_table(codes, 2, [0, 1], [2, 2, 3]), [[third] * 3, [third, 2 / 3, 0], [0, 0, 1], [third] * 3]
    )


def test_counts_over_several_blocks_and_types_are_those_of_ravel_multi_index():
    sizes_of = [2, 3, 7, 1, 256]
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, size, 2 * BLOCK + 5) for size in sizes_of])
    for parents in ([], [3], [0, 1], [4, 2, 1], [3, 4]):
        columns = [*parents, 0] if 0 not in parents else [*parents, 2]
        shape = [sizes_of[column] for column in columns]
        flat = np.ravel_multi_index(codes.T[columns], shape)
        expected = np.bincount(flat, minlength=int(np.prod(shape))).reshape(-1, shape[-1])
        for kind in (np.uint8, np.int16, np.int64):
            found = count_table(codes.astype(kind), columns[-1], columns[:-1], sizes_of)
            np.testing.assert_array_equal(found, expected)


def test_counting_takes_another_graph():
    network = garden()
    fitted = fit_tables(network, draw(network, 100), {"rain": (), "hose": (), "wet": ("rain",)})
    assert fitted.parents == {"wet": ("rain",), "rain": (), "hose": ()}
    assert fitted.tables["wet"].shape == (3, 2)
