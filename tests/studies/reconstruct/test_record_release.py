"""Releases of explanations: what they refuse, and what an honest user still gets."""

import numpy as np
import pytest

from leakscope import InputError
from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
from leakscope.releases.record_explanations.release import RecordRelease, refuse_far_points


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    y = (X[:, 0] + rng.normal(0, 0.3, 80) > 0.5).astype(int)
    return X, y, leave_one_out(X, y), rng.random((50, 3))


@pytest.fixture(scope="module")
def useful_of(world):
    X, y, loo, points = world
    return lambda points=points, **release: RecordRelease(**release).usefulness(loo, X, y, points)


def test_fewer_records_show_their_share_of_the_best_and_nothing_else_is_lost(useful_of):
    for k in (1, 2, 4, 5, 9):
        useful = useful_of(k=k)
        assert useful.found.value == pytest.approx(min(k, 5) / 5)
        assert (useful.answered.value, useful.error.high) == (1.0, 0.0)


def test_rounding_errs_by_at_most_half_a_digit(world, useful_of):
    X, y, loo, points = world
    exact = RecordExplanation(5).explain(loo, points).influences
    for digits in (1, 2, 3, 6):
        useful = useful_of(digits=digits)
        assert useful.found.value == 1.0
        assert 0 < useful.error.low <= useful.error.value <= useful.error.high <= 0.5 * 10.0 ** (1 - digits)
        shown = RecordRelease(digits=digits).oracle(loo, X, y).query(points).influences
        off = np.abs(np.abs(shown) - np.abs(exact)) / np.abs(exact)
        assert useful.error.value == pytest.approx(np.median(np.median(off, axis=1)))


def test_overwhelming_noise_shows_records_at_random(useful_of):
    useful = useful_of(noise=1e6)
    assert useful.found.low <= 5 / 80 <= useful.found.high
    assert useful.error.low > 1e3
    assert useful_of(values=False).error is None  # influences are hidden


def test_far_points_are_refused_by_the_distance_to_the_nearest_record(world):
    X, *_, points = world
    gaps = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    for share in (0.5, 0.9, 1.0):
        limit = np.quantile(gaps.min(axis=1), share)
        expected = np.linalg.norm(points[:, None] - X[None], axis=2).min(axis=1) > limit
        np.testing.assert_array_equal(refuse_far_points(X, share)(points), expected)
        assert not refuse_far_points(X, share)(X).any()


def test_copies_do_not_make_everything_far():
    X = np.repeat(np.arange(10.0)[:, None], 3, axis=0)
    refuse = refuse_far_points(X, 0.99)
    assert refuse(np.array([[4.5], [9.9], [40.0]])).tolist() == [False, False, True]


def test_training_records_are_as_far_off_as_their_nearest_other(world):
    X, y, loo, _ = world
    for share in (0.5, 0.9):
        useful = RecordRelease(near=share).usefulness(loo, X, y, X, trained=True)
        assert abs(useful.answered.value - share) <= 1.5 / len(X)
        assert useful.found.value == pytest.approx(useful.answered.value)


def test_no_more_can_be_shown_than_the_release_shows(world, useful_of):
    for k in (1, 3):
        found = useful_of(world[3][:4], k=k, noise=0.001).found
        assert 0 <= found.low <= found.value <= found.high <= k / 5


def test_refused_queries_are_counted_as_unanswered(world, useful_of):
    X, _, _, points = world
    useful = useful_of(np.vstack([points, points + 50]), near=0.9)
    refused = refuse_far_points(X, 0.9)(points).mean()
    assert useful.answered.value == pytest.approx((1 - refused) / 2)
    assert useful.found.value == pytest.approx((1 - refused) / 2)


def test_every_option_is_in_the_name_of_a_release():
    options = {"k": 1, "values": False, "digits": 3, "decimals": 2, "noise": 0.01, "near": 0.99}
    names = {RecordRelease(**{option: value}).words for option, value in options.items()}
    assert len(names | {RecordRelease().words}) == 1 + len(options)


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"loss": "x"}, {"near": 0.0}, {"near": 1.5}, {"near": "a"}, {"values": "no"}, {"noise": 1e38}]
)
def test_wrong_options_are_told(options):
    with pytest.raises(InputError):
        RecordRelease(**options)
