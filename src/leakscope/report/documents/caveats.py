"""Sentences for the caveats of all results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from leakscope.core.result import Caveat, Result
from leakscope.core.wording import SENTENCE_LENGTH, Style, count, name, write
from leakscope.report.document import Item, Items
from leakscope.report.documents.fields import fill

Values = dict[str, Any]
_RIVALS = {"beyond_control": "never-trained control", "beyond_blind": "blind baseline"}


def describe(caveat: Caveat) -> str:
    """Return a caveat as a sentence.

    Examples
    --------
    >>> describe(Caveat("copies_in_training", {"records": 1}))
    '1 training record is a copy of another one. Of equal records, one is judged.'
    """
    said = SENTENCES[caveat.code]
    return name(fill(said, **caveat.values) if isinstance(said, str) else said(caveat.values), SENTENCE_LENGTH)


def warnings(result: Result, title: str = "Warnings", more: Iterable[str] = ()) -> Items:
    """Return the caveats of a result as a block, with other sentences."""
    return Items(tuple(map(Item, [*map(describe, result.warnings), *more])), title, "warnings", brief=True)


def _copies_in_holdout(values: Values) -> str:
    what = "They were removed from the holdout."
    if not values["removed"]:
        what = "Pass drop_overlap (--drop-overlap) to remove them."
    return fill(
        "{records:training record is|training records are} in the holdout too. {what:text}", what=what, **values
    )


def _permuted_control(values: Values) -> str:
    why = "retraining was switched off" if values["retrainable"] else "the model can't be retrained here"
    return f"The control permutes memberships, because {why}. There is no model that never saw the members."


def _shared_scores(values: Values) -> str:
    side = values["side"]
    other = "member" if side == "non-member" else "non-member"
    return (
        f"{count(values['records'], side)} share their score with another {side} and with no {other}. If they are copies of one record, keep one "
        "of them: copies can look like a leak."
    )


def _reversed_score(values: Values) -> str:
    found, what = "higher", "leave --lower-is-member out"
    if values["higher_is_member"]:
        found, what = "lower", "pass higher_is_member=False (--lower-is-member)"
    return f"Members have the {found} scores (AUC {write(values['auc'])}). If the score is meant that way, {what}."


def _control_differs(values: Values) -> str:
    style: Style = "percent" if values["metric"] == "accuracy" else "number"
    control, target = write(values["control"], style), write(values["target"], style)
    return (
        f"The retrained control models reach a held-out {values['metric']} of {control}, the audited model {target}. Fewer training records, or "
        "another way of training, may be the reason."
    )


def _shift_between_sets(values: Values) -> str:
    kind = "never-trained" if values["control_kind"] == "never trained" else "permuted"
    return (
        f"There is a distribution shift between members and held-out records: the blind baseline has AUC {write(values['blind'])}, the {kind} control "
        f"{write(values['control'])}. A change of the risk may not be a change of what the model reveals. Use a holdout from the same population as "
        "the training data."
    )


def _seen(template: str) -> Callable[[Values], str]:
    """Give the sentence about what is observed: parameters, or outputs."""
    return lambda v: fill(template, seen="parameters" if v["space"] == "parameters" else "outputs", **v)


#: The sentence of each caveat, with fields for its values (`fields.fill`), or a function of the values.
SENTENCES: dict[str, str | Callable[[Values], str]] = {
    # --- data -----------------------------------------------------------------------------------------------------
    "paired_by_position": "Features and labels of {where} have different row names and were paired by position.",
    "copies_in_holdout": _copies_in_holdout,
    "near_copies": "{share:percent} of the held-out records are near copies of training records, such as the same records with rounded numbers. Every "
    "risk is understated. Use a holdout without them.",
    "copies_in_training": "{records:training record is a copy|training records are copies} of another one. Of equal records, one is judged.",
    "small_sample": "Only {judged} members and {judged} non-members could be judged. Intervals are wide, and false-positive rates below "
    "{smallest_fpr:number} and small groups can't be estimated.",
    "pooled_groups": "{groups:group} of {column} with fewer than {smallest} judged members or non-members: small groups are reported together, or not "
    "at all where they are still too few.",
    "pooled_classes": "{classes:class has|classes have} fewer than {smallest} judged members or non-members: small classes are reported together, or "
    "not at all where they are still too few.",
    "no_groups_to_compare": "{column} has fewer than two groups that are large enough to be compared.",
    # --- model ----------------------------------------------------------------------------------------------------
    "not_cloneable": "{model} can't be retrained, because scikit-learn can't clone it: {error:200}.",
    "frozen_parts": "{model} can't be retrained, because a part of it is frozen: {parts}.",
    "weights_not_used": "The model has sample weights, and these are trained again without them: {models:6}. The models that they are compared with "
    "may differ from the audited one by this alone.",
    "random_answers": "The model gives random answers to the same query. The mean of {repeats:answer} was attacked for each record, and another run "
    "gives other numbers.",
    "noisy_answers": "The model gives random answers. Noise in the mean of {repeats:answer} changes the order of the records (rank correlation of two "
    "means {rank_correlation:.2g}), and an attacker may ask more often. Raise repeats (--repeats).",
    "answers_depend_on_batch": "The model answers single records or small batches differently from large batches, which the audit uses. Pass a "
    "function that asks the model about one record at a time.",
    "below_chance": "The accuracy on the training records is {accuracy:percent}, below chance for {classes} classes. Check that the outputs are in the "
    "order of the labels.",
    # --- controls -------------------------------------------------------------------------------------------------
    "stated_random_split": "The caller states that members and held-out records come from one random split. Only the blind baseline checks this.",
    "permuted_control": _permuted_control,
    "control_differs": _control_differs,
    "mixture_of_members": "{share:percent} of the members are recognised at a false-positive rate of {fpr:percent}, and the others look like "
    "non-members. Either the model memorises these records only, or most of the listed members were not trained on: check the list.",
    "interrupted": "Training was interrupted: {used} of {planned} reference models were used.",
    # --- scores ---------------------------------------------------------------------------------------------------
    "scores_only": "Only scores are known, so a difference between the two sets of records can look like a leak, or hide one. If the sets were split "
    "at random, state it (random_split, --random-split).",
    "not_all_judged": "{judged:member} and as many non-members are judged, drawn at random. {left_out} {side} are not judged.",
    "constant_score": "Every record has the same score. Check that the column is the right one.",
    "reversed_score": _reversed_score,
    "repeated_scores": "{members:member} and {nonmembers:non-member} have the same score as another record of their side, as copies of one record do. "
    "Of such copies, one is judged. If they are different people, provide the scores with all digits.",
    "shared_scores": _shared_scores,
    "uneven_repeats": "Equal scores are far more common within a side than across the two, as where some records occur several times, and under a "
    "strong leak. Keep one row per record: copies can look like a leak.",
    # --- older versions and comparisons ---------------------------------------------------------------------------
    "stated_by_older_version": "{text:sentence}",
    "same_records": "Both results are from the same records, so intervals are wider than necessary: a small change may be real and not significant.",
    "changed_sides": "Records changed sides between training set and holdout. Intervals may be too narrow, by a factor of 1.4 at most.",
    "other_task": "The old audit is one of {old}, the new one of {new}.",
    "no_common_attack": "No attack was run on the same release in both audits.",
    "other_confidence": "The confidence was {old:g} and is {new:g}.",
    "other_margin": "The margin of the verdict was {old} and is {new}.",
    "no_rival": "In one of the audits nothing distinguishes a leak from a distribution shift. Provide control scores, or state a random split if it "
    "holds.",
    "not_beyond_rival": lambda v: fill(
        "The change is not significantly larger than that of the {which} (AUC {old:.2f} → {new:.2f}).", which=_RIVALS[v["rival"]], **v
    ),
    # --- comparison -----------------------------------------------------------------------------------------------
    "leak_inconclusive": "Whether the model as it is leaks is inconclusive, so a change of the risk may not be a change of what the model reveals.",
    "shift_between_sets": _shift_between_sets,
    "record_explanations_of_another_model": "Record explanations are those of a logistic regression trained on the records as numbers, not of the "
    "compared model.",
    "sampled_record_explanations": "Record explanations are measured on {records} of the {training_records} training records, drawn at random. The "
    "share that is recovered of all of them can differ.",
    "records_recovered": "The risk is that of membership inference. Through record explanations as they are, attacks recover {share:percent} of the "
    "training records themselves.",
    # --- leakage --------------------------------------------------------------------------------------------------
    "fixed_parameters": _seen("{fixed} of {all} {seen} never vary or are determined by the others. The others contain all information."),
    "no_control": "The control could not be measured: {reason:sentence}",
    "control_not_zero": "The control, where the true divergence is 0, measures {control}. The estimates are too high: use more draws.",
    "ill_conditioned": _seen(
        "{share:percent} of the draws are ill-conditioned: some of their {seen} are far from all others, so means and covariances depend on few draws. "
        "Read the median record, and use a larger size or l2."
    ),
    "few_records_dominate": "{share:percent} of the mean comes from {records} of {of} measured records. Records that were not measured may leak as "
    "much or more, so the interval of the mean may be too low. Measure more records, and read the median.",
    "gaussian_unchecked_noise": "With noise, the Gaussian approximation of the laws is not checked.",
    "gaussian_unchecked_draws": "There are too few draws to check the Gaussian approximation by nearest neighbours. Use at least {needed} draws.",
    "no_density": "The same values occur repeatedly, so the laws have no density and are not Gaussian.",
    "neighbours_disagree": "Nearest neighbours measure a divergence of {neighbours}, the Gaussian approximation {rho_kl}. The laws are not Gaussian: "
    "neither the divergence nor the bound is exact.",
    "attack_exceeds_bound": "The {attack} attack has an advantage of {advantage}, above the bound for Gaussian laws ({bound}). The laws are not "
    "Gaussian, and the bound does not hold.",
    "no_threshold_attack": "The loss-threshold attack could not be run: {reason:sentence}",
    # --- reconstruction -------------------------------------------------------------------------------------------
    "wrong_records": "{attacks} returned records that are not in the training set: there is an error in the attack.",
    "copies_removed_from_holdout": "{records:record was|records were} removed from the holdout as copies of training records.",
    "noisy_explanations": "Explanations are noisy: a repeated query shows other records.",
    "one_run": "Each attack was run once, so there are no intervals, and releases can't be compared. Raise runs (--runs).",
    "selection_not_corrected": "Intervals are over runs of one attack. They are not corrected for selection of the strongest of {attacks} attacks.",
    "constant_columns": "Columns with one value for all records were left out: {columns:6}.",
    "sampled_records": "{records} of {of} records were chosen at random for training.",
    "no_holdout": "No records are left for the holdout. Attacks that need held-out records are not run.",
    # --- attributes -----------------------------------------------------------------------------------------------
    "columns_not_simultaneous": "Intervals are simultaneous for the attacks on one column, not for all {columns} columns. Among many columns, one may "
    "be significant by chance.",
    # --- causal ---------------------------------------------------------------------------------------------------
    "causes_only_suggested": lambda v: (
        "The environments identify no cause at the stated confidence"
        + (": the label has the same distribution in all of them" if v["alike"] else "")
        + ". The set of columns that was used is the invariant one that predicts best."
    ),
    "environments_not_held_out": "{environments:environment was|environments were} not held out: too small, too few records in the others, or more "
    "environments than the limit.",
    "unseen_causes": lambda v: (
        f"{name(v['model'])}: no training record had the causes of {100 * v['share']:.3g} % of the records of P*. Their prediction is the "
        "distribution of the label in the training sample."
    ),
    # --- reproduction ---------------------------------------------------------------------------------------------
    "synthetic_data": "The data are synthetic ({data}). The numbers can't be compared with the paper's.",
    "quick_run": "This is a quick run with small settings. Its numbers are not those of the figure: do not quote them.",
}  # fmt: skip
