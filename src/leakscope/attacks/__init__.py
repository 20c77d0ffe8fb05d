"""Attacks: membership inference, attribute inference and reconstruction, one file per method, and their registry."""

from collections.abc import Callable
from functools import partial

from leakscope.attacks.attribute_inversion import inversion
from leakscope.attacks.attribute_learned import imputation, learned_attribute
from leakscope.attacks.attributes import AttributeAttack
from leakscope.attacks.membership_base import base
from leakscope.attacks.membership_boundary import boundary
from leakscope.attacks.membership_bounded_loss import bounded_loss
from leakscope.attacks.membership_confidence_network import confidence_network
from leakscope.attacks.membership_difficulty import difficulty_calibration
from leakscope.attacks.membership_explanation_learned import learned_explanation, learned_prediction
from leakscope.attacks.membership_explanation_network import explanation_network
from leakscope.attacks.membership_explanation_norm import explanation_norm
from leakscope.attacks.membership_explanation_references import explanation_references, learned_explanation_references
from leakscope.attacks.membership_given_score import given_score, tree_on_score
from leakscope.attacks.membership_label_only import label_only
from leakscope.attacks.membership_label_references import label_references
from leakscope.attacks.membership_learned import learned
from leakscope.attacks.membership_learned_references import learned_references
from leakscope.attacks.membership_learned_values import learned_values
from leakscope.attacks.membership_lira import lira
from leakscope.attacks.membership_quantile import quantile_regression
from leakscope.attacks.membership_record_explanation import by_group, influence_value, self_revealing, self_revelation
from leakscope.attacks.membership_residual import residual
from leakscope.attacks.membership_rmia import rmia
from leakscope.attacks.membership_threshold import likelihood_ratio, loss_threshold
from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.attacks.reconstruction_combined import combined
from leakscope.attacks.reconstruction_graph import graph_traversal
from leakscope.attacks.reconstruction_static import static_queries
from leakscope.attacks.reconstruction_subspace import subspace_reduction
from leakscope.attacks.reconstruction_zeroing import zero_found_influences
from leakscope.core.lazy import former_names
from leakscope.models.model import Task
from leakscope.releases.oracle import Reconstruction

__all__ = [
    "ATTACKS", "ATTRIBUTE_ATTACKS", "RECONSTRUCTIONS", "REGISTRY", "Attack", "AttributeAttack", "Evidence",
    "Known", "Reconstruction", "Scores", "base", "boundary", "bounded_loss", "by_group", "combined",
    "confidence_network", "difficulty_calibration", "explanation_attacks", "explanation_network",
    "explanation_norm", "explanation_references", "given_score", "graph_traversal", "imputation", "influence_value",
    "inversion", "label_only", "label_references", "learned", "learned_attribute", "learned_explanation",
    "learned_explanation_references", "learned_prediction", "learned_references", "learned_values",
    "likelihood_ratio", "lira", "loss_threshold", "prediction_attack", "quantile_regression", "reference_attacks",
    "residual", "rmia", "self_revealing", "self_revelation", "static_queries", "subspace_reduction",
    "tree_on_score", "zero_found_influences",
]  # fmt: skip

__getattr__ = former_names(__name__, {"Guesses": "Scores"})

#: Every membership inference attack that needs no setting of its own, by short name. The contract tests run over all of them.
REGISTRY: dict[str, Callable[[], Attack]] = {
    "labels": partial(bounded_loss, "labels"),
    "confidences": partial(learned, "probabilities", "confidences", "logistic regression"),
    "confidences network": partial(learned, "probabilities", "confidences", "network"),
    "label and confidences": partial(learned, "probabilities", "label and confidences", "tree"),
    "loss": partial(loss_threshold, "log_loss"),
    "loss tree": partial(learned, "log_loss", "loss", "tree"),
    "likelihood loss logistic": partial(learned, "likelihood_loss", "loss", "logistic regression"),
    "likelihood ratio": partial(likelihood_ratio, "likelihood_loss"),
    "bounded loss": partial(bounded_loss, "likelihood_loss"),
    "prediction": partial(learned_prediction, "probabilities"),
    "confidence network": confidence_network,
    "label only": label_only,
    "boundary": boundary,
    "error": partial(loss_threshold, "squared_error"),
    "error ratio": partial(likelihood_ratio, "squared_error"),
    "bounded error": partial(bounded_loss, "squared_error"),
    "error tree": partial(learned, "squared_error", "loss", "tree"),
    "value": partial(learned_prediction, "predictions"),
    "prediction and truth": learned_values,
    "rmia": rmia,
    "rmia offline": partial(rmia, online=False),
    "rmia regression": partial(rmia, "regression"),
    "rmia offline regression": partial(rmia, "regression", online=False),
    "lira": lira,
    "lira offline": partial(lira, online=False),
    "lira regression": partial(lira, "regression"),
    "lira offline regression": partial(lira, "regression", online=False),
    "base": base,
    "base regression": partial(base, "regression"),
    "difficulty": difficulty_calibration,
    "difficulty regression": partial(difficulty_calibration, "regression"),
    "learned references": learned_references,
    "learned references regression": partial(learned_references, "regression"),
    "learned references labels": partial(learned_references, prediction="labels"),
    "learned references trees": partial(learned_references, classifier="boosted trees"),
    "learned references trees regression": partial(learned_references, "regression", "boosted trees"),
    "quantile": quantile_regression,
    "quantile regression": partial(quantile_regression, "regression"),
    "label references": label_references,
    "residual": residual,
    "residual regression": partial(residual, "regression"),
    "explanation norm": partial(explanation_norm, "gradient"),
    "explanation references": partial(explanation_references, "gradient"),
    "explanation learned references": partial(learned_explanation_references, "gradient", prediction=None),
    "explanation and prediction references": partial(learned_explanation_references, "gradient"),
    "explanation": partial(learned_explanation, "gradient", second=None, true_label=False),
    "explanation and prediction": partial(learned_explanation, "gradient"),
    "explanation network": partial(explanation_network, "gradient", prediction=True, true_label=True),
    "self-revelation": self_revelation,
    "influence values": influence_value,
    "given score": partial(given_score, "score"),
    "score tree": partial(tree_on_score, "score"),
}

