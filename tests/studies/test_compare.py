"""The comparison as a whole: known-answer worlds, utility by hand, claims that hold and claims that are broken."""

# ruff: noqa: ARG001, ARG002  # the interface of a defense asks for more than these toys use

from dataclasses import dataclass, replace
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.defenses import Defended, Guarantee, LabelOnly, Rounding, apply
from leakscope.defenses.defense import make_learner
from leakscope.models.target import Target
from leakscope.studies.compare.result import Comparison, Version
from leakscope.toys import constant_model, lookup, lookup_model


def toy_target(n: int = 300, **options: Any) -> Target:
    toy = lookup(n=n)
    return ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit, **options)


def people(n: int, seed: int = 0, shift: float = 0.0) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 8))
    X[n:] += shift
    y = (X[:, 0] + rng.normal(size=2 * n) > shift).astype(int)
    return (X[:n], y[:n]), (X[n:], y[n:])


def tree_target(n: int = 300, **options: Any) -> Target:
    train, holdout = people(n)
    return ls.make_target(DecisionTreeClassifier(random_state=0).fit(*train), train, holdout, **options)


@dataclass(frozen=True)
class Mechanism:
    """A defense of the tests: it trains as it is told and claims what it is told."""

    fit: Any
    claim: Guarantee | None = None
    values: tuple[int, ...] = (1,)

    name: ClassVar[str] = "mechanism"
    setting_name: ClassVar[str] = "number"
    what: ClassVar[str] = "a mechanism of the tests"
    source: ClassVar[str] = "none"

    @property
    def settings(self) -> tuple[int, ...]:
        return self.values

    def refuse(self, target: Target) -> str | None:
        return None

    def defend(self, target: Target, setting: Any) -> Defended:
        return Defended(make_learner("mechanism", self.fit), guarantee=self.claim)


def forget_nothing(X: Any, y: Any, rng: np.random.Generator) -> Any:
    return lookup_model(X, y)


def know_nobody(X: Any, y: Any, rng: np.random.Generator) -> Any:
    return constant_model()


@pytest.fixture(scope="module")
def found() -> Comparison:
    return ls.compare(tree_target(), defenses=[LabelOnly(), Rounding([1]), Mechanism(know_nobody)], references=4)


def test_a_model_that_knows_nobody_has_no_risk_and_its_utility_is_known(found: Comparison) -> None:
    version = found["mechanism 1"]
    assert version.risk.auc.low <= 0.5 <= version.risk.auc.high
    assert found.claim("risk_lowered", version="mechanism 1").outcome == "yes"
    _, holdout = people(300)
    assert version.main.value.value == np.mean(holdout[1] == 0)  # equal probabilities name the first class
    assert found.as_it_is.risk.auc.low > 0.6


def test_masking_confidences_of_a_tree_hides_nothing(found: Comparison) -> None:
    """A tree that fits its records says 0 or 1 anyway: labels are all that it says, and rounding changes nothing."""
    as_it_is = found.as_it_is
    for name in ("label-only", "round 1"):
        assert found[name].risk.auc.value == pytest.approx(as_it_is.risk.auc.value, abs=0.02)
        assert found[name].risk_change.low <= 0 <= found[name].risk_change.high
        assert found[name].main.change.value == 0


def test_utilities_are_those_of_the_defended_model_itself() -> None:
    train, holdout = people(200)
    target = ls.make_target(LogisticRegression().fit(*train), train, holdout)
    found = ls.compare(target, defenses=Rounding([1]), references=0, retrain=False)
    model = apply(Rounding([1]), target, 1).model
    answers = model.predict(holdout[0])
    version = found["round 1"]
    assert version.utility["accuracy"].value.value == np.mean(answers.argmax(axis=1) == holdout[1])
    likelihood = np.maximum(answers[np.arange(200), holdout[1]], np.finfo(float).eps)
    assert version.utility["log-loss"].value.value == pytest.approx(-np.log(likelihood).mean())
    raw = target.model.predict(holdout[0])[np.arange(200), holdout[1]]
    assert version.utility["log-loss"].change.value == pytest.approx(np.mean(-np.log(likelihood) + np.log(raw)))


