"""Comparisons that end early: all versions have the same references, and the rows are those of a comparison that planned no more."""

# ruff: noqa: ARG001, ARG002  # the interface of a defense asks for more than these toys use

from typing import Any

import numpy as np
import pytest
from test_compare import Mechanism, assert_same, people

import leakscope as ls
from leakscope.defenses import Rounding
from leakscope.studies.compare.result import Comparison
from leakscope.studies.compare.rounds import train_in_rounds
from leakscope.toys import constant_model, lookup_model

TRAIN, HOLDOUT = people(100)


class Counted:
    """Counts the trainings of all learners of a comparison, and is interrupted in one of them."""

    def __init__(self, interrupted: int | None = None) -> None:
        self.trained, self.interrupted = [], interrupted

    def named(self, name: str, make: Any) -> Any:
        def fit(X: Any, y: Any, rng: np.random.Generator) -> Any:
            self.trained.append(name)
            if len(self.trained) == self.interrupted:
                raise KeyboardInterrupt
            return make(X, y)

        return fit


def compare(counted: Counted | None = None, **options: Any) -> Comparison:
    counted = counted or Counted()
    target = ls.make_target(lookup_model(*TRAIN), TRAIN, HOLDOUT, fit=counted.named("own", lookup_model))
    defenses = [Mechanism(counted.named("constant", lambda X, y: constant_model())), Rounding([1])]
    return ls.compare(target, defenses=defenses, workers=1, **options)


def comparable(found: Comparison) -> Any:
    """The result without what differs from run to run, and without how it came to its number of references."""
    document = found.as_dict()
    del document["settings"]["budget"], document["seconds"], document["created"]
    return document | {"warnings": []}


def test_a_budget_gives_the_result_of_a_comparison_with_the_number_of_references_that_it_reached() -> None:
    for budget, planned, reached in ((1e-9, None, 2), (1e-9, 4, 2), (1e9, 4, 4)):
        counted = Counted()
        found = compare(counted, budget=budget, references=planned)
        assert found.settings["references"] == reached
        assert comparable(found) == comparable(compare(references=reached))
        # In the first round each learner trains four folds, two halves and a pair, and the defense its whole model; then pairs.
        expected = ["own"] * 8 + ["constant"] * 9
        for _ in range(reached // 2 - 1):
            expected += ["own"] * 2 + ["constant"] * 2
        assert counted.trained == expected


def test_the_model_as_it_is_has_the_risk_of_an_audit_with_as_many_references() -> None:
    fit = Counted().named("own", lookup_model)
    audited = ls.audit(lookup_model(*TRAIN), TRAIN, HOLDOUT, fit=fit, references=2, workers=1)
    assert_same(compare(budget=1e-9).as_it_is, audited.risks)


@pytest.mark.parametrize("interrupted", [18, 20, 21])
def test_an_interrupt_after_the_first_round_leaves_the_rounds_that_are_whole(interrupted: int) -> None:
    found = compare(Counted(interrupted), budget=1e9, references=8)
    assert found.settings["references"] == 2
    assert any(warning.code == "interrupted" for warning in found.warnings)
    assert comparable(found) == comparable(compare(references=2))


@pytest.mark.parametrize(("interrupted", "budget"), [(1, 1e9), (9, 1e9), (17, 1e9), (10, None)])
def test_an_interrupt_in_the_first_round_or_before_any_version_ends_the_comparison(
    interrupted: int, budget: Any
) -> None:
    with pytest.raises(KeyboardInterrupt):
        compare(Counted(interrupted), budget=budget, references=4)


def test_without_a_budget_an_interrupt_leaves_the_versions_that_are_measured() -> None:
    """The rounded answers share the models of the model as it is, which are trained first."""
    found = compare(Counted(12), references=4)
    assert [version.name for version in found.compared] == ["as it is", "round 1"]
    assert [(one.attack, "interrupted" in one.reason) for one in found.not_run] == [("mechanism 1", True)]
    whole = compare(references=4)
    for version in found.compared:
        assert version.risk == whole[version.name].risk


def test_a_defense_that_fails_is_left_out_of_later_rounds() -> None:
    counted = Counted()

    def fail(X: Any, y: Any) -> Any:
        raise ValueError("no")

    target = ls.make_target(lookup_model(*TRAIN), TRAIN, HOLDOUT, fit=counted.named("own", lookup_model))
    defenses = [Mechanism(counted.named("failing", fail)), Rounding([1])]
    found = ls.compare(target, defenses=defenses, workers=1, references=4, budget=1e9)
    assert [version.name for version in found.compared] == ["as it is", "round 1"]
    assert [one.attack for one in found.not_run] == ["mechanism 1"]
    assert counted.trained == ["own"] * 8 + ["failing"] + ["own"] * 2


@pytest.mark.parametrize(("seconds", "pairs"), [(0.5, 1), (9.9, 1), (20.0, 2), (23.9, 2), (24.0, 3), (99.0, 4)])
def test_rounds_end_when_the_next_one_would_end_after_the_budget(seconds: float, pairs: int) -> None:
    """Two learners, a second for each model, six of each before the references: round r ends after 12 + 4r seconds."""
    now = 0.0

    def train(done: int) -> bool:
        nonlocal now
        now = now + (8 if done == 1 else 2)
        return True

    assert train_in_rounds([train, train], 6, 4, seconds, clock=lambda: now) == (pairs, "budget" if pairs < 4 else None)


def test_trainings_of_rounds_are_in_the_cache(tmp_path: Any) -> None:
    class Learner:
        key, trained = "lookup", 0

        def __call__(self, X: Any, y: Any, rng: np.random.Generator) -> Any:
            self.trained += 1
            return lookup_model(X, y)

    trained = []
    for options in ({"references": 4, "budget": 1e-9}, {"references": 4}, {"references": 6, "budget": 1e9}):
        learner = Learner()
        target = ls.make_target(lookup_model(*TRAIN), TRAIN, HOLDOUT, fit=learner)
        ls.compare(target, defenses=Rounding([1]), workers=1, cache=tmp_path, **options)
        trained.append(learner.trained)
    assert trained == [8, 2, 2]
