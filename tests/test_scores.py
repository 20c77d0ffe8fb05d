"""Scores only: the figures are those of theory, only the order of scores counts, and the verdict claims no more than is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import leakscope as ls
from leakscope.errors import InputError
from leakscope.report.html import render
from leakscope.risk import score
from leakscope.scores import audit_scores, read_members

HOSTILE = "<script>alert('x')</script>\u202e\"&"


def normals(n, distance, seed=0):
    """Scores of n members and n others, whose means lie ``distance`` standard deviations apart."""
    rng = np.random.default_rng(seed)
    member = rng.permutation(np.repeat([True, False], n))
    return rng.normal(distance * member, 1.0), member


def numbers(result):
    """All that does not depend on the time of day."""
    return replace(result.findings, created="", seconds={}, settings={}, fingerprints={}, warnings=())


def given(result):
    return next(risk for risk in result.risks if risk.attack == "the given score")


# --- theory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [0.0, 0.6])
def test_intervals_hold_the_auc_of_two_normals(distance, monkeypatch):
    monkeypatch.setattr("leakscope.scores.versions", dict)  # looking up packages takes longer than the attacks
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


def test_exposure_of_members_who_are_like_others_is_uniform():
    result = audit_scores(*normals(2000, 0.0))
    shares = np.histogram(result.records["score"], np.linspace(0, 1, 11))[0] / 2000
    assert np.all(np.abs(shares - 0.1) < 4 * np.sqrt(2 * 0.1 * 0.9 / 2000))


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
    assert here.verdict.sentence == there.verdict.sentence
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
    assert result.verdict.kind == "cannot tell"
    assert "differ by themselves" in result.verdict.sentence
    assert "--random-split" in result.verdict.sentence
    assert "--control" in result.verdict.sentence
    assert result.strongest.blind is None
    assert result.strongest.control.kind == "permuted"


def test_with_a_random_split_it_may_say_leaks_on_the_word_of_the_caller():
    result = audit_scores(*normals(500, 1.0), random_split=True)
    assert result.verdict.kind == "leaks"
    assert any("word" in reason for reason in result.verdict.reasons)
    assert any("word" in warning for warning in result.warnings)
    assert result.settings["random split"]


def test_a_control_that_finds_nothing_lets_it_say_leaks():
    scores, member = normals(500, 1.0)
    result = audit_scores(scores, member, control=np.random.default_rng(9).normal(size=1000))
    assert result.verdict.kind == "leaks"
    assert result.strongest.control.kind == "never trained"
    assert not any("word" in text for text in (*result.verdict.reasons, *result.warnings))


@pytest.mark.parametrize("random_split", [False, True])
def test_a_control_that_finds_as_much_forbids_it(random_split):
    scores, member = normals(500, 1.0)
    control, _ = normals(500, 0.0, seed=1)
    result = audit_scores(scores, member, control=control + 1.0 * member, random_split=random_split)
    assert result.verdict.kind == "cannot tell"
    assert "never saw" in result.verdict.sentence


def test_no_evidence_and_too_few_records():
    assert audit_scores(*normals(6000, 0.0), random_split=True).verdict.kind == "no evidence"
    few = audit_scores(*normals(20, 0.0))
    assert few.verdict.kind == "cannot tell"
    assert "more records" in few.verdict.sentence
    assert not any("word" in reason for reason in few.verdict.reasons)


def test_scores_that_point_the_other_way_are_noted():
    scores, member = normals(500, 1.0)
    assert any("--lower-is-member" in warning for warning in audit_scores(-scores, member).warnings)
    assert not any("--lower-is-member" in warning for warning in audit_scores(scores, member).warnings)


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
    assert any("fewer than 20" in warning for warning in result.warnings)


def test_every_member_gets_a_place_and_the_larger_side_is_drawn_from():
    scores, _ = normals(200, 0.0)
    member = np.arange(400) < 300
    result = audit_scores(scores, member, ids=np.arange(1000, 1400))
    assert result.target.judged == 100
    assert result.records["id"].tolist() == list(range(1000, 1300))
    assert result.exposed[0].rank == 1
    assert any("200 members are not" in warning for warning in result.warnings)


def test_saved_and_loaded_it_is_equal_and_shows_itself(tmp_path):
    scores, member = normals(200, 1.0)
    result = audit_scores(scores, member, random_split=True, name="loss", command="leakscope scores x.csv")
    result.save(tmp_path)
    assert ls.load(tmp_path) == result
    assert result.target.task == "scores"
    assert result.command == "leakscope scores x.csv"
    assert "the given score" in str(result)
    assert "the given score" in render(result)


def test_hostile_names_are_harmless_in_the_page():
    scores, member = normals(100, 1.0)
    groups = pd.DataFrame({HOSTILE: np.where(np.arange(200) % 2, HOSTILE, "other")})
    ids = np.array([f"{HOSTILE}{number}" for number in range(200)])
    result = audit_scores(scores, member, groups=groups, ids=ids, name=HOSTILE, random_split=True)
    page = render(result)
    assert result.strongest.by_group
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\u202e" not in str(result)


# --- bad input --------------------------------------------------------------------------------------------------------

GOOD, WHO = np.arange(40.0), np.arange(40) % 2 == 0
BAD = {
    "missing": ((np.where(GOOD == 3, np.nan, GOOD), WHO), {}, "1 of 40 scores are missing"),
    "infinite": ((np.where(GOOD == 3, np.inf, GOOD), WHO), {}, "1 of 40 scores are infinite"),
    "texts": ((["a"] * 40, WHO), {}, "not a number"),
    "two columns": ((np.ones((40, 2)), WHO), {}, r"shape \(40, 2\)"),
    "one side": ((GOOD, np.ones(40, bool)), {}, "only 0 non-members"),
    "other side": ((GOOD, np.zeros(40, bool)), {}, "only 0 members"),
    "few": ((GOOD[:19], WHO[:19]), {}, "only 9 non-members: an audit needs at least 10"),
    "none": (([], []), {}, "only 0 members"),
    "words": ((GOOD, ["maybe"] * 40), {}, "'maybe': say 1 or 0"),
    "number": ((GOOD, np.arange(40)), {}, "memberships hold 2, 3 and 36 more"),
    "unknown": ((GOOD, [None] * 40), {}, "40 records don't say"),
    "lengths": ((GOOD, WHO[:30]), {}, "40 scores and 30 memberships"),
    "control lengths": ((GOOD, WHO), {"control": GOOD[:30]}, "40 scores and 30 control scores"),
    "control missing": ((GOOD, WHO), {"control": GOOD * np.nan}, "40 of 40 control scores are missing"),
    "groups lengths": ((GOOD, WHO), {"groups": ["a"] * 3}, "40 scores and 3 rows of groups"),
    "ids": ((GOOD, WHO), {"ids": ["a"] * 40}, "not unique"),
    "ids lengths": ((GOOD, WHO), {"ids": [1, 2]}, "one id for each"),
    "row names": ((pd.Series(GOOD), pd.Series(WHO, index=np.arange(40)[::-1])), {}, "other row names"),
    "confidence": ((GOOD, WHO), {"confidence": 2}, "confidence must be"),
    "margin": ((GOOD, WHO), {"margin": 0}, "margin must be"),
    "rates": ((GOOD, WHO), {"fprs": "low"}, "rates must be numbers"),
    "seed": ((GOOD, WHO), {"seed": -1}, "seed must be"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case):
    arguments, options, words = BAD[case]
    with pytest.raises(InputError, match=words) as caught:
        audit_scores(*arguments, **options)
    assert "\n" not in str(caught.value)


def test_equal_scores_tell_nothing():
    result = audit_scores(np.ones(400), np.arange(400) % 2 == 0, random_split=True)
    assert given(result).auc.value == 0.5
    assert result.verdict.kind != "leaks"


def test_words_for_members():
    assert read_members(["1", "0", "TRUE", "false", " Yes", "no", "member", "NonMember", "1.0"]).tolist() == [
        True, False, True, False, True, False, True, False, True,
    ]  # fmt: skip
