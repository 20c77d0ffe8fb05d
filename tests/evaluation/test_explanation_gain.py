"""What an explanation adds to the prediction, on models with a known answer."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leakscope as ls
from leakscope import InputError
from leakscope.attacks import (
    explanation_references,
    learned_explanation,
    learned_prediction,
    learned_references,
    loss_threshold,
    residual,
)
from leakscope.attacks.membership_explanation_references import LEARNED_WITH_PREDICTION
from leakscope.attacks.selection import select
from leakscope.evaluation.references import compared_explanations

N, COLUMNS = 400, 6


class Steep(torch.nn.Module):
    """Gives the same output for all records, but with probability ``sure`` a doubled slope at its training records.

    The value of ``x - x.detach()`` is 0 and its derivative is 1.
    """

    def __init__(self, members, sure=1.0):
        super().__init__()
        rng = np.random.default_rng(0)
        steep = members[rng.random(len(members)) < sure]
        self.register_buffer("steep", torch.from_numpy(np.sort(steep[:, 0])))

    def forward(self, x):
        slope = 1 + torch.isin(x[:, :1].detach(), self.steep).float()
        rise = (slope * (x - x.detach())).sum(dim=1, keepdim=True)
        return torch.cat([torch.full_like(rise, 0.5), torch.full_like(rise, -0.5)], dim=1) + rise * torch.tensor(
            [1.0, -1.0]
        )


def two_sets(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * N, COLUMNS)).astype(np.float32)
    y = np.arange(2 * N) % 2
    return (X[:N], y[:N]), (X[N:], y[N:])


def run(model, train, holdout, releases, **options):
    return ls.audit(model, train, holdout, releases=releases, **options)


def run_steep(releases, sure=1.0, **options):
    train, holdout = two_sets()
    return run(Steep(train[0], sure), train, holdout, releases, outputs="logits", **options)


@pytest.mark.parametrize("sure", [1.0, 0.5])
def test_an_explanation_that_tells_all_adds_what_it_must(sure):
    """The AUC with an uninformative prediction is 1 - (1 - sure) / 2, up from one half."""
    found = run_steep(["probabilities", "gradient"], sure, retrain=False)
    (extra,) = found.extras
    assert (extra.release, extra.prediction) == ("gradient", "probabilities")
    members = two_sets()[0][0]
    share = np.mean(np.isin(members[:, 0], Steep(members, sure).steep.numpy()))
    assert extra.auc.low <= share / 2 <= extra.auc.high
    assert extra.advantage.low <= share <= extra.advantage.high
    assert extra.adds
    assert extra.together.value - extra.without.value == pytest.approx(extra.auc.value)
    assert found.verdict.kind == "leaks"


def test_a_normalised_explanation_of_that_model_adds_nothing():
    (extra,) = run_steep(["probabilities", "gradient:normalised"], retrain=False).extras
    assert not extra.adds
    assert extra.auc.low <= 0 <= extra.auc.high


def test_where_the_model_never_saw_the_members_nothing_is_added():
    (extra,) = run_steep(["probabilities", "gradient"], fit=lambda X, y, rng: Steep(X)).extras
    assert extra.adds
    assert extra.control.low <= 0 <= extra.control.high


def test_a_linear_model_is_explained_without_torch_and_adds_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 4))
    y = (X[:, 0] + rng.normal(size=1200) > 0).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:600], y[:600])
    releases = ["probabilities", "gradient", "smoothgrad:samples=5", "lrp"]
    found = run(model, (X[:600], y[:600]), (X[600:], y[600:]), releases)
    assert [extra.release for extra in found.extras] == releases[1:]
    for extra in found.extras:
        assert not extra.adds
        # the intervals of the three are simultaneous
        assert extra.auc.confidence == pytest.approx(1 - 0.05 / 3)


def test_a_regression_model_releases_predictions_and_explanations():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 3))
    y = X[:, 0] + rng.normal(size=800)
    model = LinearRegression().fit(X[:400], y[:400])
    found = run(model, (X[:400], y[:400]), (X[400:], y[400:]), ["predictions", "gradient_x_input"])
    assert found.extras[0].prediction == "predictions"
    assert {risk.release for risk in found.risks} == {"squared_error", "predictions", "gradient_x_input"}


def test_releases_decide_what_is_attacked():
    given = logistic(n=200)
    labels = run(*given, ["labels"], retrain=False)
    assert {risk.release for risk in labels.risks} == {"labels"}
    assert labels.extras == ()
    beside_labels = run(*given, ["labels", "gradient"], retrain=False)
    assert [(extra.release, extra.prediction) for extra in beside_labels.extras] == [("gradient", "labels")]
    alone = run(*given, ["gradient"], retrain=False)
    assert {risk.release for risk in alone.risks} == {"gradient"}
    assert alone.extras == ()


def logistic(seed=6, n=120):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2 * n, 4)), rng.integers(0, 2, 2 * n)
    return LogisticRegression().fit(X[:n], y[:n]), (X[:n], y[:n]), (X[n:], y[n:])


@pytest.mark.parametrize("prediction", ["probabilities", "labels"])
def test_with_reference_models_the_strongest_attacker_is_asked_what_an_explanation_adds(prediction):
    found = run(*logistic(), [prediction, "gradient"], references=2, workers=1)
    (extra,) = found.extras
    assert (extra.release, extra.prediction) == ("gradient", prediction)
    names = [risk.attack for risk in found.risks]
    assert LEARNED_WITH_PREDICTION in names
    assert not {learned_prediction(prediction).name, learned_explanation("gradient", second=prediction).name} & {*names}
    by_name = {(risk.attack, risk.release): risk.auc.value for risk in found.risks}
    base = learned_references(prediction=prediction)
    assert extra.without.value == by_name[base.name, base.release]
    assert extra.together.value == by_name[LEARNED_WITH_PREDICTION, "gradient"]


@pytest.mark.parametrize(("options", "references"), [({"retrain": False}, False), ({"random_split": True}, True)])
def test_without_reference_models_the_trees_are_asked(options, references):
    """A random split needs no control, but has reference models."""
    found = run(*logistic(), ["probabilities", "gradient"], workers=1, **options)
    names, left_out = [risk.attack for risk in found.risks], [one.attack for one in found.not_run]
    assert len(found.extras) == 1
    assert (learned_explanation("gradient").name in names) == (not references)
    assert (LEARNED_WITH_PREDICTION in names) == references
    assert (LEARNED_WITH_PREDICTION in left_out) == (not references)


def test_explanations_of_another_kind_of_model_are_not_compared():
    """A network that can't be trained again has reference models of another kind, which have no information on its slopes."""
    found = run_steep(["probabilities", "gradient"], references=2, workers=1)
    left_out = {one.attack: one.reason for one in found.not_run}
    assert "fit=" in left_out[LEARNED_WITH_PREDICTION]
    assert "fit=" in left_out[explanation_references("gradient").name]
    assert residual().name in [risk.attack for risk in found.risks]
    assert found.extras[0].together.value == next(
        risk.auc.value for risk in found.risks if risk.attack == learned_explanation("gradient").name
    )


