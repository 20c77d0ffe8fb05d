"""Reference models of an audit: the design of training sets, the fit of the members, and verdicts where the truth is known."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from leakscope.attacks import ATTACKS, residual, rmia
from leakscope.attacks.protocol import Scores
from leakscope.attacks.references import REFERENCES
from leakscope.core.errors import InputError
from leakscope.core.ranking import Scale
from leakscope.data.fingerprints import row_hashes
from leakscope.evaluation import verdict
from leakscope.evaluation.crossfit import Sample
from leakscope.evaluation.design import FOLDS, Numbers, make_design
from leakscope.evaluation.exposure import count_named, exposure_by_references
from leakscope.evaluation.risk import Judged
from leakscope.evaluation.training import Fits
from leakscope.toys import lookup, lookup_model


def forest(seed=0):
    return RandomForestClassifier(20, random_state=seed)


def people(n, seed=0, columns=5):
    """Records with a label that the columns say a little about."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    return X, (X[:, 0] + rng.normal(0, 1.5, n) > 0).astype(int)


def design_of(train, holdout, references=4, seed=0):
    target = ls.make_target(lookup_model(*train), train, holdout)
    hashes = tuple(row_hashes(side.X, side.y) for side in (target.members, target.nonmembers))
    sample = Sample.draw(*hashes, np.random.default_rng(seed))
    design = make_design(target, sample, hashes, Numbers(references, FOLDS, 2), seed)
    return design, sample, np.concatenate(hashes), design.judged


# --- the design ---


@pytest.mark.parametrize(("members", "holdout"), [(200, 200), (400, 100), (100, 400)])
def test_references_have_the_size_of_the_target_and_every_judged_record_is_in_half_of_them(members, holdout):
    X, y = people(members + holdout)
    design, _, _, judged = design_of((X[:members], y[:members]), (X[members:], y[members:]), references=6)
    inside = design.inside()
    assert (inside.sum(axis=0) == 3).all()
    assert (inside[::2] != inside[1::2]).all()
    for model in range(6):
        trained = design.draw(design.models("reference")[model])
        assert abs(len(trained) - members) <= 4  # classes are dealt one by one on each side
        np.testing.assert_array_equal(np.isin(judged, trained), inside[model])
        shares = [np.mean(y[trained]), np.mean(y)]
        assert shares[0] == pytest.approx(shares[1], abs=0.12)


def test_folds_and_halves_part_the_members_and_no_model_is_asked_about_its_own_records():
    X, y = people(400)
    design, sample, _, judged = design_of((X[:200], y[:200]), (X[200:], y[200:]))
    folds = [design.draw(model) for model in design.models("fold")]
    assert sorted(len(part) for part in folds) == [150] * FOLDS
    halves = [design.draw(model) for model in design.models("half")]
    np.testing.assert_array_equal(np.sort(np.concatenate(halves)), np.arange(200))
    for number, trained in enumerate(folds):
        assert not np.isin(judged[design.asked == number], trained).any()
        assert trained.max() < 200
    assert np.bincount(design.asked[: sample.judged], minlength=FOLDS).min() >= 48


def test_a_half_is_asked_about_judged_records_of_the_other_half_and_about_all_members_that_are_not_judged():
    X, y = people(400)
    design, sample, _, judged = design_of((X[:300], y[:300]), (X[300:], y[300:]))
    not_judged, asked_of = np.setdiff1d(np.arange(300), judged), []
    for model in design.models("half"):
        asked, trained = design.rows(model), design.draw(model)
        of_judged = np.setdiff1d(asked, not_judged)
        members = judged[: sample.judged]
        np.testing.assert_array_equal(of_judged[of_judged < 300], np.setdiff1d(members, trained))
        assert np.isin(not_judged, asked).all()
        assert np.sum(of_judged >= 300) == 50
        asked_of.append(of_judged)
    np.testing.assert_array_equal(np.sort(np.concatenate(asked_of)), np.sort(judged))


