r"""Adversarial regularisation: the model is trained against an attacker who is trained against the model.

Nasr, Shokri, Houmansadr 2018 look for the model f that solves

.. math:: \min_f \Bigl(\frac{1}{|D|}\sum_{D} \ell(f(x), y) + \alpha \max_h G_f(h)\Bigr), \qquad
   G_f(h) = \frac{1}{2|D|}\sum_{D} \log h(f(x), y) + \frac{1}{2|D'|}\sum_{D'} \log(1 - h(f(x), y)),

where h says how surely a record was trained on, D are the training records and D' reference records that f is not trained
on. As in their Algorithm 1, steps of h and of f take turns, and a step of f sees D alone: it lowers
:math:`\ell(f(x), y) + \alpha \log h(f(x), y)`.

Where this deviates: the paper has a reference set beside the training set, and here a random third of the training records is set
aside for it, so that f is trained on two thirds of them (with α = 0 too, which makes versions comparable). What the third gives
away through h is not counted as training, and they are members all the same in an audit. The networks are small, and h sees the
prediction and the label in one network. An attacker who learns better than this h is not held off: nothing is guaranteed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.core.checks import check_count, check_number
from leakscope.core.errors import InputError
from leakscope.core.extras import import_torch
from leakscope.defenses.bounded_linear import why_no_rows
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.defenses.torch_training import Plan, make_plan, read_hidden
from leakscope.models.adapters import seeded_torch
from leakscope.models.model import Model
from leakscope.models.target import Target

ATTACKER = 64  # width of the attacker's two hidden layers
NO_GUARANTEE = "Nothing is guaranteed: the model is trained against one attacker, and a better one may still succeed."
REFERENCE = "A random third of the training records is set aside as reference records and does not train the model."


@dataclass(frozen=True)
class AdversarialRegularisation(Tunable):
    """Training that keeps the model's answers on training records like those on reference records.

    Parameters
    ----------
    weights
        How much the attacker's gain counts beside the loss; 0 is plain training on the same two thirds of the records.
    steps
        Steps of the model, the same for training sets of any size.
    batch
        Records in a step.
    rate
        Learning rate of Adam, for the model and for the attacker.
    attacks
        Steps of the attacker before each step of the model.
    hidden
        Widths of hidden layers; by default those of the audited model, none where it is not a network.

    Examples
    --------
    >>> AdversarialRegularisation(2.0).settings
    (2.0,)
    >>> AdversarialRegularisation(-1)
    Traceback (most recent call last):
    leakscope.core.errors.InputError: α must be 0 or more, not -1
    """

    weights: Any = (1.0, 3.0)
    steps: int = 600
    batch: int = 256
    rate: float = 0.005
    attacks: int = 1
    hidden: Any = None

    name: ClassVar[str] = "adversarial"
    knob: ClassVar[str] = "α"
    what: ClassVar[str] = "the model is trained to fool an attacker who learns to recognise training records"
    source: ClassVar[str] = "Nasr, Shokri, Houmansadr 2018, Algorithm 1"
    allowed = Allowed("α", lambda value: value >= 0, "0 or more")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("steps", "batch", "attacks"):
            check_count(name, getattr(self, name))
        check_number("rate", self.rate, least=0, open_ends=True)
        read_hidden(self.hidden)

    def refuse(self, target: Target) -> str | None:
        """Too few records can't be divided."""
        if len(target.members.y) < 12:
            return "it has fewer than 12 training records, and a third of them must be set aside"
        return why_no_rows(target)

    def defend(self, target: Target, setting: Any) -> Defended:
        """Training against an attacker of this weight."""
        plan, notes = make_plan(target, read_hidden(self.hidden))
        fit = AdversarialFit(
            plan, float(setting), int(self.steps), int(self.batch), float(self.rate), int(self.attacks)
        )
        return Defended(learner=make_learner(self.name, fit), notes=(NO_GUARANTEE, REFERENCE, *notes))


