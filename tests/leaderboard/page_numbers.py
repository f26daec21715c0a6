"""What the test of numbers reads pages with: a ledger of every number on a page, and formatting of its own."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bs4 import BeautifulSoup, Tag
from bs4.element import Comment, Doctype

NUMBER = re.compile(r"−?\d+(?:,\d{3})*(?:\.\d+)?")
OUTCOMES = ("correct", "incorrect", "abstained", "unparseable", "failed")
SHOWN = ("title", "aria-label", "data-value", "content", "placeholder")
"""Attributes that a reader, a screen reader or a sort sees."""
DESCRIPTIONS = ("description", "og:title", "og:description")

Card = Mapping[str, Any]


def numbers(text: str) -> list[str]:
    return NUMBER.findall(text)


class Ledger:
    """Every number of a page must be claimed: by a tag with all that is in it, or by an attribute."""

    def __init__(self, page: BeautifulSoup) -> None:
        self.page = page
        self._tags: set[int] = set()
        self._attributes: set[tuple[int, str]] = set()

    def takes(self, tag: Tag, *expected: object) -> None:
        """The tag shows the numbers of these texts, in this order, and no other."""
        shown, wanted = numbers(tag.get_text(" ")), numbers(" ".join(map(str, expected)))
        assert shown == wanted, (tag.name, tag.get_text(" ", strip=True)[:300], wanted)
        self._tags.add(id(tag))

    def attribute(self, tag: Tag, name: str, *expected: object) -> None:
        """An attribute holds the numbers of these texts and no other."""
        shown, wanted = numbers(tag[name]), numbers(" ".join(map(str, expected)))
        assert shown == wanted, (tag.name, name, tag[name][:300], wanted)
        self._attributes.add((id(tag), name))

    def value(self, tag: Tag, expected: float | None) -> None:
        """The sort key of a cell is this very number, or empty."""
        assert tag["data-value"] == "" if expected is None else float(tag["data-value"]) == expected, tag
        self._attributes.add((id(tag), "data-value"))

    def head(self, title: str, about: str) -> None:
        """The page's title and description, each of which stands there twice."""
        self.takes(self.page.title, title)
        for name, expected in zip(DESCRIPTIONS, (about, title, about), strict=True):
            self.attribute(self.page.select_one(f'meta[name="{name}"], meta[property="{name}"]'), "content", expected)

    def left(self) -> Iterator[str]:
        """The numbers that nobody claimed, with their surroundings."""
        for text in self.page.find_all(string=NUMBER):
            if not isinstance(text, Comment | Doctype) and not any(id(tag) in self._tags for tag in text.parents):
                yield f"<{text.parent.name}> {text.strip()[:120]}"
        for tag in self.page.find_all(True):
            for name in SHOWN:
                if name == "content" and (tag.get("name") or tag.get("property")) not in DESCRIPTIONS:
                    continue
                if NUMBER.search(tag.get(name, "")) and (id(tag), name) not in self._attributes:
                    yield f"<{tag.name} {name}> {tag[name][:120]}"


def read(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


# --- formatting of our own


def score(value: float) -> str:
    text = f"{abs(value):.3f}"
    return f"−{text}" if value < 0 and float(text) else text


def per_cent(part: float, whole: float = 1) -> str:
    return f"{part / whole * 100:.1f}"


def between(low: float, high: float) -> str:
    return f"{score(low)} {score(high)}"


def duration(value: float) -> str:
    if 0 < value < 0.001:
        return "<0.001"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{round(value):,}"


def clipped(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def size(n: int) -> str:
    for power in (30, 20, 10):
        if n >= 1 << power:
            parts = n / (1 << power)
            return f"{parts:,.0f}" if parts >= 10 else f"{parts:.2g}"
    return str(n)


def caps_of(caps: Card) -> list[str]:
    """The caps that a page tells, in its order."""
    order = (
        ("memory_bytes", size),
        ("n_processes", "{:,}".format),
        ("cpu_s", lambda n: f"{math.ceil(n):,}"),
        ("file_bytes", size),
        ("n_files", "{:,}".format),
        ("tmp_bytes", size),
        ("shm_bytes", size),
    )
    return [words(caps[name]) for name, words in order if caps.get(name) is not None]


# --- what scorecards say


class Counted(NamedTuple):
    """The five counts and what follows from them."""

    correct: int
    incorrect: int
    abstained: int
    unparseable: int
    failed: int

    @property
    def n(self) -> int:
        return sum(self)

    @property
    def missing(self) -> int:
        return self.n - self.correct - self.incorrect

    @property
    def score(self) -> float:
        return (self.correct - self.incorrect) / self.n

    @property
    def strict(self) -> float:
        return (self.correct - self.incorrect - self.unparseable - self.failed) / self.n

    @property
    def bar(self) -> str:
        """A stacked bar in words."""
        return " ".join(f"{count} {per_cent(count, self.n)}" for count in self) + f" {self.n}"


def counted(counts: Mapping[str, int]) -> Counted:
    return Counted(*(counts.get(outcome, 0) for outcome in OUTCOMES))


def cards_in(results: Path) -> list[Card]:
    """Every scorecard as JSON has it."""
    return [json.loads(path.read_bytes()) for path in sorted(results.rglob("scorecard.json"))]


def dataset_of(card: Card) -> tuple[str, tuple[int, ...]]:
    name, version = card["dataset"].split("#")[0].split("@")
    return name, tuple(int(part) for part in version.split("."))


def table_of(card: Card) -> str:
    """The id of a card's table."""
    name, version = dataset_of(card)
    return ".".join([name, f"v{version[0]}", card["split"], *([card["sample"]] if card["sample"] else [])])


def age_of(card: Card) -> tuple[Any, ...]:
    return dataset_of(card)[1], card["scored_at"]


def standing(cards: Sequence[Card]) -> dict[str, dict[str, Card]]:
    """The newest result of each system, by table and slug."""
    found: dict[str, dict[str, Card]] = {}
    for card in sorted(cards, key=age_of):
        found.setdefault(table_of(card), {})[card["system"]["slug"]] = card
    return found


def asked_of(card: Card) -> str:
    """How many questions were asked, and the seed of a sample."""
    n = counted(card["counts"]).n
    return f"{n:,}" + (f" {card['sample'].rsplit('-', 1)[1]}" if card["sample"] else "")


def day(card: Card) -> str:
    return str(card["scored_at"][:10])
