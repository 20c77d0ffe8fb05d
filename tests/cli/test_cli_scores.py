"""`leakscope scores`: files of any program in, an audit and an exit code out."""

import json

import commands
import numpy as np
import pandas as pd
import pytest

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.data.table_files import open_table
from leakscope.data.tables import read_sets


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("scores")
    rng = np.random.default_rng(0)
    member = rng.permutation(np.repeat([1, 0], 400))
    table = pd.DataFrame(
        {
            "id": [f"{number:05d}" for number in range(800)],
            "loss": rng.normal(1.0 - member, 1.0),
            "control_loss": rng.normal(1.0, 1.0, 800),
            "member": member,
            "sex": rng.choice(["f", "m"], 800),
        }
    )
    table.to_csv(place / "scores.csv", index=False)
    for name, side in (("members", 1), ("nonmembers", 0)):
        table[table["member"] == side].drop(columns="member").to_csv(place / f"{name}.csv", index=False)
    return place


def run(*arguments):
    return commands.run("scores", *arguments)


def found(capsys, *arguments):
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_report_and_the_record_are_written(folder, tmp_path, capsys):
    options = ("--score", "loss", "--lower-is-member", "--groups", "sex", "--id", "id", "--random-split")
    assert run(folder / "scores.csv", *options, "--out", tmp_path / "audit") == 0
    assert "report.html" in capsys.readouterr().out
    saved = ls.load(tmp_path / "audit")
    assert (saved.verdict.kind, saved.strongest.release) == ("leaks", "loss")
    assert saved.records["id"].str.len().eq(5).all()  # 00007 stays 00007
    assert {risk.level for risk in saved.strongest.by_group} == {"f", "m"}
    assert "--random-split" in saved.command


def test_the_numbers_are_those_of_the_function(folder, capsys):
    table = pd.read_csv(folder / "scores.csv", dtype=str)
    loss, control = (table[name].map(float) for name in ("loss", "control_loss"))
    expected = ls.audit_scores(loss, table["member"], higher_is_member=False, control=control)
    shown = found(capsys, folder / "scores.csv", "--score", "loss", "--lower-is-member", "--control", "control_loss")
    assert [risk["auc"]["low"] for risk in shown["risks"]] == [risk.auc.low for risk in expected.risks]
    assert shown["strongest"]["control"]["kind"] == "never trained"
    assert shown["verdict"]["kind"] == expected.verdict.kind == "inconclusive"


def test_two_files_say_what_one_says(folder, capsys):
    options = ("--score", "loss", "--lower-is-member")
    one = found(capsys, folder / "scores.csv", *options)
    two = found(capsys, "--members", folder / "members.csv", "--nonmembers", folder / "nonmembers.csv", *options)
    assert one["risks"][0]["auc"] == two["risks"][0]["auc"]
    assert one["verdict"]["kind"] == two["verdict"]["kind"] == "inconclusive"


def test_the_gate_decides_the_exit_code(folder, tmp_path):
    options = (folder / "scores.csv", "--score", "loss", "--lower-is-member", "--random-split")
    assert run(*options, "--fail-if", "auc.high > 0.6") == 1
    assert run(*options, "--fail-if", "loss: auc.high > 0.99", "--junit", tmp_path / "gate.xml") == 0
    assert (tmp_path / "gate.xml").exists()


def test_files_as_r_and_julia_write_them(tmp_path, capsys):
    rows = [f'"{number}",{number / 7!r},{"TRUE" if number % 2 else "FALSE"}' for number in range(60)]
    (tmp_path / "r.csv").write_text("\n".join(['"","score","member"', *rows]))
    (tmp_path / "julia.csv").write_text(
        "\n".join(["score,member", *(f"{number / 7:e},{str(number % 2 == 1).lower()}" for number in range(60))])
    )
    for name in ("r.csv", "julia.csv"):
        assert found(capsys, tmp_path / name)["target"]["members"] == 30


def test_names_with_commas_and_tags_are_names(tmp_path):
    hostile = '<b>loss, "mean"</b>'
    table = pd.DataFrame({hostile: np.arange(100.0), "in, or out": ["yes", "no"] * 50, "a,b": ["<i>x</i>", "y"] * 50})
    table.to_csv(tmp_path / "names.csv", index=False)
    assert run(tmp_path / "names.csv", "--score", hostile, "--member", "in, or out", "--groups", "a,b", "--out", tmp_path / "out") == 0  # fmt: skip
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<b>loss" not in page
    assert "<i>x" not in page


