"""The server of `edu-rag try`: Gradio's app behind a guard that passes on what the page needs, and nothing else."""

from __future__ import annotations

import signal
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from types import FrameType
from typing import Any

import gradio as gr
import uvicorn
from fastapi import FastAPI

from edu_rag.errors import ConfigError

_NAMES = ("127.0.0.1", "localhost", "[::1]")
FIRST_PORT, N_PORTS = 7860, 100
"""The first port that is tried, which is the one of a Hub Space, and how many."""
MAX_BODY_BYTES = 500_000
"""Of a request: a form with a long question has some ten thousand."""
_EXACT = {
    "GET": frozenset({"/", "/config", "/theme.css", "/favicon.ico", "/robots.txt", "/gradio_api/startup-events"}),
    "HEAD": frozenset({"/"}),
    "POST": frozenset({"/gradio_api/queue/join", "/gradio_api/reset", "/gradio_api/cancel"}),
}
_UNDER = ("/assets/", "/static/", "/gradio_api/heartbeat/", "/gradio_api/queue/data")
"""Gradio also answers for files, uploads, a proxy and an editor, which this page does not use."""
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self';"
    " form-action 'none'; frame-ancestors 'self' https://huggingface.co"
)
"""Gradio's own page needs inline scripts and `eval`; what is left out is every other host."""
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def may_pass(method: str, path: str) -> bool:
    """Whether the page needs this request."""
    return path in _EXACT.get(method, ()) or (method == "GET" and path.startswith(_UNDER))


class GuardedApp:
    """An ASGI app around Gradio's. ASGI is asynchronous, so this is too.

    `names` are the hosts that may be asked for: a page elsewhere must not reach a loopback server under a name that it
    points here. Empty allows any.
    """

    def __init__(self, app: Any, names: tuple[str, ...]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with our headers."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        status = self._refused(scope)
        if status:
            await _refuse(send, status)
        else:
            await self._pass(scope, receive, send)

    def _refused(self, scope: Scope) -> int:
        """The status of a refusal, 0 for a request that may pass."""
        headers = {name: value.decode("latin-1").lower() for name, value in scope["headers"]}
        host, length = headers.get(b"host", ""), headers.get(b"content-length", "0")
        if self._names and host.rpartition(":")[0] not in self._names and host not in self._names:
            return 421
        if not may_pass(scope["method"], scope["path"]):
            return 404
        return 413 if not length.isdecimal() or int(length) > MAX_BODY_BYTES else 0

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        n_bytes = 0

        async def counted() -> MutableMapping[str, Any]:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            # A body of no declared length that grows too long ends as if its sender had left.
            return {"type": "http.disconnect"} if n_bytes > MAX_BODY_BYTES else message

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        await self._app(scope, counted, with_headers)


async def _refuse(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": HTTPStatus(status).phrase.encode()})


def guarded_app(blocks: gr.Blocks, style: str, *, only_host: str) -> GuardedApp:
    """The app that a server runs: the page at '/', with our style and no link of Gradio's.

    `only_host` is the loopback host that may be asked for; empty allows any.
    """
    app = gr.mount_gradio_app(
        FastAPI(docs_url=None, redoc_url=None, openapi_url=None),
        blocks,
        path="/",
        footer_links=[],
        run_history=False,
        show_error=False,
        max_file_size=0,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        enable_monitoring=False,
        css=style,
        theme=_theme(),
    )
    return GuardedApp(app, (*_NAMES, only_host.lower()) if only_host else ())


def _theme() -> gr.themes.Base:
    """The board's blue, and fonts that every machine has: no file is fetched for them."""
    made = gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])
    blue, dark = "#0b5fa5", "#2269aa"
    return made.set(
        button_primary_background_fill=blue,
        button_primary_background_fill_hover="#094d86",
        button_primary_background_fill_dark=dark,
        button_primary_background_fill_hover_dark="#1d5c95",
        slider_color=blue,
        slider_color_dark=dark,
        checkbox_background_color_selected=blue,
        checkbox_background_color_selected_dark=dark,
        checkbox_border_color_selected=blue,
        block_title_text_color="#3f4a55",
        block_title_text_color_dark="#c3ccd4",
    )


def listening_socket(host: str, port: int | None) -> socket.socket:
    """A socket that listens at a port, or at the first free one from FIRST_PORT on. Raises ConfigError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reason = ""
    for candidate in (port,) if port is not None else range(FIRST_PORT, FIRST_PORT + N_PORTS):
        try:
            return socket.create_server((host, candidate), family=family)
        except OSError as error:  # socket.gaierror, for a name that does not exist, is one
            reason = error.strerror or str(error)
    wanted = f"port {port}" if port is not None else f"any port from {FIRST_PORT} to {FIRST_PORT + N_PORTS - 1}"
    raise ConfigError("edu-rag try", f"cannot listen at {host}, {wanted}: {reason}", "choose another --host or --port")


class _Server(uvicorn.Server):  # type: ignore[misc]  # untyped where the extra is missing
    """Uvicorn's server, which closes its connections when it stops.

    A page keeps a stream open while it is shown. Uvicorn alone would wait for it, cancel it and log its traceback.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at the first Ctrl-C; uvicorn would answer a second one, while it stops, with a traceback."""
        if not (self.should_exit and sig == signal.SIGINT):
            super().handle_exit(sig, frame)


def serve(app: GuardedApp, listening: socket.socket) -> None:
    """Answer requests until a signal."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    _Server(config).run(sockets=[listening])
