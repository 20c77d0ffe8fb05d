"""Dominance between versions, and the recommendation."""

from dataclasses import replace

import numpy as np
import pytest
from comparisons import sample_comparison

from leakscope.comparison.choosing import Rivals, recommend
from leakscope.comparison.paired import PairedAucs
from leakscope.comparison.result import Measured
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat


def rivals(risks, qualities, deviation=0.01, margin=0.05, price=0.01, records=400):
    """Versions with one attack each, all differences of risk with the same standard error."""
    count = len(risks)
    spread = deviation * (1 - np.eye(count))
    paired = PairedAucs(np.array(risks), spread, 2.0, 1e-4, 0.95, records)
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, records)
    return Rivals(
        paired,
        [[place] for place in range(count)],
        [[quality + noise] for quality in qualities],
        margin,
        [price],
        range(count),
    )


def test_by_points_one_must_be_as_good_in_all_and_better_in_one():
    assert rivals([0.6, 0.5, 0.55, 0.6], [0.8, 0.8, 0.9, 0.8]).dominating() == [1, None, None, 1]


def test_the_same_twice_beats_nobody():
    assert rivals([0.6, 0.6], [0.8, 0.8]).dominating() == [None, None]


def test_significant_dominance_needs_intervals():
    # 0.1 apart with an error of 0.01 each is sure; 0.01 apart is not
    assert rivals([0.6, 0.5], [0.8, 0.8]).significantly_dominating() == [1, None]
    assert rivals([0.51, 0.5], [0.8, 0.8]).significantly_dominating() == [None, None]
    # at the same risk a better utility beats, as long as the risk is surely within the margin
    assert rivals([0.5, 0.5], [0.8, 0.9]).significantly_dominating() == [1, None]
    assert rivals([0.5, 0.5], [0.8, 0.9], deviation=0.1).significantly_dominating() == [None, None]


def test_less_risk_at_too_high_a_price_beats_nobody():
    assert rivals([0.6, 0.5], [0.8, 0.7]).significantly_dominating() == [None, None]


def test_equal_right_answers_are_sure_only_where_they_are_the_same_by_construction():
    """Both are right about the same 400 people: of others a share of 1 - 0.025^(1/400) = 0.009 may still be lost."""
    pair, right = rivals([0.6, 0.5], [0.8, 0.8]), (np.arange(400) % 5 > 0).astype(float)
    for alike, beaten in (([0, 0], [1, None]), ([0, 1], [None, None])):
        assert (
            Rivals(pair.paired, pair.places, [[right], [right]], 0.05, [0.008], alike).significantly_dominating()
            == beaten
        )


def test_a_difference_in_the_last_bits_beats_nobody():
    assert rivals([0.6, 0.6 - 1e-12], [0.8, 0.8]).dominating() == [None, None]


def test_every_quality_counts():
    """As accurate and less risky, but with a worse log-loss: it beats nobody."""
    both = rivals([0.6, 0.5], [0.8, 0.8])
    flat = np.zeros(400)
    with_loss = Rivals(
        both.paired,
        both.places,
        [[both.qualities[0][0], flat], [both.qualities[1][0], flat - 1]],
        0.05,
        [0.01, 0.01],
        range(2),
    )
    assert with_loss.dominating() == [None, None]
    assert with_loss.significantly_dominating() == [None, None]


# --- recommendations --------------------------------------------------------------------------------------------------


def advise(lowered, price, *, leaks=True, doubt=None, refuted=False, allowed=0.01, references=True):
    first, other = sample_comparison("utility_limit", explained=False, versions=2).compared
    utility = {"accuracy": Measured("accuracy", "more", Estimate(0.8, 0.7, 0.9), Estimate(*price))}
    other = replace(
        other, risk_change=Estimate(*lowered), utility=utility, guarantee_status="refuted" if refuted else "none"
    )
    if not references:
        other = replace(other, attacks=tuple(replace(attack, knows="") for attack in other.attacks))
    return recommend([first, other], (allowed, 0.01), leaks=leaks, doubt=doubt)


