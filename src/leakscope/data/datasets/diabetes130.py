"""Diabetes 130-US hospitals: encounters of patients with the label whether the patient is readmitted.

Peculiarities of the file: a missing value is ``?``, while ``None`` is a level of ``max_glu_serum`` and ``A1Cresult`` ("not
measured"); a record is an encounter, and a person has up to 40 of them; ``examide`` and ``citoglipton`` are constant;
three records have the gender ``Unknown/Invalid``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.data.datasets.dataset import Dataset, Description
from leakscope.data.datasets.store import open_payload
from leakscope.data.encoding import of_columns, one_hot

NUMBERS = (
    "time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications", "number_outpatient",
    "number_emergency", "number_inpatient", "number_diagnoses",
)  # fmt: skip
PERSONAL = ("gender", "race", "age")
MEDICAL = ("discharge_disposition_id", "max_glu_serum", "A1Cresult")
DRUGS = (
    "metformin", "repaglinide", "nateglinide", "chlorpropamide", "glimepiride", "acetohexamide", "glipizide",
    "glyburide", "tolbutamide", "pioglitazone", "rosiglitazone", "acarbose", "miglitol", "troglitazone", "tolazamide",
    "examide", "citoglipton", "insulin", "glyburide-metformin", "glipizide-metformin", "glimepiride-pioglitazone",
    "metformin-rosiglitazone", "metformin-pioglitazone",
)  # fmt: skip
TREATMENT = ("change", "diabetesMed")
CATEGORICAL = PERSONAL + MEDICAL + DRUGS + TREATMENT
SENSITIVE = (*PERSONAL, "weight", "diag_1", "diag_2", "diag_3", "max_glu_serum", "A1Cresult", *DRUGS)


def read(description: Description, folder: Path) -> pd.DataFrame:
    """Read the 50 columns of the file unchanged; ``?`` is a missing value."""
    with open_payload(folder / description.files[0].name) as stream:
        return pd.read_csv(stream, na_values="?", keep_default_na=False, low_memory=False)


def prepare(
    description: Description,
    table: pd.DataFrame,
    *,
    preparation: str | None = None,
    one_per_person: bool = False,
    balanced: bool | None = None,
    seed: int = 0,
) -> Dataset:
    """Select and encode the hospital encounters of `read`.

    Parameters
    ----------
    preparation
        None: the 47 columns as published, without the two identifiers and the label; missing values NaN; labels ``NO``,
        ``>30`` and ``<30`` (days until readmission).
        ``one-hot``: 127 columns, label 1 for readmission within 30 days and 0 otherwise. 8 numbers scaled to [0, 1] by
        the minimum and maximum of the whole file and 119 indicators: gender (3), race (6, a missing race is one), age
        (10), discharge_disposition_id (26), max_glu_serum (4), A1Cresult (4), the 23 drugs (64, the two constant ones
        included), change (1), diabetesMed (1) [shokri2019, B.5; the selection is that of Koh and Liang 2017, 5.1].
    one_per_person
        Keep the encounter with the lowest number of each person.
    balanced
        Undersample each class at random with ``seed`` to the size of the smallest class. None means True for
        ``one-hot``, as in the paper, and False for the raw data.
    """
    identifiers = ["encounter_id", "patient_nbr", "readmitted"]
    encounter, person, readmitted = (table[name] for name in identifiers)
    table = table.drop(columns=identifiers)
    y = readmitted.to_numpy(str) if preparation is None else (readmitted == "<30").to_numpy(np.int64)
    rows = _first_encounters(encounter, person) if one_per_person else np.arange(len(table))
    if balanced or (balanced is None and preparation == "one-hot"):
        rows = rows[_balanced_rows(y[rows], seed)]
    if preparation == "one-hot":
        X = one_hot(table[[*NUMBERS, *CATEGORICAL]].fillna({"race": "?"}), CATEGORICAL, rows)
    else:
        X = table.iloc[rows]
    return Dataset(
        description=description,
        X=X,
        y=y[rows],
        groups=table[["race", "gender", "age"]].fillna("unknown").iloc[rows],
        sensitive=of_columns(SENSITIVE, X),
        person=person.to_numpy()[rows],
    )


def _first_encounters(encounter: pd.Series[int], person: pd.Series[int]) -> NDArray[np.intp]:
    """Return the position of each person's lowest encounter number, in the order of the file."""
    return np.sort(encounter.groupby(person).idxmin().to_numpy())


def _balanced_rows(y: NDArray[np.generic], seed: int) -> NDArray[np.intp]:
    """Return the positions of equally many records of each class, in ascending order."""
    generator = np.random.default_rng(seed)
    classes, counts = np.unique(y, return_counts=True)
    drawn = [generator.choice(np.flatnonzero(y == label), counts.min(), replace=False) for label in classes]
    return np.sort(np.concatenate(drawn))
