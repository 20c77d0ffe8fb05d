"""Reproductions: the registry, the rules that decide statements, and every figure in a small version."""

import json
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from commands import check_refused, shown
from deciding import around, check_seed

import leakscope as ls
from leakscope import papers
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.learners import Ridge
from leakscope.papers import farokhi
from leakscope.papers.farokhi import SweepAxis, SweepCase, SweepEffort
from leakscope.papers.reproduction import Reproduction, Work, overall, statement
from leakscope.papers.trends import follows, slope, trend

IDS = [
    *("farokhi-cor2", "farokhi-fig1", "farokhi-fig2", "farokhi-fig3", "farokhi-fig4", "farokhi-fig5"),
    *("shokri-fig1", "shokri-fig10", "shokri-fig12", "shokri-fig14", "shokri-fig15", "shokri-fig2", "shokri-fig3"),
    *("shokri-fig4", "shokri-fig5", "shokri-fig6", "shokri-fig7", "shokri-fig9"),
    *("shokri-tab2", "shokri-tab3", "shokri-tab4"),
    *("tople-fig3a", "tople-fig3b", "tople-fig3c", "tople-fig4a", "tople-fig4b", "tople-fig4c"),
    *("tople-tab1", "tople-tab2", "tople-tab3", "tople-thm3", "tople-thm4", "tople-thm7"),
]
#: Reproductions that use no data set with files: networks that come with the package, or points drawn at random.
NO_FILES = {
    *("shokri-fig14", "shokri-fig5"),
    *(name for name in IDS if name.startswith("tople") and name != "tople-tab3"),
}
#: Settings smaller than the quick ones.
FEW = {"records": 20, "draws": 200, "models": 20}
SMALL = {
    "farokhi-cor2": FEW | {"epsilons": (0.5, 100.0)},
    "farokhi-fig1": FEW | {"sizes": (10, 100)},
    "farokhi-fig2": {"sizes": (10, 40), "steps": 20, "records": 2, "draws": 30, "models": 8},
    "farokhi-fig3": FEW | {"weights": (0.0, 1.0, 1e4)},
    "farokhi-fig4": FEW | {"features": (1, 5, 12)},
    "farokhi-fig5": FEW | {"deviations": (0.0, 1.0)},
    "shokri-fig12": {"methods": ("gradient", "lrp"), "records": 200, "judged": 60},
    "shokri-fig14": {"features": (10, 200), "points": 400, "epochs": 3},
    "shokri-fig4": {"sigmas": (1.0,), "samples": (1, 3), "records": 150, "judged": 60, "epochs": 3},
    "shokri-fig5": {"features": (2, 20, 1200), "points": 400, "epochs": 3},
}


def check_contract(result, folder):
    result.save(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "result.json", "table.csv"]
    assert ls.load(folder) == result
    assert result.rows
    assert all(list(row) == list(result.rows[0]) for row in result.rows)
    assert result.paper["statement"]
    assert result.claims[0].subject == {}
    assert result.panels
    assert "seed" in result.settings
    assert result.seconds["total"] > 0
    keys = [claim.key for claim in result.claims]
    assert len(set(keys)) == len(keys)


# --- the registry ---------------------------------------------------------------------------------------------------


def test_every_module_with_an_id_is_found():
    assert list(papers.reproductions()) == IDS
    for name, module in papers.reproductions().items():
        assert module.__name__ == f"leakscope.papers.{name.replace('-', '_')}"
        assert set(module.QUICK) == set(module.FULL)
        assert set(module.PAPER) == {"source", "statement", "numbers"}


def test_listing_imports_nothing_heavy():
    code = (
        "import sys, leakscope.papers as papers; papers.reproductions(); "
        "print([name for name in ('torch', 'sklearn', 'scipy.stats', 'joblib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["", "farokhi", "farokhi_fig1", "../farokhi-fig1", "reproduction", "os", "x" * 10_000])
def test_an_unknown_id_is_refused_with_the_known_ones(name):
    with pytest.raises(InputError) as refusal:
        papers.reproduce(name)
    assert ", ".join(IDS) in str(refusal.value)
    assert len(str(refusal.value)) < 700


# --- the verdict ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "half", "expected"),
    [
        ((3, 2, 1), 0.4, "falls"),
        ((1, 2, 3), 0.4, "rises"),
        ((1, 3, 1), 0.4, "goes both ways"),
        ((1, 1.2, 0.9), 0.4, "shows no change"),
        ((3, 2.5, 2, 1.5, 1), 0.4, "falls"),  # no step alone is clear, the whole is
        ((3, 1, 1.3), 0.4, "falls"),  # a rise within the intervals is none
        ((1,), 0.4, "shows no change"),
        ((), 0.4, "shows no change"),
    ],
)
def test_a_trend_is_one_that_the_intervals_show(values, half, expected):
    assert trend([around(value, half) for value in values]) == expected


