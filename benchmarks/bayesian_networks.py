"""Samples, tables and graphs of Alarm (37 variables) against pgmpy's."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from benchmarks.measure import Line, seconds
from leakscope.causal import bic, climb, draw, fit_tables, load_network, to_frame

ROWS = 1_000_000
SAMPLED = 100_000  # rows that pgmpy draws; its time grows with their number, and is scaled to a million
COUNTED = 500_000  # rows that both count
CLIMBED = 10_000


def run() -> Iterator[Line]:
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield sampling()
        yield counting("str", "texts, as a CSV file gives them", 30.0)
        yield counting("category", "categories, its quickest", 15.0)
        yield climbing()


def in_turn(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Median times, with ours before and after each of theirs, so that both run under the same load."""
    mine, others = [seconds(ours)], []
    for _ in range(rounds):
        others.append(seconds(theirs))
        mine += [seconds(ours), seconds(ours)]
    return median(mine), median(others)


def sampling() -> Line:
    from pgmpy.sampling import BayesianModelSampling
    from pgmpy.utils import get_example_model

    alarm, sampler = load_network("alarm"), BayesianModelSampling(get_example_model("alarm"))
    draw(alarm, 1000), sampler.forward_sample(1000, show_progress=False)
    ours, theirs = in_turn(
        lambda: draw(alarm, ROWS), lambda: sampler.forward_sample(SAMPLED, seed=0, show_progress=False), rounds=3
    )
    theirs *= ROWS / SAMPLED
    return Line(
        f"drawing {ROWS:,} rows of Alarm, against pgmpy's forward_sample (measured on {SAMPLED:,})",
        theirs / ours,
        80.0,
        detail=f"[{ours:.3f} s against {theirs:.1f} s]",
        at_least=True,
    )


def counting(kind: str, said: str, goal: float) -> Line:
    from pgmpy.estimators import MaximumLikelihoodEstimator
    from pgmpy.models import DiscreteBayesianNetwork

    alarm = load_network("alarm")
    codes = draw(alarm, COUNTED)
    model = DiscreteBayesianNetwork([(parent, name) for name, of in alarm.parents.items() for parent in of])
    states = {name: list(of) for name, of in alarm.levels.items()}
    frame = to_frame(alarm, codes).astype(kind)
    ours, theirs = in_turn(
        lambda: fit_tables(alarm, codes),
        lambda: MaximumLikelihoodEstimator(model, frame, state_names=states).get_parameters(n_jobs=1),
        rounds=3,
    )
    return Line(
        f"all 37 tables of Alarm from {COUNTED:,} rows, against pgmpy's MaximumLikelihoodEstimator on {said}",
        theirs / ours,
        goal,
        detail=f"[{ours:.3f} s against {theirs:.2f} s]",
        at_least=True,
    )


def climbing() -> Line:
    from pgmpy.estimators import HillClimbSearch

    alarm = load_network("alarm")
    levels = [len(of) for of in alarm.levels.values()]
    codes = draw(alarm, CLIMBED, seed=1)
    search = HillClimbSearch(to_frame(alarm, codes), state_names={name: list(of) for name, of in alarm.levels.items()})
    arcs: set[tuple[str, str]] = set()
    ours, theirs = in_turn(
        lambda: climb(codes, alarm.names, levels),
        lambda: arcs.update(search.estimate(scoring_method="bic-d", show_progress=False).edges()),
        rounds=1,
    )
    graph = {name: tuple(parent for parent, child in arcs if child == name) for name in alarm.names}
    scores = [bic(codes, climb(codes, alarm.names, levels), levels), bic(codes, graph, levels)]
    return Line(
        f"hill climbing by BIC on {CLIMBED:,} rows of Alarm, against pgmpy's HillClimbSearch",
        theirs / ours,
        10.0,
        detail=f"[{ours:.2f} s against {theirs:.1f} s; BIC {scores[0]:,.0f} and {scores[1]:,.0f}, which varies by run]",
        at_least=True,
    )
