"""[shokri2019, Figure 4, section 4.5]: the 1-norm of SmoothGrad by number of samples, for members and non-members.

SmoothGrad averages gradients at k points x + δ with δ ~ N(0, σ²I); with no noisy sample it is the gradient. The paper does
not state its σ: several are used. There are two measures: the AUC of −‖φ‖₁, which is below one half where members have
the *larger* norms, and the accuracy of a decision tree on the norm, which finds either with less power. The tree is fitted on
one half of the records and judged on the other.

Intervals are over records, for these networks: records of different networks are pooled, and compared within each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from leakscope.attacks import Scores, explanation_norm
from leakscope.core.arrays import Booleans, Floats
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import mean, median
from leakscope.core.ranking import Scale
from leakscope.core.result import Claim
from leakscope.core.wording import write
from leakscope.evaluation.risk import Judged
from leakscope.papers import panels, shokri_targets
from leakscope.papers.reproduction import Cell, Reproduction, Work, statement
from leakscope.papers.shokri_dimensions import magnitude
from leakscope.papers.shokri_targets import Stopped, accuracy, auc, judge, pool, watch
from leakscope.papers.trends import between, every

ID = "shokri-fig4"
TITLE = "The 1-norm of SmoothGrad, by number of samples and size of the noise"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, section 4.5 and Figure 4",
    "statement": (
        "One noisy sample brings the 1-norms of members and non-members so close that the attack fails; averaging over more "
        "samples brings all norms down."
    ),
    "numbers": "The extracted text of the paper has no numbers of this figure, nor the size of the noise.",
}
FULL = shokri_targets.FULL | {"gap": 0.25, "sigmas": (0.1, 0.2, 0.5, 1.0), "samples": (1, 2, 5, 20), "epochs": 20}
QUICK = shokri_targets.QUICK | {"gap": 0.25, "sigmas": (0.2, 1.0), "samples": (1, 5), "epochs": 6}

#: Of each distribution of norms the median with its interval, and after it the quartiles.
COLUMNS = [
    "target", "gap", "σ", "samples", "auc", "tree",
    *("members", "members_25", "members_75"),
    *("nonmembers", "nonmembers_25", "nonmembers_75"),
]  # fmt: skip


class SmoothGradSetting(NamedTuple):
    """Standard deviation of the noise and number of samples; no samples is the gradient."""

    sigma: float
    samples: int

    @property
    def release(self) -> str:
        return f"smoothgrad:sigma={self.sigma:g}:samples={self.samples}" if self.samples else "gradient"


class Norms(NamedTuple):
    """1-norms of one release at the records of one network, and what a tree makes of them."""

    norms: Floats
    member: Booleans
    tree: Judged


TargetNorms = tuple[str, float, list[Norms]]  # name and gap of a target, and what was seen of it with each setting


class SmoothGradRow(NamedTuple):
    """One setting at one target, pooled over networks."""

    target: str
    gap: float
    setting: SmoothGradSetting
    members: Floats
    nonmembers: Floats
    auc: Estimate
    tree: Estimate

    def cells(self) -> list[Cell]:
        sigma = self.setting.sigma if self.setting.samples else None
        return [
            self.target, self.gap, sigma, self.setting.samples, self.auc, self.tree,
            *_quartiles(self.members), *_quartiles(self.nonmembers),
        ]  # fmt: skip


def run(
    work: Work, gap: float, sigmas: Sequence[float], samples: Sequence[int], judged: int, epochs: int, **drawn: int
) -> Reproduction:
    """Measure SmoothGrad of networks stopped at a gap, and trained to the end."""
    case, seed = shokri_targets.purchase(**drawn, epochs=epochs), work.seed
    settings = [SmoothGradSetting(0.0, 0), *(SmoothGradSetting(sigma, count) for sigma in sigmas for count in samples)]

    def look(number: int) -> list[TargetNorms]:
        found = shokri_targets.targets(case, (gap,), seed, number, to_end=True)
        rng = np.random.default_rng([seed, number])
        names = ["end" if stopped.wanted is None else f"gap {stopped.wanted:g}" for stopped in found]
        looks = [_look(stopped, settings, judged, rng) for stopped in found]
        return [(name, stopped.gap, look) for name, stopped, look in zip(names, found, looks, strict=True)]

    answers = [part for seen in work.each(range(case.draws), look) for part in seen]
    names = list(dict.fromkeys(name for name, _, _ in answers))
    rows = [row for name in names for row in _rows(name, [part for part in answers if part[0] == name], settings)]
    return work.result(
        settings=shokri_targets.settings_of(case, judged=judged, epochs=epochs),
        columns=COLUMNS,
        rows=[row.cells() for row in rows],
        statements=_statements(rows),
        notes=_findings(rows),
        panels=[part for name in names for part in _figures(name, rows)],
    )


def _look(
    stopped: Stopped, settings: Sequence[SmoothGradSetting], judged: int, rng: np.random.Generator
) -> list[Norms]:
    """The norms of every setting, one after the other: all explanations at once would fill the memory.

    Each time the same records are used, in the same order.
    """
    found = []
    for setting in settings:
        attack = explanation_norm(setting.release)
        watched = watch(stopped, attack.releases, np.random.default_rng(0), most=judged)
        norms = np.abs(watched.observed[attack.release]).sum(axis=1, dtype=np.float64)
        found.append(Norms(norms, watched.sample.member, judge(attack, watched, rng)))
    return found


def _rows(name: str, answers: Sequence[TargetNorms], settings: Sequence[SmoothGradSetting]) -> list[SmoothGradRow]:
    rows = []
    for place, setting in enumerate(settings):
        found = [looks[place] for _, _, looks in answers]
        together = pool([Judged(Scores(-one.norms, one.norms), one.member, _one_scale(one)) for one in found])
        rows.append(
            SmoothGradRow(
                target=name,
                gap=float(np.mean([gap for _, gap, _ in answers])),
                setting=setting,
                members=np.concatenate([one.norms[one.member] for one in found]),
                nonmembers=np.concatenate([one.norms[~one.member] for one in found]),
                auc=auc(together),
                tree=accuracy(pool([one.tree for one in found])),
            )
        )
    return rows


def _one_scale(found: Norms) -> Scale:
    return Scale(*np.zeros((2, len(found.norms)), np.intp))


def _quartiles(norms: Floats) -> list[Cell]:
    """Median with its interval, and the quartiles."""
    return [median(norms), *np.quantile(norms, (0.25, 0.75)).tolist()]


def _statements(rows: Sequence[SmoothGradRow]) -> list[Claim]:
    """Of each target: the gradient is attacked, one noisy sample ends that, and more samples bring norms down."""
    found = []
    for name in dict.fromkeys(row.target for row in rows):
        plain, *noisy = [row for row in rows if row.target == name]
        found.append(statement(f"{name}: the gradient reveals membership", not _fails(plain), _told(plain)))
        drops = []
        for sigma, first, last in _ends(noisy):
            said = f"{name}, σ = {sigma:g}: the attack fails with one noisy sample"
            found.append(statement(said, _fails(first), _told(first)))
            # E‖mean of k gradients‖₁ falls with k by the triangle inequality; medians need not
            drops.append(mean(np.concatenate([first.members - last.members, first.nonmembers - last.nonmembers])))
        least = min(drops, key=lambda drop: drop.value)
        said = f"{name}: {noisy[-1].setting.samples} samples instead of one reduce the mean norm"
        found.append(statement(said, every([between(drop, 0.0) for drop in drops]), {"smallest reduction": least}))
    return found


def _ends(noisy: Sequence[SmoothGradRow]) -> Iterator[tuple[float, SmoothGradRow, SmoothGradRow]]:
    """For each σ the rows with the fewest and with the most samples."""
    for sigma in dict.fromkeys(row.setting.sigma for row in noisy):
        ours = sorted((row for row in noisy if row.setting.sigma == sigma), key=lambda row: row.setting.samples)
        yield sigma, ours[0], ours[-1]


def _fails(row: SmoothGradRow) -> bool:
    """Whether neither the tree nor the order of the norms, either way round, distinguishes members."""
    return row.tree.low <= 0.5 and row.auc.low <= 0.5 <= row.auc.high


def _told(row: SmoothGradRow) -> dict[str, Estimate]:
    return {"AUC of −‖φ‖₁": row.auc, "accuracy of the tree": row.tree}


def _findings(rows: Sequence[SmoothGradRow]) -> list[str]:
    """Where averaging brings the attack back, and where it is the members that have the larger norms."""
    found = [
        f"{name}, σ = {sigma:g}: averaging over more samples brings the attack back, AUC {write(first.auc)} to {write(last.auc)}."
        for name in dict.fromkeys(row.target for row in rows)
        for sigma, first, last in _ends([row for row in rows if row.target == name and row.setting.samples])
        if magnitude(_beyond(last)).low > magnitude(_beyond(first)).high
    ]
    turned = [row for row in rows if row.auc.high < 0.5]
    if turned:
        most = min(turned, key=lambda row: row.auc.value)
        where = f"{most.target}, σ = {most.setting.sigma:g}, {most.setting.samples} samples"
        found.append(
            f"In {len(turned)} of {len(rows)} settings members have the larger norms. The smallest AUC is {write(most.auc)} ({where})."
        )
    return found


def _beyond(row: SmoothGradRow) -> Estimate:
    return row.auc.mapped(lambda auc: auc - 0.5)


def _figures(name: str, rows: Sequence[SmoothGradRow]) -> list[panels.Panel]:
    """The AUC by number of samples, a line for each σ; and the medians of the norms for the σ in the middle."""
    plain, *noisy = [row for row in rows if row.target == name]
    sigmas = list(dict.fromkeys(row.setting.sigma for row in noisy))
    middle = sigmas[len(sigmas) // 2]
    series = {
        f"σ = {sigma:g}": [(row.setting.samples, _beyond(row)) for row in noisy if row.setting.sigma == sigma]
        for sigma in sigmas
    }
    shown_here = [plain, *(row for row in noisy if row.setting.sigma == middle)]
    return [
        panels.lines(
            f"Network, {name}: AUC of −‖SmoothGrad‖₁",
            ("Noisy samples", "AUC − ½ (below 0: members larger)"),
            series,
            goal=(_beyond(plain).value, "the gradient itself"),
        ),
        panels.bars(
            f"Network, {name}: median of ‖SmoothGrad‖₁, σ = {middle:g}",
            ("Noisy samples (0: the gradient)", "Median of the 1-norm"),
            [str(row.setting.samples) for row in shown_here],
            {
                "members": [median(row.members) for row in shown_here],
                "non-members": [median(row.nonmembers) for row in shown_here],
            },
        ),
    ]
