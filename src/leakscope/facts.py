"""What was audited, and what about it could mislead: the facts and warnings that stand beside the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope import intervals
from leakscope.crossfit import Hashes, Sample
from leakscope.evaluation.evaluate import Observed
from leakscope.evidence import Floats
from leakscope.grouping import decile_levels
from leakscope.records import level_name, plain
from leakscope.results import AuditedModel, ControlModels, Estimate, Overlap, Performance
from leakscope.risk import SMALLEST_GROUP, Judged, pool_small_groups
from leakscope.target import Target
from leakscope.verdict import MUCH_OVERLAP

#: Below this a holdout can tell little, and the audit says so.
SMALL_HOLDOUT = 100
#: False-positive rate at which a member counts as recognised, when recognised members are told from the others.
CLEAR = 0.01
#: Share of recognised members from which on a mixture is worth a warning.
SMALLEST_SHARE = 0.05
#: Distance of the mean p-value of the other members from that of non-members that still counts as none.
UNIFORM = 0.03


def _performance(model_task: str, answers: Floats, labels: NDArray[Any], confidence: float) -> Estimate:
    """Accuracy from predicted labels, or mean squared error from squared errors."""
    if model_task == "classification":
        return intervals.proportion(int((answers[:, 0] == labels).sum()), len(labels), confidence)
    error = intervals.mean(answers[:, 0], confidence)
    return replace(error, low=max(0.0, error.low))


def describe(target: Target, sample: Sample, observed: Observed, confidence: float) -> AuditedModel:
    """What was audited: sizes, how well the model does, and how well the control models do."""
    task = target.model.task
    release = "labels" if task == "classification" else "squared_error"
    train, holdout = (
        _performance(task, answers[release], side.y, confidence)
        for answers, side in ((observed.members, target.members), (observed.nonmembers, target.nonmembers))
    )
    models = None
    if (control := observed.control) is not None:
        outside = slice(sample.judged, None)
        labels = target.nonmembers.y[sample.nonmembers]
        models = ControlModels(
            len(np.unique(control.model)),
            control.trained_on,
            _performance(task, control.shown[release][outside], labels, confidence),
        )
    return AuditedModel(
        model=target.model.name,
        task=task,
        classes=None if target.model.classes is None else len(target.model.classes),
        features=int(np.prod(np.shape(target.members.X)[1:], dtype=int)),
        members=len(target.members),
        nonmembers=len(target.nonmembers),
        judged=sample.judged,
        performance=Performance("accuracy" if task == "classification" else "mean squared error", train, holdout),
        control_models=models,
    )


def label_groups(
    labels: NDArray[Any], member: NDArray[np.bool_], classes: NDArray[Any] | None
) -> tuple[NDArray[Any], list[str]]:
    """Class of each judged record, or the decile of its label in a regression, and a warning about classes too small to be shown.

    In a small sample the warning is left out: that little can be said of small groups is stated there for all of them.

    Examples
    --------
    >>> levels, _ = label_groups(np.tile([0, 1], 50), np.repeat([True, False], 50), np.array(["healthy", "ill"]))
    >>> levels[:3].tolist()
    ['healthy', 'ill', 'healthy']
    """
    levels, small = pool_small_groups(label_levels(labels, classes), member)
    if classes is None or not small or member.sum() < SMALL_HOLDOUT:
        return levels, []
    what = "1 class has" if small == 1 else f"{small:,} classes have"
    return levels, [
        f"{what} fewer than {SMALLEST_GROUP} judged members or non-members: the risk of small classes is reported for all of them "
        "together, or not at all where even together they are too few"
    ]


def label_levels(labels: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Class of each record, or the decile of its label in a regression."""
    if classes is None:
        return decile_levels(labels)
    names: NDArray[Any] = np.array([level_name(plain(name)) for name in classes], object)
    return np.asarray(names[labels])


def count_copies(hashes: Hashes) -> int:
    """How many records are copies of an earlier one."""
    return len(hashes) - len(np.unique(hashes))


