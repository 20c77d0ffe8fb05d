"""Networks stopped at a degree of overfitting, attacks on them, and Figures 1 to 3: shared steps against literal ones."""

import copy

import numpy as np
import pytest
from deciding import around, check_seed, decisions, holds

from leakscope import papers
from leakscope.attacks import explanation_norm, loss_threshold
from leakscope.attacks.protocol import Evidence, Known, Scores
from leakscope.core.errors import InputError
from leakscope.data import datasets
from leakscope.evaluation.risk import Judged
from leakscope.papers import shokri_curves, shokri_fig1, shokri_fig2, shokri_fig3, shokri_targets
from leakscope.papers.reproduction import Work
from leakscope.papers.shokri_curves import GapGroup
from leakscope.papers.shokri_fig3 import Signals
from leakscope.papers.shokri_targets import OverfitData, Schedule

torch = pytest.importorskip("torch")

SMALL = {"keys": ("purchase100",), "gaps": (0.1, 0.2), "size": 120, "draws": 2, "large_draws": 1, "widths": (16,)}
SETTINGS = {
    "shokri-fig1": SMALL | {"judged": 100, "large_judged": 100, "epochs": 1},
    "shokri-fig2": SMALL | {"judged": 100, "large_judged": 100, "epochs": 1},
    "shokri-fig3": SMALL | {"judged": 100, "resamples": 100},
}


