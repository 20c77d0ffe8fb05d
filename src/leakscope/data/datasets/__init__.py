"""Named public data sets: `load` reads them from a mirror folder, the cache or a checked download.

``load(name)`` returns the records with labels, groups and sensitive columns. ``LEAKSCOPE_DATA`` is a mirror folder that
is searched first, ``LEAKSCOPE_CACHE`` the folder for downloads. Nothing stays in memory between two loads.
``load(name, synthetic=True)`` returns synthetic data of the same schema, for machines without the files.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from leakscope.core.errors import InputError
from leakscope.data.datasets import adult, bits, built_in, diabetes130, dogfish, images, store
from leakscope.data.datasets.catalogue import DESCRIPTIONS
from leakscope.data.datasets.dataset import Dataset, Description
from leakscope.data.datasets.usage import current, local_only

__all__ = [
    "Dataset",
    "Description",
    "available",
    "describe",
    "fetch",
    "fingerprint",
    "load",
    "local_only",
    "names",
    "where",
]


class _Reader(NamedTuple):
    """The two steps from files to a `Dataset`: ``read``, which synthetic data replace, and ``prepare``."""

    read: Callable[[Description, Path], Any]
    prepare: Callable[..., Dataset]


_READERS: dict[str, _Reader] = {
    "adult": _Reader(adult.read, adult.prepare),
    "diabetes130": _Reader(diabetes130.read, diabetes130.prepare),
    "location30": _Reader(bits.read, bits.prepare),
    "purchase100": _Reader(bits.read, bits.prepare),
    "texas100": _Reader(bits.read, bits.prepare),
    "mnist": _Reader(images.read_mnist, images.prepare),
    "cifar100": _Reader(images.read_cifar100, images.prepare),
    "cifar100_20k": _Reader(images.read_cifar100_20k, images.prepare),
    "dogfish": _Reader(dogfish.read, dogfish.prepare),
}
_BUILT_IN: dict[str, Callable[..., Dataset]] = {
    "breast_cancer": built_in.read_breast_cancer,
    "digits": built_in.read_digits,
    "make_classification": built_in.make_classification,
}


def names() -> tuple[str, ...]:
    """Return the names of the data sets.

    Examples
    --------
    >>> "adult" in names()
    True
    """
    return tuple(DESCRIPTIONS)


def describe(name: str) -> Description:
    """Return the description of a data set without loading it.

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
    """Return the source that ``load`` would use; ``not here`` if only a mirror has the data and none is set.

    Examples
    --------
    >>> where("digits")
    'scikit-learn'
    """
    return store.where(describe(name), folder)


def available(name: str) -> bool:
    """Return whether ``load`` needs no download: the data are on this machine or, in `local_only`, synthetic.

    Examples
    --------
    >>> available("digits")
    True
    """
    usage = current()
    if usage is not None:
        usage.asked.add(name)
        if usage.synthetic:
            return True
    return where(name) not in ("download", "not here")


def fingerprint(name: str) -> str:
    """Return the digests of the files of a data set on this machine, or ``absent``.

    Examples
    --------
    >>> fingerprint("digits")
    'scikit-learn'
    """
    return store.fingerprint(describe(name))


def fetch(
    name: str, *, folder: str | os.PathLike[str] | None = None, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Find the files of a data set, or download them into the cache, check them, and return their folder.

    Parameters
    ----------
    name
        One of ``names()``.
    folder
        Mirror folder to search first, instead of ``LEAKSCOPE_DATA``.
    progress
        Called during the download of a file with the bytes so far and the total (0 if the server does not state it).

    Examples
    --------
    >>> fetch("digits")
    Traceback (most recent call last):
    leakscope.core.errors.InputError: digits comes with scikit-learn, so there is nothing to fetch: load it
    """
    return store.fetch(describe(name), folder, progress)


def load(
    name: str,
    *,
    preparation: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    synthetic: bool | None = None,
    rows: int | None = None,
    **options: Any,
) -> Dataset:
    """Load a data set: records, labels, natural groups and sensitive columns.

    Parameters
    ----------
    name
        One of ``names()``.
    preparation
        None for the raw data. ``adult``: ``one-hot`` (104 columns) or ``codes`` (integers). ``diabetes130``:
        ``one-hot`` (127 columns, balanced classes). ``one-hot`` scales numbers to [0, 1] by the minimum and maximum of
        the whole set. The columns are listed at ``datasets.adult.prepare`` and ``datasets.diabetes130.prepare``.
    folder
        Mirror folder to search first, instead of ``LEAKSCOPE_DATA``.
    synthetic
        Return synthetic data of the same schema instead of the real data, for sets that need files. No file is read
        or downloaded. The name and the description state that the data are synthetic. By default False, or the setting
        of the surrounding `local_only`.
    rows
        With ``synthetic``: number of records, at least 1,000; by default that of the real set, and fewer for
        ``purchase100``, ``texas100`` and ``cifar100``.
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
    >>> load("adult", synthetic=True, rows=1000)
    <Dataset adult (synthetic): 1,000 x 14, 2 classes>
    """
    description = describe(name)
    usage = current()
    if usage is not None:
        usage.asked.add(name)
        if synthetic is None:
            synthetic = usage.synthetic and name in _READERS
    if rows is not None and not synthetic:
        raise InputError("rows= needs synthetic=True: add it or leave rows= out")
    prepare = _READERS[name].prepare if name in _READERS else _BUILT_IN[name]
    chosen = _options(description, prepare, preparation, options)
    if synthetic:
        return _generated(description, rows, chosen)
    if name in _BUILT_IN:
        return prepare(description, **chosen)
    if usage is not None and where(name, folder=folder) in ("download", "not here"):
        raise store.missing(description)
    return prepare(description, _READERS[name].read(description, fetch(name, folder=folder)), **chosen)


def _generated(description: Description, rows: int | None, chosen: dict[str, Any]) -> Dataset:
    """Prepare synthetic data like the real data, and label them as synthetic."""
    from leakscope.data.datasets import synthetic

    name = description.name
    raw = synthetic.generate(name, rows)
    data = _READERS[name].prepare(description, raw, **chosen)
    if (usage := current()) is not None:
        usage.generated.add(name)
    label = synthetic.describe(description, synthetic.STAND_INS[name].rows if rows is None else rows)
    return replace(data, description=label, synthetic=True)


def _options(
    description: Description, prepare: Callable[..., Dataset], preparation: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the options for ``prepare``; refuse unknown ones."""
    name = description.name
    if preparation is not None and preparation not in description.preparations:
        known = " or ".join(map(repr, description.preparations))
        raise InputError(f"{name} has no preparation {preparation!r}: {f'choose {known}' if known else 'leave it out'}")
    parameters = inspect.signature(prepare).parameters.items()
    allowed = [option for option, detail in parameters if detail.kind == detail.KEYWORD_ONLY]
    own = [option for option in allowed if option != "preparation"]
    if unknown := options.keys() - set(own):
        known = ", ".join(own)
        raise InputError(
            f"{name} has no option {min(unknown)!r}: {f'choose from {known}' if known else 'leave it out'}"
        )
    return options | ({"preparation": preparation} if "preparation" in allowed else {})