def count(number: int, what: str) -> str:
    """A number of things, in the plural unless it is one.

    Examples
    --------
    >>> count(1, "record"), count(2000, "record")
    ('1 record', '2,000 records')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def warn_about(
    target: Target,
    sample: Sample,
    overlap: Overlap,
    copies: int,
    audited: AuditedModel,
    pooled: list[str],
    *,
    random_split: bool = False,
) -> list[str]:
    """Sentences about what this audit can't tell, or what may make it tell wrong."""
    said = [*target.warnings]
    if overlap.count:
        named = ", ".join(overlap.ids[:10]) + (", …" if overlap.count > 10 else "")
        what = "removed from the holdout" if overlap.removed else "kept; drop_overlap (--drop-overlap) removes them"
        verb = "stands" if overlap.count == 1 else "stand"
        said.append(f"{count(overlap.count, 'training record')} {verb} in the holdout too ({named}): {what}")
    said.extend(near_overlap(overlap))
    if copies:
        verb = "is a copy" if copies == 1 else "are copies"
        said.append(f"{count(copies, 'training record')} {verb} of another: of equal records one is judged")
    said.extend(few_judged(sample.judged))
    if random_split:
        said.append(
            "that members and held-out records come from one random split is a statement of the caller; the blind baseline is the "
            "only check of it"
        )
    elif audited.control_models is None:
        why = "retraining was switched off" if target.learner is not None else "the model can't be trained again here"
        said.append(f"the control is permuted memberships, not a model that never saw the members, because {why}")
    else:
        said.extend(_unlike(audited))
    said.extend(_below_guessing(audited))
    said.extend(pooled)
    return said


def near_overlap(overlap: Overlap) -> tuple[str, ...]:
    """A sentence about near copies of training records in the holdout, if there are any."""
    if overlap.near is None:
        return ()
    return (
        f"a share of {overlap.near} of the held-out records are near copies of training records, such as the same records with "
        "rounded numbers: every risk is understated; use a holdout without them",
    )


def much_near_overlap(overlap: Overlap) -> tuple[str, ...]:
    """The same sentence as an obstacle, if the near copies are many: their share is understated where columns changed a lot."""
    return near_overlap(overlap) if overlap.near is not None and overlap.near.high >= MUCH_OVERLAP else ()


def _below_guessing(audited: AuditedModel) -> list[str]:
    """A model that is right less often than guessing has its classes in another order than the labels."""
    performance, classes = audited.performance, audited.classes
    if (
        performance is None
        or classes is None
        or performance.metric != "accuracy"
        or performance.train.high >= 1 / classes
    ):
        return []
    return [
        f"the model is right on {performance.train} of its training records, less often than guessing among {classes} classes: "
        "check that its outputs stand in the order of the labels"
    ]


def few_judged(judged: int) -> list[str]:
    """What a small sample can't tell, if it is small."""
    if judged >= SMALL_HOLDOUT:
        return []
    return [
        f"only {judged} members and {judged} non-members could be judged: intervals are wide, and nothing can be said of "
        f"false-positive rates below {intervals.FALSE_ALARMS_NEEDED / judged:.2g} or of small groups"
    ]


def _unlike(audited: AuditedModel) -> list[str]:
    """A control model that performs far off the target's level may have been trained in another way."""
    assert audited.control_models is not None
    assert audited.performance is not None
    here, there = audited.performance.holdout, audited.control_models.holdout
    gap = intervals.difference(here, there)
    far = 0.1 if audited.performance.metric == "accuracy" else 0.5 * abs(here.value)
    if gap.low <= far and gap.high >= -far:
        return []
    return [
        f"the retrained control models reach a held-out {audited.performance.metric} of {there}, the audited model {here}: "
        f"half the records, or other training than the model's, may be the reason"
    ]


def trained_share(judged: Judged) -> list[str]:
    """A warning where only some of the members look trained on and the others look like non-members.

    The p-value of a record is the share of non-members with at least its score. P-values of records that were never trained
    on are uniform; those of members with any leak are not. Few small p-values beside uniform ones are a clear mixture.
    """
    chances = 1 - np.concatenate([stratum.placements[0] for stratum in judged.ranking.strata])
    found = chances <= CLEAR
    share = intervals.proportion(int(found.sum()), len(chances), 0.99)
    rest = chances[~found]
    if share.low <= SMALLEST_SHARE or share.high >= 0.5 or len(rest) < 2:
        return []
    # Uniform p-values between CLEAR and 1 have this mean.
    off = intervals.mean(rest - (1 + CLEAR) / 2, 0.99)
    if off.low < -UNIFORM or off.high > UNIFORM:
        return []
    return [
        f"a share of {share} of the members is recognised at a false-positive rate of {CLEAR:g}, and the others look like "
        "non-members: the model remembers these records only, or most of the listed members were never trained on; check the list"
    ]
