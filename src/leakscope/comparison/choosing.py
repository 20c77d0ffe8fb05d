"""Which versions are beaten by another, and what may be recommended: words only where the intervals allow them.

A version has a risk, the largest AUC of any attack, and qualities: its accuracy and log-loss (or its mean squared error), and
how faithful each released explanation is. *By points* one is beaten by another that is at least as good in all and better in one. *Surely beaten* is a claim over
intervals: another is surely better in one, and in the others surely worse by no more than a margin. Risks and qualities are
compared on the same records, and all pairs hold together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leakscope import intervals
from leakscope.comparison.paired import PairedAucs
from leakscope.comparison.result import Measured, Recommendation
from leakscope.comparison.utility import Floats
from leakscope.report.words import safe_text
from leakscope.results import Estimate

NO_OTHER = (
    "No other version of the model was asked for: the defenses here change explanations by records only, and none of them the "
    "answers, by which members are told apart."
)


@dataclass(frozen=True, eq=False)
class Rivals:
    """Risk and utility of all versions, comparable pair by pair.

    ``places`` says which of the paired AUCs belong to which version; ``qualities`` are for each version what must not get
    worse, each at the same held-out records for all, so that more is better, and ``limits`` how much worse each may surely be.
    """

    paired: PairedAucs
    places: Sequence[Sequence[int]]
    qualities: Sequence[Sequence[Floats]]
    margin: float
    limits: Sequence[float]

    def risk_change(self, ours: int, theirs: int) -> Estimate:
        """Risk of ours minus risk of theirs."""
        return self.paired.difference(self.places[ours], self.places[theirs])

    def gains(self, ours: int, theirs: int) -> list[Estimate]:
        """Qualities of ours minus those of theirs."""
        count = len(self.places)
        pairs = max(1, count * (count - 1) // 2) * len(self.qualities[0])
        confidence = 1 - (1 - self.paired.confidence) / pairs
        both = zip(self.qualities[ours], self.qualities[theirs], strict=True)
        return [intervals.mean(own - other, confidence) for own, other in both]

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
        by_points = risk.value <= 0 and all(gain.value >= 0 for gain in gains)
        within = all(gain.low >= -limit for gain, limit in zip(gains, self.limits, strict=True))
        better = any(gain.low > 0 for gain in gains) and risk.high <= self.margin
        return by_points and within and (risk.high < 0 or better)


def _as_good(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """At least as good in everything, up to rounding."""
    return all(one >= other - 1e-9 for one, other in zip(ours, theirs, strict=True))


def recommend(
    names: Sequence[str],
    risks: Sequence[Estimate],
    lowered: Sequence[Estimate | None],
    utility: Sequence[Sequence[Measured]],
    limits: Sequence[float],
    broken: Sequence[bool],
    faithful: Sequence[Sequence[Measured]] = (),
    better: str | None = None,
    leaks: bool = True,
    doubt: str = "",
) -> Recommendation:
    """What the intervals allow to say; a version whose guarantee is broken is never recommended.

    ``utility`` holds the metrics of each version, the main one first, and ``limits`` what may be lost of that and of the
    faithfulness of explanations. ``leaks``
    says whether an attack surely beats chance on the model as it is, and ``doubt`` why that may not be the model's doing. ``faithful`` says what versions cost in the faithfulness of explanations, where these are released; ``better`` names a
    version that surely beats the model as it is.
    """
    main = [measured[0] for measured in utility]
    metric = main[0].metric
    if doubt:
        return Recommendation("cannot tell", None, f"Nothing can be recommended: {doubt}.")
    if not leaks:
        return Recommendation(
            "nothing to lower",
            None,
            f"No attack surely beats chance on the model as it is (largest AUC {risks[0]}, 0.5 is chance): there is nothing "
            "here that a defense could be seen to lower. That is no proof that there is nothing.",
        )
    if len(names) == 1:
        return Recommendation("no sure gain", None, NO_OTHER)
    sure = [at for at, change in enumerate(lowered) if change is not None and change.high < 0 and not broken[at]]
    if not sure:
        return Recommendation(
            "no sure gain",
            None,
            "None of these versions surely lowers the risk: the intervals of all changes reach 0, so that nothing can be "
            f"recommended by these records.{_still_better(better)}",
        )
    further = faithful or [()] * len(names)
    price, of_explanations = limits
    cheap = [
        at
        for at in sure
        if main[at].gain.low >= -price and all(one.gain.low >= -of_explanations for one in further[at])
    ]
    if not cheap:
        least = max(sure, key=lambda at: main[at].gain.value)
        return Recommendation(
            "at a price",
            None,
            f"The risk can be lowered, but none of the versions that surely lower it surely keeps the {metric}{' and the explanations' if any(further) else ''} "
            f"within {price:g} of what it is. The cheapest of them by points is “{safe_text(names[least])}”: it changes the AUC by "
            f"{lowered[least]} and the {metric} by {main[least].change}.",
        )
    best = min(cheap, key=lambda at: risks[at].high)
    return Recommendation(
        "use",
        names[best],
        f"Use “{safe_text(names[best])}”: it surely lowers the risk, the AUC changes by {lowered[best]} to {risks[best]} (0.5 is "
        f"chance), and the {metric} by {main[best].change}, surely no loss of more than {price:g}."
        f"{_also_costs((*utility[best][1:], *further[best]))}",
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
