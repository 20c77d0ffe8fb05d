"""Speed of LiRA's scores: against one pass over the same numbers, and against a loop over the records.

What is timed is what the attack needs of φ under the reference models, `statistics_of_phi`, and the score itself. The whole table of
reference statistics, which serves all attacks, is timed too. Times are CPU seconds of one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.measure import Line, ratio, seconds
from leakscope.attacks.membership_lira import log_density_ratio
from leakscope.attacks.protocol import Known
from leakscope.attacks.references import combine, statistics_of_phi
from leakscope.core.threads import one_thread

#: Records of the loop that are timed.
LOOPED = 300


def run(full: bool) -> Iterator[Line]:  # noqa: ARG001
    with one_thread():
        yield from _against_one_pass(1_000_000, 64)
        yield _against_a_loop(60_000, 256)


def _draw(n: int, models: int) -> tuple[Any, Any, Any]:
    """φ and memberships under models in complementary pairs, and the log-loss under the target."""
    rng = np.random.default_rng(0)
    first = rng.random((models // 2, n)) < 0.5
    inside = np.concatenate([first, ~first])
    return rng.normal(size=(models, n)) + inside, inside, rng.exponential(size=(n, 1))


def _score(phi: Any, inside: Any, loss: Any) -> Any:
    known = Known(loss, None, inside[0], statistics_of_phi(phi, inside))
    return log_density_ratio(known, "classification")


def _against_one_pass(n: int, models: int) -> Iterator[Line]:
    phi, inside, loss = _draw(n, models)
    by_record = np.ascontiguousarray(phi.T)
    value, detail = ratio(lambda: _score(phi, inside, loss), lambda: by_record.sum(axis=1), 7, process_time)
    yield Line(f"LiRA of {n:,} records with {models} models, against one sum(axis=1)", value, 4.0, detail=detail)
    fit = 1 / (1 + np.exp(-phi))
    value, detail = ratio(
        lambda: combine(fit, inside, "classification"), lambda: by_record.sum(axis=1), 3, process_time
    )
    yield Line(
        f"all reference statistics of {n:,} records with {models} models, against one sum(axis=1)",
        value, None, detail=detail,
    )  # fmt: skip


def _against_a_loop(n: int, models: int) -> Line:
    phi, inside, loss = _draw(n, models)
    target = phi[0]
    own = min(seconds(lambda: _score(phi, inside, loss), process_time) for _ in range(3))
    loop = seconds(lambda: _loop(phi[:, :LOOPED], inside[:, :LOOPED], target), process_time) * n / LOOPED
    detail = f"[{own:.3f} s against {loop:.1f} s, from {LOOPED} records]"
    return Line(
        f"LiRA of {n:,} records with {models} models, a loop over it", loop / own, 50.0, "x", detail, at_least=True
    )


def _loop(phi: Any, inside: Any, target: Any) -> list[float]:
    """The definition, record by record."""
    scores = []
    for record in range(phi.shape[1]):
        had, values = inside[:, record], phi[:, record]
        densities = [norm.logpdf(target[record], side.mean(), side.std(ddof=1)) for side in (values[had], values[~had])]
        scores.append(densities[0] - densities[1])
    return scores
