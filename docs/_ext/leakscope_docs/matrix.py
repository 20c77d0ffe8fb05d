"""Which attack reads which release, against which models it runs, and what it costs: asked of the code, not written down.

Costs are counts, since seconds depend on the machine: models that the attacker fits and questions that he asks are counted
while the attack runs on a small made-up example.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import leakscope as ls
from leakscope import attacks
from leakscope.attacks import ATTRIBUTE_ATTACKS, RECONSTRUCTIONS, REGISTRY, Attack, Evidence, Known
from leakscope.attacks.attributes import AttributeEvidence, Reference
from leakscope.attacks.membership_explanation_references import explanation_table
from leakscope.attacks.membership_record_explanation import RELEASE
from leakscope.attacks.references import FROM_REFERENCES, OF_EXPLANATION, reference_statistics
from leakscope.attacks.selection import FOLLOWS
from leakscope.models.model import Task
from leakscope.releases.oracle import Oracle, Prior
from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
from leakscope.releases.release import LOSSES, RELEASES

RECORDS = 120
BUDGET = 500
#: The same attacks with less training: it is counted how many models they fit.
CHEAP = {
    "confidence network": partial(attacks.confidence_network, steps=2),
    "explanation network": partial(attacks.explanation_network, "gradient", prediction=True, true_label=True, epochs=2),
}
#: Where attacks of the registry run that an audit does not run by default.
WHERE = {
    "label only": "compare, and audit with `--releases`",
    **dict.fromkeys(
        ("rmia", "lira", "base", "learned references", "label references"), "audit and compare, classification"
    ),
    **dict.fromkeys(("rmia regression", "base regression", "signed error"), "audit and compare, regression"),
    **dict.fromkeys(("residual", "residual regression"), "audit and compare, where the model can't be trained again"),
    **dict.fromkeys(("explanation norm", "explanation"), "audit with `--releases`"),
    "explanation and prediction": "audit with `--releases` and no references",
    **dict.fromkeys(
        (
            "explanation references",
            "explanation and prediction references",
            "learned references labels",
            "learned references regression",
        ),
        "audit with `--releases`, where the model can be trained again",
    ),
    "explanation learned references": "audit with `--releases` of an explanation alone",
    **dict.fromkeys(("self-revelation", "influence values"), "reconstruct"),
    **dict.fromkeys(("given score", "score tree"), "scores"),
}


def membership_attacks() -> list[tuple[str, Attack, Callable[..., Attack]]]:
    """Return the short name of every attack on membership, the attack, and the function that makes it."""
    made = {name: CHEAP.get(name, factory) for name, factory in REGISTRY.items()}
    return [(name, make(), make.func if isinstance(make, partial) else make) for name, make in made.items()]


def _where(name: str) -> str:
    """Where an attack of the registry runs without being asked for."""
    usual = [f"audit, {task}" for task, names in attacks.DEFAULTS.items() if name in names]
    if usual or name in WHERE:
        return usual[0] if usual else WHERE[name]
    return "by name"


# --- counting -----------------------------------------------------------------------------------------------------------


@dataclass
class Fits:
    """How many models were fitted while it counted; a fit within a fit is part of that."""

    count: int = 0
    inside: list[FrameType] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and not self.inside and (models := _fitted_by(frame)):
            self.count += models
            self.inside.append(frame)
        elif event == "return" and self.inside and frame is self.inside[-1]:
            self.inside.pop()


def _fitted_by(frame: FrameType) -> int:
    """How many models a call fits: one of scikit-learn, a stack of our learner, or the attack network of torch."""
    name, file = frame.f_code.co_name, Path(frame.f_code.co_filename)
    if name == "fit" and "sklearn" in file.parts:
        return 1
    if name == "fit_many" and file.name == "mlp.py":
        return len(frame.f_locals["indices"])
    return int(name == "_train" and file.name == "membership_explanation_network.py")


@contextmanager
def counted_fits() -> Iterator[Fits]:
    """Count the models that are fitted inside."""
    fits, before = Fits(), sys.getprofile()
    sys.setprofile(fits)
    try:
        yield fits
    finally:
        sys.setprofile(before)


def count_fits(attack: Attack) -> int:
    """Models that the attacker fits to learn from the known records, each time."""
    with counted_fits() as fits:
        attack.guess(made_up_evidence(attack), np.random.default_rng(0))
    return fits.count


def made_up_evidence(attack: Attack) -> Evidence:
    """Evidence of the right shape, with nothing to find in it."""
    rng = np.random.default_rng(1)
    task: Task = "regression" if attack.release in ("squared_error", "predictions") else "classification"
    seen = {name: _made_up_release(name, task, rng) for name in attack.releases}
    labels = rng.integers(0, 3, RECORDS) if attack.uses_labels else None
    halves = slice(0, RECORDS // 2), slice(RECORDS // 2, RECORDS)

    def part(values: Any, rows: slice) -> Any:
        return None if values is None else values[rows]

    second = attack.second_in(seen)
    known, asked = ((part(seen[attack.release], rows), part(labels, rows), part(second, rows)) for rows in halves)
    member = np.arange(RECORDS // 2) % 2 == 0
    return Evidence(asked[0], asked[1], Known(known[0], known[1], member, known[2]), asked[2])


def _made_up_release(name: str, task: Task, rng: np.random.Generator) -> Any:
    inside = np.arange(4)[:, None] % 2 == rng.integers(0, 2, RECORDS)
    if name.startswith(OF_EXPLANATION):
        return explanation_table(rng.normal(size=(4, RECORDS, 2)), inside)
    if name in FROM_REFERENCES:
        shape = (4, RECORDS)
        answers = rng.normal(size=shape) if task == "regression" else rng.dirichlet(np.ones(3), shape)
        return reference_statistics(answers, np.zeros(RECORDS), inside, task)
    if name not in RELEASES:
        return rng.normal(size=(RECORDS, 6)).astype(np.float32)
    if name == "labels":
        return rng.integers(0, 3, (RECORDS, 1)).astype(float)
    values = rng.random((RECORDS, 3 if name == "probabilities" else 1))
    return values / values.sum(axis=1, keepdims=True) if name == "probabilities" else values


# --- the tables ---------------------------------------------------------------------------------------------------------


def model_kinds() -> dict[str, Any]:
    """A model of each kind that differs in what it can release."""
    import torch
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(0)
    X, y, value = rng.normal(size=(60, 3)), np.arange(60) % 2, rng.normal(size=60)
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    kinds = {
        "labels only": LinearSVC().fit(X, y),
        "any with probabilities": RandomForestClassifier(3, random_state=0).fit(X, y),
        "linear model": LogisticRegression().fit(X, y),
        "network": network,
        "regression": RandomForestRegressor(3, random_state=0).fit(X, value),
    }
    labels = {"regression": value}
    outputs = {"network": "logits"}
    return {
        name: ls.make_target(
            model, (X, labels.get(name, y)), (X[::-1] + 9, labels.get(name, y)), outputs=outputs.get(name)
        ).model
        for name, model in kinds.items()
    }


def membership_table(kinds: dict[str, Any]) -> str:
    """Which attack on membership reads what, fits how much, and runs against which kind of model."""
    head = ["Attack", "Short name", "Reads", "Knows labels", "Models it fits", *kinds, "Runs in", "Source"]
    rows = []
    for name, attack, make in membership_attacks():
        reads = " and ".join(f"`{release}`" for release in attack.releases)
        known = (*LOSSES, "label_stability", "boundary_distance")
        labels = "yes" if attack.uses_labels or attack.release in known else "no"
        runs = [_runs(attack, model) for model in kinds.values()]
        facts = [reads, labels, count_fits(attack), *runs, _where(name), attack.source]
        rows.append([_link(make, attack.name), f"`{name}`", *facts])
    return table(head, rows)


def _runs(attack: Attack, model: Any) -> str:
    if attack.release in (RELEASE, "score"):  # `reconstruct` trains the model itself, and `scores` sees none
        return ""
    return "yes" if attack.refuse(model) is None else "–"


def release_table(kinds: dict[str, Any]) -> str:
    """What can be released by which kind of model, and what follows from it for anyone who knows the labels."""
    from leakscope.releases.feature_explanations import METHODS
    from leakscope.releases.release import find_release

    rows = []
    for name in (*RELEASES, *METHODS):
        release = find_release(name)
        runs = ["yes" if release.refuse(model) is None else "–" for model in kinds.values()]
        follows = ", ".join(f"`{other}`" for other in FOLLOWS.get(name, ()) if other != name)
        rows.append([f"`{name}`", "explanation" if name in METHODS else "answer", *runs, follows])
    return table(["Release", "Kind", *kinds, "Tells also"], rows)


def reconstruction_table() -> str:
    """What each attack on explanations by records needs, and what it does with a fixed number of questions."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 2, 60)
    models, box = leave_one_out(X, y), Prior.box(8)
    rows = []
    for name, attack in RECONSTRUCTIONS.items():
        oracle = Oracle.of(models, X, y, RecordExplanation(k=3), budget=BUDGET)
        prior = Prior(box.low, box.high, rng.random((200, 8)))
        found = attack.run(oracle, prior, np.random.default_rng(0))
        needs = [*(["influences"] * attack.uses_influences), *(["records of his own"] * attack.uses_records)]
        words = " and ".join(needs) or "answers alone"
        shown = f"{len(found)} of 60"
        rows.append([_link(attack.run, attack.name), f"`{name}`", words, found.queries, shown, attack.source])
    return table(["Attack", "Name", "Needs", "Questions asked", "Records revealed", "Source"], rows)


