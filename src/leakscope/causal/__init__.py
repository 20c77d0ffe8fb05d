"""Causal models: Bayesian networks, distribution shifts, invariance, IRM, and membership attacks under shift [tople2020].

A model that uses only the causes of Y is unaffected by shifts of the other variables. ``leakscope.causal.study`` compares it
with a model that uses all features: accuracy, membership and attributes, in distribution and under shift.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.causal.advantages import advantage_by_size, worst_case_advantage
    from leakscope.causal.bif import parse_bif, read_bif
    from leakscope.causal.climbing import bic, climb, learned_parents, parent_confidence
    from leakscope.causal.counting import fit_table, fit_tables
    from leakscope.causal.encoding import one_hot
    from leakscope.causal.generalisation import discrepancy, generalisation_errors, linear_discrepancy, transfer_bound
    from leakscope.causal.invariance import Invariance, alternatives, invariant_features
    from leakscope.causal.irm import IRMLearner
    from leakscope.causal.named import NETWORKS, load_network
    from leakscope.causal.network import Network, compelled_arcs
    from leakscope.causal.sampling import draw, to_codes, to_frame
    from leakscope.causal.shifts import intervene, perturb, redraw
    from leakscope.causal.table_model import CausalTable
    from leakscope.studies.causal import study

#: Module to its public names, which are imported at first use; the study uses all the others.
_OFFERS = {
    "leakscope.causal.advantages": ("advantage_by_size", "worst_case_advantage"),
    "leakscope.causal.bif": ("parse_bif", "read_bif"),
    "leakscope.causal.climbing": ("bic", "climb", "learned_parents", "parent_confidence"),
    "leakscope.causal.counting": ("fit_table", "fit_tables"),
    "leakscope.causal.encoding": ("one_hot",),
    "leakscope.causal.generalisation": ("discrepancy", "generalisation_errors", "linear_discrepancy", "transfer_bound"),
    "leakscope.causal.invariance": ("Invariance", "alternatives", "invariant_features"),
    "leakscope.causal.irm": ("IRMLearner",),
    "leakscope.causal.named": ("NETWORKS", "load_network"),
    "leakscope.causal.network": ("Network", "compelled_arcs"),
    "leakscope.causal.sampling": ("draw", "to_codes", "to_frame"),
    "leakscope.causal.shifts": ("intervene", "perturb", "redraw"),
    "leakscope.causal.table_model": ("CausalTable",),
    "leakscope.studies.causal": ("study",),
}
_HOMES = {name: module for module, names in _OFFERS.items() for name in names}

__all__ = [
    "NETWORKS", "CausalTable", "IRMLearner", "Invariance", "Network", "advantage_by_size", "alternatives", "bic", "climb",
    "compelled_arcs", "discrepancy", "draw", "fit_table", "fit_tables", "generalisation_errors", "intervene",
    "invariant_features", "learned_parents", "linear_discrepancy", "load_network", "one_hot", "parent_confidence",
    "parse_bif", "perturb", "read_bif", "redraw", "study", "to_codes", "to_frame", "transfer_bound", "worst_case_advantage",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'leakscope.causal' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
