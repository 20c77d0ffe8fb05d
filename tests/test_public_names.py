"""Public names, and those of the last version, which work with a warning."""

import pytest

import leakscope as ls

FORMER = {**ls._FORMER, **ls._FORMER_MODULES}


def test_dir_lists_the_public_names_only():
    assert dir(ls) == sorted(ls.__all__)
    assert all(getattr(ls, name) is not None for name in ls.__all__)


@pytest.mark.parametrize("name", FORMER)
def test_a_former_name_works_with_a_warning_that_says_where_it_is(name):
    with pytest.warns(FutureWarning, match=f"leakscope.{FORMER[name]}"):
        value = getattr(ls, name)
    assert getattr(value, "__name__", name).rpartition(".")[2] in (
        ls._RENAMED.get(name, name),
        FORMER[name].rpartition(".")[2],
    )


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'no_such_name'"):
        _ = ls.no_such_name