def attribute_table() -> str:
    """What each attack on a sensitive column needs and costs."""
    rows = []
    for name, attack in ATTRIBUTE_ATTACKS.items():
        asked: list[int] = []
        with counted_fits() as fits:
            attack.guess(_attribute_evidence(asked), np.random.default_rng(0))
        questions = 1 + sum(asked) / RECORDS if name != "label" else sum(asked) / RECORDS
        labels, counts = "yes" if attack.uses_label else "no", [fits.count, f"{questions:.0f}"]
        rows.append([_link(attack.guess, attack.name), f"`{name}`", labels, *counts, attack.source])
    return table(["Attack", "Name", "Knows labels", "Models it fits", "Questions per record", "Source"], rows)


def _attribute_evidence(asked: list[int]) -> AttributeEvidence:
    rng = np.random.default_rng(2)

    def made_up(n: int) -> tuple[Any, Any]:
        first = rng.random((n, 1))
        return rng.normal(size=(n, 3)), np.hstack([first, 1 - first])

    def ask(rows: slice, level: int) -> Any:
        records = len(range(RECORDS)[rows])
        asked.append(records)
        return np.full((records, 1, 2), 0.5 + 0.1 * level)

    features, output = made_up(RECORDS)
    known, known_output = made_up(RECORDS)
    labels = rng.integers(0, 2, RECORDS)
    reference = Reference(known, labels, known_output, rng.integers(0, 2, RECORDS))
    prior = np.full((RECORDS, 2), 0.5)
    return AttributeEvidence(features, np.zeros(3, bool), labels, output, reference, 2, prior, ask, True, True)