@pytest.mark.parametrize("options", [{}, {"references": 0}, {"retrain": False}, {"random_split": True}])
@pytest.mark.parametrize("trainable", [True, False])
def test_the_model_as_it_is_has_the_risk_that_an_audit_finds(trainable: bool, options: dict[str, Any]) -> None:
    """One path: the numbers are the same to the last bit."""
    train, holdout = people(300)
    model = DecisionTreeClassifier(random_state=0).fit(*train)
    given: Any = model if trainable else model.predict_proba
    classes = None if trainable else [0, 1]
    audited = ls.audit(given, train, holdout, classes=classes, **options)
    target = ls.make_target(given, train, holdout, classes=classes)
    compared = ls.compare(target, defenses=Rounding([1]), **options).as_it_is
    assert_same(compared, audited.risks)


def assert_same(version: Version, risks: Any) -> None:
    found = {(one.attack, one.release): (one.auc.value, one.control.value) for one in version.attacks}
    for risk in risks:
        assert found[risk.attack, risk.release] == (risk.auc.value, risk.control.auc.value)


@pytest.mark.parametrize("references", [2, 0])
def test_explanations_have_the_risk_that_an_audit_finds(references: int) -> None:
    train, holdout = people(120)
    options: dict[str, Any] = {"references": references, "workers": 1}
    model = LogisticRegression().fit(*train)
    audited = ls.audit(model, train, holdout, releases=["probabilities", "gradient"], **options)
    target = ls.make_target(model, train, holdout)
    compared = ls.compare(target, defenses=Rounding([1]), releases=["gradient"], **options).as_it_is
    explained = [risk for risk in audited.risks if risk.release == "gradient"]
    assert len(explained) == (4 if references else 3)
    assert_same(compared, explained)


def test_equal_seeds_give_equal_results_with_any_number_of_workers() -> None:
    defenses = [Rounding([1]), Mechanism(know_nobody)]
    runs = [
        ls.compare(tree_target(60), defenses=defenses, references=2, seed=seed, workers=workers).as_dict()
        for seed, workers in ((3, 1), (3, 2), (4, 1))
    ]
    for document in runs:
        del document["seconds"], document["created"]
    assert runs[0] == runs[1]
    assert runs[2]["compared"] != runs[0]["compared"]


def test_versions_share_models_unless_their_training_is_defended() -> None:
    trained = []

    def fit(X: Any, y: Any, rng: np.random.Generator) -> Any:
        trained.append(len(y))
        return lookup_model(X, y)

    toy = lookup(n=60)
    target = ls.make_target(toy.model, toy.train, toy.holdout, fit=fit)
    ls.compare(target, defenses=[Rounding([0, 1, 2]), LabelOnly()], references=4, workers=1)
    assert trained == [45] * 4 + [30] * 2 + [60] * 4  # folds, halves and references, once
    trained.clear()
    ls.compare(toy_target(60), defenses=Mechanism(fit), references=2, workers=1)
    assert trained == [60] + [45] * 4 + [30] * 2 + [60] * 2  # the version itself, folds, halves and two references


# --- claims -----------------------------------------------------------------------------------------------------------


def test_the_guarantee_of_a_model_that_forgets_nothing_is_refuted() -> None:
    found = ls.compare(toy_target(300), defenses=Mechanism(forget_nothing, claim=Guarantee(1.0)), references=0)
    version = found["mechanism 1"]
    assert version.guarantee_status == "refuted"
    assert version.epsilon.value > 1.0
    assert found.refuted == (version,)
    assert found.recommendation.version is None
    claim = found.claim("guarantee_refuted", version="mechanism 1")
    assert (claim.outcome, claim.estimates["epsilon"]) == ("yes", version.epsilon)
    assert claim.estimates["guaranteed_epsilon"].value == 1.0


def test_a_guarantee_that_holds_is_not_refuted() -> None:
    found = ls.compare(toy_target(300), defenses=Mechanism(know_nobody, claim=Guarantee(0.1)), references=0)
    assert found["mechanism 1"].guarantee_status == "not refuted"
    assert found["mechanism 1"].epsilon.value <= 0.1
    assert found.claim("guarantee_refuted", version="mechanism 1").outcome == "no"


