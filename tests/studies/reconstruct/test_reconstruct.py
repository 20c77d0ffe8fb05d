"""The audit of record explanations: figures and claims of a known world, and of users' tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import leakscope as ls
from leakscope import InputError
from leakscope.attacks import RECONSTRUCTIONS
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat
from leakscope.releases.oracle import Prior
from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
from leakscope.report.document import Value
from leakscope.report.documents import document
from leakscope.report.documents.reconstruction import advise
from leakscope.studies.reconstruct import RecordRelease, read_people, reconstruct, usual_defenses
from leakscope.studies.reconstruct.claims import claims

FAST = ["uniform", "records", "graph", "subspace"]


def people(seed=0, n=160, d=6):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.where(X[:, 0] + rng.normal(0, 0.3, n) > 0.5, "yes", "no")
    return X, y


def small(**options):
    """The audit of 160 people by one cheap attack."""
    return reconstruct(*people(), **{"attacks": ["uniform"], "queries": 20} | options)


def halved(**options):
    """The audit of 80 people with a holdout of as many."""
    X, y = people()
    return reconstruct(X[:80], y[:80], holdout=(X[80:], y[80:]), **{"attacks": ["uniform"], "queries": 20} | options)


def codes(found):
    return {caveat.code for caveat in found.warnings}


@pytest.fixture(scope="module")
def found():
    X, _ = people()
    groups = pd.DataFrame({"side": np.where(X[:80, 1] > 0.5, "left", "right")})
    return halved(
        attacks=FAST, queries=200, groups=groups, runs=2,
        release=RecordRelease(k=2), defended=[RecordRelease(k=1), RecordRelease(k=2, values=False)],
        ids=[f"person {number}" for number in range(80)],
    )  # fmt: skip


def test_attacks_are_those_of_the_package_run_by_hand(found):
    X, y = people()
    models = leave_one_out(X[:80], y[:80])
    prior = Prior(X.min(axis=0), X.max(axis=0), X[80:])
    for place, name in ((0, "uniform"), (3, "graph")):
        assert list(RECONSTRUCTIONS)[place] == name
        counts = []
        for repeat in range(2):
            rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(place, repeat)))
            oracle = RecordRelease(k=2).oracle(models, X[:80], y[:80], budget=200, seed=int(rng.integers(2**31)))
            counts.append(len(RECONSTRUCTIONS[name].run(oracle, prior, rng)))
        reported = next(one for one in found.attacks if one.attack == RECONSTRUCTIONS[name].name)
        assert reported.records.value == np.mean(counts)
        assert reported.share.value == pytest.approx(np.mean(counts) / 80)


def test_curves_rise_to_the_share_and_keep_the_budget_and_nothing_wrong_is_recovered(found):
    for one in found.attacks:
        assert one.wrong == 0
        shares = [share.value for _, share in one.curve]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(one.share.value)
        assert one.curve[-1][0] <= 200
        assert one.queries.high <= 200


def test_self_revelation_is_the_definition(found):
    X, y = people()
    models = leave_one_out(X[:80], y[:80])
    records = RecordExplanation(10).explain(models, X[:80]).records
    own = np.arange(80)[:, None]
    for k, share in found.self_revealing.items():
        assert share.value == pytest.approx((records[:, :k] == own).any(axis=1).mean())
        assert share.low < share.value < share.high
    assert found.records["id"].tolist() == [f"person {number}" for number in range(80)]
    assert set(FAST) <= set(found.records.columns)
    smallest = found.records["self_revealed_at"].to_numpy()
    assert ((smallest > 0) & (smallest <= 2)).mean() == pytest.approx(found.self_revealing[2].value)


def test_groups_together_are_everybody(found):
    assert sum(group.records for group in found.groups) == 80
    total = sum(group.records * group.share.value for group in found.groups)
    assert total == pytest.approx(80 * found.self_revealing[2].value)


def test_outliers_are_a_group_of_their_own():
    X, y = people(n=300)
    X[:30] += 5 * np.eye(6)[np.arange(30) % 6] * np.arange(1, 31)[:, None]  # far from each other and from everybody
    found = reconstruct(X, y, attacks=["uniform"], queries=20)
    groups = {group.level: group for group in found.groups if group.column == "distance to nearest"}
    assert {level: group.records for level, group in groups.items()} == {"farthest tenth": 30, "others": 270}
    models = leave_one_out(X, y)
    own = (RecordExplanation(5).explain(models, X).records == np.arange(300)[:, None]).any(axis=1)
    assert groups["farthest tenth"].share.value == pytest.approx(own[:30].mean())


def test_members_are_told_apart_and_the_control_is_chance(found):
    revelation = found.membership[0]
    assert revelation.auc.low > 0.5
    assert revelation.control.kind == "never trained"
    assert revelation.control.auc.low <= 0.5 <= revelation.control.auc.high


def test_hiding_influences_stops_what_needs_them(found):
    hidden = found.defended[1]
    assert "subspace reduction" not in hidden.shares
    assert "subspace reduction" in found.defended[0].shares
    assert hidden.usefulness.error is None
    assert found.defended[0].usefulness.found.value == pytest.approx(1 / 5)


def test_hidden_influences_are_not_judged_by_their_values():
    found = halved(attacks="uniform", release=RecordRelease(values=False))
    assert [risk.attack for risk in found.membership] == ["self-revelation"]


def test_too_few_different_records_are_said_and_end_nothing():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3)).astype(float)
    y = (X[:, 0] + rng.random(200) > 0.8).astype(int)
    found = reconstruct(X[:100], y[:100], holdout=(X[100:], y[100:]), attacks="all", queries=20, defended="usual")
    assert found.membership == ()
    assert found.not_run[-1].attack == "membership attacks"
    same = reconstruct(np.ones((40, 2)), np.arange(40) % 2, attacks=["uniform"], queries=20, defended="usual")
    assert all("0.99" not in row.release for row in same.defended)


def test_one_run_has_no_interval():
    found = small(runs=1, defended=[RecordRelease(k=1)])
    assert "one_run" in codes(found)
    assert found.attacks[0].share.kind == "estimate"
    assert found.claim("less_recovered").outcome == "inconclusive"


def test_every_answer_with_all_records_recovers_all():
    X, y = people(n=40)
    found = reconstruct(X, y, attacks=["uniform"], queries=2000, runs=2, release=RecordRelease(k=40))
    assert found.attacks[0].share.value == 1.0
    assert str(Value(found.attacks[0].share, "percent")) == "100 %"  # runs that agree have no interval to show
    assert found.claim("recovered").outcome == "yes"


def test_numbers_of_numpy_can_be_saved(tmp_path):
    three = np.int64(3)
    found = small(queries=three, runs=three, seed=three, release=RecordRelease(k=three, digits=three))
    found.save(tmp_path)
    assert ls.load(tmp_path) == found


def test_precision_is_the_attack_on_rounded_influences():
    X, y = people(n=100, d=60)
    found = reconstruct(X, y, attacks=["subspace"], queries=4000, runs=2, precision=[16, 1], release=RecordRelease(k=1))
    assert list(found.precision) == [1, 16]
    assert found.precision[16].value == pytest.approx(found.attacks[0].share.value, abs=0.02)
    assert found.precision[1].value < found.precision[16].value / 2


@pytest.mark.parametrize("name", ["subspace", "combined", "zeroing"])
def test_attacks_know_the_loss_of_the_release(name):
    """By the log-loss records rank otherwise, but an attack that inverts it right finds about as many."""
    X, y = people(n=200, d=20)
    counts = {}
    for loss in ("likelihood", "log"):
        found = reconstruct(X, y, attacks=[name], queries=2000, runs=3, release=RecordRelease(k=1, loss=loss))
        counts[loss] = found.attacks[0].records.value
    assert counts["log"] > 0.8 * counts["likelihood"]


def test_noise_is_in_everything_that_is_reported():
    plain, noisy = (small(release=RecordRelease(k=5, noise=noise)) for noise in (0.0, 1e3))
    # Records are then shown at random: each is among its own five with probability 5/160.
    assert plain.self_revealing[5].value > 0.2
    assert noisy.self_revealing[5].low < 5 / 160 < noisy.self_revealing[5].high
    assert noisy.graph.in_degree_zero < plain.graph.in_degree_zero


def test_equal_records_are_no_outsiders():
    found = small(holdout=people())
    assert found.membership == ()
    assert Caveat("copies_removed_from_holdout", {"records": 160}) in found.warnings


def test_accuracy_does_not_cut_labels_short():
    X, y = people()
    y = np.where(y == "yes", "no", "n")  # the holdout has the shorter one only
    ours = y[80:] == "n"
    short = np.array(["n"] * int(ours.sum()))
    found = reconstruct(X[:80], y[:80], holdout=(X[80:][ours], short), attacks=["uniform"], queries=20)
    right = leave_one_out(X[:80], y[:80]).probabilities(X[80:][ours]) < 0.5
    assert found.accuracy.value == pytest.approx(right.mean())
    assert 0.5 < found.accuracy.value < 1


def test_the_usual_defenses_begin_with_the_release_and_repeat_nothing():
    X, y = people()
    models = leave_one_out(X, y)
    for release in (RecordRelease(), RecordRelease(k=1), RecordRelease(values=False), RecordRelease(digits=3),
                    RecordRelease(near=0.5, noise=0.5, digits=2)):  # fmt: skip
        found = usual_defenses(models, X, release)
        assert found[0] == release
        assert all(one.noise >= release.noise and one.k <= release.k for one in found)
        assert all(one.digits is None or one.digits <= (release.digits or 17) for one in found)
        assert len({one.words for one in found}) == len(found)


def test_without_a_holdout_nothing_is_skipped_silently():
    found = small(attacks=["uniform", "marginal", "records"], runs=1)
    refused = ["static queries (marginal)", "static queries (records)", "membership attacks"]
    assert [item.attack for item in found.not_run] == refused
    assert found.membership == ()
    assert found.accuracy is None


def test_the_same_seed_gives_the_same_audit_and_another_another():
    one, two, other = (halved(attacks=["uniform", "graph"], queries=40, seed=seed) for seed in (1, 1, 2))
    assert replace(one, created=two.created) == two
    assert one.attacks != other.attacks


def test_an_attack_is_the_same_whoever_runs_beside_it():
    alone, beside = (small(attacks=attacks, queries=60) for attacks in (["graph"], ["uniform", "graph"]))
    assert alone.attacks[0] == beside.attacks[1]


# --- claims -----------------------------------------------------------------------------------------------------------


def test_membership_is_claimed_beyond_the_control_with_simultaneous_intervals(found):
    claim = found.claim("membership", attack="self-revelation")
    assert claim.outcome == "yes"
    assert claim.estimates["auc"].confidence == pytest.approx(0.975)
    assert claim.estimates["auc"].value == found.membership[0].auc.value
    strong = replace(found.membership[0], beyond_control=Estimate(0.1, -0.1, 0.3))
    (doubted,) = [one for one in claims(found, [strong]) if one.code == "membership"]
    assert doubted.outcome == "inconclusive"


def test_a_release_is_advised_only_if_every_attack_recovers_significantly_less(found):
    less = replace(found.defended[0], share=Estimate(0.01, 0.0, 0.02), shares={"a": Estimate(0.01, 0.0, 0.02)})
    for shares, outcome in (
        (less.shares, "yes"),
        (less.shares | {"b": found.strongest.share}, "inconclusive"),
        ({"a": Estimate(1.0, 1.0, 1.0)}, "no"),
    ):
        changed = _defended(found, replace(less, shares=shares))
        assert changed.claim("less_recovered").outcome == outcome
        assert len(advise(changed)) == (outcome == "yes")
    assert advise(_defended(found, replace(less, share=None, shares={}))) == []


def _defended(found, release):
    now = replace(found, defended=(release,), claims=())
    return replace(now, claims=tuple(claims(now, ())))


def test_groups_are_compared_by_simultaneous_gaps(found):
    outcomes = [one.outcome for one in found.claims if one.code == "group_gap" and "attack" not in one.subject]
    assert outcomes == [
        "yes" if group.gap.low > 0 else "no" if group.gap.high < 0 else "inconclusive" for group in found.groups
    ]


def test_curves_are_drawn_as_they_were_measured(found):
    curves, _ = document(found).charts()
    assert curves.x.scale == "log"
    for series, attack in zip(curves.series, found.attacks, strict=True):
        assert [(mark.x, mark.y) for mark in series.marks] == list(attack.curve)


NAMED = {
    "queries": [0], "runs": [0], "seed": [-1, 1.5], "confidence": [0.3, "a", 2.0], "attacks": [5], "release": [5],
    "defended": ["foo", RecordRelease()], "precision": [3], "ids": [["a"]],
    "groups": [pd.DataFrame({"a": [1]}), pd.DataFrame(np.zeros((160, 2)), columns=["a", "a"])],
    "holdout": [7, (np.zeros((4, 2)), ["no"] * 4), (np.zeros((4, 6)), ["maybe"] * 4)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "named"),
    [
        *(({name: value}, name) for name, values in NAMED.items() for value in values),
        ({"attacks": ["magic"]}, "'magic'"),
        ({"attacks": "magic"}, "'magic'"),
        ({"attacks": []}, "uniform"),  # what there is to choose from
        ({"attacks": [["uniform"]]}, "'uniform'"),
        ({"attacks": ["records"]}, r"\(records\)"),
        ({"release": RecordRelease(k=200)}, "^k.*200"),
        ({"defended": [RecordRelease(k=161)]}, "^k.*161"),
        ({"precision": [0]}, "digits"),
        ({"precision": [2], "release": RecordRelease(values=False), "attacks": ["uniform"]}, "precision"),
    ],
)
def test_wrong_input_is_told_before_anything_runs(options, named):
    with pytest.raises(InputError, match=named):
        reconstruct(*people(), **options)


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(100)], "age": rng.integers(18, 90, 100),
                          "job": rng.choice(["a", "b", "c"], 100), "pays": rng.choice(["yes", "no"], 100)})  # fmt: skip
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_a_table_is_split_into_training_records_and_holdout(table):
    read = read_people(table, "pays", id_column="name", groups="job")
    frame = pd.read_csv(table)
    assert read.X.shape == (80, 4)  # age, and a column for each job
    assert (read.X.min(), read.X.max()) == (0.0, 1.0)
    chosen = frame.set_index("name").loc[read.ids]
    assert read.y.tolist() == chosen["pays"].tolist()
    assert read.groups["job"].tolist() == chosen["job"].tolist()
    ages = (chosen["age"] - frame["age"].min()) / np.ptp(frame["age"])
    np.testing.assert_allclose(read.X[:, 0], ages)
    assert read.notes == (Caveat("sampled_records", {"records": 80, "of": 100}),)
    assert len(read.holdout[1]) == 20


def test_a_holdout_file_is_prepared_with_the_training_file(table, tmp_path):
    frame = pd.read_csv(table)
    frame.iloc[:30].assign(job="new").to_csv(tmp_path / "outside.csv", index=False)
    read = read_people(table, "pays", holdout=tmp_path / "outside.csv", drop="name")
    assert len(read.y) == 100
    assert read.X.shape[1] == read.holdout[0].shape[1] == 5
    assert not read.X[:, -1].any() or not read.X[:, -2].any()  # the new job is nobody's in training


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"label": "nothing"}, "label.*'nothing'"),
        ({"label": "pays", "groups": "nothing"}, "group.*'nothing'"),
        ({"label": "pays", "drop": "pays"}, "pays"),
        ({"label": "pays", "size": 1000}, "size.*1000"),
        ({"label": "pays", "size": 1}, "size.*1"),
        ({"label": "pays", "drop": "age,job,name"}, "people.csv.*pays"),
    ],
)
def test_wrong_tables_are_told(table, options, named):
    with pytest.raises(InputError, match=named):
        read_people(table, **options)