def training_table() -> str:
    """How often an audit trains your model."""
    rows: list[list[Any]] = []
    for words, settings in (
        ("`leakscope audit …`", {}),
        ("`… --no-retrain`", {"retrain": False}),
        ("`… --random-split`", {"random_split": True}),
        ("`… --references 2`", {"references": 2}),
        ("`… --references 0`", {"references": 0}),
    ):
        rows.append([words, _trainings(settings)])
    return table(["Audit", "Your model is trained"], rows)


def _trainings(settings: dict[str, Any]) -> str:
    toy, trained = ls.toys.lookup(n=120), []

    def fit(*arguments: Any) -> Any:
        trained.append(1)
        return toy.fit(*arguments)

    ls.audit(toy.model, toy.train, toy.holdout, fit=fit, workers=1, **settings)
    return f"{len(trained)} times" if trained else "never"


def _link(function: Callable[..., Any], words: str) -> str:
    """A link to the page of the module that defines an attack."""
    return f"{{py:mod}}`{words} <{function.__module__}>`"


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A table as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def matrix_parts() -> dict[str, str]:
    """The tables by file name."""
    kinds = model_kinds()
    return {
        "parts/matrix-membership.txt": membership_table(kinds),
        "parts/matrix-releases.txt": release_table(kinds),
        "parts/matrix-reconstruction.txt": reconstruction_table(),
        "parts/matrix-attributes.txt": attribute_table(),
        "parts/matrix-training.txt": training_table(),
    }
