"""What other measurements say in a report: as the results have it, sure of what they advise, whole after a round trip."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
from samples import sample_audit
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import leakscope as ls
from leakscope import causal
from leakscope.attacks import loss_threshold
from leakscope.attribute import attribute_inference
from leakscope.attribute.telling import tell_all
from leakscope.cli import main
from leakscope.core.estimate import Estimate
from leakscope.errors import InputError
from leakscope.frontier_study import frontier
from leakscope.leakage import Sweep, membership_leakage, sweep
from leakscope.leakage.telling import tell as tell_leakage
from leakscope.reconstruction import reconstruct
from leakscope.study import load_study, study_to_json
from leakscope.telling import finite, plain

HOSTILE = "<script>\u202egnp" + "x" * 10_000


def back(study, folder):
    """The study after it was written and read."""
    (folder / "study.json").write_bytes(study_to_json(study))
    return load_study(folder)


def number(study, words):
    return next(one.estimate for one in study.numbers if words in one.name)


def points(study):
    return sum(len(series.points) for figure in study.figures for series in figure.series)


def texts(study):
    """All that a reader sees as text."""
    notes = [f"{one.name} {one.note}" for one in study.numbers]
    labels = [point.label for figure in study.figures for series in figure.series for point in series.points]
    return [study.question, study.answer, *notes, *study.advice, *study.warnings, *labels]


# --- leakage ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=1000)
    return sweep("ridge", X, y, sizes=(20, 200), l2=(0.0, 0.01), records=40, draws=400, models=10)


def changed(found, place, leakage=None, **point):
    """The sweep with another measurement or other warnings at one of its points."""
    now = list(found.points)
    now[place] = replace(now[place], leakage=replace(now[place].leakage, **(leakage or {})), **point)
    return Sweep(tuple(now), found.not_measured, found.settings)


def test_leakage_speaks_of_the_largest_size_or_of_the_one_asked_for(swept, tmp_path):
    study = swept.study()
    here = next(point for point in swept.points if (point.size, point.l2) == (200, 0.0))
    assert (study.kind, study.release) == ("leakage", "parameters")
    assert study.numbers[0].estimate == here.leakage.attack
    assert number(study, "no attack exceeds") == here.leakage.advantage_bound
    assert number(study, "attack by loss") == here.experiment.advantage
    assert number(study, "nothing to find") == here.leakage.control
    bits = number(study, "information")
    assert bits.unit == "bits"
    assert bits.value == pytest.approx(here.leakage.rho_mi.value / np.log(2))
    assert "200 of 1,000 records" in study.answer
    assert back(study, tmp_path) == study
    other = swept.study(size=20)
    assert other.settings["size"] == 20
    assert other.numbers[0].estimate == swept.points[0].leakage.attack
    with pytest.raises(InputError, match="no leakage was measured at size 50: choose from 20, 200"):
        swept.study(size=50)


def test_leakage_bound_is_that_of_the_point_and_says_when_it_holds(swept):
    bound = swept.study().bound
    here = next(point for point in swept.points if (point.size, point.l2) == (200, 0.0))
    assert bound.advantage.kind == "upper bound"
    assert bound.advantage.high == here.leakage.advantage_bound.high
    assert "200 of 1,000 records" in bound.why
    assert "Gaussian" in bound.why
    assert "farokhi2020" in bound.source
    # What an attack achieves is below what none can pass.
    assert here.leakage.attack.low < bound.advantage.high


@pytest.mark.parametrize(
    "doubt",
    [
        "nearest neighbours disagree with the Gaussian approximation",
        "the threshold adversary achieves 0.5, more than the bound 0.1 for Gaussian laws",
        "a warning that nobody has thought of yet",
    ],
)
def test_doubt_takes_the_bound(swept, doubt):
    doubted = changed(swept, 1, warnings=(doubt,))
    study = doubted.study()
    assert study.bound is None
    assert study.warnings[0] == f"there is no bound: {doubt}"
    assert "not known here" in study.answer
    assert not any("no attack exceeds" in one.name for one in study.numbers)
    assert not study.advice


def test_bound_needs_a_check_and_the_parameters(swept):
    unchecked = changed(swept, 1, {"rho_neighbours": None}).study()
    assert unchecked.bound is None
    assert "not checked" in unchecked.warnings[0]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    answers = membership_leakage("ridge", X, y, size=50, records=10, draws=400, space="function").study()
    assert answers.release == "outputs at the record"
    assert answers.bound is None
    assert number(answers, "no attack exceeds").kind == "upper bound"
    few = membership_leakage("ridge", X, y, size=50, records=5, draws=50).study()
    assert few.bound is None
    assert "too few draws" in few.warnings[0]


def test_few_records_that_carry_the_mean_leave_the_bound(swept):
    words = "2 of 40 records make up 60 % of the mean, and records that were not measured may leak as much or more"
    assert changed(swept, 1, warnings=(words,)).study().bound is not None


def test_leakage_advises_only_what_the_intervals_say(swept):
    # With one over ten of the records the leakage of a mean is about ten times as large: sure. l2 of 0.01 does nothing.
    (advice,) = swept.study(size=20).advice
    assert advice.startswith("Train on 200 records instead of 20")
    (advice,) = swept.study().advice
    assert advice.startswith("Train on as many records as you can: between 20 and 200")
    same = changed(swept, 1, {"rho_kl_median": swept.points[0].leakage.rho_kl_median})
    assert Sweep(same.points[:2], (), same.settings).study().advice == ()
    less = replace(swept.points[1].leakage.rho_kl_median, value=1e-6, low=0.0, high=2e-6)
    place = next(n for n, point in enumerate(swept.points) if (point.size, point.l2) == (200, 0.01))
    advised = changed(swept, place, {"rho_kl_median": less}).study().advice
    assert any("Regularise more, with l2 0.01 instead of 0" in words for words in advised)


def test_leakage_is_drawn_along_what_varies(swept):
    (figure,) = swept.study().figures
    assert figure.x_label == "Training records"
    assert (figure.logarithmic_x, figure.logarithmic_y) == (True, True)
    assert [series.name for series in figure.series] == ["l2 0", "l2 0.01"]
    assert figure.series[0].points[0].y == swept.points[0].leakage.rho_kl
    along = Sweep(tuple(point for point in swept.points if point.size == 20), (), swept.settings)
    (figure,) = along.study().figures
    assert figure.x_label == "Regularisation l2"
    assert [point.x for point in figure.series[0].points] == [0.01]
    assert "Zero is left out" in figure.description


def test_infinite_ends_become_bounds(swept, tmp_path):
    endless = changed(swept, 1, {"rho_kl": Estimate(2.0, 1.0, np.inf, unit="nats", n=np.int64(3))})
    study = tell_leakage(endless)
    assert number(study, "with and without").kind == "lower bound"
    assert number(study, "with and without").value == 1.0
    assert back(study, tmp_path) == study
    assert finite(Estimate(2.0, -np.inf, 3.0)).kind == "upper bound"
    assert plain({"a": (np.float64(1.0), np.inf), "b": True}) == {"a": [1.0, "inf"], "b": True}


# --- reconstruction ---------------------------------------------------------------------------------------------------


def people(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 6))
    return X, X[:, 0] + rng.normal(0, 0.3, n) > 0.5


@pytest.fixture(scope="module")
def rebuilt():
    X, y = people()
    group = np.where(np.arange(120) % 2, HOSTILE, "b")
    return reconstruct(
        X[:120], y[:120], holdout=(X[120:], y[120:]), attacks=["uniform", "graph", "subspace"], budget=200,
        groups=pd.DataFrame({HOSTILE: group}), defended="usual", repeats=3,
    )  # fmt: skip


def test_reconstruction_says_who_is_revealed_and_what_is_recovered(rebuilt, tmp_path):
    study = rebuilt.study()
    assert (study.kind, study.release) == ("reconstruction", "record explanations")
    assert study.numbers[0].estimate == rebuilt.strongest.share
    assert number(study, "own case") == rebuilt.self_revealing[5]
    assert number(study, "self-revelation") == rebuilt.membership[0].auc
    assert "never saw the members" in next(one.note for one in study.numbers if "AUC" in one.name)
    assert "Of 100 people in the training data" in study.answer
    assert study.settings["budget"] == 200
    (figure,) = study.figures
    assert [series.name for series in figure.series] == [found.attack for found in rebuilt.attacks]
    assert [(point.x, point.y) for point in figure.series[1].points] == list(rebuilt.attacks[1].curve)
    assert points(study) <= 300
    assert back(study, tmp_path) == study


def test_reconstruction_advises_a_release_that_surely_recovers_less(rebuilt):
    share = {name: Estimate(0.02, 0.01, 0.03) for name in ("uniform", "graph")}
    less = replace(rebuilt.defended[1], share=share["uniform"], shares=share)
    (advice, *_) = replace(rebuilt, defended=(less,)).study().advice
    assert f"Show “{less.release}” instead of “{rebuilt.release}”" in advice
    assert "1 to 3 of 100 records" in advice
    assert "honest user" in advice
    # Another attack that may recover as much, or runs that have no interval, and nothing is sure.
    unsure = replace(less, shares=share | {"subspace": Estimate(0.1, 0.0, rebuilt.strongest.share.low)})
    assert replace(rebuilt, defended=(unsure,)).study().advice == ()
    once = replace(rebuilt, defended=(less,), settings=rebuilt.settings | {"repeats": 1}).study()
    assert once.advice == ()
    assert any("run once" in words for words in once.warnings)
    assert "in one run" in once.answer
    assert replace(rebuilt, defended=(replace(less, share=None, shares={}),)).study().advice == ()


# --- frontier ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weighed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + X[:, 1] / 2 + rng.normal(size=400) > 0).astype(int)
    model = LogisticRegression().fit(X[:200], y[:200])
    settings = ["gradient", "gradient:top=1", "gradient:noise=1.0"]
    return frontier(model, (X[:200], y[:200]), (X[200:], y[200:]), settings, retrain=False, records=50)


def with_advantages(found, *advantages):
    """The frontier with other extra advantages; the audit's extras say that each is beyond its control."""
    settings = tuple(replace(one, advantage=gain) for one, gain in zip(found.settings, advantages, strict=True))
    extras = tuple(
        replace(extra, advantage=gain, beyond_control=None)
        for extra, gain in zip(found.audit.extras, advantages, strict=True)
    )
    return replace(found, settings=settings, audit=replace(found.audit, extras=extras))


