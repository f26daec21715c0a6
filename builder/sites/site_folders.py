"""Folders of HTML pages that stand for web sites: their host names, pages and special routes (site.toml)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta

from builder.urls import literal_address
from edu_rag.errors import ConfigError, RecordError
from edu_rag.files.toml import read_toml

ROUTES_FILE = "site.toml"
PRIVATE_FILES = frozenset({ROUTES_FILE, "CNAME"})
PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\Z")


SCHEME_HEADER = "X-Edu-Rag-Scheme"
"""Marks a request to the loopback server as one for a host's https:// page: archived pages keep their addresses."""
HostMap = Mapping[str, tuple[str, int]]
"""Host names that are served on this machine, and the (address, port) where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One [[route]] of site.toml: how a path answers when it is not just its file.

    `index_text` is what a search engine "saw" there: with it, a path without a page can be found.
    """

    path: str
    status: Annotated[int, Meta(ge=200, le=599)] = 200
    delay_s: Annotated[float, Meta(ge=0, le=120)] = 0.0
    redirect: str | None = None
    content_type: str | None = None
    index_text: str | None = None

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise RecordError("path", f"{self.path!r} does not start with '/'")
        for name in ("redirect", "content_type"):
            value = getattr(self, name)
            if value is not None and not (value and value.isprintable()):
                raise RecordError(name, "is empty or holds characters that a header cannot hold")


@dataclass(frozen=True, slots=True, kw_only=True)
class _SiteFile:
    route: list[Route] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One folder served as one host."""

    host: str
    folder: Path
    routes: Mapping[str, Route]

    def pages(self) -> Iterator[tuple[str, Path]]:
        """URL and file of each HTML page, sorted by path; an index.html is its folder's URL."""
        for path in sorted(self.folder.rglob("*"), key=lambda file: file.relative_to(self.folder).as_posix()):
            if path.suffix.lower() in PAGE_SUFFIXES and path.is_file() and not path.is_symlink():
                place = path.relative_to(self.folder).as_posix()
                if path.name == "index.html":
                    place = place.removesuffix("index.html")
                yield f"http://{self.host}/{quote(place, safe='/=&~:+,;@', errors='surrogateescape')}", path

    def url(self, path: str) -> str:
        """The URL of a path as site.toml writes it: percent signs and a query are not changed."""
        return f"http://{self.host}{quote(path, safe='/?=&%~:+,;@')}"

    def sha256(self) -> str:
        """A hash over every file's name and bytes: it identifies the site that was searched."""
        digest = hashlib.sha256()
        files = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        for name, path in sorted((path.relative_to(self.folder).as_posix(), path) for path in files):
            digest.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode(errors="surrogateescape"))
        return digest.hexdigest()


def _is_number(host: str) -> bool:
    """Whether a host is an address, or looks like one: it would be dialled directly, and not lead to our server."""
    try:
        return literal_address(host) is not None
    except ValueError:
        return True


def _host_of(folder: Path, hosts: Mapping[str, str]) -> str:
    cname = folder / "CNAME"
    if folder.name in hosts:
        host = hosts[folder.name]
    elif cname.is_file():
        host = cname.read_text(encoding="utf-8", errors="replace").strip()
    else:
        host = folder.name
    return checked_host(host, folder, "[search.folder.hosts]")


def is_host_name(host: str) -> bool:
    """Whether a text in lower case is a host name that can be served: no address, no odd characters."""
    return bool(_HOST.match(host)) and not _is_number(host)


def checked_host(host: str, place: object, setting: str) -> str:
    """The host name in lower case. Raises ConfigError with the setting to change if it is not one."""
    if not is_host_name(host.lower()):
        raise ConfigError(place, f"{host[:80]!r} is not a host name", f"name one under {setting}")
    return host.lower()


def _routes_of(folder: Path) -> dict[str, Route]:
    path = folder / ROUTES_FILE
    if not path.is_file():
        return {}
    routes: dict[str, Route] = {}
    for route in read_toml(path, _SiteFile).route:
        if route.path in routes:
            raise ConfigError(path, f"the route {route.path} is defined twice", "keep one of them")
        routes[route.path] = route
    return routes


def _is_host_folder(folder: Path) -> bool:
    """Whether a folder looks like a site: it has a site's own files, or pages and the name of a host on the web."""
    name = folder.name.lower()
    top = name.rpartition(".")[2]  # "v1.2" and "notes.2024" name no host
    named = name != top and top.isalpha() and len(top) > 1 and is_host_name(name)
    return _has_own_files(folder) or (named and _has_page(folder))


def _has_own_files(folder: Path) -> bool:
    return any((folder / name).is_file() for name in PRIVATE_FILES)


def _has_page(folder: Path) -> bool:
    """Whether a page is in the folder itself, not in a folder below it."""
    return any(path.suffix.lower() in PAGE_SUFFIXES for path in folder.iterdir())


def _refuse_parent_of_sites(folder: Path, hosts: Mapping[str, str]) -> None:
    """Raise ConfigError for a folder of sites where a site was expected: its pages would get made-up addresses."""
    if folder.name in hosts or _has_own_files(folder) or _has_page(folder):
        return
    sites = sorted(path.name for path in folder.iterdir() if path.is_dir() and _is_host_folder(path))
    if sites:
        what = f"has no page of its own, but a folder {sites[0]} that looks like a site"
        raise ConfigError(folder, what, f"give {folder} as --sites, or name its host under [search.folder.hosts]")


def read_sites(root: Path, hosts: Mapping[str, str]) -> list[Site]:
    """Every folder under `root` as a site, sorted by host.

    Raises ConfigError if there is none, two share a host, or a folder holds sites instead of being one.
    The host is, in this order: the one in `hosts` for the folder's name, the folder's CNAME file, the folder's name.
    """
    if not root.is_dir():
        raise ConfigError(root, "no such folder of web sites", "give one with --sites")
    sites: dict[str, Site] = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")):
        _refuse_parent_of_sites(folder, hosts)
        site = Site(host=_host_of(folder, hosts), folder=folder, routes=_routes_of(folder))
        if site.host in sites:
            other = sites[site.host].folder.name
            raise ConfigError(folder, f"has the host name {site.host} of {other}", "choose another one")
        sites[site.host] = site
    stray = sorted(set(hosts) - {site.folder.name for site in sites.values()})
    if stray:
        raise ConfigError(root, f"[search.folder.hosts] names {stray[0]}, which is not a folder here")
    if not sites:
        raise ConfigError(root, "holds no folder, so no web site", "put each site into its own folder")
    return [sites[host] for host in sorted(sites)]
