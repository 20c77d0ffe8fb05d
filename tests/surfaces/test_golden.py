"""Every kind of document reads as its golden text; ``make golden`` writes it anew."""

from __future__ import annotations

import pytest

from surfaces.golden import FOLDER, NUMBER, golden_text
from surfaces.samples import KINDS

#: Matrix products round differently on other processors: an end of an interval may be shown a little away.
TOLERANCE = 0.0101


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_reads_as_its_golden_text(kind: str) -> None:
    made, golden = golden_text(kind), (FOLDER / f"{kind}.md").read_text(encoding="utf-8")
    assert NUMBER.sub("#", made) == NUMBER.sub("#", golden), "read the difference, then run make golden"
    numbers = [
        [float(one.replace(",", "").replace("−", "-")) for one in NUMBER.findall(text)] for text in (made, golden)
    ]
    assert numbers[0] == pytest.approx(numbers[1], abs=TOLERANCE, rel=TOLERANCE)