@pytest.mark.parametrize(
    ("values", "outcome"),
    [((3, 2, 1), "yes"), ((1, 2, 3), "no"), ((1, 3, 1), "no"), ((1, 1.1), "inconclusive"), ((), "inconclusive")],
)
def test_a_stated_trend_is_decided_by_the_intervals(values, outcome):
    series = [(f"n = {n}", around(value, 0.1)) for n, value in enumerate(values)]
    claim = follows("leakage", "falls", series)
    assert (claim.subject, claim.outcome) == ({"statement": "leakage falls"}, outcome)
    assert len(claim.estimates) == (3 if values == (1, 3, 1) else min(2, len(values)))


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [(["yes", "yes"], "yes"), (["yes", "inconclusive"], "inconclusive"), (["yes", "no"], "no"), ([], "inconclusive")],
)
def test_the_whole_follows_from_the_statements(outcomes, expected):
    assert overall(outcomes) == expected


def test_the_slope_of_a_power_and_its_interval():
    x = [1.0, 2.0, 5.0, 10.0]
    found = slope(x, [Estimate(at**-1.5, 0.9 * at**-1.5, 1.1 * at**-1.5) for at in x])
    assert found.value == pytest.approx(-1.5, abs=1e-12)
    logs = np.log(x) - np.log(x).mean()
    assert found.high - found.value == pytest.approx(0.1 / np.sqrt(logs @ logs), rel=1e-9)
    assert slope(x, [around(0.0, 1.0)] * 4) is None
    assert slope([0.0, 1.0, 2.0], [around(1.0, 0.1)] * 3) is None


# --- a sweep --------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_world(monkeypatch):
    """Three hundred records of a linear model in the place of Adult: nothing to download, and quick."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 14))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(np.int64)
    monkeypatch.setattr(farokhi, "adult", lambda features=5: (X[:, :features], y))


def swept(sizes, seed=0):
    module = SimpleNamespace(ID="test", TITLE="Test", PAPER={"statement": "s"})
    cases = [SweepCase(size, Ridge(l2=0.0, intercept=False), size) for size in sizes]
    axis, work = SweepAxis("Records n"), Work(module, {}, seed, workers=1)
    return farokhi.sweep(work, axis, cases, SweepEffort(10, 200, 20), {})


@pytest.mark.usefixtures("small_world")
def test_what_can_not_be_measured_is_none_with_a_note():
    result = swept([3, 10, 100])  # three records don't determine five parameters
    first, second, _ = result.rows
    assert {value for name, value in first.items() if name not in ("n", "note")} == {None}
    assert "l2" in first["note"]
    assert None not in [value for name, value in second.items() if name != "note"]
    assert result.panels[1].curves[0].y[0] is None
    assert result.claim("reproduced", statement="leakage falls").outcome == "yes"


@pytest.mark.usefixtures("small_world")
def test_a_sweep_without_any_measurement_is_refused():
    with pytest.raises(InputError, match="l2"):
        swept([2, 3])


@pytest.mark.usefixtures("small_world")
def test_the_seed_decides_the_numbers():
    check_seed(lambda seed: swept([20, 40], seed))


@pytest.mark.usefixtures("small_world")
def test_rows_hold_what_the_measures_give():
    from leakscope.evaluation.membership_experiment import membership_experiment
    from leakscope.studies.leakage import membership_leakage

    X, y = farokhi.adult()
    ridge = Ridge(intercept=False)
    leakage = membership_leakage(ridge, X, y, size=40, records=10, draws=200)
    seen = membership_experiment(ridge, X, y, size=40, models=20)
    cells = swept([40]).rows[0]
    assert cells["leakage"] == leakage.rho_kl
    assert cells["bound"] == leakage.advantage_bound.value
    assert cells["attack"] == leakage.attack
    assert cells["advantage_mean"] == seen.advantage
    assert cells["advantage_median"] == np.median(np.abs(seen.advantages))
    assert cells["advantage_most"] == np.abs(seen.advantages).max()


def test_infinite_ends_and_missing_cells_are_written(tmp_path):
    rows = [[None, 'say "no", \n twice'], [Estimate(1.0, 0.5, math.inf), math.nan]]
    named = {"id": "x", "title": "t", "paper": {"source": "p", "statement": "s"}, "settings": {}}
    result = Reproduction.of(**named, columns=["a", "note"], rows=rows, statements=[statement("s", None)])
    result.save(tmp_path)
    table = pd.read_csv(tmp_path / "table.csv")
    assert list(table.columns) == ["a", "a_low", "a_high", "note"]
    assert table["a"].isna().tolist() == [True, False]
    assert result.rows[1]["a"].kind == "lower bound"


# --- every figure, small --------------------------------------------------------------------------------------------


def small(name, monkeypatch, **options):
    module = papers.reproductions()[name]
    monkeypatch.setattr(module, "QUICK", module.QUICK | SMALL.get(name, {}))
    steps = []
    result = papers.reproduce(name, quick=True, progress=lambda *step: steps.append(step), workers=1, **options)
    assert steps[-1][0] == name
    assert steps[-1][1] == steps[-1][2]
    return result


@pytest.mark.parametrize("name", IDS)
def test_small_versions_on_synthetic_data_keep_the_contract_and_say_so(name, tmp_path, monkeypatch):
    result = small(name, monkeypatch, synthetic=True)
    check_contract(result, tmp_path)
    assert bool(result.synthetic) == (name not in NO_FILES)
    if result.synthetic:
        check_label(result)


def check_label(result):
    """A result on generated data says so and decides no statement of the paper."""
    assert {claim.outcome for claim in result.claims} == {"inconclusive"}
    assert result.settings["synthetic"] == list(result.synthetic)
    assert "synthetic_data" in [caveat.code for caveat in result.warnings]
    assert {row["origin"] for row in result.rows} == {"synthetic"}


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in IDS if name not in NO_FILES])
def test_small_versions_on_real_data_keep_the_contract(name, tmp_path, monkeypatch):
    result = small(name, monkeypatch)
    check_contract(result, tmp_path)
    assert result.synthetic == ()
    assert "origin" not in result.rows[0]


@pytest.mark.parametrize("name", [name for name in IDS if name not in NO_FILES])
def test_without_data_one_sentence_says_what_to_do(name, monkeypatch):
    from leakscope.data import datasets

    with pytest.raises(InputError) as refusal:
        small(name, monkeypatch)
    message = str(refusal.value)
    [missing] = [known for known in datasets.names() if f"data fetch {known}`" in message]
    assert datasets.describe(missing).page in message
    assert "--synthetic" in message
    assert "\n" not in message


def test_small_noise_takes_leakage_away_as_its_variance(monkeypatch):
    """De Bruijn's identity is in the variance: the fall begins as t², where [farokhi2020, Thm 4, Cor. 2] has t."""
    result = small("farokhi-cor2", monkeypatch, synthetic=True)
    rows = result.to_frame().to_dict("records")
    slope_rows = [row for row in rows if row["part"] == "slope"]
    falls, deviations = ([row[name] for row in slope_rows] for name in ("fall", "σ"))
    ratio = math.log(falls[1] / falls[0]) / math.log(deviations[1] / deviations[0])
    assert ratio == pytest.approx(2.0, abs=0.02)  # terms of t⁴ and rounding are smaller than that
    assert result.claim("reproduced", statement="the fall of the leakage begins as t").estimates["power of t"].low > 1.5
    private = [row for row in rows if row["part"] == "privacy"]
    assert [row["mechanism"] for row in private] == ["classic", "analytic"]
    assert private[0]["σ"] > private[1]["σ"]
    assert private[0]["leakage"] < private[1]["leakage"] < rows[0]["leakage"]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", IDS)
