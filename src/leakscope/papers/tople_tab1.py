"""[tople2020, Table 1]: the four networks, counted in their BIF files.

Free parameters are (levels - 1) for each configuration of the parents of a variable, summed over variables.
"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.papers import panels
from leakscope.papers.reproduction import Cell, Reproduction, Work, compare, exact

ID = "tople-tab1"
TITLE = "The four Bayesian networks: classes, nodes, arcs and parameters"
STATED = {
    "child": ("XrayReport", (5, 20, 25, 230)),
    "alarm": ("BP", (3, 37, 46, 509)),
    "sachs": ("Akt", (3, 11, 17, 178)),
    "water": ("CKNI_12_45", (3, 32, 66, 10_083)),
}
PAPER = {
    "source": "Tople, Sharma and Nori 2020, Table 1",
    "statement": "Four networks of 11 to 37 nodes and 178 to 10,083 parameters.",
    "numbers": "; ".join(
        f"{key}/{label}: {classes} classes, {nodes} nodes, {arcs} arcs, {parameters:,} parameters"
        for key, (label, (classes, nodes, arcs, parameters)) in STATED.items()
    ),
}
FULL = {"networks": tuple(STATED)}
QUICK = FULL
COUNTS = ("classes", "nodes", "arcs", "parameters")


def run(work: Work, networks: Sequence[str]) -> Reproduction:
    """Read the networks and count."""
    from leakscope.causal import load_network

    rows: list[list[Cell]] = []
    counted: dict[str, list[int]] = {}
    for number, key in enumerate(networks, start=1):
        network, (label, stated) = load_network(key), STATED[key]
        counts = [len(network.levels[label]), len(network.names), network.arcs, network.free_parameters]
        counted[key] = counts
        pairs = [cell for pair in zip(counts, stated, strict=True) for cell in pair]
        rows.append([key, label, *pairs, len(network.parents[label]), len(network.children(label))])
        work.tell(number, len(networks))
    childless = [key for key, row in zip(networks, rows, strict=True) if row[-1] == 0]
    note = f"The label has no children in {', '.join(childless) or 'none of them'}. Without children, the best model of all columns is the causal one."
    return work.result(
        settings=work.settings,
        columns=["network", "label", *(name for count in COUNTS for name in (count, f"{count}_paper")), "parents", "children"],
        rows=rows,
        compared=[
            compare(f"{key}, {name}", exact(count), stated, 0.0)
            for key, counts in counted.items()
            for name, count, stated in zip(COUNTS, counts, STATED[key][1], strict=True)
        ],
        notes=[note],
        panels=[_figure(counted)],
    )  # fmt: skip


def _figure(counted: dict[str, list[int]]) -> panels.Panel:
    return panels.bars(
        TITLE,
        ("Network", "Number"),
        list(counted),
        {name: [exact(counts[place]) for counts in counted.values()] for place, name in enumerate(COUNTS)},
        paper={name: [STATED[key][1][place] for key in counted] for place, name in enumerate(COUNTS)},
        log_y=True,
    )