def made_up(key="purchase100", rows=400, columns=40):
    """Bits of which a few tell the class, with half of the labels at random: a network learns them by heart."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (rows, columns), dtype=np.uint8)
    y = 2 * X[:, 0].astype(np.int64) + X[:, 1]
    wrong = rng.random(rows) < 0.5
    y[wrong] = rng.integers(0, 4, int(wrong.sum()))
    return OverfitData(key, "Made up", X, y, 4, rows // 2, Schedule((32,), epochs=16, looks=2, batch=16), "made up")


def overfit(gaps, seed=0, number=0, **options):
    source = made_up()
    case = shokri_targets.OverfitCase(source, source.size, source.training, 1)
    return shokri_targets.targets(case, gaps, seed, number, **options)


def pictures():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    return OverfitData(
        "cifar100", "Pictures", X, np.arange(20) % 5, 5, 10, Schedule((4, 6), epochs=1, looks=1, batch=4)
    )


@pytest.fixture(scope="module")
def overfitted():
    return overfit((0.1, 0.3))[-1]


def watched(stopped, most=None):
    return shokri_targets.watch(stopped, ("labels", "gradient", "log_loss"), np.random.default_rng(0), most)


# --- data and networks ----------------------------------------------------------------------------------------------


def test_records_are_drawn_once_and_scaled():
    source = pictures()
    members, others = shokri_targets.draw(source, 7, np.random.default_rng(3))
    assert not set(members.ids) & set(others.ids)
    assert len({*members.ids, *others.ids}) == 14
    for side in (members, others):
        assert side.X.dtype == np.float32
        assert side.X.shape == (7, 3, 32, 32)
        for image, row in zip(side.X, side.ids, strict=True):
            np.testing.assert_array_equal(image[1], source.X[row, :, :, 1].astype(np.float32) / np.float32(255))
        assert (side.y == source.y[side.ids]).all()
    bits, _ = shokri_targets.draw(made_up(), 5, np.random.default_rng(3))
    np.testing.assert_array_equal(bits.X, made_up().X[bits.ids])


@pytest.mark.parametrize("size", [0, 11, -1])
def test_more_records_than_there_are_can_not_be_drawn(size):
    with pytest.raises(InputError, match="Pictures"):
        shokri_targets.draw(pictures(), size, np.random.default_rng(0))


def test_networks_have_the_layers_that_the_reading_states():
    shapes = [tuple(p.shape) for p in shokri_targets.network(made_up(), (1024, 512, 256)).parameters() if p.ndim > 1]
    assert shapes == [(1024, 40), (512, 1024), (256, 512), (4, 256)]
    network = shokri_targets.network(pictures(), (16, 32))
    shapes = [tuple(p.shape) for p in network.parameters() if p.ndim > 1]
    assert shapes == [(16, 3, 5, 5), (32, 16, 5, 5), (128, 32 * 5 * 5), (5, 128)]
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 5)
    kinds = [type(part).__name__ for part in network]
    assert kinds == [*["Conv2d", "Tanh", "MaxPool2d"] * 2, "Flatten", "Linear", "Tanh", "Linear"]


# --- stopping -------------------------------------------------------------------------------------------------------


def literal_looks(source, size, seed, number):
    """Every look of a training, by a plain loop over the same draws."""
    rng = np.random.default_rng([seed, list(shokri_targets.SETS).index(source.key), number])
    order = rng.permutation(len(source.y))
    halves = (order[:size], order[size : 2 * size])
    sides = [(torch.tensor(source.X[rows], dtype=torch.float32), torch.tensor(source.y[rows])) for rows in halves]
    X, y = sides[0]
    looks = []
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**63)))
        layers, inputs = [], source.X.shape[1]
        for width in source.training.widths:
            layers += [torch.nn.Linear(inputs, width), torch.nn.Tanh()]
            inputs = width
        network = torch.nn.Sequential(*layers, torch.nn.Linear(inputs, source.classes))
        optimizer = torch.optim.Adagrad(network.parameters(), lr=0.01, lr_decay=1e-7)
        for epoch in range(source.training.epochs):
            batches = torch.randperm(size).split(source.training.batch)
            ends = {len(part): None for part in (batches[: -(-len(batches) // 2)], batches)}
            for done, batch in enumerate(batches, 1):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(X[batch]), y[batch]).backward()
                optimizer.step()
                if done in ends:
                    train, test = (float(np.mean((network(x).argmax(1) == label).numpy())) for x, label in sides)
                    looks.append((epoch + done / len(batches), train, test, copy.deepcopy(network)))
    return looks


def test_a_network_is_stopped_at_the_first_look_that_reaches_the_gap():
    source, gaps = made_up(), (0.0, 0.1, 0.2, 0.3, 0.95)
    looks = literal_looks(source, 200, seed=5, number=1)
    found = overfit(gaps, 5, number=1)
    over = [train - test for _, train, test, _ in looks]
    first = {gap: next((n for n, by in enumerate(over) if by >= gap), None) for gap in gaps[1:]}
    before = next(n for n, by in enumerate(over) if by >= shokri_targets.FIRST_GAP)
    first[0.0] = max((n for n, by in enumerate(over[:before]) if by <= shokri_targets.NO_GAP), default=None)
    reached = [gap for gap in gaps if first[gap] is not None]
    assert [stopped.wanted for stopped in found] == reached
    assert {0.1, 0.2, 0.3} <= set(reached)  # this data set overfits
    assert 0.95 not in reached
    for stopped in found:
        epochs, train, test, network = looks[first[stopped.wanted]]
        assert stopped.epochs == pytest.approx(epochs, abs=1e-12)
        assert (stopped.train, stopped.test) == (pytest.approx(train, abs=1e-12), pytest.approx(test, abs=1e-12))
        assert stopped.gap == pytest.approx(train - test, abs=1e-12)
        for ours, theirs in zip(stopped.module.parameters(), network.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


def test_the_end_is_after_all_epochs():
    *_, last = overfit((), to_end=True)
    assert (last.wanted, last.epochs) == (None, 16)


def test_the_seed_decides_and_torch_is_left_alone():
    torch.manual_seed(9)
    one = overfit((0.1,))[0]
    after = torch.rand(1)
    torch.manual_seed(9)
    assert after == torch.rand(1)
    same, other, draw = (overfit((0.1,), s, number=n)[0] for s, n in ((0, 0), (1, 0), (0, 1)))
    weights = [next(stopped.module.parameters()) for stopped in (one, same, other, draw)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], weights[3])
    assert set(one.members.ids) != set(draw.members.ids)


@pytest.mark.parametrize("gaps", [(), (-0.1,), (0.1, 1.5), (float("nan"),)])
def test_gaps_that_can_not_be_are_refused(gaps):
    with pytest.raises(InputError, match="gaps"):
        overfit(gaps)


def test_an_unknown_set_is_refused():
    with pytest.raises(InputError, match="'mnist'"):
        shokri_targets.load("mnist")


# --- attacks --------------------------------------------------------------------------------------------------------


def test_accuracy_is_the_share_of_right_decisions(overfitted):
    seen = watched(overfitted)
    for attack in (explanation_norm("gradient"), loss_threshold("log_loss")):
        judged = shokri_targets.judge(attack, seen, np.random.default_rng(0))
        right = np.mean((judged.attack_scores.says_member > 0.5) == judged.member)
        half = np.bincount(seen.sample.half)
        assert abs(half[0] - half[1]) <= 2
        found = shokri_targets.accuracy(judged)
        # halves of unequal size are weighted by m n / (m + n), which moves the mean by no more than their imbalance
        assert found.value == pytest.approx(right, abs=2 / len(seen.labels))
        assert found.low < found.value < found.high
    assert found.low > 0.5


def test_an_attack_sees_only_the_half_that_it_is_not_asked_about(overfitted):
    seen, asked = watched(overfitted), []

    def guess(evidence, rng):  # noqa: ARG001
        asked.append((evidence.observed[:, 0], evidence.known.observed[:, 0], evidence.second[:, 0]))
        return Scores(np.zeros(len(evidence)), np.zeros(len(evidence)))

    attack = shokri_fig1.Attack("spy", "log_loss", "test", guess, second="labels")
    shokri_targets.judge(attack, seen, np.random.default_rng(0))
    loss, half = seen.observed["log_loss"][:, 0], seen.sample.half
    for number, (mine, known, second) in enumerate(asked):
        np.testing.assert_array_equal(mine, loss[half == number])
        np.testing.assert_array_equal(known, loss[half != number])
        np.testing.assert_array_equal(second, seen.observed["labels"][half == number, 0])


def test_shuffled_memberships_give_chance(overfitted):
    seen = watched(overfitted)
    judged = shokri_targets.judge(loss_threshold("log_loss"), seen, np.random.default_rng(0), permuted=True)
    found = shokri_targets.accuracy(judged)
    assert found.low <= 0.5 <= found.high


def test_fewer_records_are_the_first_ones(overfitted):
    few = watched(overfitted, 30)
    assert few.sample.judged <= 30
    assert len(few.labels) == 2 * few.sample.judged
    assert sorted(few.labels[: few.sample.judged]) == sorted(
        overfitted.members.y[:30][few.sample.members[: few.sample.judged]]
    )


def test_pooled_targets_are_compared_within_each():
    rng = np.random.default_rng(0)
    parts = [decisions(rng, right, n) for right, n in ((0.6, 200), (0.8, 200), (0.7, 200))]
    together = shokri_targets.pool(parts)
    assert together.scale.stratum.tolist() == [x for n, part in enumerate(parts) for x in part.scale.stratum + 2 * n]
    assert together.scale.block.tolist() == [0] * 200 + [1] * 200 + [2] * 200
    for figure in (shokri_targets.accuracy, shokri_targets.auc):
        each = [figure(part) for part in parts]
        assert figure(together).value == pytest.approx(np.mean([point.value for point in each]), abs=1e-12)
        widths = [point.high - point.low for point in each]
        # independent targets: errors average out, so that three have about 1/√3 of the width of one
        assert figure(together).high - figure(together).low == pytest.approx(np.mean(widths) / np.sqrt(3), rel=0.1)


def test_a_gain_is_the_difference_of_two_accuracies():
    rng = np.random.default_rng(0)
    one, other = decisions(rng, 0.8), decisions(rng, 0.6)
    found = shokri_targets.gain(one, other)
    expected = shokri_targets.accuracy(one).value - shokri_targets.accuracy(other).value
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert shokri_targets.gain(other, one).value == pytest.approx(-expected, abs=1e-12)
    alike = shokri_targets.gain(one, one)
    assert (alike.value, alike.low < 0 < alike.high) == (0, True)


def test_the_interval_of_a_gain_covers():
    """Half of the decisions are shared: 95 % or more of 400 intervals hold the truth, 2.5 standard errors below at least."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        one, fresh = decisions(rng, 0.7), decisions(rng, 0.6)
        shared = rng.random(200) < 0.5
        says = np.where(shared, one.attack_scores.says_member, fresh.attack_scores.says_member)
        found = shokri_targets.gain(one, Judged(Scores(says, says), one.member, one.scale))
        hits += found.low <= 0.05 <= found.high
    assert hits / 400 >= 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / 400)


