import numpy as np
import pytest
from scipy.special import ndtr

from leakscope.attacks.protocol import Attack, Scores
from leakscope.core import intervals
from leakscope.core.ranking import Ranking, Scale, split
from leakscope.data.small_groups import pool_small_groups
from leakscope.evaluation import risk
from leakscope.evaluation.results import GroupRisk


def normal_scores(n, distance, rng):
    member = np.repeat([True, False], n)
    return rng.normal(distance * member, 1.0), member


def test_best_accuracy_is_honest_where_there_is_nothing_to_find():
    """The best threshold on the judged records themselves would look better than chance every time."""
    rng = np.random.default_rng(0)
    found = [risk.score(*normal_scores(50, 0.0, rng)).accuracy for _ in range(400)]
    values = np.array([estimate.value for estimate in found])
    assert abs(values.mean() - 0.5) < 4 * values.std() / np.sqrt(400)
    covered = np.mean([estimate.low <= 0.5 <= estimate.high for estimate in found])
    assert covered >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 400)


@pytest.mark.parametrize("distance", [0.5, 2.0])
def test_best_accuracy_reaches_the_optimum(distance):
    """N(d, 1) against N(0, 1): the best threshold is d/2 and its accuracy Φ(d/2)."""
    figures = risk.score(*normal_scores(20_000, distance, np.random.default_rng(1)))
    assert figures.accuracy.value == pytest.approx(ndtr(distance / 2), abs=4 * 0.5 / np.sqrt(40_000))
    assert figures.advantage.value == pytest.approx(2 * ndtr(distance / 2) - 1, abs=8 * 0.5 / np.sqrt(40_000))


def test_scores_that_separate_give_certainty_and_equal_scores_give_chance():
    member = np.repeat([True, False], 100)
    sure, none = risk.score(member.astype(float), member), risk.score(np.zeros(200), member)
    assert (sure.auc.value, sure.accuracy.value, sure.advantage.value) == (1.0, 1.0, 1.0)
    assert (none.auc.value, none.accuracy.value, none.advantage.value) == (0.5, 0.5, 0.0)


def test_exposure_of_nonmembers_is_a_valid_p_value():
    rng = np.random.default_rng(2)
    zero = np.zeros(99, int)
    pvalues = np.array(
        [1 - risk.exposure(rng.normal(size=1), zero[:1], rng.normal(size=99), zero)[0] for _ in range(4000)]
    )
    for level in (0.05, 0.2, 0.5):
        assert np.mean(pvalues <= level) <= level + 4 * np.sqrt(level * (1 - level) / 4000)
    assert pvalues.min() >= 0.01 - 1e-12


def test_exposure_is_nothing_for_a_constant_attack_and_nearly_one_for_a_sure_one():
    few, many = np.zeros(5, int), np.zeros(99, int)
    assert risk.exposure(np.zeros(5), few, np.zeros(99), many).tolist() == [0.0] * 5
    assert risk.exposure(np.ones(5), few, np.zeros(99), many) == pytest.approx(np.full(5, 0.99))


def test_exposure_compares_within_a_stratum():
    shown = risk.exposure(np.array([5.0, 5.0]), np.array([0, 1]), np.array([1.0, 9.0]), np.array([0, 1]))
    assert shown.tolist() == [0.5, 0.0]


def judged_of(scores, member):
    return risk.Judged(Scores(scores, (scores > 0.5).astype(float)), member, Scale.of_one(len(member)))


def assess_groups(scores, member, groups, confidence=0.95):
    judged = judged_of(scores, member)
    trial = risk.JudgedAttack(Attack("made up", "log_loss", "test", None), judged, judged, None)
    return risk.assess(trial, judged_of(np.zeros(len(member)), member), groups, confidences=[confidence])[0]


def test_the_gap_is_the_difference_of_the_aucs_of_a_group_and_of_the_rest():
    rng = np.random.default_rng(3)
    scores, member = normal_scores(300, 1.0, rng)
    levels = np.where(rng.random(600) < 0.3, "minority", "majority")
    for group in assess_groups(scores, member, {"kind": levels}).by_group:
        own = levels == group.level
        aucs = [Ranking.of(split(scores[rows], member[rows])).auc for rows in (own, ~own)]
        assert group.gap.value == pytest.approx(aucs[0] - aucs[1], abs=1e-12)
        assert (group.members, group.nonmembers) == ((own & member).sum(), (own & ~member).sum())


def literal_by_group(judged, groups, confidence):
    """Every group and its complement taken out of the sample and sorted again: slow, but literal."""
    chosen = [(column, level) for column, levels in groups.items() for level in sorted(set(levels) - {risk.NOT_SHOWN})]
    together = 1 - (1 - confidence) / max(len(chosen), 1)
    for column, level in chosen:
        own = judged.take(groups[column] == level)
        rest = judged.take((groups[column] != level) & (groups[column] != risk.NOT_SHOWN))
        if rest.member.all() or not rest.member.any():
            continue
        auc, others = (intervals.auc(part.ranking, together) for part in (own, rest))
        advantage = intervals.mean_difference(own.says, together)
        sizes = own.ranking.members, own.ranking.nonmembers
        yield GroupRisk(column, level, *sizes, auc, advantage, intervals.difference(auc, others))


def numbers_of(group):
    estimates = (group.auc, group.advantage, group.gap)
    return [number for one in estimates for number in (one.value, one.low, one.high, one.confidence, one.n)]


