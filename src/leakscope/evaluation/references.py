r"""Reference models of an audit: which records train them, and what they show.

All are trained as the target was, through `worlds.retrain`, in one design over members and judged non-members:

- *references* come in complementary pairs of the target's size. One trains on all members that are not judged, a random half of the
  judged members and a random half of the judged non-members; its partner on the other halves. Every judged record is in exactly half
  of them. They feed the attacks that compare a record with itself under other trainings (`attacks.references`).
- *folds*: each trains on all members without one of four parts. The model without a part is the never-trained control of that part.
- *halves*: each trains on half of the members. With the folds they show how much more records improve the fit.

Copies of a record train together, and classes are dealt evenly.

**Fit of the members.** With :math:`\ell = \ln\max(p, 0.001)` of the true label (minus the squared error for a regression), OUT under the
fold model without the record, IN the mean under the other three, OUT½ under the half without it, and one mean over judged members each:

========= ===================================================== =====================================================
``gap``   IN − OUT                                              training on a record improves its fit
``curve`` OUT − OUT½                                            more records improve the fit of others
``mid``   :math:`\ell_{target}` − (IN + OUT)/2                  the target fits members as a model trained on them does
``size``  :math:`\ell_{target}` − OUT − (OUT − OUT½)            beyond what a larger training set explains
========= ===================================================== =====================================================

A model that was never trained on the members has ``mid`` below 0 to first order, whatever differs between members and non-members: the
non-members play no part in these figures. That makes them a control under distribution shift.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope import intervals
from leakscope.attacks.references import combine, likelihood_of, phi_of
from leakscope.control import ControlWorld
from leakscope.crossfit import Hashes, Indices, Sample
from leakscope.errors import InputError, TrainingError
from leakscope.evidence import Floats
from leakscope.failures import cause
from leakscope.models import Model
from leakscope.predicting import predict_in_blocks
from leakscope.records import Records, join_records
from leakscope.releases import observe, stack
from leakscope.results import Fit
from leakscope.target import Target
from leakscope.worlds import Worlds

FOLDS, HALVES = 4, 2
#: Fewer judged records on each side leave cells of the control empty.
FEWEST_JUDGED = 50
#: Likelihoods are held above this in the fit of the members.
SMALLEST_LIKELIHOOD = 0.001


@dataclass(frozen=True, eq=False)
class ReferenceModels:
    """What the models of an audit show.

    Parameters
    ----------
    statistics
        `attacks.references.reference_statistics` of all members and of all non-members; rows that are not judged hold means.
    control
        What the releases show of the judged records, asked of fold models that never saw them.
    fit
        How the target and the fold models fit the judged members.
    exposure
        One minus the mean likelihood of each member under models of which half had it.
    """

    statistics: tuple[Floats, Floats]
    judged: Floats
    control: ControlWorld
    fit: Fit
    exposure: Floats


def check_references(references: int, judged: int) -> None:
    """Refuse a number of references that is odd, or too few records for the folds."""
    if isinstance(references, bool) or not isinstance(references, int | np.integer) or references < 0 or references % 2:
        raise InputError(f"references is an even number of models, or 0 for none, not {references!r}")
    if references and judged < FEWEST_JUDGED:
        raise InputError(
            f"reference models need {FEWEST_JUDGED} different records on each side, and there are {judged}: add records, or "
            "leave them out with references=0 (--references 0)"
        )


# --- the design of training sets --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Design:
    """Which records train which model; positions count members first, then non-members.

    ``sides`` says for each pair of references and each position whether it trains the first (0), the second (1), both (2) or
    none (-1); 4 more for the held-out copy of a member, which is had with it but not trained on twice. ``fold`` and ``half``
    number the part of each member, ``asked`` the fold model that each judged record is asked of.
    """

    sides: NDArray[np.int8]
    fold: Indices
    half: Indices
    asked: Indices

    @property
    def references(self) -> int:
        return 2 * len(self.sides)

    @property
    def count(self) -> int:
        return self.references + FOLDS + HALVES

    def draw(self, world: int) -> Indices:
        """Training records of a model."""
        if world < self.references:
            side = self.sides[world // 2]
            return np.flatnonzero((side == world % 2) | (side == 2))
        if world < self.references + FOLDS:
            return np.flatnonzero(self.fold != world - self.references)
        return np.flatnonzero(self.half == world - self.references - FOLDS)

    def inside(self, judged: Indices) -> NDArray[np.bool_]:
        """Which reference had which judged record, (references, judged)."""
        sides = self.sides[:, judged] % 4
        return np.stack(
            [(sides[model // 2] == model % 2) | (sides[model // 2] == 2) for model in range(self.references)]
        )


def make_design(
    target: Target, sample: Sample, hashes: tuple[Hashes, Hashes], references: int, rng: np.random.Generator
) -> Design:
    """Draw the training sets of all models."""
    members, nonmembers = hashes
    labels = target.members.y if target.model.task == "classification" else np.zeros(len(members))
    others = target.nonmembers.y if target.model.task == "classification" else np.zeros(len(nonmembers))
    judged = [sample.members[: sample.judged], sample.nonmembers]
    twins = np.isin(nonmembers[judged[1]], members)
    sides = np.full((references // 2, len(members) + len(nonmembers)), -1, np.int8)
    for pair in sides:
        pair[: len(members)] = 2  # members that are not judged train both
        dealt = _deal(members[judged[0]], labels[judged[0]], 2, rng)
        pair[: len(members)] = _follow(members, members[judged[0]], dealt, pair[: len(members)])
        alone = judged[1][~twins]
        pair[len(members) + alone] = _deal(nonmembers[alone], others[alone], 2, rng)
        copied = judged[1][twins]
        pair[len(members) + copied] = _follow(nonmembers[copied], members, pair[: len(members)], np.zeros(len(copied)))
        pair[len(members) + copied] += 4
    fold, half = (_deal(members, labels, parts, rng) for parts in (FOLDS, HALVES))
    asked = np.concatenate([fold[judged[0]], _deal(nonmembers[judged[1]], others[judged[1]], FOLDS, rng)])
    copied = np.flatnonzero(twins)
    asked[sample.judged + copied] = _follow(nonmembers[judged[1][copied]], members, fold, np.zeros(len(copied)))
    return Design(sides, fold, half, asked)


def _deal(hashes: Hashes, labels: NDArray[Any], parts: int, rng: np.random.Generator) -> Indices:
    """Deal records to parts of about equal size: copies to the same one, and each class evenly."""
    _, first, copy = np.unique(hashes, return_index=True, return_inverse=True)
    order = rng.permutation(len(first))
    order = order[np.argsort(labels[first][order], kind="stable")]
    part = np.empty(len(first), np.intp)
    part[order] = np.arange(len(first)) % parts
    return part[copy]


def _follow(hashes: Hashes, leaders: Hashes, parts: NDArray[Any], default: NDArray[Any]) -> NDArray[Any]:
    """Give each record the part of a leader with the same hash, or its default."""
    rank = np.argsort(leaders, kind="stable")
    at = rank[np.minimum(np.searchsorted(leaders, hashes, sorter=rank), len(leaders) - 1)]
    return np.where(leaders[at] == hashes, parts[at], default)


# --- training and observing -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Observation:
    """What is kept of each model: two numbers per judged record of a reference, releases and fit of the others."""

    judged: Records
    members: Records
    asked: Indices
    references: int
    releases: tuple[str, ...]

    def __call__(self, model: Model, world: int, trained_on: Indices) -> dict[str, Floats]:  # noqa: ARG002
        if world < self.references:
            answers = _answers(model, self.judged)
            return {
                "phi": phi_of(answers, self.judged.y, model.task),
                "fit": fit_of(answers, self.judged.y, model.task),
            }
        fit = fit_of(_answers(model, self.members), self.members.y, model.task)
        if world >= self.references + FOLDS:
            return {"fit": fit}
        asked = self.judged.take(np.flatnonzero(self.asked == world - self.references))
        return {"fit": fit, **{f"release {name}": part for name, part in observe(model, asked, self.releases).items()}}


def _answers(model: Model, records: Records) -> Floats:
    return np.concatenate([part for _, part in predict_in_blocks(model, records.X, places=records.places)])


def fit_of(answers: Floats, y: NDArray[Any], task: str) -> Floats:
    """Likelihood of the true label, or the squared error of a regression."""
    return np.asarray((answers - y) ** 2) if task == "regression" else likelihood_of(answers, y)


def train_references(
    target: Target,
    sample: Sample,
    hashes: tuple[Hashes, Hashes],
    observed: tuple[Mapping[str, Floats], Mapping[str, Floats]],
    releases: tuple[str, ...],
    *,
    references: int,
    confidence: float,
    seed: int,
    retrain: Callable[..., list[dict[str, NDArray[Any]]]],
) -> ReferenceModels:
    """Train the references, folds and halves of an audit, and give what they show.

    ``observed`` holds what the target shows of members and non-members.
    """
    design = make_design(target, sample, hashes, references, np.random.default_rng(seed))
    everyone = join_records(target.members, target.nonmembers)
    positions = np.concatenate([sample.members[: sample.judged], len(target.members) + sample.nonmembers])
    worlds = Worlds(len(everyone), design.count, partial(_draw, design))
    observation = _Observation(everyone.take(positions), target.members, design.asked, references, releases)
    try:
        found = retrain(target.learner, everyone.X, everyone.y, worlds, observation, seed=seed)
    except TrainingError as error:
        raise InputError(
            f"the reference models could not be trained ({str(error).rstrip('.')}): mend that, or leave them out with "
            "references=0 (--references 0)"
        ) from cause(error)
    shown, folds, halves = found[:references], found[references : references + FOLDS], found[references + FOLDS :]
    phi, fits = (np.stack([part[name] for part in shown]) for name in ("phi", "fit"))
    table = combine(phi, fits, design.inside(positions), target.model.task)
    control = _control(design, folds, releases)
    fold_fit, half_fit = (np.stack([part["fit"] for part in parts]) for parts in (folds, halves))
    return ReferenceModels(
        statistics=_for_all(target, sample, table),
        judged=table,
        control=control,
        fit=_fit(target, sample, design, fold_fit, half_fit, observed[0], confidence),
        exposure=_exposure(target, sample, fits, half_fit),
    )


def _draw(design: Design, world: int) -> Indices:
    return design.draw(world)


def _control(design: Design, folds: list[dict[str, Floats]], releases: tuple[str, ...]) -> ControlWorld:
    rows = [np.flatnonzero(design.asked == number) for number in range(FOLDS)]
    order = np.argsort(np.concatenate(rows))
    shown = {name: stack([part[f"release {name}"] for part in folds])[order] for name in releases}
    smallest = int(len(design.fold) - np.bincount(design.fold, minlength=FOLDS).max())
    return ControlWorld(shown, design.asked, smallest)


def _for_all(target: Target, sample: Sample, table: Floats) -> tuple[Floats, Floats]:
    """The statistics in the order of members and of non-members; records that are not judged get the means."""
    sides = []
    for records, rows, part in (
        (target.members, sample.members[: sample.judged], table[: sample.judged]),
        (target.nonmembers, sample.nonmembers, table[sample.judged :]),
    ):
        whole = np.tile(table.mean(axis=0), (len(records), 1))
        whole[rows] = part
        sides.append(whole)
    return sides[0], sides[1]


def _log_fit(fit: Floats, task: str) -> Floats:
    return -fit if task == "regression" else np.log(np.maximum(fit, SMALLEST_LIKELIHOOD))


def _fit(
    target: Target,
    sample: Sample,
    design: Design,
    folds: Floats,
    halves: Floats,
    observed: Mapping[str, Floats],
    confidence: float,
) -> Fit:
    """Means over the judged members of `gap`, `curve`, `mid` and `size`; see the module."""
    rows, task = sample.members[: sample.judged], target.model.task
    if task == "regression":
        own = -observed["squared_error"][rows, 0]
    else:
        own = _log_fit(likelihood_of(observed["probabilities"], target.members.y)[rows], task)
    logs, half = _log_fit(folds[:, rows], task), _log_fit(halves[:, rows], task)
    unseen = np.arange(FOLDS)[:, None] == design.fold[rows]
    out, inside = logs[unseen.argmax(axis=0), np.arange(len(rows))], np.where(unseen, 0, logs).sum(axis=0) / (FOLDS - 1)
    out_half = half[1 - design.half[rows], np.arange(len(rows))]
    figures = {
        "gap": inside - out,
        "curve": out - out_half,
        "mid": own - (inside + out) / 2,
        "size": own - out - (out - out_half),
    }
    return Fit(**{name: intervals.mean(values, confidence) for name, values in figures.items()})


def _exposure(target: Target, sample: Sample, fits: Floats, halves: Floats) -> Floats:
    """One minus the mean likelihood: over the references for judged members, over the halves for the others."""
    if target.model.task == "regression":
        scale = 2 * max(float(halves.mean()), np.finfo(np.float64).tiny)
        fits, halves = np.exp(-fits / scale), np.exp(-halves / scale)
    exposure = 1 - halves.mean(axis=0)
    exposure[sample.members[: sample.judged]] = 1 - fits[:, : sample.judged].mean(axis=0)
    return np.asarray(exposure)
