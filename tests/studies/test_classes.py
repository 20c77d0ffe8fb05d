"""Label classes are always groups: a leak for one class is found, named and gated, and a model that never saw the records gets none."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from samples import around, sample_audit, sample_risk
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from leakscope.core.estimate import Estimate
from leakscope.data.small_groups import NOT_SHOWN
from leakscope.evaluation import verdict
from leakscope.evaluation.audited_target import label_groups
from leakscope.evaluation.results import Basis, ExposedGroup, Fit

RARE = 0.02


def screening(n, seed=0, distance=3.0):
    """Two sets of patients, of whom 2 % have cancer; only the first of six measurements tells."""
    rng = np.random.default_rng(seed)
    ill = rng.random(2 * n) < RARE
    X = rng.normal(size=(2 * n, 6))
    X[:, 0] += distance * ill
    y = np.where(ill, "cancer", "healthy")
    return (X[:n], y[:n]), (X[n:], y[n:])


def remember_the_ill(X, y, rng=None):  # noqa: ARG001
    """A model that knows nothing but which patients with cancer it was trained on."""
    known = {row.tobytes() for row in X[y == "cancer"]}

    def predict(X):
        ill = np.where([row.tobytes() in known for row in X], 0.9, 0.05)
        return np.column_stack([ill, 1 - ill])

    return predict


def remember_the_ill_among_errors(X, y, rng=None):
    """The same, and half of the healthy get a wrong answer: over all records no attack is significantly above chance."""
    remembered = remember_the_ill(X, y, rng)
    return lambda X: np.where((X[:, :1] > 1.5) | (X[:, 1:2] < 0), remembered(X), [0.7, 0.3])


@pytest.fixture(scope="module")
def mammography():
    train, holdout = screening(3000)
    return ls.audit(RandomForestClassifier(20, random_state=0).fit(*train), train, holdout, references=0)


def test_the_class_that_is_remembered_is_named_where_the_average_shows_little(mammography):
    """2 % of the records can lift the AUC over all records by 0.02 at most, however exposed they are."""
    assert 0.5 < mammography.strongest.auc.value < 0.57
    exposed = mammography.basis.exposed
    assert (exposed.column, exposed.level) == ("class", "cancer")
    assert exposed.auc.value > 0.75
    assert mammography.verdict.kind == "leaks"
    named = mammography.verdict.support[0]
    assert (named.code, named.column, named.level) == ("exposed_group", "class", "cancer")
    assert named.estimates["gap"].low > 0
    assert mammography.largest.group_auc.low == exposed.auc.low
    assert mammography.claim("group_gap", column="class", level="cancer").outcome == "yes"


def test_the_gate_sees_classes(mammography):
    assert ls.gate(mammography, ["group_gap.high > 0.1"]).outcome == "failed"
    assert ls.gate(mammography, ["largest_group.auc > 0.55"]).outcome == "failed"
    assert ls.gate(mammography, ["auc > 0.57", "largest_group.auc.low > 0.99"]).outcome == "passed"


def test_a_leak_for_one_class_is_one_although_no_attack_beats_chance_over_all():
    train, holdout = screening(1500, seed=1)
    fit = remember_the_ill_among_errors
    audit = ls.audit(fit(*train), train, holdout, fit=fit, classes=["cancer", "healthy"], references=0)
    assert audit.strongest.auc.low <= 0.5
    assert verdict._judge_all(audit.strongest, audit.basis).kind != "leaks"
    assert audit.verdict.kind == "leaks"
    finding = audit.verdict.finding
    assert (finding.code, finding.column, finding.level) == ("group_auc", "class", "cancer")
    assert finding.estimates == {"auc": audit.basis.exposed.auc}
    assert audit.claim("leak").outcome == audit.claim("group_leak").outcome == "yes"


def test_a_comparison_sees_the_same_leak_for_one_class():
    train, holdout = screening(1500, seed=1)
    fit = remember_the_ill_among_errors
    target = ls.make_target(fit(*train), train, holdout, fit=fit, classes=["cancer", "healthy"])
    found = ls.compare(target, defenses=ls.defenses.LabelOnly(), references=0, workers=1)
    assert found.as_it_is.risk.auc.low <= 0.5
    assert found.recommendation.kind not in ("nothing_to_lower", "inconclusive")


def test_without_a_control_one_exposed_class_rules_out_no_evidence():
    train, holdout = screening(1500, seed=1)
    audit = ls.audit(remember_the_ill(*train), train, holdout, classes=["cancer", "healthy"])
    assert audit.verdict.kind == "inconclusive"
    assert ("class", "cancer") in {(one.column, one.level) for one in (audit.verdict.finding, *audit.verdict.support)}


GROUP = ExposedGroup(
    "log_loss", "loss threshold", "class", "cancer", 40, 40, around(0.9, 0.1), around(0.5, 0.1), around(0.4, 0.15),
    around(0.5, 0.1), around(0.4, 0.15),
)  # fmt: skip
QUIET = replace(
    sample_risk("log_loss", "loss threshold", 0.0, groups=False),
    auc=around(0.5, 0.02), tpr_at_fpr={0.1: around(0.1, 0.02)}, blind=around(0.5, 0.02),
)  # fmt: skip


@pytest.mark.parametrize(
    ("group", "kind", "doubts"),
    [
        (None, "not_detected", []),
        (GROUP, "leaks", []),
        (replace(GROUP, beyond_control=around(0.1, 0.15)), "inconclusive", ["not_above_control"]),
        (replace(GROUP, control=None, beyond_control=None), "inconclusive", ["no_control"]),
        (replace(GROUP, beyond_blind=around(0.1, 0.15)), "leaks", []),  # a baseline at chance explains nothing
        (replace(GROUP, blind=around(0.8, 0.1), beyond_blind=around(0.1, 0.15)), "inconclusive", ["not_above_blind"]),
        (replace(GROUP, blind=around(0.8, 0.01), beyond_blind=around(0.1, 0.05)), "leaks", []),
    ],
)
def test_the_rule_for_a_group_where_all_records_show_nothing(group, kind, doubts):
    found = verdict.judge(QUIET, Basis(0.05, exposed=group))
    assert (found.kind, [doubt.code for doubt in found.doubts]) == (kind, doubts)
    assert {(doubt.column, doubt.level) for doubt in found.doubts} <= {("class", "cancer")}
    if group is None:
        return
    assert (found.finding.code, found.finding.estimates) == ("group_auc", {"auc": group.auc})
    if kind == "leaks":
        control, overall = found.support
        assert (control.code, control.level, control.estimates) == ("control", "cancer", {"control": group.control})
        assert (overall.code, overall.estimates) == ("overall", {"auc": QUIET.auc})


def test_a_model_that_does_not_fit_its_members_does_not_leak_for_a_group_either():
    fit = Fit(around(0.1, 0.01), around(0.0, 0.01), around(0.0, 0.1), around(0.0, 0.1))
    found = verdict.judge(QUIET, Basis(0.05, exposed=GROUP, fit=fit, obstacles=("the answers are random",)))
    assert found.kind == "inconclusive"
    assert [doubt.code for doubt in found.doubts] == ["not_fitted_as_member", "obstacle"]


def test_a_doubted_group_is_named_where_all_records_are_doubted_too():
    group = replace(GROUP, beyond_control=around(0.1, 0.15))
    loud = replace(QUIET, auc=around(0.7, 0.02), beyond_control=around(0.0, 0.02), tpr_beyond={})
    found = verdict.judge(loud, Basis(0.05, exposed=group))
    assert (found.kind, found.finding.code) == ("inconclusive", "auc")
    assert [(one.code, one.level) for one in found.doubts] == [("not_above_control", "")]
    assert [(one.code, one.level) for one in found.support] == [
        ("group_auc", "cancer"),
        ("not_above_control", "cancer"),
    ]


def test_scores_of_a_random_split_may_leak_for_a_group():
    alone = replace(GROUP, control=None, beyond_control=None, blind=None, beyond_blind=None)
    risk = replace(QUIET, blind=None, beyond_blind=None, control=QUIET.permuted)
    assert verdict.judge(risk, Basis(0.05, exposed=alone)).kind == "inconclusive"
    assert verdict.judge(risk, Basis(0.05, exposed=alone, random_split=True)).kind == "leaks"


def test_models_that_never_saw_the_members_leak_for_no_class():
    """Twelve audits, each with several attacks and five classes: none says "leaks"."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.choice(5, 900, p=[0.6, 0.2, 0.1, 0.05, 0.05])
        X = rng.normal(size=(900, 4)) + rng.normal(size=(5, 4))[y]
        model = LogisticRegression(max_iter=500).fit(X[:300], y[:300])
        found = ls.audit(model, (X[300:600], y[300:600]), (X[600:], y[600:]), seed=seed)
        assert found.verdict.kind != "leaks", found.verdict


