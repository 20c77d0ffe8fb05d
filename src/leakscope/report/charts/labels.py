"""Names next to points, where they touch no other name and no point."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

Box = tuple[float, float, float, float]  # left, top, right, bottom
#: Size of letters on a phone, where they are largest, in a wide font.
EM = 15.5
HIGH = 15.0
LONGEST = 30
#: Half of the room that a point takes.
POINT = 6.0
_WIDTHS = {
    letter: width
    for letters, width in (
        ("ijl'|", 0.25), (" .,:;!/ft[]I", 0.3), ("()r-`*", 0.36), ("mM%", 0.9), ("wW@", 0.98), ("−+=<>~_", 0.6),
    )
    for letter in letters
}  # fmt: skip


class Placed(NamedTuple):
    """A name with its place: the box that it fills, and its base line."""

    words: str
    box: Box
    first: bool

    @property
    def start(self) -> tuple[float, float]:
        """Where its base line starts."""
        return self.box[0], self.box[3] - 4


def width_of(text: str, em: float = EM) -> float:
    """Estimate the width of a text, by the letters of common sans-serif fonts."""
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
    if width_of(text, em) <= room:
        return text
    kept = text
    while kept and width_of(kept, em) + em > room:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def place_labels(
    points: Sequence[tuple[str, float, float]],
    first: Sequence[str],
    frame: Box,
    *,
    width: Callable[[str], float] = width_of,
) -> list[Placed]:
    """Place names next to their points, those of ``first`` before the others; one that has no room is left out.

    Parameters
    ----------
    points
        Names with the places of their points. A name that is given several times is written once.
    frame
        What names may not leave.
    """
    taken: list[Box] = [(x - POINT, y - POINT, x + POINT, y + POINT) for _, x, y in points]
    placed: list[Placed] = []
    for name, x, y in sorted(points, key=lambda point: point[0] not in first):
        words = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
        box = next(_free(_places(x, y, width(words)), frame, taken), None)
        if words and box is not None:
            taken.append((box[0] - 4, box[1], box[2] + 4, box[3]))  # so that two names never read as one
            placed.append(Placed(words, box, name in first))
    return placed


def _free(places: Iterator[Box], frame: Box, taken: Sequence[Box]) -> Iterator[Box]:
    left, top, right, bottom = frame
    for box in places:
        inside = box[0] >= left and box[1] >= top and box[2] <= right and box[3] <= bottom
        if inside and not any(touch(box, other) for other in taken):
            yield box


def _places(x: float, y: float, width: float) -> Iterator[Box]:
    """Yield places of a text: to the right, to the left, above and below, the nearest first."""
    for away in (0.0, 14.0, 28.0):
        for shift in dict.fromkeys((-away, away)):
            starts = (
                (x + POINT + 2, y - 7 + shift),
                (x - POINT - 2 - width, y - 7 + shift),
                (x - width / 2, y - POINT - HIGH - 1 + min(shift, 0)),
                (x - width / 2, y + POINT + 1 + max(shift, 0)),
            )
            for left, top in starts:
                yield left, top, left + width, top + HIGH


def touch(one: Box, other: Box) -> bool:
    """Whether two boxes overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
