"""Licence and author as stated in a page's markup, bounded and cleaned; empty if not stated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from builder.extract.page_text import clean_text

MAX_AUTHOR = 100
MAX_ADDRESS = 200
MAX_JSON = 200_000
MAX_BLOCKS = 20
MAX_ITEMS = 500
_CC = re.compile(r"https?://(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[\w./+-]{2,60}", re.IGNORECASE)
_LICENSE_META = frozenset({"dc.rights", "dcterms.rights", "dcterms.license", "dc.rights.license", "copyright-license"})
_AUTHOR_META = frozenset({"author", "dc.creator", "dcterms.creator", "citation_author", "article:author", "byl"})
_BY = re.compile(r"^(?:written\s+)?(?:by|von|par|por|author)\b[:\s]+", re.IGNORECASE)
_NO_AUTHOR = frozenset(
    {
        "admin",
        "administrator",
        "root",
        "editor",
        "webmaster",
        "unknown",
        "anonymous",
        "none",
        "null",
        "author",
        "staff",
        "guest",
        "user",
        "n/a",
    }
)


def _web_address(value: object) -> str | None:
    address = clean_text(value) if isinstance(value, str) else ""
    is_web = address.startswith(("http://", "https://")) and len(address) <= MAX_ADDRESS and len(address.split()) == 1
    return address if is_web else None


@dataclass(slots=True)
class _Stated:
    """The findings of one walk through the page: the input for licence and author."""

    metas: list[tuple[str, str]] = field(default_factory=list)
    links: list[tuple[str, Any]] = field(default_factory=list)
    cc: set[str] = field(default_factory=set)
    scripts: list[str] = field(default_factory=list)

    def content(self, names: frozenset[str]) -> Iterator[str]:
        """The content of the meta elements with these names."""
        return (content for name, content in self.metas if name in names)


def _stated(tree: Any) -> _Stated:
    found = _Stated()
    for element in tree.iter("a", "link", "meta", "script"):
        tag = element.tag
        if tag == "meta":
            name = (element.get("name") or element.get("property") or "").strip().casefold()
            if name in _LICENSE_META or name in _AUTHOR_META:
                found.metas.append((name, str(element.get("content") or "")))
        elif tag == "script":
            if element.get("type") == "application/ld+json":
                found.scripts.append(element.text or "")
        else:
            _add_link(found, element)
    return found


def _add_link(found: _Stated, link: Any) -> None:
    rel = link.get("rel")
    if rel:
        found.links.append((f" {rel} ", link))
    if link.tag == "a" and (match := _CC.match(link.get("href") or "")):
        found.cc.add(match[0])


def _linked_data(scripts: list[str]) -> list[dict[str, Any]]:
    """The objects of the page's JSON-LD, including those inside lists and graphs; invalid JSON is skipped."""
    found: list[dict[str, Any]] = []
    for source in scripts[:MAX_BLOCKS]:
        if len(source) > MAX_JSON:
            continue
        try:
            waiting: list[Any] = [json.loads(source)]
        except (ValueError, RecursionError):
            continue
        while waiting and len(found) < MAX_ITEMS:
            item = waiting.pop(0)
            if isinstance(item, list):
                waiting.extend(item[:MAX_ITEMS])
            elif isinstance(item, dict):
                found.append(item)
                waiting.extend(item.get(key) for key in ("@graph", "mainEntity") if key in item)
    return found


def page_facts(tree: Any) -> tuple[str | None, str | None]:
    """The address of the licence that the page names, and its author as the page states it."""
    stated = _stated(tree)
    items = _linked_data(stated.scripts)
    return _license(stated, items), _author(stated, items)


def _license(stated: _Stated, items: list[dict[str, Any]]) -> str | None:
    """A rel=license link, else JSON-LD's `license`, else Dublin Core's rights, else the only Creative Commons link."""
    links = [link.get("href") for rel, link in stated.links if " license " in rel]
    said = [item.get("license") for item in items]
    said = [value.get("@id") or value.get("url") if isinstance(value, dict) else value for value in said]
    for value in [*links, *said, *stated.content(_LICENSE_META)]:
        address = _web_address(value)
        if address is not None:
            return address
    rights = " ".join(stated.content(_LICENSE_META))[:MAX_JSON]
    found = stated.cc | {match[0] for match in _CC.finditer(rights)}
    return found.pop() if len(found) == 1 else None


def _name(value: object) -> str | None:
    """A stated author as one short line, or None if it is not a name."""
    if not isinstance(value, str):
        return None
    name = _BY.sub("", " ".join(clean_text(value[: 4 * MAX_AUTHOR]).split())).strip(" ,;|")
    is_name = 1 < len(name) <= MAX_AUTHOR and "://" not in name and "@" not in name and any(map(str.isalpha, name))
    return name if is_name and name.casefold() not in _NO_AUTHOR and "<" not in name else None


def _json_authors(item: dict[str, Any]) -> Iterator[object]:
    author = item.get("author") or item.get("creator")
    for one in author[:MAX_BLOCKS] if isinstance(author, list) else [author]:
        yield one.get("name") if isinstance(one, dict) else one


def _author(stated: _Stated, items: list[dict[str, Any]]) -> str | None:
    """Meta, else JSON-LD, else a rel=author link; several names joined by commas."""
    links = [link for rel, link in stated.links if " author " in rel and link.tag == "a"]
    sources: tuple[Iterator[object], ...] = (
        stated.content(_AUTHOR_META),
        (name for item in items for name in _json_authors(item)),
        (link.text_content()[:MAX_JSON] for link in links),
    )
    for source in sources:
        names = dict.fromkeys(name for name in map(_name, source) if name is not None)
        if names:
            return _joined(list(names))
    return None


def _joined(names: list[str]) -> str:
    line = names[0]
    for name in names[1:]:
        if len(line) + len(name) + 2 > MAX_AUTHOR:
            break
        line = f"{line}, {name}"
    return line