def test_the_threshold_of_the_loss_is_the_best_of_all():
    rng = np.random.default_rng(0)
    loss = rng.integers(0, 12, 60).astype(float)
    member = rng.random(60) < 0.7 - 0.04 * loss
    evidence = Evidence(np.arange(12.0)[:, None], None, Known(loss[:, None], None, member))
    says = shokri_fig1.scenarios(1)["loss"].guess(evidence, rng).says_member
    right = [np.sum((loss <= at) == member) for at in range(12)]
    chosen = int(says.sum()) - 1
    assert (says == (np.arange(12) <= chosen)).all()
    assert right[chosen] == max(right)


# --- what is said ---------------------------------------------------------------------------------------------------


def group(**right):
    rng = np.random.default_rng(0)
    return GapGroup({name: decisions(rng, share, 8000) for name, share in right.items()}, [0.0] * 4, 1)


def five(gradient=0.6, label=0.6, prediction=0.6, both=0.6, loss=0.7):
    names = dict(zip(shokri_fig1.SCENARIOS, (gradient, label, prediction, both, loss), strict=True))
    return group(**names, control=0.5)


def first_findings(*groups, key="purchase100"):
    """Observations 4.1 (accuracy rises, and linearly), 4.2, 4.3, and of the hospital data 4.2 on labels."""
    by_gap = {0.05 * place: answers for place, answers in enumerate(groups)}
    return holds(shokri_fig1._findings(made_up(key), by_gap))


