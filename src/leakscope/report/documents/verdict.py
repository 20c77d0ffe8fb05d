"""The sentences of a verdict, from its codes and estimates: in the terms of the field, and for lay readers."""

from __future__ import annotations

import math
from collections.abc import Callable

from leakscope.core.wording import count, name, out_of, percent, sentence, write
from leakscope.evaluation.results import Statement, Verdict, VerdictKind
from leakscope.report.document import Tag
from leakscope.report.documents.caveats import describe as describe_caveat

#: The definition of *leaks*. `verdict.judge` has the rule in detail; README, documentation and report quote this sentence.
LEAKS = (
    "an attack that was run distinguishes members from non-members significantly better than chance, over all records or within a "
    "group, and a random split, the never-trained control or the blind baseline rules out that a distribution shift explains it"
)
LABELS: dict[VerdictKind, Tag] = {
    "leaks": ("Leaks", "risk"),
    "claim_refuted": ("Privacy claim refuted", "risk"),
    "not_detected": ("Not detected", "safe"),
    "inconclusive": ("Inconclusive", "unknown"),
}
_REMEDIES = {
    None: "",
    "more_records": " More records are needed.",
    "matched_holdout": " Use a holdout from the same population as the training data.",
}


def technical(verdict: Verdict) -> tuple[str, ...]:
    """Return the verdict in the terms of the field: the finding with its first doubt, other doubts, and what supports it.

    Examples
    --------
    >>> technical(Verdict("not_detected", finding=Statement("not_detected"), not_excluded=0.523))
    ('No attack that was run is significantly above chance. An AUC above 0.523 is excluded for each of them.',)
    """
    if verdict.finding is None:
        return ()
    return (_headline(verdict, verdict.finding), *map(describe, (*verdict.doubts[1:], *verdict.support)))


def _headline(verdict: Verdict, finding: Statement) -> str:
    found = describe(finding)
    if verdict.kind == "not_detected":
        return f"{found} An AUC above {_up(verdict.not_excluded, 3)} is excluded for each of them."
    if not verdict.doubts:
        return found
    doubt = describe(verdict.doubts[0])
    if verdict.doubts[0].code == "sample_size":
        doubt = (
            f"An AUC of up to {_up(verdict.not_excluded, 2)} is not excluded. About {count(verdict.records_needed or 0)} held-out records and as "
            "many training records are needed."
        )
    before = "Over all records, no attack that was run is significantly above chance. " if finding.column else ""
    return f"{before}{found} {doubt}"


def _up(value: float | None, digits: int) -> str:
    """A bound, rounded up, so that it stays one."""
    assert value is not None
    return f"{math.ceil(round(value * 10**digits, 6)) / 10**digits:.{digits}f}"


def describe(statement: Statement) -> str:
    """Return one statement as a sentence.

    Examples
    --------
    >>> describe(Statement("random_split"))
    'The caller states that members and non-members were split at random.'
    """
    return _WORDS[statement.code](statement)


def name_group(column: str, level: str) -> str:
    """Return the name of a group in sentences.

    Examples
    --------
    >>> name_group("sex", "F")
    '“sex = F”'
    """
    return f"“{name(column, 40)} = {name(level, 40)}”"


def _attack(one: Statement) -> str:
    return f"“{name(one.attack)}” on {name(one.release)}" if one.release else f"“{name(one.attack)}”"


def _within(one: Statement) -> str:
    return f"within the group {name_group(one.column, one.level)}, " if one.column else ""


def _auc(one: Statement) -> str:
    auc = write(one.estimates["auc"])
    return sentence(
        f"{_within(one)}{_attack(one)} distinguishes members from non-members with AUC {auc} (0.5 is chance, 1 is perfect)"
    )


def _tpr(one: Statement) -> str:
    return f"{_attack(one)} has a TPR of {write(one.estimates['tpr'], 'percent')} at {percent(one.fpr or 0.0)} FPR."


def _epsilon(one: Statement) -> str:
    claimed, delta = one.estimates["claimed"].value, one.estimates["delta"].value
    more = f", δ = {delta:g}" if delta else ""
    return (
        f"{_attack(one)} shows that ε is {write(one.estimates['bound'])} for the swap of one record. The training is claimed to have "
        f"ε = {claimed:g}{more}."
    )


def _epsilon_bound(one: Statement) -> str:
    bound, delta = one.estimates["bound"], one.estimates["delta"].value
    return f"The attacks show that ε is {write(bound)} for the swap of one record (δ = {delta:g})."


def _contradicted_split(one: Statement) -> str:
    ((rival, auc),) = one.estimates.items()
    which = {"blind": "blind baseline", "control": "never-trained control"}[rival]
    return (
        f"The records contradict the stated random split: the {which} has AUC {write(auc)}, significantly above chance."
    )


def _not_above(one: Statement, what: str, rival: str) -> str:
    figure = "AUC" if one.fpr is None else "TPR"
    here = f"The {figure}" + (" within the group" if one.column else "")
    there = "" if rival not in one.estimates else f" ({figure} {write(one.estimates[rival])})"
    return f"{here} is not significantly above that of the {what}{there}.{_REMEDIES[one.remedy]}"


def _data_hungry(one: Statement) -> str:
    return (
        f"Models of this kind gain more from more records (log-likelihood {write(one.estimates['curve'], 'signed')}) than from training on a record "
        f"({write(one.estimates['gap'], 'signed')}), so smaller models are no control for it. Train on more records, or state that members and held-out "
        "records come from one random split (random_split, --random-split)."
    )


