"""Data frames of other libraries, sparse matrices and torch data sets give what their pandas or dense form gives."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.data.containers import as_pandas, as_sparse, native_form, plain_sparse, read_dataset
from leakscope.data.encoding import as_numbers
from leakscope.data.fingerprints import fingerprint, row_hashes
from leakscope.data.records import Records, bad_values, join_records, read_features, read_groups, read_pair, take_rows
from leakscope.evaluation.near_copies import near_copies
from leakscope.models.target import make_target
from leakscope.releases.label_stability import label_stability

KINDS = [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array]


def counts(rows=60, columns=12, share=0.3, seed=0):
    """A table of small numbers, most of them zero."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random((rows, columns)) < share, rng.integers(1, 5, (rows, columns)), 0).astype(float)


def rows_of(table):
    return as_sparse(sparse.csr_array(table), "the table")


# --- sparse matrices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_sparse_matrix_has_the_rows_of_the_dense_table(kind):
    table = counts()
    given = kind(table)
    rows, mask = read_features(given, "the table"), np.arange(60) % 3 == 0
    assert len(rows) == 60
    for some in (slice(5, 9), [3, 1, 1], mask):
        np.testing.assert_array_equal(take_rows(rows, some).toarray(), table[some])
    own = plain_sparse(rows)
    assert type(own) is (sparse.csr_array if isinstance(given, sparse.sparray) else sparse.csr_matrix)
    assert len(join_records(Records(rows, mask, mask), Records(rows, mask, mask)).X) == 120


def test_the_callers_matrix_is_not_changed():
    doubled = sparse.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    rows = as_sparse(doubled, "the table")
    assert doubled.nnz == 3
    assert rows.toarray().tolist() == [[1.0, 2.0]]


def test_row_hashes_and_fingerprints_read_values_and_not_their_storage():
    table = counts()
    table[4, 2], table[5, 3] = np.nan, -0.0
    rows = rows_of(table)
    np.testing.assert_array_equal(row_hashes(rows, np.arange(60)), row_hashes(table, np.arange(60)))
    stored_zero = sparse.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    np.testing.assert_array_equal(row_hashes(stored_zero), row_hashes(np.array([[0.0, 2.0]])))
    before = fingerprint(rows)
    rows[:3].sum(axis=0)
    assert fingerprint(rows) == before != fingerprint(rows[:59])


