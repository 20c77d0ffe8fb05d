"""Leakscope: measure what a machine-learning model reveals about its training data.

>>> import leakscope as ls
>>> toy = ls.toys.lookup(n=300)
>>> ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit).verdict.kind
'leaks'
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope import attacks, causal, defenses, toys
    from leakscope.core.errors import InputError
    from leakscope.core.estimate import Estimate
    from leakscope.data import datasets
    from leakscope.data.splitting import split
    from leakscope.evaluation.results import Audit, Verdict
    from leakscope.evaluation.risk import score
    from leakscope.models.files import load_model
    from leakscope.models.target import Target, make_target
    from leakscope.record.gate import gate
    from leakscope.record.storage import load
    from leakscope.releases.feature_explanations import explain
    from leakscope.studies import leakage
    from leakscope.studies.attributes import attributes
    from leakscope.studies.audit import audit
    from leakscope.studies.compare import Comparison, compare
    from leakscope.studies.diff import diff
    from leakscope.studies.frontier import frontier
    from leakscope.studies.reconstruct import reconstruct
    from leakscope.studies.scores import audit_scores

__version__ = "0.1.0"

#: Public name to the module that defines it, imported when it is first used: `leakscope --help` answers at once.
_HOMES = {
    "Audit": "evaluation.results",
    "Comparison": "studies.compare",
    "Estimate": "core.estimate",
    "InputError": "core.errors",
    "Target": "models.target",
    "Verdict": "evaluation.results",
    "attributes": "studies.attributes",
    "audit": "studies.audit",
    "audit_scores": "studies.scores",
    "compare": "studies.compare",
    "diff": "studies.diff",
    "explain": "releases.feature_explanations",
    "frontier": "studies.frontier",
    "gate": "record.gate",
    "load": "record.storage",
    "load_model": "models.files",
    "make_target": "models.target",
    "reconstruct": "studies.reconstruct",
    "score": "evaluation.risk",
    "split": "data.splitting",
}
#: Modules that need no import of their own.
_MODULES = {
    **{name: name for name in ("attacks", "bounds", "causal", "defenses", "learners", "toys", "worlds")},
    "datasets": "data.datasets",
    "leakage": "studies.leakage",
}
#: Names of the last version to the modules that have them now; a module has no name of its own here.
_FORMER = {
    **dict.fromkeys(("Attack", "Evidence", "Guesses", "Known"), "attacks.protocol"),
    **dict.fromkeys(("Learner", "Model", "Records"), "models.target"),
    "GateResult": "record.gate",
    "Oracle": "releases.oracle",
    "Risk": "evaluation.results",
    "attribute_inference": "studies.attributes",
    "remote_model": "models.remote",
}
_RENAMED = {"Guesses": "Scores", "Learner": "TrainingRecipe"}
_FORMER_MODULES = {
    "claimed_epsilon": "bounds.claimed_epsilon",
    "epsilon": "bounds.epsilon",
    "experiment": "evaluation.membership_experiment",
    "explanations": "releases.feature_explanations",
    "influence": "releases.record_explanations",
    "pate": "bounds.pate",
    "reconstruction": "studies.reconstruct",
    "sensitivity": "bounds.sensitivity",
}

__all__ = [
    "Audit", "Comparison", "Estimate", "InputError", "Target", "Verdict", "attacks", "attributes", "audit", "audit_scores", "causal",
    "compare", "datasets", "defenses", "diff", "explain", "frontier", "gate", "leakage", "load", "load_model", "make_target",
    "reconstruct", "score", "split", "toys",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if home := _HOMES.get(name) or _FORMER.get(name):
        current = _RENAMED.get(name, name)
        value = getattr(import_module(f"leakscope.{home}"), current)
        now = f"from leakscope.{home} import {current}"
    elif home := _MODULES.get(name) or _FORMER_MODULES.get(name):
        value, now = import_module(f"leakscope.{home}"), f"import leakscope.{home}"
    else:
        raise AttributeError(f"module 'leakscope' has no attribute {name!r}")
    if name in _FORMER or name in _FORMER_MODULES:
        warnings.warn(f"leakscope.{name} goes in the next version: write {now}", FutureWarning, stacklevel=2)
        return value
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
