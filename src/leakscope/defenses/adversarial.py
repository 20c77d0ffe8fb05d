r"""Adversarial regularisation: train the model jointly with a membership attack that it has to defeat.

Nasr, Shokri, Houmansadr 2018 define the model f as the solution of

.. math:: \min_f \Bigl(\frac{1}{|D|}\sum_{D} \ell(f(x), y) + \alpha \max_h G_f(h)\Bigr), \qquad
   G_f(h) = \frac{1}{2|D|}\sum_{D} \log h(f(x), y) + \frac{1}{2|D'|}\sum_{D'} \log(1 - h(f(x), y)),

where h is the estimated probability that a record is a member, D are the training records and D' reference records that f is
not trained on. As in their Algorithm 1, steps of h and of f alternate, and a step of f uses D only: it lowers
:math:`\ell(f(x), y) + \alpha \log h(f(x), y)`.

Deviations: the paper has a separate reference set. Here a random third of the training records is the reference set, so that f
is trained on two thirds (with α = 0 too, which makes versions comparable). An audit counts this third as members, although it
affects f only through h. The networks are small, and one network h takes both the prediction and the label. There is no
guarantee: an attack that is stronger than h may succeed.
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
from leakscope.defenses.torch_training import NetworkPlan, make_plan, read_hidden
from leakscope.models.adapters import seeded_torch
from leakscope.models.model import Model
from leakscope.models.target import Target

ATTACKER = 64  # width of the two hidden layers of the attack network
NO_GUARANTEE = "There is no guarantee: the model is trained against one attack, and a stronger attack may succeed."
REFERENCE = "A random third of the training records serves as reference records and does not train the model."


@dataclass(frozen=True)
class AdversarialRegularisation(Tunable):
    """Train a model whose outputs on training records resemble those on reference records.

    Parameters
    ----------
    weights
        Weights α of the attack's gain in the loss; 0 is plain training on the same two thirds of the records.
    steps
        Steps of the model, the same for training sets of any size.
    batch
        Records per step.
    rate
        Learning rate of Adam, for the model and for the attack network.
    attacks
        Steps of the attack network before each step of the model.
    hidden
        Widths of hidden layers; by default those of the audited model, none if it is not a network.

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
    setting_name: ClassVar[str] = "α"
    what: ClassVar[str] = "the model is trained to defeat an attack network that learns to recognise training records"
    source: ClassVar[str] = "Nasr, Shokri, Houmansadr 2018, Algorithm 1"
    allowed = Allowed("α", lambda value: value >= 0, "0 or more")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("steps", "batch", "attacks"):
            check_count(name, getattr(self, name))
        check_number("rate", self.rate, least=0, open_ends=True)
        read_hidden(self.hidden)

    def refuse(self, target: Target) -> str | None:
        """Refuse targets with too few records, or records that cannot be encoded."""
        if len(target.members.y) < 12:
            return "it needs at least 12 training records, because a third of them is set aside"
        return why_no_rows(target)

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train against the attack network with this weight."""
        plan, notes = make_plan(target, read_hidden(self.hidden))
        fit = AdversarialFit(
            plan, float(setting), int(self.steps), int(self.batch), float(self.rate), int(self.attacks)
        )
        return Defended(learner=make_learner(self.name, fit), notes=(NO_GUARANTEE, REFERENCE, *notes))


@dataclass(frozen=True, eq=False)
class AdversarialFit:
    """One training of a model and its attack network."""

    plan: NetworkPlan
    weight: float
    steps: int
    batch: int
    rate: float
    attacks: int

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        if len(y) < 3:
            raise InputError(f"adversarial training needs 3 records or more, not {len(y)}: pass a larger training set")
        # The attack network has its own random stream, so that with weight 0 it does not change the model.
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
        """Train the network in place, alternating with the attack network."""
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
    """The attack network h, which learns to distinguish training records from reference records by prediction and label."""

    def __init__(
        self, plan: NetworkPlan, trained: Any, reference: Any, settings: AdversarialFit, draws: np.random.Generator
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
        """Take some steps that increase the gain, with the model fixed."""
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
        """Return log h for each record, or log(1 - h) with ``sign`` -1."""
        torch = import_torch()
        return torch.nn.functional.logsigmoid(sign * self.network(self.view(scores, labels))[:, 0])

    def view(self, scores: Any, labels: Any) -> Any:
        """Return the input of h: probabilities and the one-hot class, or the predicted and the true value."""
        torch = import_torch()
        if self.plan.classes is None:
            return torch.cat([scores, labels[:, None]], dim=1)
        probabilities = torch.softmax(self.plan.logits(scores), dim=1)
        return torch.cat([probabilities, torch.nn.functional.one_hot(labels, len(self.plan.classes))], dim=1)


def shuffled_batches(records: int, batch: int, draws: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield batches of random permutations of all records without end; the last batch of each may be smaller."""
    while True:
        order = draws.permutation(records)
        for start in range(0, records, batch):
            yield order[start : start + batch]
