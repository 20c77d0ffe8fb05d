r"""What the reproductions of shokri2019, section 4, have in common: the data, networks stopped at a given degree of
overfitting, and an attack on each, judged on records that it was not fitted on.

Overfitting is the gap between training and test accuracy [shokri2019, section 4.3.2]. One network per draw is trained; its
two accuracies are measured several times per epoch (for images, every other epoch), and for every wanted gap the weights are
kept at the first measurement that reaches it. An untrained network has no gap either, so gap 0 is the last measurement with
a gap of at most `NO_GAP` before `FIRST_GAP` is reached. A gap that is not reached in the allowed epochs is left out. The test
accuracy is that on the non-members that the attack is judged on, as in the paper.

The attacker knows the membership of half of the records and scores the other half, then the reverse; the
paper's figure is the accuracy on equally many members and non-members, which is :math:`\tfrac12 + \tfrac12` advantage.

The paper leaves open what our reading fills in, and `READING` says so in every reproduction:

* Widths are not stated; section 4.3.1 refers to Shokri et al. 2017, "where possible", for fully connected networks of
  several layers with tanh. Ours has 1024, 512 and 256 neurons for bits, and 128 and 64 for the two tables; for images two
  convolutions of 5 × 5 with 16 and 32 filters, each with max-pooling, and 128 neurons.
* Adagrad with rate 0.01 and decay 1e-7 is stated for section 4.4 only. Batches have 64 records.
* The paper has 104 columns for Adult in its appendix B.4 and 24 in its Table 1; ours are the 104.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks import Attack, Scores
from leakscope.core import intervals
from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.extras import import_torch
from leakscope.core.ranking import Scale, split
from leakscope.data.records import Records
from leakscope.evaluation.crossfit import Sample, cross_guess, scale_of
from leakscope.evaluation.risk import Judged
from leakscope.models.model import Model
from leakscope.papers.reproduction import Work
from leakscope.releases.release import observe

Answer = TypeVar("Answer")

GAPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
NO_GAP, FIRST_GAP = 0.01, 0.05
RATE, RATE_DECAY = 0.01, 1e-7
KERNEL, DENSE = 5, 128  # of the network for images
READING = (
    "tanh networks trained by Adagrad (rate 0.01, decay 1e-7) on batches of 64: 1024-512-256 for bits, 128-64 for tables, two "
    "convolutions (16 and 32 filters of 5 × 5, max-pooling) and 128 neurons for images; the paper states no widths; stopped "
    "at the first measurement that reaches a gap between training and test accuracy; attacks fitted on one half of the records and "
    "judged on the other"
)


class Schedule(NamedTuple):
    """How a network is trained, and how often per epoch its accuracies are measured.

    ``widths`` are the neurons of each hidden layer, or the filters of the two convolutions. Half a measurement per
    epoch is one every other epoch.
    """

    widths: tuple[int, ...]
    epochs: int
    looks: float
    batch: int = 64


class OverfitData(NamedTuple):
    """A data set of the paper or its substitute, as it is stored; `draw` gives records as a network takes them."""

    key: str
    name: str
    X: NDArray[Any]
    y: NDArray[np.int64]
    classes: int
    size: int
    training: Schedule
    stands_in: str = ""

    @property
    def is_image(self) -> bool:
        return self.X.ndim > 2


class Stopped(NamedTuple):
    """A network at the moment when it was stopped, with the records that it was and was not trained on.

    ``wanted`` is the gap that was asked for, None at the end of the training; ``gap`` is the one it has. ``module`` gives
    logits. The ids of the records are their places in the source.
    """

    wanted: float | None
    gap: float
    epochs: float
    train: float
    test: float
    module: Any
    members: Records
    nonmembers: Records
    classes: int

    @property
    def model(self) -> Model:
        from leakscope.models.adapters import function_model

        return function_model(self.module, "classification", np.arange(self.classes), "logits", one_thread=True)


_BITS = (1024, 512, 256)
#: The sets of [shokri2019, Table 1], and how their networks are trained.
SETS: dict[str, tuple[str, Schedule]] = {
    "purchase100": ("Purchase", Schedule(_BITS, epochs=40, looks=10)),
    "texas100": ("Texas", Schedule(_BITS, epochs=60, looks=4)),
    "cifar100": ("CIFAR-100", Schedule((16, 32), epochs=60, looks=0.5)),
    "diabetes130": ("Hospital", Schedule((128, 64), epochs=60, looks=2)),
    "adult": ("Adult", Schedule((128, 64), epochs=60, looks=2)),
}
SIZE = 10_000  # records for training, and as many for the test
#: Settings that Figures 4 and 12 share.
FULL = {"records": 2505, "judged": 1200, "draws": 2}
QUICK = {"records": 300, "judged": 150, "draws": 1}


# --- data ---------------------------------------------------------------------------------------------------------------


def load(key: str) -> OverfitData | None:
    """Load one of the sets, or its substitute; None where neither is in the mirror folder or the cache.

    ``location30`` asks for the stand-in of ``purchase100`` by its own name.
    """
    from leakscope.data import datasets

    if key not in (*SETS, "location30"):
        raise InputError(f"section 4 has no data set {key!r}: choose one of {', '.join(SETS)}, location30")
    here = datasets.available(key)
    if key == "location30" or (key == "purchase100" and not here):
        words = "location30 (446 bits, 30 classes, 2,505 + 2,505 records) in the place of purchase100"
        return _read("location30", "purchase100", "Location", words)
    if key == "cifar100" and not here and datasets.available("cifar100_20k"):
        return _read("cifar100_20k", key, SETS[key][0], "a fixed subset of 20,000 images in the place of cifar100")
    if key == "texas100" and not here:
        return None
    return _read(key, key, SETS[key][0])


def _read(dataset: str, key: str, name: str, stands_in: str = "") -> OverfitData:
    from leakscope.data import datasets

    data = datasets.load(dataset, preparation="one-hot" if key in ("diabetes130", "adult") else None)
    X, y = np.asarray(data.X), np.asarray(data.y, np.int64)
    X = X.astype(np.float32) if X.dtype.kind == "f" else X  # bits and bytes stay so until they are drawn
    words = "; ".join(filter(None, [stands_in, data.stands_in]))
    return OverfitData(key, name, X, y, int(y.max()) + 1, min(SIZE, len(y) // 2), SETS[key][1], words)


def draw(source: OverfitData, size: int, rng: np.random.Generator) -> tuple[Records, Records]:
    """Draw members and as many non-members, as float32; images are (colour, height, width) in [0, 1]."""
    if not 1 <= size <= len(source.y) // 2:
        raise InputError(
            f"{source.name} has {len(source.y):,} records: draw 1 to {len(source.y) // 2:,} of each kind, not {size}"
        )
    order = rng.permutation(len(source.y))
    return _records(source, order[:size]), _records(source, order[size : 2 * size])


def _records(source: OverfitData, rows: NDArray[np.intp]) -> Records:
    X = source.X[rows].astype(np.float32)
    if source.is_image:
        X = np.ascontiguousarray(X.transpose(0, 3, 1, 2)) / np.float32(255)
    return Records(X, source.y[rows], rows)


# --- networks -----------------------------------------------------------------------------------------------------------


def network(source: OverfitData, widths: Sequence[int]) -> Any:
    """Make an untrained network for the records of a source, by torch's random numbers; it gives logits."""
    from torch import nn

    parts: list[Any] = []
    inputs = source.X.shape[1]
    if source.is_image:
        channels, side = source.X.shape[3], source.X.shape[1]
        for filters in widths:
            parts += [nn.Conv2d(channels, filters, KERNEL), nn.Tanh(), nn.MaxPool2d(2)]
            channels, side = filters, (side - KERNEL + 1) // 2
        parts.append(nn.Flatten())
        inputs, widths = channels * side * side, (DENSE,)
    for width in widths:
        parts += [nn.Linear(inputs, width), nn.Tanh()]
        inputs = width
    return nn.Sequential(*parts, nn.Linear(inputs, source.classes))


