"""Loader of the four Bayesian networks of [tople2020, Table 1] by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from leakscope.causal.bif import read_bif
from leakscope.causal.network import Network
from leakscope.core.errors import InputError

_PAGE = "https://www.bnlearn.com/bnrepository"


@dataclass(frozen=True)
class NetworkDescription:
    """A network of the repository: the label of [tople2020, Table 1], and counts that identify the right file."""

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
    """Load Child, Alarm, Sachs or Water: from the files that come with pgmpy, else from the data sets.

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
        raise InputError(f"unknown network {name!r}: choose {', '.join(NETWORKS)}, or name a BIF file")
    network = read_bif(_bundled(key) or _fetched(key))
    known = NETWORKS[key]
    found = len(network.names), network.arcs, network.free_parameters
    if found != (known.nodes, known.arcs, known.parameters):
        raise InputError(f"the file of network {known.title!r} holds another network: delete it to download it again")
    return network


def _bundled(key: str) -> Path | None:
    """Return the file within pgmpy without importing pgmpy, which takes seconds."""
    spec = find_spec("pgmpy")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "utils" / "example_models" / f"{key}.bif.gz"
    return path if path.is_file() else None


def _fetched(key: str) -> Path:
    """Return the file from the mirror or the cache, or download it. Copies differ in row order, so there is no digest."""
    from leakscope.data.datasets import store
    from leakscope.data.datasets.dataset import Description, File

    known = NETWORKS[key]
    description = Description(
        name=key,
        title=f"The network {known.title}",
        rows=0,
        record=(known.nodes,),
        classes=0,
        task=known.label,
        licence="CC BY-SA 3.0",
        source=known.source,
        page=f"{_PAGE}/",
        check="number of variables, arcs and parameters",
        files=(File(f"bnlearn/{key}.bif.gz", urls=(f"{_PAGE}/{key}/{key}.bif.gz",)),),
    )
    return store.fetch(description) / f"{key}.bif.gz"
