"""The cache goes by content, and nothing but what it stored itself is read from it."""

import errno
import os
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retraining import Keyed, Ridge, StackedRidge, observe, records, same_bits, trainings

from leakscope.core.errors import InputError, ResourceError
from leakscope.worlds.cache import SECRET, open_cache
from leakscope.worlds.training import TrainingSets, leave_one_out, random_sets, retrain


def test_the_cache_goes_by_content(tmp_path: Path) -> None:
    X, y = records()
    log = tmp_path / "log"
    sets = random_sets(40, 20, 4, seed=0)

    def count(
        learner: Any, X: Any = X, y: Any = y, sets: TrainingSets = sets, seed: int = 0, see: Any = observe
    ) -> int:
        before = trainings(log)
        retrain(learner, X, y, sets, see, seed=seed, workers=1, cache=tmp_path / "cache")
        return trainings(log) - before

    ridge = Ridge(log=str(log))
    assert count(ridge) == 4
    assert count(Ridge(log=str(log))) == 0
    assert count(ridge, X=np.asfortranarray(X), y=y.copy()) == 0
    assert count(ridge, sets=random_sets(40, 20, 6, seed=0)) == 2  # the first four training sets are the same
    changed = X.copy()
    changed[3, 2] += 1e-12
    assert count(ridge, X=changed) == 4
    assert count(ridge, y=y + 1) == 4
    assert count(Ridge(penalty=2.0, log=str(log))) == 4
    assert count(ridge, seed=1) == 4
    assert count(ridge, sets=random_sets(40, 20, 4, seed=1)) == 4
    assert count(ridge, see=lambda model, *_: {"weights": model * 2}) == 4
    assert count(ridge) == 0
    assert count(Keyed(log=str(log))) == 4
    assert count(Keyed(penalty=3.0, log=str(log))) == 0


@pytest.mark.parametrize("learner", [Ridge(), StackedRidge()])
def test_what_comes_from_the_cache_is_the_same_to_the_last_bit(learner: Any, tmp_path: Path) -> None:
    X, y = records()

    def see(model: Any, number: int, drawn: Any) -> dict[str, Any]:
        odd = {"file": model, "a.npy": number, "a": np.float32(0.1), "0/\x00": drawn > 3, "empty": np.zeros((0, 3))}
        return {} if number == 2 else odd

    fresh = retrain(learner, X, y, leave_one_out(40), see, seed=0, workers=1)
    for _ in range(2):
        assert same_bits(fresh, retrain(learner, X, y, leave_one_out(40), see, seed=0, workers=1, cache=tmp_path))


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Path, Any, Path]:
    """Give a filled cache folder, a function that retrains with it, and the log of trainings (6 so far)."""
    X, y = records(6)
    folder, log = tmp_path / "cache", tmp_path / "log"
    run = partial(retrain, Ridge(log=str(log)), X, y, leave_one_out(6), observe, seed=0, workers=1, cache=folder)
    run()
    return folder, run, log


def entry(folder: Path) -> Path:
    return min(folder.glob("*.npz"))


def overwritten(change: Any) -> Any:
    """Change the bytes of an entry."""
    return lambda folder: entry(folder).write_bytes(change(entry(folder).read_bytes()))


def rewritten(change: Any) -> Any:
    """Replace an entry by a valid archive of the same names without its digest, as an editor of the file would."""

    def rewrite(folder: Path) -> None:
        with np.load(entry(folder)) as stored:
            arrays = {name: change(stored[name]) if name == "0.0" else stored[name] for name in stored}
        np.savez(entry(folder), **arrays)

    return rewrite


def pickled(folder: Path) -> None:
    np.savez(entry(folder), names=np.array([print], object), allow_pickle=True)


def swapped(folder: Path) -> None:
    first, second = sorted(folder.glob("*.npz"))[:2]
    first.write_bytes(second.read_bytes())


def linked(folder: Path) -> None:
    victim = entry(folder)
    victim.symlink_to(shutil.move(victim, folder.parent / "elsewhere"))


def piped(folder: Path) -> None:
    victim = entry(folder)
    victim.unlink()
    os.mkfifo(victim)