def test_observations_of_figure_1_hold_where_the_numbers_say_so():
    nothing = five(0.5, 0.5, 0.5, 0.5, 0.5)
    assert first_findings(nothing, five()) == [True, True, True]
    assert first_findings(five(), five()) == [None, True, True]
    assert first_findings(five(both=0.8)) == [False, False]
    assert first_findings(nothing) == [None, None]
    rising = [five(*[0.5 + by] * 5) for by in (0.0, 0.05, 0.1, 0.15, 0.2)]
    assert first_findings(*rising)[:2] == [True, True]
    bent = [five(*[0.5 + by] * 4, 0.5 + by * by) for by in (0.0, 0.1, 0.2, 0.3, 0.4)]
    assert first_findings(*bent)[:2] == [True, False]
    for gradient, label, expected in ((0.5, 0.6, True), (0.6, 0.6, False), (0.5, 0.5, None)):
        assert first_findings(five(gradient, label, 0.5, 0.5, label), key="diabetes130")[-1] is expected


@pytest.mark.parametrize(
    ("network", "tree", "normalised", "expected"),
    [
        (0.6, 0.6, 0.5, [True, True]),
        (0.8, 0.6, 0.6, [False, False]),
        (0.6, 0.8, 0.5, [True, True]),
        (0.5, 0.5, 0.5, [None, None]),
    ],
)
def test_statements_of_figure_2_hold_where_the_numbers_say_so(network, tree, normalised, expected):
    right = dict(zip(shokri_fig2.ATTACKS, (network, tree, normalised, 0.5), strict=True))
    found = shokri_fig2._findings(made_up(), {0.1: group(**right)})
    assert holds(found) == expected