class OverfitCase(NamedTuple):
    """A data set, how many records train its networks, how they are trained, and how often."""

    source: OverfitData
    size: int
    training: Schedule
    draws: int


def targets(
    case: OverfitCase, gaps: Sequence[float], seed: int, number: int = 0, *, to_end: bool = False
) -> list[Stopped]:
    """Train one network and stop it at each of the gaps that it reaches, in their order.

    ``number`` says which draw of records and of the network's start this is. ``to_end`` adds the network at the end, with
    ``wanted`` None.
    """
    import_torch("the networks of section 4")
    from leakscope.models.adapters import seeded_torch

    if not (gaps or to_end) or not all(0 <= gap <= 1 for gap in gaps):
        raise InputError(f"gaps are numbers from 0 to 1, one or more of them, not {list(gaps)}")
    rng = np.random.default_rng([seed, list(SETS).index(case.source.key), number])
    members, nonmembers = draw(case.source, case.size, rng)
    kept: dict[float | None, Stopped] = {}
    has_gap = False
    with seeded_torch(rng):
        for now in _looks(case, members, nonmembers):
            reached = [gap for gap in gaps if gap > 0 and gap <= now.gap and gap not in kept]
            has_gap |= now.gap >= FIRST_GAP
            if 0 in gaps and not has_gap and now.gap <= NO_GAP:
                reached.append(0.0)
            for gap in reached:
                kept[gap] = now._replace(wanted=gap, module=copy.deepcopy(now.module))
            if not to_end and now.gap >= max(FIRST_GAP, *gaps):
                break
    if to_end:
        kept[None] = now
    return [kept[gap] for gap in (*sorted(gaps), None) if gap in kept]


