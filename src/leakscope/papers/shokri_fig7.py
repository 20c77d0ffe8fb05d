r"""[shokri2019, Figure 7]: the largest influence at members and at non-members, and which members reveal themselves.

The released influence is an attack on membership too: the AUC is the chance that a member's largest \|influence\| is
above a non-member's. ``rest`` leaves out the members that their explanation shows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leakscope.core.arrays import Booleans, Floats
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import auc, proportion
from leakscope.core.ranking import Ranking, ScoreSplit
from leakscope.core.result import Claim
from leakscope.papers import panels, shokri
from leakscope.papers.reproduction import Reproduction, Work, statement
from leakscope.papers.shokri import Study
from leakscope.papers.trends import between
from leakscope.releases.record_explanations import RecordExplanation

ID = "shokri-fig7"
TITLE = "Largest influence at members and at non-members"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, Figure 7 and section 5.1.2",
    "statement": (
        "Influences are similarly distributed for members and non-members, and differ once members that reveal themselves "
        "are left out."
    ),
    "numbers": "The paper gives no numbers: the AUC measures how similar two distributions are (0.5: equal).",
}
FULL = {"size": 2000}
QUICK = {"size": 200}
SIMILAR = 0.1  # how far from 0.5 the AUC's interval may reach for two distributions to count as similar


class Sizes(NamedTuple):
    """Largest absolute influence at each member and non-member, and which members are the record that has it."""

    members: Floats
    revealed: Booleans
    nonmembers: Floats

    @property
    def share_revealed(self) -> Estimate:
        """Percent of members that reveal themselves."""
        return proportion(int(self.revealed.sum()), len(self.revealed)).mapped(lambda share: 100 * share)


def run(work: Work, size: int) -> Reproduction:
    """Measure one draw of each data set."""
    found = shokri.cases(size, draws=1, picture_draws=1, hospital_weights=(1.0,))
    answers = shokri.over_draws(work, found, _sizes)
    sizes = [drawn for (drawn,) in answers]
    aucs = list(map(_aucs, sizes))
    return work.result(
        settings=shokri.settings(found, k=1, similar=SIMILAR),
        columns=["data", "members", "nonmembers", "revealed", "auc", "rest", "note"],
        rows=[
            [case.name, len(drawn.members), len(drawn.nonmembers), drawn.share_revealed, every,
             rest, case.source.stands_in or None]
            for case, drawn, (every, rest) in zip(found, sizes, aucs, strict=True)
        ],
        statements=[part for case, both in zip(found, aucs, strict=True) for part in _statements(case.name, *both)],
        panels=[_figure(case.name, drawn) for case, drawn in zip(found, sizes, strict=True)],
    )  # fmt: skip


def _sizes(drawn: Study) -> Sizes:
    """The largest influence needs no more than the first record of an explanation."""
    first = RecordExplanation(k=1)
    members, others = (first.explain(drawn.loo, points) for points in (drawn.X, drawn.holdout))
    revealed = members.records[:, 0] == np.arange(len(drawn.X))
    return Sizes(np.abs(members.influences[:, 0]), revealed, np.abs(others.influences[:, 0]))


def _aucs(drawn: Sizes) -> tuple[Estimate, Estimate | None]:
    """AUC of all members against non-members, and of the members that are not revealed (None without any)."""

    def against(members: Floats) -> Estimate:
        return auc(Ranking.of([ScoreSplit(members, drawn.nonmembers)]))

    rest = drawn.members[~drawn.revealed]
    return against(drawn.members), against(rest) if len(rest) else None


def _figure(name: str, drawn: Sizes) -> panels.Panel:
    parts = {
        "members": drawn.members,
        "members that reveal themselves": drawn.members[drawn.revealed],
        "non-members": drawn.nonmembers,
    }
    positive = {words: values[values > 0] for words, values in parts.items()}
    return panels.histograms(name, ("Largest |influence| on the record", "Records"), positive)


def _statements(name: str, every: Estimate, rest: Estimate | None) -> list[Claim]:
    """Similar if the AUC's interval stays close to 0.5; different if that of the rest excludes 0.5."""
    similar = between(every, 0.5 - SIMILAR, 0.5 + SIMILAR)
    apart = None if rest is None or rest.low <= 0.5 <= rest.high else True
    return [
        statement(f"{name}: the distributions are similar", similar, {"AUC": every}),
        statement(f"{name}: they differ without revealed members", apart, {"AUC without revealed members": rest}),
    ]
