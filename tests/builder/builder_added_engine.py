"""A package that brings a search engine, as `pip install` leaves it: a module, and metadata with an entry point."""

from __future__ import annotations

from pathlib import Path

MODULE = """
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from builder.search.adapters import EngineAdapter
from builder.search.web.api import PageRead, decoded, refusal_of, web_urls
from builder.search.web.http_question import SearchRequest
from builder.search.settings import WebEngineConfig
from builder.search_results import RawResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfConfig(WebEngineConfig):
    base_url: str = "https://shelf.example"
    elsewhere: str = ""
    room: str = "science"
    key_variable: str = "SHELF_KEY"


class Answer(Struct):
    urls: list[str]
    more: bool = False


def read(raw: RawResponse) -> PageRead:
    if raw.body == b"break":
        raise KeyError("a bug")
    if raw.body == b"lie":
        return PageRead(state="hits")
    if raw.body == b"numbers":
        return PageRead(state="hits", urls=(None, 3))
    if raw.body == b"no pages":
        return PageRead(state="hits", urls=("ftp://files.example/x",))
    if raw.body == b"odd state":
        return PageRead(state="fine", urls=("https://a.example/",))
    answer = refusal_of(raw) or decoded(raw, Answer)
    if isinstance(answer, PageRead):
        return answer
    urls = web_urls(answer.urls)
    return PageRead(state="hits" if urls else "none", urls=urls, more=answer.more)


class Shelf:
    name = "shelf"

    def __init__(self, config: ShelfConfig, environment: Mapping[str, str]) -> None:
        self.config = config
        self.key = environment.get(config.key_variable, "")

    def request(self, query: str, n: int, page: int) -> SearchRequest:
        if query == "break":
            raise ZeroDivisionError
        if query == "nothing":
            return None
        return SearchRequest(
            url=(self.config.elsewhere or self.config.base_url) + "/find",
            params={"q": query, "n": str(n), "page": str(page), "room": self.config.room},
            headers={"X-Key": self.key} if self.key else {},
            secrets=(self.key,) if self.key else (),
        )

    def read(self, raw: RawResponse) -> PageRead:
        return read(raw)


ENGINE = EngineAdapter(config=ShelfConfig, api=Shelf, read=read)
NOT_ONE = object()
"""


def install_engine(folder: Path, *lines: str, package: str = "shelf-engine") -> Path:
    """Put the package into a folder of its own; `lines` are its entry points. Returns the folder, for sys.path."""
    place = folder / package
    metadata = place / f"{package.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (place / f"{package.replace('-', '_')}.py").write_text(MODULE)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    points = lines or (f"shelf = {package.replace('-', '_')}:ENGINE",)
    (metadata / "entry_points.txt").write_text("[edu_rag.engines]\n" + "\n".join(points) + "\n")
    return place
