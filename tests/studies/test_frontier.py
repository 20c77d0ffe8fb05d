"""The frontier of explanations: models whose answer is known, claims from intervals, and the command."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from commands import check_refused, run
from networks import Written
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.models.adapters import estimator_model
from leakscope.releases.feature_explanations import FeatureExplanation, parse
from leakscope.releases.feature_explanations.faithfulness import Bench
from leakscope.studies.frontier import frontier, usual_settings
from leakscope.studies.frontier.result import frontier_claims


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
    settings = ["gradient", "gradient:normalised", "gradient:noise=5.0", "gradient:digits=2"]
    return frontier(Tellingly(train[0]), train, holdout, releases=settings, outputs="logits", records=150)


def outcomes(found, code="explanation_adds"):
    return {claim.subject["explanation"]: claim.outcome for claim in found.claims if claim.code == code}


def test_an_explanation_that_tells_adds_all_there_is_and_normalising_takes_it_away(telling):
    by_name = {one.name: one for one in telling.explanations}
    # The prediction says nothing: its rule never saw a record. The size of the derivative, given the prediction, says all.
    for name in ("gradient", "gradient:digits=2"):
        assert by_name[name].advantage.low > telling.settings["tolerance"]
        assert by_name[name].auc.low > telling.settings["tolerance"]
        assert outcomes(telling)[name] == "yes"
    hidden = by_name["gradient:normalised"]
    assert hidden.advantage.low <= 0 <= hidden.advantage.high
    assert outcomes(telling)["gradient:normalised"] != "yes"
    assert hidden.faithfulness.order == by_name["gradient"].faithfulness.order
    assert by_name["gradient"].dominated_by == "gradient:normalised"
    assert outcomes(telling, "dominated")["gradient"] == "yes"
    assert by_name["gradient"].faithfulness.order.low > 0.3
    best = [one.name for one in telling.best]
    assert best[0] == "gradient:normalised"  # as faithful as any, and it adds nothing
    assert "gradient" not in best
    assert by_name["gradient:noise=5.0"].faithfulness.order.high < by_name["gradient"].faithfulness.order.low
    assert telling.random_order.low <= 0 <= telling.random_order.high


def test_where_explanations_add_nothing_no_claim_says_so():
    """Of a logistic regression every explanation is a function of the probability, but for the record itself."""
    train, holdout = people(n=200)
    model = LogisticRegression().fit(*train)
    found = frontier(model, train, holdout, releases=["gradient", "gradient_x_input:top=2"], records=100)
    assert "yes" not in outcomes(found).values()
    assert all(one.control is not None for one in found.explanations)
    assert not any(claim.code == "recommended" for claim in found.claims)


# --- claims ---------------------------------------------------------------------------------------------------------------

MUCH, LITTLE = Estimate(0.3, 0.25, 0.35), Estimate(0.01, -0.02, 0.04)


def claims(telling, *advantages, beyond=None):
    """Claims where the first explanations have other extra advantages, and another gain beyond the control."""
    changed = [
        replace(one, advantage=gain, beyond_control=beyond)
        for one, gain in zip(telling.explanations, advantages, strict=False)
    ]
    return list(frontier_claims(changed, "labels", 0.05))


def test_the_most_faithful_within_the_tolerance_is_recommended(telling):
    found = claims(telling, MUCH, LITTLE, LITTLE)
    assert [claim.outcome for claim in found if claim.code == "explanation_adds"] == ["yes", "no", "no"]
    assert found[-1].code == "recommended"
    assert found[-1].subject == {"explanation": "gradient:normalised", "instead_of": "gradient"}


def test_nothing_is_recommended_without_a_significant_difference(telling):
    # Nothing is within the tolerance; or what is may add as much.
    for advantages in ((MUCH, MUCH, MUCH), (Estimate(0.1, 0.03, 0.2), LITTLE, LITTLE)):
        assert not any(claim.code == "recommended" for claim in claims(telling, *advantages))


def test_an_explanation_does_not_add_where_the_control_gains_as_much(telling):
    found = claims(telling, MUCH, LITTLE, LITTLE, beyond=Estimate(0.0, -0.1, 0.1))
    assert [claim.outcome for claim in found if claim.code == "explanation_adds"] == ["inconclusive", "no", "no"]
    assert not any(claim.code == "recommended" for claim in found)


def test_settings_that_a_model_refuses_are_listed_with_the_reason():
    train, holdout = people(n=60)
    torch.manual_seed(0)
    odd = Written(lambda net, x: torch.logcumsumexp(net.layer(x), dim=1), layer=torch.nn.Linear(6, 2))
    found = frontier(odd, train, holdout, releases=["gradient", "lrp"], outputs="logits", records=30)
    assert [one.name for one in found.explanations] == ["gradient"]
    assert [item.release for item in found.not_run] == ["lrp"]


def test_regression_comes_beside_its_predictions():
    (X, _), (other, _) = people(n=60)
    rng = np.random.default_rng(3)
    y, z = (part @ np.arange(1.0, 7.0) + rng.normal(size=60) for part in (X, other))
    model = LinearRegression().fit(X, y)
    found = frontier(model, (X, y), (other, z), releases=FeatureExplanation("gradient_x_input"), retrain=False)
    assert found.prediction == "predictions"
    assert found.settings["output"] == "value"
    assert found.explanations[0].faithfulness.infidelity.high < 1e-6


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
        frontier(model, train, holdout, releases=["smoothgrad"], records=20, retrain=False, seed=7).explanations
        for _ in range(2)
    )
    assert first == again


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"releases": ["gradients"]}, "'gradients'"),
        ({"releases": ["gradient:top=0"]}, "top"),
        ({"releases": []}, "^releases"),
        ({"releases": [3]}, "^releases"),
        ({"tolerance": 0}, "tolerance"),
        ({"records": 1}, "records"),
        ({"baseline": "mean"}, "baseline"),
        ({"model": DecisionTreeClassifier()}, "DecisionTreeClassifier"),
    ],
)
def test_wrong_input_is_told_in_a_sentence(options, named):
    train, holdout = people(n=30)
    options = {"releases": ["gradient"], "model": LogisticRegression(), "retrain": False, **options}
    model = options.pop("model").fit(*train)
    with pytest.raises(InputError, match=named) as refusal:
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


def quick(folder, *more, model="model.skops"):
    files = ("frontier", folder / model, "--train", folder / "train.csv", "--holdout", folder / "holdout.csv")
    return (*files, "--label", "y", "--id", "person", "--no-retrain", *more)


def test_the_command_prints_and_writes(folder, tmp_path, capsys):
    more = ("--releases", "gradient, gradient:top=1", "--records", "50", "--out", tmp_path / "out")
    assert run(*quick(folder, *more, "--json")) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "frontier"
    found = ls.load(tmp_path / "out")
    assert (found.scored, [one.name for one in found.explanations]) == (50, ["gradient", "gradient:top=1"])
    assert found.command.startswith("leakscope frontier")
    assert "model file" in found.fingerprints


@pytest.mark.parametrize(
    ("arguments", "model", "named"),
    [
        (("--releases", "gradient:size=3"), "model.skops", "'size'"),
        (("--releases", ","), "model.skops", "--releases"),
        (("--records", "0"), "model.skops", "records"),
        ((), "tree.skops", "DecisionTreeClassifier"),
        ((), "none.skops", "none.skops"),
        (("--drop", "z"), "model.skops", "'z'"),
        (("--references", "3"), "model.skops", "references"),
        (("--references", "4"), "model.skops", "retrain"),
    ],
)
def test_the_command_tells_what_is_wrong(folder, capsys, arguments, model, named):
    check_refused(capsys, named, *quick(folder, *arguments, model=model))


@pytest.mark.parametrize("references", [None, 0])
def test_leakage_is_that_of_an_audit_with_the_same_references(references):
    train, holdout = people(n=60)
    model = LogisticRegression().fit(*train)
    options = {"references": references, "workers": 1, "seed": 3}
    found = frontier(model, train, holdout, releases=["gradient"], records=20, **options)
    audited = ls.audit(model, train, holdout, releases=["probabilities", "gradient"], **options)
    assert found.settings["references"] == (4 if references is None else 0)
    assert found.explanations[0].auc == audited.extras[0].auc
    assert found.explanations[0].control == audited.extras[0].control


def test_leakage_is_beside_what_is_released_anyway():
    sets = people(n=150, features=4)
    model = LogisticRegression().fit(*sets[0])
    found = frontier(model, *sets, releases=["gradient"], prediction="labels", retrain=False, records=20)
    assert found.prediction == "labels"
    assert found.claims[0].subject["prediction"] == "labels"
    with pytest.raises(InputError, match="prediction"):
        frontier(model, *sets, releases=["gradient"], prediction="predictions", retrain=False)
