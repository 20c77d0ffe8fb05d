"""The frontier: how faithful explanations are, against what they add to what the prediction gives away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.auditing import audit
from leakscope.errors import InputError
from leakscope.evaluation.settings import MARGIN
from leakscope.evaluation.settings import Settings as AuditSettings
from leakscope.explanations import FeatureExplanation, parse
from leakscope.explanations.faithfulness import Bench, RecordScores
from leakscope.frontier_study.dominance import beaten_by_points, surely_beaten
from leakscope.frontier_study.result import Frontier, Setting
from leakscope.frontier_study.usual import usual_settings
from leakscope.models import Model
from leakscope.oracle import check_seed
from leakscope.releases import Progress
from leakscope.results import Audit, Estimate, NotRun
from leakscope.target import make_target


def frontier(
    model: Any,
    train: tuple[Any, Any],
    holdout: tuple[Any, Any],
    settings: Sequence[FeatureExplanation | str] | None = None,
    *,
    fit: Callable[[Any, Any, np.random.Generator], Any] | None = None,
    task: Any = None,
    classes: Any = None,
    outputs: Any = None,
    beside: str | None = None,
    baseline: float = 0.0,
    records: int = 300,
    references: int | None = None,
    retrain: bool = True,
    drop_overlap: bool = False,
    confidence: float = 0.95,
    margin: float = MARGIN,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Frontier:
    """Measure how faithful explanations are, against what they add to what the prediction gives away of the training set.

    Parameters
    ----------
    model, train, holdout, fit, task, classes, outputs, references, retrain, drop_overlap, workers, cluster, cache
        See :func:`leakscope.audit`; one audit is run for all settings.
    settings
        Explanations or their names, such as ``["gradient", "gradient:top=5", "smoothgrad:sigma=0.5"]``; by default all
        methods, and the gradient smoothed, cut, rounded, with noise, and normalised (`usual_settings`). Those that this
        model can't be explained by are listed with the reason.
    beside
        What is released anyway, ``"labels"`` or ``"probabilities"``; by default the most telling prediction that the model
        gives. Leakage is what an explanation adds to it.
    baseline
        What a feature is set to where it is removed, and where integrated gradients and DeepLIFT of the usual settings
        start.
    records
        How many held-out records faithfulness is measured on.
    margin
        A setting is surely beaten if another that is better by points is surely better in faithfulness or in leakage, and
        surely worse in the other by no more than this (`dominance`).
    seed
        The same seed gives the same numbers to the last bit.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 5))
    >>> y = (X[:, 0] + X[:, 1] / 2 + rng.normal(size=400) > 0).astype(int)
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> found = frontier(model, (X[:200], y[:200]), (X[200:], y[200:]), ["gradient", "gradient:noise=1.0"], retrain=False)
    >>> [setting.name for setting in found.settings if setting.faithfulness.order.low > 0.2]
    ['gradient']
    """
    check_seed(seed)
    AuditSettings(confidence=confidence, margin=margin, references=references).checked()
    chosen = None if settings is None else _read(settings)
    target = make_target(model, train, holdout, fit=fit, task=task, classes=classes, outputs=outputs)
    beside = _prediction(target.model, beside)
    bench = Bench(target.model, target.nonmembers.X, baseline=baseline, records=records, seed=seed)
    scores, not_run = _score(bench, usual_settings(bench) if chosen is None else chosen, progress)
    found = audit(
        model, train, holdout, fit=fit, task=task, classes=classes, outputs=outputs, releases=[beside, *scores],
        references=references, retrain=retrain, drop_overlap=drop_overlap, confidence=confidence, seed=seed, workers=workers, cluster=cluster,
        cache=cache, progress=progress,
    )  # fmt: skip
    random = np.random.default_rng([seed, 1]).normal(size=bench.flat.shape)
    run = {
        "model": found.target.model,
        "records": len(bench.flat),
        "features": bench.flat.shape[1],
        "judged": found.target.judged,
        "baseline": bench.baseline,
        "output": bench.shown if target.model.task == "classification" else "value",
        "margin": margin,
        "confidence": confidence,
        "seed": int(seed),
        "references": found.settings["references"],
        "retrained": found.target.control_models is not None,
    }
    return Frontier(
        settings=_combine(scores, found, margin, confidence),
        not_run=tuple(not_run),
        beside=beside,
        random_order=bench.score(random, bench.shown).summary(confidence).order,
        run=run,
        audit=found,
    )


def _read(settings: Any) -> list[FeatureExplanation]:
    """Explanations from themselves or their names, each once."""
    given = [settings] if isinstance(settings, str | FeatureExplanation) else list(settings)
    if not given or not all(isinstance(one, str | FeatureExplanation) for one in given):
        raise InputError("settings must be explanations or their names, such as ['gradient', 'gradient:top=5']")
    read = [parse(one.strip()) if isinstance(one, str) else one for one in given]
    return list({how.name: how for how in read}.values())


def _prediction(model: Model, wanted: str | None) -> str:
    """The prediction that is released anyway: by default the most telling that the model gives, which comes first."""
    gives = (
        ["predictions"] if model.task == "regression" else ["probabilities", "labels"][not model.gives_probabilities :]
    )
    if wanted not in (None, *gives):
        raise InputError(f"beside is {' or '.join(gives)} for this model, not {wanted!r}")
    return wanted or gives[0]


def _score(
    bench: Bench, chosen: Sequence[FeatureExplanation], progress: Progress | None
) -> tuple[dict[str, RecordScores], list[NotRun]]:
    """Faithfulness of each setting, and which the model can't be explained by."""
    scores, not_run = {}, []
    for done, how in enumerate(chosen, start=1):
        try:
            scores[how.name] = bench.score(bench.explain(how), how.explains)
        except InputError as error:
            not_run.append(NotRun(how.name, "all", str(error)))
        if progress is not None:
            progress("explaining", done, len(chosen))
    if not scores:
        raise InputError(f"none of these explanations can be had of this model: {not_run[0].reason}")
    return scores, not_run


def _at_least_nothing(extra: Estimate) -> Estimate:
    """Extra leakage as it is compared: none is below 0, since an attacker can leave the explanation aside."""
    return replace(extra, value=max(0.0, extra.value), low=max(0.0, extra.low), high=max(0.0, extra.high))


def _combine(scores: dict[str, RecordScores], found: Audit, margin: float, confidence: float) -> tuple[Setting, ...]:
    """Faithfulness and leakage of each setting, and which beats it."""
    names = list(scores)
    extras = {extra.release: extra for extra in found.extras}
    leakage = [_at_least_nothing(extras[name].advantage) for name in names]
    quality = [scores[name].order for name in names]
    kept = {name: scores[name].summary(confidence) for name in names}
    beaten = beaten_by_points([kept[name].order.value for name in names], [leaks.value for leaks in leakage])
    surely = surely_beaten(quality, leakage, margin, confidence)
    return tuple(
        Setting(
            name=name,
            faithfulness=kept[name],
            advantage=extras[name].advantage,
            auc=extras[name].auc,
            control=extras[name].control,
            beaten_by=None if one is None else names[one],
            surely_beaten_by=None if sure is None else names[sure],
        )
        for name, one, sure in zip(names, beaten, surely, strict=True)
    )
