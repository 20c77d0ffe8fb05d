"""What a reader of an audit needs of a comparison of models on causes with models on all columns."""

from __future__ import annotations

from leakscope import intervals
from leakscope.causal_study.result import SAME, SHIFTED, CausalStudy, Compared
from leakscope.core.estimate import Estimate
from leakscope.report.words import count, describe, safe_text
from leakscope.results import Figure, Number, Point, Series, Study
from leakscope.telling import LONGEST, finite, listed, plain, shown

OUTSIDERS = {SAME: "outsiders like the people trained on", SHIFTED: "outsiders from shifted worlds"}
NAME = 40  # letters of the name of a model


def tell(found: CausalStudy) -> Study:
    """The study of a comparison of causal and other models.

    Examples
    --------
    >>> from leakscope import causal
    >>> found = causal.study(label="Akt", graph="sachs", rows=500, model="logistic", draws=1, noise=False)
    >>> tell(found).question
    'Does a model on the causes of Akt give away less of its training data than one on all columns?'
    """
    return Study(
        kind="causal",
        release="answers",
        question=f"Does a model on the causes of {safe_text(found.label, 40)} give away less of its training data than one on "
        "all columns?",
        answer=safe_text(_answer(found), 2 * LONGEST),
        numbers=tuple(_numbers(found)),
        figures=tuple(_figures(found)),
        advice=tuple(_advice(found)),
        warnings=tuple(_warnings(found)),
        settings=_settings(found),
    )


def _gap(found: CausalStudy, law: str) -> Estimate | None:
    """How much more the model on all columns gives away than the causal one.

    Both answer about the same people, so that the interval is on the safe side.
    """
    best = [model.strongest(law) for model in found.models[:2]]
    if best[0] is None or best[1] is None:
        return None
    return intervals.difference(best[1].excess_auc, best[0].excess_auc)


def _name(model: Compared) -> str:
    return safe_text(model.name, NAME)


def _answer(found: CausalStudy) -> str:
    said = [_compare_leakage(found, law) for law in (SAME, SHIFTED)]
    return " ".join([*said, _compare_worth(found)]).strip()


def _compare_leakage(found: CausalStudy, law: str) -> str:
    gap = _gap(found, law)
    if gap is None:
        return f"No attack was run with {OUTSIDERS[law]}."
    causal, everything = found.models[:2]
    first, second = (shown(best.excess_auc) for model in (causal, everything) if (best := model.strongest(law)))
    numbers = f"({second} against {first} in AUC beyond a model that never saw them; 0 is nothing)"
    if gap.low > 0 or gap.high < 0:
        way = "more" if gap.low > 0 else "less"
        return (
            f"Among {OUTSIDERS[law]}, {_name(everything)} gives away {way} about who was trained on than {_name(causal)} "
            f"{numbers}."
        )
    return (
        f"Among {OUTSIDERS[law]}, no difference can be told between what {_name(everything)} and {_name(causal)} give away "
        f"{numbers}."
    )


def _compare_worth(found: CausalStudy) -> str:
    """How well the two predict, here and under shift."""
    causal, everything = found.models[:2]
    ours, theirs = (_percent(model.test) for model in (causal, everything))
    named = f"{ours} ({_name(causal)}) and {theirs} ({_name(everything)})"
    shifted = [_percent(model.shifted) for model in (causal, everything) if model.shifted is not None]
    under = f", and under shift {' and '.join(shifted)}" if len(shifted) == 2 else ""
    if found.run["task"] == "classification":
        return f"Of their answers {named} are right{under}."
    return f"Their answers explain {named} of the variance of the label{under}."


def _percent(estimate: Estimate) -> str:
    return str(describe(finite(estimate), "percent")["text"])


