"""`edu-rag serve`: a built site as a static host would send it, and one that is built again while it is worked on."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from click.testing import CliRunner
from fixture_history import LEDGER
from real_browser import PATIENCE_MS

from edu_rag.errors import ConfigError, MissingExtraError
from leaderboard.serving.commands import serve
from leaderboard.serving.loopback_server import FIRST_PORT, HOST, SiteHandler, check_site, open_server
from leaderboard.serving.rebuild_on_change import Builder, Builds, rebuilding, watched, watching_handler

ROOT = Path(__file__).resolve().parents[2]
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="POLICY">
<title>A page</title><link rel="icon" href="icon.svg"></head><body><p>first</p></body></html>
""".replace("POLICY", POLICY)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "data").mkdir(parents=True)
    (folder / "systems").mkdir()
    (folder / "site.json").write_text('{"format": "edu-rag-site-v1", "files": {}}')
    for name in ("index.html", "systems/index.html"):
        (folder / name).write_text(PAGE)
    (folder / "icon.svg").write_text(SVG)
    for name in ("a.wasm", "a.parquet", "a.pagefind", "a.js", "a.json", "feed.xml", "llms.txt", "board.csv", "a.jsonl"):
        (folder / "data" / name).write_bytes(b"x")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "data" / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


@contextmanager
def listening(site: Path, handler: type[SiteHandler] = SiteHandler) -> Iterator[int]:
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    with open_server(site, port, handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield port
        finally:
            server.shutdown()
            thread.join()


def asked(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def test_types_are_those_of_a_static_host_and_the_same_on_every_machine(site: Path) -> None:
    wanted = {
        "/": "text/html; charset=utf-8",
        "/icon.svg": "image/svg+xml",
        "/data/a.wasm": "application/wasm",
        "/data/a.parquet": "application/vnd.apache.parquet",
        "/data/a.pagefind": "application/octet-stream",
        "/data/a.js": "text/javascript; charset=utf-8",
        "/data/a.json": "application/json",
        "/data/feed.xml": "application/xml",
        "/data/llms.txt": "text/plain; charset=utf-8",
        "/data/board.csv": "text/csv; charset=utf-8",
        "/data/a.jsonl": "application/jsonl",
    }
    with listening(site) as port:
        for path, kind in wanted.items():
            status, headers, body = asked(port, path)
            assert (status, headers["content-type"]) == (200, kind), path
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "python" not in headers["server"].lower()
            assert body
        assert asked(port, "/", "HEAD")[2] == b""
        assert asked(port, "/systems/")[2] == PAGE.encode()
        assert asked(port, "/systems")[0] == 301
        assert asked(port, "/", "POST")[0] == 501


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/data/../../secret.txt",
        "/data/link.txt",
        "/data/",
        "//etc/passwd",
        "/etc/passwd",
        "/a%00b",
        "/" + "a" * 5_000,
        "/..\\secret.txt",
        "/nothing.html",
    ],
)
def test_nothing_outside_of_the_folder_and_no_list_of_files_is_served(site: Path, path: str) -> None:
    with listening(site) as port:
        status, headers, body = asked(port, path)
    assert status == 404
    assert b"secret" not in body.replace(b"secret.txt", b"")
    assert headers["x-content-type-options"] == "nosniff"


def test_a_foreign_name_that_points_here_gets_nothing(site: Path) -> None:
    with listening(site) as port:
        assert asked(port, "/", Host="evil.example")[0] == 421
        assert asked(port, "/", Host=f"LOCALHOST:{port}")[0] == 200


def test_a_taken_port_is_passed_over_unless_it_was_named(site: Path) -> None:
    with open_server(site, None) as first, open_server(site, None) as second:
        assert FIRST_PORT <= first.server_port < second.server_port
        assert second.address == f"http://127.0.0.1:{second.server_port}/"
        with pytest.raises(ConfigError, match="cannot be had: Address already in use: name another --port"):
            open_server(site, first.server_port)


def test_a_folder_that_is_no_site_is_refused_with_the_way_to_one(tmp_path: Path, site: Path) -> None:
    check_site(site)
    for folder in (tmp_path / "nothing", tmp_path):
        with pytest.raises(ConfigError, match="edu-rag board RESULTS --out SITE"):
            check_site(folder)
    (site / "site.json").write_text("[]")
    with pytest.raises(ConfigError, match="is no site"):
        check_site(site)


def test_options_of_a_build_are_refused_without_a_watch(site: Path) -> None:
    found = CliRunner().invoke(serve, [str(site), "--url", "https://x.example/"])
    assert isinstance(found.exception, ConfigError)
    assert "add --watch" in str(found.exception)


def test_a_watch_takes_the_options_of_the_board() -> None:
    text = CliRunner().invoke(serve, ["--help"]).output
    for option in ("--dataset", "--url", "--repository", "--watch", "--port"):
        assert option in text
    assert "--out" not in text


