"""Audit of record explanations: which training records they reveal, and how many an attacker reconstructs."""

from leakscope.reconstruction.reading import People, read_people
from leakscope.reconstruction.release import RecordRelease, Usefulness
from leakscope.reconstruction.result import DefendedRelease, GraphFacts, Reconstructed, ReconstructionAudit
from leakscope.reconstruction.run import reconstruct, usual_defenses

__all__ = [
    "DefendedRelease", "GraphFacts", "People", "Reconstructed", "ReconstructionAudit", "RecordRelease", "Usefulness",
    "read_people", "reconstruct", "usual_defenses",
]  # fmt: skip
