"""A loopback web server that answers for folders under their own host names, so that fetching is real HTTP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builder.sites.site_folders import PRIVATE_FILES, Route, Site

if TYPE_CHECKING:
    from aiohttp import web

CONTENT_TYPES = {
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".txt": "text/plain",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".xml": "application/xml",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".gif": "image/gif",
    ".svg": "image/svg+xml",
}
"""Ours, not the system's table, so that pages are served the same everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """An archive's answer for one URL."""

    status: int = 200
    content_type: str = "text/html"
    body: bytes = b""
    location: str | None = None


AnswerOf = Callable[[str], Archived | None]
"""From a URL to what an archive holds for it; it is called from the server's thread."""
if TYPE_CHECKING:
    Handle = Callable[[web.Request], Awaitable[web.Response]]


def file_of(site: Site, path: str) -> Path | None:
    """The file that a decoded URL path names, or None: no way out of the folder, no private files, no links."""
    if "\0" in path or "\\" in path:
        return None
    parts = [part for part in path.split("/") if part]
    if any(part.startswith(".") for part in parts) or (parts and parts[-1] in PRIVATE_FILES):
        return None
    found = site.folder.joinpath(*parts)
    if found.is_dir():
        found = found / "index.html"
    if not found.is_file() or not found.resolve().is_relative_to(site.folder.resolve()):
        return None
    return found


def _needs_slash(file: Path | None, path: str) -> bool:
    return file is not None and file.name == "index.html" and not path.endswith(("/", "index.html"))


def _content_type(path: Path | None, route: Route | None) -> str:
    if route is not None and route.content_type is not None:
        return route.content_type
    suffix = ".html" if path is None else path.suffix.lower()
    return CONTENT_TYPES.get(suffix, "application/octet-stream")


async def _answer(site: Site, path: str) -> web.Response:
    from aiohttp import web

    route = site.routes.get(path)
    if route is not None and route.delay_s:
        await asyncio.sleep(route.delay_s)
    if route is not None and route.redirect is not None:
        return web.Response(status=302, headers={"Location": route.redirect})
    file = file_of(site, path)
    if _needs_slash(file, path):
        return web.Response(status=301, headers={"Location": path + "/"})
    if file is None and (route is None or (route.status == 200 and route.content_type is None)):
        return web.Response(status=404, text="404 Not Found\n")
    body = file.read_bytes() if file is not None else b""
    status = 200 if route is None else route.status
    return web.Response(status=status, body=body, headers={"Content-Type": _content_type(file, route)})


def _of_site(site: Site) -> Handle:
    async def handle(request: web.Request) -> web.Response:
        return await _answer(site, request.path)

    return handle


def _of_archive(answer: AnswerOf) -> Handle:
    async def handle(request: web.Request) -> web.Response:
        from aiohttp import web

        from builder.sites.site_folders import SCHEME_HEADER

        scheme = request.headers.get(SCHEME_HEADER, "http")
        found = answer(f"{scheme}://{_host_of(request)}{request.raw_path}")
        if found is None:
            return web.Response(status=404, text="404 Not Found\n")
        headers = {"Content-Type": found.content_type} | ({"Location": found.location} if found.location else {})
        return web.Response(status=found.status, body=found.body, headers=headers)

    return handle


def _host_of(request: web.Request) -> str:
    return request.host.rsplit(":", 1)[0].lower()


def _application(by_host: Mapping[str, Handle]) -> web.Application:
    from aiohttp import web

    async def handle(request: web.Request) -> web.Response:
        answer = by_host.get(_host_of(request))
        if answer is None:
            return web.Response(status=404, text="no such host here\n")
        return await answer(request)

    application = web.Application()
    application.router.add_get("/{path:.*}", handle)
    return application


async def _start(by_host: Mapping[str, Handle]) -> tuple[web.AppRunner, int]:
    from aiohttp import web

    runner = web.AppRunner(_application(by_host), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return runner, int(runner.addresses[0][1])


async def _stop(runner: web.AppRunner) -> None:
    await runner.cleanup()
    # Answers that no client waits for any more (slow routes) must not outlive the loop.
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


@contextmanager
def _serve(by_host: Mapping[str, Handle]) -> Iterator[int]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="site-server", daemon=True)
    thread.start()
    try:
        runner, port = asyncio.run_coroutine_threadsafe(_start(by_host), loop).result()
        try:
            yield port
        finally:
            asyncio.run_coroutine_threadsafe(_stop(runner), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def serve_sites(sites: Sequence[Site]) -> AbstractContextManager[int]:
    """Serve the sites on a free port of 127.0.0.1, chosen by Host header, in a thread; gives the port."""
    return _serve({site.host: _of_site(site) for site in sites})


def serve_archives(answers: Mapping[str, AnswerOf]) -> AbstractContextManager[int]:
    """The same for hosts whose pages come out of an archive."""
    return _serve({host: _of_archive(answer) for host, answer in answers.items()})