def test_frontier_of_a_model_that_tells_nothing_advises_nothing(weighed, tmp_path):
    study = weighed.study()
    assert (study.kind, study.release) == ("frontier", "explanations")
    assert study.answer.startswith("None of the 3 ways to explain")
    assert study.advice == ()
    (figure,) = study.figures
    assert figure.kind == "scatter"
    drawn = {point.label: point for series in figure.series for point in series.points}
    for setting in weighed.settings:
        assert drawn[setting.name].y == setting.advantage
        assert drawn[setting.name].across == setting.faithfulness.order
    assert figure.marked == tuple(setting.name for setting in weighed.best)
    assert number(study, "faithfulness of gradient").confidence == 0.95
    assert back(study, tmp_path) == study


def test_frontier_advises_the_most_faithful_within_the_margin(weighed):
    much, little = Estimate(0.3, 0.25, 0.35), Estimate(0.01, -0.02, 0.04)
    telling = with_advantages(weighed, much, little, little)
    (advice,) = telling.study().advice
    assert "release gradient:top=1" in advice
    assert "gradient adds 0.30 [0.25, 0.35]" in advice
    assert "1 surely helps an outsider" in telling.study().answer
    # Nothing is within the margin; or what is may leak as much.
    assert with_advantages(weighed, much, much, much).study().advice == ()
    assert with_advantages(weighed, Estimate(0.1, 0.03, 0.2), little, little).study().advice == ()


