"""The experiments of tople2020, section 4.1: sampled data, means over draws, the rules that decide statements, and bad settings."""

import math
from functools import partial
from types import SimpleNamespace

import deciding
import numpy as np
import pytest

from leakscope.attacks import confidence_network, learned
from leakscope.attacks.protocol import Evidence, Known
from leakscope.causal import load_network
from leakscope.causal.counting import count_table
from leakscope.causal.membership import ModelPair, try_membership
from leakscope.core.errors import InputError
from leakscope.papers import tople, tople_fig3a, tople_fig3b, tople_tab1, tople_tab2
from leakscope.papers.reproduction import Work
from leakscope.papers.tople import NETWORK, SHIFTED, SORTED, TABLE, UNSORTED, Attempt, Budget, Draws, P, draw_data
from leakscope.papers.tople_findings import separation, within

around = partial(deciding.around, half=0.005)


# --- sampled data -------------------------------------------------------------------------------------------------------


def test_a_world_has_two_samples_and_as_many_test_records_for_each():
    drawn = draw_data("sachs", 1000, [P, SHIFTED], draw=0, seed=0)
    assert [len(sample) for sample in drawn.samples] == [600, 600]
    assert {law: len(records) for law, records in drawn.nonmembers.items()} == {"P": 800, "P*": 800}
    assert drawn.label not in drawn.columns
    assert [drawn.columns[place] for place in drawn.parents] == ["Erk", "PKA"]
    assert drawn.samples[0].X.shape[1] == len(drawn.columns) == len(drawn.levels) == 10
    assert (drawn.samples[0].X != drawn.samples[1].X).any()
    assert (drawn.nonmembers["P"].X != drawn.learned_nonmembers["P"].X).any()


def test_a_world_depends_on_seed_and_draw_alone():
    one, same, other, later = (
        draw_data("sachs", 300, laws, draw, seed)
        for laws, draw, seed in (([P, SHIFTED], 0, 0), ([SHIFTED], 0, 0), ([P, SHIFTED], 1, 0), ([P, SHIFTED], 0, 1))
    )
    for number in (0, 1):
        np.testing.assert_array_equal(one.samples[number].X, same.samples[number].X)
    np.testing.assert_array_equal(one.nonmembers["P*"].X, same.nonmembers["P*"].X)
    for drawn in (other, later):
        assert (one.samples[0].X != drawn.samples[0].X).any()
        assert (one.nonmembers["P*"].X != drawn.nonmembers["P*"].X).any()


def test_the_label_keeps_its_table_under_every_law_and_the_rest_moves():
    """Shares of the label by configuration are within 4.5 standard errors of the table; 45 shares."""
    network = load_network("sachs")
    truth = network.tables["Akt"]
    laws = [P, tople.Law("noise 1", 1.0), SHIFTED]
    drawn = draw_data("sachs", 40_000, laws, draw=0, seed=2)
    levels = [*drawn.levels, len(drawn.classes)]
    shares = []
    for law in laws:
        records = drawn.nonmembers[law.name]
        counts = count_table(np.column_stack([records.X, records.y]), 10, drawn.parents, levels)
        totals = counts.sum(axis=1, keepdims=True)
        error = np.sqrt(truth * (1 - truth) / totals)
        assert (np.abs(counts / totals - truth) <= 4.5 * error + 1 / totals).all()
        shares.append(counts.sum(axis=1) / len(records))
    near, far = (0.5 * np.abs(shares[0] - other).sum() for other in shares[1:])
    assert 0.02 < near < far


def test_no_noise_is_p():
    """The standard error of a share of 3,000 is 0.01 at most: distances of five shares stay below 0.05 if the law is one."""
    drawn = draw_data("child", 5000, [tople.Law("noise 0", 0.0), SHIFTED], draw=0, seed=0)
    column = drawn.parents[0]
    first, plain, shifted = (
        np.bincount(part.X[:, column], minlength=5) / len(part)
        for part in (drawn.samples[0], drawn.nonmembers["noise 0"], drawn.nonmembers["P*"])
    )
    assert 0.5 * np.abs(plain - first).sum() < 0.05 < 0.5 * np.abs(shifted - first).sum()


def test_of_the_table_against_p_star_the_shares_of_the_parents_are_all_there_is_to_find():
    """Its outputs tell the configuration of the parents: accuracy 1/2 + TV/2 of the two laws of it, control and all."""
    drawn = draw_data("child", 30_000, [P, SHIFTED], draw=0, seed=0)
    (column,) = drawn.parents
    shares = [
        np.bincount(part.X[:, column], minlength=5) / len(part) for part in (*drawn.samples, drawn.nonmembers["P*"])
    ]
    best = 0.5 + 0.125 * sum(np.abs(shares[number] - shares[2]).sum() for number in (0, 1))
    models = drawn.table().train(drawn.samples, drawn.classes, np.random.SeedSequence(0))
    attack = learned("probabilities", "confidences", "tree")
    (found,) = try_membership(ModelPair(tuple(models), drawn.samples), drawn.nonmembers["P*"], [attack], most=20_000)
    error = math.sqrt(best * (1 - best) / 40_000)
    assert best > 0.55
    assert found.accuracy.value == pytest.approx(best, abs=6 * error)  # of the attack, and of what it is held against
    assert found.control_accuracy.value == pytest.approx(best, abs=6 * error)
    assert abs(found.excess_accuracy.value) < 0.01


