"""What differs between two audits apart from their risks: data, settings, versions, warnings, attacks, and who is most exposed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import numpy as np

from leakscope.core.estimate import Estimate
from leakscope.core.intervals import normal_quantile
from leakscope.core.result import Result
from leakscope.evaluation.exposed_records import EXPOSED_RECORDS
from leakscope.evaluation.results import Audit
from leakscope.models.provenance import CODE, MODEL_FILE, MODEL_PARAMETERS

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
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    return tuple(Fact(name, _text(old.get(name)), _text(new.get(name))) for name in names)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def settings_of(result: Result) -> dict[str, Any]:
    """Give the settings of a study, and of an audit also what it was about."""
    if not isinstance(result, Audit):
        return dict(result.settings)
    about = ("model", "classes", "features", "members", "nonmembers", "judged")
    facts = {name: getattr(result.target, name) for name in about}
    settings = {name: value for name, value in result.settings.items() if name not in _NOT_SETTINGS}
    return facts | settings | {"control": result.strongest.control.kind}


def same_data(old: Result, new: Result) -> dict[str, bool]:
    """For each set of records that both know a fingerprint of, whether it is the same."""
    before, after = old.fingerprints, new.fingerprints
    names = [name for name in before if name in after and name not in _NOT_DATA and after[name] != "none"]
    return {name: before[name] == after[name] for name in names}


def changed_sides(old: Result, new: Result) -> bool:
    """Whether one audit was trained on what the other held out, as far as fingerprints tell."""
    for one, other in ((old, new), (new, old)):
        trained = one.fingerprints.get("training records")
        if trained is not None and trained == other.fingerprints.get("held-out records"):
            return True
    return False


def compare_records(old: Audit, new: Audit, confidence: float) -> ExposureChange | None:
    """Who is most exposed, where the two audits have the same records; None where that can't be known.

    Ids that merely number the rows name the same records only if the training records are the same.
    """
    tables = [side.record_columns("id", "score", "rank") for side in (old, new)]
    if tables[0] is None or tables[1] is None:
        return None
    ids = [list(map(str, table[0])) for table in tables if table]
    if not same_data(old, new).get("training records") and any(map(_are_row_numbers, ids)):
        return None
    before, after = (_rows_by_id(names) for names in ids)
    both = [name for name in before if name in after]
    if not both:
        return None
    (_, old_scores, ranks), (_, new_scores, _) = tables[0], tables[1]
    # Records that share the last of the first ranks are as exposed as those that a report has room for.
    last = nsmallest(EXPOSED_RECORDS, (ranks[row] for row in before.values()))[-1]
    fresh = sum(record.id not in before or ranks[before[record.id]] > last for record in new.exposed)
    first = np.array([old_scores[before[name]] for name in both])
    second = np.array([new_scores[after[name]] for name in both])
    found = rank_correlation(first, second, confidence)
    if found is None:  # there is no order, and so nobody who is most exposed
        return ExposureChange(len(both), 0, 0, None)
    return ExposureChange(len(both), len(new.exposed), fresh, found)


def _rows_by_id(ids: Sequence[str]) -> dict[str, int]:
    """Row of each id; of records with one id, the first."""
    return dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))


def _are_row_numbers(ids: Sequence[str]) -> bool:
    return list(map(str, range(len(ids)))) == ids


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
    from scipy.stats import rankdata

    value = float(np.clip(np.corrcoef(rankdata(first), rankdata(second))[0, 1], -1, 1))
    inner = float(np.clip(value, -1 + 1e-12, 1 - 1e-12))  # equal ranks: Fisher's z is not finite there
    half = normal_quantile(confidence) * float(np.sqrt((1 + inner**2 / 2) / (n - 3)))
    low, high = (float(np.tanh(np.arctanh(inner) + side * half)) for side in (-1, 1))
    return Estimate(value, min(low, value), max(high, value), confidence, n=n, method="Bonett-Wright")
