"""The command ``leakscope attributes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli_shared import Confidence, Drop, Holdout, Id, Json, Label, Seed, Train, Trust, TrustPickle
from leakscope.errors import InputError
from leakscope.failures import safe_warnings


def attributes(
    model: Annotated[Path, typer.Argument(help="The model: .skops, .onnx, or a pickle with --trust-pickle.")],
    train: Train,
    holdout: Holdout,
    label: Label,
    sensitive: Annotated[
        str, typer.Option(help="Columns that an attacker wants to infer, separated by commas; 2 to 20 levels each.")
    ],
    known: Annotated[
        str | None, typer.Option(help="Columns that the attacker knows, separated by commas; by default all others.")
    ] = None,
    knows_label: Annotated[bool, typer.Option(help="Whether the attacker knows the true labels.")] = True,
    digits: Annotated[int | None, typer.Option(help="Round the model's answers to so many decimals.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for attributes.json and study.json.", file_okay=False)
    ] = None,
    id: Id = None,  # noqa: A002
    drop: Drop = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    trust_pickle: TrustPickle = False,
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Measure what a model's answers tell about a sensitive column to someone who knows the others."""
    from leakscope.attribute import attribute_inference
    from leakscope.attribute.telling import tell_all
    from leakscope.model_files import load_model
    from leakscope.storage import check_writable, write_all
    from leakscope.study import FILE, study_to_json
    from leakscope.tables import read_sets, split_names
    from leakscope.workers import one_thread

    if out is not None:
        check_writable(out)
    if train.resolve() == holdout.resolve():
        raise InputError("--train and --holdout are one file: give records that were never trained on as the holdout")
    loaded = load_model(model, trust_pickle=trust_pickle, trust=tuple(trust or ()))
    sets = read_sets((train, holdout), loaded, label=label, groups=None, id_column=id, drop=drop)
    columns = sets.holdout[0].columns
    names = split_names(sensitive, columns)
    if label in names:
        raise InputError(f"{label} is the label, which the attack is not after: name another --sensitive column")
    chosen = None if known is None else split_names(known, columns)
    with one_thread(), safe_warnings():
        found = [
            attribute_inference(
                loaded, *sets.holdout, name, train=sets.train, known=_others(chosen, name), knows_label=knows_label, digits=digits,
                confidence=confidence, seed=seed,
            )
            for name in names
        ]  # fmt: skip
    document = json.dumps([risk.as_dict() for risk in found], indent=1, ensure_ascii=False, allow_nan=False)
    if out is not None:
        write_all(out, {FILE: study_to_json(tell_all(found)), "attributes.json": document.encode()})
    if as_json:
        print(document)
        return
    print("\n\n".join(map(str, found)))
    if out is not None:
        print(f"\nfiles: {out / 'attributes.json'}, study.json")


def _others(known: list[str] | None, name: str) -> list[str] | None:
    """What the attacker knows, but for the column that he is after."""
    return None if known is None else [one for one in known if one != name]
