"""Which versions are beaten by another, and what may be recommended: words only where the intervals allow them.

A version has a risk, the largest AUC of any attack, and qualities: its accuracy and log-loss (or its mean squared error), and
how faithful each released explanation is. *By points* one is beaten by another that is at least as good in all and better in
one. *Surely beaten* is a claim over intervals: another is surely better in one, and in the others surely worse by no more than a
margin. Risks and qualities are compared on the same records, and all pairs hold together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakscope import intervals
from leakscope.comparison.paired import PairedAucs
from leakscope.comparison.result import Measured, Recommendation, Version
from leakscope.comparison.utility import Floats, change_of_shares
from leakscope.core.estimate import Estimate
from leakscope.report.words import safe_text

#: What is nearer than this is the same.
ROUNDING = 1e-9
NO_OTHER = (
    "No other version of the model was asked for: the defenses here change explanations by records only, and none of them the "
    "answers, by which members are told apart."
)


@dataclass(frozen=True, eq=False)
class Rivals:
    """Risk and utility of all versions, comparable pair by pair.

    ``places`` says which of the paired AUCs belong to which version; ``qualities`` are for each version what must not get
    worse, each at the same held-out records for all, so that more is better, and ``limits`` how much worse each may surely be.
    ``alike`` numbers the versions: those of one number predict the same classes by construction.
    """

    paired: PairedAucs
    places: Sequence[Sequence[int]]
    qualities: Sequence[Sequence[Floats]]
    margin: float
    limits: Sequence[float]
    alike: Sequence[int]

    def risk_change(self, ours: int, theirs: int) -> Estimate:
        """Risk of ours minus risk of theirs."""
        return self.paired.difference(self.places[ours], self.places[theirs])

    def gains(self, ours: int, theirs: int) -> list[Estimate]:
        """Qualities of ours minus those of theirs."""
        count = len(self.places)
        pairs = max(1, count * (count - 1) // 2) * len(self.qualities[0])
        confidence = 1 - (1 - self.paired.confidence) / pairs
        both = zip(self.qualities[ours], self.qualities[theirs], strict=True)
        gains = [intervals.mean(own - other, confidence) for own, other in both]
        first = self.qualities[ours][0] - self.qualities[theirs][0]
        if self.alike[ours] != self.alike[theirs] and np.isin(first, (-1.0, 0.0, 1.0)).all():
            gains[0] = change_of_shares(first, confidence)  # of right answers, of which few may change
        return gains

    def beaten(self) -> list[int | None]:
        """For each version one that beats it by points, the least risky, or None."""
        everyone = range(len(self.places))
        risks = [float(self.paired.values[list(places)].max()) for places in self.places]
        means = [[float(quality.mean()) for quality in own] for own in self.qualities]
        found: list[int | None] = []
        for own in everyone:
            better = [
                other
                for other in everyone
                if _as_good([-risks[other], *means[other]], [-risks[own], *means[own]])
                and not _as_good([-risks[own], *means[own]], [-risks[other], *means[other]])
            ]
            found.append(min(better, key=lambda other: risks[other]) if better else None)
        return found

    def surely_beaten(self) -> list[int | None]:
        """For each version one that surely beats it, or None."""
        everyone = range(len(self.places))
        return [
            next((other for other in everyone if other != own and self._surely_beats(other, own)), None)
            for own in everyone
        ]

    def _surely_beats(self, ours: int, theirs: int) -> bool:
        risk, gains = self.risk_change(ours, theirs), self.gains(ours, theirs)
        by_points = risk.value <= ROUNDING and all(gain.value >= -ROUNDING for gain in gains)
        within = all(gain.low >= -limit for gain, limit in zip(gains, self.limits, strict=True))
        better = any(gain.low > 0 for gain in gains) and risk.high <= self.margin
        return by_points and within and (risk.high < 0 or better)


def _as_good(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """At least as good in everything, up to rounding."""
    return all(one >= other - ROUNDING for one, other in zip(ours, theirs, strict=True))


def recommend(
    versions: Sequence[Version], limits: tuple[float, float], *, leaks: bool = True, doubt: str = ""
) -> Recommendation:
    """What the intervals allow to say of versions, the model as it is first.

    A version whose guarantee is broken is never recommended, nor one that the attack which knows a defense best was not run on.

    Parameters
    ----------
    limits
        What may be lost of the first metric, and of the faithfulness of explanations.
    leaks, doubt
        Whether an attack surely beats chance on the model as it is, and why that may not be the model's doing.
    """
    first, *others = versions
    if doubt:
        return Recommendation("inconclusive", None, f"Nothing can be recommended: {doubt}.")
    if not leaks:
        return Recommendation(
            "nothing to lower",
            None,
            f"No attack surely beats chance on the model as it is (largest AUC {first.risk.auc}, 0.5 is chance): there is nothing "
            "here that a defense could be seen to lower. That is no proof that there is nothing.",
        )
    if not others:
        return Recommendation("no sure gain", None, NO_OTHER)
    sure = [version for version in others if _lowered(version).high < 0 and version.promise != "broken"]
    if not sure:
        return Recommendation(
            "no sure gain",
            None,
            "None of these versions surely lowers the risk: the intervals of all changes reach 0, so that nothing can be "
            f"recommended by these records.{_still_better(first.surely_beaten_by)}",
        )
    tested = [version for version in sure if version.attacked_by_references and first.attacked_by_references]
    if not tested:
        return _untested(sure)
    cheap = [version for version in tested if _within(version, limits)]
    if not cheap:
        return _at_a_price(max(tested, key=lambda version: version.main.gain.value), limits[0])
    return _use(min(cheap, key=lambda version: version.risk.auc.high), limits[0])


def _lowered(version: Version) -> Estimate:
    assert version.lowered is not None
    return version.lowered


def _within(version: Version, limits: tuple[float, float]) -> bool:
    """Whether a version surely costs no more than it may."""
    return version.main.gain.low >= -limits[0] and all(one.gain.low >= -limits[1] for one in version.faithfulness)


def _untested(sure: Sequence[Version]) -> Recommendation:
    least = min(sure, key=lambda version: version.risk.auc.high)
    return Recommendation(
        "untested",
        None,
        f"“{safe_text(least.name)}” lowers what the attacks that were run find, the AUC changes by {_lowered(least)}. But the attack "
        "that knows a defense best (with reference models trained with it) was not run, and often undoes such a gain: train reference "
        "models (references=4, --references 4, of a model that can be trained again) before you rely on it.",
    )


def _at_a_price(version: Version, price: float) -> Recommendation:
    metric = version.main.metric
    also = " and the explanations" if version.faithfulness else ""
    return Recommendation(
        "at a price",
        None,
        f"The risk can be lowered, but none of the versions that surely lower it surely keeps the {metric}{also} within {price:g} "
        f"of what it is. The cheapest of them by points is “{safe_text(version.name)}”: it changes the AUC by {_lowered(version)} "
        f"and the {metric} by {version.main.change}.",
    )


def _use(version: Version, price: float) -> Recommendation:
    return Recommendation(
        "use",
        version.name,
        f"Use “{safe_text(version.name)}”: it surely lowers the risk, the AUC changes by {_lowered(version)} to "
        f"{version.risk.auc} (0.5 is chance), and the {version.main.metric} by {version.main.change}, surely no loss of more than "
        f"{price:g}.{_also_costs((*version.utility[1:], *version.faithfulness))}",
    )


def _also_costs(measured: Sequence[Measured]) -> str:
    """What else a version surely makes worse."""
    worse = [f"the {safe_text(one.metric)} changes by {one.change}" for one in measured if one.gain.high < 0]
    return f" It surely costs more than that: {' and '.join(worse)}." if worse else ""


def _still_better(name: str | None) -> str:
    if name is None:
        return ""
    return (
        f" “{safe_text(name)}” surely does its job better than the model as it is, at a risk that is not surely lower."
    )
