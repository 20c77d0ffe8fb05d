"""An edited record is refused, also with a new digest; a record as an audit wrote it is not."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import gate
from samples import rewrite, sample_audit, with_claims
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import leakscope as ls
from leakscope.core.result import Caveat
from leakscope.evaluation.exposed_records import most_exposed
from leakscope.evaluation.results import Audit
from leakscope.evaluation.verdict import judge
from leakscope.record.schema import DIGEST
from leakscope.studies.one_run_bound import promised


def small(kind: Any = "leaks") -> Audit:
    """A made-up audit with few records, and a claim of privacy."""
    audit = sample_audit(kind)
    records = audit.records.head(50)
    bounds = (promised(9.0),) if kind == "leaks" else ()
    return with_claims(audit, records=records, exposed=most_exposed(records), bounds=bounds)


def hindered() -> Audit:
    """An audit whose only reason against “not detected” is an obstacle."""
    audit = small("not_detected")
    assert audit.basis is not None
    basis = replace(audit.basis, obstacles=(Caveat("answers_depend_on_batch"),))
    return with_claims(audit, basis=basis, verdict=judge(audit.strongest, basis))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saved audits by kind."""
    folder = tmp_path_factory.mktemp("saved")
    for kind in ("leaks", "not_detected", "inconclusive"):
        small(kind).save(folder / kind)
    hindered().save(folder / "hindered")
    return folder


def shift(estimate: dict[str, Any], by: float = -0.01) -> None:
    for name in ("value", "low", "high"):
        estimate[name] += by


def lower_largest(document: dict[str, Any]) -> None:
    """Lower the figures that a gate looks at, in both places, and leave the AUC alone."""
    for part in (document["largest"], *(entry["largest"] for entry in document["by_release"])):
        for estimate in (part["advantage"], part["accuracy"], *part["tpr_at_fpr"].values()):
            estimate.update(value=0.0, low=0.0, high=0.0)


def harmless(document: dict[str, Any]) -> None:
    """Say "not_detected", with a risk at chance, wherever the gate looks."""
    document["verdict"]["kind"] = "not_detected"
    for part in (document["strongest"], document["largest"], *(one["largest"] for one in document["by_release"])):
        part["auc"].update(value=0.5, low=0.45, high=0.55)


#: Edits that the rest of the record contradicts.
EDITS = {
    "largest figures of all releases": lower_largest,
    "verdict and numbers": harmless,
    "kind of the verdict": lambda d: d["verdict"].update(kind="not_detected"),
    "support of the verdict": lambda d: d["verdict"].update(support=[]),
    "outcome of a claim": lambda d: d["claims"][0].update(outcome="no"),
    "figure of a claim": lambda d: shift(d["claims"][0]["estimates"]["auc"]),
    "claims left out": lambda d: d.update(claims=[]),
    "AUC of the strongest attack": lambda d: shift(d["strongest"]["auc"]),
    "interval of the strongest attack": lambda d: d["strongest"]["auc"].update(low=0.4),
    "rate of the strongest attack": lambda d: shift(d["strongest"]["tpr_at_fpr"]["0.1"]),
    "gap of a group": lambda d: shift(d["strongest"]["by_group"][1]["gap"]),
    "AUC of a group": lambda d: shift(d["strongest"]["by_group"][1]["auc"]),
    "largest AUC of a group": lambda d: shift(d["largest"]["group_auc"]),
    "most exposed group left out": lambda d: d["basis"].update(exposed=None),
    "group left out": lambda d: d["strongest"]["by_group"].pop(),
    "AUC of an attack": lambda d: [shift(risk["auc"]) for risk in d["risks"]],
    "AUC of a release": lambda d: shift(d["by_release"][0]["auc"]),
    "largest AUC": lambda d: shift(d["largest"]["auc"]),
    "largest AUC of a release": lambda d: shift(d["by_release"][0]["largest"]["auc"]),
    "release left out": lambda d: d["by_release"].pop(0),
    "releases left out": lambda d: d.update(by_release=[], largest=None),
    "margin of the settings": lambda d: d["settings"].update(margin=0.2),
    "margin of the basis": lambda d: d["basis"].update(margin=0.2),
    "confidence": lambda d: d["settings"].update(confidence=0.5),
    "confidence after the choice": lambda d: d["settings"].update({"confidence after the choice": 0.5}),
    "random split": lambda d: d["basis"].update(random_split=True),
    "exposed record": lambda d: d["exposed"].pop(0),
    "promise": lambda d: d["bounds"][0].update(contradicted=True),
    "basis": lambda d: d.update(basis=None),
    "version": lambda d: d.update(schema_version=2),
    "kind": lambda d: d.update(kind="diff"),
}  # fmt: skip


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_record_is_refused_with_exit_code_2(
    edit: str, sealed: bool, capsys: Any, saved: Path, tmp_path: Path
) -> None:
    shutil.copytree(saved / "leaks", tmp_path, dirs_exist_ok=True)
    rewrite(tmp_path, EDITS[edit], sealed=sealed)
    code, err = gate(capsys, tmp_path)
    assert code == 2
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "sealed"),
    [
        (lambda d: d.update(command="another"), False),
        (lambda d: d["fingerprints"].update({"model file": "0" * 64}), False),
        (lambda d: d["warnings"].clear(), False),
        (lambda d: d.pop(DIGEST), False),
        (lambda d: d.update({DIGEST: None}), False),
        (lambda d: d["basis"].update(obstacles=[]), True),
        (lambda d: (d["basis"].update(obstacles=[]), d["verdict"].update(kind="not_detected")), True),
    ],
)
def test_what_no_number_contradicts_is_refused_by_the_digest(
    change: Any, sealed: bool, capsys: Any, saved: Path, tmp_path: Path
) -> None:
    shutil.copytree(saved / "hindered", tmp_path, dirs_exist_ok=True)
    rewrite(tmp_path, change, sealed=sealed)
    assert gate(capsys, tmp_path)[0] == 2


