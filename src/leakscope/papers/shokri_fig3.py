r"""[shokri2019, Figure 3, section 4.3.3 (3)]: does membership correlate with the confidence of the model, and with the gradient?

The variance of the prediction vector is :math:`\mathrm{Var}(c(x)) = \frac1k\sum_i (c_i(x) - \frac1k)^2`, the size of the
gradient :math:`\|\nabla c(x)\|_1`. Pearson's correlation is taken of each with membership (1 for members) and between the
two, within each network, and averaged over the draws. The figure shows absolute values, as the paper's does; the table has
the signs. The signals have heavier tails than normal values (kurtosis 2 to 18 in most networks, of the variance up to 100),
so that Fisher's interval does not hold. The interval is that of the studentised bootstrap on Fisher's scale, with members and
non-members resampled separately. It is too short where one signal is nearly a function of the other, as variance and norm are
on Adult and Hospital.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from leakscope.core.arrays import Booleans, Floats
from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.papers import shokri_curves
from leakscope.papers.reproduction import Cell, Reproduction, Work, statement
from leakscope.papers.shokri_curves import NO_NUMBERS, STATE, cases, drawing, not_reached, settings, state
from leakscope.papers.shokri_dimensions import magnitude
from leakscope.papers.shokri_targets import OverfitCase, Stopped, over_targets, watch
from leakscope.papers.trends import between

ID = "shokri-fig3"
TITLE = "Correlation of membership with the variance of the prediction and the 1-norm of the gradient, by overfitting"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, section 4.3.3 (3) and Figure 3",
    "statement": (
        "Membership correlates with the variance of the prediction and with the 1-norm of the gradient, and the two with each "
        "other, though not strongly (Purchase). On CIFAR-100 there is some correlation, which changes sign as overfitting "
        "grows."
    ),
    "numbers": (
        NO_NUMBERS
        + " Its text and the caption disagree on the sign of the variance: surer on members (text, Purchase), or "
        "negative (caption; text, Texas)."
    ),
}
FULL = shokri_curves.FULL | {
    "keys": ("purchase100", "texas100", "cifar100", "diabetes130", "adult"),
    "judged": 5000, "draws": 3, "resamples": 1000,
}  # fmt: skip
QUICK = shokri_curves.QUICK | {"judged": 200, "resamples": 200}

VARIANCE, NORM, BETWEEN = "membership and variance", "membership and 1-norm", "variance and 1-norm"
PAIRS = (VARIANCE, NORM, BETWEEN)
BLOCK = 20  # resamples at a time: some 10 MB for 10,000 records
ROUNDING = 1e-12  # of the largest value: a column that deviates less is constant
LARGEST = 1 - 1e-12  # a correlation of 1 is infinite on Fisher's scale
STRONG = 0.7  # a correlation above which half of the variance is shared
COLUMNS = ["data", "gap", "pair", *STATE, "correlation", "draws", "note"]


class Signals(NamedTuple):
    """Two signals of the members and non-members of one network."""

    variance: Floats
    norm: Floats
    member: Booleans


def run(work: Work, gaps: Sequence[float], judged: int, resamples: int, **drawn: Any) -> Reproduction:
    """Correlate what every target shows of its members and non-members with their membership."""
    found, absent = cases(**drawn)
    answers = over_targets(work, found, gaps, partial(signals, most=judged))
    rng = np.random.default_rng([work.seed, resamples])
    rows: list[list[Cell]] = []
    points: list[dict[float, dict[str, Estimate]]] = []
    for case, row in zip(found, answers, strict=True):
        points.append({})
        for gap, seen in zip(sorted(gaps), row, strict=True):
            if seen:
                measured = estimates([answer for _, answer in seen], resamples, rng)
                points[-1][gap] = measured
                rows += [
                    [case.source.name, gap, pair, *state([stopped for stopped, _ in seen]), measured[pair],
                     len(seen), case.source.stands_in or None]
                    for pair in PAIRS
                ]  # fmt: skip
    return work.result(
        settings=settings(found, absent, gaps, judged=judged, resamples=resamples, strong=STRONG),
        columns=COLUMNS,
        rows=rows,
        statements=_findings(found, points),
        notes=[*not_reached(found, answers, gaps), *absent],
        panels=drawing(
            found,
            [{pair: [(gap, magnitude(by[pair])) for gap, by in series.items()] for pair in PAIRS} for series in points],
            "Correlation, absolute value",
        ),
    )


def signals(stopped: Stopped, rng: np.random.Generator, most: int | None = None) -> Signals:
    """Give variance of the prediction vector and 1-norm of the gradient, of equally many members and non-members."""
    seen = watch(stopped, ("probabilities", "gradient"), rng, most)
    gradient = seen.observed["gradient"]
    norm = np.abs(gradient).sum(axis=1, dtype=np.float64)
    return Signals(seen.observed["probabilities"].var(axis=1), norm, seen.sample.member)


def correlations(found: Signals, counts: Floats | None = None) -> tuple[Floats, Floats]:
    r"""Give Pearson's correlations of the three pairs and their standard errors.

    One row, or one for each row of ``counts``, which says how often each record is counted. With x and y standardised, the
    error is that of the mean of :math:`xy - r(x^2 + y^2)/2`, the influence of each record on r (the infinitesimal jackknife),
    whatever the distribution. A constant has correlation 0 and error 0.

    Examples
    --------
    >>> norm = np.array([1.0, 2.0, 3.0, 4.0])
    >>> correlations(Signals(-norm, norm, norm < 2.5))[0].round(3)
    array([[ 0.894, -0.894, -1.   ]])
    """
    weights = np.ones((1, len(found.member))) if counts is None else counts
    total = weights.sum(axis=1, keepdims=True)
    shares, columns = weights / total, []
    for column in found:
        centred = np.asarray(column, np.float64) - (shares @ column)[:, None]
        deviation = np.sqrt(np.sum(shares * centred**2, axis=1, keepdims=True))
        least = ROUNDING * np.abs(column).max()
        columns.append(np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > least))
    values, errors = [], []
    for one, other in ((0, 2), (1, 2), (0, 1)):
        product = columns[one] * columns[other]
        value = np.clip(np.sum(shares * product, axis=1), -1.0, 1.0)
        influence = product - value[:, None] * (columns[one] ** 2 + columns[other] ** 2) / 2
        values.append(value)
        errors.append(np.sqrt(np.sum(shares * influence**2, axis=1) / total[:, 0]))
    return np.stack(values, axis=1), np.stack(errors, axis=1)


def estimates(drawn: Sequence[Signals], resamples: int, rng: np.random.Generator) -> dict[str, Estimate]:
    """Give the correlations, averaged over draws on Fisher's scale, with the interval of a studentised bootstrap there."""
    value, error = _averaged([correlations(one) for one in drawn])
    values, errors = _averaged([_resampled(one, resamples, rng) for one in drawn])
    pivot = np.divide(values - value, errors, out=np.zeros_like(values), where=errors > 0)
    high, low = value - error * np.quantile(pivot, [[0.025], [0.975]], axis=0)
    table = np.tanh([value[0], np.minimum(low, value)[0], np.maximum(high, value)[0]]).T.tolist()
    n = sum(len(one.member) for one in drawn)
    method = "studentised bootstrap, Fisher's scale"
    return {
        pair: Estimate(point, least, most, n=n, method=method)
        for pair, (point, least, most) in zip(PAIRS, table, strict=True)
    }


