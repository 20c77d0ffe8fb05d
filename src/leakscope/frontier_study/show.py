"""A frontier as text and as a picture."""

from __future__ import annotations

import math
import textwrap

from leakscope.core.estimate import Estimate
from leakscope.frontier_study.result import Frontier, Setting
from leakscope.report.words import count, safe_text

WIDTH = 100


def describe(found: Frontier) -> str:
    """What was found, in words that need no knowledge of the field."""
    run = found.run
    lines = textwrap.wrap(
        f"Explanations of {safe_text(run['model'])}: faithfulness on {count(run['records'])} held-out records (0: no better "
        f"than a random order of the features, which scored {signed(found.random_order)}), and what an attacker who has the "
        f"{found.beside} gains by the explanation, on {count(run['judged'])} members and as many others; these intervals "
        "hold for all settings at once. Beaten is a setting if another is at least as faithful and leaks no more, where an "
        "extra below 0 counts as 0.",
        WIDTH,
    )
    lines += ["", *_table(found), ""]
    lines += [f"not run: {item.release}, {safe_text(item.reason, 160)}" for item in found.not_run]
    return "\n".join([*lines, *textwrap.wrap(sentence(found), WIDTH)])


def sentence(found: Frontier) -> str:
    """The answer in plain words, drawn from the intervals."""
    names = ", ".join(setting.name for setting in found.best)
    top = max(found.settings, key=lambda setting: setting.faithfulness.order.value)
    said = (
        f"By points, nothing is both more faithful and less telling than {names}; {_surely_beaten(found)}. The most "
        f"faithful, {top.name}, adds {signed(top.advantage)} to the attacker's advantage"
    )
    if all(setting.advantage.low <= 0 for setting in found.settings):
        most = max(setting.advantage.high for setting in found.settings)
        return f"{said}, and no setting surely adds anything; with so many records up to {most:.2f} could go unseen."
    margin = found.run["margin"]
    safe = [setting for setting in found.settings if setting.advantage.high <= margin]
    if not safe:
        return f"{said}; of no setting can it be said that it adds at most {margin:g}."
    kept = max(safe, key=lambda setting: setting.faithfulness.order.value)
    if kept is top:
        return f"{said}, surely at most {margin:g}."
    return (
        f"{said}; the most faithful that surely adds at most {margin:g} is {kept.name}, with a faithfulness of "
        f"{signed(kept.faithfulness.order)}."
    )


def _surely_beaten(found: Frontier) -> str:
    beaten = sum(setting.surely_beaten_by is not None for setting in found.settings)
    if not beaten:
        return "but none of the settings is surely beaten by another"
    return f"of {len(found.settings)} settings {beaten} {'is' if beaten == 1 else 'are'} surely beaten by another"


def signed(estimate: Estimate) -> str:
    """A difference with its sign; the ends of its interval are rounded outwards, so that what holds 0 is seen to.

    >>> signed(Estimate(0.07, 0.05, 0.09)), signed(Estimate(-0.001, -0.021, 0.018))
    ('+0.07 [+0.05, +0.09]', '+0.00 [−0.03, +0.02]')
    """
    low, high = math.floor(round(100 * estimate.low, 6)) / 100, math.ceil(round(100 * estimate.high, 6)) / 100
    value, low_text, high_text = (
        f"{round(number, 2) + 0.0:+.2f}".replace("-", "−") for number in (estimate.value, low, high)
    )
    return f"{value} [{low_text}, {high_text}]"


def _table(found: Frontier) -> list[str]:
    controlled = any(setting.control is not None for setting in found.settings)
    rows = [["setting", "faithfulness", "extra advantage", "extra AUC", "never trained", "beaten by"]]
    for setting in sorted(found.settings, key=lambda setting: -setting.faithfulness.order.value):
        figures = (setting.faithfulness.order, setting.advantage, setting.auc, setting.control)
        cells = ["none" if one is None else signed(one) for one in figures]
        rows.append([setting.name, *cells, _beaten(setting)])
    shown = [[cell for place, cell in enumerate(row) if controlled or place != 4] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def _beaten(setting: Setting) -> str:
    if setting.surely_beaten_by is not None:
        return f"surely {setting.surely_beaten_by}"
    return "nothing" if setting.beaten_by is None else f"perhaps {setting.beaten_by}"


def draw(found: Frontier) -> str:
    """Extra advantage against faithfulness, with intervals in both directions; settings that nothing beats are joined."""
    from leakscope.plots import scatter

    methods = dict.fromkeys(setting.method for setting in found.settings)
    series = {
        method: [
            (setting.name, setting.faithfulness.order, setting.advantage)
            for setting in found.settings
            if setting.method == method
        ]
        for method in methods
    }
    return scatter(
        "What explanations say, and what they give away",
        f"{sentence(found)} Lower right is best.",
        series,
        x_label="Faithfulness: better than a random order of features",
        y_label="Extra membership advantage",
        marked=[setting.name for setting in found.best],
        marked_label="nothing beats these (by points)",
    )
