"""The top of a report: the answer in two sentences, how sure it is, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from leakscope.intervals import difference
from leakscope.report.releases import in_pairs, in_plain_words, plain_name, prediction, speaks_in_pairs
from leakscope.report.words import (
    SENTENCE_LENGTH,
    as_sentence,
    count,
    describe,
    out_of,
    percent,
    safe_text,
    shown_rate,
)
from leakscope.results import Findings, GroupRisk, Named, Risk, Statement
from leakscope.verdict_text import describe_statement, headline, name_group

MOST_STEPS = 3
#: The model does this much better on its training records than on held-out ones: then it is overfitted.
OVERFIT = 0.05


class Step(NamedTuple):
    """Something to do next; ``measured`` says whether a comparison in this record stands behind it."""

    title: str
    text: str
    measured: bool = False


def summarize_answer(findings: Findings) -> dict[str, Any]:
    """Two sentences, how sure they are, and what they are about."""
    target = findings.target
    about = f"{count(target.members)} training and {count(target.nonmembers)} held-out records"
    return {
        "sentences": [_first(findings), _second(findings)],
        "picture": _picture(findings),
        "audited": f"{safe_text(target.model)}, {about}.",
        "sure": _how_sure(findings),
    }


def _first(findings: Findings) -> str:
    what = "The scores give" if findings.target.task == "scores" else "This model gives"
    match findings.verdict.kind:
        case "leaks":
            return f"{what} away who was in the training data."
        case "claim refuted":
            return f"{what} away more about who was in the training data than its claim of differential privacy allows."
        case "no evidence":
            return "No attack that was run could tell who was in the training data."
    return "This audit cannot tell whether the model gives away who was in its training data."


def _second(findings: Findings) -> str:
    if findings.verdict.leaks:
        return f"{_leak(findings)} {_named(findings.named)}".strip()
    if findings.verdict.kind == "no evidence":
        return f"{in_pairs(findings.strongest)} Stronger attacks may exist."
    return _why_not(findings)


def _leak(findings: Findings) -> str:
    verdict = findings.verdict
    if verdict.finding is not None and verdict.finding.code == "group_auc":
        return _leaks_within(verdict.finding)
    if verdict.kind == "claim refuted" and not _beats_chance(findings.strongest):
        return as_sentence(headline(verdict))
    return in_plain_words(findings.strongest)


def _beats_chance(risk: Risk) -> bool:
    return risk.auc.low > 0.5 or any(tpr.low > rate for rate, tpr in risk.tpr_at_fpr.items())


def _leaks_within(group: Statement) -> str:
    """What the attack reaches within the group that the model leaks for, where all records together show no leak."""
    return (
        f"Within the group “{name_group(group.column, group.level)}”, shown one person from the training data and one who was not in it, "
        f"an attack picks the right one {out_of(100, group.estimates['auc'])} times out of 100; a coin gets 50. Over all people no "
        "attack that was run shows a leak."
    )


def _named(named: Named | None) -> str:
    """How many people an attacker could name, where that is anybody."""
    if named is None or not named.count:
        return ""
    people = "1 person" if named.count == 1 else f"{count(named.count)} people"
    return f"An attacker who accepts one wrong name in ten could name {people} of the training data."


def _why_not(findings: Findings) -> str:
    """Why the audit cannot tell, in words without figures of the field, and what would help."""
    verdict = findings.verdict
    if verdict.finding is None:  # a record of version 1 or 2
        return as_sentence(headline(verdict))
    doubt = verdict.doubts[0]
    if doubt.code == "sample_size":
        assert verdict.not_excluded is not None
        pairs = math.ceil(100 * verdict.not_excluded - 1e-9)
        return (
            "No attack that was run did significantly better than a coin, but there are too few people to exclude one that picks the "
            f"right one of a member and a non-member {pairs} times out of 100. That takes about {count(verdict.records_needed or 0)} "
            "held-out records and as many training records."
        )
    remedy = "" if doubt.remedy is None else f" {_REMEDIES[doubt.remedy]}"
    return as_sentence(f"{_LAY_FINDINGS[verdict.finding.code]}, but {_lay_doubt(doubt)}{remedy}")


_LAY_FINDINGS = {
    "auc": "an attack distinguishes people in the training data from people who were not in it",
    "tpr_at_fpr": "an attack recognises some of the people in the training data",
    "group_auc": "an attack distinguishes people in the training data from people who were not in it for one group only",
    "not_detected": "no attack that was run did significantly better than a coin",
}
_LAY_DOUBTS = {
    "contradicted_split": "the two sets of people differ also without the model, so they were not split at random as was stated.",
    "scores_only": "the two sets of people may differ without the model. If they were split at random, state it (random_split, "
    "--random-split).",
    "no_control": "the attack was not run on a model that never saw these people.",
    "not_above_control": "it does not do significantly worse on a model that never saw these people, so that may come from the data "
    "and not from the model.",
    "not_above_blind": "the records without the model distinguish them about as well, so that may come from the data and not from the "
    "model.",
    "data_hungry": "models of this kind gain so much from more training records that smaller models are no control for it. Train on "
    "more records, or state that the two sets come from one random split (random_split, --random-split), if they do.",
    "not_fitted_as_member": "the model does not fit them as if it had been trained on them. Check that these records were trained on.",
    "shift_explains_fit": "the two sets of people differ also without the model, so that may come from the data and not from the model.",
}
_REMEDIES = {
    "more_records": "More records are needed.",
    "matched_holdout": "Use held-out records from the same population as the training data.",
}


def _lay_doubt(doubt: Statement) -> str:
    """The doubt without figures of the field; copies and obstacles are about the data, and have none."""
    return _LAY_DOUBTS.get(doubt.code) or describe_statement(doubt)


def _picture(findings: Findings) -> dict[str, Any] | None:
    """The second sentence as a hundred dots; None where it is not about a hundred."""
    risk, rate = findings.strongest, shown_rate(findings.strongest.tpr_at_fpr)
    finding = findings.verdict.finding
    of_group = finding is not None and finding.code == "group_auc"
    if findings.verdict.kind == "cannot tell" or of_group or (findings.verdict.leaks and not _beats_chance(risk)):
        return None
    if findings.verdict.leaks and rate is not None and not speaks_in_pairs(risk):
        found, guess, title = risk.tpr_at_fpr[rate], 100 * rate, "of 100 people identified"
    else:
        found, guess, title = risk.auc, 50.0, "of 100 pairs told right"
    if guess < 1:
        return None
    text = out_of(100, found)
    return {
        "title": title,
        "text": text,
        "low": math.floor(round(100 * found.low, 9)),
        "high": math.ceil(round(100 * found.high, 9)),
        "guess": guess,
        "guess_text": f"{guess:.4g} by guessing",
        "description": f"Of 100 dots {text} are filled; guessing fills {guess:.4g}.",
    }


def _how_sure(findings: Findings) -> str:
    target, risk = findings.target, findings.strongest
    confidence = findings.settings.get("confidence", risk.auc.confidence)
    tried = len(findings.risks)
    chosen = f", also after the strongest of {count(tried)} attacks was selected" if tried > 1 else ""
    if risk.control.kind == "never trained":
        control = "the same attack was tried on models that never saw these people"
    elif target.task == "scores":
        control = "only scores were given, so there is no model to compare with that never saw these people"
    else:
        control = "the model was not retrained, so there is no model to compare with that never saw these people"
    return (
        f"Ranges hold with {percent(round(confidence, 4))} confidence{chosen}; they rest on {count(target.judged)} people from the "
        f"training data and as many who were not in it; {control}."
    )


# --- what to do next ------------------------------------------------------------------------------------------------


def summarize_next_steps(findings: Findings) -> list[dict[str, Any]]:
    """The three most useful next steps, those that a measured comparison in the record supports first."""
    steps = sorted(_steps(findings), key=lambda step: not step.measured)
    return [step._asdict() for step in steps[:MOST_STEPS]]


def _steps(findings: Findings) -> Iterator[Step]:
    """All that apply, the more useful first."""
    yield from _cannot_tell(findings)
    yield from _advised(findings, comparisons=True)
    if findings.verdict.leaks:
        yield from _release_less(findings)
        yield from _drop_explanation(findings)
        yield from _overfit(findings)
        yield from _look_at_group(findings)
        yield from _scores_leak(findings)
    yield from _advised(findings, comparisons=False)
    if not findings.settings.get("groups"):
        yield Step(
            "Compare groups of people",
            "An average hides people: name columns with --groups, so that a group that is hit harder is seen.",
        )
    yield from _not_measured(findings)
    yield from _watch(findings)


def _advised(findings: Findings, *, comparisons: bool) -> Iterator[Step]:
    """The first advice of each study; a comparison of defenses was made to say what to do, and comes before all others."""
    for study in findings.studies:
        if (study.kind == "comparison") == comparisons:
            for advice in study.advice[:1]:
                on = f" (measured on {safe_text(study.measured)})" if study.measured else ""
                yield Step(_study_title(study.kind), safe_text(advice, SENTENCE_LENGTH) + on, measured=True)


def _watch(findings: Findings) -> Iterator[Step]:
    """A gate just above what was found; an audit that cannot tell would never pass one."""
    if findings.verdict.kind == "cannot tell":
        return
    highest = (findings.largest or findings.strongest).auc.high
    if highest < 0.97:
        yield Step(
            "Keep it so" if findings.verdict.kind == "no evidence" else "Watch it from release to release",
            "Put the audit into the release pipeline, so that a worse model stops there: "
            f'leakscope gate audit/ --fail-if "auc.high > {math.ceil(100 * highest + 1) / 100:.2f}".',
        )


def _study_title(kind: str) -> str:
    return {
        "leakage": "Change how the model is trained",
        "reconstruction": "Change what explanations by records show",
        "frontier": "Choose another explanation",
        "causal": "Use other columns",
        "attributes": "Protect the sensitive column",
        "comparison": "Put a defense in place",
    }[kind]


def _cannot_tell(findings: Findings) -> Iterator[Step]:
    if findings.verdict.kind != "cannot tell":
        return
    if findings.overlap.count and not findings.overlap.removed:
        yield Step("Clean the holdout", "Take the training records out of the holdout: --drop-overlap does it.")
    if findings.overlap.near is not None:
        yield Step(
            "Replace the holdout",
            "Held-out records are near copies of training records, such as rounded exports: use records that were never trained on.",
        )
    for obstacle in () if findings.basis is None else findings.basis.obstacles:
        yield Step("Make the answers comparable", as_sentence(obstacle))
    risk = findings.strongest
    if risk.blind is not None and risk.blind.low > 0.5:
        yield Step(
            "Draw another holdout",
            "There is a distribution shift between training and held-out records, so that an attack on the model can't be told "
            "from a difference in the data: draw both from the same people, at random.",
        )
    elif any(doubt.remedy == "more_records" for doubt in findings.verdict.doubts[:1]):
        needed = findings.verdict.records_needed
        how = f"about {count(needed)}" if needed else "four times as many halve the width of a range"
        yield Step("Judge more people", f"Hold out more records: {how}.")
    if risk.control.kind != "never trained" and findings.target.task == "scores":
        yield Step(
            "Say more about the scores",
            "Give the scores of a model that never saw these people (--control), or state that members and non-members were "
            "split at random (--random-split), if they were: without either, a difference in the data can't be told from a leak.",
        )
    elif risk.control.kind != "never trained" and findings.settings.get("retrain") is False:
        yield Step(
            "Let the audit retrain the model",
            "Leave --no-retrain out, so that the attack can be tried on a model that never saw these people.",
        )
    elif risk.control.kind != "never trained":
        yield Step(
            "Let the audit retrain the model",
            "Give the model in a form that can be trained again (a scikit-learn estimator, or fit= in Python), so that the "
            "attack can be tried on a model that never saw these people.",
        )


def _scores_leak(findings: Findings) -> Iterator[Step]:
    if findings.target.task == "scores":
        yield Step(
            "Let the model learn less by heart, or release less",
            "More training records, stronger regularisation, earlier stopping or a blunter release usually lower such a leak. Score "
            "again, and compare with leakscope diff.",
        )


def _release_less(findings: Findings) -> Iterator[Step]:
    """A release that gives significantly less away than the strongest: the intervals of `by_release` are simultaneous."""
    strongest = max(findings.by_release, key=lambda one: one.auc.low, default=None)
    if strongest is None or strongest.release == "labels":
        return
    labels = next((one for one in findings.by_release if one.release == "labels"), None)
    if labels is None or not strongest.auc.low > labels.auc.high:
        return
    still = "significantly above chance" if labels.beats_chance else "not significantly above chance"
    yield Step(
        "Release labels only",
        f"Where the label is enough, release nothing else: the best attack on labels has an AUC of "
        f"{describe(labels.auc)['text']}, {still}, against {describe(strongest.auc)['text']} on "
        f"{plain_name(strongest.release).lower()}.",
        measured=True,
    )


def _drop_explanation(findings: Findings) -> Iterator[Step]:
    adding = [extra for extra in findings.extras if extra.adds]
    if adding:
        most = max(adding, key=lambda extra: extra.auc.low)
        yield Step(
            "Don't release that explanation",
            f"{safe_text(most.release)} adds {describe(most.auc)['text']} to the AUC beside {safe_text(most.beside)}: leave it out, "
            "or look for a blunter one with leakscope frontier.",
            measured=True,
        )


def _overfit(findings: Findings) -> Iterator[Step]:
    performance = findings.target.performance
    if performance is None or performance.metric != "accuracy":
        return
    gap = difference(performance.train, performance.holdout)
    if gap.low > OVERFIT:
        yield Step(
            "Let the model learn less by heart",
            f"It is right on {describe(performance.train, 'percent')['text']} of its training records and on "
            f"{describe(performance.holdout, 'percent')['text']} of held-out records: stronger regularisation, fewer features, smaller trees "
            "or earlier stopping usually lower both this gap and the leak: leakscope compare measures what each of them buys and "
            "costs.",
        )


def _look_at_group(findings: Findings) -> Iterator[Step]:
    out = [group for group in findings.strongest.by_group if group.gap.low > 0]
    if out:
        group: GroupRisk = max(out, key=lambda one: one.gap.low)
        yield Step(
            "Protect the group that is hit hardest",
            f"{safe_text(group.column)} = {safe_text(group.level)} is more exposed than the rest by {describe(group.gap)['text']} "
            "in AUC: more of its records, or a model that leans less on single ones, would help it most.",
            measured=True,
        )


def _not_measured(findings: Findings) -> Iterator[Step]:
    if findings.target.task == "scores":
        return
    if not any(study.kind == "leakage" for study in findings.studies):
        yield Step(
            "Before the model file itself is given away, measure its parameters",
            "Only answers were attacked here. Of linear models and networks, leakscope leakage measures what the parameters carry, "
            "and --with puts it into this report.",
        )
    if not findings.extras:
        yield Step(
            "Before explanations are released, audit them",
            "An explanation can give away more than the answer that it explains: --releases "
            f"{prediction(findings)},gradient says how much.",
        )
