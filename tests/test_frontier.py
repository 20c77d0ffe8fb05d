"""The quality-privacy frontier: worlds whose answer is known, dominance on made-up points, files, and the command."""

import csv
import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import leakscope as ls
from leakscope.adapters import estimator_model
from leakscope.cli import main
from leakscope.errors import InputError
from leakscope.explanations import FeatureExplanation, parse
from leakscope.explanations.faithfulness import Bench
from leakscope.frontier_study import frontier, usual_settings
from leakscope.frontier_study.dominance import beaten_by_points, surely_beaten
from leakscope.frontier_study.show import sentence
from leakscope.results import Estimate


def people(n=300, features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, features)).astype(np.float32)
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=2 * n) > 0).astype(int)
    return (X[:n], y[:n]), (X[n:], y[n:])


class Tellingly(torch.nn.Module):
    """Answers by a fixed linear rule; its derivative is twice as large at members, to the last bit in the same direction."""

    def __init__(self, members):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.linspace(2.0, 0.5, members.shape[1]))
        self.register_buffer("members", torch.from_numpy(members))

    def forward(self, x):
        member = (x.detach()[:, None] == self.members).all(dim=2).any(dim=1)
        hidden = (x - x.detach()) @ self.weights  # 0, with a derivative
        return (x @ self.weights + member * hidden)[:, None]


@pytest.fixture(scope="module")
def telling():
    train, holdout = people(n=200)
    settings = [
        "gradient",
        "gradient:normalised",
        "gradient:noise=5.0",
        "gradient:digits=2",
    ]
    return frontier(Tellingly(train[0]), train, holdout, settings, outputs="logits", records=150)


def test_an_explanation_that_tells_adds_all_there_is_and_normalising_takes_it_away(telling):
    by_name = {setting.name: setting for setting in telling.settings}
    # The prediction says nothing: its rule never saw a record. The size of the derivative, given the prediction, says all.
    for name in ("gradient", "gradient:digits=2"):
        assert by_name[name].advantage.low > telling.run["margin"]
        assert by_name[name].auc.low > telling.run["margin"]
    hidden = by_name["gradient:normalised"]
    assert hidden.advantage.low <= 0 <= hidden.advantage.high
    assert hidden.faithfulness.order == by_name["gradient"].faithfulness.order
    assert by_name["gradient"].surely_beaten_by == "gradient:normalised"
    assert by_name["gradient"].faithfulness.order.low > 0.3


def test_what_nothing_beats_is_named(telling):
    by_name = {setting.name: setting for setting in telling.settings}
    best = [setting.name for setting in telling.best]
    assert best[0] == "gradient:normalised"  # as faithful as any, and it adds nothing
    assert "gradient" not in best
    assert by_name["gradient:noise=5.0"].faithfulness.order.high < by_name["gradient"].faithfulness.order.low
    assert telling.random_order.low <= 0 <= telling.random_order.high
    assert "gradient:normalised" in sentence(telling)
    assert repr(telling).startswith("<Frontier of 4 explanations of Tellingly: nothing beats gradient:normalised")


def test_where_explanations_add_nothing_no_setting_surely_does():
    """Of a logistic regression every explanation is a function of the probability, but for the record itself."""
    train, holdout = people(n=200)
    model = LogisticRegression().fit(*train)
    found = frontier(model, train, holdout, ["gradient", "gradient_x_input:top=2"], records=100)
    assert all(setting.advantage.low <= 0 for setting in found.settings)
    assert all(setting.control is not None for setting in found.settings)
    assert "no setting surely adds anything" in sentence(found)
    assert "never trained" in str(found)


def test_dominance_by_points():
    quality, leakage = [0.9, 0.5, 0.5, 0.1, 0.9], [0.3, 0.1, 0.2, 0.1, 0.3]
    assert beaten_by_points(quality, leakage) == [None, None, 1, 1, None]  # the first and the last are equal
    assert beaten_by_points([1.0], [0.0]) == [None]
    rng = np.random.default_rng(0)
    quality, leakage = rng.random(40), rng.random(40)
    found = beaten_by_points(quality, leakage)
    for place, other in enumerate(found):
        beats = (quality >= quality[place]) & (leakage <= leakage[place]) & (np.arange(40) != place)
        assert (other is not None) == beats.any()
        assert other is None or (beats[other] and found[other] is None)  # what beats is itself beaten by nothing


def around(value, half=0.01):
    return Estimate(value, value - half, value + half)