def test_a_bend_is_found_where_there_is_one():
    x = [0.0, 0.05, 0.1, 0.15, 0.2]
    line, bow = [around(0.5 + at) for at in x], [around(0.5 + 4 * at * at) for at in x]
    straight, bent = shokri_fig1.curvature(x, line), shokri_fig1.curvature(x, bow)
    assert straight.value == pytest.approx(0, abs=1e-9)
    assert bent.value == pytest.approx(4, abs=1e-9)
    design = np.vander(x, 3)
    error = 1.96 * np.sqrt(np.linalg.inv(design.T @ design)[0, 0]) * 0.01 / 1.96
    assert bent.high - bent.value == pytest.approx(error, rel=1e-9)
    assert shokri_fig1.curvature(x[:3], line[:3]) is None


# --- correlations ---------------------------------------------------------------------------------------------------


def drawn_signals(rng, records=300):
    member = np.arange(records) % 2 == 0
    common = rng.normal(size=records)
    return Signals(common + 0.5 * member + rng.normal(size=records), common - 0.5 * member, member)


def test_correlations_are_those_of_numpy_also_of_a_resample():
    rng = np.random.default_rng(0)
    found = drawn_signals(rng)
    big = Signals(1e6 + found.variance, 1e-6 * found.norm, found.member)  # neither place nor scale matters

    def literal(signals, rows):
        v, n, m = (column[rows].astype(float) for column in signals)
        return [np.corrcoef(v, m)[0, 1], np.corrcoef(n, m)[0, 1], np.corrcoef(v, n)[0, 1]]

    whole = np.arange(300)
    np.testing.assert_allclose(shokri_fig3.correlations(found)[0][0], literal(found, whole), atol=1e-12)
    np.testing.assert_allclose(shokri_fig3.correlations(big)[0][0], literal(found, whole), atol=1e-8)
    rows = rng.integers(0, 300, (3, 300))
    counts = np.stack([np.bincount(row, minlength=300) for row in rows]).astype(float)
    values, errors = shokri_fig3.correlations(found, counts)
    np.testing.assert_allclose(values, [literal(found, row) for row in rows], atol=1e-12)
    again = [shokri_fig3.correlations(Signals(*(column[row] for column in found)))[1][0] for row in rows]
    np.testing.assert_allclose(errors, again, atol=1e-12)
    constant = Signals(np.ones(300), found.norm, found.member)
    assert shokri_fig3.correlations(constant)[0][0][[0, 2]].tolist() == [0, 0]


def test_the_error_of_a_correlation_is_that_of_leaving_records_out():
    """The jackknife, record by record: n - 1 over n times the sum of squares; the two differ in the order of 1/n."""
    found = drawn_signals(np.random.default_rng(0))
    left_out = [
        shokri_fig3.correlations(Signals(*(np.delete(column, row) for column in found)))[0][0] for row in range(300)
    ]
    jackknife = np.sqrt(299 / 300 * np.sum((left_out - np.mean(left_out, axis=0)) ** 2, axis=0))
    np.testing.assert_allclose(shokri_fig3.correlations(found)[1][0], jackknife, rtol=0.02)


def test_the_bootstrap_covers_with_the_tails_that_gradients_have():
    """Exponential norms have kurtosis 9, as those of the networks: 200 intervals, the truth from 400,000 records."""
    rng = np.random.default_rng(0)

    def heavy(records):
        member = np.arange(records) % 2 == 0
        norm = rng.exponential(1 - 0.3 * member)
        return Signals(np.exp(-norm) * rng.uniform(0.2, 1, records), norm, member)

    truth = shokri_fig3.correlations(heavy(400_000))[0][0]
    assert truth[2] == pytest.approx(-0.67, abs=0.05)  # as in a network on location30
    points = [shokri_fig3.estimates([heavy(400)], 200, rng) for _ in range(200)]
    for pair, value in zip(shokri_fig3.PAIRS, truth, strict=True):
        hits = np.mean([point[pair].low <= value <= point[pair].high for point in points])
        assert hits >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


def test_draws_average_on_fishers_scale():
    rng = np.random.default_rng(0)
    one, other = drawn_signals(rng), drawn_signals(rng)
    found = shokri_fig3.estimates([one, other], 50, rng)
    expected = np.tanh(np.mean([np.arctanh(shokri_fig3.correlations(part)[0][0]) for part in (one, other)], axis=0))
    assert [found[pair].value for pair in shokri_fig3.PAIRS] == pytest.approx(expected.tolist(), abs=1e-12)


