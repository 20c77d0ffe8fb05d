"""What the experiments of [tople2020, section 4.1] share: sampled data, models, attacks and means over draws.

Every draw samples two training sets of 60 % of the size, for a pair of models that are each other's control
(`causal.membership`). For each of the two it samples test records of 40 % of the size from P and from a shifted P*, whose
tables are redrawn as well. Numbers are means over draws. Their Student's intervals cover samples, trainings and P*, and are
never narrower than the records of the draws allow; ``least`` and ``most`` are the extreme draws. The paper has one run.

The paper leaves these settings open. Here, levels are columns of zeros and ones, and batches have 128 records. The
attack network sees the confidences "based on past work (Salem et al., 2019)", who sort them from the largest down. This one
sorts them too; results for unsorted confidences are marked. The attacker learns from members and from non-members drawn like
those that are judged, unless another law is named.

The labels of the four networks have no children. Given its parents, such a label is independent of all else, so the best
model of all columns is the causal one. The network differs by overfitting, not by using a child of the label.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks import Attack
from leakscope.core import intervals
from leakscope.core.checks import check_count
from leakscope.core.estimate import Estimate
from leakscope.data.records import Records
from leakscope.papers.reproduction import Work

TRAINING, TEST = 0.6, 0.4  # shares of the size
SCORED = 20_000  # records that the accuracy of a model is taken over, at most
FEWEST_DRAWS = 2  # for an interval over draws
MOST_PAIRS = 100  # of trained models that are kept: some 100 MB
_PAIRS: dict[tuple[Any, ...], list[Any]] = {}

TABLE, NETWORK, ON_PARENTS = "causal table", "network", "network on the parents"
#: The paper's attack as it is read here, the same without sorting, and two that also know the record's label.
SORTED, UNSORTED, BOUNDED, TREE = "5-5, sorted", "5-5, unsorted", "bounded loss", "tree with label"
READING = (
    "levels as columns of zeros and ones; batches of 128; the attack network sees sorted confidences; P*: every table but the "
    "label's redrawn; the attacker learns from non-members drawn like the judged ones unless stated otherwise"
)
NO_NUMBERS = "The extracted text has no numbers of this figure but those in the statement."
#: Settings of attacks on models of 60K records.
FULL = {"size": 100_000, "steps": 10_000, "attack_steps": 5000, "judged": 6000, "draws": 3}
QUICK = {"size": 1000, "steps": 100, "attack_steps": 40, "judged": 400, "draws": 2}
STARTS = 4  # attack networks of which the best is kept
FOUR = ("child", "alarm", "sachs", "water")


class Law(NamedTuple):
    """Where non-members come from: P with ``noise`` on every table but the label's; infinite noise redraws them."""

    name: str
    noise: float


P, SHIFTED = Law("P", 0.0), Law("P*", math.inf)


class Attempt(NamedTuple):
    """An attack against non-members of a law, by an attacker who learned from non-members of some laws."""

    law: str
    attack: str
    learned_from: str = "same"


#: The paper's attack and the two that know the label, against both laws.
ATTEMPTS = tuple(Attempt(law, attack) for law in ("P", "P*") for attack in (SORTED, BOUNDED, TREE))


class Budget(NamedTuple):
    """Steps of the models and of the attack networks, how many of these start, and members judged at most."""

    steps: int
    attack_steps: int = 0
    judged: int = 0
    starts: int = STARTS

    def attack(self, name: str) -> Attack:
        """Give an attack by its name in this module."""
        from leakscope import attacks

        if name in (SORTED, UNSORTED):
            return attacks.confidence_network(steps=self.attack_steps, starts=self.starts, sort=name == SORTED)
        if name == BOUNDED:
            return attacks.bounded_loss("labels")
        return attacks.learned("probabilities", "label and confidences", "tree")


@dataclass(frozen=True)
class Sampled:
    """One draw: samples of P that a pair of models trains on, and by law the non-members to judge and to learn from.

    ``choices`` is a seed for what a model of this draw leaves to chance, such as wrong parents.
    """

    label: str
    columns: tuple[str, ...]
    levels: tuple[int, ...]
    parents: tuple[int, ...]
    classes: NDArray[Any]
    samples: tuple[Records, Records]
    nonmembers: Mapping[str, Records]
    learned_nonmembers: Mapping[str, Records]
    choices: np.random.SeedSequence

    def known(self, trial: Attempt) -> list[Records] | None:
        """Give the non-members that the attacker of a trial learns from; None if they are drawn like the judged ones."""
        laws = {"same": None, "P": [P.name], "P and P*": [P.name, SHIFTED.name]}[trial.learned_from]
        return None if laws is None else [self.learned_nonmembers[law] for law in laws]

    def table(self, extra: Sequence[int] = (), name: str = TABLE) -> Any:
        """Give the table of the label given its parents and some more columns."""
        from leakscope.causal import TableKind

        return TableKind((*self.parents, *extra), self.levels, name)

    def network(self, steps: int, on_parents: bool = False) -> Any:
        """Give the network 128-512-128 on all columns, or on the parents alone."""
        from leakscope.causal import NetworkKind

        columns = self.parents if on_parents else tuple(range(len(self.columns)))
        return NetworkKind(columns, self.levels, ON_PARENTS if on_parents else NETWORK, steps=steps)