@pytest.mark.parametrize(
    ("lowered", "price", "options", "kind"),
    [
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {}, "use"),
        ((-0.1, -0.2, -0.05), (0.0, -0.02, 0.02), {}, "utility_limit"),
        ((-0.1, -0.2, -0.05), (0.0, -0.02, 0.02), {"allowed": 0.03}, "use"),
        ((-0.1, -0.2, 0.01), (0.0, -0.005, 0.005), {}, "not_lowered"),
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {"refuted": True}, "not_lowered"),
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {"leaks": False}, "nothing_to_lower"),
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {"doubt": Caveat("leak_inconclusive")}, "inconclusive"),
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {"references": False}, "untested"),
        ((-0.1, -0.2, 0.01), (0.0, -0.005, 0.005), {"references": False}, "not_lowered"),
    ],
)
def test_words_only_where_intervals_allow(lowered, price, options, kind):
    found = advise(lowered, price, **options)
    assert found.kind == kind
    assert found.version == ("l2 0.1" if kind == "use" else None)


def test_faithfulness_has_a_limit_of_its_own_whatever_the_unit_of_the_label():
    """A regression in dollars may lose thousands of squared dollars, but not its explanations."""
    first, other = sample_comparison("utility_limit", explained=False, versions=2).compared
    lost = Measured("faithfulness of gradient", "more", Estimate(0.3, 0.2, 0.4), Estimate(-0.6, -0.7, -0.5))
    other = replace(other, risk_change=Estimate(-0.1, -0.2, -0.05))
    assert recommend([first, other], (1e6, 0.01)).kind == "use"
    assert recommend([first, replace(other, faithfulness=(lost,))], (1e6, 0.01)).kind == "utility_limit"
    pair, flat = rivals([0.6, 0.5], [0.8, 0.8]), np.zeros(400)
    noisy = np.random.default_rng(1).normal(size=400)
    unsure = [
        [flat, flat],
        [flat, noisy - noisy.mean() + 1e-3],
    ]  # as good by points, surely worse by no more than some 0.1
    assert Rivals(pair.paired, pair.places, unsure, 0.05, [0.02, 1.0], range(2)).significantly_dominating() == [1, None]
    assert Rivals(pair.paired, pair.places, unsure, 0.05, [1.0, 1e-4], range(2)).significantly_dominating() == [
        None,
        None,
    ]


def test_alone_there_is_nothing_to_compare():
    first = sample_comparison("not_lowered", versions=1).compared
    assert recommend(first, (0.01, 0.01)).kind == "not_lowered"


# --- claims -----------------------------------------------------------------------------------------------------------


def outcomes(found, code):
    return {claim.subject.get("version"): claim.outcome for claim in found.claims if claim.code == code}


def test_claims_follow_the_intervals():
    found = sample_comparison("use")
    assert found.claims[0].code == "leak"
    lowered = outcomes(found, "risk_lowered")
    assert [name for name, outcome in lowered.items() if outcome != "yes"] == ["round 1", "temperature 5"]
    kept = outcomes(
        found, "utility_kept"
    )  # an accuracy that changes by -0.003 [-0.007, 0.001], and faithfulness by -0.04 [-0.05, -0.03]
    assert (kept["l2 1"], kept["l2 10"]) == ("inconclusive", "no")
    assert outcomes(sample_comparison("use", explained=False), "utility_kept")["l2 1"] == "yes"
    assert outcomes(found, "guarantee_refuted") == {
        "parameter-noise 4": "inconclusive",
        "parameter-noise 0.5": "inconclusive",
        "dp-sgd 1": "yes",
        "pate 1": "inconclusive",
    }
    assert [version.name for version in found.refuted] == ["dp-sgd 1"]
    dominated = {name for name, outcome in outcomes(found, "dominated").items() if outcome == "yes"}
    assert dominated == {"round 1", "temperature 5", "parameter-noise 4", "dp-sgd 1"}
    lost = sum(group.change.high < 0 for version in found.compared[1:] for group in version.groups)
    assert sum(claim.code == "group_utility_lost" for claim in found.claims) == lost > 0


def test_where_something_else_may_explain_the_risk_no_change_of_it_is_claimed():
    found = sample_comparison("inconclusive")
    assert set(outcomes(found, "risk_lowered").values()) == {"inconclusive"}
    assert found.claim("recommended").outcome == found.claim("leak").outcome == "inconclusive"