def test_a_held_out_copy_of_a_member_is_asked_of_the_half_without_that_member():
    X, y = people(300)
    holdout = (np.concatenate([X[150:], X[:40]]), np.concatenate([y[150:], y[:40]]))
    design, _, hashes, _ = design_of((X[:150], y[:150]), holdout)
    for model in design.models("half"):
        asked, trained = design.rows(model), design.draw(model)
        assert not set(hashes[asked]) & set(hashes[trained])


def test_without_folds_halves_are_not_asked_about_non_members():
    X, y = people(400)
    target = ls.make_target(lookup_model(X[:300], y[:300]), (X[:300], y[:300]), (X[300:], y[300:]))
    hashes = tuple(row_hashes(side.X, side.y) for side in (target.members, target.nonmembers))
    sample = Sample.draw(*hashes, np.random.default_rng(0))
    design = make_design(target, sample, hashes, Numbers(4, 0, 2), 0)
    assert all(design.rows(model).max() < 300 for model in design.models("half"))


def test_copies_train_together_and_a_held_out_copy_is_not_trained_on_twice():
    X, y = people(300)
    train = (np.concatenate([X[:150], X[:30]]), np.concatenate([y[:150], y[:30]]))
    holdout = (np.concatenate([X[150:], X[:20]]), np.concatenate([y[150:], y[:20]]))
    design, _, hashes, judged = design_of(train, holdout)
    for model in range(len(design)):
        trained = design.draw(model)
        inside = np.zeros(len(hashes), bool)
        inside[trained] = True
        members = np.arange(len(train[0]))
        for record in np.unique(hashes[members]):
            copies = members[hashes[members] == record]
            assert len(set(inside[copies])) == 1
        held_out = judged[judged >= len(train[0])]
        assert not inside[held_out[np.isin(hashes[held_out], hashes[members])]].any()
    for model, had in zip(design.models("reference"), design.inside(), strict=True):
        assert set(hashes[judged[had]]) <= set(hashes[design.draw(model)])


# --- the fit of the members ---


def test_a_lookup_table_has_the_fit_of_its_definition():
    toy = lookup(n=400)
    fit = ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit, references=4, workers=1).basis.fit
    # A likelihood of 1 with the record and 1/2 without it, whatever else was trained on.
    expected = {"gap": math.log(2), "curve": 0.0, "mid": math.log(2) / 2, "size": math.log(2)}
    assert {name: getattr(fit, name).value for name in expected} == pytest.approx(expected, abs=1e-9)
    other = lookup(n=400, seed=1)
    never = ls.audit(other.model, toy.train, toy.holdout, fit=toy.fit, references=4, workers=1)
    assert never.basis.fit.mid.value == pytest.approx(-math.log(2) / 2)
    assert never.verdict.kind != "leaks"


@pytest.mark.parametrize(
    ("learner", "trained", "expected"),
    [
        (LogisticRegression(), True, 0.875),
        (LogisticRegression(), False, 0.125),
        (forest(), True, 1.0),
        (forest(), False, 0.0),
    ],
)
def test_the_target_lies_where_theory_places_it_between_out_and_in(learner, trained, expected):
    """λ = (target - OUT)/(IN - OUT): 7/8 and 1/8 of a regular model with four folds, 1 and 0 of one that interpolates."""
    shares = []
    for seed in range(4):
        X, y = people(1500, seed, columns=40)
        members = slice(0, 500)
        own = members if trained else slice(1000, 1500)
        model = learner.fit(X[own], y[own])
        fit = ls.audit(model, (X[members], y[members]), (X[500:1000], y[500:1000]), references=2, workers=1).basis.fit
        shares.append(0.5 + fit.mid.value / fit.gap.value)
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert np.mean(shares) == pytest.approx(expected, abs=0.05 + 4 * error)


# --- verdicts ---


@pytest.mark.parametrize("kind", ["fair", "shift", "wrong labels"])
@pytest.mark.parametrize("trained", [True, False])
def test_verdicts_where_the_truth_is_known(kind, trained):
    verdicts = []
    for seed in range(3):
        X, y = people(1500, seed)
        rng = np.random.default_rng(seed)
        model = forest().fit(X[:500], y[:500]) if trained else forest().fit(X[1000:], y[1000:])
        outside, labels = X[500:1000].copy(), y[500:1000].copy()
        if kind == "shift":
            outside += 1.0
        if kind == "wrong labels":
            labels = np.where(rng.random(500) < 0.1, 1 - labels, labels)
        found = ls.audit(model, (X[:500], y[:500]), (outside, labels), references=4, workers=1, seed=seed)
        verdicts.append(found.verdict.kind)
    assert ("leaks" in verdicts) == trained
    assert not trained or verdicts.count("leaks") >= 2


