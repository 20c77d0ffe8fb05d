"""The attacks. One file per method; adding one is a file here, a line in ``ATTACKS`` and a theory test (CONTRIBUTING)."""

from leakscope.attacks.membership_bounded_loss import bounded_loss
from leakscope.attacks.membership_learned import learned
from leakscope.attacks.membership_threshold import likelihood_ratio, loss_threshold
from leakscope.evidence import Attack, Evidence, Guesses, Known

__all__ = [
    "ATTACKS",
    "Attack",
    "Evidence",
    "Guesses",
    "Known",
    "bounded_loss",
    "learned",
    "likelihood_ratio",
    "loss_threshold",
]

#: What an audit runs unless told otherwise. Those that a model can't give the release for are listed as not run.
ATTACKS: dict[str, tuple[Attack, ...]] = {
    "classification": (
        bounded_loss("labels"),
        learned("probabilities", "confidences", "logistic regression"),
        learned("probabilities", "label and confidences", "tree"),
        loss_threshold("log_loss"),
        learned("log_loss", "loss", "tree"),
        likelihood_ratio("likelihood_loss"),
        bounded_loss("likelihood_loss"),
    ),
    "regression": (
        loss_threshold("squared_error"),
        likelihood_ratio("squared_error"),
        bounded_loss("squared_error"),
        learned("squared_error", "loss", "tree"),
    ),
}
