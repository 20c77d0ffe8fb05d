r"""[tople2020, Def. 8 and Theorem 7]: does a causal model reveal features that are no causes?

On the four Bayesian networks, the causal table and the associational network are queried with fresh records, and attackers
who see the output infer a feature: a cause of the label, the other feature with the most information about that cause (*near*),
and the one with the least (*far*). Three attackers: one who knows all other features, one who knows all but a cause, and one who
has the answer alone. The network's outputs have all digits, or two. The measure is the gain over the same attacker
without the model (`leakscope.studies.attributes`, which states why the theorem holds for the first attacker and not for the
others). None of the labels has children in its network.

The intervals of all gains are simultaneous: their confidence is 1 - 0.05 / number of cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leakscope.core.result import Claim
from leakscope.core.wording import write
from leakscope.models.model import Model
from leakscope.papers import panels
from leakscope.papers.reproduction import Reproduction, Work, statement
from leakscope.studies.attributes import AttributeFinding, AttributeSide

ID = "tople-thm7"
TITLE = "Attribute inference: what a model adds to inferring a cause and another feature"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, Definition 8 and Theorem 7",
    "statement": "A causal model makes it impossible to infer non-causal features.",
    "numbers": "The paper has no experiment for it; whether there is a gain is compared.",
}
FULL = {
    "networks": ("child", "alarm", "sachs", "water"),
    "roles": ("cause", "near", "far"),
    "size": 20_000,
    "records": 4_000,
    "steps": 10_000,
}
QUICK = FULL | {"networks": ("sachs",), "roles": ("cause", "near"), "size": 1_000, "records": 300, "steps": 30}

ALL, BUT_ONE, ANSWER = "all other features", "all but a cause", "the output alone"
TABLE, NETWORK, ROUNDED = "causal table", "network", "two-digit network"
#: Share of the records that every level of a guessed feature has at least.
RAREST = 0.02


class AttributeCase(NamedTuple):
    """One feature inferred by one attacker with one model."""

    network: str
    model: str
    feature: str
    role: str
    attacker: str
    found: AttributeSide

    @property
    def best(self) -> AttributeFinding:
        return self.found.strongest

    @property
    def place(self) -> str:
        return f"{self.feature} of {self.network}, {self.model}, {self.attacker}"


class AttributeEffort(NamedTuple):
    """Settings that all networks share."""

    networks: tuple[str, ...]
    roles: tuple[str, ...]
    size: int
    records: int
    steps: int
    seed: int
    confidence: float


def run(work: Work, networks: Sequence[str], roles: Sequence[str], **effort: int) -> Reproduction:
    """Train both models on each network's records and measure every case."""
    confidence = 1 - 0.05 / (len(networks) * 3 * 3 * len(roles))
    given = AttributeEffort(tuple(networks), tuple(roles), **effort, seed=work.seed, confidence=confidence)
    cases = [case for part in work.each(range(len(networks)), partial(_study, given)) for case in part]
    figures = ("advantage", "gain", "gain_auc", "control", "beyond_control")
    return work.result(
        settings={
            **work.settings, "widths": [128, 512, 128], "activation": "relu", "rate": 1e-4, "batch": 128,
            "confidence": confidence,
        },
        columns=["network", "model", "role", "feature", "attacker knows", "attack", "baseline", *figures],
        rows=[
            [case.network, case.model, case.role, case.feature, case.attacker, found.attack,
             case.found.baseline_advantage, *(getattr(found, figure) for figure in figures)]
            for case in cases
            for found in case.found.attacks
        ],
        statements=_statements(cases),
        notes=_notes(cases),
        panels=[_figure(cases, role) for role in roles if role != "far"],
    )  # fmt: skip


# --- one network ------------------------------------------------------------------------------------------------------


def _study(effort: AttributeEffort, number: int) -> list[AttributeCase]:
    """Draw, train and attack for one network."""
    from leakscope.causal import NETWORKS, draw, load_network
    from leakscope.studies.attributes import attribute_inference

    name, size = effort.networks[number], effort.size
    network, label = load_network(name), NETWORKS[name].label
    drawing, training = np.random.SeedSequence([effort.seed, number]).spawn(2)
    codes = draw(network, size + effort.records, drawing)
    names = [variable for variable in network.names if variable != label]
    X, y = np.ascontiguousarray(codes[:, [network.place[one] for one in names]]), codes[:, network.place[label]]
    causes, levels = list(network.parents[label]), [len(network.levels[one]) for one in names]
    places, rng = [names.index(cause) for cause in causes], np.random.default_rng(training)
    guessed = _features(X[size:], names, causes)
    cases = []
    table, trained = _models(X, y, size, places, levels, effort.steps, rng)
    for model, digits, title in ((table, None, TABLE), (trained, None, NETWORK), (trained, 2, ROUNDED)):
        for role in effort.roles:
            feature = guessed[role]
            for attacker, known in _attackers(names, causes, feature).items():
                risk = attribute_inference(
                    model, X[size:], y[size:], names.index(feature), known=known, knows_label=False,
                    digits=digits, confidence=effort.confidence, seed=effort.seed,
                )  # fmt: skip
                cases.append(AttributeCase(NETWORKS[name].title, title, feature, role, attacker, risk.records))
    return cases