def test_it_finds_many_more_members_than_the_attacks_without_references():
    X, y = people(2000)
    model = forest().fit(X[:1000], y[:1000])
    sides = (X[:1000], y[:1000]), (X[1000:], y[1000:])
    plain, strong = (ls.audit(model, *sides, references=count, workers=1) for count in (0, 4))
    assert strong.strongest.attack == rmia().name
    assert strong.strongest.tpr_at_fpr[0.01].low > 2 * plain.largest.tpr_at_fpr[0.01].value
    assert strong.target.control_models.models == FOLDS


def test_more_attacks_do_not_widen_the_intervals_of_the_primary_attack():
    usual = ATTACKS["classification"]
    few, many = (verdict.confidences_for_choice(0.95, [rmia(), *usual[:count]], 3) for count in (2, 7))
    assert few[0] == many[0]
    assert few[1].auc < many[1].auc
    for confidences in (few, many):
        assert sum(1 - one.auc + 3 * (1 - one.rates) for one in confidences) == pytest.approx(0.05)


def test_exposure_follows_the_vulnerability_of_records():
    """True vulnerability: how much likelier the label is under models with the record than under models without it."""
    X, y = people(400)
    rng = np.random.default_rng(0)
    inside = np.array([rng.permutation(400) < 200 for _ in range(40)])
    answers = [
        forest(seed).fit(X[part], y[part]).predict_proba(X)[np.arange(400), y] for seed, part in enumerate(inside)
    ]
    answers = np.array(answers)
    with_it, without = (np.where(part, answers, 0).sum(axis=0) / part.sum(axis=0) for part in (inside, ~inside))
    model = forest().fit(X[:200], y[:200])
    found = ls.audit(model, (X[:200], y[:200]), (X[200:], y[200:]), references=4, workers=1)
    assert spearmanr(found.records["score"], (with_it - without)[:200]).statistic > 0.6


# --- what is refused ---


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"references": 2, "shadows": 2}, "references"),
        ({"references": 2, "retrain": False}, "retrain"),
        ({"attacks": [rmia()], "references": 0}, "RMIA"),
        ({"attacks": [rmia()], "retrain": False}, "RMIA"),
    ],
)
def test_bad_input_is_refused(options, names):
    X, y = people(200)
    model = LogisticRegression().fit(X[:100], y[:100])
    with pytest.raises(InputError, match=names):
        ls.audit(model, (X[:100], y[:100]), (X[100:], y[100:]), **options)


def test_too_few_records_are_refused_where_references_were_asked_for_and_named_where_not():
    X, y = people(80)
    model = LogisticRegression().fit(X[:40], y[:40])
    sides = (X[:40], y[:40]), (X[40:], y[40:])
    with pytest.raises(InputError, match=r"\b50\b"):
        ls.audit(model, *sides, references=2)
    found = ls.audit(model, *sides)
    assert found.settings["references"] == 0
    assert rmia().name in {missing.attack for missing in found.not_run}
    assert found.target.control_models.models == 2


def test_a_learner_that_fails_in_some_trainings_is_named_in_one_sentence():
    X, y = people(200)

    def fit(X, y, rng):  # noqa: ARG001
        if len(y) == 50:  # the halves
            raise RuntimeError("it does not converge")
        return lookup_model(X, y)

    with pytest.raises(InputError, match="RuntimeError") as refused:
        ls.audit(lookup_model(X[:100], y[:100]), (X[:100], y[:100]), (X[100:], y[100:]), fit=fit, workers=1)
    assert "\n" not in str(refused.value)