def test_frontier_is_not_sure_where_the_control_finds_as_much(weighed):
    much, little = Estimate(0.3, 0.25, 0.35), Estimate(0.01, -0.02, 0.04)
    telling = with_advantages(weighed, much, little, little)
    extras = [replace(extra, beyond_control=Estimate(0.0, -0.1, 0.1)) for extra in telling.audit.extras]
    doubted = replace(telling, audit=replace(telling.audit, extras=tuple(extras))).study()
    assert doubted.advice == ()
    assert doubted.answer.startswith("None of the 3 ways")


# --- causal -----------------------------------------------------------------------------------------------------------


def compare(model):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"cause": rng.integers(2, size=1200), "other": rng.normal(size=1200)})
    data[HOSTILE] = np.where(rng.random(1200) < 0.2 + 0.6 * data["cause"], "yes", "no")
    return causal.study(
        data, HOSTILE, parents=["cause"], model=model, draws=1, attacks=[loss_threshold("log_loss")], noise=False
    )


def test_causal_advises_where_the_other_model_surely_gives_away_more(tmp_path):
    # One nearest neighbour knows its own records by heart; a table of two rows can't.
    found = compare(KNeighborsClassifier(1))
    study = found.study()
    assert (study.kind, study.release) == ("causal", "answers")
    (advice,) = study.advice
    assert advice.startswith("Use table of the causes instead of KNeighborsClassifier on all columns")
    best = found.models[1].strongest("P")
    assert number(study, "AUC beyond the control, KNeighbors") == best.excess_auc
    assert "gives away more about who was trained on" in study.answer
    (figure,) = study.figures
    first = figure.series[0].points[1]
    assert (first.x, first.across, first.y) == (found.models[1].test.value, found.models[1].test, best.excess_auc)
    assert back(study, tmp_path) == study
    turned = replace(found, models=(found.models[1], found.models[0], *found.models[2:]))
    assert turned.study().advice == ()
    assert "gives away less" in turned.study().answer


def test_causal_advises_nothing_where_no_difference_can_be_told():
    study = compare("logistic").study()
    assert study.advice == ()
    assert "no difference can be told" in study.answer
    assert not any("\u202e" in text or len(text) > 1200 for text in texts(study))


