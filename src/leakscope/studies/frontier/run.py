"""The frontier: how faithful explanations are, against what they add to the membership risk of the prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakscope.core import intervals
from leakscope.core.checks import check_number, check_seed
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun, plain_settings
from leakscope.core.versions import stamp
from leakscope.data.splitting import is_random_split
from leakscope.evaluation.dominance import difference, exact, find_dominating
from leakscope.evaluation.results import Audit
from leakscope.evaluation.settings import MARGIN
from leakscope.evaluation.settings import Settings as AuditSettings
from leakscope.models.model import Model, Outputs, Task
from leakscope.models.provenance import model_fingerprint
from leakscope.releases.feature_explanations import FeatureExplanation, explain_model, parse
from leakscope.releases.feature_explanations.faithfulness import Bench, RecordScores
from leakscope.releases.release import Progress
from leakscope.studies.audit import audit
from leakscope.studies.frontier.result import ExplanationRisk, Frontier, frontier_claims
from leakscope.studies.inputs import formerly, given_model, read_target

#: Deviations of SmoothGrad's noise, in units of the usual deviation of a feature.
SIGMAS = (0.25, 1.0, 4.0)
#: Deviations of noise on the released values, in units of their usual size.
NOISES = (0.1, 1.0)
TOPS = (5, 20)


@formerly("releases", explanations="releases", beside="prediction", margin="tolerance")
def frontier(
    model: Any,
    train: tuple[Any, Any] | None = None,
    holdout: tuple[Any, Any] | None = None,
    *,
    releases: Sequence[FeatureExplanation | str] | None = None,
    fit: Callable[[Any, Any, np.random.Generator], Any] | None = None,
    task: Task | None = None,
    classes: ArrayLike | None = None,
    outputs: Outputs | None = None,
    prediction: str | None = None,
    baseline: float = 0.0,
    records: int = 300,
    references: int | None = None,
    budget: float | None = None,
    random_split: bool = False,
    retrain: bool = True,
    drop_overlap: bool = False,
    repeats: int | None = None,
    confidence: float = 0.95,
    tolerance: float = MARGIN,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Frontier:
    """Measure how faithful explanations are, against what they add to the membership risk of the prediction.

    Parameters
    ----------
    model, train, holdout, fit, task, classes, outputs, references, budget, random_split, retrain, drop_overlap, repeats, workers, cluster, cache
        See :func:`leakscope.audit`; one audit is run for all explanations.
    releases
        Explanations or their names, such as ``["gradient", "gradient:top=5", "smoothgrad:sigma=0.5"]``; by default all methods, and the gradient
        smoothed, cut, rounded, with noise, and normalised (`usual_settings`). Those that the model does not support are listed with the reason.
    prediction
        What is released in any case, ``"labels"`` or ``"probabilities"``; by default the most informative prediction of the model. The risk of an
        explanation is what it adds to it.
    baseline
        The value of a feature that is removed, and the start of integrated gradients and DeepLIFT of the usual settings.
    records
        The number of held-out records that faithfulness is measured on.
    tolerance
        How much worse an explanation may be on one axis and still dominate another, and the largest extra advantage of a recommended one.
    seed
        The same seed gives the same numbers to the last bit.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 5))
    >>> y = (X[:, 0] + X[:, 1] / 2 + rng.normal(size=400) > 0).astype(int)
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> names = ["gradient", "gradient:noise=1.0"]
    >>> found = frontier(model, (X[:200], y[:200]), (X[200:], y[200:]), releases=names, retrain=False)
    >>> [one.name for one in found.explanations if one.faithfulness.order.low > 0.2]
    ['gradient']
    """
    seed = check_seed(seed)
    AuditSettings(confidence=confidence, references=references).checked()
    check_number("tolerance", tolerance, 0, 0.5, open_ends=True)
    chosen = None if releases is None else _read(releases)
    target = read_target(model, train, holdout, fit=fit, task=task, classes=classes, outputs=outputs)
    prediction = _prediction(target.model, prediction)
    bench = Bench(target.model, target.nonmembers.X, baseline=baseline, records=records, seed=seed)
    scores, not_run = _score(bench, usual_settings(bench) if chosen is None else chosen, progress)
    found = audit(
        target, releases=[prediction, *scores], random_split=random_split or is_random_split(train, holdout), references=references,
        budget=budget, retrain=retrain, drop_overlap=drop_overlap, repeats=repeats, confidence=confidence, seed=seed, workers=workers,
        cluster=cluster, cache=cache, progress=progress,
    )  # fmt: skip
    random = np.random.default_rng([seed, 1]).normal(size=bench.flat.shape)
    settings = {
        "model": found.target.model, "releases": list(scores), "prediction": prediction, "baseline": bench.baseline,
        "output": bench.shown if target.model.task == "classification" else "value", "records": records,
        "references": found.settings["references"], "budget": budget, "random split": found.settings["random split"], "retrain": retrain,
        "drop_overlap": drop_overlap, "repeats": found.settings["repeats"], "tolerance": tolerance, "confidence": confidence, "seed": seed,
    }  # fmt: skip
    weighed = _weigh(scores, found, tolerance, confidence)
    return Frontier(
        claims=tuple(frontier_claims(weighed, prediction, tolerance)),
        warnings=found.warnings,
        not_run=tuple(not_run),
        settings=plain_settings(settings),
        fingerprints=found.fingerprints | model_fingerprint(given_model(model)),
        seconds=found.seconds,
        explanations=weighed,
        prediction=prediction,
        random_order=bench.score(random, bench.shown).summary(confidence).order,
        features=int(bench.flat.shape[1]),
        scored=len(bench.flat),
        judged=found.target.judged,
        **stamp(),
    )


def _read(releases: Any) -> list[FeatureExplanation]:
    """Explanations from themselves or their names, each once."""
    given = [releases] if isinstance(releases, str | FeatureExplanation) else list(releases)
    if not given or not all(isinstance(one, str | FeatureExplanation) for one in given):
        raise InputError("releases must be explanations or their names, such as ['gradient', 'gradient:top=5']")
    read = [parse(one.strip()) if isinstance(one, str) else one for one in given]
    return list({how.name: how for how in read}.values())


def _prediction(model: Model, wanted: str | None) -> str:
    """The prediction that is released in any case: by default the most informative one, which comes first."""
    gives = (
        ["predictions"] if model.task == "regression" else ["probabilities", "labels"][not model.gives_probabilities :]
    )
    if wanted not in (None, *gives):
        raise InputError(f"prediction must be {' or '.join(gives)} for this model, not {wanted!r}")
    return wanted or gives[0]


def _score(
    bench: Bench, chosen: Sequence[FeatureExplanation], progress: Progress | None
) -> tuple[dict[str, RecordScores], list[NotRun]]:
    """Faithfulness of each explanation, and those that the model does not support."""
    scores, not_run = {}, []
    for done, how in enumerate(chosen, start=1):
        try:
            scores[how.name] = bench.score(bench.explain(how), how.explains)
        except InputError as error:
            not_run.append(NotRun(how.name, "all", str(error)))
        if progress is not None:
            progress("explaining", done, len(chosen))
    if not scores:
        raise InputError(f"the model supports none of these explanations: {not_run[0].reason}")
    return scores, not_run


def _weigh(
    scores: dict[str, RecordScores], found: Audit, tolerance: float, confidence: float
) -> tuple[ExplanationRisk, ...]:
    """Faithfulness and extra risk of each explanation, and which others dominate it.

    Faithfulness is compared record by record, with the confidence shared out over all pairs; the intervals of the extra advantages are simultaneous.
    """
    names = list(scores)
    extras = {extra.release: extra for extra in found.extras}
    # not below 0, since an attacker can ignore the explanation
    risks = [extras[name].advantage.mapped(lambda extra: max(0.0, extra)) for name in names]
    orders = [scores[name].order for name in names]
    kept = [scores[name].summary(confidence) for name in names]
    together = 1 - (1 - confidence) / max(1, len(names) * (len(names) - 1) // 2)

    def gains(ours: int, theirs: int) -> list[Estimate]:
        return [difference(risks[theirs], risks[ours]), intervals.mean(orders[ours] - orders[theirs], together)]

    def by_value(ours: int, theirs: int) -> list[Estimate]:
        more = kept[ours].order.value - kept[theirs].order.value
        return [exact(risks[theirs].value - risks[ours].value), exact(more)]

    dominating = find_dominating(len(names), gains, [tolerance, tolerance])
    better = find_dominating(len(names), by_value)
    return tuple(
        ExplanationRisk(
            name=name,
            faithfulness=kept[at],
            advantage=extras[name].advantage,
            auc=extras[name].auc,
            control=extras[name].control,
            beyond_control=extras[name].beyond_control,
            pareto_optimal=better[at] is None,
            dominated_by=None if (by := dominating[at]) is None else names[by],
        )
        for at, name in enumerate(names)
    )


# --- the explanations that are measured by default ---------------------------------------------------------------------


def usual_settings(bench: Bench) -> list[FeatureExplanation]:
    """Give all methods, and the gradient with every form of post-processing.

    The largest values are taken of gradient times input too: those of a gradient are often at features that the record does not have.

    Settings with a unit are fitted to the records, to one digit: the noise of SmoothGrad to the standard deviation of the features, noise and decimals to
    the size of the gradients.

    Examples
    --------
    >>> from leakscope.models.adapters import estimator_model
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = estimator_model(LinearRegression().fit(X, X @ [300.0, 400.0]))
    >>> [how.name for how in usual_settings(Bench(model, X)) if "sigma" in how.name or "noise" in how.name]
    ['smoothgrad:sigma=1.0', 'smoothgrad:sigma=4.0', 'smoothgrad:sigma=1.0:samples=5', 'gradient:noise=40.0', 'gradient:noise=400.0']
    """
    plain = FeatureExplanation("gradient", output=None if bench.shown == "probability" else "logit")
    contributions = replace(plain, method="gradient_x_input")
    size = _root_mean_square(explain_model(bench.model, bench.drawn, plain)) or 1.0
    spread = _root_mean_square(bench.flat - bench.flat.mean(axis=0)) or 1.0
    smooth = [replace(plain, method="smoothgrad", sigma=one_digit(share * spread)) for share in SIGMAS]
    rounded = [replace(plain, digits=1), replace(plain, digits=2)]
    rounded.append(replace(plain, decimals=max(0, -int(np.floor(np.log10(size))))))
    every = [
        plain,
        contributions,
        replace(plain, method="integrated_gradients", baseline=bench.baseline),
        FeatureExplanation("lrp"),
        FeatureExplanation("deeplift", baseline=bench.baseline),
        *smooth,
        replace(smooth[1], samples=5),
        *(replace(how, top=top) for how in (plain, contributions) for top in TOPS if top < bench.flat.shape[1]),
        *rounded,
        *(replace(plain, noise=one_digit(share * size)) for share in NOISES),
        replace(plain, normalised=True),
    ]
    return list({how.name: how for how in every}.values())


def one_digit(value: float) -> float:
    """Rounded to one significant digit.

    >>> one_digit(0.0347)
    0.03
    """
    return float(f"{value:.0e}")


def _root_mean_square(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
