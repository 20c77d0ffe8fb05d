"""Public names, and those of the last version, which work with a warning."""

import pytest

import leakscope as ls

FORMER = {**ls._FORMER, **ls._FORMER_MODULES}


def test_dir_lists_the_public_names_only():
    assert dir(ls) == sorted(ls.__all__)
    assert all(getattr(ls, name) is not None for name in ls.__all__)


def test_former_names_work_with_a_warning_that_says_where_they_are():
    for name, place in FORMER.items():
        with pytest.warns(FutureWarning, match=f"leakscope.{place}"):
            value = getattr(ls, name)
        names = (ls._RENAMED.get(name, name), place.rpartition(".")[2])
        assert getattr(value, "__name__", name).rpartition(".")[2] in names


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'no_such_name'"):
        _ = ls.no_such_name
