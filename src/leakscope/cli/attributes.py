"""The command ``leakscope attributes``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from leakscope.cli import options as shared
from leakscope.cli.options import ATTACKS, INPUT, option
from leakscope.core.errors import InputError


@shared.grouped
def attributes(
    context: typer.Context,
    data: shared.Data,
    sensitive: Annotated[
        str, option(INPUT, "Columns that an attacker wants to infer, separated by commas; 2 to 20 levels each.")
    ],
    known: Annotated[
        str | None, option(ATTACKS, "Columns that the attacker knows, separated by commas; by default all others.")
    ] = None,
    knows_label: Annotated[bool, option(ATTACKS, "Whether the attacker knows the true labels.")] = True,
    digits: Annotated[
        int | None, option(ATTACKS, "Round the model's outputs to this number of decimals.", min=0)
    ] = None,
    out: shared.Out = None,
    confidence: shared.Confidence = 0.95,
    seed: shared.Seed = 0,
    as_json: shared.Json = False,
) -> None:
    """Measure what a model's outputs reveal about sensitive columns to an attacker who knows the others."""
    from leakscope.core.threads import one_thread
    from leakscope.data.tables import split_names
    from leakscope.models.provenance import model_fingerprint
    from leakscope.studies.attributes import attributes as run

    shared.check_out(out)
    if data.train.resolve() == data.holdout.resolve():
        raise InputError(
            "--train and --holdout are one file: pass records that the model was not trained on as --holdout"
        )
    given = data.read()
    sets = given.sets
    columns = sets.holdout[0].columns
    names = split_names(sensitive, columns)
    if data.label in names:
        raise InputError(f"--sensitive names the label {data.label!r}: name a feature")
    chosen = None if known is None else split_names(known, columns)
    with one_thread(), shared.progress_bars() as progress:
        result = run(
            given.model, sets.train, sets.holdout, sensitive=names, known=chosen, knows_label=knows_label, digits=digits,
            confidence=confidence, seed=seed, progress=progress, **given.said,
        )  # fmt: skip
    result = replace(result, fingerprints=model_fingerprint(given.model, given.digest))
    shared.finish(result, out, as_json, context=context)
