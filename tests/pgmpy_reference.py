"""pgmpy as the reference: our networks as it takes them, and its tables as ours are ordered. Its warnings are ignored."""

import warnings
from contextlib import contextmanager

import numpy as np

from leakscope.causal import to_frame


@contextmanager
def as_pgmpy(network, codes):
    """The graph of a network, and its records as pgmpy's estimators take them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.models import DiscreteBayesianNetwork

        arcs = [(parent, name) for name, of in network.parents.items() for parent in of]
        states = {name: list(of) for name, of in network.levels.items()}
        records = {"data": to_frame(network, codes).astype("str"), "state_names": states}
        yield DiscreteBayesianNetwork(arcs), records


def table_of(cpd, network):
    """Pgmpy sorts levels by name and keeps the child's axis first."""
    axes = [*network.parents[cpd.variable], cpd.variable]
    values = np.transpose(np.asarray(cpd.values), [cpd.variables.index(name) for name in axes])
    for axis, name in enumerate(axes):
        values = values.take([list(cpd.state_names[name]).index(level) for level in network.levels[name]], axis=axis)
    return values.reshape(network.tables[cpd.variable].shape)
