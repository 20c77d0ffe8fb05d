"""A page as tests read it."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser


class Page(HTMLParser):
    """What a browser would see: every element with its attributes, and every text with the elements around it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[list[tuple[str, dict[str, str | None]]], str]] = []
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag, f"unbalanced {tag}"

    def handle_data(self, data: str) -> None:
        if self.open and data.strip():
            self.texts.append((list(self.open), data))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def inside(self, *tags: str) -> str:
        """The text inside of elements of these names."""
        return " ".join(data for around_it, data in self.texts if any(name in tags for name, _ in around_it))

    def shown(self) -> Iterator[str]:
        """Texts that a reader can see or hear, but for the numbers on axes."""
        for around_it, data in self.texts:
            if not any(
                name in ("style", "script") or "tick" in (given.get("class") or "") for name, given in around_it
            ):
                yield data
        for _, given in self.elements:
            yield from (given[name] or "" for name in ("aria-label", "data-label") if name in given)

    @property
    def text(self) -> str:
        """All text but style and script."""
        return " ".join(data for around_it, data in self.texts if around_it[-1][0] not in ("style", "script"))
