"""Finished reproductions in a cache: not run again, run again after a change, and a stopped run goes on where it was."""

import json

import pytest
from commands import check_refused, shown

import leakscope as ls
from leakscope import papers
from leakscope.data import datasets
from leakscope.worlds import training as worlds

FEW = {"records": 20, "draws": 200, "models": 20}
SMALL = {"farokhi-fig1": FEW | {"sizes": (10, 100)}, "farokhi-fig5": FEW | {"deviations": (0.0, 1.0)}}


@pytest.fixture
def fast(monkeypatch):
    """The quick version of Figure 1, smaller; counts how often it runs."""
    module = papers.reproductions()["farokhi-fig1"]
    monkeypatch.setattr(module, "QUICK", module.QUICK | SMALL["farokhi-fig1"])
    return counted(module, monkeypatch)


def counted(module, monkeypatch):
    runs, original = [], module.run

    def run(work, **settings):
        runs.append(module.ID)
        return original(work, **settings)

    monkeypatch.setattr(module, "run", run)
    return runs


def reproduce_fig1(cache, **options):
    return papers.reproduce("farokhi-fig1", quick=True, workers=1, cache=cache, **{"synthetic": True} | options)


def test_a_finished_reproduction_is_not_run_again(fast, tmp_path):
    first, again = reproduce_fig1(tmp_path / "cache"), reproduce_fig1(tmp_path / "cache")
    assert len(fast) == 1
    assert again == first
    assert papers.reproduce("farokhi-fig1", quick=True, workers=1, synthetic=True).rows == first.rows


@pytest.mark.parametrize(
    "change", ["seed", "settings", "versions", "code", "another cache", "damaged", "other numbers"]
)
def test_a_changed_or_damaged_one_is_run_again(change, fast, tmp_path, monkeypatch):
    reproduce_fig1(tmp_path / "cache")
    [path] = (tmp_path / "cache").glob("reproduction-*.result")
    options, folder = {}, tmp_path / "cache"
    if change == "seed":
        options = {"seed": 1}
    elif change == "settings":
        module = papers.reproductions()["farokhi-fig1"]
        monkeypatch.setattr(module, "QUICK", module.QUICK | {"sizes": (10, 90)})
    elif change == "versions":
        monkeypatch.setattr("leakscope.papers.finished.versions", lambda: {"numpy": "99"})
    elif change == "code":
        monkeypatch.setattr("leakscope.papers.finished.code_digest", lambda: "another")
    elif change == "another cache":
        folder = tmp_path / "other"
    elif change == "damaged":
        path.write_text("{}")
    else:
        path.write_bytes(path.read_bytes().replace(b'"rows": [{"n": 10, ', b'"rows": [{"n": 11, '))
    reproduce_fig1(folder, **options)
    assert len(fast) == 2
    reproduce_fig1(folder, **options)
    assert len(fast) == 2


def test_a_result_on_other_data_is_run_again(fast, tmp_path, monkeypatch):
    """The real data may be replaced, or arrive, between two runs: what the result rests on is compared."""
    real = datasets.load
    monkeypatch.setattr(datasets, "load", lambda name, **options: real(name, **options | {"synthetic": True}))
    digests = iter(["first", "first", "second", "second"])
    monkeypatch.setattr(datasets, "fingerprint", lambda name: next(digests))
    for expected in (1, 1, 2):
        reproduce_fig1(tmp_path, synthetic=False)
        assert len(fast) == expected


def test_trainings_of_a_stopped_reproduction_are_kept(tmp_path, monkeypatch):
    """Killed after its last training, before its result is kept: the second run trains nothing."""
    monkeypatch.setattr(papers.reproductions()["farokhi-fig1"], "QUICK", {"sizes": (10, 30), **FEW})
    monkeypatch.setattr("leakscope.papers.farokhi._figures", stop)
    with pytest.raises(KeyboardInterrupt):
        reproduce_fig1(tmp_path)
    assert list(tmp_path.glob("*.npz"))
    monkeypatch.undo()
    monkeypatch.setattr(papers.reproductions()["farokhi-fig1"], "QUICK", {"sizes": (10, 30), **FEW})
    expected = papers.reproduce("farokhi-fig1", quick=True, workers=1, synthetic=True)
    trained = []
    original = worlds.run_tasks

    def watched(run, tasks, *rest):
        trained.extend(tasks)
        return original(run, tasks, *rest)

    monkeypatch.setattr(worlds, "run_tasks", watched)
    assert reproduce_fig1(tmp_path).rows == expected.rows
    assert trained == []


def stop(*_, **__):
    raise KeyboardInterrupt


def test_a_stopped_run_of_all_goes_on_where_it_was(capsys, tmp_path, monkeypatch):
    few = {name: papers.reproductions()[name] for name in ("farokhi-fig1", "farokhi-fig5", "tople-tab1")}
    monkeypatch.setattr(papers, "reproductions", lambda: few)
    for name in ("farokhi-fig1", "farokhi-fig5"):
        monkeypatch.setattr(few[name], "QUICK", few[name].QUICK | SMALL[name])
    runs = [counted(module, monkeypatch) for module in few.values()]
    whole = few["farokhi-fig5"].run
    monkeypatch.setattr(few["farokhi-fig5"], "run", stop)
    asked = ("reproduce", "--all", "--quick", "--synthetic", "--json", "--cache", tmp_path / "cache")
    code, _, err = shown(capsys, *asked, "--out", tmp_path / "one")
    assert (code, len(err.splitlines())) == (130, 1)
    assert [len(done) for done in runs] == [1, 0, 0]
    assert (tmp_path / "one" / "farokhi-fig1" / "result.json").is_file()
    monkeypatch.setattr(few["farokhi-fig5"], "run", whole)
    code, out, _ = shown(capsys, *asked, "--out", tmp_path / "two")
    assert code == 0
    assert [len(done) for done in runs] == [1, 1, 1]
    assert [result["id"] for result in json.loads(out)] == list(few)
    assert len(list((tmp_path / "two").glob("*/*"))) == 3 * 3
    first, second = (ls.load(tmp_path / part / "farokhi-fig1") for part in ("one", "two"))
    assert first == second


def test_a_cache_that_is_a_file_is_refused_before_anything_is_shown(capsys, tmp_path, fast):
    (tmp_path / "file").write_text("in the way")
    asked = ("reproduce", "farokhi-fig1", "--quick", "--synthetic", "--out", tmp_path)
    check_refused(capsys, "file", *asked, "--cache", tmp_path / "file")
    assert fast == []
