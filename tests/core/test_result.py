"""`Result`: claims by code, tables, equality, and records that are read on first access."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, Claim, NotRun, Result, plain_settings, tables_of
from leakscope.record.tables import SavedTable, column_types, frame_to_csv

AUC = Estimate(0.6, 0.55, 0.65)


@dataclass(frozen=True)
class Part:
    name: str
    auc: Estimate
    by_rate: dict[float, Estimate]
    models: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketch(Result):
    kind: ClassVar[str] = "sketch"
    codes = {"leak": "yes"}  # noqa: RUF012
    table = "parts"
    parts: tuple[Part, ...] = ()


CLAIMS = (Claim("leak", {}, "yes", {"auc": AUC}), Claim("leak", {"release": "labels"}, "no"))
RECORDS = pd.DataFrame({"id": pd.Series(["=a", "b"], dtype="str"), "score": [0.1, np.nan], "rank": [1, 2]})


def sketch(**fields: Any) -> Sketch:
    return Sketch(claims=CLAIMS, parts=(Part("one", AUC, {0.01: AUC}, ("a", "b")),), **fields)


def test_a_claim_is_found_by_code_and_subject():
    assert sketch().claim("leak").outcome == "yes"
    assert sketch().claim("leak", release="labels").outcome == "no"
    assert CLAIMS[1].key == ("leak", (("release", "labels"),))
    for wrong in ({"release": "loss"}, {"model": "x"}):
        with pytest.raises(InputError, match="'leak'"):
            sketch().claim("leak", **wrong)


def test_a_claim_that_the_kind_does_not_make_is_refused():
    with pytest.raises(ValueError, match="'other'"):
        Sketch(claims=(Claim("other"),))


def test_tables_have_three_columns_for_an_estimate_and_one_for_a_list():
    frame = sketch().to_frame()
    rate = ["by_rate[0.01]", "by_rate[0.01]_low", "by_rate[0.01]_high"]
    assert list(frame) == ["name", "auc", "auc_low", "auc_high", *rate, "models"]
    assert frame["models"].tolist() == ["a; b"]
    assert list(sketch().to_frame("claims"))[:3] == ["code", "outcome", "auc"]
    assert tables_of(sketch(not_run=(NotRun("labels", "x", "y"),), records=RECORDS)) == [
        "claims",
        "not_run",
        "parts",
        "records",
    ]
    with pytest.raises(InputError, match="'seconds'"):
        sketch().to_frame("seconds")
    assert sketch(records=RECORDS).to_csv("records").splitlines()[1].startswith('"\'=a"')


def test_results_are_equal_if_all_their_fields_and_records_are():
    assert sketch(records=RECORDS) == sketch(records=RECORDS.copy())
    assert sketch(records=RECORDS) != sketch()
    assert sketch() != replace(sketch(), warnings=(Caveat("scores_only"),))
    assert sketch() != "sketch"
    with pytest.raises(TypeError):
        hash(sketch())


def test_saved_records_become_a_frame_when_they_are_looked_at():
    saved = SavedTable(frame_to_csv(RECORDS).encode(), column_types(RECORDS))
    late = sketch(records=saved)
    assert late.record_columns("id", "rank") == [["=a", "b"], [1, 2]]
    assert vars(late)["_records"] is saved
    assert late.records.equals(RECORDS)
    assert late == sketch(records=RECORDS) == pickle.loads(pickle.dumps(late))
    assert late.record_columns("id", "rank") == [["=a", "b"], [1, 2]]
    assert (sketch().records, sketch().record_columns("id")) == (None, None)


@pytest.mark.parametrize("types", [{"id": "text"}, {"id": "text", "score": "object", "rank": "int64"}])
def test_saved_records_with_other_columns_are_refused(types):
    with pytest.raises(ValueError, match="columns"):
        SavedTable(frame_to_csv(RECORDS).encode(), types)


def test_settings_come_back_from_json_as_they_are():
    given = {"rates": (np.float64(0.1), 1), "model": "a\u202e", "limit": float("inf"), "no": None, "deep": {"on": True}}
    assert plain_settings(given) == {
        "rates": [0.1, 1],
        "model": "a\N{REPLACEMENT CHARACTER}",
        "limit": "inf",
        "no": None,
        "deep": {"on": True},
    }
