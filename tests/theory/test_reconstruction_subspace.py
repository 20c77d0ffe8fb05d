"""shokri2019, Algorithm 1 and Theorem 5.1: with d-wise independent weights, at least d records fall."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.special import expit, logit

from leakscope.attacks.reconstruction_subspace import TRIES, Affine, Descent, Flat, subspace_reduction
from leakscope.core.errors import InputError
from leakscope.releases.oracle import BudgetSpent, Collector, Oracle, OracleAnswer, Prior
from leakscope.releases.record_explanations import LeaveOneOut, RecordExplanation, influences, leave_one_out


def made_up(n, d, seed, span=None, change=0.03):
    """Models with generic weights, and no data; with ``span``, their changes lie in a space of that many dimensions."""
    rng = np.random.default_rng([n, d, seed])
    full = rng.normal(size=d) / np.sqrt(d)
    moves = (
        rng.normal(0, change, (n, d)) if span is None else rng.normal(0, change, (n, span)) @ rng.normal(size=(span, d))
    )
    return LeaveOneOut(full + moves, 0.1 + rng.normal(0, change, n), full, 0.1, gradient_norm=0.0)


def oracle_of(models, k=1, loss="likelihood", **settings):
    d = models.coef.shape[1]
    rows = np.arange(len(models))[:, None] + np.zeros(d)
    return Oracle.of(models, rows, np.zeros(len(models)), RecordExplanation(k, loss), **settings)


def run(oracle, seed=0, **settings):
    return subspace_reduction(**settings).run(oracle, Prior.box(oracle.features), np.random.default_rng(seed))


def algorithm_1(oracle, rng, epsilon=1.0, far=1e4):
    """Literally [shokri2019, Algorithm 1], with line 19 corrected: |I| the same at all spanning points."""
    d = oracle.features
    points = rng.random((d + 1, d))
    w_b = np.linalg.solve(np.column_stack([points, np.ones(d + 1)]), logit(oracle.query(points).predictions))
    constraints, revealed = np.empty((0, d + 1)), []  # rows (normal, value at 0): normal · y + value = 0
    while True:
        normals, values = constraints[:, :d], constraints[:, d]
        basis = null_space(normals).T if len(normals) else np.eye(d)
        point = np.linalg.pinv(normals) @ -values if len(normals) else np.zeros(d)
        y = point + basis.T @ (basis @ (rng.random(d) - point))
        record = int(oracle.query(y[None]).records[0, 0])
        revealed.append(record)
        if not len(basis):
            return revealed
        spanning = [y]
        for v in [*basis, rng.normal(size=d) @ basis.T @ basis]:
            step = epsilon
            while int(oracle.query((y + step * v)[None]).records[0, 0]) != record:
                step /= 2
            # Half of it, so that a sign which differs at the two ends shows at the middle.
            spanning.append(y + step / 64 * v)
        sizes = np.array([abs(oracle.query(p[None]).influences[0, 0]) for p in spanning])
        if np.ptp(sizes) < 1e-12:
            return revealed
        predictions = expit(np.array(spanning) @ w_b[:d] + w_b[d])
        A = np.column_stack([(np.array(spanning) - y) @ basis.T, np.ones(len(spanning))])
        fits = []
        for sign in (1, -1):
            inside = np.clip(predictions + sign * sizes, 1e-12, 1 - 1e-12)
            change = logit(inside) - logit(predictions)
            fit, residual, *_ = np.linalg.lstsq(A, change)
            fits.append((float(residual[0]), fit))
        gradient, value = fits[int(fits[1][0] < fits[0][0])][1][:-1], fits[int(fits[1][0] < fits[0][0])][1][-1]
        if np.linalg.norm(gradient) * far < abs(value):
            return revealed
        normal = gradient @ basis
        constraints = np.vstack([constraints, [*normal, value - normal @ y]])


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(("n", "d"), [(40, 5), (40, 12), (8, 8), (5, 12), (12, 5)])
@pytest.mark.parametrize("seed", range(3))
def test_generic_weights_give_as_many_records_as_dimensions(n, d, k, seed):
    found = run(oracle_of(made_up(n, d, seed), k), seed)
    assert found.notes["zeroed"] == min(n, d)  # [shokri2019, Theorem 5.1]
    assert len(found) >= min(n, d + 1)  # and where these have no influence, one more shows
    assert found.notes["dimension"] == d - min(n, d)
    assert found.rows[:, 0].tolist() == found.records.tolist()


@pytest.mark.parametrize("loss", ["likelihood", "log"])
def test_found_records_have_no_influence_in_the_last_subspace(loss):
    models = made_up(40, 10, seed=1)
    rng = np.random.default_rng(0)
    descent = Descent(Collector(oracle_of(models, 2, loss)), Prior.box(10), rng)
    while len(descent.flat) > 4:
        descent.round()
    points = descent.flat.points(rng.normal(size=(20, len(descent.flat))))
    sizes = np.abs(influences(models, points, loss=loss))
    zeroed = np.isin(np.arange(40), list(descent.zeroed))
    # Gradients have errors of some 1e-15 / (f(1 - f)) / step, and points lie some diagonals (3) off.
    assert sizes[:, zeroed].max() < 1e-10
    assert np.median(sizes[:, ~zeroed]) > 1e-3


def test_the_literal_algorithm_reveals_as_many():
    for d, seed in [(3, 0), (3, 1), (4, 0), (4, 1)]:
        models = made_up(12, d, seed)
        literal = algorithm_1(oracle_of(models), np.random.default_rng(seed))
        assert len(set(literal)) == len(literal) == d + 1
        assert run(oracle_of(models), seed).notes["zeroed"] + 1 == len(literal)


def test_weights_in_a_space_of_few_dimensions_give_one_record_more_than_these():
    for span in (1, 3, 6):
        found = run(oracle_of(made_up(40, 10, seed=0, span=span)))
        assert found.notes["zeroed"] == span
        assert len(found) >= span + 1


def test_one_hot_data_fall_up_to_the_rank_of_the_centred_columns():
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(c)[rng.integers(0, c, 200)] for c in (2, 3, 4)] + [rng.random((200, 2))])
    y = rng.integers(0, 2, 200)
    rank = 1 + 2 + 3 + 2  # the columns of a category sum to 1, and the intercept takes the constant
    for k in (1, 5):
        oracle = Oracle.of(leave_one_out(X, y), X, y, RecordExplanation(k))
        found = run(oracle)
        assert found.notes["zeroed"] == rank
        assert found.notes["dimension"] == X.shape[1] - rank


def test_shifts_of_the_model_alone_end_the_attack():
    models = made_up(20, 4, seed=0)
    shifted = replace(models, coef=np.tile(models.coef_full, (20, 1)))
    found = run(oracle_of(shifted))
    assert found.notes["zeroed"] == 0
    # [shokri2019, Lemma F.1]: only the outermost shifts can be revealed
    assert set(found.records) <= {int(models.intercept.argmin()), int(models.intercept.argmax())}
    assert str(TRIES) in found.notes["why"]


@pytest.mark.parametrize("k", [1, 4])
def test_equal_records_count_once(k):
    models = made_up(12, 8, seed=2)
    twice = replace(models, coef=np.repeat(models.coef[:4], 3, axis=0), intercept=np.repeat(models.intercept[:4], 3))
    found = run(oracle_of(twice, k))
    assert found.notes["dimension"] == 8 - 4
    assert set(found.records // 3) == set(range(4))


@pytest.mark.parametrize("release", [np.abs, np.negative])
def test_a_bare_oracle_over_foreign_records_that_shows_sizes_alone(release):
    models, d = made_up(30, 6, seed=3), 6
    asked = []

    def answer(points):
        asked.append(points.copy())
        shown = RecordExplanation(2).explain(models, points)
        ids = np.unique(shown.records)
        rows, labels = np.full((len(ids), d), 7.0), np.array(["?"] * len(ids))
        return OracleAnswer(
            shown.probabilities, shown.records + 500, release(shown.influences), ids + 500, rows, labels
        )

    oracle = Oracle(answer, d, 2)
    found = run(oracle)
    assert found.notes["zeroed"] == d
    assert set(found.records) <= set(range(500, 530))
    assert found.queries == oracle.queries == sum(map(len, asked))
    assert (found.rows == 7.0).all()


def test_rounding_ends_it():
    models = made_up(60, 20, seed=4)
    zeroed = {digits: run(oracle_of(models, digits=digits)).notes["zeroed"] for digits in (1, 6, 16)}
    assert zeroed[16] == 20
    assert zeroed[6] >= 19
    assert zeroed[1] < 10


def test_fewer_dimensions_cost_less():
    models = made_up(60, 30, seed=5)
    full, few = run(oracle_of(models, k=3)), run(oracle_of(models, k=3), dimensions=10)
    assert (full.notes["zeroed"], few.notes["zeroed"]) == (30, 10)
    assert few.queries < full.queries / 3  # about M²/2k each, but for points that are asked again closer by
    found = run(oracle_of(models, k=3, budget=40))  # by default as many as √(2·3·40) = 15 dimensions
    assert found.notes["why"] == BudgetSpent.why
    assert found.notes["zeroed"] + found.notes["dimension"] == 15


def test_refused_queries_are_no_answers():
    models = made_up(30, 6, seed=6)
    found = run(oracle_of(models, refuse=lambda points: ((points < -0.5) | (points > 1.5)).any(axis=1)))
    assert len(found) > 0
    assert found.notes["zeroed"] < 6  # the zeros of influences lie outside of what is answered
    none = run(oracle_of(models, refuse=lambda points: np.ones(len(points), bool)))
    assert len(none) == 0
    assert str(TRIES) in none.notes["why"]


def test_cut_is_the_zero_set():
    rng = np.random.default_rng(0)
    flat = Flat(rng.normal(size=7), np.linalg.qr(rng.normal(size=(7, 4)))[0].T)
    normal, offset, other = rng.normal(size=7), 0.3, rng.normal(size=7)
    one, two = (Affine(float(v @ flat.centre + offset), flat.basis @ v) for v in (normal, other))
    before = flat.centre.copy()
    (rest,) = flat.cut(one, [two])
    np.testing.assert_allclose(flat.basis @ flat.basis.T, np.eye(3), atol=1e-14)
    t = rng.normal(size=(5, 3))
    np.testing.assert_allclose(flat.points(t) @ normal + offset, 0, atol=1e-13)
    np.testing.assert_allclose(flat.points(t) @ other + offset, [rest.at(row) for row in t], atol=1e-13)
    np.testing.assert_allclose(flat.basis @ (flat.centre - before), 0, atol=1e-14)  # the nearest point


def test_wrong_settings_are_one_sentence():
    with pytest.raises(InputError, match="dimensions"):
        subspace_reduction(dimensions=0)
    with pytest.raises(InputError, match="influences"):
        run(oracle_of(made_up(5, 3, 0), values=False))