def table_and_network(drawn: Sampled, effort: Budget) -> list[Any]:
    """Give the paper's two kinds of model."""
    return [drawn.table(), drawn.network(effort.steps)]


def all_kinds(drawn: Sampled, effort: Budget) -> list[Any]:
    """Give the paper's two kinds of model, and between them the network on the parents alone."""
    return [drawn.table(), drawn.network(effort.steps, on_parents=True), drawn.network(effort.steps)]


@dataclass(frozen=True)
class DrawPlan:
    """What is done in every draw of a network and size: which models, and by the name of a model, which trials."""

    network: str
    size: int
    kinds: Callable[[Sampled, Budget], list[Any]]
    trials: Mapping[str, tuple[Attempt, ...]]
    laws: tuple[Law, ...] = (P, SHIFTED)


class DrawFound(NamedTuple):
    """One draw: accuracy of a model by law, S for its sample; attack, control and excess by trial; the blind baseline."""

    accuracy: dict[tuple[str, str], Estimate]
    found: dict[tuple[str, Attempt], dict[str, Estimate]]
    blind: dict[str, Estimate]

    def gap(self, kind: str, law: str) -> Estimate:
        """Give the accuracy on the training sample minus that on a law."""
        return intervals.difference(self.accuracy[kind, "S"], self.accuracy[kind, law])


@dataclass(frozen=True)
class Draws:
    """All draws of a plan."""

    plan: DrawPlan
    answers: Sequence[DrawFound]

    def accuracy(self, kind: str, law: str) -> Estimate:
        """Give the share of records whose label a kind of model predicts."""
        return self.over_draws(lambda answer: answer.accuracy[kind, law], 0.0, 1.0)

    def gap(self, kind: str, law: str) -> Estimate:
        """See `DrawFound.gap`."""
        return self.over_draws(lambda answer: answer.gap(kind, law))

    def gap_difference(self, one: str, other: str, law: str) -> Estimate:
        """Give the gap of one kind of model minus that of another."""
        return self.over_draws(lambda answer: intervals.difference(answer.gap(one, law), answer.gap(other, law)))

    def attack(self, kind: str, trial: Attempt, figure: str = "attack") -> Estimate:
        """Give the accuracy of an attack, of its control, or the excess."""
        least = -1.0 if figure == "excess" else 0.0
        return self.over_draws(lambda answer: answer.found[kind, trial][figure], least, 1.0)

    def blind(self, law: str) -> Estimate:
        """Give the accuracy of the blind baseline, which has no model."""
        return self.over_draws(lambda answer: answer.blind[law], 0.0, 1.0)

    def further(self, one: str, other: str, trial: Attempt) -> Estimate:
        """Give the accuracy of the attack on one kind of model minus that on another."""
        return self.over_draws(
            lambda answer: intervals.difference(
                answer.found[one, trial]["attack"], answer.found[other, trial]["attack"]
            )
        )

    def over_draws(
        self, figure: Callable[[DrawFound], Estimate], least: float = -math.inf, most: float = math.inf
    ) -> Estimate:
        """Give the mean over draws of a figure that lies between two numbers."""
        found = pooled([figure(answer) for answer in self.answers])
        return replace(found, low=max(least, found.low), high=min(most, found.high))


def pooled(draws: Sequence[Estimate]) -> Estimate:
    """Give the mean of independent estimates with Student's interval, at least as wide as their own intervals together allow.

    Few draws may agree by chance: without the second part their interval would have no width.

    Examples
    --------
    >>> pooled([Estimate(0.5, 0.46, 0.54)] * 4)
    0.50 [0.48, 0.52]
    >>> pooled([Estimate(0.4, 0.399, 0.401), Estimate(0.5, 0.499, 0.501), Estimate(0.6, 0.599, 0.601)])
    0.50 [0.25, 0.75]
    """
    value, low, high = (np.array([getattr(draw, end) for draw in draws]) for end in ("value", "low", "high"))
    student = intervals.mean(value)
    below, above = (float(np.sqrt(np.sum((end - value) ** 2)) / len(draws)) for end in (low, high))
    return replace(
        student, low=min(student.low, student.value - below), high=max(student.high, student.value + above),
        method="Student over draws",
    )  # fmt: skip


# --- one draw -----------------------------------------------------------------------------------------------------------


def seed_of(*parts: int | str) -> np.random.SeedSequence:
    """Make a seed from numbers and words."""
    return np.random.SeedSequence([part if isinstance(part, int) else zlib.crc32(part.encode()) for part in parts])


