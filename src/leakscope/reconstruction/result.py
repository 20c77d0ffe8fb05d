"""What an audit of explanations by records leaves: plain data, files and a few lines of text. No feature value is in it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leakscope.attacks.membership_record_explanation import GroupShare
from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun
from leakscope.reconstruction.release import Usefulness
from leakscope.results import Risk, Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Reconstructed:
    """What one attack recovers of the training set.

    Parameters
    ----------
    records, share
        How many training records fall, and their share, over runs of the attack that differ in its own randomness.
    queries
        How many queries the attack spends.
    wrong
        Records that it took for training records and that are none, over all runs: an explanation shows training records
        only, so this is zero unless something is broken.
    curve
        Numbers of queries, with the share that has fallen by then.
    by_group
        Share of each group that falls in the first run.
    why
        Why its last run ended.
    """

    attack: str
    source: str
    records: Estimate
    share: Estimate
    queries: Estimate
    wrong: int
    curve: tuple[tuple[int, Estimate], ...]
    by_group: tuple[GroupShare, ...]
    why: str


@dataclass(frozen=True)
class GraphFacts:
    """The influence graph [shokri2019, Table 4]: components, in-degrees, and what a traversal reveals.

    ``reachable`` is the mean number of records that a traversal from a random training record reveals.
    """

    components: int
    single_components: int
    largest_component: int
    largest_in_degree: int
    in_degree_zero: int
    reachable: Estimate


@dataclass(frozen=True)
class DefendedRelease:
    """A release, what the strongest attack recovers through it, and how useful it stays; all attacks by name.

    Where none of the attacks asked for can run, ``share`` is None.
    """

    release: str
    strongest: str
    share: Estimate | None
    shares: dict[str, Estimate]
    usefulness: Usefulness


@dataclass(frozen=True, eq=False)
class ReconstructionAudit:
    """What explanations by records give away of a training set.

    Parameters
    ----------
    release
        What is released, in words.
    self_revealing
        By k: share of the training records that are among the k records that explain themselves.
    groups
        The same by group, for the k of the release. One column is always there: the tenth of the records that is farthest
        from its nearest other, and the others.
    membership
        Attacks that tell members from non-members by their explanation; empty without a holdout.
    attacks, not_run
        What each attack recovers, and which could not run and why.
    graph
        The influence graph of the training records.
    defended
        Other releases, if a comparison was asked for.
    precision
        By significant digits of the influences shown: share that subspace reduction recovers, if asked for.
    accuracy
        Of the model, on the holdout; None without one.
    per_record
        One row for each training record: ``record`` (position), ``id``, ``self_revealed_at`` (the smallest k at which it
        is its own explanation, of those asked for; 0 if none), and for each attack the share of its runs in which the
        record fell.
    """

    release: str
    self_revealing: dict[int, Estimate]
    groups: tuple[GroupShare, ...]
    membership: tuple[Risk, ...]
    attacks: tuple[Reconstructed, ...]
    not_run: tuple[NotRun, ...]
    graph: GraphFacts
    defended: tuple[DefendedRelease, ...]
    precision: dict[int, Estimate]
    accuracy: Estimate | None
    settings: dict[str, Any]
    per_record: pd.DataFrame

    @property
    def strongest(self) -> Reconstructed:
        """The attack that recovers most."""
        return max(self.attacks, key=lambda found: found.share.value)

    def __repr__(self) -> str:
        found = self.strongest
        return f"<ReconstructionAudit of {self.settings['records']:,} records: {found.attack} recovers {found.share}>"

    def __str__(self) -> str:
        from leakscope.reconstruction.show import describe

        return describe(self)

    def study(self) -> Study:
        """What a reader of an audit needs of this: see `Audit.with_studies`."""
        from leakscope.reconstruction.telling import tell

        return tell(self)

    def as_dict(self) -> dict[str, Any]:
        """All but the table of records, as JSON takes it."""
        names = ("release", "settings", "accuracy", "self_revealing", "groups", "membership", "attacks", "not_run",
                 "graph", "defended", "precision")  # fmt: skip
        found: dict[str, Any] = {name: _plain(getattr(self, name)) for name in names}
        return found

    def to_csv(self) -> str:
        """The curves: attack, queries, share recovered with its interval."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["attack", "queries", "share", "share_low", "share_high"])
        for found in self.attacks:
            writer.writerows([found.attack, at, share.value, share.low, share.high] for at, share in found.curve)
        return text.getvalue()

    def save(self, folder: str | Path) -> None:
        """Write records.csv, reconstruction.csv, .svg and .json, and study.json: all of them or none."""
        from leakscope.reconstruction.show import draw
        from leakscope.storage import inert, write_all
        from leakscope.study import FILE, study_to_json

        table = self.per_record.assign(id=inert(self.per_record["id"]))
        content = {
            "records.csv": table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).encode(),
            "reconstruction.csv": self.to_csv().encode(),
            "reconstruction.svg": draw(self).encode(),
            FILE: study_to_json(self.study()),
            "reconstruction.json": json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False).encode(),
        }
        write_all(Path(folder), content)


def _plain(value: Any) -> Any:
    """Dataclasses, tuples and dicts as JSON takes them: keys are texts."""
    if hasattr(value, "__dataclass_fields__"):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
