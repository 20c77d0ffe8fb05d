"""Appendix F of shokri2019: which records can be revealed, against a search over many points."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import expit

from leakscope.core.errors import InputError
from leakscope.releases.oracle import Oracle
from leakscope.releases.record_explanations.explanation import RecordExplanation
from leakscope.releases.record_explanations.logistic import LeaveOneOut
from leakscope.releases.record_explanations.revelation import case, revealable, revealing_points, tangents

#: Dense near zero, and reaching far out on both sides.
POINTS = np.concatenate([np.linspace(-12, 12, 2401), np.geomspace(12, 300, 300), -np.geomspace(12, 300, 300)])


def log_influences(w, b, coef, intercept, y):
    """log|σ(w_i y + b_i) − σ(wy + b)| (points, records), by |σ(s) − σ(t)| = sinh(|s − t|/2) / (2 cosh(s/2) cosh(t/2))."""
    y = np.atleast_1d(y)[:, None]
    gap, line = np.abs((coef - w) * y + (intercept - b)), np.abs(coef * y + intercept)
    full = np.abs(w * y + b)
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(-gap)) + (gap - line - full) / 2 - np.log1p(np.exp(-line)) - np.log1p(np.exp(-full))


def search(w, b, coef, intercept, points=POINTS):
    """Records that one of many points reveals, with a lead above rounding."""
    logs = log_influences(w, b, np.asarray(coef), np.asarray(intercept), points)
    first = logs.argmax(axis=1)
    ordered = np.sort(logs, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-9 if logs.shape[1] > 1 else np.ones(len(points), bool)
    return set(first[clear].tolist())


def shown_at(w, b, coef, intercept, y):
    """The record that y reveals, in decimals of 400 digits: the first of the largest."""
    exact = [Decimal(float(value)) for value in (w, b, y)]

    def probability(slope, constant):
        return 1 / (1 + (-(slope * exact[2] + constant)).exp())

    with localcontext(prec=400):
        full = probability(*exact[:2])
        lines = zip(map(float, coef), map(float, intercept), strict=True)
        sizes = [abs(probability(Decimal(slope), Decimal(constant)) - full) for slope, constant in lines]
        return sizes.index(max(sizes))


def world(kind, rng, records):
    """Random models: in general position, parallel, crossing in one point, or near to each other."""
    w, b = rng.normal(0, 1), rng.normal(0, 1)
    if kind == "parallel":
        return w, b, np.full(records, w), b + rng.normal(0, 1, records)
    if kind == "crossing":
        y, coef = rng.normal(0, 2), w + rng.normal(0, 1, records)
        return w, b, coef, (w - coef) * y + b
    spread = 1.0 if kind == "general" else 0.01
    return w, b, w + rng.normal(0, spread, records), b + rng.normal(0, spread, records)


@pytest.mark.parametrize("kind", ["general", "near", "parallel", "crossing"])
@pytest.mark.parametrize("records", [2, 3, 8])
def test_records_that_can_be_revealed_are_those_that_a_search_finds(kind, records):
    rng = np.random.default_rng(records)
    more = 0
    for _ in range(25):
        models = world(kind, rng, records)
        found, by_search = revealing_points(*models), search(*models)
        assert sorted(found) == revealable(*models).tolist()
        assert by_search <= set(found)
        for record in set(found) - by_search:  # between two points of the grid: the point itself is the proof
            assert shown_at(*models, found[record]) == record
            more += 1
    assert more <= 5  # such windows are rare: otherwise the search would test little


@pytest.mark.parametrize("kind", ["general", "parallel", "crossing"])
@pytest.mark.parametrize("records", [2, 5])
def test_lemma_f1_at_least_two_records_can_be_revealed_in_case_4_and_one_in_the_others(kind, records):
    # [shokri2019, Lemma F.1, corrected]
    rng = np.random.default_rng(100 + records)
    seen = set()
    for _ in range(30):
        models = world(kind, rng, records)
        number = case(*models)
        seen.add(number)
        assert (number == 4) == (len(revealable(*models)) >= 2)
        assert (number == 4) or len(search(*models)) <= 1
    wanted = {("general", 2): {4}, ("general", 5): {4}, ("parallel", 2): {1, 3, 4}, ("parallel", 5): {1, 3, 4}}
    assert seen == wanted.get((kind, records), {2, 4})


def test_lemma_f1_as_printed_fails_where_lines_cross_in_one_point():
    # Its case 2 says one record; near the crossing the far slope wins, far out the slope that is nearer to zero.
    models = 1.0, 0.0, [0.5, 2.0], [0.0, 0.0]
    shown = [int(np.argmax(np.abs(expit(np.array([0.5, 2.0]) * y) - expit(y)))) for y in (0.5, 5.0)]
    assert shown == [1, 0]
    assert revealable(*models).tolist() == [0, 1]
    assert case(*models) == 4


def test_lemma_f1_as_printed_fails_for_parallel_lines():
    # b is below log((e^b1 + e^bm)/2) in both worlds, its condition for one record; one has two.
    for shifts, number in (([-1.0, 2.0], 4), ([-0.5, 9.0], 3)):
        assert math.log(np.exp(shifts).mean()) > 0
        assert case(1.0, 0.0, [1.0, 1.0], shifts) == number
        assert len(search(1.0, 0.0, np.ones(2), np.array(shifts))) == (2 if number == 4 else 1)
    # Without a slope nothing depends on the point: one record, though 0 lies between the two means.
    assert case(0.0, 0.0, [0.0, 0.0], [-1.0, 2.0]) == 3
    assert revealable(0.0, 0.0, [0.0, 0.0], [-1.0, 2.0]).tolist() == [1]


@pytest.mark.parametrize("low", [-2.0, -0.8, -0.3])
@pytest.mark.parametrize("high", [0.2, 0.9, 3.0])
@pytest.mark.parametrize("w", [0.7, -1.3])
def test_parallel_lines_reveal_two_records_exactly_between_the_harmonic_and_the_arithmetic_mean(low, high, w):
    edges = -math.log(np.exp([-low, -high]).mean()), math.log(np.exp([low, high]).mean())
    for edge, inward in zip(edges, (1, -1), strict=True):
        for b, number in ((edge + inward * 1e-6, 4), (edge - inward * 1e-6, 3)):
            models = w, b, [w, w], [low, high]
            assert case(*models) == number
            assert len(revealable(*models)) == (2 if number == 4 else 1)


def widest_crossing(w, p, q):
    """The largest |t₀| at which the slope that reaches p towards zero wins everywhere: the supremum of the module."""
    s = np.geomspace(1e-4, 200, 400_000)
    with np.errstate(over="ignore"):
        top, bottom = np.exp(-w * s) * (1 + np.exp(-(p + q) * s) - 2 * np.exp(-q * s)), 1 + np.exp(-(p + q) * s)
        return -math.log((top / (bottom - 2 * np.exp(-p * s))).max())


@pytest.mark.parametrize(("w", "p", "q"), [(1.0, 0.5, 0.2), (1.0, 2.5, 1.0), (0.3, 0.9, 0.8), (2.0, 1.0, 0.1)])
@pytest.mark.parametrize("side", [1, -1])
def test_lines_through_one_point_reveal_one_record_up_to_the_height_of_the_crossing(w, p, q, side):
    height = widest_crossing(w, p, q)
    assert height > 0
    for t, number in ((0.99 * height, 2), (1.01 * height, 4), (-0.99 * height, 2), (-1.01 * height, 4)):
        slopes = side * w, side * np.array([w - p, w + q])
        assert case(slopes[0], t, slopes[1], np.full(2, t)) == number
        assert len(revealable(slopes[0], t, slopes[1], np.full(2, t))) == (1 if number == 2 else 2)
        assert (
            case(slopes[0], t, side * np.array([w - q, w + p]), np.full(2, t)) == 4
        )  # the far slope leads only nearby


def test_equal_slopes_on_both_sides_tie_only_at_a_crossing_in_the_middle():
    assert case(1.0, 0.0, [0.5, 1.5], [0.0, 0.0]) == 2
    assert revealable(1.0, 0.0, [1.5, 0.5], [0.0, 0.0]).tolist() == [1]
    assert case(1.0, 0.1, [0.5, 1.5], [0.1, 0.1]) == 4
    # With a flat model in the middle the two are equal everywhere: the first is shown.
    assert revealable(0.0, 0.0, [1.0, -1.0], [0.0, 0.0]).tolist() == [0]
    assert case(0.0, 0.0, [1.0, -1.0], [0.0, 0.0]) == 2


def test_equal_models_are_one_and_models_without_influence_none():
    assert revealable(1.0, 0.0, [2.0, 2.0, 2.0], [1.0, 1.0, 1.0]).tolist() == [0]
    assert revealable(1.0, 0.0, [1.0, 1.0], [0.0, 0.0]).tolist() == [0]
    assert revealable(1.0, 0.0, [1.0, 1.5, 1.5], [0.0, 1.0, 1.0]).tolist() == [1]


def test_probabilities_that_float64_can_not_tell_apart_are_told_apart():
    # With w = b = 0 the higher line wins exactly where U + L > 0; at these heights all probabilities are 0 or 1.
    assert revealable(0.0, 0.0, [0.0, 0.0], [800.0, -900.0]).tolist() == [1]
    assert revealable(0.0, 0.0, [0.0, 0.0], [900.0, -800.0]).tolist() == [0]
    # And shifts of 1e-7 to both sides, whose influences differ by 1e-14, reveal both: 0 is between the two means.
    assert revealable(1.0, 0.0, [1.0, 1.0], [1e-7, -1e-7]).tolist() == [0, 1]
    assert case(1.0, 0.0, [1.0, 1.0], [1e-7, -1e-7]) == 4
    assert revealable(0.0, 2948.0, [0.0, 0.0], [2948.0, 2948.0]).tolist() == [0]


@pytest.mark.parametrize("m", [1, 2, 3, 7, 50, 400])
def test_lemma_f2_every_record_of_the_tangents_is_revealed_through_the_oracle(m):
    # [shokri2019, Lemma F.2, corrected]
    made = tangents(m)
    oracle = Oracle.of(made.models, made.points[:, None], np.arange(m) % 2, RecordExplanation(k=1))
    assert oracle.query(made.points[:, None]).records.ravel().tolist() == list(range(m))
    assert revealable(0.0, 0.0, made.coef, made.intercept).tolist() == list(range(m))


def test_lemma_f2_as_printed_leaves_records_out():
    k = np.arange(1, 5)
    coef, intercept = 2.0 * k, -1.0 * k**2  # f = 1/(1 + e^(-wy + b)) in the paper: its b is minus ours
    loo = LeaveOneOut(coef[:, None], intercept, np.zeros(1), 0.0, 0.0)
    shown = RecordExplanation(k=1).explain(loo, k[:, None].astype(float)).records.ravel()
    assert shown.tolist() == [3, 1, 2, 3]  # record 1 is not revealed at y = 1
    assert revealable(0.0, 0.0, coef, intercept).tolist() == [1, 2, 3]  # nor anywhere else
    assert search(0.0, 0.0, coef, intercept) == {1, 2, 3}


def test_wrong_input_is_refused():
    for models in ((1.0, 0.0, [], []), (1.0, 0.0, [1.0], [1.0, 2.0]), (1.0, 0.0, [[1.0]], [[1.0]])):
        with pytest.raises(InputError, match="coef"):
            revealable(*models)
    with pytest.raises(InputError, match="intercept"):
        case(math.nan, 0.0, [1.0], [1.0])
    with pytest.raises(InputError, match=r"^m"):
        tangents(0)