def test_attackers_learn_from_what_the_trial_says():
    drawn = draw_data("sachs", 200, [P, SHIFTED], draw=0, seed=0)
    assert drawn.known(Attempt("P*", SORTED)) is None
    assert drawn.known(Attempt("P*", SORTED, "P")) == [drawn.learned_nonmembers["P"]]
    assert drawn.known(Attempt("P*", SORTED, "P and P*")) == [
        drawn.learned_nonmembers["P"],
        drawn.learned_nonmembers["P*"],
    ]


def test_sorted_confidences_do_not_know_the_names_of_classes():
    rng = np.random.default_rng(0)
    p, seen = rng.dirichlet(np.ones(4), 100), rng.dirichlet(np.ones(4), 200)
    member = np.arange(200) % 2 == 0
    attack = confidence_network(steps=30, starts=2, sort=True)
    one, other = (
        attack.guess(Evidence(p[:, order], None, Known(seen[:, order], None, member)), np.random.default_rng(1)).score
        for order in ([0, 1, 2, 3], [2, 0, 3, 1])
    )
    np.testing.assert_array_equal(one, other)
    names = {name: Budget(1, 1, 1).attack(name).name for name in (SORTED, UNSORTED)}
    assert len(set(names.values())) == 2


# --- over draws ---------------------------------------------------------------------------------------------------------


def plan_of(trials=(), size=400, network="sachs"):
    return tople.DrawPlan(network, size, tople.table_and_network, dict.fromkeys((TABLE, NETWORK), trials))


def test_attacks_change_nothing_about_the_models():
    """So the models of Figure 3a are those of Figure 3b."""
    effort = Budget(steps=20, attack_steps=10, judged=100)
    trials = (Attempt("P", tople.BOUNDED), Attempt("P*", tople.TREE))
    bare, attacked = (tople.look(plan_of(given), 0, effort, 0) for given in ((), trials))
    assert bare.accuracy == attacked.accuracy
    assert not bare.found
    assert not bare.blind
    assert set(attacked.found) == {(kind, trial) for kind in (TABLE, NETWORK) for trial in trials}
    assert set(attacked.blind) == {"P", "P*"}
    for figures in attacked.found.values():
        assert figures["excess"].value == pytest.approx(figures["attack"].value - figures["control"].value, abs=1e-12)


def test_workers_and_order_change_nothing():
    effort = Budget(steps=5, attack_steps=5, judged=80)
    steps = []
    plans = [plan_of((Attempt("P*", tople.BOUNDED),), size) for size in (200, 300)]
    work = Work(SimpleNamespace(ID="test"), {}, 3, lambda *step: steps.append(step), 1)
    points = tople.over_draws(work, plans, 2, effort)
    assert steps == [("test", number, 4) for number in (1, 2, 3, 4)]
    assert [point.plan.size for point in points] == [200, 300]
    assert points[1].answers[1] == tople.look(plans[1], 1, effort, 3)
    assert points[0].answers[0] != points[0].answers[1]


def test_the_mean_over_draws_has_students_interval_unless_records_say_less():
    apart = tople.pooled([around(value, half=1e-6) for value in (0.4, 0.5, 0.6, 0.7)])
    half = 3.182446 * np.std([0.4, 0.5, 0.6, 0.7], ddof=1) / 2  # the quantile of Student's law with 3 degrees
    assert apart.value == pytest.approx(0.55)
    assert apart.high - apart.value == pytest.approx(half, rel=1e-6)
    alike = tople.pooled([around(0.5, half=0.04)] * 4)
    assert (alike.low, alike.high) == (pytest.approx(0.48), pytest.approx(0.52))


def test_accuracies_stay_between_zero_and_one():
    answers = [tople.DrawFound({(TABLE, "P"): around(value)}, {}, {}) for value in (0.99, 0.7)]
    found = Draws(plan_of(), answers).accuracy(TABLE, "P")
    assert (found.low, found.high) == (0.0, 1.0)


# --- verdicts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("high", "outcome"), [(0.52, "yes"), (0.512, "inconclusive"), (0.503, "no")])
def test_a_statement_is_open_where_an_interval_holds_the_limit(high, outcome):
    series = [("1K", around(0.50)), ("2K", around(0.51))]
    found = within("x", series, 0.48, high)
    assert found.outcome == outcome
    assert list(found.estimates) == (["1K", "2K"] if outcome == "yes" else ["2K"])