@dataclass(frozen=True)
class RandomisedResponse:
    """Says of every record whether it was trained on, and lies with probability 1 / (1 + e^ε)."""

    epsilon: float = 1.0

    def __call__(self, X: Any, y: Any, rng: np.random.Generator) -> Any:
        seed, inside = int(rng.integers(2**31)), {row.tobytes() for row in np.ascontiguousarray(X)}

        def predict(X: Any) -> Any:
            rows = [row.tobytes() for row in np.ascontiguousarray(X)]
            lies = np.array([np.random.default_rng([seed, crc32(row)]).random() for row in rows])
            says = np.array([row in inside for row in rows]) ^ (lies < 1 / (1 + np.exp(self.epsilon)))
            label = (X[:, 0] > 0) == says  # right about whom it calls a member
            return np.column_stack([~label, label]).astype(float) * 0.8 + 0.1

        return replace(constant_model(), predict=predict)


def test_randomised_response_is_refuted_for_swaps_and_not_for_added_records() -> None:
    """Each record's answer is ε-private; a swap changes two of them, so that ε for swaps is 2ε and not ε."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (X[:, 0] > 0).astype(int)
    train, holdout = (X[:2000], y[:2000]), (X[2000:], y[2000:])
    target = ls.make_target(RandomisedResponse()(*train, rng), train, holdout, fit=RandomisedResponse())
    claims = [Guarantee(1.0, neighbours="added or removed"), Guarantee(1.0, neighbours="swap")]
    found = ls.compare(
        target,
        defenses=[Mechanism(RandomisedResponse(), claim, (at,)) for at, claim in enumerate(claims)],
        references=0,
    )
    assert [version.guarantee_status for version in found.compared] == ["none", "not refuted", "refuted"]
    assert 1.5 < found.compared[1].epsilon.value <= 2.0  # nearly all of it is found


def test_a_shifted_holdout_casts_doubt_and_breaks_nothing() -> None:
    """Records that differ by themselves would look like a broken promise of a model that learned nothing of anyone."""

    def fixed(X: Any, y: Any, rng: np.random.Generator) -> Any:
        return replace(constant_model(), predict=_by_first_column)

    train, holdout = people(400, shift=3.0)
    target = ls.make_target(replace(constant_model(), predict=_by_first_column), train, holdout, fit=fixed)
    version = ls.compare(target, defenses=Mechanism(fixed, claim=Guarantee(0.5)), references=0)["mechanism 1"]
    assert version.epsilon.value > 0.5
    assert version.guarantee_status == "in doubt"


def _by_first_column(X: Any) -> Any:
    second = 1 / (1 + np.exp(-X[:, 0]))
    return np.column_stack([1 - second, second])


def test_nothing_is_recommended_where_the_records_differ_by_themselves() -> None:
    """Labels alone show less of the shift, and so a lower AUC: but nothing of it is the model's doing."""
    train, holdout = people(600, shift=1.0)
    target = ls.make_target(LogisticRegression().fit(*train), train, holdout)
    found = ls.compare(target, defenses=LabelOnly(), references=0)
    assert found.as_it_is.risk.auc.low > 0.5
    assert found.recommendation.kind == "inconclusive"
    assert found.warnings[0] == found.recommendation.doubt
    assert found.as_it_is.epsilon.value == 0
    assert found.claim("risk_lowered", version="label-only").outcome == "inconclusive"
    assert found.claim("recommended").outcome == "inconclusive"


@pytest.mark.parametrize("side", ["train", "holdout"])
def test_records_that_all_stand_twice_show_nothing_of_epsilon(side: str) -> None:
    train, holdout = people(80)
    double = {"train": train, "holdout": holdout}
    double[side] = tuple(np.repeat(part, 2, axis=0) for part in double[side])  # type: ignore[assignment]
    model = DecisionTreeClassifier(random_state=0).fit(*double["train"])
    found = ls.compare(ls.make_target(model, double["train"], double["holdout"]), defenses=LabelOnly(), references=0)
    assert found.as_it_is.epsilon.value == 0