def draw_data(key: str, size: int, laws: Sequence[Law], draw: int, seed: int) -> Sampled:
    """Sample the data of one draw; they depend on the network, the size, the draw and the seed alone.

    Examples
    --------
    >>> drawn = draw_data("child", 1000, [P, SHIFTED], draw=0, seed=0)
    >>> [len(sample) for sample in drawn.samples], len(drawn.nonmembers["P*"]), drawn.columns[drawn.parents[0]]
    ([600, 600], 800, 'ChestXray')
    """
    from leakscope.causal import NETWORKS, load_network, perturb, redraw
    from leakscope.causal import draw as draw_codes

    network, label = load_network(key), NETWORKS[key.lower()].label
    place, base = network.place[label], (seed, key, size, draw)
    training, test = round(TRAINING * size), 2 * round(TEST * size)

    def records(law: Law, count: int, *what: str) -> Records:
        shift = seed_of(*base, "tables")
        moved = (
            redraw(network, [label], shift) if math.isinf(law.noise) else perturb(network, [label], law.noise, shift)
        )
        codes = draw_codes(moved, count, seed_of(*base, law.name, *what))
        return Records(np.delete(codes, place, axis=1), codes[:, place].astype(np.int64), np.arange(count))

    columns = tuple(name for name in network.names if name != label)
    return Sampled(
        label=label,
        columns=columns,
        levels=tuple(len(network.levels[name]) for name in columns),
        parents=tuple(columns.index(name) for name in network.parents[label]),
        classes=np.array(network.levels[label]),
        samples=(records(P, training, "first sample"), records(P, training, "second sample")),
        # the words are part of the seeds
        nonmembers={law.name: records(law, test, "outsiders") for law in laws},
        learned_nonmembers={law.name: records(law, test, "strangers") for law in laws},
        choices=seed_of(*base, "choices"),
    )


def look(plan: DrawPlan, draw: int, effort: Budget, seed: int) -> DrawFound:
    """Train the pairs of models of one draw, and run all trials on them."""
    from leakscope.causal import ModelPair, try_blind, try_membership

    drawn = draw_data(plan.network, plan.size, plan.laws, draw, seed)
    base = (seed, plan.network, plan.size, draw)
    attacked = dict.fromkeys(trial.law for trials in plan.trials.values() for trial in trials)
    blind = {
        law: try_blind(
            drawn.samples, drawn.nonmembers[law], most=effort.judged, seed=seed_of(*base, "blind", law)
        ).accuracy
        for law in attacked
    }
    answer = DrawFound({}, {}, blind)
    for kind in plan.kinds(drawn, effort):
        models = _trained(kind, drawn, base)
        answer.accuracy.update(_accuracies(kind.name, models, drawn))
        pair = ModelPair((models[0], models[1]), drawn.samples)
        for trial in plan.trials.get(kind.name, ()):
            (tried,) = try_membership(
                pair, drawn.nonmembers[trial.law], [effort.attack(trial.attack)], known=drawn.known(trial),
                most=effort.judged, seed=seed_of(*base, "attack", trial.law),
            )  # fmt: skip
            answer.found[kind.name, trial] = {
                "attack": tried.accuracy,
                "control": tried.control_accuracy,
                "excess": tried.excess_accuracy,
            }
    return answer


def _trained(kind: Any, drawn: Sampled, base: tuple[int | str, ...]) -> list[Any]:
    """A pair of models; figures share data, so pairs are kept for those that this process makes next."""
    key = (kind, *base)
    if key not in _PAIRS:
        if len(_PAIRS) >= MOST_PAIRS:
            _PAIRS.pop(next(iter(_PAIRS)))
        _PAIRS[key] = kind.train(drawn.samples, drawn.classes, seed_of(*base, "training", kind.name))
    return _PAIRS[key]


def _accuracies(name: str, models: Sequence[Any], drawn: Sampled) -> dict[tuple[str, str], Estimate]:
    """Over both models of a pair, each on its own sample and on its half of the non-members of each law."""
    found: dict[tuple[str, str], Estimate] = {}
    for law in ("S", *drawn.nonmembers):
        right = []
        for number, model in enumerate(models):
            records = drawn.samples[number] if law == "S" else drawn.nonmembers[law]
            rows = slice(SCORED) if law == "S" else slice(number, 2 * SCORED, 2)
            right.append(model.predict(records.X[rows]).argmax(axis=1) == records.y[rows])
        found[name, law] = intervals.proportion(int(sum(map(np.sum, right))), sum(map(len, right)))
    return found


# --- over draws ---------------------------------------------------------------------------------------------------------


def over_draws(work: Work, plans: Sequence[DrawPlan], draws: int, effort: Budget) -> list[Draws]:
    """Run all draws of every plan."""
    check_count("draws", draws, FEWEST_DRAWS)
    jobs, seed = [(plan, draw) for plan in plans for draw in range(draws)], work.seed
    answers = iter(work.each(jobs, lambda job: look(*job, effort, seed), cost=lambda job: job[0].size))
    return [Draws(plan, [next(answers) for _ in range(draws)]) for plan in plans]
