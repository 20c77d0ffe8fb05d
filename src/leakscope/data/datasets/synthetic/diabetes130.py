"""Synthetic encounters with the columns, levels, missing values and class balance of Diabetes 130-US hospitals.

Frequencies of levels are those of the published table, in thousandths; names of specialties and diagnoses are invented.
Labels depend on a latent variable that is correlated with earlier visits, diagnoses, length of stay and discharge.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.data.datasets.diabetes130 import DRUGS
from leakscope.data.datasets.synthetic.tables import Column, deal, draw_table, falling

ROWS = 101_766
PERSONS_PER_ROW, MOST_ENCOUNTERS = 71_518 / ROWS, 40
LABELS, BALANCE = ("NO", ">30", "<30"), (54_864, 35_545, 11_357)
LABEL_NOISE = 2.0

_DISCHARGE = {
    1: 591.89, 6: 126.78, 3: 137.12, 18: 36.27, 2: 20.91, 22: 19.58, 11: 16.14, 5: 11.63, 25: 9.72, 4: 8.01, 7: 6.12,
    23: 4.05, 13: 3.92, 14: 3.66, 28: 1.37, 8: 1.06, 15: 0.62, 24: 0.47, 9: 0.21, 17: 0.14, 16: 0.11, 19: 0.08,
    10: 0.06, 27: 0.05, 12: 0.03, 20: 0.02,
}  # fmt: skip
_SOURCE = {
    7: 564.96, 1: 290.52, 17: 66.63, 4: 31.32, 6: 22.25, 2: 10.85, 5: 8.4, 3: 1.84, 20: 1.58, 9: 1.23, 8: 0.16,
    22: 0.12, 10: 0.08, 14: 0.02, 11: 0.02, 25: 0.02, 13: 0.01,
}  # fmt: skip
_AGE = {
    "[0-10)": 1.58, "[10-20)": 6.79, "[20-30)": 16.28, "[30-40)": 37.09, "[40-50)": 95.17, "[50-60)": 169.57,
    "[60-70)": 220.93, "[70-80)": 256.16, "[80-90)": 168.99, "[90-100)": 27.45,
}  # fmt: skip
_WEIGHT = {
    "[0-25)": 0.47, "[25-50)": 0.95, "[50-75)": 8.81, "[75-100)": 13.13, "[100-125)": 6.14, "[125-150)": 1.42,
    "[150-175)": 0.34, "[175-200)": 0.11, ">200": 0.03,
}  # fmt: skip
_PAYER = {
    "MC": 318.76, "HM": 61.65, "SP": 49.2, "BC": 45.74, "MD": 34.71, "CP": 24.89, "UN": 24.06, "CM": 19.03, "OG": 10.15,
    "PO": 5.82, "DM": 5.39, "CH": 1.43, "WC": 1.33, "OT": 0.93, "MP": 0.78, "SI": 0.54, "FR": 0.01,
}  # fmt: skip
_DIAGNOSES = {
    1: 2.15, 2: 10.05, 3: 27.86, 4: 54.41, 5: 111.95, 6: 99.85, 7: 102.13, 8: 104.32, 9: 486.15, 10: 0.17, 11: 0.11,
    12: 0.09, 13: 0.16, 14: 0.07, 15: 0.1, 16: 0.44,
}  # fmt: skip
_STAY = [139.61, 169.25, 174.48, 136.82, 97.93, 74.08, 57.57, 43.15, 29.5, 23.01, 18.23, 14.23, 11.89, 10.24]
_LAB_TESTS, _MEDICATIONS = [*range(1, 118), 132], [*range(1, 75), 81]
#: Thousandths of the levels No, Steady, Up and Down; a drug with fewer numbers does not have the last levels.
_DRUG_WEIGHTS: dict[str, tuple[float, ...]] = {
    "metformin": (803.59, 180.28, 10.48, 5.65), "repaglinide": (984.88, 13.6, 1.08, 0.44),
    "nateglinide": (993.09, 6.56, 0.24, 0.11), "chlorpropamide": (999.15, 0.78, 0.06, 0.01),
    "glimepiride": (948.99, 45.89, 3.21, 1.91), "acetohexamide": (999.99, 0.01),
    "glipizide": (875.34, 111.59, 7.57, 5.5), "glyburide": (895.35, 91.13, 7.98, 5.54), "tolbutamide": (999.77, 0.23),
    "pioglitazone": (927.99, 68.55, 2.3, 1.16), "rosiglitazone": (937.45, 59.94, 1.75, 0.85),
    "acarbose": (996.97, 2.9, 0.1, 0.03), "miglitol": (999.63, 0.3, 0.02, 0.05), "troglitazone": (999.97, 0.03),
    "tolazamide": (999.62, 0.37, 0.01), "examide": (1000.0,), "citoglipton": (1000.0,),
    "insulin": (465.61, 303.14, 111.2, 120.06), "glyburide-metformin": (993.06, 6.8, 0.08, 0.06),
    "glipizide-metformin": (999.87, 0.13), "glimepiride-pioglitazone": (999.99, 0.01),
    "metformin-rosiglitazone": (999.98, 0.02), "metformin-pioglitazone": (999.99, 0.01),
}  # fmt: skip


def _bell(levels: list[int], middle: float, width: float, loading: float) -> Column:
    return Column(levels, np.exp(-0.5 * ((np.array(levels) - middle) / width) ** 2) + 1e-9, loading)


def _codes(count: int) -> list[str]:
    """Return names of diagnoses; as in the real data, not all are numbers."""
    return [*map(str, range(1, count)), "V01"]


_COLUMNS = {
    "race": Column(
        ["Caucasian", "AfricanAmerican", "Hispanic", "Other", "Asian"], [747.78, 188.77, 20.02, 14.8, 6.3], 0.0, 0.02234
    ),
    "gender": Column(["Female", "Male", "Unknown/Invalid"], [537.59, 462.38, 0.03]),
    "age": Column(list(_AGE), list(_AGE.values()), 0.2),
    "weight": Column(list(_WEIGHT), list(_WEIGHT.values()), 0.0, 0.96858),
    "admission_type_id": Column([1, 3, 2, 6, 5, 8, 7, 4], [530.53, 185.42, 181.59, 51.99, 47.02, 3.14, 0.21, 0.1]),
    "discharge_disposition_id": Column(list(_DISCHARGE), list(_DISCHARGE.values()), 0.4),
    "admission_source_id": Column(list(_SOURCE), list(_SOURCE.values())),
    "time_in_hospital": Column(range(1, 15), _STAY, 0.3),
    "payer_code": Column(list(_PAYER), list(_PAYER.values()), 0.0, 0.39557),
    "medical_specialty": falling([f"Specialty-{number:02}" for number in range(1, 73)], missing=0.49082),
    "num_lab_procedures": _bell(_LAB_TESTS, 43, 20, 0.2),
    "num_procedures": Column([0, 1, 2, 3, 4, 5, 6], [458.42, 203.82, 124.96, 92.79, 41.07, 30.25, 48.68]),
    "num_medications": _bell(_MEDICATIONS, 16, 8, 0.3),
    "number_outpatient": falling([*range(38), 42], steepness=3.0, loading=0.4),
    "number_emergency": falling([*range(32), 76], steepness=3.5, loading=0.4),
    "number_inpatient": falling([*range(20), 21], steepness=2.2, loading=0.7),
    "diag_1": falling(_codes(716), missing=0.0002),
    "diag_2": falling(_codes(748), missing=0.0035),
    "diag_3": falling(_codes(789), missing=0.014),
    "number_diagnoses": Column(list(_DIAGNOSES), list(_DIAGNOSES.values()), 0.5),
    "max_glu_serum": Column(["None", "Norm", ">200", ">300"], [947.47, 25.52, 14.59, 12.42]),
    "A1Cresult": Column(["None", "Norm", ">7", ">8"], [832.77, 49.03, 37.46, 80.73]),
    **{
        name: Column(("No", "Steady", "Up", "Down")[: len(_DRUG_WEIGHTS[name])], _DRUG_WEIGHTS[name], 0.2)
        for name in DRUGS
    },
    "change": Column(["No", "Ch"], [538.05, 461.95], 0.3),
    "diabetesMed": Column(["No", "Yes"], [229.97, 770.03], 0.3),
}


def generate(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Generate the 50 columns, as `leakscope.data.datasets.diabetes130.read` returns them."""
    hidden = rng.standard_normal(rows)
    table = draw_table(_COLUMNS, hidden, rng)
    table.insert(0, "encounter_id", 10_000 + np.cumsum(rng.integers(1, 4_000, rows)))
    table.insert(1, "patient_nbr", _persons(rows, rng))
    label = deal(hidden + LABEL_NOISE * rng.standard_normal(rows), BALANCE)
    table["readmitted"] = np.array(LABELS)[label]
    return table


def _persons(rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the person of each encounter: three quarters have one encounter, one person has forty."""
    persons = max(2, round(PERSONS_PER_ROW * rows))
    most = min(MOST_ENCOUNTERS - 1, max(0, rows - persons))
    others = 1 + (persons // 3 * rng.random(rows - persons - most) ** 1.3).astype(np.int64)
    owner = rng.permutation(np.concatenate([np.arange(persons), np.zeros(most, np.int64), others]))
    numbers: NDArray[np.int64] = 135 + np.cumsum(rng.integers(1, 5_000, persons))
    return np.take(numbers, owner)
