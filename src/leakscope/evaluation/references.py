r"""Observations from retrained models: statistics of reference models, the never-trained control, and the fit of the members.

**Fit of the members.** With :math:`\ell = \ln\max(p, 0.001)` of the true label (minus the squared error for a regression), OUT under the
fold model without the record, IN the mean under the other three, OUT½ under the half without it, and one mean over judged members each:

========= ===================================================== =====================================================
``gap``   IN − OUT                                              training on a record improves its fit
``curve`` OUT − OUT½                                            more records improve the fit of others
``mid``   :math:`\ell_{target}` − (IN + OUT)/2                  the target fits members as a model trained on them does
``size``  :math:`\ell_{target}` − OUT − (OUT − OUT½)            beyond what a larger training set explains
========= ===================================================== =====================================================

A model that was never trained on the members has ``mid`` below 0 to first order, under any distribution shift: the figures do not use
the non-members. They are therefore a control under distribution shift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.membership_explanation_references import explanation_table, references_of
from leakscope.attacks.protocol import Attack
from leakscope.attacks.references import OF_EXPLANATION, OTHER_REFERENCES, REFERENCES, combine, fit_of, from_references
from leakscope.core import intervals
from leakscope.core.arrays import Floats, Labels
from leakscope.evaluation.crossfit import Sample
from leakscope.evaluation.evaluate import ControlOutputs, Observed
from leakscope.evaluation.results import Fit
from leakscope.evaluation.training import Fits, Show, Shown, Trained, answers_in
from leakscope.models.model import Model, Task
from leakscope.models.target import Target
from leakscope.releases.release import from_answers, needs_model

#: Lower limit of likelihoods in the fit of the members.
SMALLEST_LIKELIHOOD = 0.001


def special_releases(attacks: Sequence[Attack]) -> tuple[str, ...]:
    """Return the releases that attacks read and that need the model itself."""
    read = (name for attack in attacks for name in attack.releases if not from_references(name))
    return tuple(dict.fromkeys(name for name in read if needs_model(name)))


def compared_explanations(attacks: Sequence[Attack]) -> tuple[str, ...]:
    """Return the explanations that attacks compare with those of reference models."""
    read = (name for attack in attacks for name in attack.releases if name.startswith(OF_EXPLANATION))
    return tuple(dict.fromkeys(name.removeprefix(OF_EXPLANATION) for name in read))


def observe_version(
    target: Target, sample: Sample, trained: Trained, version: int, show: Show, names: Sequence[str]
) -> Observed:
    """Return the released values of one version, from its answers, with the statistics of references."""
    fits, design, task = trained.fits[version], trained.design, target.model.task
    sides = [
        _released(target, shown, records.y, show, names)
        for shown, records in ((trained.members, target.members), (trained.nonmembers, target.nonmembers))
    ]
    control, tables = None, {}
    if trained.control is not None:
        labels = sample.judge(target.members.y, target.nonmembers.y)
        there = _released(target, trained.control, labels, show, names)
        control = ControlOutputs(there, design.asked, design.smallest_fold)
    if len(fits.references):
        name, inside = OTHER_REFERENCES if target.learner is None else REFERENCES, design.inside()
        tables = {name: _statistics(fits, inside, task)}
        tables |= {references_of(one): explanation_table(shown, inside) for one, shown in fits.explained.items()}
    return Observed(sides[0], sides[1], control, judged=tables)


def _statistics(fits: Fits, inside: NDArray[np.bool_], task: Task) -> Floats:
    """Statistics of the references and, at no cost of training, of the half without the record as one more model without it."""
    without = np.zeros(fits.other_half.shape, bool)
    fit = np.concatenate([fits.references, fits.other_half])
    return combine(fit, np.concatenate([inside, without]), task, smaller=len(without))


@dataclass(frozen=True, eq=False)
class _Released(Mapping[str, Floats]):
    """The named releases of some records. Values that follow from the answers are computed when read, to save memory."""

    model: Model
    y: Labels
    answers: Floats
    shown: Shown
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> Floats:
        if name not in self.names:
            raise KeyError(name)
        if needs_model(name):
            return self.shown[name]
        return from_answers(self.model, self.y, self.answers, [name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _released(target: Target, shown: Shown, y: Labels, show: Show, names: Sequence[str]) -> _Released:
    read = tuple(name for name in dict.fromkeys(names) if not from_references(name))
    return _Released(target.model, y, show(answers_in(shown, target.model.task)), shown, read)


def fit_of_members(
    target: Target, sample: Sample, trained: Trained, version: int, show: Show, confidence: float
) -> Fit | None:
    """Return the means over the judged members of ``gap``, ``curve``, ``mid`` and ``size``; None without folds and halves."""
    fits, design, task = trained.fits[version], trained.design, target.model.task
    if not (design.numbers.halves and design.numbers.folds and len(fits.halves)):
        return None
    rows = sample.members[: sample.judged]
    own = _log_fit(fit_of(show(answers_in(trained.members, task)[rows]), target.members.y[rows], task), task)
    folds, halves = _log_fit(fits.folds, task), _log_fit(fits.halves[:, rows], task)
    unseen = np.arange(len(folds))[:, None] == design.fold[rows]
    out = folds[unseen.argmax(axis=0), np.arange(len(rows))]
    inside = np.where(unseen, 0, folds).sum(axis=0) / (len(folds) - 1)
    out_half = halves[1 - design.half[rows], np.arange(len(rows))]
    figures = {
        "gap": inside - out,
        "curve": out - out_half,
        "mid": own - (inside + out) / 2,
        "size": own - out - (out - out_half),
    }
    return Fit(**{name: intervals.mean(values, confidence) for name, values in figures.items()})


def _log_fit(fit: Floats, task: Task) -> Floats:
    return -(fit**2) if task == "regression" else np.log(np.maximum(fit, SMALLEST_LIKELIHOOD))
