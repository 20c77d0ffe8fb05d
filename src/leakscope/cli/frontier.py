"""The command ``leakscope frontier``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from leakscope.cli import options as shared
from leakscope.cli.options import ATTACKS, option
from leakscope.core.errors import InputError


@shared.grouped
def frontier(
    context: typer.Context,
    data: shared.Data,
    training: shared.Training,
    releases: Annotated[
        str | None,
        option(
            ATTACKS,
            "Feature explanations to compare, separated by commas, such as gradient,gradient:top=5,smoothgrad:sigma=0.5; by default many.",
        ),
    ] = None,
    prediction: Annotated[
        str | None,
        option(
            ATTACKS, "What is released in any case: probabilities or labels; by default the most that the model gives."
        ),
    ] = None,
    out: shared.Out = None,
    baseline: Annotated[float, option(ATTACKS, "Value of a feature that is removed.")] = 0.0,
    records: Annotated[int, option(ATTACKS, "Held-out records to measure faithfulness on.")] = 300,
    tolerance: Annotated[
        float,
        option(
            ATTACKS,
            "How much worse an explanation may be on one axis and still dominate another, and the largest extra "
            "advantage of a recommended one.",
        ),
    ] = 0.05,
    as_json: shared.Json = False,
) -> None:
    """Compare explanations: how faithful they are to the model, and what they add to its membership risk."""
    from leakscope.models.provenance import model_fingerprint
    from leakscope.studies.frontier import frontier as run

    names = None if releases is None else [name.strip() for name in releases.split(",") if name.strip()]
    if names == []:
        raise InputError("--releases names none: leave it out, or pass names such as gradient,gradient:top=5")
    shared.check_out(out)
    given = data.read()
    asked, sets = training.read(given), given.sets
    with shared.progress_bars() as progress:
        result = run(
            given.model, sets.train, sets.holdout, releases=names, prediction=prediction, baseline=baseline, records=records,
            tolerance=tolerance, progress=progress, **given.said, **asked,
        )  # fmt: skip
    result = replace(result, fingerprints=result.fingerprints | model_fingerprint(given.model, given.digest))
    shared.finish(result, out, as_json, context=context)