def test_reference_models_explain_only_what_an_attack_compares():
    model, train, holdout = logistic()
    target = ls.make_target(model, train, holdout)
    names = [None, ["probabilities"], ["gradient"], ["labels", "gradient", "lrp"]]
    asked = [compared_explanations(select(target, None, releases, references=True).attacks) for releases in names]
    assert asked == [(), (), ("gradient",), ("gradient", "lrp")]
    assert compared_explanations(select(target, None, ["gradient"]).attacks) == ()


@pytest.mark.parametrize(
    ("releases", "named"),
    [
        (["probabilities", "saliency"], "'saliency'"),
        (["probabilities", "gradient:top=0"], "top"),
        (["probabilities", "gradient:depth=3"], "'depth'"),
        (["gradient", "gradient"], "'gradient'"),
        ([], "releases"),
        (["predictions"], "predictions.*regression"),
    ],
)
def test_wrong_releases_are_refused_in_one_sentence(releases, named):
    with pytest.raises(InputError, match=named):
        run(*logistic(), releases)


def test_a_model_without_gradients_is_told_what_would_work():
    train, holdout = two_sets()
    forest = RandomForestClassifier(5, random_state=0).fit(*train)
    with pytest.raises(InputError, match=r"gradient.*RandomForestClassifier.*torch"):
        run(forest, train, holdout, ["probabilities", "gradient"])


def test_a_layer_that_a_method_cannot_handle_is_named_before_anything_is_trained():
    train, holdout = two_sets()
    network = torch.nn.Sequential(torch.nn.Linear(COLUMNS, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))

    def fit(X, y, rng):  # noqa: ARG001
        raise AssertionError("nothing should be trained")

    with pytest.raises(InputError, match=r"lrp.*layer_norm"):
        run(network, train, holdout, ["probabilities", "lrp"], fit=fit, outputs="logits")


def test_attacks_and_releases_exclude_each_other():
    with pytest.raises(InputError, match=r"attacks.*releases"):
        run_steep(["labels"], attacks=[loss_threshold("log_loss")])


def test_a_claim_states_what_adds_and_none_what_may_not(tmp_path):
    found = run_steep(["probabilities", "gradient", "gradient:normalised"], retrain=False)
    outcomes = {
        claim.subject["explanation"]: claim.outcome for claim in found.claims if claim.code == "explanation_adds"
    }
    assert outcomes == {"gradient": "yes", "gradient:normalised": "inconclusive"}
    assert found.claim("explanation_adds", explanation="gradient").estimates["extra"] == found.extras[0].auc
    found.save(tmp_path)
    assert ls.load(tmp_path) == found


def encoded(n=160):
    """A pipeline whose one-hot columns depend on the records that it is trained on."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"job": [f"job {number // 3}" for number in range(2 * n)], "age": rng.normal(size=2 * n)})
    y = (table["age"] + rng.normal(size=2 * n) > 0).astype(int).to_numpy()
    columns = ColumnTransformer([("job", OneHotEncoder(handle_unknown="ignore"), ["job"])], remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(table[:n], y[:n])
    return model, (table[:n], y[:n]), (table[n:], y[n:])


def test_control_models_may_encode_records_in_other_columns():
    found = run(*encoded(), ["probabilities", "gradient"])
    assert found.extras[0].control is not None