# --- names, sizes, warnings -------------------------------------------------------------------------------------------


def test_a_column_of_the_users_keeps_its_name():
    train, holdout = screening(300)
    deck = np.tile(["first", "second"], 150)
    groups = tuple(pd.DataFrame({"class": deck}) for _ in range(2))
    audit = ls.audit(LogisticRegression().fit(train[0], train[0][:, 1] > 0), (train[0], train[0][:, 1] > 0),
                     (holdout[0], holdout[0][:, 1] > 0), groups=groups)  # fmt: skip
    assert {(group.column, group.level) for group in audit.strongest.by_group} == {
        ("class", "first"), ("class", "second"), ("class (label)", "False"), ("class (label)", "True"),
    }  # fmt: skip


def test_a_column_with_the_classes_themselves_is_not_doubled():
    train, holdout = screening(2000)
    model = LogisticRegression().fit(*train)
    audit = ls.audit(model, train, holdout, groups=(np.char.upper(train[1]), np.char.upper(holdout[1])))
    assert {(group.column, group.level) for group in audit.strongest.by_group} == {
        ("group", "CANCER"), ("group", "HEALTHY"),
    }  # fmt: skip


def test_deciles_of_a_regression_are_groups_without_their_ends():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = 1000 * X[:, 0] + rng.normal(size=1200)
    audit = ls.audit(
        RandomForestRegressor(10, random_state=0).fit(X[:600], y[:600]), (X[:600], y[:600]), (X[600:], y[600:])
    )
    assert {group.column for group in audit.strongest.by_group} == {"label"}
    assert {group.level for group in audit.strongest.by_group} == {f"decile {number}" for number in range(1, 11)}
    assert "pooled_classes" not in {caveat.code for caveat in audit.warnings}