def _numbers(found: CausalStudy) -> list[Number]:
    numbers = []
    for law, words in ((SAME, ""), (SHIFTED, ", shifted")):
        for model in found.models[:2]:
            best = model.strongest(law)
            if best is not None:
                note = (
                    f"among {OUTSIDERS[law]}; 0 is nothing; AUC of the attack {shown(best.auc)}, on a model that never saw the "
                    f"members {shown(best.control_auc)}, without any model {shown(found.blind[law].auc)}"
                )
                numbers.append(Number(f"AUC beyond the control, {_name(model)}{words}", finite(best.excess_auc), note))
    classes = found.run["task"] == "classification"
    what = "share of right labels" if classes else "1 - squared error / variance of the label"
    for model in found.models[:2]:
        numbers.append(Number(f"worth of {_name(model)}", finite(model.test), f"{what}, on other people"))
        if model.shifted is not None:
            numbers.append(
                Number(f"worth of {_name(model)}, shifted", finite(model.shifted), f"{what}, in shifted worlds")
            )
    numbers += _attributes(found)
    if found.noise is not None:
        numbers.append(
            Number(
                "noise that the causes need, beside all columns",
                finite(found.noise.ratio),
                f"for differential privacy of least squares, as far as {count(found.noise.swaps)} swaps tell; 1 is no difference",
            )
        )
    return numbers


def _attributes(found: CausalStudy) -> list[Number]:
    names = [model.name for model in found.models[:2]]
    return [
        Number(
            f"help in guessing {safe_text(one.column, 24)}, {safe_text(one.model, 34)}",
            finite(one.gain),
            f"advantage that the model's answers add; 0 is nothing; without the model {shown(one.baseline)}",
        )
        for one in found.attributes
        if one.model in names
    ]


def _figures(found: CausalStudy) -> list[Figure]:
    """How well each model predicts, across, and what it gives away, up."""
    series = []
    for law, words in ((SAME, "people like those trained on"), (SHIFTED, "shifted worlds")):
        points = [_point(model, law) for model in found.models]
        if kept := tuple(point for point in points if point is not None):
            series.append(Series(words, kept))
    if not series:
        return []
    classes = found.run["task"] == "classification"
    return [
        Figure(
            title="What models are worth, and what they give away",
            description="Each point is a kind of model: further right predicts better, further down gives less away about who "
            "was trained on, beyond what the same attack finds on a model that never saw them.",
            kind="scatter",
            x_label="Share of right labels" if classes else "1 - squared error / variance",
            y_label="AUC of the strongest attack beyond its control",
            series=tuple(series),
        )
    ]


def _point(model: Compared, law: str) -> Point | None:
    best, worth = model.strongest(law), model.test if law == SAME else model.shifted
    if best is None or worth is None:
        return None
    across = finite(worth)
    return Point(across.value, finite(best.excess_auc), _name(model), across)


def _advice(found: CausalStudy) -> list[str]:
    """The model on causes, where it surely gives away less in one world and in none surely more."""
    gaps = {law: gap for law in (SAME, SHIFTED) if (gap := _gap(found, law)) is not None}
    better = [law for law, gap in gaps.items() if gap.low > 0]
    if not better or any(gap.high < 0 for gap in gaps.values()):
        return []
    causal, everything = found.models[:2]
    where = " and ".join(OUTSIDERS[law] for law in better)
    return [
        safe_text(
            f"Use {_name(causal)} instead of {_name(everything)}: it gives away less about who was trained on, among {where} "
            f"(by {shown(gaps[better[0]])} in AUC). {_compare_worth(found)}",
            LONGEST,
        )
    ]


def _warnings(found: CausalStudy) -> list[str]:
    said = [*found.notes, *(f"not run: {item.attack}, {item.reason}" for item in found.not_run)]
    loudest = found.models[1].loudest(SHIFTED)
    if loudest is not None and loudest.control_accuracy.low > 0.5:
        said.append(
            "shifted worlds look unlike the training data by themselves: much of what looks like membership there need not be any"
        )
    causal = found.models[0]
    said += [
        f"the answers of {_name(causal)} help to guess {safe_text(one.column, 40)}, by {shown(one.gain)} of advantage"
        for one in found.attributes
        if one.model == causal.name and one.gain.low > 0
    ]
    return [safe_text(warning, LONGEST) for warning in said]


def _settings(found: CausalStudy) -> dict[str, object]:
    names = ("task", "trained_on", "others", "shifted_worlds", "shift", "columns", "confidence", "seed")
    return plain(
        {
            "label": found.label,
            "causes": listed(found.causes, 8),
            "causes_from": found.how,
            "models": [model.name for model in found.models[:8]],
            **{name: found.run[name] for name in names},
            "source": "tople2020",
        }
    )
