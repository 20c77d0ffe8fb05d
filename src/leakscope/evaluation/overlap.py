"""Overlap: training records that are in the holdout too, exactly or nearly. They draw every risk towards chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leakscope.crossfit import Hashes, Sample
from leakscope.errors import InputError
from leakscope.fingerprints import row_hashes
from leakscope.near_copies import near_copies
from leakscope.results import Overlap
from leakscope.target import Target
from leakscope.workers import one_thread

#: Shared records that are named at most.
MOST_IDS = 1000


def find_overlap(target: Target, drop: bool, seed: int) -> tuple[Target, tuple[Hashes, Hashes], Overlap]:
    """Hashes of all records, and the training records that are in the holdout too, exactly or nearly.

    With ``drop``, the target goes on without the exact copies.
    """
    inside, outside = (row_hashes(side.X, side.y) for side in (target.members, target.nonmembers))
    shared = np.isin(inside, outside)
    rng = np.random.default_rng([seed, len(inside)])
    with one_thread():
        near = near_copies(target.members, target.nonmembers, (inside, outside), rng)
    if not shared.any():
        return target, (inside, outside), Overlap(0, near=near)
    ids = tuple(str(name) for name in target.members.ids[shared][:MOST_IDS])
    if drop:
        keep = np.flatnonzero(~np.isin(outside, inside))
        if not len(keep):
            raise InputError("every held-out record stands in the training set too: pass records never trained on")
        target, outside = replace(target, nonmembers=target.nonmembers.take(keep)), outside[keep]
    return target, (inside, outside), Overlap(int(shared.sum()), ids, drop, near)


def shared_share(sample: Sample, hashes: tuple[Hashes, Hashes], overlap: Overlap) -> float:
    """Share of the judged non-members that stand in the training set too, with the largest likely share of near copies."""
    exact = float(np.mean(np.isin(hashes[1][sample.nonmembers], hashes[0])))
    return exact if overlap.near is None else exact + (1 - exact) * overlap.near.high