def test_equal_labels_share_a_decile():
    labels = np.concatenate([np.zeros(500), np.arange(1.0, 501.0)])
    levels, _ = label_groups(labels, np.arange(1000) % 2 == 0, None)
    assert len(set(levels[:500])) == 1
    assert len(set(levels)) == 6


@pytest.mark.parametrize(("sizes", "said"), [([300, 300], 0), ([581, 19], 1), ([30, 30], 0), ([50, 10], 0)])
def test_classes_too_small_to_show_get_one_warning_and_small_samples_none(sizes, said):
    codes = np.repeat([0, 1], sizes)
    _, warnings = label_groups(
        np.concatenate([codes, codes]), np.repeat([True, False], len(codes)), np.array(["a", "b"])
    )
    assert len(warnings) == said


def test_a_class_is_not_hidden_by_its_name():
    codes = np.tile([0, 1], 100)
    levels, _ = label_groups(codes, np.repeat([True, False], 100), np.array([NOT_SHOWN, "b"], object))
    assert set(levels) == {"\N{REPLACEMENT CHARACTER}not shown", "b"}


def test_the_largest_auc_of_a_group_is_that_of_any_attack():
    audit = sample_audit()
    aucs = [group.auc for risk in audit.risks for group in risk.by_group]
    assert audit.largest.group_auc.low == max(auc.low for auc in aucs)
    assert audit.largest.group_auc.high == max(auc.high for auc in aucs)
    assert sample_audit(groups=False).largest.group_auc is None
    assert isinstance(audit.largest.group_auc, Estimate)
