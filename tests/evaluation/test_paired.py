"""Pairs of models in `evaluate`: the queries of each model, the comparisons, and what target and control share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from leakscope.attacks.protocol import Attack, Scores
from leakscope.core.ranking import Scale
from leakscope.data.records import Records
from leakscope.evaluation.evaluate import evaluate
from leakscope.evaluation.explanation_gain import advantage_difference, auc_difference
from leakscope.evaluation.paired import Paired
from leakscope.evaluation.risk import Judged
from leakscope.models.model import Model


def records(start, n):
    """Records that are known by their number, which is also their label."""
    numbers = np.arange(start, start + n)
    return Records(numbers[:, None].astype(float), numbers, numbers)


def number_model(offset):
    """A regression that answers with the record's number plus its own offset."""
    return Model(f"offset {offset}", "regression", None, True, lambda X: X[:, 0] + offset)


def paired_of(n=40, most=60, seed=0):
    rng = np.random.default_rng(seed)
    return Paired.draw([records(1000, n), records(2000, n)], records(3000, 3 * n), most, rng), rng


def spy_on(seen):
    def guess(evidence, rng):
        seen.append(evidence)
        return Scores(evidence.observed[:, 0], rng.random(len(evidence)))

    return Attack("spy", "predictions", "test", guess, uses_labels=True)


MODELS = (number_model(0.1), number_model(0.2))


@pytest.mark.parametrize("learned", [False, True])
def test_each_model_is_asked_about_its_own_records_and_as_control_about_those_of_the_other(learned):
    """Of the answers, whole parts are records and tenths are models. Evidence never mixes models or halves."""
    paired, rng = paired_of()
    known = paired.mix([records(5000, 100), records(6000, 100)], rng) if learned else None
    seen = []
    found = evaluate(spy_on(seen), paired.case(seed=1), paired.observe(MODELS, ["predictions"], known), (0.95,))
    assert len(seen) == 8  # two models and two halves, on target and control
    for number, evidence in enumerate(seen):
        own = number // 2 % 2
        asked_of = 1 - own if number >= 4 else own
        asked, shown = np.rint(evidence.observed[:, 0]).astype(int), np.rint(evidence.known.observed[:, 0]).astype(int)
        for answers in (evidence.observed, evidence.known.observed):
            np.testing.assert_allclose(np.modf(answers)[0], (0.1, 0.2)[asked_of], atol=1e-9)
        np.testing.assert_array_equal(evidence.labels, asked)
        np.testing.assert_array_equal(evidence.known.labels, shown)
        assert not set(asked) & set(shown)
        np.testing.assert_array_equal(evidence.known.member, shown // 1000 == 1 + own)
        np.testing.assert_array_equal(~evidence.known.member, shown >= (5000 if learned else 3000))
        assert len(asked) == len(shown) == 2 * 15
        assert set(asked // 1000) == {1 + own, 3}
    # answers come back to their records
    everyone = np.concatenate([part.y for part in (*paired.members, *paired.nonmembers)])
    np.testing.assert_array_equal(np.rint(found.trial.target.attack_scores.score), everyone)
    np.testing.assert_array_equal(np.rint(found.trial.control.attack_scores.score), everyone)


def test_scores_are_compared_within_a_model():
    """A model that answers higher by 9,000 changes nothing: each model ranks its own members below its non-members."""
    paired, _ = paired_of()
    for models in (MODELS, (number_model(0), number_model(9000)), (number_model(9000), number_model(0))):
        observed = paired.observe(models, ["predictions"])
        for fixed in (True, False):
            guess = spy_on([]).guess
            attack = Attack("number", "predictions", "test", guess, fixed_scale=fixed)
            (risk,) = evaluate(attack, paired.case(seed=0), observed, (0.95,)).risks
            assert (risk.auc.value, risk.control.auc.value) == (0.0, 0.0)


def test_the_attack_draws_the_same_on_target_and_control():
    """Where both models are one function, what an attack leaves to chance is in both, and the excess is 0."""
    paired, _ = paired_of()
    found = evaluate(spy_on([]), paired.case(seed=0), paired.observe((MODELS[0],) * 2, ["predictions"]), (0.95,))
    target, control = found.trial.target, found.trial.control
    np.testing.assert_array_equal(target.attack_scores.says_member, control.attack_scores.says_member)
    assert len(np.unique(target.attack_scores.says_member)) == len(target.member)
    assert advantage_difference(target, control, 0.95).value == 0


def test_too_small_sets_of_known_nonmembers_repeat():
    paired, rng = paired_of()
    mixed = paired.mix([records(0, 10), records(100, 50)], rng)
    assert len(mixed) == 30
    assert len(np.unique(mixed.y)) == 20
    assert set(mixed.y[mixed.y < 100]) == set(range(10))


def test_the_interval_over_fits_is_student_s_over_the_differences_of_the_fits():
    """Closed form: four differences of 0.4, 0, 0 and 0 have mean 0.1 and standard error 0.1; Student's has 3 degrees of freedom."""
    n = 500
    member, fit = np.tile(np.repeat([True, False], n), 4), np.repeat(np.arange(4), 2 * n)
    fits, one = Scale(fit, np.zeros(8 * n, int)), np.zeros(8 * n, int)
    says = np.zeros(8 * n)
    says[: round(0.4 * n)] = 1  # of the first fit's members
    before = Judged(Scores(np.zeros(8 * n), np.zeros(8 * n)), member, Scale(one, one))
    after = Judged(Scores(says, says), member, Scale(one, one))
    quantile = special.stdtrit(3, 0.975)
    for difference, value in ((advantage_difference, 0.1), (auc_difference, 0.05)):
        over_records, over_fits = difference(after, before, 0.95), difference(after, before, 0.95, fits=fits)
        assert over_records.value == over_fits.value == pytest.approx(value)
        assert over_fits.low == pytest.approx(value * (1 - quantile))
        assert over_fits.high == pytest.approx(value * (1 + quantile))
        assert over_records.high < over_fits.high