def test_a_class_that_is_missing_in_a_subset_has_likelihood_zero_there():
    """One member has the second class: without it a forest knows one class only."""
    X, _ = people(200)
    y = np.zeros(200, int)
    y[[0, 100]] = 1
    model = forest().fit(X[:100], y[:100])
    found = ls.audit(model, (X[:100], y[:100]), (X[100:], y[100:]), references=2, workers=1)
    assert found.settings["references"] == 2
    with pytest.raises(InputError, match="LogisticRegression"):
        ls.audit(
            LogisticRegression().fit(X[:100], y[:100]), (X[:100], y[:100]), (X[100:], y[100:]), references=2, workers=1
        )


# --- a statement of the caller, and models that can't be trained again ---


def test_a_random_split_needs_no_controls_and_the_blind_baseline_overrules_a_false_statement():
    X, y = people(1000)
    model = forest().fit(X[:500], y[:500])
    true = ls.audit(model, (X[:500], y[:500]), (X[500:], y[500:]), random_split=True, workers=1)
    assert (true.verdict.kind, true.target.control_models, true.basis.fit) == ("leaks", None, None)
    never = forest().fit(*people(500, seed=9))
    false = ls.audit(never, (X[:500], y[:500]), (X[500:] + 1, y[500:]), random_split=True, workers=1)
    assert false.strongest.blind.low > 0.5
    assert false.verdict.kind == "inconclusive"


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_references_of_another_kind_stand_in_where_the_model_can_not_be_trained_again(task):
    X, y = people(1000)
    y = y if task == "classification" else X[:, 0] + np.random.default_rng(0).normal(size=1000)
    kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
    model = kind(20, random_state=0).fit(X[:500], y[:500])
    predict = model.predict_proba if task == "classification" else model.predict
    classes = [0, 1] if task == "classification" else None
    sides = (X[:500], y[:500]), (X[500:], y[500:])
    plain, other = (
        ls.audit(predict, *sides, task=task, classes=classes, references=count, workers=1) for count in (0, 4)
    )
    assert other.strongest.attack == residual(task).name
    assert other.strongest.auc.value > plain.strongest.auc.value
    assert other.strongest.permuted.auc.low < 0.5 < other.strongest.permuted.auc.high
    assert rmia(task).name in {missing.attack for missing in other.not_run}


# --- what is said of records and of the procedure ---


def test_membership_evidence_is_uniform_without_a_leak_and_few_are_named():
    """A conformal p-value of a record that was not trained on is at most u with probability at most u."""
    X, y = people(1500)
    model = forest().fit(X[1000:], y[1000:])
    found = ls.audit(model, (X[:500], y[:500]), (X[500:1000], y[500:1000]), workers=1)
    p = found.records["p_value"].to_numpy()
    for share in (0.05, 0.1, 0.5):  # four standard errors of a share of 500 against one of 500
        assert np.mean(p <= share) <= share + 4 * np.sqrt(2 * share * (1 - share) / 500)
    assert found.named is None


def test_the_named_are_members_up_to_the_false_discovery_rate():
    rng, n = np.random.default_rng(0), 2000
    member, one = np.repeat([True, False], n), np.zeros(2 * n, np.intp)
    false, all_named = 0, 0
    for _ in range(20):
        scores = rng.normal(np.where(member & (rng.random(2 * n) < 0.3), 4.0, 0.0))
        named = count_named(Judged(Scores(scores, scores), member, Scale(one, one)), 0.95, seed=0)
        assert 0.2 * n < named.count < 0.45 * n
        false, all_named = false + named.false, all_named + named.false + named.count
    assert false / all_named < 0.1 + 4 * np.sqrt(0.1 * 0.9 / all_named)


def test_the_half_without_a_record_does_not_distinguish_members_of_a_model_that_never_saw_them():
    scores = []
    for seed in range(40):
        X, y = people(600, seed)
        model = LogisticRegression().fit(X[400:], y[400:])
        found = ls.audit(model, (X[:200], y[:200]), (X[200:400], y[200:400]), attacks=[rmia()], seed=seed, workers=1)
        auc = found.risks[0].auc
        scores.append((auc.value - 0.5) / (auc.high - auc.low) * 2 * 1.96)
    assert abs(np.mean(scores)) < 4 / np.sqrt(len(scores))
    assert np.std(scores) < 1.5