def test_bad_values_are_those_of_the_dense_table():
    table = counts()
    table[7, 1], table[3, 5], table[9, 5], table[9, 0] = np.nan, np.inf, np.inf, np.nan
    for one, other in zip(bad_values(rows_of(table)), bad_values(table), strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        assert (one.kind, one.columns, one.first) == (other.kind, other.columns, other.first)


def test_narrow_sparse_records_are_encoded_as_dense_ones():
    table, (first, second) = counts(), (np.random.default_rng(1), np.random.default_rng(1))
    np.testing.assert_array_equal(
        as_numbers(rows_of(table), first, rows_of(table[:5])), as_numbers(table, second, table[:5])
    )
    assert first.random() == second.random()


def test_the_projection_of_wide_sparse_records_adds_up_signed_columns():
    table = counts(columns=500, share=0.05)
    found, rng = as_numbers(rows_of(table), np.random.default_rng(3)), np.random.default_rng(3)
    signs, places = rng.choice([-1.0, 1.0], 500), rng.integers(200, size=500)
    slow = np.zeros((60, 200))
    for column in range(500):
        slow[:, places[column]] += signs[column] * table[:, column]
    np.testing.assert_array_equal(found, slow)


@pytest.mark.parametrize("columns", [30, 800])
def test_near_copies_are_found_in_sparse_records(columns):
    table = counts(300, columns, share=min(0.3, 40 / columns))
    table[table > 0] += np.random.default_rng(5).normal(0, 0.2, int((table > 0).sum()))
    copies, others = np.round(table[100:250], 2), table[:200]
    sides = [Records(part, np.zeros(len(part)), np.arange(len(part))) for part in (others, copies)]
    lean = [Records(rows_of(side.X), side.y, side.ids) for side in sides]
    found = [
        near_copies(*both, tuple(row_hashes(side.X) for side in both), np.random.default_rng(0))
        for both in (sides, lean)
    ]
    truth = 100 / 150
    assert all(share.low <= truth <= share.high for share in found)


def test_label_stability_changes_sparse_records_as_dense_ones():
    table = counts(80, 6)
    table[:, 0] += np.random.default_rng(0).normal(size=80)
    y = (table.sum(axis=1) > 3).astype(int)

    def predict(X):
        total = np.asarray(X.sum(axis=1)).ravel()
        return np.column_stack([total <= 3, total > 3]).astype(float)

    dense, lean = (make_target(predict, (X[:40], y[:40]), (X[40:], y[40:])) for X in (table, sparse.csr_matrix(table)))
    answers = [label_stability(one.model, one.members.X, y[:40], y[:40]) for one in (dense, lean)]
    np.testing.assert_array_equal(*answers)


def test_an_audit_of_narrow_sparse_records_equals_that_of_dense_ones():
    from sklearn.tree import DecisionTreeClassifier

    table, rng = counts(300, 30), np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    model = DecisionTreeClassifier(random_state=0).fit(table[:150], y[:150])
    dense, lean = (
        ls.audit(model, (X[:150], y[:150]), (X[150:], y[150:]), references=2) for X in (table, sparse.csc_matrix(table))
    )
    assert dense.strongest == lean.strongest
    assert dense.claims == lean.claims
    assert dense.target == lean.target


def test_models_get_scipys_own_class():
    table, y = counts(), np.arange(60) % 2
    seen = set()

    def predict(X):
        seen.add(type(X))
        return np.full((X.shape[0], 2), 0.5)

    def fit(X, y, rng):  # noqa: ARG001
        seen.add(type(X))
        return predict

    target = make_target(predict, *((sparse.csr_matrix(table), y) for _ in range(2)), fit=fit)
    target.learner.fit(target.members.X, target.members.y, np.random.default_rng(0)).predict(target.members.X)
    assert seen == {sparse.csr_matrix}


@pytest.mark.parametrize(
    ("X", "other", "named"),
    [
        (sparse.csr_array(counts()), counts(), "same type"),
        (sparse.coo_array(np.arange(60.0)), sparse.coo_array(np.arange(60.0)), "two-dimensional"),
        (sparse.csr_array(counts() * 1j), sparse.csr_array(counts()), "real numbers"),
    ],
)
def test_sparse_records_of_another_form_are_refused(X, other, named):
    y = np.arange(60) % 2
    with pytest.raises(InputError, match=named) as caught:
        make_target(lambda X: np.full((X.shape[0], 2), 0.5), (X, y), (other, y))
    assert "\n" not in str(caught.value)


def test_a_step_that_needs_dense_records_says_so():
    with pytest.raises(InputError, match="toarray"):
        np.asarray(rows_of(counts()))


# --- data frames of other libraries -----------------------------------------------------------------------------------

ROWS = {
    "age": [30, None, 52],
    "count": [1, 2, 3],
    "pay": [1.5, None, 2.0],
    "job": ["cook", None, "judge"],
    "born": [dt.date(1994, 5, 1), None, dt.date(1972, 1, 2)],
    "seen": [dt.datetime(2024, 1, 2, 3), dt.datetime(2024, 1, 2, 4), dt.datetime(2024, 1, 2, 5)],
    "member": [True, None, False],
    "sure": [True, True, False],
}


def polars_table():
    pl = pytest.importorskip("polars")
    return pl.DataFrame(ROWS).with_columns(
        level=pl.col("job").cast(pl.Enum(["cook", "judge"])), kind=pl.col("job").cast(pl.Categorical)
    )


def test_columns_of_a_polars_table_keep_their_kind_and_their_missing_values():
    table = as_pandas(polars_table(), "the table")
    kinds = {
        name: column.dtype.kind if isinstance(column.dtype, np.dtype) else str(column.dtype)
        for name, column in table.items()
    }
    assert kinds["age"] == kinds["pay"] == "f"
    assert (kinds["count"], kinds["sure"], kinds["member"]) == ("i", "b", "boolean")
    assert kinds["born"] == kinds["seen"] == "M"
    assert table["level"].dtype == pd.CategoricalDtype(["cook", "judge"])
    assert pd.api.types.is_string_dtype(table["kind"])
    for name, values in ROWS.items():
        assert [None if pd.isna(value) else value for value in table[name]] == [
            None if value is None else pd.Timestamp(value) if kinds[name] == "M" else value for value in values
        ]


def test_a_table_goes_back_to_its_library_as_it_was():
    table = polars_table()
    assert native_form(table)(as_pandas(table, "the table")).equals(table)
    pa = pytest.importorskip("pyarrow")
    arrow = pa.table(ROWS)
    assert native_form(arrow)(as_pandas(arrow, "the table")).equals(arrow)


def test_protocols_are_read_without_knowing_the_library():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"age": [30, 41], "job": ["cook", "judge"]})

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    class Interchange:
        def __dataframe__(self, **options):
            return table.__dataframe__(**options)

    class Own:
        def to_pandas(self):
            return table.to_pandas()

    for one in (table, Stream(), Interchange(), Own()):
        assert as_pandas(one, "the table").to_dict("list") == {"age": [30, 41], "job": ["cook", "judge"]}