def point_of(size, figures, readings=()):
    """A point of made-up numbers: (kind, law) to attack and control; ``readings``: other trials with theirs."""
    found = {(kind, Attempt(law, SORTED)): values for (kind, law), values in figures.items()} | dict(readings)
    answer = tople.DrawFound(
        {(kind, law): around(0.8 if law != "P*" else 0.7) for kind in (TABLE, NETWORK) for law in ("S", "P", "P*")},
        {
            key: {"attack": around(one), "control": around(two), "excess": around(one - two)}
            for key, (one, two) in found.items()
        },
        {"P": around(0.5), "P*": around(0.95)},
    )
    return Draws(plan_of(size=size, network="child"), [answer] * 3)


def like_the_paper(size):
    small, late = size < 10_000, size >= 100_000
    return {
        (NETWORK, "P"): (0.65 if small else 0.5, 0.5),
        (TABLE, "P"): (0.52 if small else 0.5, 0.5),
        (NETWORK, "P*"): ({1000: 0.7, 50_000: 0.8}.get(size, 0.85), 0.65),
        (TABLE, "P*"): (0.5 if late else 0.56, 0.5),
    }


def test_the_papers_numbers_would_agree_and_others_differ():
    points = [point_of(size, like_the_paper(size)) for size in (1000, 50_000, 100_000)]
    assert {claim.outcome for claim in tople_fig3b.findings(points)} == {"yes"}
    equal = like_the_paper(50_000) | {(NETWORK, "P*"): (0.56, 0.56)}
    found = outcomes(tople_fig3b.findings([points[0], point_of(50_000, equal), points[2]]))
    assert found["network on P*, 50K"] == "no"
    assert found["network above causal on P*"] == "inconclusive"
    assert "yes" in found.values()


def outcomes(claims):
    return {claim.subject["statement"]: claim.outcome for claim in claims}


def test_what_is_membership_is_told_from_what_tells_p_from_p_star():
    words = separation(point_of(50_000, like_the_paper(50_000)), NETWORK, Attempt("P*", SORTED), "50K")
    for part in ("0.300 [0.297, 0.303]", "0.150 [0.147, 0.153]", "0.950 [0.947, 0.953]"):
        assert part in words


def test_the_closest_reading_is_the_one_nearest_to_the_papers_numbers():
    best = Attempt("P*", UNSORTED, "P")
    readings = {
        (kind, trial): ((0.79 if kind == NETWORK else 0.51) if trial == best else 0.9, 0.5)
        for kind in (NETWORK, TABLE)
        for trial in tople_fig3b.READINGS
    }
    far = dict.fromkeys(like_the_paper(50000), (0.65, 0.6))
    points = [point_of(size, far, readings) for size in (50_000, 100_000)]
    (words,) = tople_fig3b._closest(points)
    assert UNSORTED in words
    assert "0.79" in words
    assert "0.51" in words
    assert tople_fig3b._closest(points[:1]) == []


def test_gaps_decide_figure_3a():
    points = [point_of(size, {}) for size in (1000, 10_000)]
    found = outcomes(tople_fig3a.findings(points))
    assert (found["network overfits"], found["same gap to P*"]) == ("no", "yes")


def test_table_1_is_exact():
    result = Work(tople_tab1, tople_tab1.FULL).run()
    assert result.claim("reproduced").outcome == "yes"
    assert len(result.compared) == 4 * len(tople_tab1.COUNTS)
    assert [row["children"] for row in result.rows] == [0, 0, 0, 0]


def test_table_2_tries_every_addition():
    groups = tople_tab2._names((1, 2))
    assert {group: len(models) for group, models in groups.items()} == {
        "true parents": 1, "one more": 8, "two more": 28, "network": 1,
    }  # fmt: skip
    names = [name for models in groups.values() for name in models]
    assert len(set(names)) == len(names)
    assert not any(name in ("with Erk", "with PKA", "with Akt") for name in names)


# --- settings -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draws", [1, 0, True, 2.5])
def test_one_draw_gives_no_interval(draws):
    with pytest.raises(InputError, match="draws"):
        tople.over_draws(Work(tople_tab1, {}), [plan_of()], draws, Budget(1, 1, 40))


def test_networks_that_are_not_there_and_sizes_too_small_are_one_sentence():
    with pytest.raises(InputError, match="'asia'"):
        draw_data("asia", 100, [P], draw=0, seed=0)
    plan = plan_of((Attempt("P", tople.BOUNDED),), size=30)
    with pytest.raises(InputError, match=r"\b18\b"):
        tople.look(plan, 0, Budget(1, 1, 40), 0)
