"""An attribute inference as text."""

from __future__ import annotations

import textwrap

from leakscope.attribute.result import AttributeFinding, AttributeRisk, AttributeSide
from leakscope.core.estimate import Estimate
from leakscope.report.words import count, safe_text

WIDTH = 100


def describe(risk: AttributeRisk) -> str:
    """What was found, in words that need no knowledge of the field."""
    name, label = safe_text(risk.sensitive), " and the true label" if risk.knows_label else ""
    lines = textwrap.wrap(
        f"{name} ({count(len(risk.levels))} levels) guessed by an attacker who knows {count(len(risk.known))} other "
        f"features{label} and has {safe_text(risk.model)}. Advantage is 0 for blind guessing and 1 for certainty; the gain "
        "is what the model adds to an attacker without it.",
        WIDTH,
    )
    sides = {"records": risk.records} if risk.members is None else {"others": risk.records, "trained on": risk.members}
    for words, side in sides.items():
        lines += ["", *_table(words, side)]
    if risk.membership:
        lines += ["", "Gain on records trained on minus gain on others:"]
        lines += [f"  {attack:<50} {found}" for attack, found in risk.membership.items()]
    return "\n".join([*lines, "", *textwrap.wrap(risk.sentence, WIDTH)])


def sentence(risk: AttributeRisk) -> str:
    """The answer, drawn from the intervals."""
    name = safe_text(risk.sensitive)
    sides = [risk.records] if risk.members is None else [risk.records, risk.members]
    findings = [found for side in sides for found in side.attacks]
    sure = [found for found in findings if found.gains]
    if not sure:
        most = max(found.gain.high for found in findings)
        return (
            f"No attacker surely learned more about {name} with the model than without it; a gain of up to {most:.2f} could "
            "go unseen with so many records."
        )
    best = max(sure, key=lambda found: (found.gain.value, found.gain_auc.value))
    said = f"The model gives {name} away: {best.attack} gains {_gained(best)} over an attacker without the model."
    member = [found for found in risk.membership.values() if found.low > 0]
    return f"{said} Records that it was trained on give away more." if member else said


def _gained(found: AttributeFinding) -> str:
    if found.gain.low > 0:
        return f"{found.gain} of advantage"
    return f"{found.gain_auc} of AUC"


def _table(words: str, side: AttributeSide) -> list[str]:
    rows = [f"{words:<50} {'advantage':<22} {'AUC':<22} {'gain':<24} control"]
    rows.append(f"  {'no model: imputation':<48} {side.baseline_advantage!s:<22} {side.baseline_auc!s:<22}".rstrip())
    for found in side.attacks:
        cells = f"  {found.attack:<48} {found.advantage!s:<22} {found.auc!s:<22} {found.gain!s:<24} {_or_none(found.control)}"
        rows.append(cells.rstrip())
    return rows


def _or_none(found: Estimate | None) -> str:
    return "" if found is None else str(found)