def test_a_table_that_cannot_be_read_is_refused_in_one_sentence():
    class Broken:
        def to_pandas(self):
            raise ValueError("no rows")

    with pytest.raises(InputError, match="Broken") as caught:
        read_features(Broken(), "the training set")
    assert "\n" not in str(caught.value)


def bank(rows=300):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.integers(18, 80, rows), "pay": rng.normal(size=rows), "job": rng.choice(list("abc"), rows)}
    )
    return table, rng.integers(0, 2, rows)


def test_an_audit_of_a_polars_table_equals_that_of_the_pandas_table():
    pl = pytest.importorskip("polars")
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    table, y = bank()
    other = pl.DataFrame(table.to_dict("list"))
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), remainder="passthrough")
    found = []
    for X, labels in ((table, y), (other, pl.Series(y))):
        model = make_pipeline(columns, DecisionTreeClassifier(random_state=0)).fit(X[:150], y[:150])
        sets = (X[:150], labels[:150]), (X[150:], labels[150:])
        found.append(ls.audit(model, *sets, groups="job", references=2))
    assert found[0].strongest == found[1].strongest
    assert found[0].claims == found[1].claims


def test_models_that_need_their_own_library_get_it():
    pl = pytest.importorskip("polars")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.tree import DecisionTreeClassifier

    table, y = bank()
    X = pl.DataFrame(table.to_dict("list"))
    own = FunctionTransformer(lambda X: X.select(pl.col("age") * 2, "pay").to_numpy())
    model = make_pipeline(own, DecisionTreeClassifier(random_state=0)).fit(X[:150], y[:150])
    sets = (X[:150], y[:150]), (X[150:], y[150:])
    for given, fit in ((model, None), (lambda X: model.predict_proba(X), lambda X, y, rng: model.fit(X, y))):
        target = make_target(given, *sets, fit=fit)
        np.testing.assert_array_equal(target.model.predict(target.members.X), model.predict_proba(X[:150]))
        again = target.learner.fit(target.members.X, target.members.y, np.random.default_rng(0))
        assert again.predict(target.nonmembers.X).shape == (150, 2)


def test_a_split_keeps_the_form_of_the_records():
    pl = pytest.importorskip("polars")
    table, y = bank()
    expected, _ = ls.split(table, y)
    for X, labels in (
        (pl.DataFrame(table.to_dict("list")), pl.Series(y)),
        (sparse.csr_matrix(table[["age", "pay"]]), y),
    ):
        side, _ = ls.split(X, labels)
        assert type(side[0]) is type(X)
        np.testing.assert_array_equal(side[1], expected[1])


