"""The golden text of every kind of document and the numbers of every study: ``make golden`` writes them, `test_golden` compares them.

The golden text is the Markdown of the sample of that kind without what differs from run to run. Read the difference before you commit it. Numbers are
stored with all their bits and with the machine that they were computed on: other processors and versions of packages round differently.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from leakscope.core.versions import versions
from leakscope.report.renderers.markdown import render
from surfaces.samples import KINDS, STUDIES

FOLDER = Path(__file__).parent / "golden"
NUMBERS = FOLDER / "numbers.json"
NUMBER = re.compile(r"[−+-]?\d[\d,]*(?:\.\d+)?")


def golden_text(kind: str) -> str:
    """Give the Markdown of the sample of a kind."""
    result = replace(KINDS[kind](), versions={}, fingerprints={}, seconds={}, created="")
    if kind == "diff":
        result = replace(result, changed_versions=(), studied_models=("old", "new"))
    return render(result)


def numbers_of(study: str) -> dict[str, Any]:
    """Give the claims of the sample of a study, and the digest of all else that does not differ from run to run, records included."""
    result = STUDIES[study]()
    content = replace(result, versions={}, fingerprints={}, seconds={}, created="").as_dict()
    if study == "diff":
        content |= {"changed_versions": [], "studied_models": [], "same_data": {}}
    records = "" if result.records is None else result.to_csv("records")
    whole = json.dumps(content | {"records": records}, sort_keys=True)
    return {"sha256": hashlib.sha256(whole.encode()).hexdigest(), "claims": json.loads(json.dumps(content["claims"]))}


def machine() -> dict[str, str]:
    """What the last bits of a number depend on."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    kernels = sorted({f"{pool.get('architecture')}, {pool['num_threads']} threads" for pool in pools})
    return {"kernels": "; ".join(kernels)} | {name: text for name, text in versions().items() if name != "leakscope"}


def write() -> None:
    """Write the golden text of every kind and the numbers of every study, and remove those of other kinds."""
    stored = {"machine": machine()} | {study: numbers_of(study) for study in STUDIES}
    rows = [f"{json.dumps(name)}: {json.dumps(content)}" for name, content in stored.items()]
    NUMBERS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.stem not in KINDS:
            path.unlink()
    for kind in KINDS:
        (FOLDER / f"{kind}.md").write_text(golden_text(kind), encoding="utf-8")


if __name__ == "__main__":
    write()
