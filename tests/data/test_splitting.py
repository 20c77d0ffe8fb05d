"""Random splits, and that `audit` recognises them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from leakscope.data.splitting import is_random_split

X = np.random.default_rng(0).normal(size=(300, 3))
Y = (X[:, 0] > 0).astype(int)


def test_an_audit_knows_the_two_sides_of_a_split():
    train, holdout = ls.split(X, Y, seed=1)
    model = LogisticRegression().fit(*train)
    assert ls.audit(model, train, holdout, workers=1).basis.random_split
    assert not ls.audit(model, tuple(train), tuple(holdout), workers=1).basis.random_split


def test_sides_of_different_splits_are_not_one():
    first, second = ls.split(X, Y, seed=1), ls.split(X, Y, seed=2)
    assert is_random_split(*first)
    assert not is_random_split(first[0], second[1])


def test_every_record_is_on_one_side_with_its_label():
    table, labels = pd.DataFrame({"a": np.arange(100)}), pd.Series(np.arange(100) * 2)
    train, holdout = ls.split(table, labels, holdout=0.25)
    assert (len(train[0]), len(holdout[0])) == (75, 25)
    for part, values in (train, holdout):
        assert (values.to_numpy() == 2 * part["a"].to_numpy()).all()
    assert sorted([*train[0]["a"], *holdout[0]["a"]]) == list(range(100))


def test_each_record_is_held_out_as_often_as_the_share_says():
    held = np.zeros(40)
    for seed in range(1000):
        held[ls.split(np.arange(40), np.arange(40), holdout=0.25, seed=seed)[1][1]] += 1
    assert np.abs(held / 1000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 1000)


@pytest.mark.parametrize("share", [0.0, 1.0, -1, 0.001, 0.999])
def test_a_share_that_leaves_a_side_empty_is_refused(share):
    with pytest.raises(ls.InputError, match="holdout"):
        ls.split(X, Y, holdout=share)
