"""`Estimate`: validity, finite ends, transformations and the largest of several."""

import dataclasses
import math

import pytest

from leakscope.core.estimate import Estimate, largest


@pytest.mark.parametrize(
    "ends", [(0.5, 0.6, 0.7), (0.5, 0.3, 0.4), (float("nan"), 0.0, 1.0), (float("inf"), 0.0, float("inf"))]
)
def test_an_estimate_lies_in_its_interval(ends):
    with pytest.raises(ValueError, match="value"):
        Estimate(*ends)


def test_estimates_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Estimate(0.5, 0.4, 0.6).value = 0.7


def test_the_largest_of_several_lies_between_the_largest_ends():
    found = largest([Estimate(0.05, 0.04, 0.06), Estimate(0.04, 0.01, 0.07, kind="upper bound")])
    assert (found.value, found.low, found.high, found.kind) == (0.05, 0.04, 0.07, "estimate")
    one = Estimate(0.1, 0.0, 0.1, kind="upper bound", n=3)
    assert largest([one]) is one


@pytest.mark.parametrize(
    ("ends", "kind"), [((1.5, math.inf), "lower bound"), ((-math.inf, 2.5), "upper bound"), ((1.5, 2.5), "estimate")]
)
def test_an_open_interval_becomes_a_bound(ends, kind):
    found = Estimate(2.0, *ends).finite()
    assert found.kind == kind
    assert all(map(math.isfinite, (found.value, found.low, found.high)))
    assert found.value == (ends[0] if kind == "lower bound" else ends[1] if kind == "upper bound" else 2.0)