def test_groups_and_ids_of_other_libraries():
    pl = pytest.importorskip("polars")
    table, y = bank()
    X = pl.DataFrame(table.to_dict("list"))
    sets = (X[:150], y[:150]), (X[150:], y[150:])
    jobs = pl.Series("work", table["job"].tolist())
    target = make_target(
        lambda X: np.full((len(X), 2), 0.5), *sets, groups=(jobs[:150], jobs[150:]), ids=pl.Series(range(150))
    )
    assert target.members.groups["work"].tolist() == table["job"][:150].tolist()
    assert target.members.ids.tolist() == list(range(150))
    assert read_groups(X[["job"]][:150], table[:150], table[150:])[0]["job"].tolist() == table["job"][:150].tolist()


# --- torch data sets and lists ----------------------------------------------------------------------------------------


def torch_pairs(rows=600):
    torch = pytest.importorskip("torch")
    return torch.utils.data, torch.utils.data.TensorDataset(
        torch.arange(rows * 2.0).reshape(rows, 2), torch.arange(rows)
    )


def test_a_data_set_is_read_once_in_its_order():
    data, _ = torch_pairs()
    asked = []

    class Squares(data.Dataset):
        def __len__(self):
            return 300

        def __getitem__(self, row):
            asked.append(row)
            return np.full(3, row, np.float32), row**2

    X, y, _ = read_pair(Squares(), "the training set")
    assert asked == list(range(300))
    assert X.shape == (300, 3)
    assert y.tolist() == [row**2 for row in range(300)]


def test_a_loader_stands_for_the_records_that_it_gives():
    import torch

    data, pairs = torch_pairs()
    loaders = {
        "plain": (data.DataLoader(pairs, 32), range(600)),
        "shuffled": (data.DataLoader(pairs, 32, shuffle=True), range(600)),
        "shuffled, last batch dropped": (data.DataLoader(pairs, 64, shuffle=True, drop_last=True), range(600)),
        "last batch dropped": (data.DataLoader(pairs, 64, drop_last=True), range(576)),
        "no batches": (data.DataLoader(pairs, None), range(600)),
        "subset": (data.DataLoader(pairs, 32, sampler=data.SubsetRandomSampler([7, 3, 599])), [3, 7, 599]),
    }
    before = torch.random.get_rng_state()
    for name, (loader, rows) in loaders.items():
        assert read_dataset(loader, "the training set")[1].tolist() == list(rows), name
    assert torch.equal(before, torch.random.get_rng_state())


def test_data_sets_without_fixed_records_are_refused():
    data, pairs = torch_pairs(8)

    class Endless(data.IterableDataset):
        def __iter__(self):
            yield 0.0, 1

    refused = [
        (Endless(), "without a length"),
        (data.DataLoader(Endless(), 4), "without a length"),
        (data.DataLoader(pairs, 4, sampler=data.WeightedRandomSampler([1.0] * 8, 8)), "WeightedRandomSampler"),
        (data.DataLoader(pairs, 4, sampler=data.RandomSampler(pairs, replacement=True)), "RandomSampler"),
        (data.TensorDataset(pairs.tensors[0]), "not pairs"),
        (data.TensorDataset(*pairs.tensors, pairs.tensors[1]), "not pairs"),
        (data.Subset(pairs, []), "is empty"),
    ]
    for given, named in refused:
        with pytest.raises(InputError, match=named) as caught:
            read_pair(given, "the training set")
        assert "\n" not in str(caught.value)


def test_lists_are_tables():
    target = make_target(lambda X: np.full((len(X), 2), 0.5), ([[1, 2.5], [3, 4]], [0, 1]), ([[1, 2], [3, 5]], [1, 0]))
    np.testing.assert_array_equal(target.members.X, [[1, 2.5], [3, 4]])