def _looks(case: OverfitCase, members: Records, nonmembers: Records) -> Iterator[Stopped]:
    """Train by torch's random numbers and yield the network after every part of an epoch; it goes on changing."""
    import torch

    source, training = case.source, case.training
    module = network(source, training.widths)
    optimizer = torch.optim.Adagrad(module.parameters(), lr=RATE, lr_decay=RATE_DECAY)
    sides = [(torch.from_numpy(side.X), torch.from_numpy(side.y)) for side in (members, nonmembers)]
    X, y = sides[0]
    every = max(1, round(1 / training.looks))  # epochs
    for epoch in range(training.epochs):
        batches = torch.randperm(len(X)).split(training.batch)
        for part in np.array_split(np.arange(len(batches)), max(1, min(int(training.looks), len(batches)))):
            for number in part.tolist():
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(module(X[batches[number]]), y[batches[number]]).backward()
                optimizer.step()
            if (epoch + 1) % every and epoch + 1 < training.epochs:
                continue
            train, test = (_accuracy(module, *side) for side in sides)
            epochs = epoch + (int(part[-1]) + 1) / len(batches)
            yield Stopped(None, train - test, epochs, train, test, module, members, nonmembers, source.classes)


def _accuracy(module: Any, X: Any, y: Any) -> float:
    import torch

    with torch.no_grad():  # blocks that stay in the cache: larger ones take images three times as long
        right = sum(
            int((module(x).argmax(dim=1) == label).sum()) for x, label in zip(X.split(128), y.split(128), strict=True)
        )
    return right / len(y)


# --- attacks ------------------------------------------------------------------------------------------------------------


class Watched(NamedTuple):
    """What releases show of equally many members and non-members, and which half each of them is in."""

    sample: Sample
    observed: dict[str, Floats]
    labels: NDArray[np.int64]


def watch(stopped: Stopped, releases: Sequence[str], rng: np.random.Generator, most: int | None = None) -> Watched:
    """Observe the releases at the records of a target, at most ``most`` members and as many non-members."""
    from leakscope.data.fingerprints import row_hashes

    sides = [side.take(np.arange(min(len(side), most or len(side)))) for side in (stopped.members, stopped.nonmembers)]
    hashes = [row_hashes(side.X, side.y) for side in sides]
    sample = Sample.draw(hashes[0], hashes[1], rng)
    inside, outside = (observe(stopped.model, side, releases) for side in sides)
    shown = {name: sample.judge(inside[name], outside[name]) for name in releases}
    return Watched(sample, shown, sample.judge(sides[0].y, sides[1].y))


def judge(attack: Attack, watched: Watched, rng: np.random.Generator, *, permuted: bool = False) -> Judged:
    """Fit the attack on each half and judge it on the other; ``permuted`` shuffles the memberships first."""
    sample, observed = watched.sample, watched.observed
    member = sample.permuted(rng) if permuted else sample.member
    second = attack.second_in(observed)
    guesses, _ = cross_guess(attack, observed[attack.release], watched.labels, member, sample.half, rng, second=second)
    return Judged(guesses, member, scale_of(attack, sample.half))


