r"""Records that some query can reveal, for logistic models of one feature [shokri2019, Appendix F].

The model of all records is :math:`f(y) = \sigma(wy + b)`, the one without record i :math:`f_i(y) = \sigma(w_iy + b_i)`
(the paper writes :math:`-wy + b` in the exponent, so its b is minus ours). A point y reveals the record with the
largest :math:`|f_i(y) - f(y)|`, the first of equals. A record is revealable if it is the largest on an interval: at
single points where all are equal (where all models cross), the order of the records would decide.

**How it is decided.** σ rises, so at each y only the record with the highest line and the one with the lowest can be
the largest: the candidates are the upper envelope U and the lower envelope L of the lines. The upper one wins where
:math:`\sigma(U) + \sigma(L) > 2\sigma(m)`, :math:`m = wy + b`. Multiplied by the denominators, this is

.. math:: 2e^{-m} + e^{-U-m} + e^{-L-m} - e^{-U} - e^{-L} - 2e^{-U-L} > 0 .

Between two corners of the envelopes this is a sum of at most six exponentials of y. Such a sum has fewer zeros than
terms, and all are found: divided by one of its terms and differentiated it has one term fewer, and between two zeros of
that derivative it is monotone. Between the zeros its sign decides, or, if that is lost in rounding, the ratio of the
two influences in a form without cancellation. The answer is exact up to rounding: a record must lead by more than a
relative 1e-12, on more than a relative 1e-9 of y.

**Lemma F.1, corrected.** With :math:`b_1` the smallest and :math:`b_m` the largest constant, exactly one record can be
revealed in three cases:

1. all :math:`w_i = w`, and all :math:`b_i \le b` or all :math:`b_i \ge b`;
2. all lines cross that of f in one point :math:`(y_0, t_0)`, and either all slopes lie on one side of w, or they extend
   p beyond w towards (and past) zero and q beyond it away from zero, :math:`p \ge q`, and

   .. math:: |t_0| \le -\log \sup_{s > 0}
             e^{(p - q - |w|)s}\, \frac{e^{qs} + e^{-ps} - 2}{e^{ps} + e^{-qs} - 2} ;

   for w = 0, where there is no side towards zero, this is :math:`t_0 = 0`;
3. all :math:`w_i = w`, :math:`b_1 < b < b_m`, and w = 0 or b is not strictly between
   :math:`-\log\tfrac12(e^{-b_1} + e^{-b_m})` and :math:`\log\tfrac12(e^{b_1} + e^{b_m})`.

In any other case (4) at least two can. The printed lemma differs:

- Its case 2 asks only for the common crossing. But σ flattens: near the crossing the slope farthest from w has the
  largest influence, far away the slope nearest to zero. With w = 1, slopes 1/2 and 2 and no constants, the second is
  revealed at y = 0.5, the first at y = 5.
- Its case 3 has the one condition :math:`b \le \log\tfrac12(e^{b_1} + e^{b_m})`, which its proof then gives for both
  outcomes. The two influences are equal where :math:`e^{-wy}` is :math:`(e^{-b_1} + e^{-b_m} - 2e^{-b})` over
  :math:`e^{-b}(e^{-b_1} + e^{-b_m}) - 2e^{-b_1-b_m}`, hence somewhere if both are positive (both can't be negative): if
  :math:`e^b` lies strictly between the harmonic and the arithmetic mean of :math:`e^{b_1}` and :math:`e^{b_m}`. For
  w = 0 nothing depends on y, and one record is revealed whatever b is.

**Lemma F.2, corrected.** The statement holds, the printed construction (w = b = 0, tangents of x² at 1, …, m) does not
give it: the tangents of large k lie far *below* zero at small y and are revealed there as the lowest. From m = 4 on record
1 can't be revealed at any point. Lifted, as in `tangents`, the lines are positive wherever one touches, and all are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.releases.record_explanations.logistic import LeaveOneOut

Line = tuple[float, float]  # slope and constant
Term = tuple[float, float, int]  # exponent's slope and constant, and the sign of the term

ROUNDING = 1e-12


def revealable(w: float, b: float, coef: Any, intercept: Any) -> Indices:
    """Find all records that some point of the real line reveals, when one record is shown (k = 1).

    Parameters
    ----------
    w, b
        Weight and constant of the model of all records.
    coef, intercept
        Weights (n,) and constants (n,) of the models without each record.

    Returns
    -------
    Numbers of the records, in rising order.

    Examples
    --------
    >>> revealable(1.0, 0.0, [0.5, 2.0, 1.5], [0.0, 0.0, 0.0])
    array([0, 1])
    """
    return np.array(sorted(revealing_points(w, b, coef, intercept)), dtype=np.intp)


def revealing_points(w: float, b: float, coef: Any, intercept: Any) -> dict[int, float]:
    """Return for each revealable record the tested point at which its influence leads by the most.

    Examples
    --------
    >>> points = revealing_points(1.0, 0.0, [1.0, 1.0], [-1.0, 2.0])
    >>> sorted(points), points[1] < 0 < points[0]
    ([0, 1], True)
    """
    full, coef, intercept = _read(w, b, coef, intercept)
    upper, upper_corners = _upper_envelope(coef, intercept)
    lower, lower_corners = _upper_envelope(-coef, -intercept)
    best: dict[int, tuple[float, float]] = {}  # the lead of a record, and the point
    for start, end in pairwise([-math.inf, *sorted({*upper_corners, *lower_corners}), math.inf]):
        high = upper[int(np.searchsorted(upper_corners, start, side="right"))]
        low = lower[int(np.searchsorted(lower_corners, start, side="right"))]
        highest, lowest = ((float(coef[record]), float(intercept[record])) for record in (high, low))
        terms = _terms(full, highest, lowest)
        points = _between([start, *_roots(terms, start, end), end], _scale(terms))
        leads = [_sign(terms, point) or _lead(full, highest, lowest, point) for point in points]
        if points and not terms and not any(leads):  # the two are equal everywhere: the first record is shown
            best.setdefault(min(high, low), (0.0, points[0]))
        margins = _margins(full, coef, intercept, points)
        for point, lead, margin in zip(points, leads, margins, strict=True):
            record = high if lead > 0 else low
            if lead and margin > best.get(record, (-1.0, 0.0))[0]:
                best[record] = margin, point
    if not best:  # no influence differs by more than rounding
        return {min(*upper, *lower): 0.0}
    return {record: point for record, (_, point) in best.items()}


def case(w: float, b: float, coef: Any, intercept: Any) -> int:
    """Return which case of Lemma F.1, as corrected above, the models are: 1, 2 or 3 if one record can be revealed, else 4.

    Lines that are parallel, or cross in one point, up to a relative 1e-12 are taken to be so.

    Examples
    --------
    >>> case(1.0, 0.0, [1.0, 1.0], [0.5, 2.0]), case(1.0, 0.0, [2.0, 3.0], [0.0, 0.0])
    (1, 2)
    >>> case(1.0, 0.0, [1.0, 1.0], [-0.5, 9.0]), case(1.0, 0.0, [1.0, 1.0], [-1.0, 2.0])
    (3, 4)
    """
    (w, b), coef, intercept = _read(w, b, coef, intercept)
    slopes, shifts = coef - w, intercept - b
    if (np.abs(slopes) <= ROUNDING * np.maximum(np.abs(coef), abs(w))).all():
        if (shifts >= 0).all() or (shifts <= 0).all():
            return 1
        lowest, highest = float(shifts.min()), float(shifts.max())
        means = -_log_mean_exp(-lowest, -highest), _log_mean_exp(lowest, highest)
        return 4 if w != 0 and means[0] < 0 < means[1] else 3
    steepest = int(np.abs(slopes).argmax())
    y = -shifts[steepest] / slopes[steepest]
    size = np.maximum(np.abs(intercept), abs(b)) + np.maximum(np.abs(coef), abs(w)) * abs(y)
    if (np.abs(slopes * y + shifts) > ROUNDING * np.maximum(size, 1.0)).any():
        return 4
    if (slopes >= 0).all() or (slopes <= 0).all():
        return 2
    # At a common crossing only the two outermost slopes can lead; moving it to zero avoids rounding.
    outer = np.array([slopes.argmin(), slopes.argmax()])
    crossing = w * float(y) + b
    return 2 if len(revealing_points(w, crossing, coef[outer], np.full(2, crossing))) == 1 else 4


def _log_mean_exp(one: float, other: float) -> float:
    return float(np.logaddexp(one, other)) - math.log(2)


@dataclass(frozen=True, eq=False)
class Tangents:
    """An example in which every record can be revealed: the models, and for each record the point that reveals it.

    ``models`` can be used in an oracle; ``coef``, ``intercept`` and ``points`` have one entry for each record.
    """

    models: LeaveOneOut
    points: Floats

    @property
    def coef(self) -> Floats:
        """Weight of the model without each record."""
        return self.models.coef[:, 0]

    @property
    def intercept(self) -> Floats:
        """Constant of the model without each record."""
        return self.models.intercept


def tangents(m: int) -> Tangents:
    r"""Build models of m records all of which can be revealed [shokri2019, Lemma F.2, corrected].

    The model of all records is w = b = 0; the line of record k is the tangent of :math:`1 + x^2` at
    :math:`y_k = k/m`, that is :math:`w_k = 2y_k`, :math:`b_k = 1 - y_k^2`. The tangents of a convex function lie below
    it, so at :math:`y_k` the highest line is that of k, and all are positive there, so that none is larger below. On
    [0, 1] the probabilities stay apart in float64, for up to a million records; the printed x² at :math:`y_k = k`
    rounds to probability 1 from k = 7 on.

    Examples
    --------
    >>> world = tangents(5)
    >>> revealable(0.0, 0.0, world.coef, world.intercept)
    array([0, 1, 2, 3, 4])
    """
    m = check_count("m", m, most=10**6)
    points = np.arange(1, m + 1) / m
    models = LeaveOneOut(2 * points[:, None], 1 - points**2, np.zeros(1), 0.0, gradient_norm=0.0)
    return Tangents(models, points)


# --- lines ------------------------------------------------------------------------------------------------------------


def _read(w: float, b: float, coef: Any, intercept: Any) -> tuple[Line, Floats, Floats]:
    try:
        w, b = float(w), float(b)
        slopes, constants = np.asarray(coef, dtype=np.float64), np.asarray(intercept, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("w and b must be numbers, and coef and intercept must be lists of numbers") from None
    if slopes.ndim != 1 or slopes.shape != constants.shape or not len(slopes):
        raise InputError("coef and intercept must have one number for each record: pass models of one feature")
    if not (math.isfinite(w) and math.isfinite(b) and np.isfinite(slopes).all() and np.isfinite(constants).all()):
        raise InputError("w, b, coef and intercept must be finite numbers")
    return (w, b), slopes, constants


def _upper_envelope(slopes: Floats, constants: Floats) -> tuple[list[int], list[float]]:
    """The lines of the upper envelope, from left to right, and their crossings."""
    order = np.lexsort((np.arange(len(slopes)), -constants, slopes)).tolist()
    hull: list[int] = []
    corners: list[float] = []
    for line in order:
        if hull and slopes[line] == slopes[hull[-1]]:  # parallel lines come from the highest down
            continue
        while hull:
            corner = (constants[hull[-1]] - constants[line]) / (slopes[line] - slopes[hull[-1]])
            if not corners or corner > corners[-1]:
                corners.append(float(corner))
                break
            hull.pop()
            corners.pop()
        hull.append(line)
    return hull, corners


def _lead(full: Line, high: Line, low: Line, y: float) -> float:
    r"""Log of the ratio of the two influences at y, positive where the higher line leads; zero within rounding.

    :math:`\sigma(a) - \sigma(b) = \sinh\tfrac{a-b}2 \big/ \bigl(2\cosh\tfrac a2\cosh\tfrac b2\bigr)`,
    where no digits cancel.
    """
    sizes, logs = 1.0 + abs(full[0] * y + full[1]), []
    for (slope, constant), side in ((high, 1), (low, -1)):
        gap = side * ((slope - full[0]) * y + (constant - full[1]))
        height = abs(slope * y + constant)
        sizes += max(gap, 0.0) + height
        size = math.log(-math.expm1(-gap)) if gap > 0 else -math.inf
        logs.append(size + (gap - height) / 2 - math.log1p(math.exp(-height)))
    if logs[0] == logs[1]:  # both may be minus infinity
        return 0.0
    lead = logs[0] - logs[1]
    return lead if abs(lead) > ROUNDING * sizes else 0.0


def _margins(full: Line, coef: Floats, intercept: Floats, points: list[float]) -> list[float]:
    """By how much the largest influence exceeds the second at each point."""
    y = np.array(points)[:, None]
    sizes = np.abs(expit(y * coef + intercept) - expit(y * full[0] + full[1]))
    if sizes.shape[1] == 1:
        return list(sizes[:, 0])
    ordered = np.partition(sizes, -2, axis=1)
    return list(ordered[:, -1] - ordered[:, -2])


# --- sums of exponentials ---------------------------------------------------------------------------------------------


def _terms(full: Line, high: Line, low: Line) -> list[Term]:
    """The sum of exponentials that is positive where the higher line leads; equal exponents are one term."""
    (w, b), (u, p), (v, q) = full, high, low
    counts: dict[Line, int] = {}  # equal terms are counted first, so that opposite ones cancel
    for slope, constant, count in (
        (-w, -b, 2), (-u - w, -p - b, 1), (-v - w, -q - b, 1), (-u, -p, -1), (-v, -q, -1), (-u - v, -p - q, -2),
    ):  # fmt: skip
        counts[slope, constant] = counts.get((slope, constant), 0) + count
    raw = sorted(
        (slope, constant + math.log(abs(count)), 1 if count > 0 else -1)
        for (slope, constant), count in counts.items()
        if count
    )
    near = 1e-14 * max((abs(slope) for slope, _, _ in raw), default=0.0)
    terms: list[Term] = []
    while raw:
        same = [term for term in raw if term[0] - raw[0][0] <= near]
        top = max(constant for _, constant, _ in same)
        sizes = [sign * math.exp(constant - top) for _, constant, sign in same]
        total = math.fsum(sizes)
        if abs(total) > 1e-14 * sum(map(abs, sizes)):
            terms.append((raw[0][0], top + math.log(abs(total)), 1 if total > 0 else -1))
        raw = raw[len(same) :]
    return terms


def _value(terms: list[Term], y: float) -> float:
    """The sum over the sum of absolute terms: from -1 to 1, with the sign of the sum. Infinite y are allowed."""
    if math.isinf(y):
        return float(terms[-1 if y > 0 else 0][2])
    exponents = [slope * y + constant for slope, constant, _ in terms]
    top = max(exponents)
    sizes = [math.exp(exponent - top) for exponent in exponents]
    return math.fsum(size * term[2] for size, term in zip(sizes, terms, strict=True)) / math.fsum(sizes)


def _sign(terms: list[Term], y: float) -> int:
    """Sign of the sum, or zero where it could be rounding error."""
    if not terms:
        return 0
    value = _value(terms, y)
    noise = ROUNDING * (1 + max(abs(slope * y) + abs(constant) for slope, constant, _ in terms))
    return 0 if abs(value) <= noise else 1 if value > 0 else -1


def _scale(terms: list[Term]) -> float:
    """A step in y over which the terms change noticeably."""
    spread = terms[-1][0] - terms[0][0] if terms else 0.0
    return 1 / spread if spread > 0 else 1.0


def _roots(terms: list[Term], start: float, end: float) -> list[float]:
    """Where the sum changes its sign between start and end: isolated by the zeros of a derivative with one term less."""
    if len({sign for _, _, sign in terms}) < 2:
        return []
    first = terms[0][0]
    rest = [(slope, constant + math.log(slope - first), sign) for slope, constant, sign in terms[1:]]
    points = [start, *_roots(rest, start, end), end]
    return [
        _bisect(terms, one, other) for one, other in pairwise(points) if _value(terms, one) * _value(terms, other) < 0
    ]


def _bisect(terms: list[Term], start: float, end: float) -> float:
    """The one change of sign between start and end, to the last bit; infinite ends are replaced by finite ones first."""
    step, sign = _scale(terms), _value(terms, start)
    low = start if math.isfinite(start) else min(end, 0.0) - step
    high = end if math.isfinite(end) else max(low, 0.0) + step
    while math.isinf(start) and _value(terms, low) * sign <= 0:
        low, step = low - step, 2 * step
    while math.isinf(end) and _value(terms, high) * sign >= 0:
        high, step = high + step, 2 * step
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if _value(terms, middle) * sign > 0 else (low, middle)
    return low


def _between(cuts: list[float], scale: float) -> list[float]:
    """Points in each of the pieces between the cuts, several in each; pieces as short as rounding errors have none."""
    found: list[float] = []
    steps = [scale * 4.0**power for power in range(-4, 6)]
    for start, end in pairwise(cuts):
        if math.isinf(start) and math.isinf(end):
            found += [0.0, *steps, *(-step for step in steps)]
            continue
        within = [start + step for step in steps if start + step < end] if math.isfinite(start) else []
        within += [end - step for step in steps if start < end - step] if math.isfinite(end) else []
        if math.isfinite(end - start):
            within += [start + (end - start) * share / 8 for share in range(1, 8)]
        if end - start > 1e-9 * max(abs(start), abs(end)) or math.isinf(end - start):
            found += within
    return found
