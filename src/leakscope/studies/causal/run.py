"""The comparison: train each kind of model on two samples, query all with records of P and P*, and attack them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leakscope.attacks import ATTACKS, confidence_network
from leakscope.attacks.protocol import Attack
from leakscope.causal.kinds import Kind
from leakscope.causal.membership import MOST_JUDGED, Blind, releases_of
from leakscope.causal.network import Network
from leakscope.core.checks import check_confidence, check_count, check_seed
from leakscope.core.errors import InputError
from leakscope.core.result import Caveat, NotRun, plain_settings
from leakscope.core.threads import one_thread
from leakscope.core.versions import stamp
from leakscope.models.model import Model, Task
from leakscope.releases.release import Progress
from leakscope.studies.causal.claims import decide
from leakscope.studies.causal.extras import check_sensitive, measure_attributes, measure_noise, sensitive_variants
from leakscope.studies.causal.measuring import (
    Judging,
    ScenarioPart,
    compare,
    draw_trials,
    measure,
    measure_blind,
    pool_attacks,
    pool_blind,
)
from leakscope.studies.causal.models import choose_kinds
from leakscope.studies.causal.reading import CausalQuestion, read_names, read_problem
from leakscope.studies.causal.result import SAME, SHIFTED, CausalStudy
from leakscope.studies.causal.scenarios import CausalProblem
from leakscope.studies.causal.training import Questions, Retrain, recorded, train_all
from leakscope.studies.inputs import Steps, formerly
from leakscope.worlds.training import retrain


@formerly(parents="causes")
def study(
    data: Any = None,
    label: str = "",
    *,
    graph: Network | str | Path | None = None,
    causes: Sequence[str] | None = None,
    environments: str | None = None,
    drop: Sequence[str] = (),
    shift: str | float = "random",
    draws: int | None = None,
    rows: int | None = None,
    model: Any = "network",
    wrong: int = 0,
    attacks: Sequence[Attack] | None = None,
    paper_attack: bool = False,
    sensitive: Sequence[str] = (),
    task: Task | None = None,
    noise: bool = True,
    most: int = MOST_JUDGED,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> CausalStudy:
    """Compare a model on the causes of a label with one on all columns: utility, membership, attributes, under shift too.

    Parameters
    ----------
    data
        A DataFrame of records; None samples ``rows`` from the graph for each of the three parts.
    label
        The column to predict.
    graph, causes, environments
        Where the causes come from, one of the three: a network, its name (``"alarm"``) or a BIF file; the names of the
        causes; or the column of environments, from which the causes are learned
        (`causal.invariant_features`).
    drop
        Columns that no model sees. With a graph records are still drawn with them; a cause of the
        label can't be dropped.
    shift
        How P* differs (`causal_study.scenarios`). With a graph: ``"random"`` redraws every table but the label's,
        ``"parents"``, ``"children"`` and ``"all"`` intervene there [tople2020, Figure 2], and a number adds that much noise
        [tople2020, Figure 3c]. Without one it is ``"random"``; environments are their own shift.
    draws
        Number of shifted distributions, by default 5; environments have their own. Figures of P* are means over them, with intervals over records.
    model
        What uses all columns: ``"network"`` (128-512-128, needs torch), ``"logistic"``, ``"trees"`` or ``"ridge"``, or a
        scikit-learn estimator. The causal model is the table of Y given its causes where these are levels and Y a class,
        and the same kind on the causes is trained too.
    wrong
        Number of columns that are no causes to add to the causal model, the wrong parents of [tople2020, Table 2].
    attacks
        Membership attacks; by default all of the package that fit the label.
    paper_attack
        Whether to run the attack network of the paper too (`attacks.confidence_network`), which takes minutes.
    sensitive
        Columns whose values an attacker may want to infer from the outputs of each model.
    task
        ``"classification"`` or ``"regression"``; by default that of the label.
    noise
        Whether to measure the sensitivity of least squares on the causes and on all columns.
    most
        Members judged at most.
    confidence, seed, workers, cluster, cache, progress
        As in `leakscope.audit`. A scenario trains every kind of model on two samples; these pairs are trained in parallel.

    Examples
    --------
    >>> found = study(label="Akt", graph="sachs", rows=2000, model="logistic", draws=2, noise=False)
    >>> found.causes, [model.name for model in found.models]
    (('Erk', 'PKA'), ['table of the causes', 'logistic on all columns', 'logistic on the causes'])
    >>> found.claim("causal_leaks_less", law="P").outcome in ("yes", "inconclusive")
    True
    """
    start = time.perf_counter()
    check_count("wrong", wrong, 0)
    check_count("most", most, 80)
    confidence, seed = check_confidence(confidence), check_seed(seed)
    sensitive = read_names(() if sensitive is None else sensitive, "sensitive")
    question = CausalQuestion(label, graph, causes, environments, drop, shift, draws, rows, task)
    seeds = np.random.SeedSequence(seed)
    problem, choice, others = read_problem(data, question, confidence, seeds.spawn(1)[0])
    check_sensitive(sensitive, problem)
    tried = _chosen_attacks(attacks, paper_attack, "regression" if problem.classes is None else "classification")
    kinds = choose_kinds(problem, model, wrong, others, np.random.default_rng(seeds.spawn(1)[0]))
    able, not_run = _able(tried, kinds[0].model(problem.classes, _untrained))
    each = 1 - (1 - confidence) / max(1, len(tried))
    judging = Judging(able, tuple(dict.fromkeys(sensitive)), most, confidence, each)
    steps = (len(kinds) + 1) * len(problem.scenarios) + noise + bool(sensitive)
    report = Steps("comparing models", steps, progress)
    train = partial(retrain, workers=workers, cluster=cluster, cache=cache, progress=progress)
    # Threads of models this small wait for each other, for minutes where the machine is busy.
    with one_thread():
        runs = _run(problem, kinds, judging, seeds, train, report)
        attributes = measure_attributes(problem, runs.recorded, judging.sensitive, seed, confidence)
        report(bool(sensitive))
        needed = measure_noise(problem, seed, confidence, cache) if noise else None
        report(noise)
    settings = _settings(problem, question) | {
        "confidence": confidence, "confidence_of_each_attack": each, "model": kinds[1].name, "graph": question.graph_name,
        "wrong": wrong, "dropped": question.drop, "sensitive": sensitive, "most_judged": most, "seed": seed,
    }  # fmt: skip
    found = CausalStudy(
        label=label,
        causes=tuple(problem.names[column] for column in problem.causes),
        causes_from=problem.causes_from,
        models=tuple(compare(kind, problem, kept, confidence) for kind, kept in zip(kinds, runs.parts, strict=True)),
        attacks=tuple(one for kind, kept in zip(kinds, runs.parts, strict=True) for one in pool_attacks(kind, kept)),
        blind={law: pool_blind([found[law] for found in runs.blinds]) for law in (SAME, SHIFTED)},
        noise=needed,
        attributes=attributes,
        choice=choice,
        not_run=not_run,
        settings=plain_settings(settings),
        seconds={"total": round(time.perf_counter() - start, 3)},
        **stamp(),
    )
    return replace(found, claims=decide(found), warnings=tuple(_warnings(found, problem.skipped)))


class _Runs(NamedTuple):
    """What each kind did in each scenario, the blind baselines, and the model of each kind as attribute inference queries it."""

    parts: list[list[ScenarioPart]]
    blinds: list[dict[str, list[Blind]]]
    recorded: dict[str, Model]


def _run(
    problem: CausalProblem,
    kinds: Sequence[Kind],
    judging: Judging,
    seeds: np.random.SeedSequence,
    train: Retrain,
    report: Steps,
) -> _Runs:
    """Train and measure every kind in every scenario."""
    count = len(problem.scenarios)
    drawn = [child.spawn(len(kinds) + 1) for child in seeds.spawn(count)]
    trials = [
        # the second child: results that earlier versions saved keep their numbers
        draw_trials(scenario, judging.most, own[number].spawn(2)[1])
        for number in range(len(kinds))
        for scenario, own in zip(problem.scenarios, drawn, strict=True)
    ]
    variants = sensitive_variants(problem, judging.sensitive)
    releases = releases_of(judging.attacks, "regression" if problem.classes is None else "classification")
    seed = int(seeds.spawn(1)[0].generate_state(1)[0])
    seen = train_all(partial(train, seed=seed), Questions(problem, kinds, trials, releases, variants))
    pairs = [seen[start : start + 2] for start in range(0, len(seen), 2)]
    runs = _Runs([[] for _ in kinds], [], {})
    for place, (scenario, own) in enumerate(zip(problem.scenarios, drawn, strict=True)):
        runs.blinds.append(measure_blind(scenario, judging, own[-1]))
        report()
        for number, kept in enumerate(runs.parts):
            pair = number * count + place
            kept.append(measure(scenario, pairs[pair], trials[pair], judging))
            report()
    for number, kind in enumerate(kinds if len(variants) else ()):
        answers = pairs[number * count][0]["variants"]
        runs.recorded[kind.name] = recorded(kind, problem.classes, variants, answers)
    return runs


def _untrained(X: Any) -> Any:
    """Stand for the predictions of a model that attacks may refuse before it is trained."""
    raise NotImplementedError


def _chosen_attacks(attacks: Any, paper: bool, task: str) -> tuple[Attack, ...]:
    """The chosen attacks, or all that fit the label, with the network of the paper if chosen."""
    if attacks is not None:
        if isinstance(attacks, Attack) or not all(isinstance(attack, Attack) for attack in attacks):
            raise InputError(
                "attacks is a list of membership attacks, such as [leakscope.attacks.loss_threshold('log_loss')]"
            )
        return tuple(attacks)
    if paper and task == "regression":
        raise InputError("the attack network of the paper reads probabilities, and the label is a number: leave it out")
    return (*ATTACKS[task], *((confidence_network(),) if paper else ()))


def _able(attacks: Sequence[Attack], model: Model) -> tuple[tuple[Attack, ...], tuple[NotRun, ...]]:
    """The attacks that can read such a model, and why the others can't."""
    refused = {(attack.release, attack.name): reason for attack in attacks if (reason := attack.refuse(model))}
    return tuple(one for one in attacks if (one.release, one.name) not in refused), tuple(refused.values())


# --- what is stated ---------------------------------------------------------------------------------------------------


def _settings(problem: CausalProblem, question: CausalQuestion) -> dict[str, Any]:
    by_environment = problem.causes_from in ("invariant", "suggested")
    return {
        "trained_on": min(len(scenario.samples[0]) for scenario in problem.scenarios),
        "others": min(len(scenario.test) for scenario in problem.scenarios),
        "shifted_worlds": sum(len(scenario.shifted) for scenario in problem.scenarios),
        "shift": "environments" if by_environment else question.shift,
        "draws": None if by_environment else question.worlds,
        "task": "regression" if problem.classes is None else "classification",
        "columns": len(problem.names),
    }


def _warnings(found: CausalStudy, skipped: int) -> Iterator[Caveat]:
    if found.causes_from == "suggested":
        yield Caveat("causes_only_suggested", {"alike": found.choice is not None and found.choice.alike})
    if skipped:
        yield Caveat("environments_not_held_out", {"environments": skipped})
    for model in found.models:
        if model.unseen > 0:
            yield Caveat("unseen_causes", {"model": model.name, "share": model.unseen})
