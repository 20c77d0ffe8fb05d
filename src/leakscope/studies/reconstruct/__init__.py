"""Audit of record explanations: which training records they reveal, and how many an attacker reconstructs."""

from leakscope.releases.record_explanations.release import RecordRelease, Usefulness
from leakscope.studies.reconstruct.reading import People, read_people
from leakscope.studies.reconstruct.result import DefendedRelease, GraphFacts, Reconstructed, ReconstructionAudit
from leakscope.studies.reconstruct.run import reconstruct, usual_defenses

__all__ = [
    "DefendedRelease", "GraphFacts", "People", "Reconstructed", "ReconstructionAudit", "RecordRelease", "Usefulness",
    "read_people", "reconstruct", "usual_defenses",
]  # fmt: skip
