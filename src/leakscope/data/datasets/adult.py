"""UCI Adult: census records of 1994 with the label whether the income exceeds 50,000 dollars a year.

File format: the test file begins with a comment line and its labels end in a dot; both files end in an empty
line; a missing value is ``?``; ``education`` and ``education-num`` encode the same variable.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.data.datasets.dataset import Dataset, Description
from leakscope.data.datasets.store import open_payload
from leakscope.data.encoding import integer_codes, of_columns, one_hot, principal_components

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip
CATEGORICAL = tuple(name for name in COLUMNS if name not in NUMBERS)
SENSITIVE = ("marital-status", "relationship", "race", "sex", "native-country")


def read(description: Description, folder: Path) -> list[pd.DataFrame]:
    """Read the two files unchanged: 32,561 training records, 16,281 test records, income last."""
    return [_read_part(folder / file.name) for file in description.files]


def prepare(
    description: Description,
    parts: list[pd.DataFrame],
    *,
    preparation: str | None = None,
    components: int | None = None,
) -> Dataset:
    """Join the training and the test records of `read`, and encode them.

    Parameters
    ----------
    preparation
        None: the 14 columns as published, text trimmed, missing values NaN, labels ``<=50K`` and ``>50K``.
        ``one-hot``: 104 columns and labels 0, 1 [shokri2019, B.4]. All 14 columns of all 48,842 records: 6 numbers
        scaled to [0, 1] by the minimum and maximum of the whole set, 97 indicators for workclass (8), education (16),
        marital-status (7), occupation (14), relationship (6), race (5) and native-country (41), and one for sex. A
        missing value is zero in all indicators of its column.
        ``codes``: 14 columns of integers and labels 0, 1; the code of a text is its rank among the sorted levels, and
        a missing value is the level ``?`` [farokhi2020, 6.1].
    components
        With ``codes``: number of principal components of the standardised columns to keep. The paper does not state
        whether it standardises; without it, the first component would be ``fnlwgt`` alone.
    """
    if components is not None and preparation != "codes":
        raise InputError('components= needs preparation="codes": add it or leave components= out')
    if components is not None:
        check_count("components", components, most=len(COLUMNS))
    table = pd.concat(parts, ignore_index=True)
    income = table.pop("income").str.removesuffix(".")
    X = table
    if preparation == "one-hot":
        X = one_hot(table, CATEGORICAL)
    elif preparation == "codes":
        X = integer_codes(table, CATEGORICAL).astype(np.int64)
        X = X if components is None else principal_components(X, components)
    return Dataset(
        description=description,
        X=X,
        y=income.to_numpy(str) if preparation is None else (income == ">50K").to_numpy(np.int64),
        groups=pd.DataFrame({"race": table["race"], "sex": table["sex"], "age": table["age"].map(_decade)}),
        sensitive=of_columns(SENSITIVE, X),
        train=np.arange(len(table)) < len(parts[0]),
    )


def _read_part(path: Path) -> pd.DataFrame:
    with open_payload(path) as stream:
        return pd.read_csv(
            stream, names=[*COLUMNS, "income"], skipinitialspace=True, comment="|", na_values="?", keep_default_na=False
        )


def _decade(age: int) -> str:
    return f"[{age // 10 * 10}-{age // 10 * 10 + 10})"
