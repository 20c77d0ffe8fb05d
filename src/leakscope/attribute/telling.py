"""What a reader of an audit needs of attribute inference: whether the model's answers help to guess sensitive columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakscope.attribute.result import AttributeFinding, AttributeRisk, AttributeSide
from leakscope.errors import InputError
from leakscope.report.words import count, safe_text
from leakscope.results import Number, Study
from leakscope.telling import LONGEST, finite, listed, plain, shown

NAMED = 3  # columns that the answer speaks of by name


def tell(risk: AttributeRisk) -> Study:
    """The study of one sensitive column, which stands beside those of others; `tell_all` makes one of several."""
    return replace(tell_all([risk]), release=f"answers about {safe_text(risk.sensitive)}")


def tell_all(risks: Sequence[AttributeRisk]) -> Study:
    """One study of several sensitive columns of one model.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscope.attribute import attribute_inference
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.integers(0, 2, (400, 2)), rng.integers(0, 2, 400)
    >>> risks = [attribute_inference(lambda X: 0.2 + 0.3 * X[:, 0], X, y, sensitive=column) for column in (0, 1)]
    >>> tell_all(risks).question
    "Do the model's answers help to guess 0 and 1 of a person?"
    """
    if not risks:
        raise InputError("there is no attribute inference to tell of: give one or more")
    names = [risk.sensitive for risk in risks]
    return Study(
        kind="attributes",
        release="answers",
        question=f"Do the model's answers help to guess {listed(names)} of a person?",
        answer=safe_text(_answer(risks), 2 * LONGEST),
        numbers=tuple(_number(risk) for risk in risks),
        warnings=tuple(_warnings(risks)),
        settings=_settings(risks),
    )


def _sides(risk: AttributeRisk) -> list[tuple[str, AttributeSide]]:
    if risk.members is None:
        return [("people", risk.records)]
    return [("people who were not trained on", risk.records), ("people who were trained on", risk.members)]


def _best(risk: AttributeRisk) -> tuple[str, AttributeSide, AttributeFinding]:
    """The most telling attack on either side, of those that surely gain if there are any."""
    tried = [(words, side, found) for words, side in _sides(risk) for found in side.attacks]
    sure = [one for one in tried if one[2].gains]
    return max(sure or tried, key=lambda one: (one[2].gain.value, one[2].gain_auc.value))


def _answer(risks: Sequence[AttributeRisk]) -> str:
    leaks = sorted((risk for risk in risks if risk.leaks), key=lambda risk: -_best(risk)[2].gain.value)
    quiet = [risk for risk in risks if not risk.leaks]
    said = [_gives_away(risk) for risk in leaks[:NAMED]]
    if len(leaks) > NAMED:
        said.append(f"They also help to guess {listed([risk.sensitive for risk in leaks[NAMED:]])}.")
    if quiet:
        most = max(found.gain.high for risk in quiet for _, side in _sides(risk) for found in side.attacks)
        said.append(
            f"They are not seen to help to guess {listed([risk.sensitive for risk in quiet])}; a gain of up to "
            f"{max(0.0, most):.2f} could go unseen with so many records."
            if leaks
            else f"The model's answers are not seen to help anyone to guess {listed([risk.sensitive for risk in quiet])}; a gain "
            f"of up to {max(0.0, most):.2f} could go unseen with so many records (0 is nothing, 1 is certainty)."
        )
    return " ".join(said)


def _gives_away(risk: AttributeRisk) -> str:
    _, side, found = _best(risk)
    name = safe_text(risk.sensitive, 40)
    if not found.gain.low > 0:
        return (
            f"The model's answers help to guess {name}: they add {shown(found.gain_auc)} to the AUC of an attacker (0 is "
            "nothing)."
        )
    more = (
        " People who were trained on are given away more."
        if any(one.low > 0 for one in risk.membership.values())
        else ""
    )
    return (
        f"The model's answers help to guess {name}: the advantage of an attacker who knows {_knows(risk)} rises from "
        f"{shown(side.baseline_advantage)} without the model to {shown(found.advantage)} with it, by {shown(found.gain)} (0 is "
        f"guessing, 1 is certainty).{more}"
    )


def _knows(risk: AttributeRisk) -> str:
    columns = f"{count(len(risk.known))} other column{'' if len(risk.known) == 1 else 's'}"
    return f"{columns} and the true label" if risk.knows_label else columns


def _number(risk: AttributeRisk) -> Number:
    words, side, found = _best(risk)
    control = ""
    if found.control is not None:
        control = f"; asked about a random value of the column instead, they add {shown(found.control)}"
    return Number(
        f"advantage that the answers add in guessing {safe_text(risk.sensitive, 32)}",
        finite(found.gain),
        f"on {words}; 0 is nothing; without the model {shown(side.baseline_advantage)}, with it {shown(found.advantage)}; "
        f"to the AUC they add {shown(found.gain_auc)}{control}",
    )


def _warnings(risks: Sequence[AttributeRisk]) -> list[str]:
    if len(risks) < 2:
        return []
    return [
        f"each of the {count(len(risks))} columns was judged by itself: of twenty columns of which nothing can be learned, one "
        "may be named by chance"
    ]


def _settings(risks: Sequence[AttributeRisk]) -> dict[str, object]:
    first = risks[0]
    names = ("digits", "most", "confidence", "seed")
    return plain(
        {
            "model": first.model,
            "sensitive": [risk.sensitive for risk in risks],
            "levels": [len(risk.levels) for risk in risks],
            "known_columns": [len(risk.known) for risk in risks],
            "knows_label": first.knows_label,
            "records": first.records.records,
            "trained_on": 0 if first.members is None else first.members.records,
            **{name: first.settings[name] for name in names},
            "source": "tople2020",
        }
    )
