"""A comparison in the words of a report: what lowers the risk, at what price, and what to do."""

from __future__ import annotations

from leakscope.comparison import words
from leakscope.comparison.result import Comparison, Version
from leakscope.frontier_study.dominance import beaten_by_points
from leakscope.report.words import count, out_of, percent, safe_text
from leakscope.results import Figure, Number, Point, Series, Study
from leakscope.telling import LONGEST, finite, listed, plain

QUESTION = "What would lower the risk, and at what price?"
CHANCE = 0.5


def tell(comparison: Comparison) -> Study:
    """What a reader of an audit needs of a comparison.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> target = ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> found = ls.compare(target, ls.defenses.Rounding([1]), references=0, retrain=False)
    >>> tell(found).kind, tell(found).figures[0].marked
    ('comparison', ('as it is', 'round 1'))
    """
    return Study(
        kind="comparison",
        release="defenses",
        question=QUESTION,
        answer=safe_text(" ".join(answer(comparison)), LONGEST),
        numbers=tuple(_numbers(comparison)),
        figures=(figure(comparison),),
        advice=tuple(safe_text(advice, LONGEST) for advice in _advice(comparison)),
        warnings=tuple(safe_text(warning, LONGEST) for warning in _warnings(comparison)),
        settings=plain(_settings(comparison)),
    )


# --- the answer in lay words ------------------------------------------------------------------------------------------


def answer(comparison: Comparison) -> tuple[str, str]:
    """Two sentences: what to do, and what it buys and costs."""
    version, before = words.proposed(comparison), comparison.as_it_is
    pairs = f"{out_of(100, before.risk.auc)} times out of 100"
    where = "here" if comparison.record_explanations is None else "in the answers"
    match comparison.recommendation.kind:
        case "nothing to lower":
            return (
                f"There is no sure risk {where} that a defense could be seen to lower.",
                f"Of one person from the training data and one outsider, the best attack on the model as it is picks the right "
                f"one {pairs}; a coin gets 50. That is no proof that nothing leaks.",
            )
        case "inconclusive":
            return (
                "It can't be told from these records whether a defense lowers the risk.",
                "What the attacks find may come from a difference between the training data and the held-out records, and not from "
                "the model: use a holdout drawn like the training data, or more records.",
            )
        case "untested":
            return (
                "Some versions lower what these attacks find, but the attack that knows a defense best was not run.",
                "It compares the model with others that were trained with the same defense, and often undoes what hides the signal "
                "from simpler attacks: train reference models before you choose.",
            )
        case "no sure gain":
            alone = len(comparison.versions) == 1
            return (
                "No other version of the model was tried."
                if alone
                else "None of the versions that were tried surely lowers the risk.",
                f"Of one person from the training data and one outsider, the best attack on the model as it is picks the right "
                f"one {pairs}; a coin gets 50.{'' if alone else ' Of no version is it sure that this is rarer.'}",
            )
    assert version is not None
    allowed = _allowed(comparison)
    first = (
        f"Use {words.quoted(version.name)}: it surely lowers the risk, and costs at most {allowed}."
        if comparison.recommendation.kind == "use"
        else f"The risk can be lowered, but not surely at a price of at most {allowed}."
    )
    return first, _bought(version, before)


def _allowed(comparison: Comparison) -> str:
    """The price that a recommended version may cost."""
    price, metric = comparison.run["price"], safe_text(comparison.as_it_is.main.metric)
    return f"{price:g} of {metric}" if comparison.run["task"] == "classification" else f"{percent(price)} more {metric}"


def _bought(version: Version, before: Version) -> str:
    return (
        f"{words.quoted(version.name)}: {safe_text(version.what, 120)}. The best attack then picks the right one of one person "
        f"from the training data and one outsider {out_of(100, version.risk.auc)} times out of 100, instead of "
        f"{out_of(100, before.risk.auc)}; a coin gets 50. {_cost(version)}"
    )


def _cost(version: Version) -> str:
    main = version.main
    change = words.said_change(main.change)
    also = [one.metric for one in (*version.utility[1:], *version.faithfulness) if one.gain.high < 0]
    more = f" What it surely costs too: {listed(also)}." if also else ""
    if main.metric == "accuracy":
        return f"The share of right answers about new people changes by {change}, to {words.said(main.value)}.{more}"
    return f"The {safe_text(main.metric)} on new records changes by {change}, to {words.said(main.value)}.{more}"


# --- numbers and the picture ------------------------------------------------------------------------------------------


