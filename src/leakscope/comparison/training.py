"""All models of a comparison, trained in one place: versions with the same learner share them.

For each learner the worlds are the same, with the same generators, so that versions differ by the defense and by nothing else:

- world 0: all members, the version itself (not for the model as it is, which is there already);
- worlds 1 and 2: one half of the members each, the never-trained control (`control`);
- worlds 3 on: random halves of members and judged non-members in complementary pairs, the attacker's shadow models, trained
  *with* the defense (Carlini et al. 2022).

What is kept of a model are its answers, and the releases that need the model itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.control import deal
from leakscope.crossfit import Hashes, Indices, Sample
from leakscope.errors import InputError, TrainingError
from leakscope.failures import cause
from leakscope.records import take_rows
from leakscope.releases import RELEASES, observe, stack
from leakscope.target import Learner, Records, Target, predict_in_blocks
from leakscope.worlds import Worlds, random_halves

Floats = NDArray[np.float64]
Shown = dict[str, Floats]
Retrain = Callable[..., list[dict[str, NDArray[Any]]]]
ANSWERS, FAITHFUL = "answers", "faithful: "
CONTROLS = 2


@dataclass(frozen=True, eq=False)
class Design:
    """Who is in which world, and about whom each model is asked; the same for all versions.

    Positions count members first, then non-members.
    """

    everyone: Records
    members: int
    judged: Indices
    trains: Indices
    asked: Indices
    shadows: Worlds | None
    pool: Indices
    controls: bool = True

    @property
    def worlds(self) -> tuple[int, ...]:
        """Numbers of the worlds, the version itself first."""
        if not self.controls:
            return (0,)
        return tuple(range(1 + CONTROLS + (0 if self.shadows is None else len(self.shadows))))

    def draw(self, world: int) -> Indices:
        """Training records of a world."""
        if world == 0:
            return np.arange(self.members)
        if world <= CONTROLS:
            return np.flatnonzero(self.trains == world - 1)
        assert self.shadows is not None
        return self.pool[self.shadows.indices(world - 1 - CONTROLS)]

    def rows(self, world: int) -> Indices:
        """Records that a model is asked about: all, those of the control, or the judged."""
        if world == 0:
            return np.arange(len(self.everyone))
        return self.judged[self.asked == world - 1] if world <= CONTROLS else self.judged

    def inside(self) -> NDArray[np.bool_]:
        """Which shadow model had which judged record, (shadow models, judged)."""
        if self.shadows is None:
            return np.zeros((0, len(self.judged)), bool)
        has = np.zeros((len(self.shadows), len(self.everyone)), bool)
        for world in range(len(self.shadows)):
            has[world, self.pool[self.shadows.indices(world)]] = True
        return has[:, self.judged]


def make_design(
    target: Target,
    everyone: Records,
    sample: Sample,
    hashes: tuple[Hashes, Hashes],
    *,
    shadows: int,
    controls: bool,
    seed: int,
) -> Design:
    """Draw the worlds of a comparison."""
    rng = np.random.default_rng(seed)
    members = len(target.members)
    trains, asked = deal(target, sample, hashes, rng)
    judged = np.concatenate([sample.members[: sample.judged], members + sample.nonmembers])
    pool = np.sort(np.concatenate([np.arange(members), members + sample.nonmembers]))
    halves = random_halves(len(pool), shadows, seed) if shadows else None
    return Design(everyone, members, judged, trains, asked, halves, pool, controls)


@dataclass(frozen=True, eq=False)
class Trained:
    """What is seen of the models of one learner.

    Parameters
    ----------
    members, nonmembers
        Answers, and the releases that need the model, for all records.
    control
        The same for the judged records, each asked of the half-trained model that never saw it; None without.
    shadows
        Answers of the shadow models for the judged records, (models, judged, …); empty without.
    retrained
        For each model trained on other draws, its answers for judged records and which of these it had not seen.
    faithful
        By name of an explanation: how faithful it is at some held-out records (`explanations.faithfulness`).
    """

    members: Shown
    nonmembers: Shown
    control: Shown | None
    shadows: Floats
    retrained: tuple[tuple[Floats, NDArray[np.bool_]], ...]
    faithful: dict[str, Floats]


@dataclass(frozen=True)
class _Observation:
    """Ask the model of a world about its records; only the first worlds show more than answers."""

    asked: tuple[Records, ...]
    worlds: tuple[int, ...]
    releases: tuple[str, ...]
    members: int

    def __call__(self, model: Any, world: int, trained_on: Indices) -> Shown:  # noqa: ARG002
        records = self.asked[world]
        if self.worlds[world] == 0:
            return _all_shown(model, records, self.releases, self.members)
        return _shown(model, records, self.releases if self.worlds[world] <= CONTROLS else ())


def _shown(model: Any, records: Records, releases: tuple[str, ...]) -> Shown:
    answers = np.concatenate([part for _, part in predict_in_blocks(model, records.X, places=records.places)])
    return {ANSWERS: answers, **(observe(model, records, releases) if releases else {})}


def _all_shown(model: Any, everyone: Records, releases: tuple[str, ...], members: int) -> Shown:
    """What a version shows of everyone, and how faithful its explanations are at some held-out records."""
    found = _shown(model, everyone, releases)
    explained = [name for name in releases if name not in RELEASES]
    if explained:
        from leakscope.explanations import parse
        from leakscope.explanations.faithfulness import Bench

        bench = Bench(model, take_rows(everyone.X, np.arange(members, len(everyone))))
        for name in explained:
            how = parse(name)
            found[FAITHFUL + name] = bench.score(bench.explain(how), how.explains).order
    return found


def train(
    target: Target, learner: Learner | None, design: Design, releases: tuple[str, ...], seed: int, again: Retrain
) -> Trained:
    """Train all models of one learner; the target's own model is asked as it is, and without a learner it stands alone."""
    own = learner is target.learner
    shown: Shown = _all_shown(target.model, design.everyone, releases, design.members) if own else {}
    worlds = design.worlds[1:] if own else design.worlds
    found = [] if learner is None or not worlds else _retrain(learner, design, worlds, releases, seed, again)
    if not own:
        shown, found, worlds = found[0], found[1:], worlds[1:]
    return _split(shown, design, found, worlds if found else ())


