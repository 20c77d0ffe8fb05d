"""What every attack that reconstructs training records must keep to, on an oracle over foreign data."""

import numpy as np
import pytest
from scipy.special import expit

from leakscope.attacks import RECONSTRUCTIONS
from leakscope.releases.oracle import Oracle, OracleAnswer, Prior
from leakscope.releases.record_explanations import RecordExplanation

RECORDS, FEATURES, K = 50, 8, 3


class Foreign:
    """Fifty records and models that nobody trained: an attacker can know them from the oracle's answers alone."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.rows = rng.random((RECORDS, FEATURES))
        self.labels = rng.integers(0, 2, RECORDS)
        self.weights = rng.normal(size=FEATURES)
        self.moved = self.weights + 0.05 * rng.normal(size=(RECORDS, FEATURES))
        self.shifts = 0.05 * rng.normal(size=RECORDS)
        self.revealed = []

    def __len__(self):
        return RECORDS

    def probabilities(self, points):
        return expit((points - 0.5) @ self.weights)

    def probabilities_without(self, points):
        return expit((points - 0.5) @ self.moved.T + self.shifts)

    def answer(self, points):
        found = RecordExplanation(K).explain(self, points)
        self.revealed += [set(row) for row in found.records.tolist()]
        shown = np.unique(found.records)
        return OracleAnswer(
            found.probabilities, found.records, found.influences, shown, self.rows[shown], self.labels[shown]
        )


def attack(name, world, budget, seed=0, records=True):
    oracle = Oracle(world.answer, FEATURES, K, budget)
    box = Prior.box(FEATURES)
    own = np.random.default_rng(99).random((200, FEATURES)) if records else None
    prior = Prior(box.low, box.high, own)
    return RECONSTRUCTIONS[name].run(oracle, prior, np.random.default_rng(seed)), oracle


@pytest.mark.parametrize("name", RECONSTRUCTIONS)
@pytest.mark.parametrize("budget", [1, 2, 7, 60, 400])
def test_what_is_recovered_was_revealed_at_that_query(name, budget):
    world = Foreign()
    found, oracle = attack(name, world, budget)
    assert oracle.queries == found.queries == len(world.revealed) <= budget
    assert len(set(found.records.tolist())) == len(found) > 0
    for record, at in zip(found.records.tolist(), found.at.tolist(), strict=True):
        assert record in world.revealed[at - 1]
        assert not any(record in shown for shown in world.revealed[: at - 1])
    assert len(set().union(*world.revealed)) == len(found)  # nothing that was shown is forgotten
    np.testing.assert_array_equal(found.rows, world.rows[found.records])
    np.testing.assert_array_equal(found.labels, world.labels[found.records])
    assert (np.diff(found.at) >= 0).all()
    assert found.notes["why"]


@pytest.mark.parametrize("name", RECONSTRUCTIONS)
def test_the_same_seed_asks_the_same(name):
    one, two, other = (attack(name, Foreign(), 150, seed=seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.records, two.records)
    np.testing.assert_array_equal(one.at, two.at)
    assert len(other) > 0


@pytest.mark.parametrize("name", [name for name, attack in RECONSTRUCTIONS.items() if attack.uses_records])
def test_attacks_say_that_they_need_records(name):
    assert RECONSTRUCTIONS[name].refuse(True, Prior.box(FEATURES))


@pytest.mark.parametrize("name", [name for name, attack in RECONSTRUCTIONS.items() if not attack.uses_records])
def test_the_others_do_without(name):
    assert len(attack(name, Foreign(), 60, records=False)[0]) > 0


@pytest.mark.parametrize("name", RECONSTRUCTIONS)
@pytest.mark.filterwarnings("error")
def test_an_oracle_that_refuses_everything_ends_them(name):
    def refuse(points):
        return OracleAnswer(
            np.full(len(points), np.nan), np.full((len(points), K), -1), np.full((len(points), K), np.nan),
            np.empty(0, int), np.empty((0, FEATURES)), np.empty(0, int),
        )  # fmt: skip

    box = Prior.box(FEATURES)
    prior = Prior(box.low, box.high, np.random.default_rng(0).random((30, FEATURES)))
    found = RECONSTRUCTIONS[name].run(Oracle(refuse, FEATURES, K, 200), prior, np.random.default_rng(0))
    assert len(found) == 0
    assert found.queries <= 200
