"""What `pip install leakscope` downloads: the core and all it depends on."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line

ROOT = Path(__file__).parents[1]


def run() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder]
        subprocess.run(
            [*command, "--constraint", str(ROOT / "constraints.txt"), str(ROOT)], check=True, stderr=subprocess.DEVNULL
        )
        sizes = {path.name: path.stat().st_size / 2**20 for path in Path(folder).iterdir()}
    largest = ", ".join(
        f"{name.split('-')[0]} {size:.0f}" for name, size in sorted(sizes.items(), key=lambda s: -s[1])[:4]
    )
    yield Line("download of the core", sum(sizes.values()), 150.0, "MB", f"[{len(sizes)} packages; {largest}]")
