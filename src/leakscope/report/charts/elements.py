"""SVG elements with escaped text.

An element has a ``kind``, its CSS classes, and no colour: the style sheet of the page sets colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

Point = tuple[float, float]


def picture(parts: Iterable[Markup], size: Point, title: str, description: str, kind: str = "chart") -> Markup:
    """Return a whole picture, with a title and a description for screen readers."""
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        "<title>{}</title><desc>{}</desc>{}</svg>"
    ).format(kind, _short(size[0]), _short(size[1]), f"{title}. {description}", title, description, joined(parts))


def joined(parts: Iterable[Markup]) -> Markup:
    """Concatenate elements."""
    return Markup("").join(parts)


def group(parts: Iterable[Markup], kind: str, title: str = "") -> Markup:
    """Group elements; the title is their tooltip."""
    return Markup('<g class="{}">{}{}</g>').format(kind, _title(title), joined(parts))


def line(start: Point, end: Point, kind: str) -> Markup:
    """Draw a straight line."""
    places = [_short(place) for place in (*start, *end)]
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(*places, kind)


def rectangle(one: Point, other: Point, kind: str, title: str = "") -> Markup:
    """Draw a rectangle between two opposite corners."""
    (x, right), (y, bottom) = (sorted(pair) for pair in zip(one, other, strict=True))
    places = [_short(place) for place in (x, y, right - x, bottom - y)]
    shape = Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}">{}</rect>')
    return shape.format(*places, kind, _title(title))


def circle(middle: Point, radius: float) -> Markup:
    """Draw a circle."""
    return Markup('<circle cx="{}" cy="{}" r="{}"/>').format(_short(middle[0]), _short(middle[1]), radius)


def path(points: Sequence[Point], kind: str, title: str = "") -> Markup:
    """Draw a polyline."""
    places = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in points)
    return Markup('<path d="{}" class="{}">{}</path>').format(places, kind, _title(title))


def text(place: Point, words: str, kind: str, *, turned: int = 0) -> Markup:
    """Draw a text; the class determines whether it starts, ends or is centred at the position."""
    x, y = _short(place[0]), _short(place[1])
    if turned:
        shape = Markup('<text transform="translate({} {}) rotate({})" class="{}">{}</text>')
        return shape.format(x, y, turned, kind, words)
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(x, y, kind, words)


def _title(title: str) -> Markup:
    return Markup("<title>{}</title>").format(title) if title else Markup("")


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