def pool(parts: Sequence[Judged]) -> Judged:
    """Pool the judged records of several targets: their scores are compared within each target only."""
    strata, blocks = ([getattr(part.scale, name) for part in parts] for name in ("stratum", "block"))
    guesses = [part.attack_scores for part in parts]
    return Judged(
        Scores(
            np.concatenate([guess.score for guess in guesses]), np.concatenate([guess.says_member for guess in guesses])
        ),
        np.concatenate([part.member for part in parts]),
        Scale(_apart(strata), _apart(blocks)),
    )


def _apart(numbers: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Numbers of several sets, moved so that no two sets share one."""
    starts = np.cumsum([0, *(int(part.max()) + 1 for part in numbers)])
    return np.concatenate([part + start for part, start in zip(numbers, starts[:-1], strict=True)])


def accuracy(judged: Judged) -> Estimate:
    """Give the share of right decisions over equally many members and non-members, by the attack's own decisions."""
    return intervals.mean_difference(judged.says).mapped(as_accuracy)


def auc(judged: Judged) -> Estimate:
    return intervals.auc(judged.ranking)


def as_accuracy(advantage: float) -> float:
    return 0.5 + 0.5 * advantage


def gain(first: Judged, second: Judged) -> Estimate:
    """Give the accuracy of the first attack minus that of the second on the same records; the interval is for pairs.

    Half the change of a decision, plus one half, lies in [0, 1], and its mean over members minus that over non-members is the
    change of the accuracy.
    """
    scales = sorted((first.scale, second.scale), key=lambda scale: len(np.unique(scale.stratum)))
    change = (first.attack_scores.says_member - second.attack_scores.says_member + 1) / 2
    return replace(intervals.mean_difference(split(change, first.member, scales[-1])), method="Agresti-Caffo, paired")


# --- over draws ---------------------------------------------------------------------------------------------------------


def purchase(records: int, draws: int, **training: Any) -> OverfitCase:
    """Give Purchase, with other settings of its training; a quarter of an epoch is fine enough for large gaps."""
    source = load("purchase100")
    assert source is not None  # location30 stands in
    return OverfitCase(source, min(records, source.size), source.training._replace(looks=4, **training), draws)


def settings_of(case: OverfitCase, **more: Any) -> dict[str, Any]:
    """Give all that the numbers of one case depend on."""
    stands_in = case.source.stands_in or "none: the data set is that of the paper"
    return {"reading": READING, "stands_in": stands_in, **more, "records": case.size, "networks": case.draws}


def over_targets(
    work: Work,
    cases: Sequence[OverfitCase],
    gaps: Sequence[float],
    measure: Callable[[Stopped, np.random.Generator], Answer],
) -> list[list[list[tuple[Stopped, Answer]]]]:
    """Apply ``measure`` to every target: by case and by wanted gap, for the draws that reach the gap.

    The targets come without their networks and records.
    """
    jobs = [(case, number) for case in cases for number in range(case.draws)]
    seed = work.seed

    def run(job: tuple[OverfitCase, int]) -> list[tuple[Stopped, Answer]]:
        case, number = job
        found = targets(case, gaps, seed, number)
        rngs = [np.random.default_rng([seed, number, place]) for place in range(len(found))]
        answers = [measure(stopped, rng) for stopped, rng in zip(found, rngs, strict=True)]
        nobody = Records(np.empty(0), np.empty(0, np.int64), np.empty(0, np.intp))
        bare = [stopped._replace(module=None, members=nobody, nonmembers=nobody) for stopped in found]
        return list(zip(bare, answers, strict=True))

    answers = work.each(jobs, run, cost=lambda job: job[0].size * job[0].source.X[0].size)
    if not any(answers):
        raise InputError(f"no network reaches a gap of {min(gaps):g}: train longer, or ask for smaller gaps")
    table = []
    for case in cases:
        drawn = [pair for job, found in zip(jobs, answers, strict=True) if job[0] is case for pair in found]
        table.append([[pair for pair in drawn if pair[0].wanted == gap] for gap in sorted(gaps)])
    return table
