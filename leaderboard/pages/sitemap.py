"""sitemap.xml with every page of the site, and robots.txt that leads to it; after all pages are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

import jinja2

from leaderboard.edition import Edition
from leaderboard.site import Files

MAP = "sitemap.xml"
MAX_ADDRESSES = 50_000
"""The protocol's limit of one file; beyond it sitemap.xml lists files of so many each."""
NOT_LISTED = ("embed.html", "embed/")
"""Pages for iframes: they ask search engines not to list them."""


def address_of(base_url: str, name: str) -> str:
    """The address of a file of the site; the front page has the site's own address."""
    return base_url + ("" if name == "index.html" else quote(name))


def _files(edition: Edition, pages: jinja2.Environment, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    base = edition.base_url
    addresses = [address_of(base, name) for name in names]
    template = pages.get_template("sitemap.xml.j2")
    if len(addresses) <= MAX_ADDRESSES:
        yield MAP, template.render(addresses=addresses, is_index=False).encode()
    else:
        chunks = [addresses[at : at + MAX_ADDRESSES] for at in range(0, len(addresses), MAX_ADDRESSES)]
        for number, chunk in enumerate(chunks, 1):
            yield f"sitemap-{number}.xml", template.render(addresses=chunk, is_index=False).encode()
        files = [f"{base}sitemap-{number}.xml" for number in range(1, len(chunks) + 1)]
        yield MAP, template.render(addresses=files, is_index=True).encode()
    yield "robots.txt", f"User-agent: *\nAllow: /\n\nSitemap: {base}{MAP}\n".encode()


def files(edition: Edition, pages: jinja2.Environment, written: Sequence[str]) -> Files:
    """The map of the pages among the `written` files; nothing if the address of the site was not given."""
    if not edition.base_url:
        return
    names = sorted(name for name in written if name.endswith(".html") and not name.startswith(NOT_LISTED))
    yield from _files(edition, pages, names)
