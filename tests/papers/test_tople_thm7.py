"""Theorem 7 of tople2020 on a network: who knows the causes gains nothing about what is none, and who does not gains."""

import numpy as np
import pytest

from leakscope import papers
from leakscope.papers import tople_thm7


@pytest.fixture(scope="module")
def result():
    return papers.reproduce("tople-thm7", quick=True, workers=1)


def rows(result, **wanted):
    table = result.to_frame().to_dict("records")
    return [row for row in table if all(row[name] == value for name, value in wanted.items())]


def test_inversion_gains_exactly_nothing_where_the_theorem_holds(result):
    found = rows(result, model="causal table", role="near", attack="inversion of the output")
    known = [row for row in found if row["attacker knows"] == "all other features"]
    assert known
    assert all(row["gain"] == row["gain_auc"] == 0 for row in known)


def test_the_causal_table_tells_nothing_by_its_own_use_of_what_it_does_not_use(result):
    found = rows(result, model="causal table", role="near", attack="learned on features and output (boosted trees)")
    assert len(found) == 3
    assert all(row["beyond_control"] == 0 for row in found)
    (alone,) = [row for row in found if row["attacker knows"] == "the output alone"]
    assert alone["gain_low"] > 0


def test_a_cause_and_an_associational_network_give_away(result):
    for model, role in (("causal table", "cause"), ("network", "near")):
        found = rows(result, model=model, role=role, **{"attacker knows": "all other features"})
        assert max(row["gain_low"] for row in found) > 0


def test_the_theorem_holds_for_who_knows_the_causes_only(result):
    outcomes = [claim.outcome for claim in result.claims]
    assert outcomes == ["no", "yes", "no"]
    assert result.settings["confidence"] == 1 - 0.05 / 18


def test_the_near_feature_tells_most_about_the_cause_and_the_far_one_least():
    columns = np.random.default_rng(0).integers(0, 2, (3, 200), np.uint8)
    copy = np.where(np.arange(200) < 20, 1 - columns[0], columns[0])
    X = np.column_stack([*columns[:2], copy])
    assert tople_thm7._features(X, ["a", "b", "c"], ["a"]) == {"cause": "a", "near": "c", "far": "b"}


def test_where_the_feature_is_the_only_cause_no_other_can_be_unknown():
    assert list(tople_thm7._attackers(["a", "b"], ["a"], "a")) == ["all other features", "the output alone"]
    known = tople_thm7._attackers(["a", "b", "c"], ["a"], "c")
    assert known == {"all other features": [0, 1], "all but a cause": [1], "the output alone": []}
