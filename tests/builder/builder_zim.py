"""A small ZIM file for tests, written by libzim's own Creator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from libzim.writer import Creator, Hint, Item, StringProvider


class _Entry(Item):  # type: ignore[misc]
    def __init__(self, path: str, title: str, content: str, mimetype: str) -> None:
        super().__init__()
        self._values = path, title, content, mimetype

    def get_path(self) -> str:
        return self._values[0]

    def get_title(self) -> str:
        return self._values[1]

    def get_mimetype(self) -> str:
        return self._values[3]

    def get_contentprovider(self) -> Any:
        return StringProvider(self._values[2])

    def get_hints(self) -> dict[Any, bool]:
        return {Hint.FRONT_ARTICLE: self._values[3] == "text/html"}


def write_zim(
    path: Path,
    articles: Mapping[str, tuple[str, str]],
    redirects: Mapping[str, str] | None = None,
    *,
    indexed: bool = True,
) -> Path:
    """A ZIM file of articles (path -> title, HTML) and redirects (path -> path), with a full-text index."""
    with Creator(path).config_indexing(indexed, "eng").config_nbworkers(1) as creator:
        creator.set_mainpath(next(iter(articles)))
        for place, (title, html) in articles.items():
            creator.add_item(_Entry(place, title, html, "text/html"))
        creator.add_item(_Entry("logo.svg", "logo", "<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"))
        for place, target in (redirects or {}).items():
            creator.add_redirection(place, place, target, {Hint.FRONT_ARTICLE: True})
        for key in ("Title", "Name", "Creator", "Publisher", "Description"):
            creator.add_metadata(key, f"test {key.lower()}")
        creator.add_metadata("Language", "eng")
        creator.add_metadata("Date", "2026-11-22")
    return path
