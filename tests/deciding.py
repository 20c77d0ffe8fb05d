"""For the tests of the papers: estimates by hand, what claims decide, and whether the seed decides the numbers."""

from leakscope.core.estimate import Estimate


def around(value, half=0.01):
    return Estimate(value, value - half, value + half)


def holds(claims):
    """Whether each statement holds; None where the intervals do not decide it."""
    return [{"yes": True, "no": False, "inconclusive": None}[claim.outcome] for claim in claims]


def check_seed(run):
    """The same seed gives the same result, and another seed gives other numbers."""
    one, same, other = (run(seed) for seed in (0, 0, 1))
    assert one == same
    assert one.rows != other.rows