def test_other_records_are_refused(capsys: Any, saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved / "leaks", tmp_path, dirs_exist_ok=True)
    table = tmp_path / "records.csv"
    table.write_text(table.read_text().replace('"0",', '"7",', 1))
    assert gate(capsys, tmp_path)[0] == 2


def test_support_of_another_version_of_the_code_stands(tmp_path: Path) -> None:
    audit = small()
    other = replace(audit.verdict, support=())
    replace(audit, verdict=other, fingerprints=audit.fingerprints | {"leakscope code": "0" * 64}).save(tmp_path)
    assert ls.load(tmp_path).verdict == other


@pytest.mark.parametrize("kind", ["leaks", "not_detected", "inconclusive", "hindered"])
def test_saved_audits_of_every_kind_pass(kind: Any, capsys: Any, saved: Path) -> None:
    assert ls.load(saved / kind) == (hindered() if kind == "hindered" else small(kind))
    assert gate(capsys, saved / kind) == (0, "")


def test_fresh_audits_pass(tmp_path: Path) -> None:
    X, y = make_classification(400, 5, flip_y=0.3, random_state=0)
    levels = np.array(["a", "b"])[np.arange(400) % 2]
    forest = RandomForestClassifier(10, random_state=0).fit(X[:200], y[:200])
    sets: Any = ((X[:200], y[:200]), (X[200:], y[200:]))
    audits = [
        ls.audit(forest, *sets, groups=(levels[:200], levels[200:]), epsilon=1.0),
        ls.audit(forest, *sets, retrain=False, fprs=[0.05]),
        ls.audit(forest, *sets, references=2),
        ls.audit(forest, sets[0], (X[150:], y[150:]), retrain=False),
        ls.audit(lambda X: np.full((len(X), 2), 0.5), *sets),
    ]
    for number, audit in enumerate(audits):
        audit.save(tmp_path / str(number))
        assert ls.load(tmp_path / str(number)) == audit
    assert {audit.verdict.kind for audit in audits} >= {"leaks", "inconclusive"}


@pytest.mark.parametrize("distance", [0.0, 1.0])
@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("random_split", [False, True])
def test_fresh_audits_of_scores_pass(distance: float, control: bool, random_split: bool, tmp_path: Path) -> None:
    rng, member = np.random.default_rng(0), np.repeat([True, False], 300)
    unseen = rng.normal(size=600) if control else None
    audit = ls.audit_scores(rng.normal(distance * member), member, control=unseen, random_split=random_split)
    audit.save(tmp_path)
    assert ls.load(tmp_path) == audit


@pytest.mark.parametrize("score", ["2", "nan", "0"])
def test_scores_of_records_that_contradict_their_ranks(saved: Path, tmp_path: Path, capsys: Any, score: str) -> None:
    folder = shutil.copytree(saved / "leaks", tmp_path / "audit")
    table = pd.read_csv(folder / "records.csv", dtype=str)
    row = table["rank"].astype(int).nsmallest(20).index[-1]  # beyond those that result.json names
    table.loc[row, "score"] = score
    table.to_csv(folder / "records.csv", index=False)
    content = (folder / "records.csv").read_bytes()
    rewrite(folder, lambda d: d["records"].update(sha256=hashlib.sha256(content).hexdigest()))
    assert gate(capsys, folder)[0] == 2


def test_a_name_that_stands_twice_is_refused(saved: Path, tmp_path: Path, capsys: Any) -> None:
    folder = shutil.copytree(saved / "leaks", tmp_path / "audit")
    content = (folder / "result.json").read_text()
    (folder / "result.json").write_text('{"verdict": {"kind": "not_detected"},' + content.strip().removeprefix("{"))
    assert gate(capsys, folder)[0] == 2


def test_messages_about_edited_records_are_short(saved: Path, tmp_path: Path, capsys: Any) -> None:
    folder = shutil.copytree(saved / "leaks", tmp_path / "audit")
    rewrite(folder, lambda d: d["strongest"]["tpr_at_fpr"].update({"k" * 100_000: {}}))
    code, said = gate(capsys, folder)
    assert (code, len(said) < 500) == (2, True)
