"""Description of the audited model and data, and the caveats of an audit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat
from leakscope.data.records import level_name, plain
from leakscope.data.small_groups import SMALLEST_GROUP, pool_small_groups
from leakscope.evaluation.crossfit import Hashes, Sample
from leakscope.evaluation.evaluate import Observed
from leakscope.evaluation.groups import decile_levels
from leakscope.evaluation.results import AuditedModel, ControlModels, Overlap, Performance
from leakscope.evaluation.risk import Judged
from leakscope.evaluation.verdict import MUCH_OVERLAP
from leakscope.models.target import Target

if TYPE_CHECKING:
    from leakscope.evaluation.prepare import Prepared

#: Smallest holdout without a warning.
SMALL_HOLDOUT = 100
#: False-positive rate at which a member counts as recognised.
CLEAR = 0.01
#: Share of recognised members from which on a mixture causes a warning.
SMALLEST_SHARE = 0.05
#: Distance of the mean p-value of the other members from that of non-members that counts as zero.
UNIFORM = 0.03


def _performance(model_task: str, answers: Floats, labels: NDArray[Any], confidence: float) -> Estimate:
    """Accuracy from predicted labels, or mean squared error from squared errors."""
    if model_task == "classification":
        return intervals.proportion(int((answers[:, 0] == labels).sum()), len(labels), confidence)
    error = intervals.mean(answers[:, 0], confidence)
    return replace(error, low=max(0.0, error.low))


def describe(target: Target, sample: Sample, observed: Observed, confidence: float) -> AuditedModel:
    """Describe the audited model: sizes, its performance, and that of the control models."""
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
) -> tuple[NDArray[Any], list[Caveat]]:
    """Return the class of each judged record, or the decile of its label, and a warning about classes that are too small.

    In a small sample the warning is left out, since another caveat covers all groups.

    Examples
    --------
    >>> levels, _ = label_groups(np.tile([0, 1], 50), np.repeat([True, False], 50), np.array(["healthy", "ill"]))
    >>> levels[:3].tolist()
    ['healthy', 'ill', 'healthy']
    """
    levels, small = pool_small_groups(label_levels(labels, classes), member)
    if classes is None or not small or member.sum() < SMALL_HOLDOUT:
        return levels, []
    return levels, [Caveat("pooled_classes", {"classes": small, "smallest": SMALLEST_GROUP})]


def label_levels(labels: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the class of each record, or the decile of its label in a regression."""
    if classes is None:
        return decile_levels(labels)
    names: NDArray[Any] = np.array([level_name(plain(name)) for name in classes], object)
    return np.asarray(names[labels])


def count_copies(hashes: Hashes) -> int:
    """Count the records that are copies of an earlier one."""
    return len(hashes) - len(np.unique(hashes))


def warn_about(prepared: Prepared, audited: AuditedModel, *, random_split: bool = False) -> list[Caveat]:
    """Collect the limitations of this audit."""
    target, judged, overlap = prepared.target, prepared.case.sample.judged, prepared.overlap
    found = [*target.warnings]
    if overlap.count:
        found.append(Caveat("copies_in_holdout", {"records": overlap.count, "removed": overlap.removed}))
    found.extend(near_overlap(overlap))
    if copies := count_copies(prepared.hashes[0]):
        found.append(Caveat("copies_in_training", {"records": copies}))
    found.extend(few_judged(judged))
    if random_split:
        found.append(Caveat("stated_random_split"))
    elif audited.control_models is None:
        found.append(Caveat("permuted_control", {"retrainable": target.learner is not None}))
    else:
        found.extend(_unlike(audited))
    found.extend(_below_guessing(audited))
    found.extend(prepared.said)
    return found


def near_overlap(overlap: Overlap) -> tuple[Caveat, ...]:
    """Warn about near copies of training records in the holdout, if there are any."""
    return () if overlap.near is None else (Caveat("near_copies", {"share": overlap.near}),)


def much_near_overlap(overlap: Overlap) -> tuple[Caveat, ...]:
    """Give the same caveat as an obstacle, if the near copies are many: their share is understated where columns changed a lot."""
    return near_overlap(overlap) if overlap.near is not None and overlap.near.high >= MUCH_OVERLAP else ()


def _below_guessing(audited: AuditedModel) -> list[Caveat]:
    """Warn about an accuracy below chance: the classes of the model are in another order than the labels."""
    performance, classes = audited.performance, audited.classes
    if performance is None or classes is None or performance.metric != "accuracy":
        return []
    if performance.train.high >= 1 / classes:
        return []
    return [Caveat("below_chance", {"accuracy": performance.train, "classes": classes})]


def few_judged(judged: int) -> list[Caveat]:
    """Warn about a small sample."""
    if judged >= SMALL_HOLDOUT:
        return []
    return [Caveat("small_sample", {"judged": judged, "smallest_fpr": intervals.FALSE_ALARMS_NEEDED / judged})]


def _unlike(audited: AuditedModel) -> list[Caveat]:
    """Control models whose performance differs much from the target's may have been trained in another way."""
    assert audited.control_models is not None
    assert audited.performance is not None
    here, there = audited.performance.holdout, audited.control_models.holdout
    gap = intervals.difference(here, there)
    far = 0.1 if audited.performance.metric == "accuracy" else 0.5 * abs(here.value)
    if gap.low <= far and gap.high >= -far:
        return []
    return [Caveat("control_differs", {"metric": audited.performance.metric, "control": there, "target": here})]


def trained_share(judged: Judged) -> list[Caveat]:
    """Warn if only some of the members look trained on and the others look like non-members.

    The p-value of a record is the share of non-members with at least its score. P-values of records that were never
    trained on are uniform; those of members with any leak are not. A few small ones among uniform ones indicate a
    mixture.
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
    return [Caveat("mixture_of_members", {"share": share, "fpr": CLEAR})]