CHANGES = {
    "empty": overwritten(lambda _: b""),
    "truncated": overwritten(lambda good: good[: len(good) // 2]),
    "garbage": overwritten(lambda _: b"x" * 500),
    "flipped": overwritten(lambda good: good[:150] + bytes([good[150] ^ 1]) + good[151:]),
    "pickle": pickled,
    "not finite": rewritten(lambda values: values * np.nan),
    "shape": rewritten(lambda values: values[:2]),
    "values": rewritten(lambda values: values + 1),
    "renamed": swapped,
    "symbolic link": linked,
    "named pipe": piped,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_entry_is_trained_again_with_the_same_result(change: str, filled: Any) -> None:
    folder, run, log = filled
    before = run()
    CHANGES[change](folder)
    assert same_bits(before, run())
    assert trainings(log) == 7
    assert same_bits(before, run())
    assert trainings(log) == 7
    assert all(path.is_file() and not path.is_symlink() for path in folder.iterdir())


def test_entries_of_another_folder_or_a_lost_secret_are_trained_again(filled: Any, tmp_path: Path) -> None:
    folder, run, log = filled
    for path in folder.glob("*.npz"):
        (tmp_path / "other").mkdir(exist_ok=True, mode=0o700)
        shutil.copy(path, tmp_path / "other")
    run(cache=tmp_path / "other")
    assert trainings(log) == 12
    (folder / SECRET).unlink()
    run()
    assert trainings(log) == 18
    run()
    assert trainings(log) == 18


def test_infinite_and_missing_values_come_back_as_they_were(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    stored = [{"loss": np.array([np.inf, -np.inf, np.nan, 0.0])}, {}]
    cache.store("key", stored)
    found = cache.load("key", count=2)
    assert found is not None
    assert same_bits(found, stored)
    assert cache.load("key", count=1) is None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_refused_before_training(mode: int, tmp_path: Path) -> None:
    folder, log = tmp_path / "cache", tmp_path / "log"
    folder.mkdir()
    folder.chmod(mode)
    X, y = records(6)
    with pytest.raises(InputError, match="go-w") as error:
        retrain(Ridge(log=str(log)), X, y, leave_one_out(6), observe, seed=0, workers=1, cache=folder)
    assert "\n" not in str(error.value)
    assert trainings(log) == 0
    assert not list(folder.iterdir())


def test_a_folder_of_another_user_is_refused(filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, run, log = filled
    user = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(InputError, match=str(folder)):
        run()
    assert trainings(log) == 6


def test_everything_in_the_folder_is_for_its_owner_alone(filled: Any) -> None:
    folder, _, _ = filled
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_temporary_files_of_killed_runs_are_removed(filled: Any) -> None:
    folder, run, _ = filled
    before, old, foreign, young = (
        folder / name for name in (f"{64 * 'a'}.1234.part", ".1234.part", "film.part", ".5678.part")
    )
    for path in (before, old, foreign, young):
        path.write_bytes(b"half of an entry")
        if path != young:
            os.utime(path, (0, time.time() - 7200))
    run()
    assert [path.exists() for path in (before, old, foreign, young)] == [False, False, True, True]


def test_a_link_under_the_temporary_name_is_not_followed(filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, run, _ = filled
    victim = folder.parent / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (folder / ".guessed.part").symlink_to(victim)
    entry(folder).unlink()
    with pytest.raises(InputError, match=str(folder)):
        run()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("hard_links", [True, False])
def test_two_runs_that_start_at_once_use_the_same_secret(
    hard_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = []

    def make_secret(size: int) -> bytes:
        """Let another run start, and finish, while this one makes its secret."""
        monkeypatch.undo()
        if hard_links:
            others.append(open_cache(tmp_path))
        else:
            monkeypatch.setattr(os, "link", no_link)
        return os.urandom(size)

    def no_link(*_: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("secrets.token_bytes", make_secret)
    secret = open_cache(tmp_path).secret
    assert [other.secret for other in others] == [secret] * hard_links
    assert open_cache(tmp_path).secret == secret
    assert [path.name for path in tmp_path.iterdir()] == [SECRET]


def test_a_damaged_secret_is_replaced(tmp_path: Path) -> None:
    (tmp_path / SECRET).write_bytes(b"short")
    secret = open_cache(tmp_path).secret
    assert open_cache(tmp_path).secret == secret


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, ResourceError), (errno.EACCES, InputError)])
def test_an_entry_that_can_not_be_written_is_one_sentence(
    number: int, kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = open_cache(tmp_path)

    def fail(descriptor: int, _: str) -> None:
        os.close(descriptor)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fdopen", fail)
    with pytest.raises(kind, match=str(tmp_path)):
        cache.store("key", [{"loss": np.zeros(3)}])
    assert [path.name for path in tmp_path.iterdir()] == [SECRET]
