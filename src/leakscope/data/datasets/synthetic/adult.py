"""Synthetic records with the columns, levels, missing values and class balance of UCI Adult.

Frequencies of levels are those of the published table, in thousandths. Labels depend on a latent variable with which
age, education, occupation, working hours and capital are correlated; sex, race and country are independent of it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from leakscope.data.datasets.adult import COLUMNS
from leakscope.data.datasets.synthetic.tables import Column, deal, draw_table

ROWS = 48_842
TRAIN_SHARE = 32_561 / ROWS
LABELS, BALANCE = ("<=50K", ">50K"), (37_155, 11_687)
LABEL_NOISE = 0.6

_EDUCATION = {
    "Preschool": 1.7, "1st-4th": 5.1, "5th-6th": 10.4, "7th-8th": 19.6, "9th": 15.5, "10th": 28.4, "11th": 37.1,
    "12th": 13.5, "HS-grad": 323.2, "Some-college": 222.7, "Assoc-voc": 42.2, "Assoc-acdm": 32.8, "Bachelors": 164.3,
    "Masters": 54.4, "Prof-school": 17.1, "Doctorate": 12.2,
}  # fmt: skip
_WORKCLASS = {
    "Never-worked": 0.2, "Without-pay": 0.4, "Private": 694.2, "State-gov": 40.6, "Local-gov": 64.2,
    "Self-emp-not-inc": 79.1, "Federal-gov": 29.3, "Self-emp-inc": 34.7,
}  # fmt: skip
_MARITAL = {
    "Never-married": 330.0, "Separated": 31.3, "Divorced": 135.8, "Widowed": 31.1, "Married-spouse-absent": 12.9,
    "Married-AF-spouse": 0.8, "Married-civ-spouse": 458.2,
}  # fmt: skip
_OCCUPATION = {
    "Priv-house-serv": 5.0, "Other-service": 100.8, "Handlers-cleaners": 42.4, "Farming-fishing": 30.5,
    "Machine-op-inspct": 61.9, "Adm-clerical": 114.9, "Transport-moving": 48.2, "Craft-repair": 125.1,
    "Armed-Forces": 0.3, "Sales": 112.7, "Protective-serv": 20.1, "Tech-support": 29.6, "Prof-specialty": 126.4,
    "Exec-managerial": 124.6,
}  # fmt: skip
_RELATIONSHIP = {
    "Own-child": 155.2, "Other-relative": 30.8, "Unmarried": 104.9, "Not-in-family": 257.6, "Wife": 47.7,
    "Husband": 403.7,
}  # fmt: skip
_RACE = {"White": 855.0, "Black": 95.9, "Asian-Pac-Islander": 31.1, "Amer-Indian-Eskimo": 9.6, "Other": 8.3}
_SEX = {"Female": 331.5, "Male": 668.5}
_COUNTRY = {
    "United-States": 897.4, "Mexico": 19.5, "Philippines": 6.0, "Germany": 4.2, "Puerto-Rico": 3.8, "Canada": 3.7,
    "El-Salvador": 3.2, "India": 3.1, "Cuba": 2.8, "England": 2.6, "China": 2.5, "South": 2.4, "Jamaica": 2.2,
    "Italy": 2.1, "Dominican-Republic": 2.1, "Japan": 1.9, "Guatemala": 1.8, "Poland": 1.8, "Vietnam": 1.8,
    "Columbia": 1.7, "Haiti": 1.5, "Portugal": 1.4, "Taiwan": 1.3, "Iran": 1.2, "Greece": 1.0, "Nicaragua": 1.0,
    "Peru": 0.9, "Ecuador": 0.9, "France": 0.8, "Ireland": 0.8, "Thailand": 0.6, "Hong": 0.6, "Cambodia": 0.6,
    "Trinadad&Tobago": 0.6, "Laos": 0.5, "Yugoslavia": 0.5, "Outlying-US(Guam-USVI-etc)": 0.5, "Scotland": 0.4,
    "Honduras": 0.4, "Hungary": 0.4, "Holand-Netherlands": 0.02,
}  # fmt: skip

_AGES = range(17, 91)
_GAINS = [0, *np.unique(np.geomspace(114, 41_310, 121).round().astype(int)).tolist(), 99_999]
_LOSSES = [0, *np.linspace(155, 3_900, 97).round().astype(int).tolist(), 4_356]
_HOURS = [*range(1, 93), 95, 96, 98, 99]
_TEXT = {
    "workclass": Column(list(_WORKCLASS), list(_WORKCLASS.values()), 0.2, 0.0573),
    "education": Column(list(_EDUCATION), list(_EDUCATION.values()), 0.6),
    "marital-status": Column(list(_MARITAL), list(_MARITAL.values()), 0.5),
    "occupation": Column(list(_OCCUPATION), list(_OCCUPATION.values()), 0.6),
    "relationship": Column(list(_RELATIONSHIP), list(_RELATIONSHIP.values()), 0.5),
    "race": Column(list(_RACE), list(_RACE.values())),
    "sex": Column(list(_SEX), list(_SEX.values())),
    "native-country": Column(list(_COUNTRY), list(_COUNTRY.values()), 0.0, 0.01755),
}
_NUMBERS = {
    "age": Column(_AGES, np.interp(_AGES, [17, 20, 36, 50, 65, 75, 85, 90], [13, 23, 27, 18, 6, 2, 0.3, 0.9]), 0.4),
    "capital-gain": Column(_GAINS, [917, *[0.64] * 121, 5], 0.4),
    "capital-loss": Column(_LOSSES, [953, *[0.48] * 98], 0.2),
    "hours-per-week": Column(_HOURS, [467 if hours == 40 else 12 * 0.95 ** abs(hours - 40) for hours in _HOURS], 0.4),
}


def generate(rows: int, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Generate the training and the test part, as `leakscope.data.datasets.adult.read` returns them."""
    hidden = rng.standard_normal(rows)
    table = draw_table(_TEXT | _NUMBERS, hidden, rng)
    table["education-num"] = table["education"].map({name: number for number, name in enumerate(_EDUCATION, start=1)})
    table.loc[table["workclass"].isna() | (table["workclass"] == "Never-worked"), "occupation"] = np.nan
    table["fnlwgt"] = np.clip(rng.lognormal(12.0, 0.55, rows), 12_285, 1_490_400).astype(np.int64)
    label = deal(hidden + LABEL_NOISE * rng.standard_normal(rows), BALANCE)
    table["income"] = np.array(LABELS)[label]
    table = table[[*COLUMNS, "income"]]
    first = round(TRAIN_SHARE * rows)
    train, test = table[:first], table[first:].reset_index(drop=True)
    test["income"] += "."  # the published test file has this dot
    return [train, test]
