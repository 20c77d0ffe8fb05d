"""Every kind of document reads as its golden text, and every study has its stored numbers; ``make golden`` writes both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from surfaces.golden import FOLDER, NUMBER, NUMBERS, golden_text, machine, numbers_of
from surfaces.samples import KINDS, STUDIES

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


def leaves(value: Any, place: str = "") -> dict[str, Any]:
    """Give every number and text of a JSON document by its place."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {found: leaf for key, one in items for found, leaf in leaves(one, f"{place}.{key}").items()}
    return {place: value}


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_has_its_stored_numbers(study: str) -> None:
    """To the last bit on the machine that stored them; elsewhere within the tolerance of a matrix product."""
    stored = json.loads(NUMBERS.read_text(encoding="utf-8"))
    found, expected = leaves(numbers_of(study)), leaves(stored[study])
    if stored["machine"] == machine():
        assert found == expected
        return
    numbers = {place for place, value in expected.items() if isinstance(value, float)}
    assert {place: found[place] for place in numbers} == pytest.approx(
        {place: expected[place] for place in numbers}, abs=TOLERANCE, rel=TOLERANCE
    )
