"""Causal models: networks and worlds, models on the causes of Y, and what they leak [tople2020].

A model that uses only the causes of Y stays the same when the rest of the world shifts. ``leakscope.causal.study`` compares
it with one that uses all that predicts Y: accuracy, membership and attributes, in distribution and under shift.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.causal.bif import parse_bif, read_bif
    from leakscope.causal.counting import fit_table, fit_tables
    from leakscope.causal.encoding import one_hot
    from leakscope.causal.named import NETWORKS, load_network
    from leakscope.causal.network import Network
    from leakscope.causal.sampling import draw, to_codes, to_frame
    from leakscope.causal.shifts import intervene, perturb, redraw
    from leakscope.causal.table_model import CausalTable

#: Public name to the module it lives in, imported when it is first used.
_HOMES = {
    "CausalTable": "table_model",
    "NETWORKS": "named",
    "Network": "network",
    "draw": "sampling",
    "fit_table": "counting",
    "fit_tables": "counting",
    "intervene": "shifts",
    "load_network": "named",
    "one_hot": "encoding",
    "parse_bif": "bif",
    "perturb": "shifts",
    "read_bif": "bif",
    "redraw": "shifts",
    "to_codes": "sampling",
    "to_frame": "sampling",
}

__all__ = [
    "NETWORKS",
    "CausalTable",
    "Network",
    "draw",
    "fit_table",
    "fit_tables",
    "intervene",
    "load_network",
    "one_hot",
    "parse_bif",
    "perturb",
    "read_bif",
    "redraw",
    "to_codes",
    "to_frame",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'leakscope.causal' has no attribute {name!r}")
    value = getattr(import_module(f"leakscope.causal.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