@dataclass(frozen=True, eq=False)
class AdversarialFit:
    """One training of a model and its attacker."""

    plan: Plan
    weight: float
    steps: int
    batch: int
    rate: float
    attacks: int

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        if len(y) < 3:
            raise InputError(
                f"adversarial training sets a third of the records aside and needs 3 or more, not {len(y)}."
            )
        # the attacker draws from a stream of its own: with weight 0 it can't change the model by a bit
        draws, attacker_draws = rng.spawn(2)
        order = draws.permutation(len(y))
        cut = len(y) // 3
        with seeded_torch(draws):
            network = self.plan.network()
            records, labels = self.plan.tensors(X, y)
            trained, reference = (
                (records[order[cut:]], labels[order[cut:]]),
                (records[order[:cut]], labels[order[:cut]]),
            )
            with seeded_torch(attacker_draws):
                attacker = Attacker(self.plan, trained, reference, self, attacker_draws)
            self.train(network, attacker, trained, draws)
        return self.plan.model(network, AdversarialRegularisation.name)

    def train(self, network: Any, attacker: Attacker, trained: tuple[Any, Any], draws: np.random.Generator) -> None:
        """Train the network in place, in turns with the attacker."""
        torch = import_torch()
        optimizer = torch.optim.Adam(network.parameters(), lr=self.rate)
        records, labels = trained
        for batch in islice(shuffled_batches(len(labels), self.batch, draws), self.steps):
            scores = network(records[batch])
            loss = self.plan.losses(scores, labels[batch]).mean()
            if self.weight:
                attacker.learn(network)
                loss = loss + self.weight * attacker.log_membership(scores, labels[batch]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


class Attacker:
    """The attack network h, which learns to tell training records from reference records by prediction and label."""

    def __init__(
        self, plan: Plan, trained: Any, reference: Any, settings: AdversarialFit, draws: np.random.Generator
    ) -> None:
        torch = import_torch()
        self.plan, self.sides, self.settings = plan, (trained, reference), settings
        inputs = 2 if plan.classes is None else 2 * len(plan.classes)
        self.network = torch.nn.Sequential(
            torch.nn.Linear(inputs, ATTACKER),
            torch.nn.ReLU(),
            torch.nn.Linear(ATTACKER, ATTACKER),
            torch.nn.ReLU(),
            torch.nn.Linear(ATTACKER, 1),
        )
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.rate, fused=True)
        self.batches = [shuffled_batches(len(side[1]), settings.batch, draws) for side in self.sides]

    def learn(self, model: Any) -> None:
        """Some steps up the gain, the model as it is."""
        torch = import_torch()
        for _ in range(self.settings.attacks):
            drawn = [next(batches) for batches in self.batches]
            records, labels = (
                torch.cat([side[part][batch] for side, batch in zip(self.sides, drawn, strict=True)]) for part in (0, 1)
            )
            sizes = torch.tensor([len(batch) for batch in drawn])
            sign = torch.repeat_interleave(torch.tensor([1.0, -1.0]), sizes)
            share = torch.repeat_interleave(0.5 / sizes, sizes)
            with torch.no_grad():
                scores = model(records)
            self.optimizer.zero_grad()
            (-share @ self.log_membership(scores, labels, sign)).backward()
            self.optimizer.step()

    def log_membership(self, scores: Any, labels: Any, sign: Any = 1) -> Any:
        """The log of h for each record, or log(1 - h) with ``sign`` -1."""
        torch = import_torch()
        return torch.nn.functional.logsigmoid(sign * self.network(self.view(scores, labels))[:, 0])

    def view(self, scores: Any, labels: Any) -> Any:
        """What h sees: probabilities and the class as zeros and a one, or the predicted and the true value."""
        torch = import_torch()
        if self.plan.classes is None:
            return torch.cat([scores, labels[:, None]], dim=1)
        probabilities = torch.softmax(self.plan.logits(scores), dim=1)
        return torch.cat([probabilities, torch.nn.functional.one_hot(labels, len(self.plan.classes))], dim=1)


def shuffled_batches(records: int, batch: int, draws: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """One random order of all records after the other, each in batches of one size but for the last; without end."""
    while True:
        order = draws.permutation(records)
        for start in range(0, records, batch):
            yield order[start : start + batch]
