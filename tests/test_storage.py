"""Saved and loaded: equal to the last bit; broken or newer files fail in one sentence; nothing half-written."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import sample_audit, with_names

from leakscope import storage
from leakscope.errors import InputError
from leakscope.integrity import DIGEST, content_digest
from leakscope.results import SCHEMA_VERSION, Verdict

SCHEMA = Path(__file__).parents[1] / "docs" / "audit.schema.json"


@pytest.mark.parametrize("kind", ["leaks", "no evidence", "cannot tell"])
def test_loading_gives_back_the_saved_audit(kind, tmp_path):
    audit = sample_audit(kind)
    audit.save(tmp_path / "new" / "folder")
    again = storage.load(tmp_path / "new" / "folder")
    assert again == audit
    assert str(again) == str(audit)
    assert sorted(p.name for p in (tmp_path / "new" / "folder").iterdir()) == [
        "audit.json",
        "records.csv",
        "report.html",
    ]


def test_audits_that_differ_are_not_equal(tmp_path):
    audit = sample_audit()
    audit.save(tmp_path)
    again = storage.load(tmp_path)
    again.records.loc[0, "score"] += 1e-16 + np.spacing(again.records.loc[0, "score"])
    assert again != audit


def test_the_schema_in_the_docs_is_that_of_the_classes():
    assert json.loads(SCHEMA.read_text()) == storage.json_schema(), "run make schema"


@pytest.mark.parametrize("kind", ["leaks", "no evidence", "cannot tell"])
def test_a_saved_audit_follows_the_schema(kind, tmp_path):
    sample_audit(kind).save(tmp_path)
    jsonschema.validate(json.loads((tmp_path / "audit.json").read_text()), json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("kind", ["leaks", "no evidence", "cannot tell"])
def test_a_record_of_version_1_loads_with_what_it_has(kind, tmp_path):
    audit = sample_audit(kind)
    audit.save(tmp_path)
    path = tmp_path / "audit.json"
    document = json.loads(path.read_text()) | {"schema_version": 1}
    for name in ("by_release", "largest", "exposed", "bounds", "studies", "command", "basis", DIGEST):
        del document[name]
    document["verdict"] = {name: document["verdict"][name] for name in ("kind", "sentence", "reasons")}
    for risk in (document["strongest"], *document["risks"]):
        del risk["roc"]["low"], risk["roc"]["high"]
    path.write_text(json.dumps(document))
    again = storage.load(tmp_path)
    assert again.exposed == audit.exposed
    assert again.strongest.auc == audit.strongest.auc
    assert again.schema_version == SCHEMA_VERSION
    assert again.verdict == Verdict(audit.verdict.kind, audit.verdict.sentence, audit.verdict.reasons)
    again.save(tmp_path)
    assert storage.load(tmp_path) == again


def spoil(change, sealed=True):
    """Change the document; ``sealed`` with the digest that its new content has."""

    def apply(folder):
        path = folder / "audit.json"
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document | {DIGEST: content_digest(document)} if sealed else document))

    return apply


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda folder: (folder / "audit.json").unlink(), "no audit"),
        (lambda folder: (folder / "audit.json").write_text("{"), "broken"),
        (lambda folder: (folder / "audit.json").write_text("[]"), "not an audit"),
        (lambda folder: (folder / "audit.json").write_bytes(b"\xff\xfe\x00"), "broken"),
        (spoil(lambda d: d.update(schema_version=SCHEMA_VERSION + 1)), "upgrade leakscope"),
        (spoil(lambda d: d.update(schema_version="1")), "not an audit"),
        (spoil(lambda d: d.pop("verdict")), "not a whole audit: verdict"),
        (spoil(lambda d: d["strongest"]["auc"].update(low=0.99, high=0.01)), "not a whole audit: strongest.auc"),
        (spoil(lambda d: d["strongest"]["roc"].update(fpr=[], tpr=[])), "can't be shown"),
        (spoil(lambda d: d["basis"].update(judged=0.0, margin=0.0)), "settings"),
        (spoil(lambda d: d.update(command="other"), sealed=False), "edited"),
        (spoil(lambda d: d.pop(DIGEST), sealed=False), "no digest"),
        (spoil(lambda d: d["seconds"].update(predict=float("nan"))), "broken"),
        (spoil(lambda d: d.update(records_id_type="junk")), "records can't be read"),
        (lambda folder: (folder / "records.csv").unlink(), "can't be read"),
        (lambda folder: (folder / "records.csv").write_text("id,score,rank\n"), "not the one"),
    ],
)
def test_a_broken_or_newer_audit_fails_in_one_sentence(damage, says, tmp_path):
    sample_audit().save(tmp_path)
    damage(tmp_path)
    with pytest.raises(InputError, match=says) as error:
        storage.load(tmp_path)
    assert "\n" not in str(error.value)


def test_saving_where_nothing_can_be_written_fails_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="can't write"):
        sample_audit().save(tmp_path / "file" / "audit")


def test_a_failure_while_making_the_report_leaves_an_earlier_audit_whole(tmp_path, monkeypatch):
    first = sample_audit("leaks")
    first.save(tmp_path)

    def fail(_audit):
        raise RuntimeError("no report today")

    monkeypatch.setattr("leakscope.report.html.render", fail)
    with pytest.raises(RuntimeError):
        sample_audit("no evidence").save(tmp_path)
    monkeypatch.undo()
    assert storage.load(tmp_path) == first
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    "name", ["=HYPERLINK(1)", "<script>alert(1)</script>", "'quoted'", 'a,b\n"c"', "‮", "x" * 10_000]
)
def test_hostile_names_survive_and_stay_inert(name, tmp_path):
    audit = with_names(sample_audit(), name)
    audit.save(tmp_path)
    assert storage.load(tmp_path) == audit
    assert "<script>alert" not in (tmp_path / "report.html").read_text()


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_any_text_can_be_an_id_and_none_is_a_formula(ids):
    table = pd.DataFrame({"id": pd.Series(ids, dtype="str"), "score": 0.1, "rank": 1})
    written = storage.records_to_csv(table)
    assert storage.records_from_csv(written, "text").equals(table)
    shown = pd.read_csv(pd.io.common.BytesIO(written), dtype=str, keep_default_na=False)["id"]
    assert not shown.str.startswith(("=", "+", "-", "@", "\t", "\r")).any()


def test_scores_keep_every_bit():
    scores = np.random.default_rng(0).random(1000)
    table = pd.DataFrame({"id": np.arange(1000), "score": scores, "rank": np.arange(1000)})
    again = storage.records_from_csv(storage.records_to_csv(table), "int64")
    np.testing.assert_array_equal(again["score"], scores)
    assert again.equals(table)