@pytest.mark.parametrize(
    "kind", ["continuous", "tied", "constant", "separated", "nearly separated", "random decisions"]
)
@pytest.mark.parametrize("strata", [1, 2, 4])
def test_groups_from_one_sort_equal_those_of_the_definition(kind, strata):
    rng = np.random.default_rng(strata)
    member = rng.permutation(np.repeat([True, False], 400))
    scores = {
        "continuous": rng.normal(0.5 * member, 1.0),
        "tied": np.round(rng.normal(0.5 * member, 1.0)),
        "constant": np.zeros(800),
        "separated": member + 0.5 * rng.random(800),
        "nearly separated": np.where(rng.random(800) < 0.01, rng.random(800), member),
        "random decisions": rng.random(800),
    }[kind]
    says = rng.random(800) if kind == "random decisions" else (scores > 0.5).astype(float)
    stratum = rng.integers(0, strata, 800)
    judged = risk.Judged(Scores(scores, says), member, Scale(stratum, stratum // 2))
    groups = {
        "many": rng.choice(np.array([*"abcdefgh", risk.NOT_SHOWN], object), 800),
        "uneven": np.where(rng.random(800) < 0.05, "few", "most"),
        "one": np.repeat(["all"], 800),
    }
    confidences = (0.95, 0.9975)
    for found, confidence in zip(risk.assess_groups(judged, groups, confidences), confidences, strict=True):
        expected = list(literal_by_group(judged, groups, confidence))
        assert [(group.column, group.level) for group in found] == [(group.column, group.level) for group in expected]
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours.members, ours.nonmembers) == (theirs.members, theirs.nonmembers)
            assert [one.method for one in (ours.auc, ours.gap)] == [one.method for one in (theirs.auc, theirs.gap)]
            assert numbers_of(ours) == pytest.approx(numbers_of(theirs), abs=1e-12)


def test_sums_of_a_million_records_may_wrap_around():
    """Squares of counts of so many records pass 64 bits; the variance is right all the same."""
    rng = np.random.default_rng(0)
    member = np.tile([True, False], 2_000_000)
    judged = judged_of(rng.normal(0.1 * member, 1.0), member)
    groups = {"half": np.repeat(["a", "b"], 2_000_000)}
    (found,) = risk.assess_groups(judged, groups, (0.95,))
    assert numbers_of(found[0]) == pytest.approx(numbers_of(next(literal_by_group(judged, groups, 0.95))), abs=1e-12)


def test_gaps_of_many_equal_groups_are_found_together_no_more_often_than_the_confidence_allows():
    """Twelve groups without a difference: the chance that any gap excludes zero is at most five per cent."""
    rng = np.random.default_rng(4)
    repeats, false = 300, 0
    for _ in range(repeats):
        scores, member = normal_scores(600, 1.0, rng)
        levels = rng.choice(list("abcdefghijkl"), 1200)
        groups = assess_groups(scores, member, {"letter": levels}).by_group
        false += any(not group.gap.low <= 0 <= group.gap.high for group in groups)
    assert false / repeats <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / repeats)


def test_small_groups_are_pooled_and_tiny_pools_are_not_reported():
    member = np.arange(400) % 2 == 0
    levels = np.array(["large"] * 300 + ["b"] * 36 + ["c"] * 34 + ["d"] * 30, dtype=object)
    pooled, count = pool_small_groups(levels, member)
    assert count == 3
    assert set(pooled) == {"large", "(small groups)"}
    pooled, count = pool_small_groups(levels[:336], member[:336])
    assert (count, set(pooled)) == (1, {"large", risk.NOT_SHOWN})


def test_records_that_are_not_shown_are_not_in_the_rest_either():
    rng = np.random.default_rng(7)
    member = np.arange(840) % 2 == 0
    levels = np.array(["a"] * 400 + ["b"] * 400 + [risk.NOT_SHOWN] * 40, dtype=object)
    scores = rng.normal(member * np.repeat([0.5, 50.0], [800, 40]), 1.0)
    shown = assess_groups(scores, member, {"kind": levels}).by_group
    alone = assess_groups(scores[:800], member[:800], {"kind": levels[:800]}).by_group
    assert [group.gap for group in shown] == [group.gap for group in alone]


def test_roc_runs_from_corner_to_corner_and_never_falls():
    scores, member = normal_scores(500, 1.0, np.random.default_rng(6))
    curve = risk.roc(Ranking.of(split(scores, member)))
    assert (curve.fpr[0], curve.fpr[-1], curve.tpr[-1]) == (0.0, 1.0, 1.0)
    assert np.all(np.diff(curve.fpr) > 0)
    assert np.all(np.diff(curve.tpr) >= 0)


def test_histogram_is_that_of_the_exposures_with_ties_and_strata():
    rng = np.random.default_rng(8)
    scores, member, half = rng.integers(0, 30, 500) / 7.0, rng.random(500) < 0.4, rng.integers(0, 2, 500)
    judged = risk.Judged(Scores(scores, scores), member, Scale(half, np.zeros(500, np.intp)))
    exposures = risk.exposure(scores, half, scores[~member], half[~member])
    shown = risk.histogram(judged)
    for side, counts in ((member, shown.members), (~member, shown.nonmembers)):
        assert counts == tuple(np.histogram(exposures[side], shown.edges)[0].tolist())
