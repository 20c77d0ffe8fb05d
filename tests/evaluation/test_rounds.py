"""Training that ends early after whole rounds gives the result of an audit with fewer references."""

from dataclasses import replace

import numpy as np
import pytest

import leakscope as ls
from leakscope.core.result import Caveat
from leakscope.evaluation.rounds import Rounds, TimeOverError
from leakscope.toys import lookup

TOY = lookup(n=120)


class Counted:
    """A learner that counts its trainings, and is interrupted in one of them."""

    def __init__(self, interrupted: int | None = None) -> None:
        self.trained, self.interrupted = 0, interrupted

    def __call__(self, X, y, rng):
        self.trained += 1
        if self.trained == self.interrupted:
            raise KeyboardInterrupt
        return TOY.fit(X, y, rng)


def audit(fit=TOY.fit, **options):
    return ls.audit(TOY.model, TOY.train, TOY.holdout, fit=fit, workers=1, **options)


def comparable(result: ls.Audit) -> ls.Audit:
    """The result without what differs from run to run, and without how it came to its number of references."""
    settings = {name: value for name, value in result.settings.items() if name != "budget"}
    return replace(result, seconds={}, created="", settings=settings, warnings=(), fingerprints={})


@pytest.mark.parametrize(("seconds", "pairs"), [(0.5, 1), (9.0, 1), (10.0, 2), (11.9, 2), (12.0, 3), (99.0, 4)])
def test_training_ends_when_the_next_pair_would_end_after_the_budget(seconds, pairs):
    """Each model takes one second, and six are trained before the references: round r ends after 6 + 2r seconds."""
    now = 0.0
    rounds = Rounds(lambda place, shown: place, 6, 8, seconds, clock=lambda: now)
    try:
        for place in range(14):
            now += 1
            rounds(place, {})
    except TimeOverError as error:
        rounds.end(error)
    assert rounds.pairs == pairs
    assert rounds.stopped == ("budget" if pairs < 4 else None)
    assert rounds.kept == list(range(6 + 2 * pairs))


def test_a_budget_gives_the_result_of_an_audit_with_the_number_of_references_that_it_reached():
    for budget, planned, reached in ((1e-9, None, 2), (1e-9, 4, 2), (1e9, 4, 4)):
        found = audit(budget=budget, references=planned)
        assert found.settings["references"] == reached
        assert comparable(found) == comparable(audit(references=reached))


@pytest.mark.parametrize(("interrupted", "reached"), [(9, 2), (12, 4)])
def test_an_interrupt_after_the_first_round_gives_a_result_that_says_so(interrupted, reached):
    found = audit(Counted(interrupted), references=8)
    assert found.settings["references"] == reached
    assert Caveat("interrupted", {"used": reached, "planned": 8}) in found.warnings
    assert comparable(found) == comparable(audit(references=reached))


@pytest.mark.parametrize("interrupted", [1, 8])
def test_an_interrupt_in_the_first_round_ends_the_audit(interrupted):
    with pytest.raises(KeyboardInterrupt):
        audit(Counted(interrupted), references=8)


def test_more_references_are_added_to_those_in_the_cache(tmp_path):
    class Learner(Counted):
        key = "lookup"

    trained = []
    for references in (2, 6, 6):
        learner = Learner()
        found = audit(learner, references=references, cache=tmp_path)
        trained.append(learner.trained)
        assert "retrain" not in found.seconds  # some took no time: the time of one training can't be told
        assert comparable(found) == comparable(audit(references=references))
    assert trained == [8, 4, 0]


@pytest.mark.parametrize(
    ("budget", "retrain"), [(1, False), *((wrong, True) for wrong in (0, -1, np.inf, np.nan, "10m", True))]
)
def test_a_budget_that_is_no_number_of_seconds_or_without_retraining_is_refused(budget, retrain):
    with pytest.raises(ls.InputError, match="budget"):
        audit(budget=budget, retrain=retrain)


@pytest.mark.parametrize("references", [3, -2, 1026, 10**6, 2.0, "4", True])
def test_a_number_of_references_that_can_not_be_trained_is_refused(references):
    with pytest.raises(ls.InputError, match="references"):
        audit(references=references)
