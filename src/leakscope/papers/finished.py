"""Finished reproductions in a cache folder, one file each, so that an interrupted run of many resumes.

The name of a file holds a digest of everything that is known before the run: settings, seed, package versions and the
code of this package. The file holds the digests of the data sets that were asked for, which are compared on loading.
`leakscope.worlds.cache` checks that the file is the one that was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from leakscope.core.versions import versions
from leakscope.data import datasets
from leakscope.models.provenance import code_digest
from leakscope.papers.reproduction import Reproduction
from leakscope.record.schema import validate
from leakscope.worlds import Cache, open_cache


class FinishedResult(NamedTuple):
    """Where the result of one reproduction with one set of settings is kept."""

    cache: Cache
    file: str
    synthetic: bool

    @classmethod
    def of(cls, folder: Path, name: str, settings: Mapping[str, Any]) -> FinishedResult:
        """Give the entry for these settings, which include ``synthetic``."""
        known = json.dumps([name, settings, versions(), code_digest()], sort_keys=True, default=repr)
        key = hashlib.sha256(known.encode()).hexdigest()[:32]
        return cls(open_cache(folder), f"reproduction-{name}-{key}.result", bool(settings["synthetic"]))

    def load(self) -> Reproduction | None:
        """Load the kept result; None if there is none, its file was changed, or the data have changed."""
        stored = self.cache.read(self.file)
        if stored is None:
            return None
        content = json.loads(stored)
        try:
            if content["data"] != self._digests(content["data"]):
                return None
        except OSError:  # data that can't be read: the reproduction says so
            return None
        return Reproduction(**validate(Reproduction, content["result"]))

    def store(self, result: Reproduction, asked: Iterable[str]) -> None:
        """Write a result, complete or not at all."""
        found = {name: value for name, value in result.as_dict().items() if name not in ("kind", "schema_version")}
        content = {"data": self._digests(asked), "result": found}
        self.cache.write(self.file, json.dumps(content, allow_nan=False).encode())

    def _digests(self, names: Iterable[str]) -> dict[str, str]:
        """Give the digest of each data set in use; generated data depend on the code alone."""
        return {name: "synthetic" if self.synthetic else datasets.fingerprint(name) for name in sorted(names)}
