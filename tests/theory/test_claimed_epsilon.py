"""Claims of differential privacy: closed forms of the limits, what refutes a claim, and why intervals of figures do not."""

import math

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit

from leakscope.bounds.any_attack import advantage_from_epsilon
from leakscope.bounds.claimed_epsilon import (
    Pairs,
    auc_from_epsilon,
    check_claim,
    epsilon_from_advantage,
    epsilon_from_auc,
    epsilon_from_tpr,
    tpr_from_epsilon,
)
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate

CLAIMS = [(0.0, 0.0), (0.0, 0.1), (1.0, 0.0), (1.0, 0.01), (4.0, 1e-5), (2.0, 0.3)]


@pytest.mark.parametrize(("e", "delta"), CLAIMS)
def test_the_largest_auc_and_advantage_come_from_the_curve(e, delta):
    kink = (1 - delta) / (1 + math.exp(e))
    area = integrate.quad(tpr_from_epsilon, 0, 1, args=(e, delta), points=sorted({kink, 1 - delta}))[0]
    assert auc_from_epsilon(e, delta) == pytest.approx(area, abs=1e-7)
    fpr = np.linspace(0, 1, 2001)
    above = [tpr_from_epsilon(rate, e, delta) - rate for rate in [*fpr, kink]]
    assert max(above) == pytest.approx(advantage_from_epsilon(e, delta), abs=1e-12)


@pytest.mark.parametrize(("e", "delta"), CLAIMS)
def test_the_limits_are_inverted(e, delta):
    assert epsilon_from_auc(auc_from_epsilon(e, delta), delta) == pytest.approx(e, abs=1e-9)
    assert epsilon_from_advantage(advantage_from_epsilon(e, delta), delta) == pytest.approx(e, abs=1e-9)
    for fpr in (0.0, 1e-3, 0.1, 0.4, 0.8):
        tpr = tpr_from_epsilon(fpr, e, delta)
        assert epsilon_from_tpr(tpr - 1e-12, fpr, delta) <= e + 1e-6
        if delta < tpr < 1 and fpr > 0:
            assert epsilon_from_tpr(tpr, fpr, delta) == pytest.approx(e, abs=1e-6)


def test_randomised_response_lies_on_the_limit_and_is_not_refuted():
    """Of 10,000 pairs as many right answers as expected: every figure is at its limit, and the bound is below."""
    q = expit(1.0)
    told = np.repeat([1.0, -1.0], [round(10_000 * q), 10_000 - round(10_000 * q)])
    exact = {"auc": Estimate(q, q, q), "advantage": Estimate(2 * q - 1, 2 * q - 1, 2 * q - 1)}
    found = check_claim(1.0, pairs=[Pairs("told", told, -told)], tpr_at_fpr={1 - q: exact["auc"]}, **exact)
    assert not found.refuted
    assert 0.9 < found.bound.value < 1
    for figure in found.figures:
        assert figure.limit == pytest.approx(figure.found.value, abs=1e-12)
        assert figure.epsilon == pytest.approx(1.0, abs=1e-12)
    assert check_claim(0.9, pairs=[Pairs("told", told, -told)], **exact).refuted


def test_only_pairs_refute():
    perfect = Estimate(1.0, 0.99, 1.0)
    without = check_claim(1.0, auc=perfect, advantage=perfect, tpr_at_fpr={0.01: perfect})
    assert all(figure.above for figure in without.figures)
    assert (without.refuted, without.bound, without.attack) == (False, None, "")
    assert check_claim(1.0, pairs=[Pairs("loss", np.ones(500), np.zeros(500))]).refuted


def test_attacks_share_the_error_probability():
    rng = np.random.default_rng(0)
    noise, leak = (
        Pairs("noise", *rng.normal(0, 1, (2, 400))),
        Pairs("leak", rng.normal(2, 1, 400), rng.normal(0, 1, 400)),
    )
    both, alone = (check_claim(1.0, pairs=pairs) for pairs in ([noise, leak], [leak]))
    assert both.attack == "leak"
    assert both.bound == check_claim(1.0, pairs=[leak], confidence=0.975).bound
    assert 0 < both.bound.value < alone.bound.value


def test_a_claim_for_added_or_removed_records_is_converted():
    told = np.where(np.random.default_rng(1).random(5000) < expit(1.5), 1.0, -1.0)
    pairs = [Pairs("told", told, -told)]
    assert check_claim(1.0, pairs=pairs).refuted
    other = check_claim(1.0, 1e-6, pairs=pairs, neighbours="added or removed")
    assert not other.refuted
    assert (other.epsilon, other.swap_epsilon) == (1.0, 2.0)
    assert other.swap_delta == pytest.approx((1 + math.e) * 1e-6)
    nothing = check_claim(9.0, 0.1, pairs=pairs, neighbours="added or removed")
    assert (nothing.refuted, nothing.bound.value, nothing.figures) == (False, 0.0, ())


def test_an_upper_bound_of_a_rate_implies_nothing():
    rate = Estimate(0.05, 0.0, 0.05, kind="upper bound")
    assert check_claim(1.0, tpr_at_fpr={0.001: rate}).figures[0].epsilon == 0


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: check_claim(-1.0), "epsilon"),
        (lambda: check_claim(math.inf), "epsilon"),
        (lambda: check_claim(1.0, 1.0), "delta"),
        (lambda: check_claim(1.0, pairs=[Pairs("a", [1.0], [0.0])], confidence=1.0), "confidence"),
        (lambda: check_claim(1.0, pairs=[Pairs("a", [1.0], [])]), "outside"),
    ],
)
def test_wrong_claims_are_refused(call, names):
    with pytest.raises(InputError, match=names):
        call()
