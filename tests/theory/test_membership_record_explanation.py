"""shokri2019, section 5.1: records that explain themselves, and the attackers who look for them."""

import numpy as np
import pandas as pd
import pytest

from leakscope.attacks.membership_record_explanation import (
    ask,
    by_group,
    influence_value,
    self_revealing,
    self_revelation,
)
from leakscope.attacks.protocol import Evidence, Known
from leakscope.core import intervals
from leakscope.core.errors import InputError
from leakscope.data.records import Records
from leakscope.evaluation.record_explanation import membership_risks
from leakscope.evaluation.risk import score
from leakscope.releases.oracle import Oracle
from leakscope.releases.record_explanations.explanation import RecordExplanation
from leakscope.releases.record_explanations.logistic import leave_one_out

N = 150


def draw(seed, count=3 * N):
    """Records of a few features, and labels that follow the first with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 6))
    return X, (rng.random(count) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(np.int64)


@pytest.fixture(scope="module")
def world():
    """Members, non-members, and models of the members and of quite other records."""
    X, y = draw(0)
    sides = [Records(X[i : i + N], y[i : i + N], np.arange(N)) for i in (0, N)]
    return *sides, leave_one_out(X[:N], y[:N]), (leave_one_out(X[2 * N :], y[2 * N :]), X[2 * N :], y[2 * N :])


def oracle_of(world, k=5, **options):
    return Oracle.of(world[2], world[0].X, world[0].y, RecordExplanation(k), **options)


# --- asking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5])
def test_the_rank_and_the_influences_are_those_of_a_literal_look(world, k):
    members, nonmembers, loo, _ = world
    points = np.concatenate([members.X, nonmembers.X[:20]])
    seen = ask(oracle_of(world, k), points)
    shown = RecordExplanation(k).explain(loo, points)
    for row, point, records, sizes in zip(seen, points, shown.records, shown.influences, strict=True):
        own = [rank for rank, record in enumerate(records, start=1) if np.array_equal(members.X[record], point)]
        assert row[0] == (own[0] if own else 0)
        assert np.array_equal(row[1:], np.abs(sizes))
    assert (seen[:N, 0] > 0).any()
    assert not (seen[N:, 0] > 0).any()


def test_many_points_are_asked_about_in_chunks_with_the_same_answer(world, monkeypatch):
    whole = ask(oracle_of(world), world[0].X)
    monkeypatch.setattr("leakscope.attacks.membership_record_explanation.CHUNK", 7)
    oracle = oracle_of(world)
    parts = ask(oracle, world[0].X)
    assert oracle.queries == N
    assert np.array_equal(parts[:, 0], whole[:, 0])
    # A product of other shapes may round otherwise: probabilities of order 1 agree to some units in the last place.
    assert np.allclose(parts, whole, rtol=0, atol=1e-14)


def test_refused_queries_are_zeros_and_hidden_influences_are_left_out(world):
    refuse = oracle_of(world, refuse=lambda points: points[:, 0] > 0)
    seen, full = ask(refuse, world[0].X), ask(oracle_of(world), world[0].X)
    refused = world[0].X[:, 0] > 0
    assert not seen[refused].any()
    assert np.array_equal(seen[~refused, 0], full[~refused, 0])
    assert np.isfinite(seen).all()
    hidden = ask(oracle_of(world, values=False), world[0].X)
    assert hidden.shape == (N, 1)
    assert np.array_equal(hidden[:, 0], full[:, 0])
    assert ask(oracle_of(world), np.empty((0, 6))).shape == (0, 6)


# --- who reveals itself -----------------------------------------------------------------------------------------------


def test_self_revealing_records_are_found_by_the_definition_for_every_k(world):
    members, _, loo, _ = world
    found = self_revealing(loo, members.X, (10, 1, 5))
    assert list(found) == [1, 5, 10]
    for k, revealed in found.items():
        shown = RecordExplanation(k).explain(loo, members.X).records
        assert revealed.tolist() == [i in shown[i] for i in range(N)]
        assert np.array_equal(revealed, ask(oracle_of(world, k), members.X)[:, 0] > 0)
    assert not (found[1] & ~found[5]).any()
    assert not (found[5] & ~found[10]).any()
    assert 0 < found[1].sum() < found[10].sum() < N


def test_the_loss_decides_who_is_shown(world):
    members, _, loo, _ = world
    found = self_revealing(loo, members.X, [5], labels=members.y, loss="log")[5]
    shown = RecordExplanation(5, "log").explain(loo, members.X, members.y).records
    assert found.tolist() == [i in shown[i] for i in range(N)]
    assert not np.array_equal(found, self_revealing(loo, members.X, [5])[5])


def test_records_with_a_feature_of_their_own_all_reveal_themselves():
    # Without record i nothing is known of feature i: its own prediction moves, any other only through the constant.
    X, y = 5 * np.eye(20), np.arange(20) % 2
    assert self_revealing(leave_one_out(X, y), X, [1])[1].all()


def test_a_copy_that_is_shown_counts():
    X, y = 5 * np.eye(20), np.arange(20) % 2
    X, y = np.concatenate([X, X[:6]]), np.concatenate([y, y[:6]])
    loo = leave_one_out(X, y)
    # Of two equal records the oracle shows the first, which reveals the second as well.
    assert RecordExplanation(1).explain(loo, X[20:]).records.ravel().tolist() == list(range(6))
    assert self_revealing(loo, X, [1])[1].all()


# --- attacks ----------------------------------------------------------------------------------------------------------


def test_self_revelation_has_the_share_of_self_revealing_records_as_its_advantage_and_no_false_alarms(world):
    members, nonmembers, loo, (other, X, y) = world
    never = Oracle.of(other, X, y, RecordExplanation(5))
    oracle = oracle_of(world)
    risk, _ = membership_risks(oracle, members, nonmembers, never_trained=never)
    share = self_revealing(loo, members.X, [5])[5].mean()
    assert oracle.queries == never.queries == 2 * N  # one query for each record that is judged
    assert risk.release == "record explanation"
    assert risk.advantage.value == pytest.approx(share)
    assert risk.advantage.low <= share <= risk.advantage.high
    assert risk.auc.value == pytest.approx(0.5 + share / 2)  # who isn't revealed ties with all non-members
    # At a false-positive rate of 10 %: all revealed records, and a random tenth of the others.
    assert risk.tpr_at_fpr[0.1].value == pytest.approx(share + 0.1 * (1 - share))
    assert (risk.control.kind, risk.control.auc.value) == ("never trained", 0.5)  # continuous features: no copies
    assert risk.control.advantage.value == 0


def test_copies_of_members_are_the_false_alarms(world):
    members, nonmembers, loo, _ = world
    revealed = self_revealing(loo, members.X, [5])[5]
    X = np.concatenate([members.X[revealed][:8], nonmembers.X[8:]])
    risk, _ = membership_risks(oracle_of(world), members, Records(X, nonmembers.y, nonmembers.ids))
    assert risk.advantage.value == pytest.approx(revealed.mean() - 8 / N)


def test_influences_add_to_revelation_and_nothing_is_found_where_there_is_nothing(world):
    members, nonmembers, _, (other, X, y) = world
    never = Oracle.of(other, X, y, RecordExplanation(5))
    revelation, value = membership_risks(oracle_of(world), members, nonmembers, never_trained=never)
    assert value.auc.value > revelation.auc.value
    assert value.auc.low > 0.5
    for risk in (revelation, value):
        for control in (risk.control, risk.permuted):
            # At chance an AUC has the deviation √(2/12N), √2 times that if two halves err together: three of these.
            assert control.auc.value == pytest.approx(0.5, abs=3 * np.sqrt(2) * np.sqrt(2 / (12 * N)))
        assert risk.beyond_control.low > 0


def test_the_tree_learns_a_rule_on_influences_that_is_there():
    # Members are those with large influences, none is revealed: a threshold on the influence separates them.
    rng = np.random.default_rng(5)
    member = np.arange(400) % 2 == 0
    observed = np.column_stack([np.zeros(400), rng.uniform(0, 1, 400) + member])
    known = Known(observed[:200], None, member[:200])
    guesses = influence_value().guess(Evidence(observed[200:], None, known), np.random.default_rng(0))
    assert score(guesses.score, member[200:]).auc.value > 0.99
    assert np.array_equal(guesses.says_member, guesses.score > 0.5)
    silent = self_revelation().guess(Evidence(observed[200:], None, known), np.random.default_rng(0))
    assert not silent.score.any()


def test_hidden_influences_leave_revelation(world):
    members, nonmembers, *_ = world
    hidden = membership_risks(oracle_of(world, values=False), members, nonmembers)
    shown = membership_risks(oracle_of(world), members, nonmembers)
    assert hidden[0] == shown[0]
    assert hidden[1].auc.value < shown[1].auc.value


def test_the_same_seed_gives_the_same_risks_and_a_table_the_same_as_an_array(world):
    members, nonmembers, *_ = world
    tables = [Records(pd.DataFrame(side.X), side.y, side.ids) for side in (members, nonmembers)]
    one, other = (membership_risks(oracle_of(world), *sides, seed=4) for sides in ((members, nonmembers), tables))
    assert one == other


def test_groups_are_reported_where_both_sides_have_them(world):
    members, nonmembers, *_ = world
    sides = [
        Records(side.X, side.y, side.ids, {"sign": np.where(side.X[:, 0] > 0, "plus", "minus").astype(object)})
        for side in (members, nonmembers)
    ]
    risk, _ = membership_risks(oracle_of(world), *sides)
    assert [group.level for group in risk.by_group] == ["minus", "plus"]


# --- groups -----------------------------------------------------------------------------------------------------------


def test_the_share_of_each_group_has_its_exact_interval_and_gaps_hold_together():
    revealed = np.arange(300) < 60
    levels = np.array(["a", "b", "c"])[np.arange(300) % 3]
    found = by_group(revealed, {"letter": levels})
    assert [(group.level, group.records) for group in found] == [("a", 100), ("b", 100), ("c", 100)]
    for group in found:
        own = levels == group.level
        assert group.share == intervals.proportion(int(revealed[own].sum()), 100)
        parts = [intervals.proportion(int(revealed[part].sum()), int(part.sum()), 1 - 0.05 / 3) for part in (own, ~own)]
        assert group.gap == intervals.difference(*parts)


def test_small_groups_are_pooled_or_not_shown():
    levels = np.array(["many"] * 60 + ["few"] * 12 + ["rare"] * 12)
    revealed = np.arange(84) % 4 == 0
    assert [(g.level, g.records) for g in by_group(revealed, {"x": levels})] == [("(small groups)", 24), ("many", 60)]
    # "few" alone is too small to be shown, and then "many" has no complement.
    assert by_group(revealed[:72], {"x": levels[:72]}) == []
    assert by_group(revealed, {}) == []


def test_the_gaps_hold_all_true_differences_as_often_as_they_say():
    rng, runs, confidence = np.random.default_rng(6), 400, 0.9
    truth = {"a": 0.1, "b": 0.3, "c": 0.3}
    levels = np.repeat(list(truth), [30, 60, 110])
    chance = np.array([truth[level] for level in levels])
    held = 0
    for _ in range(runs):
        found = by_group(rng.random(len(levels)) < chance, {"x": levels}, confidence)
        gaps = {group.level: truth[group.level] - chance[levels != group.level].mean() for group in found}
        held += all(group.gap.low <= gaps[group.level] <= group.gap.high for group in found)
    # At least 90 %, up to three standard errors of a share of 400 runs.
    assert held / runs >= confidence - 3 * np.sqrt(confidence * (1 - confidence) / runs)


def test_wrong_input_is_refused(world):
    members, nonmembers, loo, _ = world
    for call, names in (
        (lambda: ask(oracle_of(world, budget=3), members.X), "budget"),
        (lambda: ask(oracle_of(world), members.X[:, :2]), r"\b6\b"),
        (lambda: ask(oracle_of(world), [["a"] * 6]), "points"),
        (lambda: membership_risks(oracle_of(world), members.take(range(5)), nonmembers), r"\b5\b"),
        (lambda: self_revealing(loo, members.X, []), r"\bks\b"),
        (lambda: self_revealing(loo, members.X, [0, 5]), r"\bk\b"),
        (lambda: self_revealing(loo, members.X[:9]), "150"),
        (lambda: by_group(np.arange(3), {}), "revealed"),
        (lambda: by_group(np.ones(3, bool), {}, confidence=95), "confidence"),
        (lambda: by_group(np.ones(3, bool), {"x": ["a", "b"]}), "'x'"),
    ):
        with pytest.raises(InputError, match=names):
            call()
