"""Named real data sets: downloaded once, checked by digest, cached; a mirror folder may stand in.

``load(name)`` gives the records with labels, groups and sensitive columns. ``LEAKSCOPE_DATA`` names a mirror folder
that is looked in first, ``LEAKSCOPE_CACHE`` the folder for downloads. Nothing is kept in memory between two loads.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from leakscope.datasets import adult, bits, built_in, diabetes130, dogfish, images, store
from leakscope.datasets.catalogue import DESCRIPTIONS
from leakscope.datasets.dataset import Dataset, Description
from leakscope.errors import InputError

__all__ = ["Dataset", "Description", "describe", "fetch", "load", "names", "where"]

_READERS: dict[str, Callable[..., Dataset]] = {
    "adult": adult.read,
    "diabetes130": diabetes130.read,
    "location30": bits.read,
    "purchase100": bits.read,
    "texas100": bits.read,
    "mnist": images.read_mnist,
    "cifar100": images.read_cifar100,
    "cifar100_20k": images.read_cifar100_20k,
    "dogfish": dogfish.read,
    "breast_cancer": built_in.read_breast_cancer,
    "digits": built_in.read_digits,
    "make_classification": built_in.make_classification,
}


def names() -> tuple[str, ...]:
    """The names that ``load`` knows.

    Examples
    --------
    >>> "adult" in names()
    True
    """
    return tuple(DESCRIPTIONS)


def describe(name: str) -> Description:
    """What there is to say about a data set without loading it.

    Examples
    --------
    >>> adult = describe("adult")
    >>> adult.shape, adult.licence
    ('48,842 x 14', 'CC BY 4.0')
    """
    if name not in DESCRIPTIONS:
        raise InputError(f"there is no data set {name!r}: choose one of {', '.join(DESCRIPTIONS)}")
    return DESCRIPTIONS[name]


def where(
    name: str, *, folder: str | os.PathLike[str] | None = None
) -> Literal["scikit-learn", "mirror", "cache", "download", "not here"]:
    """Where ``load`` would take a data set from now; ``not here``: only a mirror holds it, and there is none.

    Examples
    --------
    >>> where("digits")
    'scikit-learn'
    """
    return store.where(describe(name), folder)


def fetch(
    name: str, *, folder: str | os.PathLike[str] | None = None, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Find the files of a data set, or download them into the cache, check them, and return their folder.

    Parameters
    ----------
    name
        One of ``names()``.
    folder
        A mirror folder to look in first, in place of the one that ``LEAKSCOPE_DATA`` names.
    progress
        Called during a download with the bytes so far and the bytes in all (0 if the server doesn't say), per file.

    Examples
    --------
    >>> fetch("digits")
    Traceback (most recent call last):
    leakscope.errors.InputError: digits comes with scikit-learn, so there is nothing to fetch: load it
    """
    return store.fetch(describe(name), folder, progress)


def load(
    name: str, *, preparation: str | None = None, folder: str | os.PathLike[str] | None = None, **options: Any
) -> Dataset:
    """Load a data set: records, labels, natural groups and sensitive columns.

    Parameters
    ----------
    name
        One of ``names()``.
    preparation
        None for the raw data. ``adult``: ``one-hot`` (104 columns) or ``codes`` (integers). ``diabetes130``:
        ``one-hot`` (127 columns, balanced classes). ``one-hot`` scales numbers to [0, 1] by the minimum and maximum of
        the whole set. The columns are listed at ``datasets.adult.read`` and ``datasets.diabetes130.read``.
    folder
        A mirror folder to look in first, in place of the one that ``LEAKSCOPE_DATA`` names.
    **options
        ``adult``: ``components`` (with ``codes``: that many principal components). ``diabetes130``: ``one_per_person``
        (first encounter only), ``balanced``, ``seed``. ``make_classification``: ``samples``, ``features``, ``classes``,
        ``seed``.

    Examples
    --------
    >>> data = load("breast_cancer")
    >>> data
    <Dataset breast_cancer: 569 x 30, 2 classes>
    >>> load("make_classification", samples=100, features=3, seed=1).X.shape
    (100, 3)
    """
    description = describe(name)
    if preparation is not None and preparation not in description.preparations:
        known = " or ".join(map(repr, description.preparations))
        raise InputError(f"{name} has no preparation {preparation!r}: {f'choose {known}' if known else 'leave it out'}")
    read = _READERS[name]
    allowed = [
        option for option, detail in inspect.signature(read).parameters.items() if detail.kind == detail.KEYWORD_ONLY
    ]
    if "preparation" in allowed:
        allowed.remove("preparation")
        options["preparation"] = preparation
    if unknown := options.keys() - {*allowed, "preparation"}:
        known = ", ".join(allowed)
        raise InputError(
            f"{name} has no option {min(unknown)!r}: {f'choose from {known}' if known else 'leave it out'}"
        )
    if not description.files:
        return read(description, **options)
    return read(description, fetch(name, folder=folder), **options)
