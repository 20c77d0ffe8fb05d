"""tople2020, Def. 7 and the proof of Theorem 5: the advantage is the generalisation gap over the bound."""

import numpy as np
import pytest

from leakscope.attacks import bounded_loss
from leakscope.attacks.protocol import Evidence, Known


@pytest.mark.parametrize(("release", "bound"), [("likelihood_loss", 1.0), ("squared_error", 4.0)])
def test_advantage_is_the_gap_of_the_losses_over_the_bound(release, bound):
    rng = np.random.default_rng(0)
    loss_in, loss_out = bound * rng.beta(1, 4, 500), bound * rng.beta(2, 2, 500)
    known = Known(np.array([[bound], [0.0]]), None, np.array([False, True]))
    says = [
        bounded_loss(release).guess(Evidence(loss[:, None], None, known), rng).says_member
        for loss in (loss_in, loss_out)
    ]
    # [tople2020, Theorem 5, third equality of the proof]
    assert says[0].mean() - says[1].mean() == pytest.approx((loss_out.mean() - loss_in.mean()) / bound, abs=1e-12)


def test_on_labels_the_advantage_is_the_gap_of_the_accuracies():
    rng = np.random.default_rng(1)
    true = rng.integers(0, 3, 1000)
    predicted = np.where(rng.random(1000) < 0.8, true, (true + 1) % 3)
    known = Known(np.zeros((2, 1)), np.zeros(2), np.array([True, False]))
    guesses = bounded_loss("labels").guess(Evidence(predicted[:, None].astype(float), true, known), rng)
    assert guesses.says_member.mean() == pytest.approx(np.mean(predicted == true))


def test_losses_beyond_the_known_bound_are_surely_not_members():
    known = Known(np.array([[1.0], [2.0]]), None, np.array([True, False]))
    guesses = bounded_loss("squared_error").guess(Evidence(np.array([[5.0]]), None, known), np.random.default_rng(0))
    assert guesses.says_member.tolist() == [0.0]
