"""For the tests of the papers: estimates by hand, what claims decide, and whether the seed decides the numbers."""

import numpy as np

from leakscope.attacks.protocol import Scores
from leakscope.core.estimate import Estimate
from leakscope.core.ranking import Scale
from leakscope.evaluation.risk import Judged


def around(value, half=0.01):
    return Estimate(value, value - half, value + half)


def decisions(rng, right, records=200):
    """Decisions that are right with a given probability, in two halves of one target."""
    member = np.arange(records) % 2 == 0
    says = np.where(rng.random(records) < right, member, ~member).astype(float)
    half = np.arange(records) // 2 % 2
    return Judged(Scores(rng.normal(size=records) + says, says), member, Scale(half, np.zeros(records, np.intp)))


def holds(claims):
    """Whether each statement holds; None where the intervals do not decide it."""
    return [{"yes": True, "no": False, "inconclusive": None}[claim.outcome] for claim in claims]


def check_seed(run):
    """The same seed gives the same result, and another seed gives other numbers."""
    one, same, other = (run(seed) for seed in (0, 0, 1))
    assert one == same
    assert one.rows != other.rows