def _averaged(parts: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Mean over draws of artanh r, and its standard error."""
    values = np.clip([value for value, _ in parts], -LARGEST, LARGEST)
    errors = np.stack([error for _, error in parts]) / (1 - values**2)
    return np.mean(np.arctanh(values), axis=0), np.sqrt(np.sum(errors**2, axis=0)) / len(parts)


def _resampled(found: Signals, resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Correlations and errors of so many resamples, in blocks that bound the memory."""
    parts = []
    for start in range(0, resamples, BLOCK):
        counts = np.empty((min(BLOCK, resamples - start), len(found.member)))
        for side in (found.member, ~found.member):
            size = int(side.sum())
            counts[:, side] = rng.multinomial(size, np.full(size, 1 / size), size=len(counts))
        parts.append(correlations(found, counts))
    return np.concatenate([value for value, _ in parts]), np.concatenate([error for _, error in parts])


def _findings(found: Sequence[OverfitCase], points: Sequence[Mapping[float, Mapping[str, Estimate]]]) -> list[Claim]:
    """At the largest gap of each set: are there correlations, and is that between the two signals weak?"""
    findings = []
    for case, by_gap in zip(found, points, strict=True):
        if not by_gap:
            continue
        most, name = by_gap[max(by_gap)], case.source.name
        there = [pair for pair in PAIRS if not most[pair].low <= 0 <= most[pair].high]
        few = case.source.key in ("diabetes130", "adult")  # section 4.4: few features, no correlation
        holds = not {VARIANCE, NORM} & set(there) if few else len(there) == len(PAIRS)
        said = "no correlation with membership" if few else "correlations"
        findings.append(
            statement(f"{said} on {name}", holds, {f"{pair}, gap {max(by_gap):g}": most[pair] for pair in PAIRS})
        )
        if case.source.key == "purchase100":
            weakly = between(magnitude(most[BETWEEN]), high=STRONG)
            findings.append(
                statement(
                    f"variance and 1-norm are not strongly correlated on {name}", weakly, {BETWEEN: most[BETWEEN]}
                )
            )
        if case.source.key == "cifar100":
            findings += [
                _turn(name, pair, [measured[pair] for measured in by_gap.values()]) for pair in (VARIANCE, NORM)
            ]
    return findings


def _turn(name: str, pair: str, series: Sequence[Estimate]) -> Claim:
    """Whether a correlation has significantly one sign at one gap and the other at another."""
    holds = any(point.low > 0 for point in series) and any(point.high < 0 for point in series)
    ends = {"smallest gap": series[0], "largest gap": series[-1]}
    return statement(f"sign of {pair} changes on {name}", holds, ends)
