import dataclasses

import pytest

from leakscope.core.estimate import Estimate


@pytest.mark.parametrize(
    "ends", [(0.5, 0.6, 0.7), (0.5, 0.3, 0.4), (float("nan"), 0.0, 1.0), (float("inf"), 0.0, float("inf"))]
)
def test_an_estimate_lies_in_its_interval(ends):
    with pytest.raises(ValueError, match="low <= value <= high"):
        Estimate(*ends)


def test_estimates_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Estimate(0.5, 0.4, 0.6).value = 0.7


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.612, 0.583, 0.641), "0.61 [0.58, 0.64]"),
        (Estimate(0.6123, 0.6111, 0.6135), "0.612 [0.611, 0.614]"),
        (Estimate(-0.0, -0.0, 0.0), "0.00 [0.00, 0.00]"),
        (Estimate(2.0, 2.0, 2.0, kind="exact", unit="bits"), "2.00 bits"),
        (Estimate(0.2, 0.2, 1.0, kind="lower bound"), "at least 0.20"),
    ],
)
def test_estimates_read_well(estimate, text):
    assert repr(estimate) == text
