"""The command ``leakscope audit``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli import options as shared
from leakscope.cli.gate import Conditions, stop_if_failed
from leakscope.cli.options import ATTACKS, option
from leakscope.core.errors import InputError

if TYPE_CHECKING:
    from leakscope.record.conditions import Scope

RANDOM_SPLIT_HINT = (
    "If training and held-out records come from one random split, add --random-split: fewer models are trained, and weaker leaks are "
    "found."
)


@shared.grouped
def audit(
    context: typer.Context,
    data: shared.Data,
    training: shared.Training,
    conditions: Conditions,
    out: shared.Out = None,
    groups: shared.Groups = None,
    bins: shared.Bins = None,
    weights: shared.Weights = None,
    releases: Annotated[
        str | None,
        option(
            ATTACKS,
            "Releases to audit, separated by commas: labels, probabilities, predictions, gradient, integrated_gradients, "
            "smoothgrad:sigma=0.1, … (see docs/feature-explanations.md).",
        ),
    ] = None,
    attacks: Annotated[
        str | None,
        option(
            ATTACKS,
            "Attacks in the place of the default ones, separated by commas; “default” adds these: default,boundary,quantile "
            "(see docs/matrix.md).",
        ),
    ] = None,
    include: shared.With = None,
    epsilon: Annotated[
        float | None,
        option(ATTACKS, "Claimed ε of differential privacy for the swap of one record; the audit tests the claim."),
    ] = None,
    delta: Annotated[float, option(ATTACKS, "Claimed δ, with --epsilon.")] = 0.0,
    margin: shared.Margin = 0.05,
    as_json: shared.Json = False,
) -> None:
    """Audit a trained model: do its outputs reveal who was in the training data?"""
    from leakscope.record.storage import load
    from leakscope.studies.audit import audit as run

    rules = conditions.read(_scope(releases))
    if delta and epsilon is None:
        raise InputError("--delta goes with --epsilon: name both")
    shared.check_out(out)
    others = [load(folder) for folder in include or ()]
    given = data.read(groups, weights)
    asked, sets = training.read(given), given.sets
    if training.retrain and not training.random_split and sys.stderr.isatty():
        print(RANDOM_SPLIT_HINT, file=sys.stderr)
    with shared.progress_bars() as progress:
        result = run(
            given.model, sets.train, sets.holdout, groups=sets.groups, bins=shared.read_bins(bins), ids=sets.ids,
            releases=None if releases is None else releases.split(","),
            attacks=None if attacks is None else attacks.split(","), margin=margin, epsilon=epsilon, delta=delta,
            command=shared.command_line(context), model_digest=given.digest, progress=progress, **given.said, **asked,
        )  # fmt: skip
    gate = None if rules is None else conditions.judge(rules, result)
    shared.finish(result, out, as_json, include=others, gate=gate)
    stop_if_failed(gate)
    if result.verdict.kind == "claim_refuted":
        raise typer.Exit(shared.GATE_FAILED)


def _scope(releases: str | None) -> Scope:
    """What an audit with these options will have numbers for, as far as that is known before the model is read."""
    from leakscope.attacks.selection import FOLLOWS, PREDICTIONS, read_releases
    from leakscope.record.conditions import audit_scope
    from leakscope.releases.release import RELEASES

    named = list(RELEASES) if releases is None else [release.name for release in read_releases(releases.split(","))]
    readable = dict.fromkeys(name for release in named for name in FOLLOWS.get(release, (release,)))
    explains = bool(set(named) & set(PREDICTIONS)) and not set(named) <= set(RELEASES)
    return audit_scope(tuple(readable), groups=True, explanations=explains)