def test_full_versions_agree_with_the_paper(name, tmp_path):
    result = papers.reproduce(name)
    check_contract(result, tmp_path)
    # Theorem 4 is wrong as printed, shokri2019 has many numbers, of which some differ, and what tople2020 calls membership under shift is mostly the shift.
    outcomes = {claim.outcome for claim in result.claims if claim.code == "reproduced" and claim.subject}
    if name.startswith("farokhi") and name != "farokhi-cor2":
        assert outcomes == {"yes"}
    elif name.startswith("shokri"):
        assert "yes" in outcomes


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_list_names_all(capsys):
    code, out, _ = shown(capsys, "reproduce", "--list")
    assert code == 0
    assert all(name in out for name in IDS)
    code, out, _ = shown(capsys, "reproduce", "--list", "--json")
    assert [row["id"] for row in json.loads(out)] == IDS


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--list"),
        (["nothing"], "'nothing'"),
        (["farokhi-fig1", "--all"], "--all"),
        (["farokhi-fig1", "--workers", "0"], "--workers"),
        (["farokhi-fig1", "--quick"], "--synthetic"),  # the data are not here
    ],
)
def test_bad_requests_are_one_sentence(capsys, tmp_path, words, named):
    check_refused(capsys, named, "reproduce", *words, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_prints_and_writes_the_result(capsys, tmp_path, monkeypatch):
    module = papers.reproductions()["farokhi-fig1"]
    monkeypatch.setattr(module, "QUICK", module.QUICK | SMALL["farokhi-fig1"])
    code, out, _ = shown(capsys, "reproduce", "farokhi-fig1", "--quick", "--synthetic", "--out", tmp_path)
    assert code == 0
    assert module.PAPER["statement"] in " ".join(out.split())
    saved = ls.load(tmp_path)
    assert saved.synthetic == ("adult",)
    assert saved.command == "leakscope reproduce farokhi-fig1 --quick --synthetic --seed 0"
    code, out, _ = shown(capsys, "reproduce", "farokhi-fig1", "--quick", "--synthetic", "--json", "--out", tmp_path)
    assert json.loads(out)["rows"] == saved.as_dict()["rows"]
