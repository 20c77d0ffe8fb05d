"""Leakscope: measure what a machine-learning model reveals about its training data.

>>> import leakscope as ls
>>> toy = ls.toys.lookup(n=300)
>>> ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit).verdict.kind
'leaks'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope import (
        attacks,
        bounds,
        causal,
        claimed_epsilon,
        datasets,
        defenses,
        epsilon,
        experiment,
        explanations,
        influence,
        leakage,
        learners,
        pate,
        reconstruction,
        sensitivity,
        toys,
        worlds,
    )
    from leakscope.attribute import attribute_inference, attributes
    from leakscope.audit_diff import diff
    from leakscope.auditing import audit
    from leakscope.comparison import Comparison, compare
    from leakscope.core.estimate import Estimate
    from leakscope.errors import InputError
    from leakscope.evidence import Attack, Evidence, Guesses, Known
    from leakscope.explanations import explain
    from leakscope.frontier_study import frontier
    from leakscope.model_files import load_model
    from leakscope.oracle import Oracle
    from leakscope.reconstruction import reconstruct
    from leakscope.record.gate import GateResult, gate
    from leakscope.record.storage import load
    from leakscope.remote import remote_model
    from leakscope.results import Audit, Risk, Verdict
    from leakscope.risk import score
    from leakscope.scores import audit_scores
    from leakscope.splitting import split
    from leakscope.target import Learner, Model, Records, Target, make_target

__version__ = "0.1.0"

#: Public name to the module it lives in, imported when it is first used: `leakscope --help` answers at once.
_HOMES = {
    "Attack": "evidence",
    "Audit": "results",
    "Comparison": "comparison",
    "Estimate": "core.estimate",
    "Evidence": "evidence",
    "GateResult": "record.gate",
    "Guesses": "evidence",
    "InputError": "errors",
    "Known": "evidence",
    "Learner": "target",
    "Model": "target",
    "Oracle": "oracle",
    "Records": "target",
    "Risk": "results",
    "Target": "target",
    "Verdict": "results",
    "attacks": "",
    "attribute_inference": "attribute",
    "attributes": "attribute",
    "audit": "auditing",
    "audit_scores": "scores",
    "bounds": "",
    "causal": "",
    "claimed_epsilon": "",
    "compare": "comparison",
    "datasets": "",
    "defenses": "",
    "diff": "audit_diff",
    "epsilon": "",
    "experiment": "",
    "explain": "explanations",
    "explanations": "",
    "frontier": "frontier_study",
    "gate": "record.gate",
    "influence": "",
    "leakage": "",
    "learners": "",
    "load": "record.storage",
    "load_model": "model_files",
    "make_target": "target",
    "pate": "",
    "reconstruct": "reconstruction",
    "reconstruction": "",
    "remote_model": "remote",
    "score": "risk",
    "sensitivity": "",
    "split": "splitting",
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
    home = _HOMES[name]
    value = getattr(import_module(f"leakscope.{home}"), name) if home else import_module(f"leakscope.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
