"""The attacks. One file per method; adding one is a file here, a line in ``ATTACKS`` and a theory test (CONTRIBUTING)."""

from leakscope.attacks.attribute_inversion import inversion
from leakscope.attacks.attribute_learned import imputation, learned_attribute
from leakscope.attacks.membership_bounded_loss import bounded_loss
from leakscope.attacks.membership_confidence_network import confidence_network
from leakscope.attacks.membership_explanation_learned import learned_explanation, learned_prediction
from leakscope.attacks.membership_explanation_network import explanation_network
from leakscope.attacks.membership_explanation_norm import explanation_norm
from leakscope.attacks.membership_label_only import label_only
from leakscope.attacks.membership_learned import learned
from leakscope.attacks.membership_lira import lira
from leakscope.attacks.membership_record_explanation import (
    by_group,
    influence_value,
    self_revealing,
    self_revelation,
)
from leakscope.attacks.membership_residual import residual
from leakscope.attacks.membership_rmia import rmia
from leakscope.attacks.membership_threshold import likelihood_ratio, loss_threshold
from leakscope.attacks.reconstruction_combined import combined
from leakscope.attacks.reconstruction_graph import graph_traversal
from leakscope.attacks.reconstruction_static import static_queries
from leakscope.attacks.reconstruction_subspace import subspace_reduction
from leakscope.attacks.reconstruction_zeroing import zero_found_influences
from leakscope.attribute.evidence import AttributeAttack
from leakscope.evidence import Attack, Evidence, Guesses, Known
from leakscope.models import Task
from leakscope.oracle import Reconstruction

__all__ = [
    "ATTACKS",
    "ATTRIBUTE_ATTACKS",
    "RECONSTRUCTIONS",
    "Attack",
    "AttributeAttack",
    "Evidence",
    "Guesses",
    "Known",
    "Reconstruction",
    "bounded_loss",
    "by_group",
    "combined",
    "confidence_network",
    "explanation_attacks",
    "explanation_network",
    "explanation_norm",
    "graph_traversal",
    "imputation",
    "influence_value",
    "inversion",
    "label_only",
    "learned",
    "learned_attribute",
    "learned_explanation",
    "learned_prediction",
    "likelihood_ratio",
    "lira",
    "loss_threshold",
    "reference_attacks",
    "residual",
    "rmia",
    "self_revealing",
    "self_revelation",
    "static_queries",
    "subspace_reduction",
    "zero_found_influences",
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


def reference_attacks(task: Task, *, same_kind: bool = True) -> tuple[Attack, ...]:
    """The attacks with reference models that run wherever such models are trained, the primary one first.

    Without ``same_kind`` those with references of another kind than the target.

    Examples
    --------
    >>> [attack.beside for attack in reference_attacks("classification")]
    ['references', 'references']
    """
    return (rmia(task), lira(task)) if same_kind else (residual(task),)


def explanation_attacks(release: str, *, prediction: str | None = None) -> tuple[Attack, ...]:
    """The usual attacks on an explanation by features: the tree on its 1-norm, and boosted trees on all of it.

    With ``prediction``, the release that comes beside it (``"probabilities"``, ``"labels"``, or ``"predictions"`` of a
    regression model), also boosted trees on both. The attack network (`explanation_network`) takes minutes on large data,
    and runs only where it is asked for by name.

    Examples
    --------
    >>> [attack.name for attack in explanation_attacks("gradient")]
    ['tree on the 1-norm', 'learned on explanation (boosted trees)']
    >>> explanation_attacks("gradient", prediction="probabilities")[2].name
    'learned on all (boosted trees)'
    """
    alone = (explanation_norm(release), learned_explanation(release, beside=None, true_label=False))
    return alone if prediction is None else (*alone, learned_explanation(release, beside=prediction))


#: What an audit of explanations by records runs unless told otherwise, by short name.
RECONSTRUCTIONS: dict[str, Reconstruction] = {
    "uniform": static_queries("uniform", queries=None),
    "marginal": static_queries("marginal", queries=None),
    "records": static_queries("records", queries=None),
    "graph": graph_traversal(patience=None),
    "subspace": subspace_reduction(),
    "combined": combined(),
    "zeroing": zero_found_influences(),
}

#: What `attribute_inference` runs unless told otherwise, by short name.
ATTRIBUTE_ATTACKS: dict[str, AttributeAttack] = {
    "output": inversion("output"),
    "label": inversion("label"),
    "learned": learned_attribute(),
}