def _not_fitted(one: Statement) -> str:
    return (
        "The model does not fit the members significantly better than midway between models with and without them "
        f"({write(one.estimates['mid'], 'signed')} of log-likelihood; training on a record gives {write(one.estimates['gap'], 'signed')}). Check that "
        "these records were trained on."
    )


def _shift_explains(one: Statement) -> str:
    return (
        f"The blind baseline has AUC {write(one.estimates['blind'])}, and a larger training set, or noise in its training, could explain how the "
        f"model fits the members ({write(one.estimates['size'], 'signed')} of log-likelihood beyond a larger set).{_REMEDIES[one.remedy]}"
    )


def _copies(one: Statement) -> str:
    return (
        f"{100 * one.estimates['share'].value:.0f} % of the judged held-out records are copies or near copies of training records. Remove them "
        "(drop_overlap, --drop-overlap, removes the exact copies)."
    )


def _exposed_group(one: Statement) -> str:
    auc, gap = write(one.estimates["auc"]), write(one.estimates["gap"], "signed")
    return f"The most exposed group is {name_group(one.column, one.level)}: AUC {auc}, {gap} compared with the rest."


def _named(one: Statement) -> str:
    number, share, rate = one.estimates["count"].value, one.estimates["share"], one.estimates["rate"].value
    return (
        f"{_attack(one)} could name {count(round(number), 'member')}, {write(share, 'percent')} of those judged, at a false-discovery rate of "
        f"{percent(rate)}."
    )


_WORDS: dict[str, Callable[[Statement], str]] = {
    "auc": _auc,
    "tpr_at_fpr": _tpr,
    "group_auc": _auc,
    "epsilon": _epsilon,
    "not_detected": lambda one: "No attack that was run is significantly above chance.",
    "contradicted_split": _contradicted_split,
    "scores_only": lambda one: (
        "Scores do not show whether there is a distribution shift between members and non-members. If they were split at random, state it "
        "(random_split, --random-split)."
    ),
    "no_control": lambda one: "The attack was not run on a never-trained control.",
    "not_above_control": lambda one: _not_above(one, "never-trained control", "control"),
    "not_above_blind": lambda one: _not_above(one, "blind baseline", "blind"),
    "data_hungry": _data_hungry,
    "not_fitted_as_member": _not_fitted,
    "shift_explains_fit": _shift_explains,
    "copies_in_holdout": _copies,
    "obstacle": lambda one: "" if one.obstacle is None else describe_caveat(one.obstacle),
    "sample_size": lambda one: "The sample is too small.",
    "control": lambda one: sentence(
        f"{_within(one)}the never-trained control has AUC {write(one.estimates['control'])}"
    ),
    "permuted": lambda one: f"The same attack with permuted memberships has AUC {write(one.estimates['permuted'])}.",
    "blind": lambda one: f"The blind baseline has AUC {write(one.estimates['blind'])}.",
    "random_split": lambda one: "The caller states that members and non-members were split at random.",
    "epsilon_bound": _epsilon_bound,
    "exposed_group": _exposed_group,
    "named": _named,
    "overall": lambda one: f"Over all records, {_attack(one)} has AUC {write(one.estimates['auc'])}.",
}


# --- for lay readers --------------------------------------------------------------------------------------------------

_LAY_FINDINGS = {
    "auc": "An attack distinguishes people in the training data from people who were not in it",
    "tpr_at_fpr": "An attack recognises some of the people in the training data",
    "group_auc": "An attack distinguishes people in the training data from people who were not in it, for one group only",
    "not_detected": "No attack that was run did significantly better than a coin",
}
_LAY_DOUBTS = {
    "contradicted_split": "the two sets of people differ without the model too, so they were not split at random as stated.",
    "scores_only": "the two sets of people may differ without the model. If they were split at random, state it (random_split, --random-split).",
    "no_control": "the attack was not run on a model that never saw these people.",
    "not_above_control": "it does about as well on a model that never saw these people, so the data may be the reason.",
    "not_above_blind": "the records without the model distinguish them about as well, so the data may be the reason.",
    "data_hungry": "models of this kind gain so much from more training records that smaller models are no control. Train on more records, or state "
    "that the two sets come from one random split (random_split, --random-split), if they do.",
    "not_fitted_as_member": "the model does not fit them as if it had been trained on them. Check that these records were trained on.",
    "shift_explains_fit": "the two sets of people differ without the model too, so the data may be the reason.",
}


def why_inconclusive(verdict: Verdict) -> str:
    """Return the reason of an inconclusive verdict for lay readers, and what would help."""
    if verdict.finding is None or not verdict.doubts:
        return ""
    doubt = verdict.doubts[0]
    if doubt.code == "sample_size":
        pairs = math.ceil(100 * (verdict.not_excluded or 1.0) - 1e-9)
        return (
            "No attack that was run did significantly better than a coin, but there are too few people to exclude one that picks the right one of a "
            f"member and a non-member {pairs} times out of 100. This takes about {count(verdict.records_needed or 0)} held-out records and as many "
            "training records."
        )
    if doubt.code in _LAY_DOUBTS:
        said = f"{_LAY_FINDINGS[verdict.finding.code]}, but {_LAY_DOUBTS[doubt.code]}"
    else:
        said = f"{_LAY_FINDINGS[verdict.finding.code]}. {describe(doubt)}"
    return said + (_REMEDIES[doubt.remedy] if doubt.code in _LAY_DOUBTS else "")


def leaks_within(finding: Statement) -> str:
    """Describe for lay readers a leak that shows within one group only."""
    return (
        f"Within the group {name_group(finding.column, finding.level)}, shown one person from the training data and one who was not in it, an attack "
        f"picks the right one {out_of(100, finding.estimates['auc'])} times out of 100; a coin gets 50. Over all people, no attack that was run shows a leak."
    )
