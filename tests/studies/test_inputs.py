"""Studies take a target, or a model with its records, and calls of the last version with a warning."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from leakscope import defenses
from leakscope.core.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (240, 4)).astype(float)
Y = (X[:, 0] + RNG.normal(size=240) > 1).astype(int)
TRAIN, HOLDOUT = (X[:120], Y[:120]), (X[120:], Y[120:])
MODEL = LogisticRegression().fit(*TRAIN)
QUICK = {"retrain": False, "references": 0}
STUDIES = {
    "audit": partial(ls.audit, **QUICK),
    "attributes": partial(ls.attributes, sensitive=[0, 1]),
    "compare": partial(ls.compare, defenses="label-only", **QUICK),
    "frontier": partial(ls.frontier, releases=["gradient"], records=40, **QUICK),
}
LEAKAGE = {"leakage": partial(ls.leakage.membership_leakage, records=4, draws=60, workers=1)}
FORMER = {
    "attributes": lambda: ls.attributes(MODEL, TRAIN, HOLDOUT, [0, 1]),
    "compare": lambda: ls.compare(ls.make_target(MODEL, TRAIN, HOLDOUT), "label-only", **QUICK),
    "frontier": lambda: ls.frontier(
        MODEL, TRAIN, HOLDOUT, explanations=["gradient"], beside="probabilities", margin=0.05, records=40, **QUICK
    ),
}


def numbers(result):
    return {name: value for name, value in result.as_dict().items() if name not in ("seconds", "created")}


@pytest.mark.parametrize("study", STUDIES | LEAKAGE)
def test_a_target_gives_the_result_of_its_model_and_records(study):
    run = (STUDIES | LEAKAGE)[study]
    found = run(ls.make_target(MODEL, TRAIN, HOLDOUT))
    assert numbers(found) == numbers(run(MODEL, TRAIN, HOLDOUT))
    if study in FORMER:
        with pytest.warns(FutureWarning, match=f"{study}\\(…, "):
            assert numbers(FORMER[study]()) == numbers(found)


@pytest.mark.parametrize("study", STUDIES)
def test_a_target_with_records_and_a_model_without_them_are_refused(study):
    with pytest.raises(InputError, match="holdout"):
        STUDIES[study](MODEL)
    with pytest.raises(InputError, match="train"):
        STUDIES[study](ls.make_target(MODEL, TRAIN, HOLDOUT), train=TRAIN)


def test_an_option_under_both_names_is_refused():
    with pytest.raises(InputError, match="defenses"):
        ls.compare(ls.make_target(MODEL, TRAIN, HOLDOUT), "label-only", defenses="round")


def test_leakage_of_a_target_is_that_of_its_estimator_trained_on_as_many_of_all_records():
    found = LEAKAGE["leakage"](MODEL, TRAIN, HOLDOUT)
    assert found.points == LEAKAGE["leakage"](LogisticRegression(), X, Y, 120).points
    with pytest.raises(InputError, match="Target"):
        LEAKAGE["leakage"](MODEL)


def test_a_defense_that_names_its_setting_as_before_works_with_a_warning():
    class Former:
        name, knob, what, source, settings = "former", "digits", "rounds", "somebody", (1,)

        def refuse(self, _target):
            return None

        def defend(self, target, setting):
            return defenses.Rounding([1]).defend(target, setting)

    with pytest.warns(FutureWarning, match="setting_name"):
        found = ls.compare(MODEL, TRAIN, HOLDOUT, defenses=Former(), **QUICK)
    assert found.compared[1].setting_name == "digits"
