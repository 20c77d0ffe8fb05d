"""Sentences for the caveats of all results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, Result
from leakscope.core.wording import SENTENCE_LENGTH, count, listing, name, number, percent, sentence, write
from leakscope.report.document import Item, Items

Values = dict[str, Any]
_RIVALS = {"beyond_control": "never-trained control", "beyond_blind": "blind baseline"}


def describe(caveat: Caveat) -> str:
    """Return a caveat as a sentence.

    Examples
    --------
    >>> describe(Caveat("copies_in_training", {"records": 1}))
    '1 training record is a copy of another one. Of equal records, one is judged.'
    """
    return name(SENTENCES[caveat.code](caveat.values), SENTENCE_LENGTH)


def warnings(result: Result, title: str = "Warnings", more: Iterable[str] = ()) -> Items:
    """Return the caveats of a result as a block, with other sentences."""
    said = [*(describe(caveat) for caveat in result.warnings), *more]
    return Items(tuple(Item(one) for one in said), title, "warnings", brief=True)


def _noun(values: Values, key: str, noun: str, one: str, many: str) -> str:
    number = int(values[key])
    return f"{count(number, noun)} {one if number == 1 else many}"


def _share(estimate: Any, style: Any = "percent") -> str:
    return write(estimate, style) if isinstance(estimate, Estimate) else str(estimate)


def _copies_in_holdout(values: Values) -> str:
    what = (
        "They were removed from the holdout."
        if values["removed"]
        else "Pass drop_overlap (--drop-overlap) to remove them."
    )
    return f"{_noun(values, 'records', 'training record', 'is', 'are')} in the holdout too. {what}"


def _permuted_control(values: Values) -> str:
    why = "retraining was switched off" if values["retrainable"] else "the model can't be retrained here"
    return f"The control permutes memberships, because {why}. There is no model that never saw the members."


def _repeated_scores(values: Values) -> str:
    both = f"{count(values['members'], 'member')} and {count(values['nonmembers'], 'non-member')}"
    return (
        f"{both} have the same score as another record of their side, as copies of one record do. Of such copies, one is judged. If they are "
        "different people, provide the scores with all digits."
    )


def _shared_scores(values: Values) -> str:
    side = values["side"]
    other = "member" if side == "non-member" else "non-member"
    return (
        f"{count(values['records'], side)} share their score with another {side} and with no {other}. If they are copies of one record, keep one "
        "of them: copies can look like a leak."
    )


def _reversed_score(values: Values) -> str:
    found = "lower" if values["higher_is_member"] else "higher"
    what = (
        "pass higher_is_member=False (--lower-is-member)"
        if values["higher_is_member"]
        else "leave --lower-is-member out"
    )
    return f"Members have the {found} scores (AUC {write(values['auc'])}). If the score is meant that way, {what}."


def _noisy_answers(values: Values) -> str:
    return (
        f"The model gives random answers. Noise in the mean of {count(values['repeats'], 'answer')} changes the order of the records (rank "
        f"correlation of two means {values['rank_correlation']:.2g}), and an attacker may ask more often. Raise repeats (--repeats)."
    )


def _control_differs(values: Values) -> str:
    metric = values["metric"]
    style = "percent" if metric == "accuracy" else "number"
    return (
        f"The retrained control models reach a held-out {metric} of {_share(values['control'], style)}, the audited model "
        f"{_share(values['target'], style)}. Fewer training records, or another way of training, may be the reason."
    )


def _mixture(values: Values) -> str:
    return (
        f"{_share(values['share'])} of the members are recognised at a false-positive rate of {percent(values['fpr'])}, and the others look like "
        "non-members. Either the model memorises these records only, or most of the listed members were not trained on: check the list."
    )


def _seen(values: Values) -> str:
    return "parameters" if values["space"] == "parameters" else "outputs"


SENTENCES: dict[str, Callable[[Values], str]] = {
    # --- data -----------------------------------------------------------------------------------------------------
    "paired_by_position": lambda v: f"Features and labels of {v['where']} have different row names and were paired by position.",
    "copies_in_holdout": _copies_in_holdout,
    "near_copies": lambda v: (
        f"{_share(v['share'])} of the held-out records are near copies of training records, such as the same records with rounded numbers. Every "
        "risk is understated. Use a holdout without them."
    ),
    "copies_in_training": lambda v: (
        f"{_noun(v, 'records', 'training record', 'is a copy', 'are copies')} of another one. Of equal records, one is judged."
    ),
    "small_sample": lambda v: (
        f"Only {v['judged']} members and {v['judged']} non-members could be judged. Intervals are wide, and false-positive rates below "
        f"{number(v['smallest_fpr'])} and small groups can't be estimated."
    ),
    "pooled_groups": lambda v: (
        f"{count(v['groups'], 'group')} of {name(v['column'])} with fewer than {v['smallest']} judged members or non-members: small groups are "
        "reported together, or not at all where they are still too few."
    ),
    "pooled_classes": lambda v: (
        f"{count(v['classes'], 'class has', 'classes have')} fewer than {v['smallest']} judged members or non-members: small "
        "classes are reported together, or not at all where they are still too few."
    ),
    "no_groups_to_compare": lambda v: f"{name(v['column'])} has fewer than two groups that are large enough to be compared.",
    # --- model ----------------------------------------------------------------------------------------------------
    "not_cloneable": lambda v: f"{name(v['model'])} can't be retrained, because scikit-learn can't clone it: {name(v['error'], 200)}.",
    "frozen_parts": lambda v: f"{name(v['model'])} can't be retrained, because a part of it is frozen: {listing(v['parts'])}.",
    "random_answers": lambda v: (
        f"The model gives random answers to the same query. The mean of {count(v['repeats'], 'answer')} was attacked for each record, and another "
        "run gives other numbers."
    ),
    "noisy_answers": _noisy_answers,
    "answers_depend_on_batch": lambda v: (
        "The model answers single records or small batches differently from large batches, which the audit uses. Pass a function that asks the "
        "model about one record at a time."
    ),
    "below_chance": lambda v: (
        f"The accuracy on the training records is {_share(v['accuracy'])}, below chance for {v['classes']} classes. Check that the outputs are in "
        "the order of the labels."
    ),
    # --- controls -------------------------------------------------------------------------------------------------
    "stated_random_split": lambda v: (
        "The caller states that members and held-out records come from one random split. Only the blind baseline checks this."
    ),
    "permuted_control": _permuted_control,
    "control_differs": _control_differs,
    "mixture_of_members": _mixture,
    "interrupted": lambda v: f"Training was interrupted: {v['used']} of {v['planned']} reference models were used.",
    # --- scores ---------------------------------------------------------------------------------------------------
    "scores_only": lambda v: (
        "Only scores are known, so a difference between the two sets of records can look like a leak, or hide one. If the sets were split at "
        "random, state it (random_split, --random-split)."
    ),
    "not_all_judged": lambda v: (
        f"{count(v['judged'], 'member')} and as many non-members are judged, drawn at random. {count(v['left_out'])} {v['side']} are not judged."
    ),
    "constant_score": lambda v: "Every record has the same score. Check that the column is the right one.",
    "reversed_score": _reversed_score,
    "repeated_scores": _repeated_scores,
    "shared_scores": _shared_scores,
    "uneven_repeats": lambda v: (
        "Equal scores are far more common within a side than across the two, as where some records occur several times, and under a strong leak. "
        "Keep one row per record: copies can look like a leak."
    ),
    # --- older versions and comparisons ---------------------------------------------------------------------------
    "stated_by_older_version": lambda v: sentence(v["text"]),
    "same_records": lambda v: (
        "Both results are from the same records, so intervals are wider than necessary: a small change may be real and not significant."
    ),
    "changed_sides": lambda v: (
        "Records changed sides between training set and holdout. Intervals may be too narrow, by a factor of 1.4 at most."
    ),
    "other_task": lambda v: f"The old audit is one of {v['old']}, the new one of {v['new']}.",
    "no_common_attack": lambda v: "No attack was run on the same release in both audits.",
    "other_confidence": lambda v: f"The confidence was {v['old']:g} and is {v['new']:g}.",
    "other_margin": lambda v: f"The margin of the verdict was {v['old']} and is {v['new']}.",
    "no_rival": lambda v: (
        "In one of the audits nothing distinguishes a leak from a distribution shift. Provide control scores, or state a random split if it holds."
    ),
    "not_beyond_rival": lambda v: (
        f"The change is not significantly larger than that of the {_RIVALS[v['rival']]} (AUC {v['old']:.2f} → {v['new']:.2f})."
    ),
    # --- comparison -----------------------------------------------------------------------------------------------
    "leak_inconclusive": lambda v: (
        "Whether the model as it is leaks is inconclusive, so a change of the risk may not be a change of what the model reveals."
    ),
    "shift_between_sets": lambda v: (
        "There is a distribution shift between members and held-out records: the blind baseline has AUC "
        f"{write(v['blind'])}, the {'never-trained' if v['control_kind'] == 'never trained' else 'permuted'} control {write(v['control'])}. A "
        "change of the risk may not be a change of what the model reveals. Use a holdout from the same population as the training data."
    ),
    "record_explanations_of_another_model": lambda v: (
        "Record explanations are those of a logistic regression trained on the records as numbers, not of the compared model."
    ),
    "sampled_record_explanations": lambda v: (
        f"Record explanations are measured on {count(v['records'])} of the {count(v['training_records'])} training records, drawn at random. The "
        "share that is recovered of all of them can differ."
    ),
    "records_recovered": lambda v: (
        f"The risk is that of membership inference. Through record explanations as they are, attacks recover {write(v['share'], 'percent')} of the "
        "training records themselves."
    ),
    # --- leakage --------------------------------------------------------------------------------------------------
    "fixed_parameters": lambda v: (
        f"{count(v['fixed'])} of {count(v['all'])} {_seen(v)} never vary or are determined by the others. The others contain all information."
    ),
    "no_control": lambda v: f"The control could not be measured: {sentence(v['reason'])}",
    "control_not_zero": lambda v: (
        f"The control, where the true divergence is 0, measures {write(v['control'])}. The estimates are too high: use more draws."
    ),
    "ill_conditioned": lambda v: (
        f"{_share(v['share'])} of the draws are ill-conditioned: some of their {_seen(v)} are far from all others, so means and covariances depend on few "
        "draws. Read the median record, and use a larger size or l2."
    ),
    "few_records_dominate": lambda v: (
        f"{percent(v['share'])} of the mean comes from {count(v['records'])} of {count(v['of'])} measured records. Records that were not measured may leak as "
        "much or more, so the interval of the mean may be too low. Measure more records, and read the median."
    ),
    "gaussian_unchecked_noise": lambda v: "With noise, the Gaussian approximation of the laws is not checked.",
    "gaussian_unchecked_draws": lambda v: (
        f"There are too few draws to check the Gaussian approximation by nearest neighbours. Use at least {count(v['needed'])} draws."
    ),
    "no_density": lambda v: "The same values occur repeatedly, so the laws have no density and are not Gaussian.",
    "neighbours_disagree": lambda v: (
        f"Nearest neighbours measure a divergence of {write(v['neighbours'])}, the Gaussian approximation {write(v['rho_kl'])}. The laws are not Gaussian: "
        "neither the divergence nor the bound is exact."
    ),
    "attack_exceeds_bound": lambda v: (
        f"The {name(v['attack'])} attack has an advantage of {write(v['advantage'])}, above the bound for Gaussian laws ({write(v['bound'])}). The laws are "
        "not Gaussian, and the bound does not hold."
    ),
    "no_threshold_attack": lambda v: f"The loss-threshold attack could not be run: {sentence(v['reason'])}",
    # --- reconstruction -------------------------------------------------------------------------------------------
    "wrong_records": lambda v: (
        f"{listing(v['attacks'])} returned records that are not in the training set: there is an error in the attack."
    ),
    "copies_removed_from_holdout": lambda v: (
        f"{_noun(v, 'records', 'record', 'was', 'were')} removed from the holdout as copies of training records."
    ),
    "noisy_explanations": lambda v: "Explanations are noisy: a repeated query shows other records.",
    "one_run": lambda v: "Each attack was run once, so there are no intervals, and releases can't be compared. Raise runs (--runs).",
    "selection_not_corrected": lambda v: (
        f"Intervals are over runs of one attack. They are not corrected for selection of the strongest of {count(v['attacks'])} attacks."
    ),
    "constant_columns": lambda v: f"Columns with one value for all records were left out: {listing(v['columns'], 6)}.",
    "sampled_records": lambda v: f"{count(v['records'])} of {count(v['of'])} records were chosen at random for training.",
    "no_holdout": lambda v: "No records are left for the holdout. Attacks that need held-out records are not run.",
    # --- attributes -----------------------------------------------------------------------------------------------
    "columns_not_simultaneous": lambda v: (
        f"Intervals are simultaneous for the attacks on one column, not for all {count(v['columns'])} columns. Among many columns, one may be "
        "significant by chance."
    ),
    # --- causal ---------------------------------------------------------------------------------------------------
    "causes_only_suggested": lambda v: (
        "The environments identify no cause at the stated confidence"
        + (": the label has the same distribution in all of them" if v["alike"] else "")
        + ". The set of columns that was used is the invariant one that predicts best."
    ),
    "environments_not_held_out": lambda v: (
        f"{_noun(v, 'environments', 'environment', 'was', 'were')} not held out: too small, too few records in the others, or more "
        "environments than the limit."
    ),
    "unseen_causes": lambda v: (
        f"{name(v['model'])}: no training record had the causes of {100 * v['share']:.3g} % of the records of P*. Their prediction is the "
        "distribution of the label in the training sample."
    ),
    # --- reproduction ---------------------------------------------------------------------------------------------
    "synthetic_data": lambda v: f"The data are synthetic ({listing(v['data'])}). The numbers can't be compared with the paper's.",
    "quick_run": lambda v: "This is a quick run with small settings. Its numbers are not those of the figure: do not quote them.",
}  # fmt: skip
