"""Loader of the four Bayesian networks of [tople2020, Table 1] by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leakscope.causal.bif import read_bif
from leakscope.causal.network import Network
from leakscope.core.errors import InputError

#: Sources and licence: networks/README.md
_FILES = Path(__file__).parent / "networks"


@dataclass(frozen=True)
class NetworkDescription:
    """A network of the Bayesian Network Repository: the label and the counts of [tople2020, Table 1], and its source."""

    title: str
    label: str
    nodes: int
    arcs: int
    parameters: int
    source: str


#: [tople2020, Table 1]
NETWORKS = {
    "child": NetworkDescription("Child", "XrayReport", 20, 25, 230, "Spiegelhalter and Cowell 1992"),
    "alarm": NetworkDescription("Alarm", "BP", 37, 46, 509, "Beinlich, Suermondt, Chavez and Cooper 1989"),
    "sachs": NetworkDescription("Sachs", "Akt", 11, 17, 178, "Sachs, Perez, Pe'er, Lauffenburger and Nolan 2005"),
    "water": NetworkDescription("Water", "CKNI_12_45", 32, 66, 10_083, "Jensen, Kjaerulff, Olesen and Pedersen 1989"),
}


def load_network(name: str) -> Network:
    """Load Child, Alarm, Sachs or Water from the files in ``causal/networks/``.

    Parameters
    ----------
    name
        ``"child"``, ``"alarm"``, ``"sachs"`` or ``"water"``, in any case of letters.

    Examples
    --------
    >>> network = load_network("sachs")
    >>> network.parents["Akt"], len(network.names), network.arcs, network.free_parameters
    (('Erk', 'PKA'), 11, 17, 178)
    """
    key = str(name).lower()
    if key not in NETWORKS:
        raise InputError(f"there is no network {name!r}: choose {', '.join(NETWORKS)}, or name a BIF file")
    return read_bif(_FILES / f"{key}.bif.gz")
