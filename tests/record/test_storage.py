"""Saved and loaded: equal to the last bit; broken or newer files end in one sentence; nothing half-written."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import rewrite, sample_audit

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.record.schema import DIGEST
from leakscope.record.tables import column_types, frame_from_csv, frame_to_csv

OLD = Path(__file__).parent / "version3"
EARLIER = Path(__file__).parent / "earlier"  # of the versions before names of fields changed


def test_audits_that_differ_are_not_equal(tmp_path):
    audit = sample_audit()
    audit.save(tmp_path)
    again = ls.load(tmp_path)
    again.records.loc[0, "score"] += 1e-16 + np.spacing(again.records.loc[0, "score"])
    assert again != audit


@pytest.mark.parametrize(("folder", "kind"), [("leaks", "leaks"), ("cannot-tell", "inconclusive")])
def test_an_audit_of_version_3_loads_and_can_be_gated(folder, kind, tmp_path):
    audit = ls.load(OLD / folder)
    assert audit.verdict.kind == kind
    assert audit.claims[0].outcome == ("yes" if kind == "leaks" else "inconclusive")
    assert {caveat.code for caveat in audit.warnings} == {"stated_by_older_version"}
    assert ls.gate(audit, "auc > 0.99", on_uncertain="pass").outcome == "passed"
    audit.save(tmp_path)
    assert ls.load(tmp_path) == audit
    assert not ls.diff(audit, ls.load(tmp_path)).worse


@pytest.mark.parametrize("version", [1, 2])
def test_an_audit_of_version_1_or_2_loads_without_claims(version, tmp_path):
    shutil.copytree(OLD / "leaks", tmp_path, dirs_exist_ok=True)
    path = tmp_path / "audit.json"
    document = json.loads(path.read_text()) | {"schema_version": version}
    gone = ("by_release", "largest", "exposed", "bounds", "studies", "command") if version == 1 else ()
    for name in (
        *gone,
        DIGEST,
    ):  # an edited record must not get past the checks by an older version: it keeps its basis
        del document[name]
    verdict = {name: document["verdict"][name] for name in ("kind", "sentence", "reasons")}
    document["verdict"] = verdict
    path.write_text(json.dumps(document))
    audit = ls.load(tmp_path)
    assert (audit.verdict.kind, audit.verdict.finding, audit.basis, audit.claims) == ("leaks", None, None, ())
    assert verdict["sentence"] in [caveat.values["text"] for caveat in audit.warnings]
    assert audit.exposed == ls.load(OLD / "leaks").exposed
    with pytest.raises(InputError, match="claims"):
        ls.gate(audit, "auc > 0.9")
    audit.save(tmp_path / "new")
    assert ls.load(tmp_path / "new") == audit


@pytest.mark.parametrize("kind", ["audit", "comparison", "diff", "frontier"])
def test_a_result_with_former_names_loads_under_the_new_ones(kind, tmp_path):
    found = ls.load(EARLIER / kind)
    former = json.loads((EARLIER / kind / "result.json").read_text())
    assert (found.kind, found.schema_version) == (kind, former["schema_version"] + 1)
    assert not {"beside", "knob", "price"} & set(names_in(found.as_dict()))
    assert sorted(numbers_in(found.as_dict())) == sorted(numbers_in(former))
    found.save(tmp_path)
    assert ls.load(tmp_path) == found


def names_in(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [*(value if isinstance(value, dict) else ()), *(name for one in inner for name in names_in(one))]


def numbers_in(value):
    if isinstance(value, float):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [number for one in inner for number in numbers_in(one)]


def test_fields_under_their_former_names_give_a_warning():
    frontier, comparison = ls.load(EARLIER / "frontier"), ls.load(EARLIER / "comparison")
    named = [(frontier, "beside"), (ls.load(EARLIER / "audit").extras[0], "beside"), (comparison.compared[1], "knob")]
    for result, former in named:
        with pytest.warns(FutureWarning, match="prediction|setting_name"):
            assert getattr(result, former) in ("probabilities", "digits")


def spoil(change):
    return lambda folder: rewrite(folder, change)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (spoil(lambda d: d.update(schema_version=1)), "run the study again"),
        (spoil(lambda d: d.update(kind="diff", schema_version=1)), "complete"),
        (spoil(lambda d: d.pop("verdict")), "result: verdict"),
        (spoil(lambda d: d["strongest"]["auc"].update(low=0.99, high=0.01)), "result: strongest.auc"),
        (spoil(lambda d: d["basis"].update(margin=0.0)), "settings"),
        (spoil(lambda d: d["records"]["columns"].update(id="junk")), "records.csv"),
        (spoil(lambda d: d.update(records=3)), "records.csv"),
        (spoil(lambda d: d.update(records=None)), "missing"),
        (lambda folder: (folder / "records.csv").unlink(), "records.csv"),
        (lambda folder: (folder / "records.csv").write_text("id,score,rank\n"), "records.csv"),
    ],
)
def test_a_broken_or_newer_audit_fails_in_one_sentence(damage, says, tmp_path):
    sample_audit().save(tmp_path)
    damage(tmp_path)
    with pytest.raises(InputError, match=says) as error:
        ls.load(tmp_path)
    assert "\n" not in str(error.value)


def test_saving_where_nothing_can_be_written_fails_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="can't write"):
        sample_audit().save(tmp_path / "file" / "audit")


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_any_text_can_be_an_id_and_none_is_a_formula(ids):
    table = pd.DataFrame({"id": pd.Series(ids, dtype="str"), "score": 0.1, "rank": 1})
    written = frame_to_csv(table).encode()
    assert frame_from_csv(written, column_types(table)).equals(table)
    shown = pd.read_csv(pd.io.common.BytesIO(written), dtype=str, keep_default_na=False)["id"]
    assert not shown.str.startswith(("=", "+", "-", "@", "\t", "\r")).any()


def test_scores_keep_every_bit():
    scores = np.random.default_rng(0).random(1000)
    table = pd.DataFrame({"id": np.arange(1000), "score": scores, "rank": np.arange(1000)})
    again = frame_from_csv(frame_to_csv(table).encode(), column_types(table))
    np.testing.assert_array_equal(again["score"], scores)
    assert again.equals(table)
