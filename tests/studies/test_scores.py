"""Scores only: the figures are those of theory, only the order of scores counts, and the verdict claims no more than is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from leakscope.core.errors import InputError
from leakscope.evaluation.risk import score
from leakscope.report.documents import document
from leakscope.studies.scores import audit_scores, read_members


def normals(n, distance, seed=0):
    """Scores of n members and n others, whose means lie ``distance`` standard deviations apart."""
    rng = np.random.default_rng(seed)
    member = rng.permutation(np.repeat([True, False], n))
    return rng.normal(distance * member, 1.0), member


#: Codes of caveats about copies.
COPIES = {"repeated_scores", "shared_scores", "uneven_repeats"}


def numbers(result):
    """All that does not depend on the time of day."""
    return replace(result, created="", seconds={}, settings={}, fingerprints={}, warnings=())


@pytest.fixture(autouse=True)
def no_versions(monkeypatch):
    """Looking up packages takes longer than the attacks."""
    monkeypatch.setattr("leakscope.evaluation.concluding.versions", dict)


def given(result):
    return next(risk for risk in result.risks if risk.attack == "the given score")


# --- theory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [0.0, 0.6])
def test_intervals_hold_the_auc_of_two_normals(distance):
    truth, repeats = norm.cdf(distance / np.sqrt(2)), 60
    held, careful, leaks = 0, 0, 0
    rng = np.random.default_rng(12345)
    for seed in range(repeats):
        result = audit_scores(*normals(100, distance, rng), random_split=True, seed=seed)
        held += given(result).auc.low <= truth <= given(result).auc.high
        careful += result.strongest.auc.low <= truth  # of two normals no attack has a larger AUC than the score itself
        leaks += result.verdict.kind == "leaks"
    allowed = 4 * np.sqrt(0.05 * 0.95 / repeats)
    assert held / repeats >= 0.95 - allowed
    assert careful / repeats >= 0.95 - allowed
    assert leaks / repeats <= 0.05 + allowed if distance == 0 else leaks / repeats > 0.7


def test_figures_are_those_of_score():
    scores, member = normals(300, 0.8)
    found, expected = given(audit_scores(scores, member)), score(scores, member)
    assert found.auc == expected.auc
    assert found.tpr_at_fpr == expected.tpr_at_fpr


def test_members_in_the_middle_are_found_by_the_tree():
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], 3000)
    result = audit_scores(rng.normal(0, np.where(member, 1.0, 2.0)), member, random_split=True)
    assert given(result).auc.low < 0.5 < given(result).auc.high
    best = 2 / np.pi * np.arctan(2)  # no attack on the score does better
    assert result.strongest.attack == "learned on the score (tree)"
    assert 0.66 < result.strongest.auc.low < best
    assert result.verdict.kind == "leaks"


def test_p_values_of_members_who_are_like_others_are_valid():
    """At most u with probability at most u; two samples of 2,000 have the standard error of a difference."""
    p = audit_scores(*normals(2000, 0.0)).records["p_value"].to_numpy()
    for share in np.linspace(0.1, 0.9, 9):
        assert np.mean(p <= share) <= share + 4 * np.sqrt(2 * share * (1 - share) / 2000)


# --- what must not matter ---------------------------------------------------------------------------------------------


def test_lower_is_member_is_the_same_as_the_negative_scores():
    scores, member = normals(200, 0.5)
    control = np.random.default_rng(5).normal(size=400)
    lower = audit_scores(scores, member, higher_is_member=False, control=control)
    negative = audit_scores(-scores, member, control=-control)
    assert numbers(lower) == numbers(negative)
    assert lower.records.equals(negative.records)


def test_only_the_order_of_scores_counts():
    scores, member = normals(200, 0.5)
    assert numbers(audit_scores(np.exp(3 * scores) * 1e200, member)) == numbers(audit_scores(scores, member))


def test_the_order_of_rows_does_not_matter():
    scores, member = normals(200, 0.9)
    ids = np.array([f"p{number}" for number in range(400)])
    order = np.random.default_rng(1).permutation(400)
    here = audit_scores(scores, member, ids=ids, random_split=True)
    there = audit_scores(scores[order], member[order], ids=ids[order], random_split=True)
    assert here.strongest.attack == there.strongest.attack == "the given score"
    assert given(here).auc == given(there).auc
    assert given(here).tpr_at_fpr == given(there).tpr_at_fpr
    assert (here.verdict.kind, here.verdict.finding) == (there.verdict.kind, there.verdict.finding)
    table = [result.records.sort_values("id", ignore_index=True) for result in (here, there)]
    assert table[0].equals(table[1])


def test_the_same_seed_gives_the_same_numbers_and_input_stays_as_it_is():
    scores, member = normals(100, 0.5)
    before = scores.copy(), member.copy()
    assert numbers(audit_scores(scores, member, seed=3)) == numbers(audit_scores(scores, member, seed=3))
    assert np.array_equal(scores, before[0])
    assert np.array_equal(member, before[1])


def test_series_lists_and_words_are_read_alike():
    scores, member = normals(60, 0.5)
    expected = numbers(audit_scores(scores, member))
    words = np.where(member, "Member", "non-member")
    for one, two in ((scores.tolist(), words.tolist()), (pd.Series(scores), pd.Series(words)), (scores, member * 1.0)):
        assert numbers(audit_scores(one, two)) == expected


# --- the verdict ------------------------------------------------------------------------------------------------------


def test_without_control_or_random_split_the_verdict_never_says_leaks():
    scores, member = normals(500, 2.0)
    result = audit_scores(scores, member)
    assert result.verdict.kind == "inconclusive"
    assert [doubt.code for doubt in result.verdict.doubts] == ["scores_only"]
    assert result.verdict.finding.estimates == {"auc": result.strongest.auc}
    assert result.strongest.blind is None
    assert result.strongest.control.kind == "permuted"


@pytest.mark.parametrize("control", [None, np.random.default_rng(9).normal(size=1000)])
def test_with_a_random_split_it_may_say_leaks(control):
    result = audit_scores(*normals(500, 1.0), control=control, random_split=True)
    assert result.verdict.kind == "leaks"
    assert result.settings["random split"]
    assert result.basis.random_split


def test_a_control_alone_does_not_rule_out_a_shift():
    """A control that was trained on fewer records shows less of a shift than the target: 0.3 of a deviation here, and not 0.6."""
    scores, member = normals(1000, 0.6)
    control, _ = normals(1000, 0.3, seed=1)
    result = audit_scores(scores, member, control=control)
    assert result.strongest.beyond_control.low > 0
    assert result.verdict.kind == "inconclusive"


def test_a_control_alone_does_not_rule_out_a_shift_within_a_group_either():
    scores, member = normals(1000, 0.6)
    groups = np.tile(["a", "b"], 1000)
    scores = np.where(groups == "a", scores, np.random.default_rng(3).normal(size=2000))
    result = audit_scores(scores, member, control=np.random.default_rng(4).normal(size=2000), groups={"side": groups})
    assert result.basis.exposed is not None
    assert result.verdict.kind == "inconclusive"


@pytest.mark.parametrize("random_split", [False, True])
def test_a_control_that_finds_as_much_forbids_it(random_split):
    scores, member = normals(500, 1.0)
    control, _ = normals(500, 0.0, seed=1)
    result = audit_scores(scores, member, control=control + 1.0 * member, random_split=random_split)
    assert result.verdict.kind == "inconclusive"


def test_not_detected_and_too_few_records():
    assert audit_scores(*normals(6000, 0.0), random_split=True).verdict.kind == "not_detected"
    few = audit_scores(*normals(20, 0.0))
    assert few.verdict.kind == "inconclusive"
    assert [doubt.code for doubt in few.verdict.doubts] == ["sample_size"]
    assert [one.code for one in few.verdict.support] == ["permuted"]


def warned(result):
    """Codes of the caveats with their values."""
    return {caveat.code: caveat.values for caveat in result.warnings}


def test_scores_that_point_the_other_way_are_noted():
    scores, member = normals(500, 1.0)
    for sign, higher in ((1, False), (-1, True)):
        found = warned(audit_scores(sign * scores, member, higher_is_member=higher))["reversed_score"]
        assert found["higher_is_member"] == higher
        assert found["auc"].high < 0.5
    for result in (audit_scores(scores, member), audit_scores(-scores, member, higher_is_member=False)):
        assert "reversed_score" not in warned(result)


# --- copies and ties --------------------------------------------------------------------------------------------------


def levels(n, distance, rng):
    """Scores of ten levels, and the AUC that they have: of two normals, rounded."""
    edges, member = np.linspace(-2, 2, 9), np.repeat([True, False], n)
    inside, outside = (np.diff(norm.cdf(np.array([-np.inf, *edges, np.inf]) - mean)) for mean in (distance, 0.0))
    truth = inside @ (np.cumsum(outside) - outside / 2)
    return np.searchsorted(edges, rng.normal(distance * member)), member, truth


@pytest.mark.parametrize("times", [2, 3, 20])
def test_copies_of_records_count_once(times):
    scores, member = normals(60, 1.0)
    once, often = (audit_scores(np.tile(scores, k), np.tile(member, k), random_split=True) for k in (1, times))
    assert often.target.judged == 60
    assert given(often).auc == given(once).auc
    assert given(often).tpr_at_fpr == given(once).tpr_at_fpr
    lost = 60 * (times - 1)
    assert warned(often)["repeated_scores"] == {"members": lost, "nonmembers": lost}
    assert "repeated_scores" not in warned(once)
    assert once.strongest.attack == often.strongest.attack == "the given score"
    assert np.array_equal(np.tile(once.records["score"], times), often.records["score"])


@pytest.mark.parametrize(("times", "share"), [(3, 1.0), (20, 1.0), (5, 0.5)])
def test_copies_of_records_are_no_leak(times, share):
    rng, repeats, leaks = np.random.default_rng(4), 30, 0
    for seed in range(repeats):
        scores, member = normals(100, 0.0, rng)
        copies = np.where(rng.random(200) < share, times, 1)
        result = audit_scores(np.repeat(scores, copies), np.repeat(member, copies), random_split=True, seed=seed)
        leaks += result.verdict.kind == "leaks"
    assert leaks / repeats <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / repeats)  # judged as they stand, most are called leaks


@pytest.mark.parametrize("distance", [0.0, 0.6])
def test_scores_of_few_levels_are_judged_as_they_stand(distance):
    rng, repeats, held, leaks = np.random.default_rng(8), 60, 0, 0
    for seed in range(repeats):
        scores, member, truth = levels(150, distance, rng)
        result = audit_scores(scores, member, random_split=True, seed=seed)
        assert result.target.judged == 150
        assert not COPIES & set(warned(result))
        held += given(result).auc.low <= truth <= given(result).auc.high
        leaks += result.verdict.kind == "leaks"
    allowed = 4 * np.sqrt(0.05 * 0.95 / repeats)
    assert held / repeats >= 0.95 - allowed
    assert leaks / repeats > 0.9 if distance else leaks / repeats <= 0.05 + allowed


def test_a_file_written_three_times_is_judged_once_whatever_its_scores():
    scores, member, _ = levels(200, 0.3, np.random.default_rng(1))
    once, often = (audit_scores(np.tile(scores, k), np.tile(member, k)) for k in (1, 3))
    assert often.target.judged == 200
    assert given(often).auc == given(once).auc


def test_rounded_scores_are_not_copies():
    scores, member = normals(1000, 0.5)
    result = audit_scores(np.round(scores, 3), member)
    assert len(np.unique(np.round(scores, 3))) < 1900
    assert result.target.judged == 1000
    assert not COPIES & set(warned(result))


def test_copies_among_rounded_scores_are_noted():
    scores, member = normals(200, 0.0)
    copies = np.where(np.arange(400) % 2, 5, 1)
    result = audit_scores(np.repeat(np.round(scores, 2), copies), np.repeat(member, copies))
    assert "uneven_repeats" in warned(result)
    assert "uneven_repeats" not in warned(audit_scores(np.round(scores, 2), member))


@pytest.mark.parametrize("share", [0.08, 0.5, 1.0])
def test_members_that_gather_at_the_end_of_the_scale_are_judged_and_noted(share):
    rng = np.random.default_rng(2)
    member = np.repeat([True, False], 500)
    loss = np.where(member & (rng.random(1000) < share), 0.0, rng.exponential(size=1000))
    result = audit_scores(loss, member, higher_is_member=False, random_split=True)
    zeros = int(np.sum(loss == 0))
    assert result.target.judged == 500
    assert given(result).auc.low <= 0.5 + zeros / 1000 <= given(result).auc.high
    assert warned(result)["shared_scores"] == {"records": zeros, "side": "member"}


def test_control_scores_and_groups_tell_copies_from_ties():
    rng = np.random.default_rng(3)
    scores, member, _ = levels(200, 0.0, rng)
    control, sex = rng.normal(size=400), rng.choice(["f", "m"], 400)
    copies = np.where(np.arange(400) % 2, 3, 1)
    here, there = (
        audit_scores(*(np.repeat(column, times) for column in (scores, member)), control=np.repeat(control, times),
                     groups=np.repeat(sex, times))
        for times in (1, copies)
    )  # fmt: skip
    assert here.target.judged == there.target.judged == 200
    assert given(here).auc == given(there).auc
    assert [risk.auc for risk in given(here).by_group] == [risk.auc for risk in given(there).by_group]


def test_a_constant_score_is_noted_and_tells_nothing():
    result = audit_scores(np.ones(400), np.arange(400) % 2 == 0, random_split=True)
    assert given(result).auc.value == 0.5
    assert result.verdict.kind != "leaks"
    assert "constant_score" in warned(result)
    assert not COPIES & set(warned(result))


def test_what_was_not_run_is_stated():
    result = audit_scores(*normals(100, 0.0), name="loss")
    assert [one.attack for one in result.not_run] == ["blind baseline", "the same attacks"]
    assert result.studied == "loss"
    facts = dict(document(result).facts)
    assert (facts["Task"], facts["Members (training records)"]) == ("scores", 100)


# --- groups, records, files -------------------------------------------------------------------------------------------


def test_an_exposed_group_stands_out_and_small_ones_are_pooled():
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], 600)
    group = rng.choice(["old", "young", "rare"], 1200, p=[0.49, 0.49, 0.02])
    scores = rng.normal(np.where(member & (group == "old"), 1.5, 0.0), 1.0)
    result = audit_scores(scores, member, groups=pd.Series(group, name="age"), random_split=True)
    found = {risk.level: risk for risk in result.strongest.by_group}
    assert set(found) == {"old", "young"}
    assert found["old"].column == "age"
    assert found["old"].gap.low > 0
    assert found["old"].auc.low <= norm.cdf(1.5 / np.sqrt(2)) <= found["old"].auc.high
    assert warned(result)["pooled_groups"]["column"] == "age"


def test_every_member_gets_a_place_and_the_larger_side_is_drawn_from():
    scores, _ = normals(200, 0.0)
    member = np.arange(400) < 300
    result = audit_scores(scores, member, ids=np.arange(1000, 1400))
    assert result.target.judged == 100
    assert result.records["id"].tolist() == list(range(1000, 1300))
    assert result.records["rank"].min() == 1
    assert warned(result)["not_all_judged"] == {"judged": 100, "left_out": 200, "side": "members"}


# --- bad input --------------------------------------------------------------------------------------------------------

GOOD, WHO = np.arange(40.0), np.arange(40) % 2 == 0
BAD = {
    "missing": ((np.where(GOOD == 3, np.nan, GOOD), WHO), {}, r"^1\b.*40.*scores"),
    "infinite": ((np.where(GOOD == 3, np.inf, GOOD), WHO), {}, r"^1\b.*40.*scores"),
    "underscore": ((["1_000"] * 40, WHO), {}, "scores"),
    "long": ((2**63 + np.arange(40, dtype=np.uint64), WHO), {}, "scores"),
    "long and nullable": ((pd.Series(2**60 + np.arange(40), dtype="Int64"), WHO), {}, "scores"),
    "copies": ((np.repeat(GOOD[:22], 20), np.repeat(GOOD[:22] % 4 == 0, 20)), {}, r"\b6\b.*scores"),
    "texts": ((["a"] * 40, WHO), {}, "scores"),
    "two columns": ((np.ones((40, 2)), WHO), {}, r"scores.*40,.2"),
    "one side": ((GOOD, np.ones(40, bool)), {}, r"\b0\b.*non-members"),
    "other side": ((GOOD, np.zeros(40, bool)), {}, r"\b0\b.members"),
    "few": ((GOOD[:19], WHO[:19]), {}, r"\b9\b.*non-members"),
    "none": (([], []), {}, r"\b0\b.members"),
    "words": ((GOOD, ["maybe"] * 40), {}, r"memberships.*\b1\b.*\b0\b"),
    "number": ((GOOD, np.arange(40)), {}, r"memberships.*\b38\b.*\b2\b"),
    "unknown": ((GOOD, [None] * 40), {}, r"\b40\b"),
    "lengths": ((GOOD, WHO[:30]), {}, r"\b40\b.*\b30\b.*memberships"),
    "control lengths": ((GOOD, WHO), {"control": GOOD[:30]}, r"\b40\b.*\b30\b.*control"),
    "control missing": ((GOOD, WHO), {"control": GOOD * np.nan}, r"\b40\b.*\b40\b.*control"),
    "groups lengths": ((GOOD, WHO), {"groups": ["a"] * 3}, r"\b40\b.*\b3\b.*groups"),
    "ids": ((GOOD, WHO), {"ids": ["a"] * 40}, r"ids.*\b39\b.*\b40\b"),
    "ids lengths": ((GOOD, WHO), {"ids": [1, 2]}, r"ids.*\(2,\).*40"),
    "row names": ((pd.Series(GOOD), pd.Series(WHO, index=np.arange(40)[::-1])), {}, "memberships"),
    "confidence": ((GOOD, WHO), {"confidence": 2}, "confidence"),
    "margin": ((GOOD, WHO), {"margin": 0}, "margin"),
    "rates": ((GOOD, WHO), {"fprs": "low"}, "fprs"),
    "seed": ((GOOD, WHO), {"seed": -1}, "seed"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case):
    arguments, options, names = BAD[case]
    with pytest.raises(InputError, match=names) as caught:
        audit_scores(*arguments, **options)
    assert "\n" not in str(caught.value)


def test_words_for_members():
    assert read_members(["1", "0", "TRUE", "false", " Yes", "no", "member", "NonMember", "1.0"]).tolist() == [
        True, False, True, False, True, False, True, False, True,
    ]  # fmt: skip