#: Default attacks of an audit, by short name.
DEFAULTS: dict[str, tuple[str, ...]] = {
    "classification": (
        "labels",
        "confidences",
        "label and confidences",
        "loss",
        "loss tree",
        "likelihood ratio",
        "bounded loss",
    ),
    "regression": ("error", "error ratio", "bounded error", "error tree", "prediction and truth"),
}

#: The default attacks. Attacks whose release the model can't give are listed as not run.
ATTACKS: dict[str, tuple[Attack, ...]] = {
    task: tuple(REGISTRY[name]() for name in names) for task, names in DEFAULTS.items()
}


def reference_attacks(task: Task, *, same_kind: bool = True) -> tuple[Attack, ...]:
    """Return the attacks with reference models that run wherever such models are trained, the primary one first.

    Without ``same_kind``, return those whose references are of another kind than the target.

    Examples
    --------
    >>> [attack.release for attack in reference_attacks("regression")]
    ['squared_error', 'squared_error', 'squared_error', 'squared_error']
    """
    if not same_kind:
        return (residual(task),)
    by_fit = (rmia(task), base(task), lira(task), learned_references(task))
    return by_fit if task == "regression" else (*by_fit, label_references())


def explanation_attacks(
    release: str, *, prediction: str | None = None, references: bool = False, task: Task = "classification"
) -> tuple[Attack, ...]:
    """Return the default attacks on a feature explanation: a tree on its 1-norm and boosted trees on all its values.

    With ``prediction``, the release that comes with it (``"probabilities"``, ``"labels"``, or ``"predictions"`` of a regression model),
    also boosted trees on both. With ``references``, models of the target's kind, the attacks with reference models replace these trees.
    The last attack reads the most, and `prediction_attack` is the same attack without the explanation. The attack network
    (`explanation_network`) takes minutes on large data and runs only if it is named.

    Examples
    --------
    >>> [attack.name for attack in explanation_attacks("gradient")]
    ['tree on the 1-norm', 'learned on explanation (boosted trees)']
    >>> explanation_attacks("gradient", prediction="probabilities")[2].name
    'learned on all (boosted trees)'
    >>> explanation_attacks("gradient", prediction="labels", references=True)[-1].releases
    ('gradient', 'labels', 'references', 'references of gradient')
    """
    alone = (explanation_norm(release), learned_explanation(release, second=None, true_label=False))
    if references:
        learned = learned_explanation_references(release, prediction=prediction, task=task)
        return (*alone, explanation_references(release), learned)
    return alone if prediction is None else (*alone, learned_explanation(release, second=prediction))


def prediction_attack(prediction: str, *, references: bool = False, task: Task = "classification") -> Attack:
    """Return the attack on the prediction that the last of `explanation_attacks` is compared with.

    Examples
    --------
    >>> prediction_attack("labels").name, prediction_attack("labels", references=True).name
    ('learned on prediction and label (boosted trees)', 'learned on reference models (logistic regression)')
    """
    return learned_references(task, prediction=prediction) if references else learned_prediction(prediction)


#: Default attacks on record explanations, by short name.
RECONSTRUCTIONS: dict[str, Reconstruction] = {
    "uniform": static_queries("uniform", queries=None),
    "marginal": static_queries("marginal", queries=None),
    "records": static_queries("records", queries=None),
    "graph": graph_traversal(patience=None),
    "subspace": subspace_reduction(),
    "combined": combined(),
    "zeroing": zero_found_influences(),
}

#: Default attacks of `attribute_inference`, by short name.
ATTRIBUTE_ATTACKS: dict[str, AttributeAttack] = {
    "output": inversion("output"),
    "label": inversion("label"),
    "learned": learned_attribute(),
}
