"""What a reader of an audit needs of a frontier: which explanations help an attacker, and which say most for least."""

from __future__ import annotations

from leakscope.frontier_study.result import Frontier, Setting
from leakscope.report.words import count, safe_text
from leakscope.results import Figure, Number, Point, Series, Study
from leakscope.telling import LONGEST, finite, plain, shown

QUESTION = (
    "What do explanations by features add to what the answers give away, and how much do they say about the model?"
)


def tell(found: Frontier) -> Study:
    """The study of a frontier.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.frontier_study import frontier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 5))
    >>> y = (X[:, 0] + X[:, 1] / 2 + rng.normal(size=400) > 0).astype(int)
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> found = frontier(model, (X[:200], y[:200]), (X[200:], y[200:]), ["gradient", "gradient:noise=1.0"], retrain=False)
    >>> tell(found).figures[0].marked == tuple(setting.name for setting in found.best)
    True
    """
    return Study(
        kind="frontier",
        release="explanations",
        question=QUESTION,
        answer=safe_text(_answer(found), LONGEST),
        numbers=tuple(_numbers(found)),
        figures=(_figure(found),),
        advice=tuple(_advice(found)),
        warnings=tuple(_warnings(found)),
        settings=plain({"model": found.run["model"], "beside": found.beside, **_run(found), "source": "shokri2019"}),
    )


def _adds(found: Frontier, setting: Setting) -> bool:
    """Whether an explanation surely helps the attacker, also beyond what it adds where a model never saw the members."""
    extra = next(extra for extra in found.audit.extras if extra.release == setting.name)
    return setting.advantage.low > 0 and (extra.beyond_control is None or extra.beyond_control.low > 0)


def _top(found: Frontier) -> Setting:
    return max(found.settings, key=lambda setting: setting.faithfulness.order.value)


def _most_telling(found: Frontier) -> Setting:
    """The one that adds most, of those that surely do if there are any."""
    sure = [setting for setting in found.settings if _adds(found, setting)]
    return max(sure or found.settings, key=lambda setting: setting.advantage.value)


def _answer(found: Frontier) -> str:
    ways = len(found.settings)
    tried = (
        "the one way to explain that was tried" if ways == 1 else f"the {count(ways)} ways to explain that were tried"
    )
    has = f"an outsider who has the {safe_text(found.beside)} already"
    sure = [setting for setting in found.settings if _adds(found, setting)]
    top = _top(found)
    if not sure:
        most = max(setting.advantage.high for setting in found.settings)
        return (
            f"None of {tried} surely helps {has} to tell who was trained on; with so many records a gain of up to {most:.2f} "
            f"could go unseen (0 is nothing, 1 is certainty). The most faithful is {safe_text(top.name)}."
        )
    worst = _most_telling(found)
    return (
        f"Of {tried}, {count(len(sure))} surely {'helps' if len(sure) == 1 else 'help'} {has} to tell who was trained on. "
        f"The most telling, {safe_text(worst.name)}, adds {shown(worst.advantage)} to the attacker's advantage (0 is nothing, "
        f"1 is certainty); the most faithful, {safe_text(top.name)}, adds {shown(top.advantage)}."
    )


def _numbers(found: Frontier) -> list[Number]:
    worst, top, safe = _most_telling(found), _top(found), _safe(found)
    rows = [("adds most", worst)]
    rows += [("most faithful", top)] if top is not worst else []
    rows += [(f"adds at most {found.run['margin']:g}", safe)] if safe is not None and safe not in (worst, top) else []
    numbers = []
    for words, setting in rows:
        name = safe_text(setting.name, 40)
        control = "" if setting.control is None else f"; on models that never saw the members {shown(setting.control)}"
        numbers.append(
            Number(
                f"advantage that {name} adds",
                finite(setting.advantage),
                f"{words}; beside the {safe_text(found.beside)}, 0 is nothing; to the AUC it adds {shown(setting.auc)}{control}",
            )
        )
        numbers.append(
            Number(
                f"faithfulness of {name}",
                finite(setting.faithfulness.order),
                f"how much better its order of features is than a random one, which scored {shown(found.random_order)}",
            )
        )
    return numbers


def _figure(found: Frontier) -> Figure:
    methods = dict.fromkeys(setting.method for setting in found.settings)
    return Figure(
        title="What explanations say, and what they give away",
        description="Each point is a way to explain: further right says more about the model, further down gives less away of "
        "its training data. Marked are those that no other beats in both, by points.",
        kind="scatter",
        x_label="Faithfulness: better than a random order of features",
        y_label="Extra advantage of an attacker",
        series=tuple(
            Series(
                safe_text(method),
                tuple(_point(setting) for setting in found.settings if setting.method == method),
            )
            for method in methods
        ),
        marked=tuple(safe_text(setting.name) for setting in found.best),
    )


def _point(setting: Setting) -> Point:
    across = finite(setting.faithfulness.order)
    return Point(across.value, finite(setting.advantage), safe_text(setting.name), across)


def _safe(found: Frontier) -> Setting | None:
    """The most faithful that surely adds no more than the margin."""
    kept = [setting for setting in found.settings if setting.advantage.high <= found.run["margin"]]
    return max(kept, key=lambda setting: setting.faithfulness.order.value, default=None)


def _advice(found: Frontier) -> list[str]:
    """The most faithful setting within the margin, where another surely adds more: the intervals hold together."""
    safe = _safe(found)
    if safe is None or not safe.faithfulness.order.low > 0:
        return []
    telling = [one for one in found.settings if _adds(found, one) and one.advantage.low > max(0.0, safe.advantage.high)]
    if not telling:
        return []
    worst = max(telling, key=lambda setting: setting.advantage.low)
    return [
        safe_text(
            f"If features must be explained, release {safe_text(safe.name)}: it adds at most {found.run['margin']:g} to an "
            f"attacker's advantage ({shown(safe.advantage)}), with a faithfulness of {shown(safe.faithfulness.order)}; "
            f"{safe_text(worst.name)} adds {shown(worst.advantage)}, with a faithfulness of {shown(worst.faithfulness.order)}.",
            LONGEST,
        )
    ]


def _warnings(found: Frontier) -> list[str]:
    said = (
        []
        if found.run["retrained"]
        else ["no model was trained that never saw the members, so there is no such control"]
    )
    said += [f"not run: {item.release}, {item.reason}" for item in found.not_run]
    return [safe_text(warning, LONGEST) for warning in said]


def _run(found: Frontier) -> dict[str, object]:
    names = ("records", "features", "judged", "margin", "confidence", "seed", "retrained")
    return {"explanations": len(found.settings), **{name: found.run[name] for name in names}}
