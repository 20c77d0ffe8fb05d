"""Leakscope: measure what a machine-learning model reveals about its training data.

>>> import leakscope as ls
>>> toy = ls.toys.lookup(n=300)
>>> ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit).verdict.kind
'leaks'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope import attacks, bounds, causal, defenses, learners, toys, worlds
    from leakscope.attacks.protocol import Attack, Evidence, Guesses, Known
    from leakscope.bounds import claimed_epsilon, epsilon, pate, sensitivity
    from leakscope.core.errors import InputError
    from leakscope.core.estimate import Estimate
    from leakscope.data import datasets
    from leakscope.data.splitting import split
    from leakscope.evaluation import membership_experiment as experiment
    from leakscope.evaluation.results import Audit, Risk, Verdict
    from leakscope.evaluation.risk import score
    from leakscope.models.files import load_model
    from leakscope.models.remote import remote_model
    from leakscope.models.target import Learner, Model, Records, Target, make_target
    from leakscope.record.gate import GateResult, gate
    from leakscope.record.storage import load
    from leakscope.releases import feature_explanations as explanations
    from leakscope.releases import record_explanations as influence
    from leakscope.releases.feature_explanations import explain
    from leakscope.releases.oracle import Oracle
    from leakscope.studies import leakage
    from leakscope.studies import reconstruct as reconstruction
    from leakscope.studies.attributes import attribute_inference, attributes
    from leakscope.studies.audit import audit
    from leakscope.studies.compare import Comparison, compare
    from leakscope.studies.diff import diff
    from leakscope.studies.frontier import frontier
    from leakscope.studies.reconstruct import reconstruct
    from leakscope.studies.scores import audit_scores

__version__ = "0.1.0"

#: Public name to the module that defines it, imported when it is first used: `leakscope --help` answers at once. A module is its own home.
_HOMES = {
    "Attack": "attacks.protocol",
    "Audit": "evaluation.results",
    "Comparison": "studies.compare",
    "Estimate": "core.estimate",
    "Evidence": "attacks.protocol",
    "GateResult": "record.gate",
    "Guesses": "attacks.protocol",
    "InputError": "core.errors",
    "Known": "attacks.protocol",
    "Learner": "models.target",
    "Model": "models.target",
    "Oracle": "releases.oracle",
    "Records": "models.target",
    "Risk": "evaluation.results",
    "Target": "models.target",
    "Verdict": "evaluation.results",
    "attacks": "",
    "attribute_inference": "studies.attributes",
    "attributes": "studies.attributes",
    "audit": "studies.audit",
    "audit_scores": "studies.scores",
    "bounds": "",
    "causal": "",
    "claimed_epsilon": "bounds.claimed_epsilon:",
    "compare": "studies.compare",
    "datasets": "data.datasets:",
    "defenses": "",
    "diff": "studies.diff",
    "epsilon": "bounds.epsilon:",
    "experiment": "evaluation.membership_experiment:",
    "explain": "releases.feature_explanations",
    "explanations": "releases.feature_explanations:",
    "frontier": "studies.frontier",
    "gate": "record.gate",
    "influence": "releases.record_explanations:",
    "leakage": "studies.leakage:",
    "learners": "",
    "load": "record.storage",
    "load_model": "models.files",
    "make_target": "models.target",
    "pate": "bounds.pate:",
    "reconstruct": "studies.reconstruct",
    "reconstruction": "studies.reconstruct:",
    "remote_model": "models.remote",
    "score": "evaluation.risk",
    "sensitivity": "bounds.sensitivity:",
    "split": "data.splitting",
    "toys": "",
    "worlds": "",
}

__all__ = [
    "Attack", "Audit", "Comparison", "Estimate", "Evidence", "GateResult", "Guesses", "InputError", "Known", "Learner", "Model",
    "Oracle", "Records", "Risk", "Target", "Verdict", "attacks", "attribute_inference", "attributes", "audit", "audit_scores",
    "bounds", "causal", "claimed_epsilon", "compare", "datasets", "defenses", "diff", "epsilon", "experiment", "explain", "explanations", "frontier", "gate", "influence",
    "leakage", "learners", "load", "load_model", "make_target", "pate", "reconstruct", "reconstruction", "remote_model", "score",
    "sensitivity", "split", "toys", "worlds",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'leakscope' has no attribute {name!r}")
    home, is_module = _HOMES[name].removesuffix(":"), not _HOMES[name] or _HOMES[name].endswith(":")
    module = import_module(f"leakscope.{home or name}")
    value = module if is_module else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
