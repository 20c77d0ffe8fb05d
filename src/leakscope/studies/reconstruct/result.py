"""The result of an audit of record explanations. It holds no feature value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from leakscope.attacks.membership_record_explanation import GroupShare
from leakscope.core.estimate import Estimate
from leakscope.core.result import Outcome, Result
from leakscope.evaluation.results import Risk
from leakscope.releases.record_explanations.release import Usefulness


@dataclass(frozen=True)
class Reconstructed:
    """What one attack recovers of the training set.

    Parameters
    ----------
    records, share
        Number and share of the training records that are recovered; intervals are over runs of the attack, which differ in its own randomness.
    queries
        Number of queries that the attack makes.
    wrong
        Recovered records that are no training records, over all runs. An explanation shows training records only, so this is zero unless there is an
        error in the attack.
    curve
        Numbers of queries, each with the share that is recovered by then.
    by_group
        Share of each group that is recovered in the first run.
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
    """The influence graph [shokri2019, Table 4]: components, in-degrees, and the records that a traversal reveals.

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
    """Another release: the share that the strongest attack recovers through it, that of all attacks by name, and its utility.

    Where none of the chosen attacks can run, ``share`` is None.
    """

    release: str
    strongest: str
    share: Estimate | None
    shares: dict[str, Estimate]
    usefulness: Usefulness


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReconstructionAudit(Result):
    """What record explanations reveal of a training set.

    Parameters
    ----------
    release
        Name of the release.
    self_revealing
        By k: share of the training records that are among the k records that explain them.
    groups
        The same by group, for the k of the release. One column is always there: the tenth of the records with the largest distance to the nearest
        other record, and the others.
    membership
        Membership inference attacks on the explanation; empty without a holdout.
    attacks
        What each reconstruction attack recovers.
    graph
        The influence graph of the training records.
    defended
        Other releases, if a comparison was asked for.
    precision
        By significant digits of the influences shown: share that subspace reduction recovers, if asked for.
    accuracy
        Of the model, on the holdout; None without one.
    records
        One row for each training record: ``record`` (position), ``id``, ``self_revealed_at`` (the smallest measured k at which the record is in its own
        explanation; 0 if there is none), and for each attack the share of its runs in which the record is recovered.
    """

    kind: ClassVar[str] = "reconstruction"
    codes: ClassVar[Mapping[str, Outcome | None]] = {
        "recovered": "yes", "self_revealing": "yes", "membership": "yes", "group_gap": "yes", "less_recovered": None,
    }  # fmt: skip
    possible_figures: ClassVar[tuple[str, ...]] = ("auc", "group_gap")
    table: ClassVar[str] = "attacks"

    release: str
    self_revealing: dict[int, Estimate]
    groups: tuple[GroupShare, ...]
    membership: tuple[Risk, ...]
    attacks: tuple[Reconstructed, ...]
    graph: GraphFacts
    defended: tuple[DefendedRelease, ...]
    precision: dict[int, Estimate]
    accuracy: Estimate | None

    @property
    def strongest(self) -> Reconstructed:
        """The attack that recovers most."""
        return max(self.attacks, key=lambda found: found.share.value)