@pytest.mark.parametrize("models", [4, 8])
def test_the_interval_of_an_exposure_covers_its_mean_over_trainings(models):
    """Likelihoods are Gaussian around one mean with the record and another without it: Student's t is exact with equal variances."""
    rng, n = np.random.default_rng(0), 4000
    inside = np.zeros((models, 2 * n), bool)
    inside[::2] = rng.random((models // 2, 2 * n)) < 0.5
    inside[1::2] = ~inside[::2]
    likelihood = rng.normal(np.where(inside, 0.7, 0.3), 0.05)
    fits = Fits(likelihood, np.empty((0, n)), np.empty((0, n)), np.empty((0, n)), ())
    sample = Sample(np.arange(n), np.arange(n), n, np.arange(2 * n) % 2, np.empty(0, np.intp))
    found = exposure_by_references(sample, fits, inside, "classification", 0.9)
    assert np.mean((found.low <= 0.5) & (found.high >= 0.5)) == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / n))


def test_an_exposure_without_a_second_model_on_each_side_has_no_interval():
    X, y = people(400)
    found = ls.audit(forest().fit(X[:200], y[:200]), (X[:200], y[:200]), (X[200:], y[200:]), references=2, workers=1)
    assert found.records[["low", "high"]].isna().all(axis=None)


def test_the_procedure_is_free_of_shift():
    X, y = people(1000)
    model = forest().fit(X[:500], y[:500])
    fair, shifted = (
        ls.audit(model, (X[:500], y[:500]), (X[500:] + shift, y[500:]), workers=1).procedure for shift in (0.0, 0.2)
    )
    assert fair.models == 4
    assert fair.auc.low > 0.6
    assert abs(fair.auc.value - shifted.auc.value) < 0.05


def test_labels_alone_have_no_likelihood_to_compare():
    X, y = people(200)
    model = LogisticRegression().fit(X[:100], y[:100])
    found = ls.audit(model, (X[:100], y[:100]), (X[100:], y[100:]), references=2, releases=["labels"], workers=1)
    assert all(REFERENCES not in risk.release and risk.attack != rmia().name for risk in found.risks)


def test_models_of_another_kind_expose_all_members_and_say_nothing_of_the_procedure():
    X, y = people(900)
    model = forest().fit(X[:600], y[:600])
    found = ls.audit(model.predict_proba, (X[:600], y[:600]), (X[600:], y[600:]), classes=[0, 1], workers=1)
    assert found.target.judged == 300
    assert found.procedure is None
    assert (found.records["score"] > 0).all()


def test_an_audit_that_keeps_no_scores_runs_the_attacks_again_and_says_the_same(monkeypatch):
    from leakscope.evaluation import concluding

    X, y = people(600)
    train, holdout = (X[:300], y[:300]), (X[300:], y[300:])
    model = RandomForestClassifier(20, random_state=0).fit(*train)
    kept = ls.audit(model, train, holdout, workers=1)
    monkeypatch.setattr(concluding, "MOST_KEPT", 0)
    again = ls.audit(model, train, holdout, workers=1)
    assert (kept.verdict, kept.basis, kept.risks, kept.named) == (again.verdict, again.basis, again.risks, again.named)
    pd.testing.assert_frame_equal(kept.records, again.records)


def test_copies_of_judged_members_share_their_exposure_and_need_no_halves():
    """The likelihood of a copy is that of the record, and both train the same references."""
    X, y = people(400)
    train = (np.concatenate([X[:200], X[:20]]), np.concatenate([y[:200], y[:20]]))
    model = LogisticRegression().fit(*train)
    plans: list[str] = []
    found = ls.audit(
        model, train, (X[200:], y[200:]), workers=1, random_split=True,
        progress=lambda stage, done, total: plans.append(stage),
    )  # fmt: skip
    assert str(Numbers(4)) in plans
    shown = found.records[["score", "low", "high"]].to_numpy()
    np.testing.assert_array_equal(shown[:20], shown[200:])
    assert np.isfinite(shown).all()
