"""The sentences of a verdict, made from its codes and estimates. No other module words them, and none reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from leakscope.report.words import safe_text
from leakscope.results import Statement, Verdict

#: The definition of *leaks*. `verdict.judge` has the rule in detail; README, documentation and report quote this sentence.
LEAKS = (
    "an attack that was run distinguishes members from non-members significantly better than chance, over all records or within a "
    "group, and a random split, the never-trained control or the blind baseline rules out that a distribution shift explains it"
)
_STARTS = {
    "leaks": "leaks",
    "claim refuted": "claim refuted",
    "no evidence": "no evidence of leakage",
    "cannot tell": "cannot tell",
}
_REMEDIES = {
    None: "",
    "more_records": ": more records are needed",
    "matched_holdout": ": use a holdout from the same population as the training data",
}
_SCALES = dict.fromkeys(("auc", "group_auc"), " (0.5 is chance, 1 is perfect)")


def put_into_words(verdict: Verdict) -> Verdict:
    """Add the sentence and the reasons to a verdict that has none.

    Examples
    --------
    >>> from leakscope.results import Estimate
    >>> finding = Statement("auc", {"auc": Estimate(0.6, 0.56, 0.64)}, "RMIA", "log_loss")
    >>> print(put_into_words(Verdict("leaks", finding=finding)).sentence)
    leaks: “RMIA on log_loss” distinguishes members from non-members with AUC 0.60 [0.56, 0.64] (0.5 is chance, 1 is perfect)
    """
    reasons = tuple(map(describe_statement, (*verdict.doubts[1:], *verdict.support)))
    return replace(verdict, sentence=f"{_STARTS[verdict.kind]}: {headline(verdict)}", reasons=reasons)


def headline(verdict: Verdict) -> str:
    """The sentence of a verdict without its kind; of a record without codes, the sentence that was saved with it.

    Examples
    --------
    >>> headline(Verdict("no evidence", finding=Statement("not_detected"), not_excluded=0.523))
    'no attack that was run is significantly above chance, and an AUC above 0.523 is excluded for each of them'
    """
    if verdict.finding is None:
        return verdict.sentence
    found = describe_statement(verdict.finding) + _SCALES.get(verdict.finding.code, "")
    if verdict.kind == "no evidence":
        return f"{found}, and an AUC above {_up(verdict.not_excluded, 3)} is excluded for each of them"
    if not verdict.doubts:
        return found
    first, doubt = verdict.doubts[0], describe_statement(verdict.doubts[0])
    if first.code == "sample_size":
        doubt = (
            f"an AUC of up to {_up(verdict.not_excluded, 2)} is not excluded{_REMEDIES[first.remedy]}, about "
            f"{verdict.records_needed:,} held out and as many trained on"
        )
    before = "over all records no attack that was run is significantly above chance; " if verdict.finding.column else ""
    return f"{before}{found}, but {doubt}"


def _up(value: float | None, digits: int) -> str:
    """A bound, rounded up, so that it stays one."""
    assert value is not None
    return f"{math.ceil(round(value * 10**digits, 6)) / 10**digits:.{digits}f}"


def describe_statement(statement: Statement) -> str:
    """One statement in words, with the first letter as inside a sentence.

    Examples
    --------
    >>> describe_statement(Statement("random_split"))
    'that members and non-members were split at random is a statement of the caller'
    """
    return _WORDS[statement.code](statement)


def name_group(column: str, level: str) -> str:
    """A group as sentences call it.

    >>> name_group("sex", "F")
    'sex = F'
    """
    return f"{safe_text(column, 40)} = {safe_text(level, 40)}"


def _attack(one: Statement) -> str:
    return f"“{one.attack} on {one.release}”" if one.release else f"“{one.attack}”"


def _within(one: Statement) -> str:
    return f"within the group “{name_group(one.column, one.level)}”, " if one.column else ""


def _auc(one: Statement) -> str:
    return f"{_within(one)}{_attack(one)} distinguishes members from non-members with AUC {one.estimates['auc']}"


def _tpr(one: Statement) -> str:
    return f"{_attack(one)} has a true-positive rate of {one.estimates['tpr']} at a false-positive rate of {one.fpr:g}"


def _epsilon(one: Statement) -> str:
    claimed, delta = one.estimates["claimed"].value, one.estimates["delta"].value
    more = f", δ = {delta:g}" if delta else ""
    return (
        f"{_attack(one)} shows that ε is {one.estimates['bound']} for the swap of one record, and the training is claimed to have "
        f"ε = {claimed:g}{more}"
    )


def _epsilon_bound(one: Statement) -> str:
    bound, delta = one.estimates["bound"], one.estimates["delta"].value
    return f"the attacks show that ε is {bound} for the swap of one record (δ = {delta:g})"


def _contradicted_split(one: Statement) -> str:
    ((rival, auc),) = one.estimates.items()
    name = {"blind": "blind baseline", "control": "never-trained control"}[rival]
    return f"the records contradict the stated random split: the {name} has AUC {auc}, significantly above chance"


def _not_above(one: Statement, what: str, rival: str) -> str:
    figure = "AUC" if one.fpr is None else "true-positive rate"
    here = f"the {figure}" + (" within the group" if one.column else "")
    there = "" if rival not in one.estimates else f"{'AUC ' if one.fpr is None else ''}{one.estimates[rival]} of "
    return f"{here} is not significantly above {there}the {what}{_REMEDIES[one.remedy]}"


def _data_hungry(one: Statement) -> str:
    return (
        f"models of this kind improve more by more records (log-likelihood {one.estimates['curve']}) than by training on a record "
        f"({one.estimates['gap']}), so that smaller models are no control for it: train on more records, or state that members and "
        "held-out records come from one random split (random_split, --random-split)"
    )


def _not_fitted_as_member(one: Statement) -> str:
    return (
        "the model does not fit the members significantly better than midway between models with and without them "
        f"({one.estimates['mid']} of log-likelihood, where training on a record gives {one.estimates['gap']}): check that these "
        "records were trained on"
    )


def _shift_explains_fit(one: Statement) -> str:
    return (
        f"the blind baseline has AUC {one.estimates['blind']}, and a larger training set, or noise in its training, could explain how the "
        f"model fits the members ({one.estimates['size']} of log-likelihood beyond a larger set){_REMEDIES[one.remedy]}"
    )


def _copies(one: Statement) -> str:
    return (
        f"{100 * one.estimates['share'].value:.0f} % of the judged held-out records are copies or near copies of training records: "
        "remove them (drop_overlap, --drop-overlap, removes the exact copies)"
    )


def _exposed_group(one: Statement) -> str:
    name, auc, gap = name_group(one.column, one.level), one.estimates["auc"], one.estimates["gap"]
    return f"the most exposed group is “{name}”: AUC {auc}, above the rest by {gap}"


def _named(one: Statement) -> str:
    count, share, rate = one.estimates["count"].value, one.estimates["share"], one.estimates["rate"].value
    return (
        f"{_attack(one)} could name {count:,.0f} members, a share {share} of those judged, at a false-discovery rate of "
        f"{100 * rate:g} %"
    )


_WORDS: dict[str, Callable[[Statement], str]] = {
    "auc": _auc,
    "tpr_at_fpr": _tpr,
    "group_auc": _auc,
    "epsilon": _epsilon,
    "not_detected": lambda one: "no attack that was run is significantly above chance",
    "contradicted_split": _contradicted_split,
    "scores_only": lambda one: (
        "scores do not show whether there is a distribution shift between members and non-members: if they were split at random, "
        "state it (random_split, --random-split)"
    ),
    "no_control": lambda one: "the attack was not run on a never-trained control",
    "not_above_control": lambda one: _not_above(one, "never-trained control", "control"),
    "not_above_blind": lambda one: _not_above(one, "blind baseline", "blind"),
    "data_hungry": _data_hungry,
    "not_fitted_as_member": _not_fitted_as_member,
    "shift_explains_fit": _shift_explains_fit,
    "copies_in_holdout": _copies,
    "obstacle": lambda one: one.text,
    "sample_size": lambda one: "the sample is too small",
    "control": lambda one: (
        f"{_within(one)}the never-trained control (a model that never saw the members) has AUC {one.estimates['control']}"
    ),
    "permuted": lambda one: f"the same attack with permuted memberships has AUC {one.estimates['permuted']}",
    "blind": lambda one: (
        f"the blind baseline, which sees the records and not the model, has AUC {one.estimates['blind']}"
    ),
    "random_split": lambda one: "that members and non-members were split at random is a statement of the caller",
    "epsilon_bound": _epsilon_bound,
    "exposed_group": _exposed_group,
    "named": _named,
    "overall": lambda one: f"over all records {_attack(one)} has AUC {one.estimates['auc']}",
}
