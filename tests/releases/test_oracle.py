"""The oracle: what it says, counts, rounds, refuses, and that it holds nothing else."""

import numpy as np
import pytest

from leakscope import InputError
from leakscope.releases.oracle import BudgetSpent, Collector, Oracle, OracleAnswer, Prior, Reconstruction, round_digits
from leakscope.releases.record_explanations import RecordExplanation, influences, leave_one_out


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = np.where(X[:, 0] + rng.normal(size=30) > 0, "yes", "no")
    return X, y, leave_one_out(X, y), rng.normal(size=(20, 3))


@pytest.fixture
def oracle_of(world):
    X, y, loo, _ = world
    return lambda k=5, **options: Oracle.of(loo, X, y, RecordExplanation(k), **options)


def test_an_answer_is_the_explanation(world, oracle_of):
    X, y, loo, points = world
    answer = oracle_of(k=4).query(points)
    expected = RecordExplanation(k=4).explain(loo, points)
    np.testing.assert_array_equal(answer.records, expected.records)
    np.testing.assert_array_equal(answer.influences, expected.influences)
    np.testing.assert_array_equal(answer.predictions, loo.probabilities(points))
    np.testing.assert_array_equal(answer.shown, np.unique(expected.records))
    np.testing.assert_array_equal(answer.rows, X[answer.shown])
    np.testing.assert_array_equal(answer.labels, y[answer.shown])


def test_queries_are_counted_and_the_budget_holds(world, oracle_of):
    points = world[3]
    oracle = oracle_of(k=1, budget=25)
    oracle.query(points)
    assert (oracle.queries, oracle.remaining) == (20, 5)
    with pytest.raises(BudgetSpent):
        oracle.query(points[:6])
    assert oracle.queries == 20
    oracle.query(points[:5])
    assert oracle.remaining == 0
    assert oracle_of(k=1).remaining == np.inf


def test_influences_can_be_hidden_and_rounded(world, oracle_of):
    points = world[3]
    assert oracle_of(values=False).query(points).influences is None
    full = oracle_of().query(points)
    rounded = oracle_of(digits=3, decimals=2).query(points)
    np.testing.assert_array_equal(rounded.records, full.records)
    assert all(
        float(f"{a:.2e}") == pytest.approx(b, rel=1e-15)
        for a, b in zip(full.influences.flat, rounded.influences.flat, strict=True)
    )
    np.testing.assert_allclose(rounded.predictions, full.predictions, atol=0.005)
    assert np.allclose(100 * rounded.predictions, np.round(100 * rounded.predictions))


@pytest.mark.parametrize("digits", range(1, 17))
def test_rounding_to_digits_is_what_printing_does(digits):
    values = np.random.default_rng(digits).normal(size=200) * 10.0 ** np.arange(-100, 100)
    expected = [float(f"{value:.{digits - 1}e}") for value in values]
    # Halves may go either way at the last digit of float64.
    np.testing.assert_allclose(
        round_digits(values, digits), expected, rtol=1e-15 + (digits > 14) * 10.0 ** (1 - digits)
    )


def test_the_smallest_numbers_stay_what_they_are():
    values = np.array([0.0, 5e-324, 1e-310, -1e-290])
    np.testing.assert_array_equal(round_digits(values, 3), values)


def test_noise_is_fresh_for_each_query_and_the_seed_repeats_it(world, oracle_of):
    points, first = world[3], oracle_of(noise=0.1, seed=1)
    one, two = first.query(points), first.query(points)
    assert not np.array_equal(one.influences, two.influences)
    again = oracle_of(noise=0.1, seed=1).query(points)
    np.testing.assert_array_equal(again.influences, one.influences)


def test_noise_has_its_deviation(world, oracle_of):
    point = np.zeros((2000, 3))
    answer = oracle_of(k=30, noise=0.5).query(point)
    true = influences(world[2], point[:1])[0]
    errors = answer.influences - true[answer.records]
    assert abs(errors.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * errors.size)
    assert abs(errors.mean()) < 4 * 0.5 / np.sqrt(errors.size)


def test_refused_queries_count_and_say_nothing(world, oracle_of):
    points = world[3]
    oracle = oracle_of(refuse=lambda points: points[:, 0] > 0)
    answer, refused = oracle.query(points), points[:, 0] > 0
    assert oracle.queries == 20
    assert (answer.records[refused] == -1).all()
    assert (answer.records[~refused] >= 0).all()
    assert np.isnan(answer.predictions[refused]).all()
    assert np.isnan(answer.influences[refused]).all()
    assert -1 not in answer.shown
    everything = oracle_of(refuse=lambda points: np.ones(len(points), bool))
    assert not len(everything.query(points).shown)


def test_an_oracle_holds_no_data(oracle_of):
    public = {name: value for name, value in vars(oracle_of(k=2, budget=9)).items() if not name.startswith("_")}
    assert public == {"features": 3, "k": 2, "budget": 9, "loss": "likelihood", "queries": 0}


def foreign(points):
    """Ten records that no model ever saw: record j explains points whose first number rounds to j."""
    records = np.clip(np.round(points[:, :1]).astype(int), 0, 9)
    shown = np.unique(records)
    return OracleAnswer(np.full(len(points), 0.5), records, None, shown, 1.0 * shown[:, None], shown % 2)


def test_the_collector_notes_each_record_at_the_query_that_revealed_it():
    found = Collector(Oracle(foreign, features=1, k=1, budget=7))
    found.query(np.array([[3.0], [3.2], [1.0]]))
    found.query(np.array([[1.0], [0.0]]))
    with pytest.raises(BudgetSpent):
        found.query(np.array([[3.0], [8.0], [9.0]]))
    result = found.recovered(why="budget")
    assert result.records.tolist() == [3, 1, 0, 8]
    assert result.at.tolist() == [1, 3, 5, 7]
    assert result.rows.ravel().tolist() == [3, 1, 0, 8]
    assert result.labels.tolist() == [1, 1, 0, 0]
    assert result.queries == 7
    assert result.after([0, 1, 2, 3, 7]).tolist() == [0, 1, 1, 2, 4]
    assert found.row(8) == 8


def test_an_attack_says_what_it_lacks():
    attack = Reconstruction("x", "y", lambda oracle, prior, rng: None, uses_influences=True, uses_records=True)
    box = Prior.box(2)
    assert len({attack.refuse(False, box), attack.refuse(True, box), None}) == 3  # two different reasons
    assert attack.refuse(True, Prior(box.low, box.high, np.zeros((1, 2)))) is None


OUT_OF_RANGE = {"budget": [0, 2.5], "digits": [0], "decimals": [-1], "noise": [-0.1, float("nan")], "seed": [-1]}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in OUT_OF_RANGE.items() for value in values]
)
def test_wrong_options_are_told(oracle_of, name, value):
    with pytest.raises(InputError, match=f"^{name}"):
        oracle_of(**{name: value})


def test_wrong_points_and_records_are_told(world, oracle_of):
    X, y, loo, _ = world
    with pytest.raises(InputError, match=r"\b30\b.*\b29\b"):
        Oracle.of(loo, X[:-1], y, RecordExplanation())
    oracle = oracle_of()
    for points in (np.zeros((1, 2)), np.full((1, 3), np.inf), [["a", "b", "c"]]):
        with pytest.raises(InputError, match=r"^points"):
            oracle.query(points)
    assert oracle.queries == 0
