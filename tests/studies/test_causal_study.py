"""The comparison of causal and associational models: known answers, bad input and determinism."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import check_refused
from scipy import special
from sklearn.neighbors import KNeighborsClassifier

from leakscope import causal
from leakscope.attacks import label_only, loss_threshold
from leakscope.causal.encoding import encode
from leakscope.causal.kinds import NetworkKind
from leakscope.core.estimate import Estimate
from leakscope.data.records import Records
from leakscope.studies.causal import models
from leakscope.studies.causal.claims import decide
from leakscope.studies.causal.measuring import pool
from leakscope.studies.causal.scenarios import from_parents, tilt
from leakscope.worlds import training

LOSS = [loss_threshold("log_loss")]


def garden():
    """Cause → label → symptom, and a column that follows the cause."""
    two = ("no", "yes")
    return causal.Network(
        "garden",
        {"rain": ("none", "some", "much"), "flood": two, "boots": two, "season": two},
        {"flood": ("rain",), "boots": ("flood",), "rain": ("season",)},
        {
            "season": np.array([[0.5, 0.5]]),
            "rain": np.array([[0.6, 0.3, 0.1], [0.2, 0.4, 0.4]]),
            "flood": np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]),
            "boots": np.array([[0.95, 0.05], [0.05, 0.95]]),
        },
    )


def flood(**options):
    """The study of floods in the garden, by one attack."""
    usual = {"label": "flood", "graph": garden(), "model": "logistic", "draws": 1, "attacks": LOSS, "noise": False}
    return causal.study(**usual | options)


def people(n=900, seed=0):
    network = garden()
    return causal.to_frame(network, causal.draw(network, n, seed)).astype("str")


def test_table_of_the_causes_predicts_as_the_law_says():
    found, network = flood(rows=20_000), garden()
    # P(rain) after the season, and the more likely answer to each rain.
    rain = network.tables["season"][0] @ network.tables["rain"]
    best = float(rain @ network.tables["flood"].max(axis=1))
    table = found.models[0]
    assert found.causes == ("rain",)
    assert table.columns == ("rain",)
    assert table.test.low <= best <= table.test.high
    assert abs(table.test.value - best) < 4 * np.sqrt(best * (1 - best) / 20_000)
    # A model that sees the symptom does better in P, and worse where the symptom is redrawn.
    everything = found.models[1]
    assert everything.test.low > best
    assert everything.shifted.high < table.shifted.low
    # Nobody remembers 20,000 records in so few numbers; the deviation of the excess is about 0.0015 here.
    assert abs(found.strongest(table.name, "P").excess_auc.value) < 0.01


def test_model_that_remembers_is_told_from_one_that_does_not():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"cause": rng.integers(2, size=1200), "other": rng.normal(size=1200)})
    data["label"] = np.where(rng.random(1200) < 0.2 + 0.6 * data["cause"], "yes", "no")
    found = causal.study(
        data, "label", causes=["cause"], model=KNeighborsClassifier(1), draws=2, attacks=LOSS, noise=False
    )
    nearest, table = found.model("KNeighborsClassifier on all columns"), found.models[0]
    # It is always right on its own records; on others it meets a neighbour with a label of its own: right with probability
    # E[p² + (1 - p)²] = 0.68, so that the excess accuracy is (1 - 0.68)/2.
    excess = found.strongest(nearest.name, "P").excess_accuracy
    assert excess.low <= 0.16 <= excess.high
    assert excess.low > 0.1
    # The table keeps four numbers of 400 records.
    assert abs(found.strongest(table.name, "P").excess_auc.value) < 0.03
    assert found.claim("causal_leaks_less").outcome == "yes"
    assert found.claim("causal_leaks_less", than=nearest.name, law="P").estimates["difference"].low > 0


def test_tilt_keeps_how_the_label_follows_its_causes_and_cuts_the_rest():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(3, size=60_000), rng.integers(2, size=60_000)])
    y = (rng.random(60_000) < np.array([0.2, 0.5, 0.9])[X[:, 0]]).astype(np.int64)
    X[:, 1] = np.where(rng.random(60_000) < 0.95, y, 1 - y)  # a symptom
    moved = tilt(Records(X.astype(np.uint8), y, np.arange(60_000)), [0], [3], np.random.default_rng(1))
    shares = np.array(
        [[np.mean(side.y[side.X[:, 0] == level]) for level in range(3)] for side in (Records(X, y, y), moved)]
    )
    counts = np.bincount(moved.X[:, 0], minlength=3)
    assert np.all(np.abs(shares[0] - shares[1]) < 4 * np.sqrt(0.25 / counts))
    assert np.abs(counts / len(moved) - 1 / 3).max() > 0.03  # the causes have another law
    for level in range(3):  # given the cause, the symptom says nothing any more
        rows = moved.X[:, 0] == level
        table = np.array([[np.sum((moved.X[rows, 1] == a) & (moved.y[rows] == b)) for b in (0, 1)] for a in (0, 1)])
        expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
        assert np.sum((table - expected) ** 2 / expected) < special.chdtri(1, 1e-6)


def test_tilt_prefers_numbers_by_a_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 2))
    moved = tilt(Records(X, X[:, 0], np.arange(30_000)), [0], [0], np.random.default_rng(2))
    assert len(moved) == 10_000
    assert (moved.X[:, 0] == moved.y).all()
    assert abs(moved.X[:, 0].mean()) > 0.1
    assert abs(np.corrcoef(moved.X[:, 1], moved.y)[0, 1]) < 4 / np.sqrt(10_000)


def test_data_of_a_graph_are_dealt_and_shifted_worlds_follow_their_label():
    found = flood(data=people(3000), draws=2)
    assert found.settings["trained_on"] == found.settings["others"] == 1000
    assert found.settings["shifted_worlds"] == 2
    # The table is as right under shift as the causes allow: its errors are those of P(Y | causes), not of the shift.
    assert found.models[0].shifted.low > 0.5


@pytest.mark.parametrize("shift", ["parents", "children", "all", 0.5])
def test_every_shift_of_a_graph(shift):
    found = flood(rows=150, shift=shift)
    assert found.settings["shift"] == shift
    assert len(found.models) == 3


def test_regression_on_chosen_features():
    rng = np.random.default_rng(0)
    cause, noise = rng.normal(size=(2, 1500))
    data = pd.DataFrame({"cause": cause, "value": 2 * cause + noise})
    data["symptom"] = data["value"] + 0.1 * rng.normal(size=1500)
    found = causal.study(data, "value", causes=["cause"], model="ridge", draws=3)
    causes, everything = found.models
    assert causes.name == "ridge on the causes"
    # 1 - Var(noise)/Var(value) = 1 - 1/5
    assert abs(causes.test.value - 0.8) < 4 * 0.2 * np.sqrt(2 / 500)
    assert everything.test.value > 0.99
    assert everything.shifted.value < causes.shifted.value
    assert found.settings["task"] == "regression"
    noise = found.noise
    assert noise.ratio.low < noise.ratio.value < noise.ratio.high
    assert noise.ratio.value == pytest.approx(noise.causal.value / noise.associational.value, rel=0.5)


def test_causes_are_learned_from_environments():
    rng = np.random.default_rng(1)
    parts = []
    for site, (shift, slope) in {"north": (0.0, 1.0), "south": (2.0, -1.0), "east": (-1.0, 0.2)}.items():
        cause = rng.normal(shift, 1.0, size=500)
        label = cause + 0.5 * rng.normal(size=500)
        parts.append(
            pd.DataFrame({"cause": cause, "symptom": slope * label + rng.normal(size=500), "y": label, "site": site})
        )
    found = causal.study(pd.concat(parts, ignore_index=True), "y", environments="site", model="ridge", noise=False)
    assert found.causes == ("cause",)
    assert found.settings["shifted_worlds"] == 3
    assert found.models[0].shifted.low > found.models[1].shifted.high
    assert (found.causes_from, found.choice.significant) == ("invariant", ("cause",))
    assert found.claim("causal_predicts_better", law="P*").outcome == "yes"


def test_wrong_causes_are_named_and_cost():
    found = flood(label="Akt", graph="sachs", rows=1000, wrong=2)
    wrong = found.models[-1]
    assert wrong.name.startswith("causes with wrong ")
    assert len(wrong.columns) == 4
    assert set(found.causes) < set(wrong.columns)
    assert wrong.unseen > 0
    assert [(one.code, one.values["model"]) for one in found.warnings] == [("unseen_causes", wrong.name)]


def test_sensitive_columns():
    found = flood(rows=600, model="trees", sensitive=["boots", "rain"])
    gains = {(one.column, one.model): one for one in found.attributes}
    table, trees = "table of the causes", "trees on all columns"
    # A function of the causes tells an attacker who knows them nothing more about boots; the trees read boots.
    assert gains["boots", table].gain.low <= 0 <= gains["boots", table].gain.high
    assert gains["boots", trees].gain.low > 0.02
    assert gains["rain", table].is_cause
    assert gains["rain", table].gain.low > 0
    assert found.claim("helps_to_infer", column="boots", model=trees).outcome == "yes"
    assert found.claim("helps_to_infer", column="boots", model=table).outcome == "inconclusive"


def test_figures_of_p_do_not_depend_on_the_number_of_worlds():
    one, two = (flood(rows=200, draws=draws) for draws in (1, 2))
    assert one.blind["P"] == two.blind["P"]
    assert [one.found(model.name, "P") for model in one.models] == [two.found(model.name, "P") for model in two.models]


def test_same_seed_same_numbers():
    first, second, other = (flood(rows=200, draws=2, noise=True, seed=seed) for seed in (5, 5, 6))
    assert first.attacks == second.attacks
    assert (first.models, first.noise, first.claims) == (second.models, second.noise, second.claims)
    assert first.attacks != other.attacks
    rows = first.to_frame()
    assert len(rows) == 3 * 2 * len(LOSS)
    np.testing.assert_allclose(rows["accuracy"] - rows["control_accuracy"], rows["excess_accuracy"], atol=1e-12)


def outcome(**options):
    """All numbers of a study with sensitive columns and an attack that queries changed copies."""
    usual = {"draws": 1, "attacks": [*LOSS, label_only()], "sensitive": ["season"], "rows": 150}
    found = flood(**usual | options)
    return found.models, found.attacks, found.blind, found.attributes, found.noise, found.claims


def test_workers_and_a_cache_change_no_bit(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(models, "NetworkKind", partial(NetworkKind, widths=(4,), steps=20))
    options = {"model": "network", "noise": True}
    alone = outcome(workers=1, cache=tmp_path, **options)
    assert outcome(workers=2, **options) == alone

    def run(_, tasks, *__):
        assert not tasks
        return iter(())

    monkeypatch.setattr(training, "run_tasks", run)  # the second run finds every model in the cache
    assert outcome(workers=2, cache=tmp_path, **options) == alone


def test_a_stopped_run_resumes_from_the_cache(tmp_path, monkeypatch):
    """Training stops after four pairs of models; the next run trains the other two."""
    sites = pd.concat([people(200, seed).assign(site=str(seed)) for seed in range(3)], ignore_index=True)
    options = {
        "data": sites, "graph": None, "environments": "site", "label": "boots", "draws": None, "rows": None, "noise": False,
    }  # fmt: skip
    ran = []

    def run(task_of, tasks, *_):
        for task in tasks:
            if len(ran) == 4:
                ran.append(None)
                raise KeyboardInterrupt
            ran.append(task)
            yield task, task_of(task)

    alone = outcome(workers=1, **options)
    monkeypatch.setattr(training, "run_tasks", run)
    with pytest.raises(KeyboardInterrupt):
        outcome(cache=tmp_path, **options)
    assert outcome(cache=tmp_path, **options) == alone
    ran.remove(None)
    assert sorted(task.start for task in ran) == list(range(0, 2 * len(ran), 2))


def test_overall_claim_needs_one_significant_difference_and_none_the_other_way():
    """The causal model against the one on all columns, for non-members of P and of P*."""
    found = flood(rows=200)
    excess = {
        "yes": Estimate(0.3, 0.2, 0.4),
        "no": Estimate(-0.3, -0.4, -0.2),
        "inconclusive": Estimate(0.0, -0.1, 0.1),
    }
    for outcomes, overall in {
        ("yes", "yes"): "yes", ("yes", "inconclusive"): "yes", ("yes", "no"): "inconclusive", ("inconclusive", "no"): "no",
    }.items():  # fmt: skip
        of_law = dict(zip(("P", "P*"), outcomes, strict=True))
        attacks = [
            replace(one, excess_auc=excess[of_law[one.law] if one.model == found.studied else "inconclusive"])
            for one in found.attacks
        ]
        assert decide(replace(found, attacks=tuple(attacks)))[0].outcome == overall


def test_pool_is_a_mean_of_ends():
    pooled = pool([Estimate(0.2, 0.1, 0.3, n=10), Estimate(0.4, 0.1, 0.7, n=20)])
    assert (pooled.value, pooled.low, pooled.high, pooled.n) == pytest.approx((0.3, 0.1, 0.5, 30))


REFUSED = {
    "two sources": ({"graph": garden(), "causes": ["rain"]}, "environments"),
    "no source": ({}, "environments"),
    "no parents in the graph": ({"graph": garden(), "label": "season"}, "season"),
    "unknown label": ({"graph": garden(), "label": "snow"}, "snow"),
    "unknown parent": ({"data": people(400), "causes": ["snow"]}, "snow"),
    "text for a list": ({"data": people(400), "causes": "rain"}, "causes"),
    "no data": ({"causes": ["rain"]}, "data"),
    "unknown shift": ({"graph": garden(), "shift": "sideways"}, "shift"),
    "negative noise": ({"graph": garden(), "shift": -1.0}, "noise"),
    "shift without a graph": ({"data": people(400), "causes": ["rain"], "shift": 0.5}, "shift"),
    "no draws": ({"graph": garden(), "draws": 0}, "draws"),
    "few rows": ({"graph": garden(), "rows": 10}, "rows"),
    "few records": ({"data": people(200), "causes": ["rain"]}, "360"),
    "unknown model": ({"graph": garden(), "model": "oracle"}, "model"),
    "model for numbers": ({"graph": garden(), "model": "ridge"}, "ridge"),
    "too many wrong": ({"graph": garden(), "wrong": 9}, "wrong.*9"),
    "sensitive unknown": ({"graph": garden(), "sensitive": ["snow"]}, "snow"),
    "unknown column": ({"data": people(400).assign(snow="no"), "graph": garden()}, "snow"),
    "missing column": ({"data": people(400).drop(columns="boots"), "graph": garden()}, "boots"),
    "unknown level": ({"data": people(400).replace({"rain": {"much": "hail"}}), "graph": garden()}, "rain"),
    "worlds of environments": ({"data": people(400), "environments": "site", "draws": 3}, "draws"),
    "unknown environment": ({"data": people(400), "environments": "site", "draws": None}, "site"),
    "one environment": ({"data": people(400).assign(site="a"), "environments": "site", "draws": None}, "environment"),
    "constant column": ({"data": people(400).assign(same="a"), "causes": ["rain"]}, "same"),
    "duplicate columns": ({"data": people(400).rename(columns={"boots": "rain"}), "causes": ["rain"]}, "rain"),
    "constant number": ({"data": people(400).assign(flood=0.5), "causes": ["rain"], "model": "ridge"}, "'flood'"),
    "a parent that is the label": ({"data": people(400), "causes": ["flood"]}, "flood"),
    "graph of another kind": ({"graph": 5}, "graph"),
    "attacks by name": ({"graph": garden(), "rows": 200, "attacks": "loss"}, "attacks"),
    "task": ({"graph": garden(), "task": "foo"}, "task"),
    "shift of environments": ({"data": people(400).assign(site="a"), "environments": "site", "shift": 1.0}, "shift"),
    "lists in cells": ({"data": people(400).assign(many=[[1]] * 400), "causes": ["rain"]}, "'many'"),
    "confidence": ({"graph": garden(), "confidence": 2}, "confidence"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_sentence(case):
    settings, name = REFUSED[case]
    check_refused(lambda: causal.study(**{"label": "flood", "model": "logistic", "draws": 1} | settings), name)


def test_record_that_cannot_occur_is_refused_by_number():
    network = garden().replace_tables({"boots": np.array([[1.0, 0.0], [0.05, 0.95]])})
    data = people(400).assign(boots="no")
    data.loc[7, ["flood", "boots"]] = "no", "yes"
    check_refused(lambda: causal.study(data, "flood", graph=network, model="logistic"), r"\b1\b.*\b7\b.*'boots'")


def test_environment_with_one_class_is_refused():
    data = people(600).assign(site=np.repeat(["a", "b"], 300))
    data.loc[data["site"] == "a", "flood"] = "no"
    check_refused(lambda: causal.study(data, "flood", environments="site", model="logistic"), r"\b0\b")


def test_encoding_reads_levels_numbers_and_missing_texts():
    data = pd.DataFrame(
        {
            "text": ["b", None, "a", "b"],
            "few": [3, 1, 3, 1],
            "number": [0.5, 1.5, 2.5, 3.5],
            "truth": [True, False, True, True],
            "y": [1, 0, 1, 0],
        }
    )
    read = encode(data, "y")
    assert read.levels == (3, 2, 0, 2)
    assert read.X[:, 0].tolist() == [2, 0, 1, 2]  # the missing text is the level "?", which comes first
    assert read.X[:, 1].tolist() == [1, 0, 1, 0]
    np.testing.assert_allclose(read.X[:, 2].std(), 1)
    assert read.classes.tolist() == [0, 1]
    assert encode(data, "y", task="regression").classes is None


def test_scenarios_share_no_record_between_parts():
    data = encode(
        pd.DataFrame({"row": np.arange(900.0), "c": np.tile(["a", "b"], 450), "y": np.tile(["n", "p", "p"], 300)}), "y"
    )
    problem = from_parents(data, "y", ["c"], shift="random", draws=1, seeds=np.random.SeedSequence(0))
    scenario = problem.scenarios[0]
    rows = [set(part.X[:, 0].tolist()) for part in (*scenario.samples, scenario.test)]
    assert sum(map(len, rows)) == len(set.union(*rows))
    assert set(scenario.shifted["P* 1"].X[:, 0].tolist()) <= rows[2]
