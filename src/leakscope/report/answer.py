"""The top of a report: the answer in two sentences, how sure it is, and what to do next."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from leakscope.grouping import label_column
from leakscope.intervals import difference
from leakscope.report.releases import in_pairs, in_plain_words, plain_name, prediction, speaks_in_pairs
from leakscope.report.words import (
    SENTENCE_LENGTH,
    count,
    describe,
    out_of,
    percent,
    safe_text,
    shown_rate,
)
from leakscope.results import Findings, GroupRisk, Named, Risk

MOST_STEPS = 3
#: The model does this much better on its training records than on others: then it has learned some by heart.
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
    risk = findings.strongest
    if findings.verdict.leaks:
        said = in_plain_words(risk) if _beats_chance(risk) else _leaks_within(findings)
        return f"{said} {_named(findings.named)}".strip()
    if findings.verdict.kind == "no evidence":
        return f"{in_pairs(risk)} Stronger attacks may exist."
    return _why_not(findings)


def _beats_chance(risk: Risk) -> bool:
    return risk.auc.low > 0.5 or any(tpr.low > rate for rate, tpr in risk.tpr_at_fpr.items())


def _leaks_within(findings: Findings) -> str:
    """What the attack reaches within the group that the model leaks for, where all records together show no leak."""
    shown = findings.verdict.sentence.removeprefix("leaks:").strip()
    return safe_text(shown[:1].upper() + shown[1:], SENTENCE_LENGTH) + "."


def _named(named: Named | None) -> str:
    """How many people an attacker could name, where that is anybody."""
    if named is None or not named.count:
        return ""
    people = "1 person" if named.count == 1 else f"{count(named.count)} people"
    return f"An attacker who accepts one wrong name in ten could name {people} of the training data."


def _why_not(findings: Findings) -> str:
    """Why the audit cannot tell, in words without figures of the field, and what would help."""
    sentence, auc = findings.verdict.sentence.removeprefix("cannot tell:").strip(), findings.strongest.auc
    if (found := re.search(r"an AUC of up to (\d\.\d+) is not excluded; (.*)", sentence)) is not None:
        pairs = math.ceil(100 * float(found[1]) - 1e-9)
        said = (
            f"no attack surely beat a coin, but with so few people one that picks the right one of a member and an outsider "
            f"{pairs} times out of 100 is not excluded; {found[2]}"
        )
    elif auc.low > 0.5 and ", but " in sentence:
        said = f"members and outsiders can be told apart, but that may be the data's doing and not the model's: {_doubt(sentence)}"
    else:
        said = sentence
    shown = safe_text(said, SENTENCE_LENGTH).rstrip(".")
    return shown[:1].upper() + shown[1:] + ("" if shown.endswith("…") else ".")


def _doubt(sentence: str) -> str:
    """What stands after "but" in a verdict, without figures of the field."""
    _, _, doubt = sentence.partition(", but ")
    advice = doubt.rpartition(": ")[2]
    if "never saw the members" in doubt and "not surely more" in doubt:
        return f"a model that never saw these people does not surely fare worse under the same attack, so {advice}"
    if "without the model" in doubt and "not surely more" in doubt:
        return f"their records alone, without the model, tell them apart about as well, so {advice}"
    return doubt


def _picture(findings: Findings) -> dict[str, Any] | None:
    """The second sentence as a hundred dots; None where it is not about a hundred."""
    risk, rate = findings.strongest, shown_rate(findings.strongest.tpr_at_fpr)
    if findings.verdict.kind == "cannot tell" or (findings.verdict.leaks and not _beats_chance(risk)):
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
    chosen = f", also after the strongest of {count(tried)} attacks was picked" if tried > 1 else ""
    if risk.control.kind == "never trained":
        control = "the same attack was tried on models that never saw these people"
    elif target.task == "scores":
        control = "only scores were given, so that no model stands beside them that never saw these people"
    else:
        control = "the model was not retrained, so that no model stands beside it that never saw these people"
    return (
        f"Ranges hold with {percent(round(confidence, 4))} confidence{chosen}; they rest on {count(target.judged)} people from the "
        f"training data and as many outsiders; {control}."
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
    if not _names_groups(findings) and not any("nothing to compare" in said for said in findings.warnings):
        yield Step(
            "Compare groups of people",
            "An average hides people: name columns with --groups, so that a group that is hit harder is seen.",
        )
    yield from _not_measured(findings)
    yield from _watch(findings)


def _names_groups(findings: Findings) -> bool:
    """Whether there are other groups than the classes or deciles of the label, which every audit of a model has."""
    columns = {group.column for group in findings.strongest.by_group}
    own = label_column(findings.target.task)
    if findings.target.task != "scores" and own in columns and label_column(findings.target.task, [own]) not in columns:
        columns.remove(own)
    return bool(columns)


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
        said = safe_text(obstacle, SENTENCE_LENGTH)
        yield Step("Make the answers comparable", f"{said[:1].upper()}{said[1:]}.")
    risk = findings.strongest
    if risk.blind is not None and risk.blind.low > 0.5:
        yield Step(
            "Draw another holdout",
            "Training and held-out records differ by themselves, so that an attack on the model can't be told from a "
            "difference in the data: draw both from the same people, at random.",
        )
    elif "more records" in findings.verdict.sentence:
        known = "about" in findings.verdict.sentence
        how = "the answer above says how many it takes" if known else "four times as many halve the width of a range"
        yield Step("Judge more people", f"Hold out more records: {how}.")
    if risk.control.kind != "never trained" and findings.target.task == "scores":
        yield Step(
            "Say more about the scores",
            "Give the scores of a model that never saw these people (--control), or say that members and others were split at "
            "random (--random-split), if they were: without either, a difference in the data can't be told from a leak.",
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
    """A release that surely gives less away than the strongest: the intervals of `by_release` hold together."""
    strongest = max(findings.by_release, key=lambda one: one.auc.low, default=None)
    if strongest is None or strongest.release == "labels":
        return
    labels = next((one for one in findings.by_release if one.release == "labels"), None)
    if labels is None or not strongest.auc.low > labels.auc.high:
        return
    still = "which still beats chance" if labels.beats_chance else "not surely better than a coin"
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
            f"{describe(performance.holdout, 'percent')['text']} of others: stronger regularisation, fewer features, smaller trees "
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
