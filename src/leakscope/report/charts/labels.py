"""Placement of names next to points without overlap."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from leakscope.report.charts.model import Chart, Mark

Box = tuple[float, float, float, float]  # left, top, right, bottom
#: Font size on a phone, where it is largest, for a wide font.
EM = 15.5
HIGH = 15.0
LONGEST = 30
#: Distances of names from their points, the nearest first.
DISTANCES = (0.0, 14.0, 28.0, 42.0, 60.0)
#: Half of the size of a point.
POINT = 6.0
_WIDTHS = {
    letter: width
    for letters, width in (
        ("ijl'|", 0.25), (" .,:;!/ft[]I", 0.3), ("()r-`*", 0.36), ("mM%", 0.9), ("wW@", 0.98), ("−+=<>~_", 0.6),
    )
    for letter in letters
}  # fmt: skip


class PlacedLabel(NamedTuple):
    """A name with its box; ``at`` is the index of its point. A distant name has a line to its point, which ends at ``line``."""

    words: str
    box: Box
    first: bool
    at: int
    line: tuple[float, float] | None = None

    @property
    def start(self) -> tuple[float, float]:
        """Start of its base line."""
        return self.box[0], self.box[3] - 4


def named_marks(chart: Chart) -> list[Mark]:
    """Return the marks that may have a name next to them: points of a chart without categories."""
    if "category" in (chart.x.scale, chart.y.scale):
        return []
    return [mark for series in chart.series if series.form in ("line", "points") for mark in series.marks]


def width_of(text: str, em: float = EM) -> float:
    """Estimate the width of a text in common sans-serif fonts."""
    return em * sum(_letter(letter) for letter in text)


def _letter(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if letter.isascii():
        return 0.73 if letter.isupper() else 0.57
    if unicodedata.combining(letter):
        return 0.0
    return 1.05 if unicodedata.east_asian_width(letter) in "WFA" or not letter.isalpha() else 0.75


def cut(text: str, room: float, em: float = EM) -> str:
    """Shorten a text so that it fits.

    Examples
    --------
    >>> cut("occupation", 200), cut("a very long name of a group", 100)
    ('occupation', 'a very long…')
    """
    wide = 0.0
    for at, letter in enumerate(text):
        wide += em * _letter(letter)
        if wide > room:
            return _shortened(text[:at], room - em, em)
    return text


def _shortened(text: str, room: float, em: float) -> str:
    while text and width_of(text, em) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def place_labels(
    points: Sequence[tuple[str, float, float]],
    first: Sequence[str],
    frame: Box,
    avoided: Sequence[Box] = (),
    *,
    width: Callable[[str], float] = width_of,
) -> list[PlacedLabel]:
    """Place names next to their points, those of ``first`` before the others; omit names without space.

    Parameters
    ----------
    points
        Names with the positions of their points.
    frame
        Box that contains all names.
    avoided
        Boxes that names overlap only if there is no other space, such as intervals.
    """
    taken: list[Box] = [(x - POINT, y - POINT, x + POINT, y + POINT) for _, x, y in points]
    placed: list[PlacedLabel] = []
    for at, (name, x, y) in sorted(enumerate(points), key=lambda point: point[1][0] not in first):
        words = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
        free = [place for place in _places(x, y, width(words)) if words and _free(place[0], frame, taken)]
        found = next(
            (place for place in free if not any(touch(place[0], box) for box in avoided)), next(iter(free), None)
        )
        if found is not None:
            box, line = found
            taken.append((box[0] - 4, box[1], box[2] + 4, box[3]))  # space between two names
            placed.append(PlacedLabel(words, box, name in first, at, line))
    return placed


def _free(box: Box, frame: Box, taken: Sequence[Box]) -> bool:
    left, top, right, bottom = frame
    inside = box[0] >= left and box[1] >= top and box[2] <= right and box[3] <= bottom
    return inside and not any(touch(box, other) for other in taken)


def _places(x: float, y: float, width: float) -> Iterator[tuple[Box, tuple[float, float] | None]]:
    """Yield boxes of a text around a point, the nearest first, and the end of the line to a distant one."""
    for away in DISTANCES:
        for right, down in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)):
            reach = (POINT + 2 + away) * (1 if 0 in (right, down) else 0.75)
            end = (x + reach * right, y + reach * down)
            left = end[0] - width * (1 - right) / 2
            top = end[1] - HIGH * (1 - down) / 2
            yield (left, top, left + width, top + HIGH), end if away else None


def touch(one: Box, other: Box) -> bool:
    """Whether two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
