"""An attacker who knows no member and trains shadow models."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

import leakscope as ls
from leakscope import InputError, toys
from leakscope.attacks import learned, loss_threshold
from leakscope.shadow import split_holdout


def audit_toy(toy, **options):
    return ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit, **options)


def test_what_members_of_shadow_models_look_like_tells_members_of_the_target():
    """The lookup model is sure of its members alone: attacks on its loss, fitted elsewhere, are always right."""
    found = audit_toy(toys.lookup(n=300), shadows=2)
    risks = {(risk.release, risk.attack): risk for risk in found.risks}
    for name in (("log_loss", "learned on loss (tree)"), ("log_loss", "loss threshold")):
        assert risks[name].auc.value == 1.0
        assert risks[name].advantage.value == 1.0
        assert risks[name].control.auc.low <= 0.5 <= risks[name].control.auc.high
        assert risks[name].permuted.auc.low <= 0.5 <= risks[name].permuted.auc.high
    assert found.verdict.kind == "leaks"
    assert found.target.shadow_models.models == 2


def test_the_attackers_half_of_the_holdout_is_not_judged():
    found = audit_toy(toys.lookup(n=300), shadows=2)
    assert found.target.nonmembers == 150
    assert found.target.judged == 150
    assert len(found.records) == 300
    assert found.target.shadow_models.records == 75
    assert any("each shadow model was trained on 75 records of it" in warning for warning in found.warnings)


def test_a_constant_model_gives_shadows_nothing():
    found = audit_toy(toys.constant(n=400), shadows=2, attacks=[learned("probabilities", "confidences", "tree")])
    assert found.strongest.auc.low <= 0.5 <= found.strongest.auc.high
    assert found.verdict.kind != "leaks"


def test_shadows_find_about_what_known_members_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 5))
    y = (X[:, 0] + rng.normal(size=2400) > 0).astype(int)
    model = ExtraTreesClassifier(40, min_samples_leaf=3, random_state=0).fit(X[:1200], y[:1200])
    sets = (X[:1200], y[:1200]), (X[1200:], y[1200:])
    attacks = [learned("log_loss", "loss", "tree")]
    known, shadow = (ls.audit(model, *sets, attacks=attacks, shadows=number).strongest for number in (0, 4))
    assert known.auc.low > 0.5
    assert shadow.auc.low > 0.5
    assert abs(known.auc.value - shadow.auc.value) < known.auc.high - known.auc.low


def test_the_same_seed_gives_the_same_numbers():
    first, second = (audit_toy(toys.lookup(n=200), shadows=2, seed=4, workers=workers) for workers in (1, 2))
    assert first.risks == second.risks
    assert first.records.equals(second.records)


def test_copies_stay_on_one_side():
    hashes = np.array([1, 1, 2, 3, 3, 3, 4, 5, 6, 7], np.uint64)
    theirs, rest = split_holdout(hashes, np.random.default_rng(0))
    assert sorted([*theirs, *rest]) == list(range(10))
    assert not set(hashes[theirs]) & set(hashes[rest])


@pytest.mark.parametrize(
    ("shadows", "says"), [(3, "even number"), (-2, "even number"), (True, "even number"), ("4", "even")]
)
def test_a_wrong_number_of_shadows_is_refused(shadows, says):
    with pytest.raises(InputError, match=says):
        audit_toy(toys.lookup(n=100), shadows=shadows)


def test_shadows_need_a_way_to_train_and_enough_records():
    toy = toys.lookup(n=100)
    with pytest.raises(InputError, match="can be trained again"):
        ls.audit(toy.model, toy.train, toy.holdout, shadows=2)
    small = toys.lookup(n=60)
    with pytest.raises(InputError, match="at least 80 held-out records"):
        audit_toy(small, shadows=2, attacks=[loss_threshold("log_loss")])
