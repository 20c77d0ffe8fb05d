"""Checks of what an audit of record explanations is given, before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.attacks import RECONSTRUCTIONS
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_confidence, check_count, check_seed
from leakscope.errors import InputError
from leakscope.failures import cause
from leakscope.fingerprints import row_hashes
from leakscope.learners.linear import read_records
from leakscope.oracle import check_rounding
from leakscope.reconstruction.release import RecordRelease, refuse_far_points
from leakscope.records import row_name

Outside = tuple[Floats, NDArray[Any]] | None


def check_effort(attacks: Any, budget: Any, repeats: Any, seed: Any, confidence: Any) -> list[str]:
    """Check how much is to be run, and give the names of the attacks."""
    check_count("budget", budget)
    check_count("repeats", repeats)
    check_seed(seed)
    check_confidence(confidence)
    if attacks is not None and not isinstance(attacks, str | list | tuple):
        raise InputError(f"attacks must be a list of names out of {', '.join(RECONSTRUCTIONS)}, not {attacks!r}")
    asked = ["all"] if attacks is None else [attacks] if isinstance(attacks, str) else [str(name) for name in attacks]
    names = list(RECONSTRUCTIONS) if "all" in asked else list(dict.fromkeys(asked))
    if unknown := [name for name in names if name not in RECONSTRUCTIONS]:
        raise InputError(f"there is no attack {unknown[0]!r}: choose from {', '.join(RECONSTRUCTIONS)}, or all")
    if not names:
        raise InputError(f"no attack is named: choose from {', '.join(RECONSTRUCTIONS)}, or all")
    return names


def check_releases(release: Any, defended: Any, precision: Any, features: Floats) -> None:
    """Check that releases fit the training records, and that digits are of influences that are shown."""
    others = [] if defended == "usual" else defended
    if not isinstance(others, list | tuple) or not all(isinstance(one, RecordRelease) for one in (release, *others)):
        raise InputError("release must be a RecordRelease, and defended a list of these or 'usual'")
    for one in (release, *others):
        if one.k > len(features):
            raise InputError(f"k must be at most the {len(features)} training records, not {one.k}")
        if one.near is not None:
            refuse_far_points(features, one.near)
    if not isinstance(precision, list | tuple):
        raise InputError(f"precision must be a list of numbers of digits, not {precision!r}")
    for digits in precision:
        check_rounding(digits, None, 0.0)
    if precision and not release.values:
        raise InputError("precision is for influences that are shown, and these are hidden: leave precision out")


def read_holdout(holdout: Any, features: Floats, labels: NDArray[Any]) -> tuple[Outside, int]:
    """Give the holdout without copies of training records, and the number of these copies."""
    if holdout is None:
        return None, 0
    try:
        X, y = holdout
    except (TypeError, ValueError) as error:
        raise InputError("the holdout must be a pair of records and labels") from cause(error)
    outside, classes, _ = read_records(X, y, "the holdout")
    if outside.shape[1] != features.shape[1]:
        raise InputError(
            f"the holdout has {outside.shape[1]} columns and the training records {features.shape[1]}: prepare both in the same way"
        )
    if (new := ~np.isin(classes, np.unique(labels))).any():
        raise InputError(
            f"the holdout has labels that no training record has, in {int(new.sum())} of {len(new)} records, the first in "
            f"{row_name(int(new.argmax()))}: remove these records"
        )
    kept = ~np.isin(row_hashes(outside), row_hashes(features))
    return (outside[kept], classes[kept]) if kept.any() else None, int((~kept).sum())


def read_groups(groups: pd.DataFrame | None, count: int) -> Mapping[str, NDArray[Any]]:
    """Levels as text, by column."""
    if groups is None:
        return {}
    if not isinstance(groups, pd.DataFrame) or len(groups) != count:
        raise InputError(f"groups must be a table with one row for each of the {count} training records")
    if not groups.columns.is_unique:
        raise InputError("groups has two columns of one name: rename one")
    return {str(name): groups[name].astype(str).to_numpy(object) for name in groups.columns}
