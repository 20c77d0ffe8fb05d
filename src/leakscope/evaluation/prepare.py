"""What is settled before anything is trained: which records are judged, by what, and which models are trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.core.errors import InputError
from leakscope.core.result import Caveat
from leakscope.core.threads import one_thread
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import Records
from leakscope.data.small_groups import NOT_SHOWN, SMALLEST_GROUP, pool_small_groups
from leakscope.evaluation.audited_target import label_groups
from leakscope.evaluation.blind_baseline import blind_guesses
from leakscope.evaluation.crossfit import Hashes, Sample
from leakscope.evaluation.design import FOLDS, Design, Numbers, make_design
from leakscope.evaluation.evaluate import EvaluationCase
from leakscope.evaluation.groups import label_column
from leakscope.evaluation.near_copies import near_copies
from leakscope.evaluation.results import Overlap
from leakscope.evaluation.settings import Clock, Settings
from leakscope.models.model import Model
from leakscope.models.target import Target

#: Shared records that are named at most.
MOST_IDS = 1000
#: Below this there is nothing to fit an attack on and judge it by.
FEWEST = 10
#: Fewer judged records on each side leave cells of the four folds empty.
FEWEST_FOR_REFERENCES = 50


@dataclass(frozen=True, eq=False)
class Prepared:
    """A study before anything is trained.

    Parameters
    ----------
    target, hashes
        The target, without shared records where these are dropped, and a hash of each of its records.
    case, design
        What attacks are judged by, and which records train which model.
    seed
        Seed of all trainings.
    said
        Sentences about groups that are too small.
    no_references
        Why there are no reference models although nobody asked to leave them out; otherwise empty.
    """

    target: Target
    hashes: tuple[Hashes, Hashes]
    overlap: Overlap
    case: EvaluationCase
    design: Design
    seed: int
    said: list[Caveat]
    no_references: str


def prepare(target: Target, settings: Settings, clock: Clock, *, references_used: bool) -> Prepared:
    """Find copies, draw the judged records and the training sets, and run the blind baseline.

    ``references_used`` says whether any attack reads reference models; where none does, none are trained. The classes of the label are
    groups too.
    """
    drawing, training, guessing = (np.random.default_rng(one) for one in np.random.SeedSequence(settings.seed).spawn(3))
    with clock("compare records"):
        target, hashes, overlap = find_overlap(target, settings.drop_overlap, settings.seed)
    sample = Sample.draw(*hashes, drawing)
    check_enough(sample, hashes, overlap)
    wanted = settings if references_used else replace(settings, references=0)
    alone = bool((sample.twins(hashes[0]) < 0).any())
    numbers, reason = count_models(target, wanted, sample.judged, halves=alone)
    seed = int(training.integers(2**31))
    design = make_design(target, sample, hashes, numbers, seed)
    with clock("blind baseline"), one_thread():
        blind = blind_guesses(target.members, target.nonmembers, sample, guessing)
    groups, said = judged_groups(target.members, target.nonmembers, sample, target.model)
    labels = (target.members.y, target.nonmembers.y)
    case = EvaluationCase(sample, labels, blind, groups, settings.seed, settings.fprs)
    return Prepared(target, hashes, overlap, case, design, seed, said, reason)


def check_references(settings: Settings) -> None:
    """Refuse reference models that were asked for and can't be trained, before anything is."""
    if (settings.references or settings.budget) and not settings.retrain:
        raise InputError("reference models are trained: leave retrain on, or leave references and budget out")


def count_models(target: Target, settings: Settings, judged: int, *, halves: bool) -> tuple[Numbers, str]:
    """Return how many models are trained, and why no references are where the usual number can't be.

    ``halves`` says whether some member is not judged and has no judged copy, so that its exposure needs the halves.
    """
    if not settings.retrain:
        return Numbers(), "retraining was left out"
    references = settings.planned_references
    reason = ""
    if references and judged < FEWEST_FOR_REFERENCES:
        reason = f"reference models need {FEWEST_FOR_REFERENCES} different records on each side, and there are {judged}"
        if settings.references:
            raise InputError(f"{reason}: add records, or leave them out with references=0 (--references 0)")
        references = 0
    folds = 0 if settings.random_split or target.learner is None else FOLDS if references else 2
    return Numbers(references, folds, 2 if references and (folds or halves) else 0), reason


def check_enough(sample: Sample, hashes: tuple[Hashes, Hashes], overlap: Overlap) -> None:
    """Refuse an audit of too few different records."""
    if sample.judged >= FEWEST:
        return
    side = "held-out" if len(np.unique(hashes[1])) == sample.judged else "training"
    raise InputError(
        f"there are only {sample.judged} different {side} records{' left' if overlap.removed else ''}: "
        f"an audit needs at least {FEWEST} on each side"
    )


def judged_groups(
    members: Records, nonmembers: Records, sample: Sample, model: Model | None = None
) -> tuple[dict[str, NDArray[Any]], list[Caveat]]:
    """Return the levels of the judged records, small groups pooled, and a caveat for each column where that happened.

    With a model, the classes of the label, or its deciles in a regression, are groups too, unless a column has the same groups.
    """
    groups, said = {}, []
    for column in members.groups:
        levels = sample.judge(members.groups[column], nonmembers.groups[column])
        groups[column], pooled = pool_small_groups(levels, sample.member)
        if pooled:
            said.append(Caveat("pooled_groups", {"column": column, "groups": pooled, "smallest": SMALLEST_GROUP}))
        if len(set(groups[column]) - {NOT_SHOWN}) < 2:
            said.append(Caveat("no_groups_to_compare", {"column": column}))
    if model is not None:
        levels, small = label_groups(sample.judge(members.y, nonmembers.y), sample.member, model.classes)
        if not any(np.array_equal(pd.factorize(levels)[0], pd.factorize(other)[0]) for other in groups.values()):
            groups[label_column(model.task, groups)] = levels
            said += small
    return groups, said


def find_overlap(target: Target, drop: bool, seed: int) -> tuple[Target, tuple[Hashes, Hashes], Overlap]:
    """Return the hashes of all records, and the training records that are in the holdout too, exactly or nearly.

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
            raise InputError("every held-out record is in the training set too: pass records never trained on")
        target, outside = replace(target, nonmembers=target.nonmembers.take(keep)), outside[keep]
    return target, (inside, outside), Overlap(int(shared.sum()), ids, drop, near)


def shared_share(sample: Sample, hashes: tuple[Hashes, Hashes], overlap: Overlap) -> float:
    """Return the share of the judged non-members that are in the training set too, with the largest likely share of near copies."""
    exact = float(np.mean(np.isin(hashes[1][sample.nonmembers], hashes[0])))
    return exact if overlap.near is None else exact + (1 - exact) * overlap.near.high
