"""What would be stronger, and its time from the time of the trainings of this audit."""

from dataclasses import replace

import pytest
from samples import sample_audit

from leakscope.report.stronger import stronger_options


def options(retrained: bool = True, spent: float | None = None, **settings):
    found = sample_audit("leaks", retrained=retrained)
    named = {name.replace("_", " "): value for name, value in settings.items()}
    return stronger_options(
        replace(found, settings=found.settings | named, seconds={} if spent is None else {"retrain": spent})
    )


@pytest.mark.parametrize(
    ("references", "spent", "offered", "seconds"),
    [(4, 8.0, 16, 12.0), (2, 6.0, 4, 2.0), (16, 20.0, 64, 48.0), (0, 1.0, 4, 7.0)],
)
def test_the_time_of_more_references_is_that_of_as_many_trainings(references, spent, offered, seconds):
    """With controls, K references are K + 4 trainings of the target's size; without references the controls are one."""
    first = options(references=references, spent=spent)[0]
    assert first["option"] == f"--references {offered}"
    assert first["seconds"] == pytest.approx(seconds)


def test_without_controls_the_references_are_all_trainings():
    found = options(retrained=False, references=4, spent=8.0)
    assert [(one["option"], one["seconds"]) for one in found] == [("--references 16", 24.0)]


def test_the_statement_of_a_random_split_is_offered_once():
    assert [one["option"] for one in options(references=64)] == ["--random-split"]
    assert options(references=64, random_split=True) == []


def test_nothing_is_offered_where_nothing_is_trained():
    assert options(references=0, retrain=False) == []
