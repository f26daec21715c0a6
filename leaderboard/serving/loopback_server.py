"""Serving a built site on loopback, as a static host would: right types, nosniff, nothing outside of its folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from edu_rag.errors import ConfigError, DataError
from edu_rag.files.jsonl import read_json
from edu_rag.progress import say
from leaderboard.site import FORMAT, MARKER

HOST = "127.0.0.1"
FIRST_PORT = 8000
N_PORTS = 100
"""Ports that are tried, from FIRST_PORT on, if none is given."""
OTHER_TYPE = "application/octet-stream"
TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
    ".parquet": "application/vnd.apache.parquet",
}
"""By the end of a name, the same on every machine; other files (pagefind's chunks) are bytes."""
_NAMES = ("localhost", "127.0.0.1")


class SiteHandler(SimpleHTTPRequestHandler):
    """Answers GET and HEAD with the files of one folder; a folder without index.html is not found."""

    server_version = "edu-rag"
    sys_version = ""
    cache_control = "no-cache"
    timeout = 60

    def guess_type(self, path: str | os.PathLike[str]) -> str:
        """The type of a file by its name alone."""
        return TYPES.get(Path(path).suffix.lower(), OTHER_TYPE)

    def translate_path(self, path: str) -> str:
        """The file of an address; a path that is nowhere where the address leads out of the folder."""
        try:
            found = Path(super().translate_path(path))
            inside = found.resolve().is_relative_to(Path(self.directory).resolve())
        except (OSError, ValueError, RuntimeError):  # a NUL, a name too long, links that go round
            inside = False
        nowhere = str(Path(self.directory) / MARKER / "nowhere")
        return super().translate_path(path) if inside else nowhere

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        """A static host lists no folder."""
        self.send_error(HTTPStatus.NOT_FOUND, "File not found")

    def parse_request(self) -> bool:
        """Refuse a foreign Host: a page elsewhere must not read the site under a name that it points here."""
        if not super().parse_request():
            return False
        host = self.headers.get("Host", HOST).lower()
        if host.rpartition(":")[0] in _NAMES or host in _NAMES:
            return True
        self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "Ask for localhost")
        return False

    def end_headers(self) -> None:
        """Add what a careful static host sends with every file."""
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", self.cache_control)
        super().end_headers()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Tell of what was not found: a developer's dead link."""
        if str(code) == "404":
            said = "".join(letter if letter.isprintable() else "?" for letter in self.path[:200])
            say(f"not found: {said}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is the standard library's
        """Nothing: visits are not logged."""


class SiteServer(ThreadingHTTPServer):
    """One thread a request; a port that another process uses is never shared."""

    allow_reuse_port = False
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that disconnects early is not an error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # typeshed names sockets

    @property
    def address(self) -> str:
        """Where a browser finds it, with a '/' at its end."""
        return f"http://{HOST}:{self.server_port}/"


def check_site(folder: Path) -> None:
    """Raise ConfigError unless the folder is a site that `edu-rag board` wrote."""
    remedy = "build one: edu-rag board RESULTS --out SITE; or give results with --watch"
    if not folder.is_dir():
        raise ConfigError(folder, "is no folder", remedy)
    try:
        marker = read_json(folder / MARKER)
    except DataError:
        marker = None
    if not isinstance(marker, dict) or marker.get("format") != FORMAT:
        raise ConfigError(folder, "is no site that `edu-rag board` wrote", remedy)


def open_server(folder: Path, port: int | None, handler: type[SiteHandler] = SiteHandler) -> SiteServer:
    """Listen on loopback: at this port, or at the first free one from FIRST_PORT on. Raises ConfigError."""
    ports = range(FIRST_PORT, FIRST_PORT + N_PORTS) if port is None else (port,)
    made = partial(handler, directory=str(folder))
    reason = ""
    for tried in ports:
        try:
            return SiteServer((HOST, tried), made)
        except OSError as error:
            reason = error.strerror or str(error)
    named = f"port {ports[0]}" if len(ports) == 1 else f"ports {ports[0]} to {ports[-1]}"
    raise ConfigError(f"{HOST}, {named}", f"cannot be had: {reason}", "name another --port, or end what listens there")