# --- attributes -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guessed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (600, 3)), columns=["used", HOSTILE, "other"])
    y = rng.integers(0, 2, 600)

    def model(X):
        return 0.2 + 0.3 * X["used"].to_numpy() + 0.1 * X["other"].to_numpy()

    return [attribute_inference(model, X, y, sensitive=name) for name in ("used", HOSTILE)]


def test_attributes_name_what_the_answers_give_away(guessed, tmp_path):
    study = tell_all(guessed)
    assert (study.kind, study.release, study.advice) == ("attributes", "answers", ())
    assert len(study.numbers) == 2
    assert study.numbers[0].estimate == guessed[0].records.strongest.gain
    assert "help to guess used" in study.answer
    assert "not seen to help to guess <script>" in study.answer
    assert "without the model" in study.numbers[0].note
    assert any("judged by itself" in words for words in study.warnings)
    assert back(study, tmp_path) == study
    alone = guessed[1].study()
    assert alone.answer.startswith("The model's answers are not seen to help")
    assert alone.warnings == ()
    with pytest.raises(InputError, match="give one or more"):
        tell_all([])


# --- all of them ------------------------------------------------------------------------------------------------------


def test_studies_are_safe_and_not_too_long(swept, rebuilt, weighed, guessed):
    hostile = Sweep(swept.points, swept.not_measured, swept.settings | {"learner": HOSTILE})
    named = {"settings": swept.points[1].leakage.settings | {"learner": HOSTILE}}
    for study in (changed(hostile, 1, named).study(), rebuilt.study(), weighed.study(), tell_all(guessed)):
        assert study.answer
        assert len(study.answer) <= 1200
        for text in texts(study):
            assert "\u202e" not in text
            assert len(text) <= 1200
        assert all(len(one.name) <= 80 and one.note for one in study.numbers)
        assert "\u202e" not in study_to_json(study).decode()


def test_studies_hold_no_feature_value(rebuilt):
    X, _ = people()
    written = study_to_json(rebuilt.study()).decode()
    assert not any(f"{value:.8f}"[1:] in written for value in X[:120].ravel())


def test_audit_with_studies_is_saved_and_loaded_equal(swept, rebuilt, guessed, tmp_path):
    audit = sample_audit().with_studies(swept, rebuilt, tell_all(guessed))
    assert [study.kind for study in audit.studies] == ["leakage", "reconstruction", "attributes"]
    assert [study.bound for study in audit.studies if study.kind == "leakage"] == [swept.study().bound]
    audit.save(tmp_path)
    assert ls.load(tmp_path) == audit
    again = audit.with_studies(swept.study(size=20))
    assert [(study.kind, study.settings.get("size")) for study in again.studies] == [
        ("leakage", 20),
        ("reconstruction", None),
        ("attributes", None),
    ]


def test_saving_writes_the_study(swept, rebuilt, weighed, tmp_path):
    for name, result in (("leakage", swept), ("reconstruction", rebuilt), ("frontier", weighed)):
        result.save(tmp_path / name)
        assert load_study(tmp_path / name) == result.study()


# --- the commands -----------------------------------------------------------------------------------------------------


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code or 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("people")
    table = pd.DataFrame({"age": rng.normal(size=400), "sex": rng.integers(2, size=400)})
    table["income"] = (table["age"] + table["sex"] + rng.normal(size=400) > 0.5).astype(int)
    table.to_csv(place / "people.csv", index=False)
    table[:200].to_csv(place / "train.csv", index=False)
    table[200:].to_csv(place / "holdout.csv", index=False)
    model = LogisticRegression().fit(table[["age", "sex"]][:200], table["income"][:200])
    skops.io.dump(model, place / "model.skops")
    return place


COMMANDS = {
    "leakage": ("people.csv", "--sizes", 30, "--records", 5, "--draws", 60, "--models", 0),
    "reconstruction": ("people.csv", "--attack", "uniform", "--budget", 20, "--repeats", 1, "--records", 60),
    "frontier": ("model.skops", "--explanations", "gradient", "--no-retrain", "--records", 20),
    "causal": ("people.csv", "--parents", "age", "--model", "logistic", "--draws", 1, "--no-noise"),
    "attributes": ("model.skops", "--sensitive", "sex"),
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_commands_write_a_study_and_say_so(folder, tmp_path, capsys, kind):
    first, *more = COMMANDS[kind]
    if first == "model.skops":
        more += ["--train", folder / "train.csv", "--holdout", folder / "holdout.csv"]
    command = "reconstruct" if kind == "reconstruction" else kind
    assert run(command, folder / first, "--label", "income", *more, "--out", tmp_path / "out") == 0
    (files,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("files:")]
    assert files.endswith("study.json")
    study = load_study(tmp_path / "out")
    assert study.kind == kind
    assert json.loads((tmp_path / "out" / "study.json").read_text())["question"].endswith("?")
