"""Next steps after an audit for its document: the three most useful, those that a measurement supports first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib import import_module

from leakscope.core.result import Result
from leakscope.core.wording import count, name, write
from leakscope.evaluation.results import Audit, GroupRisk
from leakscope.report.document import Item
from leakscope.report.documents.caveats import describe
from leakscope.report.documents.cells import outcome
from leakscope.report.documents.releases import release_name

MOST_STEPS = 3
MEASURED = "measured"


def next_steps(audit: Audit, others: Sequence[Result] = ()) -> list[Item]:
    """Return the most useful next steps; those that a measurement in this audit or in another result supports come first."""
    steps = sorted(_steps(audit, others), key=lambda step: not step.tag)
    return steps[:MOST_STEPS]


def advice(result: Result) -> list[Item]:
    """Return what the document of another result advises; kinds of results without an ``advise`` function advise nothing."""
    try:
        module = import_module(f"leakscope.report.documents.{result.kind}")
    except ModuleNotFoundError:
        return []
    return list(module.advise(result)) if hasattr(module, "advise") else []


def _steps(audit: Audit, others: Sequence[Result]) -> Iterator[Item]:
    if audit.verdict.kind == "inconclusive":
        yield from _undecided(audit)
    for result in sorted(others, key=lambda one: one.kind != "comparison"):
        yield from advice(result)[:1]
    if audit.verdict.leaks:
        yield from _release_less(audit)
        yield from _drop_explanation(audit)
        yield from _overfit(audit)
        yield from _protect_group(audit)
        if audit.target.task == "scores":
            yield Item(
                "More training records, stronger regularisation, earlier stopping or a coarser release usually reduce a leak. Score again and compare "
                "the results with leakscope diff.",
                "Reduce overfitting, or release less",
            )
    if not audit.settings.get("groups"):
        said = "Name columns with --groups: an average can hide a group that is more exposed."
        yield Item(said, "Compare groups of people")
    if audit.target.task != "scores":
        yield Item(
            "This audit attacks outputs only. For linear models and networks, leakscope leakage measures what the parameters reveal.",
            "Measure the parameters before you release the model file",
        )
        if not audit.extras:
            said = "Add them to the audit, such as --releases probabilities,gradient."
            yield Item(said, "Audit explanations before you release them")
    yield from _gate(audit)


def _gate(audit: Audit) -> Iterator[Item]:
    """A condition just above what was found; an inconclusive audit would never pass one."""
    highest = (audit.largest or audit.strongest).auc.high
    if audit.verdict.kind != "inconclusive" and highest < 0.97:
        condition = f"auc.high > {math.ceil(100 * highest + 1) / 100:.2f}"
        said = f'Stop a worse model in the release pipeline: leakscope gate audit/ --fail-if "{condition}".'
        yield Item(said, "Add a gate")


def _undecided(audit: Audit) -> Iterator[Item]:
    if audit.overlap.count and not audit.overlap.removed:
        yield Item("Remove the training records from the holdout with --drop-overlap.", "Clean the holdout")
    if audit.overlap.near is not None:
        said = "Held-out records are near copies of training records. Use records that were never trained on."
        yield Item(said, "Replace the holdout")
    for obstacle in () if audit.basis is None else audit.basis.obstacles:
        yield Item(describe(obstacle), "Make the answers comparable")
    risk = audit.strongest
    if outcome(audit, "shift") == "yes":
        yield Item(
            "There is a distribution shift between training and held-out records. Draw both at random from the same population.",
            "Draw another holdout",
        )
    elif any(doubt.remedy == "more_records" for doubt in audit.verdict.doubts[:1]):
        needed = audit.verdict.records_needed
        how = f"about {count(needed)}" if needed else "four times as many halve the width of an interval"
        yield Item(f"Hold out more records: {how}.", "Use a larger sample")
    if risk.control.kind == "never trained":
        return
    if audit.target.task == "scores":
        yield Item(
            "Provide the scores of a model that never saw the members (--control), or state a random split (--random-split), if it holds.",
            "Add a control for the scores",
        )
    else:
        how = "Provide the model in a form that can be retrained: a scikit-learn estimator, or fit= in Python."
        if audit.settings.get("retrain") is False:
            how = "Leave out --no-retrain."
        yield Item(f"{how} The attack then runs on a model that never saw the members too.", "Enable retraining")


def _release_less(audit: Audit) -> Iterator[Item]:
    claim = next((one for one in audit.claims if one.code == "labels_reveal_less"), None)
    if claim is None or claim.outcome != "yes":
        return
    by_release = {one.release: one for one in audit.by_release}
    labels, strongest = by_release["labels"], by_release[str(claim.subject["release"])]
    still = "significantly above chance" if labels.beats_chance else "not significantly above chance"
    yield Item(
        f"Where the label is enough, release nothing else. The strongest attack on labels has AUC {write(labels.auc)} ({still}), the one on "
        f"{release_name(strongest.release).lower()} {write(strongest.auc)}.",
        "Release labels only",
        MEASURED,
    )


def _drop_explanation(audit: Audit) -> Iterator[Item]:
    adding = [extra for extra in audit.extras if extra.adds]
    if adding:
        most = max(adding, key=lambda extra: extra.auc.low)
        yield Item(
            f"{name(most.release)} adds {write(most.auc, 'signed')} to the AUC beyond the {name(most.prediction)}. Leave it out, or look for a less revealing one "
            "with leakscope frontier.",
            "Do not release that explanation",
            MEASURED,
        )


def _overfit(audit: Audit) -> Iterator[Item]:
    performance = audit.target.performance
    if performance is not None and outcome(audit, "overfitted") == "yes":
        yield Item(
            f"The accuracy is {write(performance.train, 'percent')} on training records and {write(performance.holdout, 'percent')} on held-out records. "
            "Stronger regularisation, fewer features, smaller trees or earlier stopping usually reduce this gap and the leak. leakscope compare measures "
            "what each of them gains and costs.",
            "Reduce overfitting",
        )


def more_exposed(audit: Audit) -> list[GroupRisk]:
    """Return the groups that are significantly more exposed than their complements, by the claims of the audit."""
    claimed = [one.subject for one in audit.claims if one.code == "group_gap" and one.outcome == "yes"]
    return [one for one in audit.strongest.by_group if {"column": one.column, "level": one.level} in claimed]


def _protect_group(audit: Audit) -> Iterator[Item]:
    if out := more_exposed(audit):
        group = max(out, key=lambda one: one.gap.low)
        yield Item(
            f"“{name(group.column)} = {name(group.level)}” is more exposed than the rest by {write(group.gap, 'signed')} in AUC. More of its records, or a model "
            "that depends less on single records, would reduce this.",
            "Protect the most exposed group",
            MEASURED,
        )
