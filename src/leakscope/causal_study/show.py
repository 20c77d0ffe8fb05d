"""A comparison of causal and other models as text and as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from leakscope import intervals
from leakscope.causal.membership import Membership
from leakscope.causal_study.result import SAME, SHIFTED, Attribute, CausalStudy, Compared, Noise
from leakscope.core.estimate import Estimate
from leakscope.frontier_study.show import signed
from leakscope.report.words import count, safe_text

WIDTH = 100


def describe(found: CausalStudy) -> str:
    """What was found, in words that need no knowledge of the field."""
    run = found.run
    causes = ", ".join(safe_text(name, 40) for name in found.causes)
    what = "share of labels that are right" if run["task"] == "classification" else "1 - squared error / variance"
    worlds = run["shifted_worlds"]
    intro = (
        f"Does a model on the causes of {safe_text(found.label)} give away less? Causes: {causes} ({safe_text(found.how)}). "
        f"Every kind of model was trained on two samples of {count(run['trained_on'])} records or more. P are other records "
        f"like these, P* are records of {count(worlds)} {'world' if worlds == 1 else 'worlds'} {_shifted(run['shift'])}."
    )
    lines = [*textwrap.wrap(intro, WIDTH), ""]
    if found.invariance:
        lines += [*_wrapped(found.invariance), ""]
    lines += [f"How well they predict ({what})", *_aligned(_utilities(found)), ""]
    for law, against in ((SAME, "others of P"), (SHIFTED, "records of P*")):
        title = f"How well the strongest attack tells members from {against} (accuracy, 0.5: a coin)"
        lines += [title, *_aligned(_attacks(found, law)), ""]
    if found.attributes:
        lines += [
            "How well an attacker infers a sensitive column (advantage, 0: nothing)",
            *_aligned(_attributes(found)),
            "",
        ]
    lines += _wrapped(
        "Control: the same attack on a model of the same kind that never saw the members. Excess: attack minus control, what "
        "the training sample gave away; the rest only tells P from P*. Blind: an attacker who never asks a model."
    )
    lines += [
        "",
        *(line for words in sentences(found) for line in textwrap.wrap(f"- {words}", WIDTH, subsequent_indent="  ")),
    ]
    lines += [f"not run: {item.attack}, {safe_text(item.reason, 160)}" for item in found.not_run]
    for note in found.notes:
        lines += textwrap.wrap(f"note: {safe_text(note, 300)}", WIDTH, subsequent_indent="  ")
    return "\n".join(lines)


def _shifted(shift: str | float) -> str:
    """What differs in P*."""
    if not isinstance(shift, str):
        return f"with noise of up to {shift:g} on all that the label does not follow"
    return {
        "environments": "that were left out of training",
        "parents": "where the causes themselves have other laws",
        "children": "where the effects of the label have other laws",
    }.get(shift, "where everything has another law but the label given its causes")


def _wrapped(text: str) -> list[str]:
    return [line for part in text.splitlines() for line in textwrap.wrap(safe_text(part, 600), WIDTH) or [""]]


def _utilities(found: CausalStudy) -> list[list[str]]:
    rows = [["model", "training", "P", "P*"]]
    return rows + [
        [safe_text(model.name), *map(_shown, (model.training, model.test, model.shifted))] for model in found.models
    ]


def _attacks(found: CausalStudy, law: str) -> list[list[str]]:
    rows = [["model", "attack", "accuracy", "control", "excess"]]
    for model in found.models:
        best = model.strongest(law)
        if best is not None:
            figures = (_shown(best.accuracy), _shown(best.control_accuracy), signed(best.excess_accuracy))
            rows.append([safe_text(model.name, 34), safe_text(best.attack, 24), *figures])
    return [*rows, ["no model (blind)", "boosted trees", _shown(found.blind[law].accuracy), "", ""]]


def _attributes(found: CausalStudy) -> list[list[str]]:
    rows = [["column", "model", "without the model", "with it", "gain"]]
    return rows + [
        [
            safe_text(one.column, 24),
            safe_text(one.model, 34),
            _shown(one.baseline),
            _shown(one.advantage),
            signed(one.gain),
        ]
        for one in found.attributes
    ]


def _shown(one: Estimate | None) -> str:
    """Two digits, with the ends rounded outwards as `signed` does."""
    if one is None:
        return "none"
    return signed(one).replace("+", "")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def sentences(found: CausalStudy) -> list[str]:
    """The answers in plain words, drawn from the intervals."""
    causal, everything = found.models[0], found.models[1]
    said = [_membership_words(causal, everything, SAME, "others of the same kind")]
    said.append(_membership_words(causal, everything, SHIFTED, "records of shifted worlds"))
    said += [words for words in (_shift_words(found, everything), _utility_words(causal, everything)) if words]
    for other in found.models[2:]:
        said += _other_words(causal, other)
    if found.noise is not None:
        said.append(_noise_words(found.noise))
    return [safe_text(words, 600) for words in (*said, *_attribute_words(found.attributes))]


def _membership_words(causal: Compared, everything: Compared, law: str, against: str) -> str:
    first, second = causal.strongest(law), everything.strongest(law)
    if first is None or second is None:
        return f"No attack was run against {against}."
    gap = _gap(second.excess_auc, first.excess_auc)
    numbers = f"(excess AUC {signed(second.excess_auc)} against {signed(first.excess_auc)})"
    if gap.low > 0:
        return (
            f"Against {against}, {everything.name} gives away more of its training sample than {causal.name} {numbers}."
        )
    if gap.high < 0:
        return (
            f"Against {against}, {everything.name} gives away less of its training sample than {causal.name} {numbers}."
        )
    return (
        f"Against {against}, no difference can be told between what {everything.name} and {causal.name} give away of their "
        f"training sample {numbers}."
    )


def _gap(first: Estimate, second: Estimate) -> Estimate:
    """Difference of two figures of one study; both are judged on the same records, so the interval is on the safe side."""
    return intervals.difference(first, second)


def _shift_words(found: CausalStudy, everything: Compared) -> str:
    best = everything.loudest(SHIFTED)
    if best is None or best.control_accuracy.low <= 0.5:
        return ""
    blind = found.blind[SHIFTED].accuracy
    return (
        f"Much of what looks like membership under shift need not be any: a model that never saw the members lets the attacker "
        f"tell them from P* with an accuracy of {_shown(best.control_accuracy)}, and no model at all with {_shown(blind)}."
    )


def _utility_words(causal: Compared, everything: Compared) -> str:
    words: list[str] = []
    for name, ours, theirs in (
        ("In P", causal.test, everything.test),
        ("Under shift", causal.shifted, everything.shifted),
    ):
        if ours is None or theirs is None:
            continue
        gap = _gap(ours, theirs)
        way = (
            "predicts better than" if gap.low > 0 else "predicts worse than" if gap.high < 0 else "predicts as well as"
        )
        sure = "" if gap.low > 0 or gap.high < 0 else ", as far as can be told"
        words.append(
            f"{'under shift' if words else name} {causal.name} {way} {everything.name} ({_shown(ours)} against {_shown(theirs)}){sure}"
        )
    return "; ".join(words) + "." if words else ""


def _other_words(causal: Compared, other: Compared) -> list[str]:
    """What another kind, or another choice of columns, costs beside the causal model."""
    here, there = causal.strongest(SAME), other.strongest(SAME)
    if here is None or there is None:
        return []
    gap = _gap(there.excess_auc, here.excess_auc)
    way = "more than" if gap.low > 0 else "less than" if gap.high < 0 else "about as much as"
    utility = "" if other.shifted is None else f"; under shift it is at {_shown(other.shifted)}"
    return [f"{other.name}: gives away {way} {causal.name} (excess AUC {signed(there.excess_auc)}){utility}."]


def _noise_words(noise: Noise) -> str:
    way = "less than" if noise.ratio.high < 1 else "more than" if noise.ratio.low > 1 else "about as much as"
    return (
        f"When one record of {count(noise.size)} is swapped, least squares on the causes moves {way} on all columns "
        f"(largest change found {noise.causal.value:.3g} against {noise.associational.value:.3g} in L1): at equal Laplace "
        f"noise its ε is {_shown(noise.ratio)} times as large, as far as {count(noise.swaps)} swaps at random can tell."
    )


def _attribute_words(found: Sequence[Attribute]) -> list[str]:
    """Which models help to infer which sensitive columns."""
    said = []
    for column in dict.fromkeys(one.column for one in found):
        own = [one for one in found if one.column == column]
        helps = [one.model for one in own if one.gain.low > 0 or one.gain_auc.low > 0]
        kind = "a direct cause" if own[0].is_cause else "no direct cause"
        who = f"it is inferred with the help of {', '.join(helps)}" if helps else "no model is seen to help to infer it"
        said.append(f"{safe_text(column, 40)} is {kind} of the label; {who}.")
    return said


def draw(found: CausalStudy) -> str:
    """How well each model predicts, and how well the strongest attack tells members, with the control beside it."""
    from leakscope.plots import bars, stacked

    names = [model.name for model in found.models]
    described = " ".join(sentences(found))
    utility = "Right labels" if found.run["task"] == "classification" else "1 - squared error / variance"
    figures = [
        bars(
            "How well they predict",
            described,
            names,
            {
                "training sample": [model.training for model in found.models],
                "P": [model.test for model in found.models],
                "P*": [model.shifted for model in found.models],
            },
            place_label="Model",
            y_label=utility,
        )
    ]
    for law, title in ((SAME, "Telling members from others of P"), (SHIFTED, "Telling members from records of P*")):
        best = [model.strongest(law) for model in found.models]
        figures.append(
            bars(
                title,
                described,
                names,
                {
                    "attack": [_accuracy(one) for one in best],
                    "control: never saw the members": [_control(one) for one in best],
                    "blind: asks no model": [found.blind[law].accuracy] * len(names),
                },
                place_label="Model",
                y_label="Accuracy of the strongest attack",
            )
        )
    return stacked(f"Do models on the causes of {safe_text(found.label, 40)} leak less?", described, figures)


def _accuracy(found: Membership | None) -> Estimate | None:
    return None if found is None else found.accuracy


def _control(found: Membership | None) -> Estimate | None:
    return None if found is None else found.control_accuracy
