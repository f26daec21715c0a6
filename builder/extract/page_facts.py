"""What a page's markup states about itself: licence and author, bounded and cleaned, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
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
_NO_AUTHOR = frozenset({"admin", "administrator", "root", "editor", "webmaster", "unknown", "anonymous", "none", "null",
                        "author", "staff", "guest", "user", "n/a"})  # fmt: skip


def _web_address(value: object) -> str | None:
    address = clean_text(value) if isinstance(value, str) else ""
    is_web = address.startswith(("http://", "https://")) and len(address) <= MAX_ADDRESS and len(address.split()) == 1
    return address if is_web else None


def _metas(tree: Any, names: frozenset[str]) -> Iterator[str]:
    for meta in tree.iter("meta"):
        if (meta.get("name") or meta.get("property") or "").strip().casefold() in names:
            yield str(meta.get("content") or "")


def _linked_data(tree: Any) -> list[dict[str, Any]]:
    """The objects of the page's JSON-LD, those inside lists and graphs included; what is no JSON is left out."""
    found: list[dict[str, Any]] = []
    for script in tree.xpath('//script[@type="application/ld+json"]')[:MAX_BLOCKS]:
        source = script.text or ""
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


def page_license(tree: Any) -> str | None:
    """The address of the licence that the page names.

    A rel=license link, else its JSON-LD `license`, else its Dublin Core rights, else its only Creative Commons link.
    """
    for href in tree.xpath('//*[self::a or self::link][contains(concat(" ", @rel, " "), " license ")]/@href'):
        address = _web_address(str(href))
        if address is not None:
            return address
    stated = [item.get("license") for item in _linked_data(tree)]
    stated = [value.get("@id") or value.get("url") if isinstance(value, dict) else value for value in stated]
    for value in [*stated, *_metas(tree, _LICENSE_META)]:
        address = _web_address(value)
        if address is not None:
            return address
    return _only_cc(tree)


def _only_cc(tree: Any) -> str | None:
    found = {match[0] for href in tree.xpath("//a/@href") if (match := _CC.match(str(href)))}
    rights = " ".join(_metas(tree, _LICENSE_META))[:MAX_JSON]
    found |= {match[0] for match in _CC.finditer(rights)}
    return found.pop() if len(found) == 1 else None


def _name(value: object) -> str | None:
    """A stated author as one short line, or None for what is no name."""
    if not isinstance(value, str):
        return None
    name = _BY.sub("", " ".join(clean_text(value[: 4 * MAX_AUTHOR]).split())).strip(" ,;|")
    is_name = 1 < len(name) <= MAX_AUTHOR and "://" not in name and "@" not in name and any(map(str.isalpha, name))
    return name if is_name and name.casefold() not in _NO_AUTHOR and "<" not in name else None


def _json_authors(item: dict[str, Any]) -> Iterator[object]:
    author = item.get("author") or item.get("creator")
    for one in author[:MAX_BLOCKS] if isinstance(author, list) else [author]:
        yield one.get("name") if isinstance(one, dict) else one


def page_author(tree: Any) -> str | None:
    """The author as the page states it: meta, else JSON-LD, else a rel=author link; several joined by commas."""
    sources: tuple[Iterator[object], ...] = (
        _metas(tree, _AUTHOR_META),
        (name for item in _linked_data(tree) for name in _json_authors(item)),
        (link.text_content()[:MAX_JSON] for link in tree.xpath('//a[contains(concat(" ", @rel, " "), " author ")]')),
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
