"""What may be said of several versions: by points, surely, and as a recommendation."""

from dataclasses import replace

import numpy as np
import pytest
from comparisons import sample_comparison

from leakscope.comparison.choosing import Rivals, recommend
from leakscope.comparison.paired import PairedAucs
from leakscope.comparison.result import Measured
from leakscope.core.estimate import Estimate


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
    assert rivals([0.6, 0.5, 0.55, 0.6], [0.8, 0.8, 0.9, 0.8]).beaten() == [1, None, None, 1]


def test_the_same_twice_beats_nobody():
    assert rivals([0.6, 0.6], [0.8, 0.8]).beaten() == [None, None]


def test_surely_beaten_needs_intervals():
    # 0.1 apart with an error of 0.01 each is sure; 0.01 apart is not
    assert rivals([0.6, 0.5], [0.8, 0.8]).surely_beaten() == [1, None]
    assert rivals([0.51, 0.5], [0.8, 0.8]).surely_beaten() == [None, None]
    # at the same risk a better utility beats, as long as the risk is surely within the margin
    assert rivals([0.5, 0.5], [0.8, 0.9]).surely_beaten() == [1, None]
    assert rivals([0.5, 0.5], [0.8, 0.9], deviation=0.1).surely_beaten() == [None, None]


def test_less_risk_at_too_high_a_price_beats_nobody():
    assert rivals([0.6, 0.5], [0.8, 0.7]).surely_beaten() == [None, None]


def test_equal_right_answers_are_sure_only_where_they_are_the_same_by_construction():
    """Both are right about the same 400 people: of others a share of 1 - 0.025^(1/400) = 0.009 may still be lost."""
    pair, right = rivals([0.6, 0.5], [0.8, 0.8]), (np.arange(400) % 5 > 0).astype(float)
    for alike, beaten in (([0, 0], [1, None]), ([0, 1], [None, None])):
        assert Rivals(pair.paired, pair.places, [[right], [right]], 0.05, [0.008], alike).surely_beaten() == beaten


def test_a_difference_in_the_last_bits_beats_nobody():
    assert rivals([0.6, 0.6 - 1e-12], [0.8, 0.8]).beaten() == [None, None]


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
    assert with_loss.beaten() == [None, None]
    assert with_loss.surely_beaten() == [None, None]


# --- recommendations --------------------------------------------------------------------------------------------------

NONE = Estimate(0.0, 0.0, 0.0, 1.0, "exact")


def advise(lowered, price, *, leaks=True, doubt="", broken=False, log_loss=NONE, allowed=0.01, references=True):
    first, other = sample_comparison("at a price", explained=False, versions=2).versions
    utility = (
        Measured("accuracy", "more", Estimate(0.8, 0.7, 0.9), Estimate(*price)),
        Measured("log-loss", "less", NONE, log_loss),
    )
    other = replace(other, lowered=Estimate(*lowered), utility=utility, promise="broken" if broken else "none")
    if not references:
        other = replace(other, attacks=tuple(replace(attack, knows="") for attack in other.attacks))
    return recommend([first, other], (allowed, 0.01), leaks=leaks, doubt=doubt)


@pytest.mark.parametrize(
    ("lowered", "price", "options", "kind"),
    [
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {}, "use"),
        ((-0.1, -0.2, -0.05), (0.0, -0.02, 0.02), {}, "at a price"),
        ((-0.1, -0.2, -0.05), (0.0, -0.02, 0.02), {"allowed": 0.03}, "use"),
        ((-0.1, -0.2, 0.01), (0.0, -0.005, 0.005), {}, "no sure gain"),
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {"broken": True}, "no sure gain"),
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {"leaks": False}, "nothing to lower"),
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {"doubt": "the records differ"}, "inconclusive"),
        ((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), {"references": False}, "untested"),
        ((-0.1, -0.2, 0.01), (0.0, -0.005, 0.005), {"references": False}, "no sure gain"),
    ],
)
def test_words_only_where_intervals_allow(lowered, price, options, kind):
    found = advise(lowered, price, **options)
    assert found.kind == kind
    assert found.version == ("l2 0.1" if kind == "use" else None)


def test_faithfulness_has_a_limit_of_its_own_whatever_the_unit_of_the_label():
    """A regression in dollars may lose thousands of squared dollars, but not its explanations."""
    first, other = sample_comparison("at a price", explained=False, versions=2).versions
    lost = Measured("faithfulness of gradient", "more", Estimate(0.3, 0.2, 0.4), Estimate(-0.6, -0.7, -0.5))
    other = replace(other, lowered=Estimate(-0.1, -0.2, -0.05))
    assert recommend([first, other], (1e6, 0.01)).kind == "use"
    assert recommend([first, replace(other, faithfulness=(lost,))], (1e6, 0.01)).kind == "at a price"
    pair, flat = rivals([0.6, 0.5], [0.8, 0.8]), np.zeros(400)
    noisy = np.random.default_rng(1).normal(size=400)
    unsure = [
        [flat, flat],
        [flat, noisy - noisy.mean() + 1e-3],
    ]  # as good by points, surely worse by no more than some 0.1
    assert Rivals(pair.paired, pair.places, unsure, 0.05, [0.02, 1.0], range(2)).surely_beaten() == [1, None]
    assert Rivals(pair.paired, pair.places, unsure, 0.05, [1.0, 1e-4], range(2)).surely_beaten() == [None, None]


def test_what_else_it_costs_is_said():
    plain = advise((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005))
    costly = advise((-0.1, -0.2, -0.05), (0.0, -0.005, 0.005), log_loss=Estimate(1.5, 1.0, 2.0))
    assert "log-loss" not in plain.sentence
    assert "It surely costs more than that: the log-loss changes by 1.5" in costly.sentence


def test_alone_there_is_nothing_to_compare():
    first = sample_comparison("at a price", versions=1).versions
    assert "No other version" in recommend(first, (0.01, 0.01)).sentence