@contextmanager
def served(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "edu_rag", "serve", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("terminal_signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly_when_it_is_told_to(site: Path, how: signal.Signals) -> None:
    with served(str(site)) as (process, address):
        port = int(address.rstrip("/").rpartition(":")[2])
        assert asked(port, "/")[2] == PAGE.encode()  # a built site goes out as it is
        assert asked(port, "/nothing.html")[0] == 404
        process.send_signal(how)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert said.splitlines() == [f"serving {site}; press Ctrl-C to stop", "not found: /nothing.html"]


def watched_page(browser: Any, address: str) -> tuple[Any, list[str]]:
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE_MS)
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(address)
    return page, troubles


def test_a_page_loads_itself_again_after_a_build_under_its_own_policy(browser: Any, site: Path) -> None:
    builds = Builds()
    with listening(site, watching_handler(builds)) as port:
        page, troubles = watched_page(browser, f"http://{HOST}:{port}/")
        assert page.locator("p").inner_text() == "first"
        (site / "index.html").write_text(PAGE.replace("first", "second"))
        builds.ended("")
        page.get_by_text("second").wait_for()
        builds.ended("templates/x.j2: <b>unknown tag</b>")
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert "<b>unknown tag</b>" in alert.inner_text()
        assert page.get_by_text("second").is_visible()
        builds.ended("")
        alert.wait_for(state="detached")
        assert page.locator("script").evaluate_all("all => all.every(one => one.src && !one.textContent)")
        policy = page.locator("meta[http-equiv]").get_attribute("content")
        assert policy == POLICY  # as it was built
        assert troubles == []
        page.context.close()
    assert "reload" not in (site / "index.html").read_text()


def test_a_watched_site_is_never_kept_by_the_browser_and_its_own_addresses_hide_nothing(site: Path) -> None:
    builds = Builds()
    builds.ended("")
    with listening(site, watching_handler(builds)) as port:
        for path in ("/", "/systems/"):
            _, headers, body = asked(port, path)
            assert headers["cache-control"] == "no-store"
            assert body.count(b'<script src="/.edu-rag/reload.js?after=1" defer></script>') == 1
            assert int(headers["content-length"]) == len(body)
        _, headers, body = asked(port, "/.edu-rag/next.js?after=0")
        assert body.startswith(b"dispatchEvent(")
        assert headers["cross-origin-resource-policy"] == "same-origin"  # no page elsewhere hears of our faults
        assert asked(port, "/.edu-rag/next.js?after=-1x")[0] == 200
        assert asked(port, "/.edu-rag/../../secret.txt")[0] == 404
        assert asked(port, "/../secret.txt")[0] == 404


def test_changes_are_seen_and_built_and_faults_told(tmp_path: Path) -> None:
    class Told(Builder):
        fault = ""

        def build(self) -> str:
            return self.fault

    folder = tmp_path / "results"
    folder.mkdir()
    builds, builder = Builds(), Told([], tmp_path / "site")
    with rebuilding(builder, builds, [folder]):
        n = 0
        for fault in ("", "broken"):
            builder.fault = fault
            found = (n, "")
            for attempt in range(60):  # the watch begins a moment after its thread
                (folder / "scorecard.json").write_text(f"{fault}{attempt}")
                found = builds.after(n, wait_s=1)
                if found[0] != n and found[1] == fault:
                    break
            assert found[0] > n
            assert found[1] == fault
            n = found[0]
            time.sleep(1)
            n = builds.n


def test_without_watchfiles_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with (
        pytest.raises(MissingExtraError, match=r"edu-rag-bench\[watch\]"),
        rebuilding(Builder([], tmp_path), Builds(), [tmp_path]),
    ):
        pass


def test_what_a_site_is_made_from_is_watched(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "errata.toml").write_text(LEDGER)
    found = watched(tmp_path / "results", [tmp_path / "nothing"])
    assert found == [tmp_path / "results", tmp_path / "errata.toml", ROOT / "leaderboard", ROOT / "edu_rag"]


def test_datasets_and_submissions_that_are_given_are_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []

    def noted(results: Path, given: Sequence[Path]) -> list[Path]:
        seen.extend((results, *given))
        raise KeyboardInterrupt

    monkeypatch.setattr("leaderboard.serving.rebuild_on_change.watched", noted)
    names = [str(tmp_path / name) for name in ("results", "dataset", "submissions")]
    found = CliRunner().invoke(serve, ["--watch", names[0], "--dataset", names[1], "--submissions", names[2]])
    assert (found.exit_code, [str(path) for path in seen]) == (0, names)


@pytest.mark.usefixtures("terminal_signals")
def test_a_changed_result_is_built_and_shown_and_nothing_is_left_behind(browser: Any, tmp_path: Path) -> None:
    results = tmp_path / "results"
    made.write_card(results, made.card_of(name="Before"))
    os.environ["TMPDIR"], before = str(tmp_path), os.environ.get("TMPDIR")
    try:
        with served("--watch", str(results), "--url", "https://board.example.org/") as (process, address):
            page, troubles = watched_page(browser, address)
            assert page.locator("table.top tbody th").first.inner_text().startswith("Before")
            made.write_card(results, made.card_of(name="After"))
            page.get_by_role("link", name="After", exact=True).first.wait_for()
            assert troubles == []
            page.context.close()
            assert asked(int(address.rstrip("/").rpartition(":")[2]), "/feed.xml")[0] == 200
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
    finally:
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before
    assert process.returncode == 0
    assert "Traceback" not in said
    assert {"changed: scorecard.json; building", "built"} <= set(said.splitlines())
    assert list(tmp_path.glob("edu-rag-serve-*")) == []


def test_results_that_cannot_be_built_end_it_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "edu_rag", "serve", "--watch", str(tmp_path / "results")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    assert done.returncode == 1
    assert "holds no scorecard.json" in done.stderr
    assert "Traceback" not in done.stderr