def _features(X: NDArray[np.uint8], names: Sequence[str], causes: Sequence[str]) -> dict[str, str]:
    """The first cause, and of the features that are none the two with the most and least information about it; name by role."""
    from sklearn.metrics import mutual_info_score

    cause = X[:, names.index(causes[0])]
    eligible = [
        (mutual_info_score(X[:, place], cause), name)
        for place, name in enumerate(names)
        if name not in causes and RAREST <= np.unique(X[:, place], return_counts=True)[1].min() / len(X) < 1
    ]
    return {"cause": causes[0], "near": max(eligible)[1], "far": min(eligible)[1]}


def _attackers(names: Sequence[str], causes: Sequence[str], feature: str) -> dict[str, list[int]]:
    """Column numbers that each attacker knows; where the feature is the only cause, one attacker is left out."""
    others = [place for place, name in enumerate(names) if name != feature]
    lacking = next((names.index(cause) for cause in causes if cause != feature), None)
    found = {ALL: others, BUT_ONE: [place for place in others if place != lacking], ANSWER: []}
    return found if lacking is not None else {ALL: others, ANSWER: []}


def _models(
    X: NDArray[np.uint8], y: NDArray[np.uint8], size: int, causes: Sequence[int], levels: Sequence[int], steps: int,
    rng: np.random.Generator,
) -> list[Model]:  # fmt: skip
    """The causal table and the associational network of [tople2020, section 4.1], trained on the first records."""
    from leakscope.causal import CausalTable, one_hot
    from leakscope.learners import MLP

    table, _, labels = CausalTable(tuple(causes), tuple(levels)).prepare(X, y)
    counts = table.fit(X[:size], labels[:size], rng)
    network = MLP(widths=(128, 512, 128), activation="relu", rate=1e-4, steps=steps, batch=128, task="classification")
    network, encoded, _ = network.prepare(one_hot(X, levels), y)
    weights = network.fit(encoded[:size], labels[:size], rng)

    def by_network(codes: NDArray[Any]) -> NDArray[np.float64]:
        odds = network.outputs(weights, one_hot(codes, levels).astype(np.float64))
        odds = np.column_stack([np.zeros(len(odds)), odds])
        powers = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    classes = np.unique(y)
    return [
        Model(TABLE, "classification", classes, True, partial(table.probabilities, counts)),
        Model(NETWORK, "classification", classes, True, by_network),
    ]


def _statements(cases: Sequence[AttributeCase]) -> list[Claim]:
    """Whether the causal table gains anything about what is no cause, for an attacker with and without its causes."""
    found = []
    for knows, who in ((True, "who knows all other features"), (False, "who does not know the causes")):
        table = [
            case for case in cases if case.model == TABLE and case.role != "cause" and (case.attacker == ALL) is knows
        ]
        told = {case.place: case.best.gain for case in table if case.best.gain.low > 0}
        most = dict(sorted(told.items(), key=lambda pair: -pair[1].value)[:1])
        found.append(statement(f"the causal table reveals no non-cause to an attacker {who}", not told, most))
    return found


def _notes(cases: Sequence[AttributeCase]) -> list[str]:
    """How often each model reveals a feature to an attacker who knows all others."""
    notes = []
    asked = {TABLE: ("cause", "a cause"), NETWORK: ("near", "a non-cause"), ROUNDED: ("near", "a non-cause")}
    for model, (role, what) in asked.items():
        some = [case for case in cases if (case.model, case.role, case.attacker) == (model, role, ALL)]
        significant = [case for case in some if case.best.gain.low > 0]
        best = max(significant, key=lambda case: case.best.gain.value, default=None)
        most = f", at most {write(best.best.gain, 'signed')} ({best.place})" if best else ""
        notes.append(
            f"The {model} reveals {what} to an attacker who knows the rest in {len(significant)} of {len(some)} networks{most}."
        )
    return notes


def _figure(cases: Sequence[AttributeCase], role: str) -> panels.Panel:
    """The largest gain of any attack, by network, model and attacker."""
    chosen = {(case.network, case.model, case.attacker): case for case in cases if case.role == role}
    places = list(dict.fromkeys(case.network for case in cases))
    series = {}
    for model in (TABLE, NETWORK, ROUNDED):
        for attacker in (ALL, ANSWER):
            found = [chosen.get((place, model, attacker)) for place in places]
            series[f"{model}: {attacker}"] = [None if case is None else case.best.gain for case in found]
    what = "a cause" if role == "cause" else "the feature nearest to it that is no cause"
    return panels.bars(what, ("Network", f"Gain of advantage about {what}"), places, series)
