"""What differs between two audits apart from their risks: data, settings, versions, warnings, attacks, and who is most exposed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import numpy as np

from leakscope.core.estimate import Estimate
from leakscope.core.result import Result
from leakscope.evaluation.exposed_records import EXPOSED_RECORDS
from leakscope.intervals import normal_quantile
from leakscope.provenance import CODE, MODEL_FILE, MODEL_PARAMETERS
from leakscope.results import Audit

#: Follow from other settings, or are compared by themselves.
_NOT_SETTINGS = ("attacks", "confidence after the choice")
#: Fingerprints of other things than records.
_NOT_DATA = ("learner", MODEL_FILE, MODEL_PARAMETERS, CODE)
#: With fewer records in common a correlation of their ranks says nothing.
FEWEST_SHARED = 10


@dataclass(frozen=True)
class Fact:
    """Something that is not the same in both audits; empty where an audit has no such thing."""

    name: str
    old: str
    new: str


@dataclass(frozen=True)
class Listed:
    """What is in one audit only."""

    gone: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExposureChange:
    """The training records that both audits name.

    ``newly_exposed`` of the ``exposed`` most exposed records of the new audit were less exposed than those of the old one.
    ``correlation`` is Spearman's, of the exposure of all shared records; None where it is not defined.
    """

    shared: int
    exposed: int
    newly_exposed: int
    correlation: Estimate | None


def listed(old: Iterable[str], new: Iterable[str]) -> Listed:
    """What went and what came, each in its own order.

    >>> listed(["a", "b"], ["b", "c"])
    Listed(gone=('a',), added=('c',))
    """
    before, after = list(dict.fromkeys(old)), list(dict.fromkeys(new))
    return Listed(tuple(one for one in before if one not in after), tuple(one for one in after if one not in before))


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Give entries that differ, or that only one of the two has.

    >>> changed({"seed": 0, "margin": 0.05}, {"seed": 1, "margin": 0.05})
    (Fact(name='seed', old='0', new='1'),)
    """
    names = dict.fromkeys([*old, *new])
    return tuple(
        Fact(name, _text(old.get(name)), _text(new.get(name))) for name in names if old.get(name) != new.get(name)
    )


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def settings_of(result: Result) -> dict[str, Any]:
    """Give the settings of a study, and of an audit also what it was about."""
    if not isinstance(result, Audit):
        return dict(result.settings)
    target = result.target
    facts = {
        name: getattr(target, name) for name in ("model", "classes", "features", "members", "nonmembers", "judged")
    }
    settings = {name: value for name, value in result.settings.items() if name not in _NOT_SETTINGS}
    return facts | settings | {"control": result.strongest.control.kind}


def same_data(old: Result, new: Result) -> dict[str, bool]:
    """For each set of records that both know a fingerprint of, whether it is the same."""
    before, after = old.fingerprints, new.fingerprints
    names = [name for name in before if name in after and name not in _NOT_DATA and after[name] != "none"]
    return {name: before[name] == after[name] for name in names}


def changed_sides(old: Result, new: Result) -> bool:
    """Whether one audit was trained on what the other held out, as far as fingerprints tell."""
    sets = [
        (side.fingerprints.get("training records"), side.fingerprints.get("held-out records")) for side in (old, new)
    ]
    (trained, held_out), (trained_next, held_out_next) = sets
    return (trained is not None and trained == held_out_next) or (held_out is not None and held_out == trained_next)


def compare_records(old: Audit, new: Audit, confidence: float) -> ExposureChange | None:
    """Who is most exposed, where the two audits speak of the same people; None where that can't be known.

    Ids that merely number the rows name the same people only if the training records are the same.
    """
    tables = [side.record_columns("id", "score", "rank") for side in (old, new)]
    if tables[0] is None or tables[1] is None:
        return None
    if not same_data(old, new).get("training records") and any(_are_row_numbers(table[0]) for table in tables if table):
        return None
    before, after = (_by_id(*table) for table in tables if table is not None)
    both = [name for name in before if name in after]
    if not both:
        return None
    # Records that share the last of the first ranks are as exposed as those that a report has room for.
    last = nsmallest(EXPOSED_RECORDS, (rank for _, rank in before.values()))[-1]
    fresh = sum(record.id not in before or before[record.id][1] > last for record in new.exposed)
    scores = [np.array([side[name][0] for name in both]) for side in (before, after)]
    found = rank_correlation(scores[0], scores[1], confidence)
    if found is None:  # there is no order, and so nobody who is most exposed
        return ExposureChange(len(both), 0, 0, None)
    return ExposureChange(len(both), len(new.exposed), fresh, found)


def _by_id(ids: Sequence[Any], scores: Sequence[float], ranks: Sequence[int]) -> dict[str, tuple[float, int]]:
    """Score and rank by id; of records with one id, those of the first."""
    found: dict[str, tuple[float, int]] = {}
    for name, score, rank in zip(ids, scores, ranks, strict=True):
        found.setdefault(str(name), (score, rank))
    return found


def _are_row_numbers(ids: Sequence[Any]) -> bool:
    return all(str(name) == str(row) for row, name in enumerate(ids))


def rank_correlation(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], confidence: float) -> Estimate | None:
    """Spearman's rank correlation with the interval of Bonett and Wright (2000), on Fisher's z scale.

    None for fewer than ten pairs, or where one side has only equal values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> rank_correlation(x, x + rng.normal(size=300), 0.95)
    0.71 [0.64, 0.77]
    """
    n = len(first)
    if n < FEWEST_SHARED or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    value = float(np.clip(np.corrcoef(_ranks(first), _ranks(second))[0, 1], -1, 1))
    inner = float(np.clip(value, -1 + 1e-12, 1 - 1e-12))  # equal ranks: Fisher's z is not finite there
    half = normal_quantile(confidence) * float(np.sqrt((1 + inner**2 / 2) / (n - 3)))
    low, high = (float(np.tanh(np.arctanh(inner) + side * half)) for side in (-1, 1))
    return Estimate(value, min(low, value), max(high, value), confidence, n=n, method="Bonett-Wright")


def _ranks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Ranks; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])
