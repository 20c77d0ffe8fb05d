"""Next steps after an audit for its document: the three most useful, those that a measurement supports first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from leakscope.core.result import Result
from leakscope.core.wording import count
from leakscope.evaluation.results import Audit, GroupRisk
from leakscope.report.document import Item
from leakscope.report.documents.caveats import describe
from leakscope.report.documents.cells import outcome
from leakscope.report.documents.fields import fill
from leakscope.report.documents.releases import release_name

MOST_STEPS = 3
MEASURED = "measured"
_ADVICE = {
    "Reduce overfitting, or release less": "More training records, stronger regularisation, earlier stopping or a coarser release usually reduce a leak. "
    "Score again and compare the results with leakscope diff.",
    "Compare groups of people": "Name columns with --groups: an average can hide a group that is more exposed.",
    "Measure the parameters before you release the model file": "This audit attacks outputs only. For linear models and networks, leakscope leakage "
    "measures what the parameters reveal.",
    "Audit explanations before you release them": "Add them to the audit, such as --releases probabilities,gradient.",
    "Add a gate": 'Stop a worse model in the release pipeline: leakscope gate audit/ --fail-if "auc.high > {limit:.2f}".',
    "Clean the holdout": "Remove the training records from the holdout with --drop-overlap.",
    "Replace the holdout": "Held-out records are near copies of training records. Use records that were never trained on.",
    "Draw another holdout": "There is a distribution shift between training and held-out records. Draw both at random from the same population.",
    "Use a larger sample": "Hold out more records: {many}.",
    "Add a control for the scores": "Provide the scores of a model that never saw the members (--control), or state a random split (--random-split), "
    "if it holds.",
    "Enable retraining": "{how:text} The attack then runs on a model that never saw the members too.",
    "Release labels only": "Where the label is enough, release nothing else. The strongest attack on labels has AUC {labels} ({still}), the one on "
    "{release:text} {other}.",
    "Do not release that explanation": "{explanation} adds {gain:signed} to the AUC beyond the {prediction}. Leave it out, or look for a less revealing one "
    "with leakscope frontier.",
    "Reduce overfitting": "The accuracy is {train:percent} on training records and {holdout:percent} on held-out records. Stronger regularisation, fewer "
    "features, smaller trees or earlier stopping usually reduce this gap and the leak. leakscope compare measures what each of them gains and costs.",
    "Protect the most exposed group": "“{column} = {level}” is more exposed than the rest by {gap:signed} in AUC. More of its records, or a model that "
    "depends less on single records, would reduce this.",
}


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


def _step(title: str, tag: str = "", **values: Any) -> Item:
    return Item(fill(_ADVICE[title], **values), title, tag)


def _steps(audit: Audit, others: Sequence[Result]) -> Iterator[Item]:
    scores = audit.target.task == "scores"
    if audit.verdict.kind == "inconclusive":
        yield from _undecided(audit)
    for result in sorted(others, key=lambda one: one.kind != "comparison"):
        yield from advice(result)[:1]
    if audit.verdict.leaks:
        yield from _reduce(audit)
        if scores:
            yield _step("Reduce overfitting, or release less")
    if not audit.settings.get("groups"):
        yield _step("Compare groups of people")
    if not scores:
        yield _step("Measure the parameters before you release the model file")
    if not scores and not audit.extras:
        yield _step("Audit explanations before you release them")
    # An inconclusive audit would never pass a gate.
    highest = (audit.largest or audit.strongest).auc.high
    if audit.verdict.kind != "inconclusive" and highest < 0.97:
        yield _step("Add a gate", limit=math.ceil(100 * highest + 1) / 100)


def _undecided(audit: Audit) -> Iterator[Item]:
    if audit.overlap.count and not audit.overlap.removed:
        yield _step("Clean the holdout")
    if audit.overlap.near is not None:
        yield _step("Replace the holdout")
    for obstacle in () if audit.basis is None else audit.basis.obstacles:
        yield Item(describe(obstacle), "Make the answers comparable")
    if outcome(audit, "shift") == "yes":
        yield _step("Draw another holdout")
    elif any(doubt.remedy == "more_records" for doubt in audit.verdict.doubts[:1]):
        needed = audit.verdict.records_needed
        many = f"about {count(needed)}" if needed else "four times as many halve the width of an interval"
        yield _step("Use a larger sample", many=many)
    if audit.strongest.control.kind == "never trained":
        return
    if audit.target.task == "scores":
        yield _step("Add a control for the scores")
        return
    how = "Provide the model in a form that can be retrained: a scikit-learn estimator, or fit= in Python."
    if audit.settings.get("retrain") is False:
        how = "Leave out --no-retrain."
    yield _step("Enable retraining", how=how)


def _reduce(audit: Audit) -> Iterator[Item]:
    """Steps against a leak, from what the audit measured."""
    claim = next((one for one in audit.claims if one.code == "labels_reveal_less"), None)
    if claim is not None and claim.outcome == "yes":
        by_release = {one.release: one for one in audit.by_release}
        labels, other = by_release["labels"], by_release[str(claim.subject["release"])]
        still = "significantly above chance" if labels.beats_chance else "not significantly above chance"
        aucs, release = {"labels": labels.auc, "other": other.auc}, release_name(other.release).lower()
        yield _step("Release labels only", MEASURED, still=still, release=release, **aucs)
    if adding := [extra for extra in audit.extras if extra.adds]:
        most = max(adding, key=lambda extra: extra.auc.low)
        about = {"explanation": most.release, "gain": most.auc, "prediction": most.prediction}
        yield _step("Do not release that explanation", MEASURED, **about)
    performance = audit.target.performance
    if performance is not None and outcome(audit, "overfitted") == "yes":
        yield _step("Reduce overfitting", train=performance.train, holdout=performance.holdout)
    if out := more_exposed(audit):
        group = max(out, key=lambda one: one.gap.low)
        about = {"column": group.column, "level": group.level, "gap": group.gap}
        yield _step("Protect the most exposed group", MEASURED, **about)


def more_exposed(audit: Audit) -> list[GroupRisk]:
    """Return the groups that are significantly more exposed than their complements, by the claims of the audit."""
    claimed = [one.subject for one in audit.claims if one.code == "group_gap" and one.outcome == "yes"]
    return [one for one in audit.strongest.by_group if {"column": one.column, "level": one.level} in claimed]
