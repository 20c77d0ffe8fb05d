"""The parts that charts are drawn from: SVG elements with escaped text, scales, and round numbers for an axis.

An element has a ``kind``, its CSS classes, and no colour of its own: the style of the page decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

Scale = Callable[[float], float]


def scale(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers between ``low`` and ``high``.

    >>> ticks(0.0, 0.7)
    [0.0, 0.2, 0.4, 0.6]
    >>> ticks(0.0, 3e-14)
    [0.0, 1e-14, 2e-14, 3e-14]
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{count * step:.12g}") for count in range(first, last + 1)]


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def titled(content: Iterable[Markup], kind: str, title: str) -> Markup:
    return Markup('<g class="{}"><title>{}</title>{}</g>').format(kind, title, Markup("").join(content))


def group(content: Iterable[Markup], kind: str) -> Markup:
    return Markup('<g class="{}">{}</g>').format(kind, Markup("").join(content))


def chart(
    parts: Iterable[Markup], width: float, height: float, title: str, description: str, kind: str = "chart"
) -> Markup:
    """A whole picture for a page, whose style it takes: a title and a description for screen readers, then the parts."""
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        "<title>{}</title><desc>{}</desc>{}</svg>"
    ).format(kind, number(width), number(height), f"{title}. {description}", title, description, Markup("").join(parts))


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    places = [number(place) for place in (x1, y1, x2, y2)]
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(*places, kind)


def box(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    inner = Markup("<title>{}</title>").format(title) if title else ""
    places = [number(place) for place in (x, y, max(0.0, width), max(0.0, height))]
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}">{}</rect>').format(*places, kind, inner)


def circle(x: float, y: float, radius: float) -> Markup:
    return Markup('<circle cx="{}" cy="{}" r="{}"/>').format(number(x), number(y), radius)


def path(points: Sequence[tuple[float, float]], kind: str, title: str = "") -> Markup:
    inner = Markup("<title>{}</title>").format(title) if title else ""
    places = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return Markup('<path d="{}" class="{}">{}</path>').format(places, kind, inner)


def text(x: float, y: float, words: str, kind: str) -> Markup:
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(number(x), number(y), kind, words)


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
