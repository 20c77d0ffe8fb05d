"""Random split into training and held-out records, which `audit` recognises as randomised membership."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscope.core.checks import check_seed, check_share
from leakscope.core.errors import InputError
from leakscope.data.containers import is_foreign, native_form
from leakscope.data.records import as_array, read_features, take_rows


class RandomPart(tuple[Any, Any]):
    """Features and labels of one side of a random split; both sides of one split have the same ``origin``."""

    origin: object

    @classmethod
    def of(cls, X: Any, y: Any, origin: object) -> RandomPart:
        part = cls((X, y))
        part.origin = origin
        return part


def split(X: Any, y: Any, *, holdout: float = 0.5, seed: int = 0) -> tuple[RandomPart, RandomPart]:
    """Split records at random into training and held-out records.

    Membership is then randomised: `audit` treats the two sides as with ``random_split=True``, which trains fewer models and detects
    weaker leaks. Each side unpacks into features and labels.

    Parameters
    ----------
    X, y
        Features and labels: arrays, data frames and columns of any library, or a sparse matrix. Each side has the same form.
    holdout
        Share of the records to hold out.

    Examples
    --------
    >>> train, rest = split(np.arange(10.0)[:, None], np.arange(10), holdout=0.3)
    >>> len(train[1]), len(rest[1]), sorted(train[1].tolist() + rest[1].tolist())
    (7, 3, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    native, y = native_form(X), as_array(y) if is_foreign(y) else y
    X = X if native is None else read_features(X, "the table")
    if len(X) != len(y):
        raise InputError(f"X has {len(X)} records and y has {len(y)} labels: pass one label per record")
    if not 1 <= round(check_share("holdout", holdout) * len(y)) < len(y):
        raise InputError(f"holdout={holdout!r} leaves one side of {len(y)} records empty: pass another share")
    order, origin = np.random.default_rng(check_seed(seed)).permutation(len(y)), object()
    held = round(holdout * len(y))
    parts = [np.sort(order[held:]), np.sort(order[:held])]
    sides = [take_rows(X, rows) if native is None else native(take_rows(X, rows)) for rows in parts]
    train, rest = (RandomPart.of(side, take_rows(y, rows), origin) for side, rows in zip(sides, parts, strict=True))
    return train, rest


def is_random_split(train: Any, holdout: Any) -> bool:
    """Return whether the two are the sides of one `split`."""
    both = isinstance(train, RandomPart) and isinstance(holdout, RandomPart)
    return both and train.origin is holdout.origin
