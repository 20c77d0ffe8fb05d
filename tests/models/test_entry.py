"""Models from Python code: what runs, what is refused in one sentence, and what the result holds."""

import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import shown as run
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.models.entry import EntryPoint, entry_point, load_entry_point, search_folders
from leakscope.models.files import load_model
from leakscope.models.provenance import model_fingerprint

CODE = """
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
print("imported")
X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["a", "sex"])
y = (X["a"] > 0).astype(int)
def estimator(): return LogisticRegression().fit(X, y)
def function(): return TREE.predict_proba
TREE = DecisionTreeClassifier().fit(X, y)
def fit(X, y, rng):
    return DecisionTreeClassifier(random_state=int(rng.integers(2**31))).fit(X, y).predict_proba
function.fit = fit
def nothing(): pass
def text(): return "model.skops"
def fails(): return {}["Jane Doe"]
def leaves(): raise SystemExit("Jane Doe")
def asks(path): return estimator()
def wrong_fit(): return estimator()
wrong_fit.fit = 3
class Bank:
    @staticmethod
    def load(): return estimator()
network = LogisticRegression()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with Python code, of which this process forgets everything afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("bank_models", "package_of_models", "package_of_models.inner", "lacks_modules", "no_python"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    package = tmp_path / "code" / "package_of_models"
    package.mkdir(parents=True)
    for path in (tmp_path / "bank_models.py", package / "inner.py"):
        path.write_text(CODE)
    (package / "__init__.py").write_text("")
    (tmp_path / "lacks_modules.py").write_text("import module_that_nobody_has\n")
    (tmp_path / "no_python.py").write_text("x = 1\ndef load(:\n")
    (tmp_path / "code" / "random.py").write_text(CODE)
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]).assign(sex=rng.integers(0, 2, 200))
    table = table.drop(columns="b")
    table["y"] = (table["a"] > 0).astype(int)
    table[:100].to_csv(tmp_path / "train.csv", index=False)
    table[100:].to_csv(tmp_path / "holdout.csv", index=False)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("bank_models", "package_of_models", "package_of_models.inner"):
        sys.modules.pop(name, None)


SETS = ("--train", "train.csv", "--holdout", "holdout.csv", "--label", "y")


@pytest.mark.parametrize("text", ["m.py:f", "a/b-c.py:f", "/x y/m.py:f", "m:f", "a.b:c.d", r"C:\models\m.py:f"])
def test_names_of_functions(text):
    assert str(entry_point(text)) == text


@pytest.mark.parametrize(
    "text",
    ["m.skops", "https://host:80/x", "http://host", "m.py", "m.py:", ":f", "a b:f", "m:f-g", r"C:\m.skops", "m:1"],
)
def test_what_names_no_function(text):
    assert entry_point(text) is None


def test_a_file_whose_name_has_a_colon_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model:old").write_bytes(b"")
    assert entry_point("model:old") is None


@pytest.mark.usefixtures("folder")
def test_a_file_a_module_and_a_method():
    models = [load_entry_point(EntryPoint("bank_models.py", name))[0] for name in ("estimator", "Bank.load")]
    search_folders(["code"])
    models.append(load_entry_point(EntryPoint("package_of_models.inner", "estimator"))[0])
    assert len({model_fingerprint(model)["model parameters"] for model in models}) == 1
    model, fit = load_entry_point(EntryPoint("bank_models.py", "function"))
    assert fit is sys.modules["bank_models"].fit
    assert model(pd.DataFrame({"a": [0.0], "sex": [0.0]})).shape == (1, 2)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("none.py:load", "none.py"),
        ("no_such_module.deep:load", "'no_such_module'.*--path"),
        ("lacks_modules.py:load", "'module_that_nobody_has'.*--path"),
        ("no_python.py:load", "line 2 of no_python.py"),
        ("code/random.py:estimator", "random.py"),
        ("bank_models.py:estimatr", "'estimator'"),
        ("bank_models.py:nothing", "None"),
        ("bank_models.py:text", "str"),
        ("bank_models.py:fails", r"KeyError \(bank_models\.py, line \d+\)"),
        ("bank_models.py:leaves", "SystemExit"),
        ("bank_models.py:asks", "'path'"),
        ("bank_models.py:wrong_fit", "fit"),
        ("bank_models.py:Bank", "Bank"),
        ("bank_models.py:network", "network"),
        ("bank_models.py:X", "X"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_faults_of_the_code_are_one_sentence_without_values(capsys, text, named):
    code, out, err = run(capsys, "audit", text, *SETS)
    assert (code, out) == (2, "")
    (line,) = [line for line in err.splitlines() if line.startswith("leakscope: ") and "runs code" not in line]
    assert re.search(named, line)
    assert "Jane Doe" not in err


@pytest.mark.usefixtures("folder")
def test_an_audit_says_that_it_runs_code_and_prints_json_only(capsys):
    code, out, err = run(capsys, "audit", "bank_models.py:function", *SETS, "--references", 2, "--json")
    document = json.loads(out)
    assert code == 0
    assert err.splitlines() == ["leakscope: runs code of bank_models.py", "imported"]
    assert {risk["control"]["kind"] for risk in document["risks"]} == {"never trained"}
    assert document["fingerprints"]["model parameters"] == "none"


@pytest.mark.usefixtures("folder")
def test_workers_find_the_code():
    options = ("--references", "2", "--json", "--workers")
    risks = []
    for workers in "12":
        command = [sys.executable, "-m", "leakscope", "audit", "bank_models.py:function", *SETS, *options, workers]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        risks.append(json.loads(done.stdout)["risks"])
    assert risks[0] == risks[1]


@pytest.mark.usefixtures("folder")
def test_fit_of_another_place_trains_a_model_from_a_file(capsys):
    skops.io.dump(LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]), "model.skops")
    fit = ("--fit", "package_of_models.inner:fit", "--path", "code")
    code, _, err = run(capsys, "audit", "model.skops", *SETS, "--references", 2, *fit)
    assert (code, err.splitlines()[0]) == (0, "leakscope: runs code of package_of_models.inner")
    assert run(capsys, "audit", "model.skops", *SETS, "--fit", "fit")[0] == 2
    assert run(capsys, "audit", "model.skops", *SETS, "--path", "nowhere")[0] == 2


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "--defenses", "label-only"),
        ("attributes", "--sensitive", "sex"),
        ("frontier", "--releases", "gradient"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.usefixtures("folder")
def test_other_commands_take_code(capsys, command):
    code, _, err = run(capsys, command[0], "bank_models.py:estimator", *SETS, *command[1:])
    assert code == 0, err
    assert err.startswith("leakscope: runs code of bank_models.py\n")


@pytest.mark.usefixtures("folder")
def test_the_gate_compares_what_the_model_learned(capsys):
    name = "bank_models.py:estimator"
    assert run(capsys, "audit", name, *SETS, "--no-retrain", "--out", "audit")[0] == 0
    assert len(ls.load("audit").fingerprints["model parameters"]) == 64
    rule = ("--fail-if", "auc.low > 0.99", "--on-uncertain", "pass", "--model")
    assert run(capsys, "gate", "audit", *rule, name)[0] == 0
    skops.io.dump(load_entry_point(EntryPoint("bank_models.py", "estimator"))[0], "same.skops")
    assert run(capsys, "gate", "audit", *rule, "same.skops")[0] == 0
    skops.io.dump(LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]), "other.skops")
    assert run(capsys, "gate", "audit", *rule, "other.skops")[0] == 2
    assert run(capsys, "audit", "same.skops", *SETS, "--no-retrain", "--out", "file")[0] == 0
    assert run(capsys, "gate", "file", *rule, name)[0] == 2


def test_files_that_need_a_module_name_it(folder):
    (folder / "code" / "steps_of_bank.py").write_text("def clean(X):\n    return X\n")
    search_folders(["code"])
    import steps_of_bank

    step = FunctionTransformer(steps_of_bank.clean)
    skops.io.dump(step, "model.skops")
    (folder / "model.pkl").write_bytes(pickle.dumps(step))
    sys.path.remove(str(folder / "code"))
    del sys.modules["steps_of_bank"]
    trust = {"trust": ["steps_of_bank.clean"], "trust_pickle": True}
    for name in ("model.skops", "model.pkl"):
        with pytest.raises(InputError, match=r"'steps_of_bank'.*--path"):
            load_model(name, **trust)
    search_folders(["code"])
    for name in ("model.skops", "model.pkl"):
        assert load_model(name, **trust).transform([[1]]) == [[1]]
    del sys.modules["steps_of_bank"]
