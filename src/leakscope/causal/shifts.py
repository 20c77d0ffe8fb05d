"""Distribution shifts of a Bayesian network that keep P(Y | causes): interventions and shifted distributions P*.

An intervention on a variable replaces its table [tople2020, Figure 2]; the table of Y given its parents is always kept.
"Pr(X) is altered uniformly at random" [tople2020, section 4.1] does not state which tables: here it is every table but those
that are kept.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from leakscope.causal.network import Network
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError

Seed = int | np.random.SeedSequence


def redraw(network: Network, keep: str | Sequence[str], seed: Seed = 0) -> Network:
    """Redraw every table but those of ``keep``: each number uniform on [0, 1], rows divided by their sum.

    P and P* overlap, since all redrawn probabilities are positive.

    Examples
    --------
    >>> from leakscope.causal import load_network
    >>> sachs = load_network("sachs")
    >>> shifted = redraw(sachs, keep=["Akt"], seed=1)
    >>> bool((shifted.tables["Akt"] == sachs.tables["Akt"]).all()), bool((shifted.tables["Erk"] == sachs.tables["Erk"]).any())
    (True, False)
    """
    return _exchange(network, _others(network, keep), math.inf, seed)


def perturb(network: Network, keep: str | Sequence[str], noise: float, seed: Seed = 0) -> Network:
    """Add uniform draws from [0, noise] to every table but those of ``keep``, and renormalise rows.

    [tople2020, section 4.1, Figure 3c] has noise from 0 to 2. The draws, as shares of the noise, depend on the seed only,
    so that for one seed the shift keeps its direction as the noise grows.

    Examples
    --------
    >>> from leakscope.causal import load_network
    >>> child = load_network("child")
    >>> bool((perturb(child, ["XrayReport"], 0.0).tables["Age"] == child.tables["Age"]).all())
    True
    """
    return _exchange(network, _others(network, keep), check_number("noise", noise, least=0), seed)


def intervene(network: Network, on: str | Collection[str], label: str, seed: Seed = 0) -> Network:
    """Redraw the tables of the parents, of the children, or of all variables but the label [tople2020, Figure 2].

    Parameters
    ----------
    on
        ``"parents"``, ``"children"`` or ``"all"``, or names of variables.
    label
        The variable Y, whose table is kept.

    Examples
    --------
    >>> from leakscope.causal import load_network
    >>> sachs = load_network("sachs")
    >>> moved = intervene(sachs, "parents", "Akt")
    >>> [name for name in sachs.names if not (moved.tables[name] == sachs.tables[name]).all()]
    ['Erk', 'PKA']
    """
    network.check_names([label])
    groups = {
        "parents": network.parents[label],
        "children": network.children(label),
        "all": tuple(name for name in network.names if name != label),
    }
    if isinstance(on, str) and on not in groups:
        raise InputError(f"on must be 'parents', 'children', 'all' or a list of variables, not {on!r}")
    chosen = groups[on] if isinstance(on, str) else tuple(on)
    network.check_names(chosen)
    if label in chosen:
        raise InputError(f"on contains the label {label!r}, whose table is kept: remove it")
    return _exchange(network, chosen, math.inf, seed)


def _others(network: Network, keep: str | Sequence[str]) -> list[str]:
    keep = [keep] if isinstance(keep, str) else list(keep)
    network.check_names(keep)
    return [name for name in network.names if name not in keep]


def _exchange(network: Network, names: Collection[str], noise: float, seed: Seed) -> Network:
    """Add noise times uniform draws to some tables; infinite noise replaces them."""
    tables: dict[str, Floats] = {}
    rng = np.random.default_rng(seed)
    for name in network.names:
        # Drawn for every variable, so that the draws of a table do not depend on the other names.
        drawn = 1 - rng.random(network.tables[name].shape)
        if name in names and noise > 0:
            mixed = drawn if math.isinf(noise) else network.tables[name] + noise * drawn
            tables[name] = mixed / mixed.sum(axis=1, keepdims=True)
    return network.replace_tables(tables)