def _numbers(comparison: Comparison) -> list[Number]:
    before = comparison.as_it_is
    numbers = [
        Number(
            "largest AUC as it is",
            finite(before.risk.auc),
            f"{CHANCE:g} is guessing; the strongest attack is {safe_text(before.strongest)}, and where there is nothing to find "
            f"it has {words.said(before.control)}",
        )
    ]
    version = words.proposed(comparison) or _least_risky(comparison)
    if version is None or version.lowered is None:
        return numbers
    name, metric = words.quoted(version.name), safe_text(version.main.metric)
    return [
        *numbers,
        Number(
            f"largest AUC of {name}",
            finite(version.risk.auc),
            f"the strongest attack is {safe_text(version.strongest)}",
        ),
        Number(
            f"change of the largest AUC by {name}",
            finite(version.lowered),
            "below 0 is less risk; on the same records, and all versions hold together",
        ),
        Number(f"{metric} as it is", finite(before.main.value), "on held-out records"),
        Number(
            f"change of the {metric} by {name}",
            finite(version.main.change),
            f"its price, on the same records; {version.main.better} is better",
        ),
    ]


def _least_risky(comparison: Comparison) -> Version | None:
    others = [version for version in comparison.versions[1:] if version.promise != "broken"]
    return min(others, key=lambda version: version.risk.auc.high, default=None)


def figure(comparison: Comparison) -> Figure:
    """Risk against utility: one point for each version, with intervals in both directions."""
    main = comparison.as_it_is.main
    metric = safe_text(main.metric)
    side = "right" if main.better == "more" else "left"
    defenses = dict.fromkeys(version.defense for version in comparison.versions)
    return Figure(
        title="What each version buys, and what it costs",
        description=f"Each point is a version of the model: further {side} does its job better, further down gives less away. "
        "Lines are ranges; the upper end of the vertical one is the risk that is not excluded. Diamonds: no other version is "
        f"better in both, risk and {metric}, by points.",
        kind="scatter",
        x_label=f"{metric[:1].upper()}{metric[1:]} on held-out records ({side} is better)",
        y_label="Risk: largest AUC of any attack",
        series=tuple(
            Series(
                safe_text(defense or comparison.as_it_is.name),
                tuple(_point(version) for version in comparison.versions if version.defense == defense),
            )
            for defense in defenses
        ),
        marked=tuple(safe_text(version.name) for version in _frontier(comparison)),
        chance=CHANCE,
        from_zero=False,
    )


def _frontier(comparison: Comparison) -> list[Version]:
    """The versions that no other beats by points in the two things that the picture shows."""
    gains = [version.main.gain.value for version in comparison.versions]
    risks = [version.risk.auc.value for version in comparison.versions]
    beaten = beaten_by_points(gains, risks)
    return [version for version, other in zip(comparison.versions, beaten, strict=True) if other is None]


def _point(version: Version) -> Point:
    across = finite(version.main.value)
    return Point(across.value, finite(version.risk.auc), safe_text(version.name), across)


# --- what to do, and what could mislead -------------------------------------------------------------------------------


def _advice(comparison: Comparison) -> list[str]:
    """Only what the intervals allow: the recommended version, and no trust in a guarantee that is broken."""
    said = []
    if comparison.recommendation.version is not None:
        version = comparison[comparison.recommendation.version]
        assert version.lowered is not None
        said.append(
            f"Use {words.quoted(version.name)}: {safe_text(version.what, 160)}. The largest AUC of any attack changes by "
            f"{words.said_change(version.lowered)} to {words.said(version.risk.auc)} ({CHANCE:g} is guessing), and the "
            f"{safe_text(version.main.metric)} by {words.said_change(version.main.change)}."
        )
    said += [
        f"Don't rely on the guarantee of {words.quoted(version.name)}: find the mistake in it first."
        for version in comparison.broken
    ]
    return said


def _warnings(comparison: Comparison) -> list[str]:
    """Broken guarantees first, then those in doubt, then who pays, then the rest."""
    said = [words.promise(version) for version in comparison.broken]
    said += [words.promise(version) for version in comparison.versions if version.promise == "in doubt"]
    version = words.proposed(comparison)
    if version is not None and (costs := words.group_costs(version)):
        group, change = costs[0]
        said.append(
            f"with {words.quoted(version.name)} the group {group} surely loses: its {safe_text(version.main.metric)} changes by "
            f"{words.said_change(change)}"
        )
    if not comparison.run["retrain"]:
        said.append("no model was trained that never saw the members, so there is no such control")
    said += comparison.warnings
    return [*said, *(f"not run: {item.attack}, since {item.reason}" for item in comparison.not_run)]


def _settings(comparison: Comparison) -> dict[str, object]:
    names = ("members", "held out", "judged", "price", "margin", "confidence", "references", "retrain", "seed")
    sources = dict.fromkeys(version.source for version in comparison.versions if version.source)
    return {
        "model": comparison.run["model"],
        "versions": count(len(comparison.versions)),
        **{name: comparison.run[name] for name in names},
        "source": list(sources),
    }