# --- recommendations --------------------------------------------------------------------------------------------------


def test_a_defense_that_costs_nothing_is_recommended() -> None:
    """The lookup table is as good as a coin on others: a constant model is as good, and knows nobody."""
    found = ls.compare(toy_target(400), defenses=Mechanism(know_nobody), references=2, utility_loss=0.2)
    assert (found.recommendation.kind, found.recommendation.version) == ("use", "mechanism 1")
    assert found["as it is"].dominated_by == "mechanism 1"
    for code in ("recommended", "risk_lowered", "utility_kept"):
        assert found.claim(code, version="mechanism 1").outcome == "yes"


def test_without_references_nothing_is_recommended() -> None:
    """Label-only hides a tree's training records from simple attacks; the attack that knows the defense was not run."""
    found = ls.compare(toy_target(400), defenses=Mechanism(know_nobody), references=0, utility_loss=0.2)
    assert found.claim("recommended").outcome == "inconclusive"
    decided = found.recommendation
    assert (decided.kind, decided.version, decided.candidate) == ("untested", None, "mechanism 1")


def test_a_costly_defense_is_not_recommended(found: Comparison) -> None:
    decided = found.recommendation
    assert (decided.kind, decided.version, decided.candidate) == ("utility_limit", None, "mechanism 1")
    assert found.claim("utility_lost", version="mechanism 1", metric="accuracy").outcome == "yes"
    assert found.claim("utility_kept", version="mechanism 1").outcome == "no"


def test_where_nothing_leaks_there_is_nothing_to_lower() -> None:
    train, holdout = people(400)
    target = ls.make_target(constant_model(), train, holdout, fit=know_nobody)
    assert ls.compare(target, defenses=Rounding([1]), references=0).recommendation.kind == "nothing_to_lower"


def test_groups_have_their_own_change_of_utility() -> None:
    train, holdout = people(400)
    town = [np.where(np.arange(400) % 4 == 0, "small town", "city") for _ in range(2)]
    model = DecisionTreeClassifier(random_state=0).fit(*train)
    target = ls.make_target(model, train, holdout, groups=tuple(pd.DataFrame({"town": levels}) for levels in town))
    version = ls.compare(target, defenses=Mechanism(know_nobody), references=0)["mechanism 1"]
    by_level = {group.level: group for group in version.groups}
    assert set(by_level) == {"small town", "city"}
    rows = town[1] == "small town"
    right = model.predict(holdout[0]) == holdout[1]
    paid = np.mean((holdout[1] == 0)[rows]) - np.mean(right[rows])
    assert by_level["small town"].change.value == pytest.approx(paid)
    assert by_level["city"].auc is not None


def test_what_cannot_change_changes_by_exactly_nothing() -> None:
    """Label-only keeps every label; an explanation that is cut keeps every answer."""
    train, holdout = people(60)
    target = ls.make_target(LogisticRegression().fit(*train), train, holdout)
    found = ls.compare(
        target, defenses=[LabelOnly(), "top-features"], releases=["gradient"], references=0, retrain=False
    )
    accuracy, log_loss, _ = found["label-only"].utility.values()
    assert (accuracy.change.low, accuracy.change.high) == (0, 0)
    assert log_loss.change.low < log_loss.change.high
    for measured in found["top-features 1"].utility.values():
        assert (measured.change.low, measured.change.high) == (0, 0)


def test_a_model_of_labels_has_defended_versions_of_labels() -> None:
    from sklearn.svm import LinearSVC

    train, holdout = people(150)
    target = ls.make_target(LinearSVC().fit(*train), train, holdout)
    found = ls.compare(target, defenses=ls.defenses.ParameterNoise([4.0]), references=2)
    model = apply(ls.defenses.ParameterNoise([4.0]), target, 4.0).model
    assert set(np.unique(model.predict(holdout[0]))) == {0.0, 1.0}
    wrong = 1 - found["parameter-noise 4"].main.value.value
    log_loss = found["parameter-noise 4"].utility["log-loss"].value.value
    assert log_loss == pytest.approx(-wrong * np.log(np.finfo(float).eps))


