"""Defenses of record explanations: fewer records, rounded influences, a budget of queries."""

import json
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leakscope as ls
from leakscope.attacks import RECONSTRUCTIONS
from leakscope.core.errors import InputError
from leakscope.core.result import Caveat
from leakscope.defenses import FewerRecords, QueryBudget, RoundedInfluences
from leakscope.models.target import Target
from leakscope.releases.record_explanations.logistic import leave_one_out
from leakscope.studies.compare import Comparison, record_explanations
from leakscope.studies.compare.plan import Limits
from leakscope.studies.compare.record_rivals import NO_LOSS, RivalReleases
from leakscope.studies.compare.result import RecordComparison
from leakscope.studies.reconstruct import RecordRelease
from leakscope.studies.reconstruct.run import ReconstructionCase, prior_of

N = 80
TOWNS = ["Xanadu", "Ys", "Zerzura"]


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    table = pd.DataFrame({"age": rng.normal(4321, 10, n), "town": rng.choice(TOWNS, n)})
    table[["a", "b", "c"]] = rng.normal(size=(n, 3))
    table["said"] = np.where(table["age"] - 4321 + 10 * table["a"] + rng.normal(0, 10, n) > 0, "yes", "no")
    return table


def make_target(n: int = N, seed: int = 0) -> Target:
    rng = np.random.default_rng(seed)
    train, holdout = people(rng, n), people(rng, n)
    sets = [(table.drop(columns="said"), table["said"].to_numpy()) for table in (train, holdout)]
    encode = make_column_transformer((StandardScaler(), ["age", "a", "b", "c"]), (OneHotEncoder(), ["town"]))
    return ls.make_target(make_pipeline(encode, LogisticRegression()).fit(*sets[0]), *sets)


def run(target: Target, defenses: Any, budget: int = 20, **options: Any) -> Comparison:
    given = {"record_explanations": True, "references": 0, "retrain": False} | options
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_explanations, "BUDGET", budget)
        return ls.compare(target, defenses=defenses, **given)


@pytest.fixture(scope="module")
def found() -> Comparison:
    return run(make_target(), [FewerRecords([1, 3, 5]), RoundedInfluences([2]), QueryBudget([1, 20, 5000])], 200)


@pytest.fixture(scope="module")
def by_records(found: Comparison) -> RecordComparison:
    assert found.record_explanations is not None
    return found.record_explanations


@pytest.fixture(scope="module")
def case() -> ReconstructionCase:
    rng = np.random.default_rng(1)
    X, outside = rng.random((60, 4)), rng.random((60, 4))
    y = (X[:, 0] + rng.normal(0, 0.3, 60) > 0.5).astype(int)
    return ReconstructionCase(leave_one_out(X, y), X, y, prior_of(X, outside), 100, 3, 0, 0.95)


def rivals_of(case: ReconstructionCase, *releases: tuple[RecordRelease, int]) -> RivalReleases:
    made = RivalReleases(case, releases, Limits(0.01, 0.05))
    made.attack(None)
    return made


# --- what each does to a release --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("defense", "setting", "before", "after"),
    [
        (FewerRecords(), 1, (RecordRelease(k=5, digits=2), 10), (RecordRelease(k=1, digits=2), 10)),
        (FewerRecords(), 3, (RecordRelease(k=2), 10), (RecordRelease(k=2), 10)),
        (RoundedInfluences(), 1, (RecordRelease(k=4, near=0.9), 10), (RecordRelease(k=4, digits=1, near=0.9), 10)),
        (RoundedInfluences(), 3, (RecordRelease(digits=2), 10), (RecordRelease(digits=2), 10)),
        (RoundedInfluences(), 3, (RecordRelease(values=False), 10), (RecordRelease(values=False), 10)),
        (QueryBudget(), 100, (RecordRelease(k=2), 1000), (RecordRelease(k=2), 100)),
        (QueryBudget(), 100, (RecordRelease(), 50), (RecordRelease(), 50)),
    ],
)
def test_a_release_becomes_what_it_says_and_never_looser(defense: Any, setting: int, before: Any, after: Any) -> None:
    made = defense.defend(None, setting)
    assert made.records(*before) == after
    assert made.learner is made.answers is made.explanation is made.guarantee is None


