"""Building the site again whenever something that it is made from changes, and telling the pages that are open."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Condition, Event, Lock, Thread
from urllib.parse import parse_qs, urlsplit

from edu_rag.errors import MissingExtraError
from edu_rag.processes.safe_path import own_code_first
from edu_rag.progress import say
from leaderboard.serving.loopback_server import TYPES, SiteHandler

OURS = "/.edu-rag/"
"""Addresses of the watch itself; no file of a site has such a name."""
WAIT_S = 20.0
"""So long an answer waits for a build; then the page asks again."""
DEBOUNCE_MS = 400
MAX_FAULT = 2_000
"""Characters of a failed build's last words that a page shows."""
SCRIPT = Path(__file__).with_name("reload.js")
_CODE = Path(__file__).resolve().parents[1]


class Builds:
    """The builds so far: how many there were, and what the last one said when it failed."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._n = 0
        self._fault = ""

    @property
    def n(self) -> int:
        """Builds that have ended."""
        return self._n

    def ended(self, fault: str) -> None:
        """Count a build; `fault` is empty if it went well."""
        with self._changed:
            self._n += 1
            self._fault = fault
            self._changed.notify_all()

    def after(self, n: int, wait_s: float) -> tuple[int, str]:
        """How many builds there were, and the fault of the last; waits until there are other than n, or for wait_s."""
        with self._changed:
            self._changed.wait_for(lambda: self._n != n, timeout=wait_s)
            return self._n, self._fault


def watching_handler(builds: Builds) -> type[SiteHandler]:
    """A handler that puts the reload script into every page, by its address, as it goes out; the site stays as built.

    The page asks by further script addresses: its own policy allows those on every page, and stays as it is, so that
    what it would forbid on a host fails here too.
    """

    class Handler(SiteHandler):
        cache_control = "no-store"

        def do_GET(self) -> None:  # noqa: N802  # the name is the standard library's
            if self.path.startswith(OURS):
                self._answer_ours()
                return
            path = Path(self.translate_path(self.path))
            page = path / "index.html" if path.is_dir() and urlsplit(self.path).path.endswith("/") else path
            if page.suffix == ".html" and page.is_file():
                tag = f'<script src="{OURS}reload.js?after={builds.n}" defer></script>\n</head>'
                self._send(page.read_bytes().replace(b"</head>", tag.encode(), 1), TYPES[".html"])
            else:
                super().do_GET()

        def _answer_ours(self) -> None:
            asked = urlsplit(self.path)
            if asked.path == f"{OURS}reload.js":
                self._send(SCRIPT.read_bytes(), TYPES[".js"])
            elif asked.path == f"{OURS}next.js":
                given = parse_qs(asked.query).get("after", ["0"])[0]
                n, fault = builds.after(int(given) if given.isdigit() and len(given) < 10 else 0, WAIT_S)
                detail = json.dumps({"n": n, "fault": fault[-MAX_FAULT:]})
                script = f"dispatchEvent(new CustomEvent('edu-rag-build', {{ detail: {detail} }}));\n"
                self._send(script.encode(), TYPES[".js"])
            else:
                self.send_error(HTTPStatus.NOT_FOUND, "File not found")

        def _send(self, data: bytes, kind: str) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            # Else a page elsewhere could load next.js as its own script, and hear what a failed build said.
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


class Builder:
    """Builds a site in a separate process, which has the newest code; `stop` ends one that runs."""

    def __init__(self, arguments: Sequence[str], site: Path) -> None:
        self._command = [sys.executable, "-P", "-m", "edu_rag", "board", *arguments, "--out", str(site)]
        self._process: subprocess.Popen[str] | None = None
        self._turn = Lock()

    def build(self) -> str:
        """Build once, after a build that runs; what it said where it failed, else an empty text."""
        with self._turn:
            self._process = process = subprocess.Popen(  # noqa: S603  # our own command line
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=own_code_first(),
            )
            said = process.communicate()[1]
        return "" if process.returncode == 0 else said.strip() or "the build ended without a word"

    def stop(self) -> None:
        """End a build that runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()


def watched(results: Path, given: Sequence[Path]) -> list[Path]:
    """The inputs of a site: results with their ledger, the folders `given` next to them, code, the shared look."""
    look = _CODE.parent / "edu_rag"
    errata = results.absolute().parent / "errata.toml"
    return [path for path in (results, *given, errata, _CODE, look) if path.exists()]


@contextmanager
def rebuilding(builder: Builder, builds: Builds, paths: Sequence[Path]) -> Iterator[None]:
    """While entered, build again after every change of these paths, in a thread. Raises MissingExtraError."""
    try:
        from watchfiles import DefaultFilter, watch
    except ImportError:
        raise MissingExtraError(
            "--watch", "watchfiles is not installed", "pip install 'edu-rag-bench[watch]'"
        ) from None
    stop, usual = Event(), DefaultFilter()

    def work() -> None:
        # Files under way, of writers and editors, have names that begin with a dot.
        seen = watch(
            *paths,
            stop_event=stop,
            debounce=DEBOUNCE_MS,
            raise_interrupt=False,
            watch_filter=lambda change, path: usual(change, path) and not Path(path).name.startswith("."),
        )
        for changes in seen:
            names = sorted({Path(path).name for _, path in changes})
            say(f"changed: {', '.join(names[:3])}{' …' if len(names) > 3 else ''}; building")
            fault = builder.build()
            if stop.is_set():
                return
            say(fault or "built")
            builds.ended(fault)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        builder.stop()
        thread.join(timeout=10)