def test_two_variants_of_a_defense_have_names_of_their_own() -> None:
    train, holdout = people(100)
    target = ls.make_target(LogisticRegression().fit(*train), train, holdout)
    noise = ls.defenses.ParameterNoise
    found = ls.compare(target, defenses=[noise([1.0]), noise([1.0], noise="laplace")], references=0, retrain=False)
    names = ["as it is", "parameter-noise 1", "parameter-noise 1, noise=laplace"]
    assert [version.name for version in found.compared] == names


def test_an_answer_that_hides_the_label_is_not_attacked_by_labels() -> None:
    @dataclass(frozen=True)
    class Silent(Mechanism):
        def defend(self, target: Target, setting: Any) -> Defended:
            return Defended(answers=lambda answers: np.full_like(answers, 0.5))

    found = ls.compare(tree_target(150), defenses=Silent(None), references=0)
    version = found["mechanism 1"]
    assert "label_stability" not in [attacked.release for attacked in version.attacks]
    assert version.risk.auc.low <= 0.5 <= version.risk.auc.high
    assert version.epsilon.value == 0


def test_records_that_cannot_be_encoded_are_told_beside_the_others() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice(["u", "v", "w"], size=(80, 2)).astype(object)
    y = rng.integers(0, 2, 80)
    target = ls.make_target(_half, (X[:40], y[:40]), (X[40:], y[40:]), classes=[0, 1], fit=lambda X, y, rng: _half)
    found = ls.compare(target, defenses=[LabelOnly(), "dp-sgd", "adversarial"], references=0, retrain=False)
    assert [refused.attack for refused in found.not_run] == ["dp-sgd", "adversarial"]


def _half(X: Any) -> Any:
    return np.full((len(X), 2), 0.5)


# --- what may be asked ------------------------------------------------------------------------------------------------


def test_a_model_that_cannot_be_trained_again_has_its_answers_defended() -> None:
    train, holdout = people(100)
    target = ls.make_target(_by_first_column, train, holdout, classes=[0, 1])
    found = ls.compare(target, defenses=[Rounding([1]), "l2"])
    assert [version.name for version in found.compared] == ["as it is", "round 1"]
    assert [refused.attack for refused in found.not_run] == ["l2"]
    assert found.as_it_is.control_kind == "permuted"
    assert found.as_it_is.retrained is None


@pytest.mark.parametrize(
    ("defenses", "options", "names"),
    [
        ([], {}, "label-only"),
        (["no-such"], {}, "'no-such'"),
        ([42], {}, "int"),
        ([Rounding([1]), Rounding([1])], {}, "round"),
        (["round"], {"utility_loss": 2}, "utility_loss"),
        (["round"], {"references": 3}, "references"),
        (["round"], {"budget": 0}, "budget"),
        (["round"], {"budget": 1, "retrain": False}, "budget"),
        (["round"], {"releases": ["labels"]}, "labels"),
        (["round"], {"releases": ["no-such"]}, "'no-such'"),
        (["more-data"], {}, "more-data"),
    ],
)
def test_wrong_input_is_refused(defenses: Any, options: Any, names: str) -> None:
    with pytest.raises(InputError, match=names):
        ls.compare(toy_target(60), defenses=defenses, **options)


def test_a_target_and_a_known_version_are_asked_for(found: Comparison) -> None:
    with pytest.raises(InputError, match="pass a Target"):
        ls.compare("model.skops", defenses=["round"])
    with pytest.raises(InputError, match="'nope'"):
        found["nope"]


def test_a_gate_and_a_diff_take_a_comparison(found: Comparison) -> None:
    assert ls.gate(found, "guarantee_refuted = yes").outcome == "passed"
    assert ls.gate(found, "mechanism 1: auc.high > 0.7").outcome == "passed"
    assert ls.gate(found, "auc.high > 0.7").outcome == "failed"
    assert not ls.diff(found, found).worse


def test_the_table_has_one_row_for_each_version(found: Comparison) -> None:
    table = found.to_frame()
    assert list(table["name"]) == [version.name for version in found.compared]
    assert table["risk_auc"][0] == found.as_it_is.risk.auc.value
    assert table["utility_accuracy_value"][0] == found.as_it_is.main.value.value