def _retrain(
    learner: Learner, design: Design, worlds: tuple[int, ...], releases: tuple[str, ...], seed: int, again: Retrain
) -> list[Shown]:
    everyone = design.everyone
    drawn = Worlds(len(everyone), len(worlds), partial(_drawn, design, worlds), partial(_stream, worlds))
    observation = _Observation(
        tuple(everyone.take(design.rows(world)) for world in worlds), worlds, releases, design.members
    )
    try:
        return again(learner, everyone.X, everyone.y, drawn, observation, seed=seed)
    except TrainingError as error:
        hint = (
            ""
            if 0 in worlds
            else ": mend that, or leave controls and shadow models out with retrain=False (--no-retrain)"
        )
        raise InputError(f"{learner.name} could not be trained ({str(error).rstrip('.')}){hint}") from cause(error)


def _drawn(design: Design, worlds: tuple[int, ...], world: int) -> Indices:
    return design.draw(worlds[world])


def _stream(worlds: tuple[int, ...], world: int) -> int:
    return worlds[world]


def _below(first: Floats, second: Floats) -> Floats:
    return stack([first, second]) if first.ndim == 2 else np.concatenate([first, second])


def _split(shown: Shown, design: Design, found: Sequence[Shown], worlds: tuple[int, ...]) -> Trained:
    """What was seen, by what it is for."""
    by_world = dict(zip(worlds, found, strict=True))
    faithful = {name.removeprefix(FAITHFUL): part for name, part in shown.items() if name.startswith(FAITHFUL)}
    shown = {name: part for name, part in shown.items() if not name.startswith(FAITHFUL)}
    inside, outside = ({name: part[rows] for name, part in shown.items()} for rows in
                       (slice(0, design.members), slice(design.members, None)))  # fmt: skip
    control = None
    retrained = []
    if by_world:
        order = np.argsort(np.concatenate([np.flatnonzero(design.asked == number) for number in range(CONTROLS)]))
        control = {name: _below(by_world[1][name], by_world[2][name])[order] for name in by_world[1]}
        retrained = [(by_world[world][ANSWERS], design.asked == world - 1) for world in range(1, CONTROLS + 1)]
    shadows = [by_world[world][ANSWERS] for world in worlds if world > CONTROLS]
    for had, answers in zip(design.inside(), shadows, strict=False):
        retrained.append((answers[~had], ~had))
    together = np.stack(shadows) if shadows else np.zeros((0, len(design.judged)))
    return Trained(inside, outside, control, together, tuple(retrained), faithful)