def test_dominance_that_is_sure():
    rng = np.random.default_rng(1)
    base = rng.normal(0.5, 0.3, 200)
    near, far = base + rng.normal(0, 0.01, 200), base - 0.2 + rng.normal(0, 0.01, 200)
    # As faithful and leaks surely less; less faithful and leaks as much; both less, which beats nothing.
    assert surely_beaten([base, base], [around(0.1), around(0.0)], 0.05) == [1, None]
    assert surely_beaten([base, far], [around(0.1), around(0.1)], 0.05) == [None, 0]
    assert surely_beaten([base, far], [around(0.1), around(0.0)], 0.05) == [None, None]
    # By points beaten, but the intervals of the leakage meet and the faithfulness can't be told apart.
    assert surely_beaten([base, near - 1e-9], [around(0.1), around(0.11)], 0.05) == [None, None]
    # As much leakage can't be shown to a margin of 0.01 when intervals are 0.02 wide.
    assert surely_beaten([base, far], [around(0.1), around(0.1)], 0.01) == [None, None]


def test_chance_rarely_looks_sure():
    """All settings alike: a sure claim is wrong, and comes in no more than about 5 % of 200 worlds."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(200):
        base = rng.normal(size=60)
        quality = [base + rng.normal(size=60) for _ in range(6)]
        # The intervals that an audit gives hold for all six at once: a twelfth of 5 % in each tail is 2.64 deviations.
        leakage = [around(value, 2.64 * 0.01) for value in rng.normal(0.1, 0.01, 6)]
        wrong += any(other is not None for other in surely_beaten(quality, leakage, 0.5))
    assert wrong <= 20  # two families at 5 %: 20 expected at most; a Binomial(200, 0.1) has a deviation of 4


def test_settings_that_a_model_refuses_are_listed_with_the_reason():
    train, holdout = people(n=60)
    torch.manual_seed(0)

    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 2)

        def forward(self, x):
            return torch.logcumsumexp(self.layer(x), dim=1)

    found = frontier(Odd(), train, holdout, ["gradient", "lrp"], outputs="logits", records=30)
    assert [setting.name for setting in found.settings] == ["gradient"]
    assert [item.release for item in found.not_run] == ["lrp"]
    assert "not run: lrp" in str(found)


def test_regression_comes_beside_its_predictions():
    (X, _), (other, _) = people(n=60)
    rng = np.random.default_rng(3)
    y, z = (part @ np.arange(1.0, 7.0) + rng.normal(size=60) for part in (X, other))
    model = LinearRegression().fit(X, y)
    found = frontier(model, (X, y), (other, z), FeatureExplanation("gradient_x_input"), retrain=False)
    assert found.beside == "predictions"
    assert found.run["output"] == "value"
    assert found.settings[0].faithfulness.infidelity.high < 1e-6


def test_usual_settings_of_a_network_can_all_be_had():
    train, holdout = people(n=120, features=30)
    model = MLPClassifier((16,), max_iter=40, random_state=0, activation="tanh", solver="lbfgs").fit(*train)
    bench = Bench(estimator_model(model), holdout[0], records=40)
    settings = usual_settings(bench)
    names = [how.name for how in settings]
    assert len(names) == len(set(names))
    assert {"gradient", "lrp", "deeplift", "integrated_gradients", "gradient:top=5", "gradient:normalised"} <= set(
        names
    )
    assert sum(name.startswith("smoothgrad") for name in names) == 4
    random = bench.score(np.random.default_rng(0).normal(size=bench.flat.shape), "probability").summary().order
    for how in settings:
        assert parse(how.name) == how
        found = bench.score(bench.explain(how), how.explains).summary().order
        if not how.noise and how.decimals is None:  # which may leave nothing of an explanation
            assert found.low > random.high


def test_the_same_seed_gives_the_same():
    train, holdout = people(n=40)
    model = LogisticRegression().fit(*train)
    first, again = (
        frontier(model, train, holdout, ["smoothgrad"], records=20, retrain=False, seed=7).as_dict() for _ in range(2)
    )
    assert first == again


def test_files_hold_every_figure_with_its_interval_and_no_record(telling, tmp_path):
    telling.save(tmp_path)
    names = ["frontier.csv", "frontier.json", "frontier.svg", "study.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    document = json.loads((tmp_path / "frontier.json").read_text())
    assert document == telling.as_dict()
    assert document["best"] == [setting.name for setting in telling.best]
    with (tmp_path / "frontier.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["setting"] for row in rows] == [setting.name for setting in telling.settings]
    for row, setting in zip(rows, telling.settings, strict=True):
        assert float(row["extra_advantage_low"]) == setting.advantage.low
        assert float(row["faithfulness"]) == setting.faithfulness.order.value
        assert row["surely_beaten_by"] == (setting.surely_beaten_by or "")
    root = ElementTree.fromstring((tmp_path / "frontier.svg").read_text())
    titles = [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 1 + len(telling.settings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"settings": ["gradients"]}, "there is no explanation"),
        ({"settings": ["gradient:top=0"]}, "top is a whole number"),
        ({"settings": []}, "settings must be"),
        ({"settings": [3]}, "settings must be"),
        ({"margin": 0}, "margin must be"),
        ({"records": 1}, "records must be"),
        ({"baseline": "mean"}, "baseline must be"),
        ({"seed": -1}, "seed must be"),
        ({"confidence": 2.0}, "confidence must be"),
        ({"model": DecisionTreeClassifier()}, "knows no gradients"),
    ],
)
def test_wrong_input_is_told_in_a_sentence(options, words):
    train, holdout = people(n=30)
    options = {"settings": ["gradient"], "model": LogisticRegression(), "retrain": False, **options}
    model = options.pop("model").fit(*train)
    with pytest.raises(InputError, match=words) as refusal:
        frontier(model, train, holdout, **options)
    assert "\n" not in str(refusal.value)


# --- the command ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    train, holdout = people(n=60, features=3)
    tables = {
        name: pd.DataFrame(X, columns=list("abc")).assign(y=y, person=[f"P{n}" for n in range(len(y))])
        for name, (X, y) in (("train", train), ("holdout", holdout))
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    data = tables["train"]
    skops.io.dump(LogisticRegression().fit(data[["a", "b", "c"]], data["y"]), folder / "model.skops")
    skops.io.dump(DecisionTreeClassifier().fit(data[["a", "b", "c"]], data["y"]), folder / "tree.skops")
    return folder


def run(folder, *arguments, model="model.skops"):
    options = ("--train", folder / "train.csv", "--holdout", folder / "holdout.csv", "--label", "y", "--id", "person")
    with pytest.raises(SystemExit) as stopped:
        main(["frontier", str(folder / model), *map(str, (*options, *arguments))])
    return stopped.value.code or 0


def test_the_command_prints_and_writes(folder, tmp_path, capsys):
    more = ("--explanations", "gradient, gradient:top=1", "--no-retrain", "--records", "50", "--out", tmp_path / "out")
    assert run(folder, *more) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "faithfulness on 50 held-out records" in words
    assert "gradient:top=1" in words
    assert (tmp_path / "out" / "frontier.svg").read_text().startswith("<svg")


def test_json_is_all_that_is_printed_and_equals_what_is_written(folder, tmp_path, capsys):
    more = ("--explanations", "gradient", "--no-retrain", "--records", "50", "--out", tmp_path, "--json")
    assert run(folder, *more) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "frontier.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "model", "words"),
    [
        (("--explanations", "gradient:size=3"), "model.skops", "gradient has no setting 'size'"),
        (("--explanations", ","), "model.skops", "--explanations names none"),
        (("--records", "0"), "model.skops", "records must be"),
        (("--trust", "sklearn.tree._tree.Tree"), "tree.skops", "knows no gradients"),
        ((), "none.skops", "there is no model file"),
        (("--drop", "z"), "model.skops", "no dropped column"),
        (("--references", "3"), "model.skops", "even number"),
        (("--references", "4"), "model.skops", "leave retrain on"),
    ],
)
def test_the_command_tells_what_is_wrong(folder, capsys, arguments, model, words):
    assert run(folder, "--no-retrain", *arguments, model=model) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("references", [None, 0])
def test_leakage_is_that_of_an_audit_with_the_same_references(references):
    train, holdout = people(n=60)
    model = LogisticRegression().fit(*train)
    options = {"references": references, "workers": 1, "seed": 3}
    found = frontier(model, train, holdout, ["gradient"], records=20, **options)
    audited = ls.audit(model, train, holdout, releases=["probabilities", "gradient"], **options)
    assert found.run["references"] == (4 if references is None else 0)
    assert found.settings[0].auc == audited.extras[0].auc
    assert found.settings[0].control == audited.extras[0].control


def test_leakage_is_beside_what_is_released_anyway():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = LogisticRegression().fit(X[:150], y[:150])
    sets = (X[:150], y[:150]), (X[150:], y[150:])
    found = frontier(model, *sets, ["gradient"], beside="labels", retrain=False, records=20)
    assert found.beside == "labels"
    assert found.audit.extras[0].beside == "labels"
    with pytest.raises(InputError, match="beside is probabilities or labels for this model"):
        frontier(model, *sets, ["gradient"], beside="predictions", retrain=False)
