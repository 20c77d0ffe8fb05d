"""Every kind of document reads as its golden text; ``make golden`` writes it anew."""

from __future__ import annotations

import pytest

from surfaces.golden import FOLDER, NUMBER, golden_text
from surfaces.samples import KINDS

#: Matrix products round differently on other processors: an end of an interval may be shown a little away, and equal rows in another order.
TOLERANCE = 0.0101


def lines_of(text: str) -> list[tuple[str, list[float]]]:
    """Each line without its numbers, and its numbers, in an order that does not depend on them."""
    numbers = [
        [float(one.replace(",", "").replace("−", "-")) for one in NUMBER.findall(line)] for line in text.splitlines()
    ]
    return sorted(
        zip((NUMBER.sub("#", line) for line in text.splitlines()), numbers, strict=True), key=lambda pair: pair[0]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_reads_as_its_golden_text(kind: str) -> None:
    made, golden = lines_of(golden_text(kind)), lines_of((FOLDER / f"{kind}.md").read_text(encoding="utf-8"))
    assert [line for line, _ in made] == [line for line, _ in golden], "read the difference, then run make golden"
    for (line, found), (_, expected) in zip(made, golden, strict=True):
        assert found == pytest.approx(expected, abs=TOLERANCE, rel=TOLERANCE), line