def test_signals_are_variance_and_norm(overfitted):
    found = shokri_fig3.signals(overfitted, np.random.default_rng(0))
    assert found.member.mean() == 0.5
    sides = [overfitted.model.predict(side.X) for side in (overfitted.members, overfitted.nonmembers)]
    possible = np.concatenate([((p - 1 / 4) ** 2).mean(axis=1) for p in sides])
    assert np.isin(found.variance.round(10), possible.round(10)).all()
    assert (found.norm > 0).all()


# --- the figures on made-up data ------------------------------------------------------------------------------------


def small_run(name, seed=0, **changed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shokri_curves, "load", made_up)
        return Work(papers.reproductions()[name], SETTINGS[name] | changed, seed, workers=1).run()


@pytest.mark.parametrize("name", SETTINGS)
def test_targets_reach_the_gap_that_a_row_names(name):
    result = small_run(name)
    assert result.settings["stands_in"] == ["made up"]
    for row in result.rows:
        assert row["reached"] >= row["gap"] - 1e-4
        assert row["train"] - row["test"] == pytest.approx(row["reached"], abs=2e-4)  # rounded to four places


@pytest.mark.parametrize("name", ["shokri-fig2", "shokri-fig3"])
def test_the_seed_decides_the_numbers(name):
    check_seed(lambda seed: small_run(name, seed, gaps=(0.1,), draws=1))


def test_a_figure_without_any_target_is_refused():
    with pytest.raises(InputError, match=r"0\.99"):
        small_run("shokri-fig3", gaps=(0.99,), draws=1)


def test_sets_that_are_not_here_are_named(monkeypatch):
    monkeypatch.setattr(shokri_curves, "load", lambda key: made_up() if key == "purchase100" else None)
    found, absent = shokri_curves.cases(("purchase100", "texas100"), 50, 3, 1, (8,), 2)
    assert [(case.size, case.draws, case.training.widths, case.training.epochs) for case in found] == [(50, 3, (8,), 2)]
    assert ["texas100" in words for words in absent] == [True]
    assert ["0.3" in words for words in shokri_curves.not_reached(found, [[[1], []]], (0.0, 0.3))] == [True]


# --- the data sets --------------------------------------------------------------------------------------------------


def test_generated_sets_are_named_as_such():
    with datasets.local_only(synthetic=True):
        sources = [shokri_targets.load(key) for key in shokri_targets.SETS]
    columns = [(600,), (6_170,), (32, 32, 3), (127,), (104,)]
    assert [source.X.shape[1:] for source in sources] == columns
    assert [source.classes for source in sources] == [100, 100, 100, 2, 2]
    assert {source.size for source in sources} == {shokri_targets.SIZE}
    assert all("synthetic" in source.stands_in for source in sources)


def test_other_sets_stand_in_where_one_is_not_here(monkeypatch):
    monkeypatch.setattr(datasets, "available", lambda name: name == "cifar100_20k")
    with datasets.local_only(synthetic=True):
        assert shokri_targets.load("texas100") is None
        check_location(shokri_targets.load("purchase100"))
        images = shokri_targets.load("cifar100")
    assert images.X.shape == (20_000, 32, 32, 3)
    assert "20,000" in images.stands_in


def check_location(source):
    assert (source.X.shape, source.classes, source.size) == ((5_010, 446), 30, 2_505)
    assert "purchase100" in source.stands_in


@pytest.mark.data
def test_the_sets_are_those_of_the_paper_or_say_what_stands_in():
    check_location(shokri_targets.load("location30"))
    hospital = shokri_targets.load("diabetes130")
    assert (hospital.X.shape[1], hospital.classes, hospital.size) == (127, 2, 10_000)
    assert hospital.X.dtype == np.float32
    assert hospital.stands_in == ""
    assert shokri_targets.load("location30").name == "Location"