def test_only_two_classes_can_be_explained_by_records() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 3
    three = ls.make_target(LogisticRegression().fit(X, y), (X, y), (X + 1, y))
    reason = QueryBudget().refuse(three)
    with pytest.raises(InputError) as refusal:
        run(three, ["round"])
    assert reason is not None
    assert reason in str(refusal.value)
    once = replace(make_target(), members=replace(make_target().members, y=(np.arange(N) == 0).astype(np.int64)))
    assert FewerRecords().refuse(once) not in (None, reason)


@pytest.mark.parametrize(
    ("given", "named"),
    [(None, "--record-explanations"), ("five", "record_explanations"), (RecordRelease(k=N + 1), rf"k\b.*{N + 1}")],
)
def test_wrong_input_is_named(given: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        run(make_target(), QueryBudget([10]), record_explanations=given)


# --- what attacks recover ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "budget"), [(1, 1), (1, 7), (3, 1), (4, 5)])
def test_nobody_passes_the_ceiling(case: ReconstructionCase, k: int, budget: int) -> None:
    """One asker sees at most questions times records; with one question, exactly the records of one answer."""
    rivals = rivals_of(case, (RecordRelease(k=k), budget))
    shares = np.array(list(rivals.runs[0].values()))
    assert rivals.ceiling(0) == budget * k / 60
    assert (shares <= rivals.ceiling(0) + 1e-12).all()
    assert max(share.high for share in rivals.shares[0].values()) <= rivals.ceiling(0)
    if budget == 1:
        assert (shares == k / 60).all()


def test_a_share_is_that_of_the_attack_run_literally(case: ReconstructionCase) -> None:
    release = RecordRelease(k=2, digits=3)
    rivals = rivals_of(case, (RecordRelease(), 100), (release, 30))
    for place, attack in enumerate(RECONSTRUCTIONS.values()):
        for repeat in range(case.repeats):
            rng = np.random.default_rng(np.random.SeedSequence(case.seed, spawn_key=(place, repeat)))
            oracle = release.oracle(case.models, case.X, case.y, budget=30, seed=int(rng.integers(2**31)))
            recovered = attack.run(oracle, case.prior, rng).records
            assert rivals.runs[1][attack.name][repeat] == len(set(recovered.tolist())) / 60


def test_a_smaller_budget_never_reveals_more_to_the_same_questions(case: ReconstructionCase) -> None:
    """Static questions and the traversal ask the same things whatever the budget: shares rise with it, run by run."""
    budgets = (1, 5, 20, 80)
    rivals = rivals_of(case, *((RecordRelease(k=2), budget) for budget in budgets))
    for name in ("uniform", "marginal", "records", "graph"):
        shares = np.array([by_attack[RECONSTRUCTIONS[name].name] for by_attack in rivals.runs])
        assert (np.diff(shares, axis=0) >= 0).all()
        assert (shares[-1] > shares[0]).all()
    for ours, theirs in product(range(4), repeat=2):
        if ours < theirs:
            assert rivals.risk_change(ours, theirs).low <= 0
    assert rivals.risk_change(0, 3).high < 0


def test_rounding_hides_nothing_from_attacks_that_only_look_at_who_is_shown(case: ReconstructionCase) -> None:
    rivals = rivals_of(case, (RecordRelease(), 100), (RecordRelease(digits=1), 100))
    for attack in RECONSTRUCTIONS.values():
        if not attack.uses_influences:
            assert np.array_equal(rivals.runs[0][attack.name], rivals.runs[1][attack.name])


def test_attacks_that_need_influences_are_said_not_to_run_where_these_are_hidden(case: ReconstructionCase) -> None:
    rivals = RivalReleases(case, [(RecordRelease(values=False), 20)], Limits(0.01, 0.05))
    refused = {item.attack for item in rivals.attack(None)}
    assert refused == {attack.name for attack in RECONSTRUCTIONS.values() if attack.uses_influences}
    assert refused.isdisjoint(rivals.runs[0])


# --- intervals --------------------------------------------------------------------------------------------------------


def made_up(case: ReconstructionCase, runs: list[dict[str, Any]]) -> RivalReleases:
    """Releases whose attacks recovered given shares; 100 questions of five records set no ceiling below 1."""
    rivals = RivalReleases(
        replace(case, repeats=len(next(iter(runs[0].values())))), [(RecordRelease(), 100)] * len(runs), Limits(0, 0)
    )
    rivals.runs = runs
    return rivals


def test_the_change_is_bounded_as_a_loop_bounds_it(case: ReconstructionCase) -> None:
    rng = np.random.default_rng(2)
    runs = [{name: rng.normal(0.5, 0.01, 5) for name in names} for names in ("abc", "ab", "abc")]
    rivals = made_up(case, runs)
    count = 8 + 2 + 3 + 2  # shares, and attacks that two releases have in common
    level = 1 - 0.05 / count

    def student(values: Any) -> tuple[float, float]:
        return stats.t.interval(level, 4, values.mean(), values.std(ddof=1) / np.sqrt(5))

    lows, highs = [], []
    for a in "abc":
        low, high = [], []
        for b in "ab":
            (l1, h1), (l2, h2) = student(runs[0][a]), student(runs[1][b])
            both = student(runs[0][a] - runs[1][b]) if a == b else (-1.0, 1.0)
            low.append(max(l1 - h2, both[0]))
            high.append(min(h1 - l2, both[1]))
        lows.append(min(low))
        highs.append(min(high))
    change = rivals.risk_change(0, 1)
    assert change.low == pytest.approx(max(lows), abs=1e-12)
    assert change.high == pytest.approx(max(highs), abs=1e-12)
    best = [max(shares.mean() for shares in by_attack.values()) for by_attack in runs]
    assert change.value == pytest.approx(best[0] - best[1], abs=1e-12)


def test_changes_of_all_pairs_hold_together(case: ReconstructionCase) -> None:
    """Normal runs around known shares, half of their randomness shared: at least 95 % of 400 worlds, less three errors."""
    rng = np.random.default_rng(3)
    truth = np.array([[0.40, 0.39, 0.20], [0.38, 0.39, 0.10], [0.20, 0.10, 0.20]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    held, sure = 0, 0
    for _ in range(400):
        drawn = truth[:, :, None] + 0.01 * (rng.normal(size=(1, 3, 5)) + rng.normal(size=(3, 3, 5)))
        rivals = made_up(case, [dict(zip("abc", shares, strict=True)) for shares in drawn])
        changes = [rivals.risk_change(*pair) for pair in pairs]
        true = [truth[ours].max() - truth[theirs].max() for ours, theirs in pairs]
        held += all(change.low <= value <= change.high for change, value in zip(changes, true, strict=True))
        sure += changes[1].low > 0
    assert held / 400 >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 400)
    assert sure > 200, "a fall from 0.40 to 0.20 with runs that differ by 0.014 must be seen"


# --- usefulness, who beats whom, and words ----------------------------------------------------------------------------


def test_usefulness_is_known(by_records: RecordComparison) -> None:
    """One of the five best records is a fifth; two digits are off by at most half of the last one, 5 %."""
    before = by_records.as_it_is
    assert (before.answered.value, before.found.value, before.best) == (1, 1, 5)
    assert before.error is not None
    assert before.error.high == 0
    assert by_records["fewer-records 1"].found.value == pytest.approx(1 / 5)
    assert by_records["fewer-records 3"].found.value == pytest.approx(3 / 5)
    rounded = by_records["round-influences 2"]
    assert rounded.error is not None
    assert 0 < rounded.error.high <= 0.05
    assert rounded.found == before.found
    fewer = by_records["query-budget 20"]
    assert (fewer.answered, fewer.found, fewer.error) == (before.answered, before.found, before.error)


def test_rows_and_what_is_left_out(by_records: RecordComparison) -> None:
    rows = [(version.name, version.release, version.budget) for version in by_records.versions]
    assert rows == [
        ("as it is", "5 records", 200),
        ("fewer-records 1", "1 record", 200),
        ("fewer-records 3", "3 records", 200),
        ("round-influences 2", "5 records, influence to 2 digits", 200),
        ("query-budget 1", "5 records", 1),
        ("query-budget 20", "5 records", 20),
    ]
    assert [item.attack for item in by_records.not_run] == ["fewer-records 5", "query-budget 5000"]
    for version in by_records.versions:
        assert version.share.value == max(share.value for share in version.shares.values())
        assert version.shares[version.strongest].value == version.share.value
        assert version.share.high <= version.ceiling.value == min(1, version.budget * int(version.release[0]) / N)


def test_the_change_is_against_the_release_as_it_is(by_records: RecordComparison) -> None:
    before, tiny = by_records.as_it_is, by_records["query-budget 1"]
    assert before.change is None
    assert tiny.share.value == 5 / N
    assert tiny.change is not None
    assert tiny.change.value == pytest.approx(tiny.share.value - before.share.value)
    assert tiny.change.high < 0


def test_a_smaller_budget_dominates_nothing_and_is_recommended(by_records: RecordComparison) -> None:
    """What questions are worth to honest users was not measured."""
    dominating = [(version.dominated_by, version.significantly_dominated_by) for version in by_records.versions]
    assert not any(name in ("query-budget 1", "query-budget 20") for pair in dominating for name in pair)
    assert (by_records.recommendation.kind, by_records.recommendation.version) == ("use", "query-budget 1")


def test_who_loses_usefulness_for_nothing_is_beaten(case: ReconstructionCase) -> None:
    rivals = rivals_of(case, (RecordRelease(), 100), (RecordRelease(digits=1), 100), (RecordRelease(), 50))
    same = {name: np.full(3, 0.5) for name in rivals.runs[0]}
    rivals.runs = [same, same, same]
    # The last one answers fewer queries at the same risk.
    assert rivals.dominating(significantly=False) == rivals.dominating(significantly=True) == [None, 0, 0]


def test_nothing_is_recommended_where_a_gain_costs_the_explanation() -> None:
    found = run(make_target(), FewerRecords([1]), 30).record_explanations
    assert found is not None
    decided = found.recommendation
    assert (decided.kind, decided.version, decided.candidate) == ("utility_limit", None, "fewer-records 1")


def test_alone_they_leave_the_model_as_it_is() -> None:
    toy = ls.toys.lookup(n=100)
    found = run(ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit), QueryBudget([10]))
    assert [(version.name, version.risk.auc.value) for version in found.compared] == [("as it is", 1.0)]
    assert found.recommendation.kind == "not_lowered"


# --- records, seeds and files -----------------------------------------------------------------------------------------


def test_arrays_are_taken_and_many_records_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_explanations, "BUDGET", 20)
    monkeypatch.setattr(record_explanations, "MOST", 40)
    rng = np.random.default_rng(7)
    X, outside = rng.normal(50, 20, size=(2, 90, 3))
    y = (X[:, 0] + rng.normal(0, 10, 90) > 50).astype(int)
    target = ls.make_target(LogisticRegression(max_iter=1000).fit(X, y), (X, y), (outside, y))
    before = X.copy()
    case, warnings, settings = record_explanations._make_case(target, RecordRelease(), 0, 0.95)
    assert case.X.shape == (40, 3)
    assert (case.X.min(axis=0) == 0).all()
    assert (case.X.max(axis=0) == 1).all()
    assert (settings["records"], settings["of training records"], settings["holdout"]) == (40, 90, 40)
    assert warnings[1] == Caveat("sampled_record_explanations", {"records": 40, "training_records": 90})
    again, other = (record_explanations._make_case(target, RecordRelease(), seed, 0.95)[0] for seed in (0, 1))
    assert np.array_equal(case.X, again.X)
    assert not np.array_equal(case.X, other.X)
    assert np.array_equal(X, before)


def test_no_feature_value_and_no_town_is_in_the_result(found: Comparison, tmp_path: Any) -> None:
    text = json.dumps(found.as_dict(), allow_nan=False)
    assert not any(town in text for town in TOWNS)
    ages = make_target().members.X["age"]
    assert not any(f"{age:.4f}" in text for age in ages)
    found.save(tmp_path)
    saved = ls.load(tmp_path)
    assert saved == found
    assert saved.record_explanations.settings["records"] == N


def test_what_is_the_same_costs_exactly_nothing(case: ReconstructionCase) -> None:
    few, rounded = RecordRelease(k=2), RecordRelease(digits=1)
    rivals = RivalReleases(
        case, [(RecordRelease(), 20), (RecordRelease(), 10), (rounded, 20), (few, 20)], Limits(0.01, 0.05)
    )
    assert rivals.gains(1, 0) == [NO_LOSS, NO_LOSS, NO_LOSS]
    answered, found, error = rivals.gains(2, 0)
    assert (answered, found) == (NO_LOSS, NO_LOSS)
    assert error.high < 0
    answered, found, error = rivals.gains(3, 0)
    assert answered == NO_LOSS
    assert found.value == pytest.approx(-3 / 5)
    assert (error.low, error.high) == (0, 0)
