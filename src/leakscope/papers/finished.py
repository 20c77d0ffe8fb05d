"""Finished reproductions in a cache folder, one file each, so that an interrupted run of many goes on where it was.

The name of a file holds a digest of everything that is known before the run: settings, seed, package versions and the
code of this package. The file holds the digests of the data sets that were asked for, which are compared on loading.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from leakscope import datasets
from leakscope.cache import check_folder
from leakscope.errors import InputError
from leakscope.papers.reproduction import KEYS, Reproduction
from leakscope.provenance import code_digest
from leakscope.versions import versions


class Entry(NamedTuple):
    """Where the result of one reproduction with one set of settings is kept."""

    path: Path
    synthetic: bool

    @classmethod
    def of(cls, folder: Path, name: str, settings: Mapping[str, Any]) -> Entry:
        """The entry for these settings, which hold ``synthetic``."""
        check_folder(folder)
        known = json.dumps([name, settings, versions(), code_digest()], sort_keys=True, default=repr)
        key = hashlib.sha256(known.encode()).hexdigest()[:32]
        return cls(folder / f"reproduction-{name}-{key}.json", bool(settings["synthetic"]))

    def load(self) -> Reproduction | None:
        """The kept result; None if there is none, it is damaged, or the data have changed."""
        try:
            content = json.loads(self.path.read_bytes())
            if content["data"] != self._digests(content["data"]):
                return None
            values = {key: content["result"][key] for key in KEYS} | {"svg": content["svg"]}
            result = Reproduction(**values | {"synthetic": tuple(values["synthetic"])})
            whole = all(len(row) == len(result.columns) for row in result.rows) and self.path.name.startswith(
                f"reproduction-{result.id}-"
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # missing or damaged in whatever way: it is computed again and replaced
        return result if whole else None

    def store(self, result: Reproduction, asked: Iterable[str]) -> None:
        """Keep a result by renaming a finished copy, so that a kill leaves no half-written file."""
        from leakscope.storage import write_all

        content = {"data": self._digests(asked), "result": result.as_dict(), "svg": result.svg}
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"can't use {self.path.parent} as the cache folder: {error.strerror}") from None
        write_all(self.path.parent, {self.path.name: json.dumps(content, allow_nan=False).encode()})

    def _digests(self, names: Iterable[str]) -> dict[str, str]:
        """Which copy of each data set is used now; generated data depend on the code alone."""
        return {name: "synthetic" if self.synthetic else datasets.fingerprint(name) for name in sorted(names)}