TABLES = {
    "text": ("loss,member\n" + "1.5,1\nabc,0\n" * 20, "loss"),
    "missing": ("loss,member\n" + "1.5,1\nNA,0\n" * 20, "loss"),
    "nan": ("loss,member\n" + "1.5,1\nnan,0\n" * 20, "loss"),
    "underscore": ("loss,member\n" + "1.5,1\n1_000,0\n" * 20, "loss"),
    "decimal commas": ("member,loss\n" + "1,0,37\n0,0,5\n" * 20, "scores.csv"),
    "a long row": ("member,loss\n" + "1,0.37\n0,0.5\n" * 20 + "1,0,5\n", "scores.csv"),
    "long numbers": ("loss,member\n" + "".join(f"{2**63 + n},{n % 2}\n" for n in range(40)), "loss"),
    "two of a name": ("loss,member,loss\n" + "1.5,1,2\n2.5,0,3\n" * 20, "'loss'"),
    "nothing": ("", "scores.csv"),
    "infinite": ("loss,member\n" + "1.5,1\ninf,0\n" * 20, "scores"),
    "words": ("loss,member\n" + "1.5,1\n2.5,perhaps\n" * 20, "memberships"),
    "blank": ("loss,member\n" + "1.5,1\n2.5,\n" * 20, "memberships"),
    "one side": ("loss,member\n" + "1.5,1\n" * 20, "non-members"),
    "few": ("loss,member\n" + "1.5,1\n2.5,0\n" * 5, "members"),
    "no column": ("score,member\n1,1\n", "'loss'"),
    "no member": ("loss,other\n1,1\n", "'member'"),
    "two separators": ("loss,member|x\n" + "1.5,1|2\n" * 20, "--separator"),
    "points and commas": ("loss;age;member\n" + "1,5;2.5;1\n" * 20, "--decimal"),
    "points where commas are": ("loss;member\n" + "1,5;1\n2.5;0\n" * 20 + "x;1\n", "loss"),
    "empty": ("loss,member\n", "scores.csv"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_cannot_be_used_ends_in_one_sentence(tmp_path, case, capsys):
    content, name = TABLES[case]
    (tmp_path / "scores.csv").write_text(content)
    options = ("--score", "loss", "--out", tmp_path / "out")
    commands.check_refused(capsys, name, "scores", tmp_path / "scores.csv", *options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([], "--nonmembers"),
        (["scores.csv", "--members", "members.csv"], "--nonmembers"),
        (["--members", "members.csv"], "--nonmembers"),
        (["--members", "members.csv", "--nonmembers", "members.csv"], "--nonmembers"),
        (["nowhere.csv"], "nowhere.csv"),
        (["scores.csv", "--score", "loss", "--control", "loss"], "--score"),
        (["scores.csv", "--score", "loss", "--control", "snow"], "'snow'"),
        (["scores.csv", "--score", "loss", "--groups", "snow"], "'snow'"),
        (["scores.csv", "--score", "loss", "--id", "sex"], "ids"),
        (["scores.csv", "--score", "loss", "--id", "loss"], "--score"),
        (["scores.csv", "--score", "loss", "--groups", "sex,loss"], "--groups"),
        (["scores.csv", "--score", "loss", "--groups", "member"], "--groups"),
        (["scores.csv", "--score", "loss", "--fail-if", "group_gap.high > 0.1"], "--groups"),
        (["scores.csv", "--score", "loss", "--fail-if", "extra.high > 0.1"], "extra"),
        (["scores.csv", "--score", "loss", "--fail-if", "labels: auc > 0.1"], "'labels'"),
        (["scores.csv", "--score", "loss", "--confidence", "7"], "confidence"),
        (["scores.csv", "--snow"], "snow"),
    ],
)
def test_wrong_options_end_in_one_sentence(folder, arguments, name, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    commands.check_refused(capsys, name, "scores", *arguments)


@pytest.mark.parametrize("rows", ["1,0,37\n2,0,5\n", "1,2\n" * 50 + "1,0,5\n", "1,2,\n3,4,5\n", "1,2,3\n3,4\n"])
def test_rows_with_more_fields_than_the_header_are_refused_wherever_they_start(tmp_path, rows):
    (tmp_path / "long.csv").write_text("a,b\n" + rows)
    with pytest.raises(InputError, match=r"long\.csv"):
        open_table(tmp_path / "long.csv").read()
    (tmp_path / "good.csv").write_text("a,b\n1,2\n")
    for paths in (("long.csv", "good.csv"), ("good.csv", "long.csv")):
        files = tmp_path / paths[0], tmp_path / paths[1]
        with pytest.raises(InputError, match=r"long\.csv"):
            read_sets(files, None, label="b", groups=None, id_column=None, drop=None)


def test_two_columns_of_a_name_are_refused_where_it_is_asked_for(tmp_path):
    (tmp_path / "twice.csv").write_text("a,b,b,c\n1,2,3,4\n")
    table = open_table(tmp_path / "twice.csv")
    table.check(["a", "c"], "group")
    with pytest.raises(InputError, match="'b'"):
        table.check(["a", "b"], "group")


def test_long_whole_numbers_that_stay_apart_are_taken(tmp_path, capsys):
    rows = "".join(f"{2**60 + 2**12 * number},{number % 2}\n" for number in range(60))
    (tmp_path / "scores.csv").write_text("score,member\n" + rows)
    assert found(capsys, tmp_path / "scores.csv")["target"]["judged"] == 30
