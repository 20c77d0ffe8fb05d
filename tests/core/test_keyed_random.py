"""Random numbers by key: uniform, independent, and the same for the same key."""

import math

import numpy as np
import pytest

from leakscope.core.keyed_random import uniforms

GOLDEN, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1


def literal(state, count):
    """SplitMix64, number by number."""

    def mix(bits):
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & WORD
        return bits ^ (bits >> 31)

    state, found = mix(state), []
    for _ in range(count):
        state = (state + GOLDEN) & WORD
        found.append(((mix(state) >> 11) + 0.5) / 2**53)
    return found


def test_each_key_starts_a_stream_of_its_own():
    keys = np.random.default_rng(0).integers(0, 1 << 63, 20, dtype=np.uint64)
    secret = int(np.random.SeedSequence(3).generate_state(1, np.uint64)[0])
    np.testing.assert_array_equal(uniforms(keys, 5, seed=3), [literal(int(key) ^ secret, 5) for key in keys])
    np.testing.assert_array_equal(uniforms(keys[::-1], 2, seed=3), uniforms(keys, 5, seed=3)[::-1, :2])


@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_are_uniform_and_independent_even_of_neighbouring_keys(seed):
    n, count = 20_000, 6
    found = uniforms(np.arange(n, dtype=np.uint64), count, seed)
    assert ((found > 0) & (found < 1)).all()
    # Kolmogorov's distance at p = 0.0001 for each column, and four standard errors for each of the correlations.
    assert np.abs(np.sort(found, axis=0) - np.linspace(0, 1, n)[:, None]).max() < 2.2 / math.sqrt(n)
    columns = np.column_stack([found[:-1], found[1:], uniforms(np.arange(n - 1, dtype=np.uint64), count, seed + 7)])
    correlations = np.corrcoef(columns.T) - np.eye(3 * count)
    assert np.abs(correlations).max() < 4.5 / math.sqrt(n)
